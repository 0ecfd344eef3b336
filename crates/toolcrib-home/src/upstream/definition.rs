//! What a server says about a tool, as it is pinned: [`Definition`].
//!
//! Only what people and models read or what calls are checked by is kept and counts: title, description, schemas and annotations. Pictures and
//! `_meta` may change as they like. The name is the server's; what a tool is called here is decided by [`names`](super::names).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::model::JsonObject;
use crate::model::diff;
use crate::model::digest::Digester;
use crate::model::text;
use crate::schema::{Schema, hidden};

/// The fields that are kept.
const FIELDS: &[&str] = &[
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    "execution",
];

/// A tool as its server describes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// Its name, as the server has it.
    pub name: String,
    /// The fields that count.
    #[serde(flatten)]
    pub fields: JsonObject,
}

impl Definition {
    /// Keeps of a server's definition what counts.
    pub fn of(name: &str, definition: &Map<String, Value>) -> Self {
        let kept = FIELDS.iter().filter(|field| **field != "execution");
        let kept = kept.filter_map(|field| {
            let value = definition.get(*field).filter(|value| !value.is_null())?;
            Some(((*field).to_owned(), value.clone()))
        });
        let mut fields: JsonObject = kept.collect();
        // Of how it is run, only what keeps it from being called here.
        let execution = definition.get("execution");
        if let Some(task) = execution.and_then(|execution| execution.get("taskSupport"))
            && task == "required"
        {
            fields.insert("execution".to_owned(), json!({"taskSupport": task}));
        }
        with_line_feeds(&mut fields);
        Definition {
            name: name.to_owned(),
            fields,
        }
    }

    /// A digest of all of it; the order of keys does not count.
    pub fn digest(&self) -> String {
        Digester::default()
            .text(&self.name)
            .object(&self.fields)
            .finish()
    }

    /// The title, if it has one: its own, or that of its annotations.
    pub fn title(&self) -> Option<&str> {
        let own = self.fields.get("title").and_then(Value::as_str);
        own.or_else(|| self.fields.get("annotations")?.get("title")?.as_str())
    }

    /// What it says it does.
    pub fn description(&self) -> &str {
        self.fields
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// What a person should know before trusting its looks.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if !self
            .name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
            || self.name.len() > 64
        {
            let shown = text::shorten(&text::visible_line(&self.name), 80);
            warnings.push(format!("its name `{shown}` is not one that models can be given; it is called something like it"));
        }
        let mut hiding: Vec<&str> = Vec::new();
        for (field, value) in &self.fields {
            if hides_somewhere(value, hidden::explains(field)) {
                hiding.push(field);
            }
        }
        if !hiding.is_empty() || self.name.contains(text::is_hidden) {
            let hiding = hiding.iter().map(|field| format!("`{field}`"));
            let hiding: Vec<String> = hiding.collect();
            warnings.push(format!(
                "there are hidden characters in it: {}",
                match hiding.is_empty() {
                    true => "in its name".to_owned(),
                    false => hiding.join(", "),
                }
            ));
        }
        warnings.extend(
            self.uncallable()
                .map(|why| format!("it cannot be called: {why}")),
        );
        warnings
    }

    /// Why no calls of it can be checked, if that is so.
    fn unusable_schema(&self) -> Option<String> {
        let wrong = |which: &str, schema: Schema| {
            let error = schema.usable_at_a_glance().err()?;
            Some(format!("its {which} schema cannot be used: {error}"))
        };
        let input = match self.input_schema() {
            Ok(schema) => wrong("input", schema),
            Err(why) => Some(why),
        };
        let why = input.or_else(|| match self.output_schema() {
            Ok(schema) => wrong("output", schema?),
            Err(why) => Some(why),
        })?;
        Some(text::shorten(&text::visible_line(&why), 300))
    }

    /// Why no client of here can call it, if that is so.
    pub(super) fn uncallable(&self) -> Option<String> {
        self.needs_task()
            .then(|| {
                "it can only be called as a task of MCP, which Toolcrib does not make".to_owned()
            })
            .or_else(|| self.unusable_schema())
    }

    fn needs_task(&self) -> bool {
        let execution = self.fields.get("execution");
        execution.and_then(|execution| execution.get("taskSupport")) == Some(&"required".into())
    }

    /// What its arguments are checked by and models read; the error says why there is none.
    pub(super) fn input_schema(&self) -> Result<Schema, String> {
        let schema = self.fields.get("inputSchema").cloned();
        let schema = schema.unwrap_or_else(|| serde_json::json!({"type": "object"}));
        Schema::stored(schema).map_err(|error| format!("its input schema cannot be used: {error}"))
    }

    /// The schema that its results are checked by, if it has one; the error says why it cannot be used.
    pub(super) fn output_schema(&self) -> Result<Option<Schema>, String> {
        let Some(schema) = self.fields.get("outputSchema").cloned() else {
            return Ok(None);
        };
        let schema = Schema::output(schema);
        let schema =
            schema.map_err(|error| format!("its output schema cannot be used: {error}"))?;
        Ok(Some(schema))
    }

    /// All of it on lines, for people and for showing what changed: hidden characters are shown.
    pub fn lines(&self) -> String {
        let mut lines = String::new();
        for field in FIELDS {
            let Some(value) = self.fields.get(*field) else {
                continue;
            };
            match value {
                Value::String(text) if !text.contains('\n') => {
                    lines.push_str(&format!("{field}: {}\n", text::visible(text)));
                }
                Value::String(text) => {
                    lines.push_str(&format!("{field}:\n"));
                    for line in text.lines() {
                        lines.push_str(&format!("  {}\n", text::visible(line)));
                    }
                }
                value => {
                    let pretty = serde_json::to_string_pretty(&sorted(value)).unwrap_or_default();
                    let pretty = pretty.replace('\n', "\n  ");
                    let shown: Vec<String> = pretty
                        .lines()
                        .map(|line| text::visible(line).into_owned())
                        .collect();
                    lines.push_str(&format!("{field}:\n  {}\n", shown.join("\n")));
                }
            }
        }
        lines
    }

    /// The differences to another, line by line.
    pub fn difference(&self, other: &Definition) -> String {
        diff::unified(
            &text::visible_line(&self.name),
            &self.lines(),
            &other.lines(),
        )
    }
}

/// Whether something hides in a value.
fn hides_somewhere(value: &Value, is_a_text: bool) -> bool {
    match value {
        Value::String(text) if is_a_text => text::hides_something(text),
        Value::String(data) => hidden::in_data(data).is_some(),
        Value::Array(items) => items.iter().any(|item| hides_somewhere(item, false)),
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            hidden::in_name(name).is_some() || hides_somewhere(value, hidden::explains(name))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Lines end in a line feed, also those of a server that was written elsewhere.
fn with_line_feeds(fields: &mut JsonObject) {
    for (key, value) in fields {
        match value {
            Value::String(text) if hidden::explains(key) && text.contains('\r') => {
                *text = text.replace("\r\n", "\n");
            }
            Value::Object(fields) => with_line_feeds(fields),
            Value::Array(items) => {
                let objects = items.iter_mut().filter_map(Value::as_object_mut);
                objects.for_each(with_line_feeds);
            }
            _ => {}
        }
    }
}

/// The value with its keys in order, so that a server that shuffles them shows no difference.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut pairs: Vec<_> = fields.iter().collect();
            pairs.sort_by_key(|(key, _)| *key);
            let pairs = pairs
                .into_iter()
                .map(|(key, value)| (key.clone(), sorted(value)));
            Value::Object(pairs.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(value: Value) -> Definition {
        Definition::of("get", value.as_object().unwrap())
    }

    #[test]
    fn what_models_read_counts_and_pictures_and_the_order_of_keys_do_not() {
        let base =
            definition(json!({"description": "Gets", "inputSchema": {"type": "object", "a": 1}}));
        let same = definition(
            json!({"inputSchema": {"a": 1, "type": "object"}, "description": "Gets", "icons": [1], "_meta": {}}),
        );
        assert_eq!(base.digest(), same.digest());
        for other in [
            json!({"description": "Gets all", "inputSchema": {"type": "object", "a": 1}}),
            json!({"description": "Gets", "inputSchema": {"type": "object", "a": 2}}),
            json!({"description": "Gets", "inputSchema": {"type": "object", "a": 1}, "annotations": {"readOnlyHint": true}}),
        ] {
            assert_ne!(base.digest(), definition(other).digest());
        }
    }

    #[test]
    fn a_tool_that_only_runs_as_a_task_cannot_be_called() {
        let schema = json!({"type": "object"});
        let required =
            definition(json!({"inputSchema": schema, "execution": {"taskSupport": "required"}}));
        assert!(required.uncallable().unwrap().contains("task"));
        let optional =
            definition(json!({"inputSchema": schema, "execution": {"taskSupport": "optional"}}));
        assert_eq!(optional.uncallable(), None);
        // The pins of other tools are as they were.
        assert_eq!(
            optional.digest(),
            definition(json!({"inputSchema": schema})).digest()
        );
    }

    #[test]
    fn a_pattern_that_no_engine_takes_is_not_an_obstacle_and_an_unknown_type_is() {
        let of = |property: Value| {
            definition(json!({"inputSchema": {"type": "object", "properties": {"p": property}}}))
        };
        for pattern in ["^(?!\\.)a+$", "[unclosed", "(a{999}){999}"] {
            let tool = of(json!({"type": "string", "pattern": pattern}));
            assert_eq!(tool.uncallable(), None, "{pattern}");
        }
        for property in [
            json!({"type": "any"}),
            json!({"type": "string", "required": true}),
            json!({"type": "number", "minimum": 0, "exclusiveMinimum": true}),
        ] {
            assert!(of(property.clone()).uncallable().is_some(), "{property}");
        }
    }

    #[test]
    fn names_that_hide_something_make_it_unusable_and_texts_do_not() {
        let schema = |name: &str, text: &str| {
            definition(
                json!({"inputSchema": {"type": "object", "properties": {name: {"type": "string", "description": text}}}}),
            )
        };
        let sly = schema("a", "x\u{e0041}");
        assert!(sly.input_schema().is_ok());
        assert!(sly.warnings()[0].contains("hidden"), "{:?}", sly.warnings());
        let hidden = schema("a\u{200b}", "x");
        assert!(hidden.input_schema().unwrap_err().contains("hidden"));
        assert!(
            hidden
                .warnings()
                .iter()
                .any(|warning| warning.contains("cannot be called"))
        );
    }

    #[test]
    fn lines_of_another_system_and_escapes_in_data_hide_nothing() {
        let tool = definition(json!({
            "description": "Splits.\r\nLines.",
            "inputSchema": {"type": "object", "properties": {
                "by": {"type": "string", "enum": ["\r\n", "\n"], "default": "\r\n", "description": "By\r\nwhat"},
            }},
        }));
        assert_eq!(tool.description(), "Splits.\nLines.");
        assert!(tool.warnings().is_empty(), "{:?}", tool.warnings());
        let schema = tool.input_schema().unwrap();
        let by = &schema.as_value()["properties"]["by"];
        assert_eq!(by["enum"], json!(["\r\n", "\n"]));
        assert_eq!(by["description"], "By\nwhat");
        for (description, value) in [
            ("a\rb", "x"),
            ("a\u{1b}[2K", "x"),
            ("a", "x\u{7f}"),
            ("a", "\r\u{202e}"),
        ] {
            let tool = definition(
                json!({"description": description, "inputSchema": {"type": "object", "default": value}}),
            );
            assert!(!tool.warnings().is_empty(), "{description:?} {value:?}");
        }
    }

    #[test]
    fn a_difference_is_reported_line_by_line_and_shows_what_hides() {
        let old =
            definition(json!({"description": "Gets\none", "inputSchema": {"type": "object"}}));
        let new = definition(
            json!({"description": "Gets\none\u{202e}", "inputSchema": {"type": "object", "required": ["k"]}}),
        );
        let difference = old.difference(&new);
        assert!(difference.contains("-  one\n"), "{difference}");
        assert!(
            difference.contains("+  one") && !difference.contains('\u{202e}'),
            "{difference}"
        );
        assert!(difference.contains("+    \"required\": ["), "{difference}");
        assert!(
            new.warnings()[0].contains("hidden characters"),
            "{:?}",
            new.warnings()
        );
        assert!(old.warnings().is_empty());
    }
}
