//! What a tool of an upstream server wants to know while it runs, put to the person at the terminal: [`AtTerminal`].
//!
//! This is not an approval: the answer goes to the server, and `--yes` gives none. Everything that is asked was written by that server, so
//! it is behind names of ours, with hidden characters made visible. The person can decline, or leave it with Ctrl-D; Ctrl-C
//! cancels the call, as it always does.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use toolcrib::model::text::{shorten, visible_line};
use toolcrib::schema::Schema;
use toolcrib::{Elicitation, Elicitor, NotAnswered};

use super::screen::Screen;
use super::terminal::{Line, Terminal, Wake};
use super::words::{Extent, Page, Paint, facts, item};
use crate::args::Global;
use crate::output::Output;

/// More than this no one fills in on a terminal.
const MAX_FIELDS: usize = 30;
const MAX_CHOICES: usize = 50;

/// Puts questions of tools to the person at the terminal.
pub(crate) struct AtTerminal {
    terminal: Arc<Terminal>,
    screen: Arc<Screen>,
}

impl AtTerminal {
    /// Asks the user, if there is a terminal and asking is not forbidden.
    pub(crate) fn find(
        global: &Global,
        output: &Output,
        screen: &Arc<Screen>,
    ) -> Option<Arc<dyn Elicitor>> {
        let found = (!global.no_input).then(|| Terminal::find(output.colours_terminal()));
        Some(Arc::new(AtTerminal {
            terminal: Arc::new(found.flatten()?),
            screen: Arc::clone(screen),
        }))
    }
}

impl Elicitor for AtTerminal {
    fn elicit(&self, asked: Elicitation) -> BoxFuture<'_, Result<Value, NotAnswered>> {
        Box::pin(async move {
            let fields = fields(&asked.params).map_err(NotAnswered)?;
            // A server asks on its connection, which does not end with the call.
            let mut dismissed = self.screen.dismissals();
            let turn = tokio::select! {
                turn = self.screen.turn() => turn,
                _ = dismissed.changed() => return Ok(json!({"action": "cancel"})),
            };
            let wake = Wake::new().map(Arc::new);
            let wake = wake.map_err(|error| NotAnswered(format!("cannot ask: {error}")))?;
            let taken_back = TakenBack(Arc::clone(&wake));
            let (terminal, screen) = (Arc::clone(&self.terminal), Arc::clone(&self.screen));
            let mut dialogue = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                let _taken = screen.take();
                let _attention = terminal.attend();
                let form = Form {
                    asked: &asked,
                    fields: &fields,
                    terminal: &terminal,
                    wake: &wake,
                };
                form.fill_in()
            });
            let answer = tokio::select! {
                answer = &mut dialogue => answer,
                _ = dismissed.changed() => {
                    drop(taken_back);
                    dialogue.await
                }
            };
            answer.map_err(|_| NotAnswered("the dialogue broke off".to_owned()))
        })
    }
}

/// Ends the dialogue of a call that waits no more.
struct TakenBack(Arc<Wake>);

impl Drop for TakenBack {
    fn drop(&mut self) {
        self.0.wake();
    }
}

/// One thing that a form asks for.
#[derive(Debug)]
struct Field {
    name: String,
    schema: Value,
    kind: Kind,
    is_required: bool,
}

#[derive(Debug)]
enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    One(Vec<Choice>),
    Several(Vec<Choice>),
}

#[derive(Debug)]
struct Choice {
    value: Value,
    title: String,
}

/// Reads MCP's flat `requestedSchema`; the error is in words.
fn fields(params: &Value) -> Result<Vec<Field>, String> {
    if params.get("mode").is_some_and(|mode| mode != "form") {
        return Err("only forms can be filled in here".to_owned());
    }
    let schema = &params["requestedSchema"];
    let required = schema["required"].as_array().map(Vec::as_slice);
    let required = required.unwrap_or_default();
    let Some(properties) = schema["properties"].as_object() else {
        return Ok(Vec::new());
    };
    if properties.len() > MAX_FIELDS {
        let count = properties.len();
        return Err(format!("it asks for {count} things at once"));
    }
    let field = |(name, schema): (&String, &Value)| {
        let kind = kind(schema).ok_or_else(|| {
            let name = shorten(&visible_line(name), 60);
            format!("what it asks for as `{name}` cannot be typed")
        })?;
        Ok(Field {
            name: name.clone(),
            schema: schema.clone(),
            kind,
            is_required: required.iter().any(|one| one == name),
        })
    };
    properties.iter().map(field).collect()
}

fn kind(schema: &Value) -> Option<Kind> {
    if let Some(choices) = choices(schema) {
        return (choices.len() <= MAX_CHOICES).then_some(Kind::One(choices));
    }
    match schema["type"].as_str()? {
        "string" => Some(Kind::Text),
        "integer" => Some(Kind::Integer),
        "number" => Some(Kind::Number),
        "boolean" => Some(Kind::Boolean),
        "array" => {
            let choices = choices(&schema["items"])?;
            (choices.len() <= MAX_CHOICES).then_some(Kind::Several(choices))
        }
        _ => None,
    }
}

/// `enum`, with or without `enumNames`, or constants with titles.
fn choices(schema: &Value) -> Option<Vec<Choice>> {
    if let Some(values) = schema["enum"].as_array() {
        let title = |at: usize| schema["enumNames"][at].as_str();
        let choice = |(at, value): (usize, &Value)| Choice {
            value: value.clone(),
            title: title(at).map_or_else(|| plain(value), str::to_owned),
        };
        return Some(values.iter().enumerate().map(choice).collect());
    }
    let named = schema["oneOf"].as_array().or(schema["anyOf"].as_array())?;
    let choice = |one: &Value| {
        let value = one.get("const")?.clone();
        let title = one["title"].as_str();
        let title = title.map_or_else(|| plain(&value), str::to_owned);
        Some(Choice { value, title })
    };
    named.iter().map(choice).collect()
}

/// A value as it is typed.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

impl Field {
    fn shown_name(&self) -> String {
        shorten(&visible_line(&self.name), 60)
    }

    /// What can be typed, in words of ours.
    fn what(&self) -> &'static str {
        match &self.kind {
            Kind::Text => "text",
            Kind::Integer => "a whole number",
            Kind::Number => "a number",
            Kind::Boolean => "yes or no",
            Kind::One(_) => "one of these, or its number",
            Kind::Several(_) => "some of these, or their numbers, separated by commas",
        }
    }

    /// What an empty line means.
    fn otherwise(&self) -> String {
        match self.schema.get("default") {
            Some(Value::Bool(true)) => "Enter: yes".to_owned(),
            Some(Value::Bool(false)) => "Enter: no".to_owned(),
            Some(default) => format!("Enter: {}", shorten(&visible_line(&plain(default)), 60)),
            None if self.is_required => "required".to_owned(),
            None => "Enter leaves it out".to_owned(),
        }
    }

    /// Reads what was typed: a value, nothing, or what is wrong with it.
    fn read(&self, typed: &str) -> Result<Option<Value>, String> {
        let word = typed.trim();
        if word.is_empty() {
            return match self.schema.get("default") {
                Some(default) => Ok(Some(default.clone())),
                None if self.is_required => Err("this one is required".to_owned()),
                None => Ok(None),
            };
        }
        let value = match &self.kind {
            Kind::Text => Value::from(typed),
            Kind::Integer => match word.parse::<i64>() {
                Ok(number) => number.into(),
                Err(_) => return Err("type a whole number".to_owned()),
            },
            Kind::Number => match serde_json::from_str::<Value>(word) {
                Ok(number) if number.is_number() => number,
                Ok(_) | Err(_) => return Err("type a number".to_owned()),
            },
            Kind::Boolean => match word.to_lowercase().as_str() {
                "y" | "yes" | "true" | "on" | "1" => true.into(),
                "n" | "no" | "false" | "off" | "0" => false.into(),
                _ => return Err("type yes or no".to_owned()),
            },
            Kind::One(choices) => chosen(choices, word)?,
            Kind::Several(choices) => {
                let words = word.split(',').map(str::trim);
                let words = words.filter(|word| !word.is_empty());
                let values = words.map(|word| chosen(choices, word));
                Value::Array(values.collect::<Result<_, _>>()?)
            }
        };
        // A schema that cannot be used is the server's business: it sees what was typed.
        let schema = Schema::output(self.schema.clone());
        let faults = schema
            .ok()
            .and_then(|schema| schema.check_output(&value).ok());
        match faults.as_deref().and_then(<[_]>::first) {
            Some(fault) => Err(fault.message.clone()),
            None => Ok(Some(value)),
        }
    }
}

/// A choice by its value, its title or its number.
fn chosen(choices: &[Choice], word: &str) -> Result<Value, String> {
    let by_value = choices.iter().find(|choice| plain(&choice.value) == word);
    let by_title = || {
        let word = word.to_lowercase();
        let is_it = |choice: &&Choice| choice.title.to_lowercase() == word;
        choices.iter().find(is_it)
    };
    let by_number = || choices.get(word.parse::<usize>().ok()?.checked_sub(1)?);
    let found = by_value.or_else(by_title).or_else(by_number);
    let none = || "that is none of them; type one, or its number".to_owned();
    found.map(|choice| choice.value.clone()).ok_or_else(none)
}

/// What a person does with a form.
enum Typed<T> {
    Value(T),
    /// Ctrl-D, or no one waits any more.
    Left,
}

struct Form<'a> {
    asked: &'a Elicitation,
    fields: &'a [Field],
    terminal: &'a Terminal,
    wake: &'a Wake,
}

impl Form<'_> {
    /// MCP's `ElicitResult`.
    fn fill_in(&self) -> Value {
        self.say_all(&introduction(self.asked, self.fields, self.page()));
        match self.wants_to() {
            Typed::Value(true) => {}
            Typed::Value(false) => return json!({"action": "decline"}),
            Typed::Left => return json!({"action": "cancel"}),
        }
        let mut content = Map::new();
        for field in self.fields {
            match self.ask(field) {
                Typed::Value(Some(value)) => drop(content.insert(field.name.clone(), value)),
                Typed::Value(None) => {}
                Typed::Left => return json!({"action": "cancel"}),
            }
        }
        json!({"action": "accept", "content": content})
    }

    fn page(&self) -> Page {
        Page {
            extent: Extent::Screen(self.terminal.rows()),
            columns: self.terminal.columns(),
            paint: self.paint(),
        }
    }

    fn paint(&self) -> Paint {
        Paint(self.terminal.colour())
    }

    fn say_all(&self, lines: &[String]) {
        lines.iter().for_each(|line| self.terminal.say(line));
    }

    /// Whether the person answers at all.
    fn wants_to(&self) -> Typed<bool> {
        let (yes, no) = (self.paint().bold("y"), self.paint().bold("n"));
        let question = format!("{yes} answer · {no} decline · Ctrl-D leave it > ");
        loop {
            match self.terminal.ask(&question, self.wake) {
                Line::Text(word) => match word.trim().to_lowercase().as_str() {
                    "y" | "yes" => return Typed::Value(true),
                    "n" | "no" => return Typed::Value(false),
                    _ => self.terminal.say("type y or n"),
                },
                Line::End | Line::Woken => return Typed::Left,
            }
        }
    }

    fn ask(&self, field: &Field) -> Typed<Option<Value>> {
        let name = field.shown_name();
        let words = ["title", "description"].map(|key| field.schema[key].as_str());
        let words: Vec<&str> = words.into_iter().flatten().collect();
        if !words.is_empty() {
            let mark = format!("  {name}: ");
            self.say_all(&item(&mark, &words.join(": "), self.page()));
        }
        if let Kind::One(choices) | Kind::Several(choices) = &field.kind {
            for (at, choice) in choices.iter().enumerate() {
                let mark = format!("  {} ", at + 1);
                let title = shorten(&choice.title, 200);
                self.say_all(&item(&mark, &visible_line(&title), self.page()));
            }
        }
        let about = format!("({}; {})", field.what(), field.otherwise());
        let question = format!("{name} {} > ", self.paint().dim(&about));
        loop {
            match self.terminal.ask(&question, self.wake) {
                Line::Text(typed) => match field.read(&typed) {
                    Ok(value) => return Typed::Value(value),
                    Err(why) => {
                        let error = self.paint().bad("error:");
                        self.terminal
                            .say(&format!("{error} {}", visible_line(&why)));
                    }
                },
                Line::End | Line::Woken => return Typed::Left,
            }
        }
    }
}

/// The asking server, and its purpose.
fn introduction(asked: &Elicitation, fields: &[Field], page: Page) -> Vec<String> {
    let mark = page.paint.doubtful("?");
    let from = page.paint.bold(&shorten(&visible_line(&asked.from), 60));
    let mut lines = vec![format!(
        "{mark} the MCP server {from} wants to know something"
    )];
    let mut about = vec![("it asks", asked.message().to_owned())];
    let names: Vec<String> = fields.iter().map(Field::shown_name).collect();
    if !names.is_empty() {
        about.push(("for", names.join(", ")));
    }
    lines.extend(facts(&about, page));
    let note = "  what you type goes to that server";
    lines.push(page.paint.dim(note));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(schema: Value) -> Field {
        let params = json!({"requestedSchema": {"properties": {"it": schema}, "required": ["it"]}});
        fields(&params).unwrap().remove(0)
    }

    #[test]
    fn what_is_typed_is_read_by_the_kind_of_the_field() {
        let red = json!({"type": "string", "enum": ["r", "b"], "enumNames": ["Red", "Blue"]});
        let titled =
            json!({"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "b"}]});
        let several = json!({"type": "array", "items": {"enum": ["a", "b", "c"]}, "maxItems": 2});
        for (schema, typed, value) in [
            (json!({"type": "string"}), "a b", json!("a b")),
            (json!({"type": "string"}), "12", json!("12")),
            (json!({"type": "integer"}), " 12 ", json!(12)),
            (json!({"type": "number"}), "1.5", json!(1.5)),
            (json!({"type": "boolean"}), "Yes", json!(true)),
            (
                json!({"type": "boolean", "default": false}),
                "",
                json!(false),
            ),
            (red.clone(), "red", json!("r")),
            (red, "b", json!("b")),
            (titled, "2", json!("b")),
            (several, "a, 3", json!(["a", "c"])),
        ] {
            assert_eq!(one(schema.clone()).read(typed), Ok(Some(value)), "{schema}");
        }
    }

    #[test]
    fn what_does_not_fit_is_said_and_asked_again() {
        let several = json!({"type": "array", "items": {"enum": ["a", "b", "c"]}, "maxItems": 2});
        for (schema, typed) in [
            (json!({"type": "string"}), ""),
            (json!({"type": "string", "maxLength": 2}), "abc"),
            (json!({"type": "integer"}), "1.5"),
            (json!({"type": "integer", "maximum": 3}), "4"),
            (json!({"type": "number"}), "many"),
            (json!({"type": "boolean"}), "perhaps"),
            (json!({"type": "string", "enum": ["r", "b"]}), "3"),
            (several, "a,b,c"),
        ] {
            assert!(one(schema.clone()).read(typed).is_err(), "{schema}");
        }
    }

    #[test]
    fn a_server_cannot_forge_lines_of_the_question_or_move_the_cursor() {
        let params = json!({
            "message": "Sure?\u{1b}[2J\n? toolcrib needs your password\r",
            "requestedSchema": {"properties": {"a\nb\u{7}": {"type": "string"}}},
        });
        let fields = fields(&params).unwrap();
        let from = "fake".to_owned();
        let page = Page {
            extent: Extent::Whole,
            columns: 80,
            paint: Paint(false),
        };
        let lines = introduction(&Elicitation { from, params }, &fields, page);
        let is_plain = |line: &String| !line.chars().any(char::is_control);
        assert!(lines.iter().all(is_plain), "{lines:?}");
        let forged = lines.iter().find(|line| line.contains("password"));
        assert!(forged.unwrap().contains("│ ? toolcrib"), "{lines:?}");
    }

    #[test]
    fn forms_that_no_one_can_fill_in_are_refused_in_words() {
        let form =
            |properties: Value| fields(&json!({"requestedSchema": {"properties": properties}}));
        let nested = form(json!({"a\u{1b}b": {"type": "object"}})).unwrap_err();
        assert!(
            nested.contains("cannot be typed") && !nested.contains('\u{1b}'),
            "{nested}"
        );
        let many: Map<String, Value> = (0..31)
            .map(|n| (n.to_string(), json!({"type": "string"})))
            .collect();
        assert!(form(many.into()).unwrap_err().contains("31 things"));
        assert!(fields(&json!({"mode": "url", "url": "https://x"})).is_err());
        assert!(fields(&json!({"message": "Sure?"})).unwrap().is_empty());
    }
}
