//! `name=value` words as JSON arguments, read by the tool's schema.
//!
//! What cannot be read as the schema wants stays text: the pipeline's own check then names the
//! fault, so that there is one place that judges arguments.

use serde_json::Value;
use toolcrib::Schema;
use toolcrib::ToolSpec;
use toolcrib::model::json::read_strict;
use toolcrib::model::{JsonObject, text};
use toolcrib::schema::reference;

/// A word that is not `name=value`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotAPair {
    pub(crate) message: String,
}

/// Puts `name=value` words over the arguments given as JSON. Without a spec (no such tool) every
/// value is text.
pub(crate) fn arguments(
    mut args: JsonObject,
    pairs: &[String],
    spec: Option<&ToolSpec>,
) -> Result<JsonObject, NotAPair> {
    let mut given: Vec<String> = Vec::new();
    for pair in pairs {
        let Some((name, value)) = pair.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(not_a_pair(pair, spec));
        };
        let property = spec.and_then(|spec| property_of(spec, name));
        let (name, schema) = property.map_or((name, None), |(name, schema)| (name, Some(schema)));
        let root = spec.map_or(&Value::Null, |spec| spec.input_schema.as_value());
        let is_list = schema.is_some_and(|schema| {
            let forms = forms(schema, root);
            forms.iter().any(|form| kind(form) == "array")
        });
        let value = match schema {
            Some(schema) => read(value, schema, root),
            None => Value::String(value.to_owned()),
        };
        let repeated = given.iter().any(|seen| seen == name);
        if repeated && !is_list {
            let shown = text::shorten(name, 60);
            return Err(NotAPair {
                message: format!("`{shown}` is given twice; give it once"),
            });
        }
        match args.get_mut(name) {
            // Repeating a list's name adds to it.
            Some(Value::Array(items)) if repeated => match value {
                Value::Array(more) => items.extend(more),
                other => items.push(other),
            },
            _ => {
                args.insert(name.to_owned(), value);
            }
        }
        given.push(name.to_owned());
    }
    Ok(args)
}

/// The problem of a `name=value` word whose name the tool does not know; `None` if it knows it.
pub(crate) fn unknown(pair: &str, spec: &ToolSpec) -> Option<String> {
    let (name, _) = pair.split_once('=')?;
    let is_closed = spec.input_schema.as_value()["additionalProperties"] == false;
    if !is_closed || property_of(spec, name).is_some() {
        return None;
    }
    let known: Vec<&str> = spec
        .input_schema
        .properties()
        .map(|(name, _)| name)
        .collect();
    Some(format!(
        "`{}` is not a parameter; there are {}",
        text::shorten(name, 60),
        text::or_list(&known).replace(" or ", " and ")
    ))
}

/// The property a word names, in any spelling the pipeline would fold in.
fn property_of<'a>(spec: &'a ToolSpec, name: &str) -> Option<(&'a str, &'a Value)> {
    let schema: &Schema = &spec.input_schema;
    let exact = schema.properties().find(|(known, _)| *known == name);
    exact.or_else(|| {
        let folded = text::fold(name);
        let synonym = spec
            .synonyms
            .iter()
            .find(|(accepted, _)| text::fold(accepted) == folded);
        let wanted = synonym.map_or(folded, |(_, published)| text::fold(published));
        schema
            .properties()
            .find(|(known, _)| text::fold(known) == wanted)
    })
}

fn kind(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(kind)) => kind,
        // ["string", "null"]: the first that is not null.
        Some(Value::Array(kinds)) => kinds
            .iter()
            .filter_map(Value::as_str)
            .find(|kind| *kind != "null")
            .unwrap_or_default(),
        _ => match (schema.get("const"), schema.get("enum")) {
            (Some(Value::String(_)), _) => "string",
            (None, Some(Value::Array(values))) if values.iter().all(Value::is_string) => "string",
            _ => "",
        },
    }
}

/// How many references and forms are followed for one word.
const MAX_STEPS: usize = 64;

/// The forms that a value may have, each with its type, behind references and alternatives.
fn forms<'a>(schema: &'a Value, root: &'a Value) -> Vec<&'a Value> {
    let mut found = Vec::new();
    let mut open = vec![schema];
    for _ in 0..MAX_STEPS {
        let Some(schema) = open.pop() else { break };
        let target = schema.get("$ref").and_then(Value::as_str);
        let target = target.and_then(|target| reference::target(root, target));
        let lists = ["anyOf", "oneOf", "allOf"].into_iter();
        let inner = lists
            .filter_map(|word| schema.get(word)?.as_array())
            .flatten();
        match (kind(schema), target) {
            ("", Some(target)) => open.push(target),
            ("", None) if { inner.clone() }.next().is_some() => open.extend(inner),
            _ => found.push(schema),
        }
    }
    found.reverse();
    found
}

/// Reads a word as the schema wants it. Where a value may have one of several types, text is what nothing else fits.
fn read(word: &str, schema: &Value, root: &Value) -> Value {
    let forms = forms(schema, root);
    let may_be_null = forms.iter().any(|form| kind(form) == "null");
    if may_be_null && word == "null" {
        return Value::Null;
    }
    let forms = forms.into_iter().filter(|form| kind(form) != "null");
    // What was not read as its form wants it is text.
    let read = forms
        .map(|form| read_form(word, form, root))
        .find(|value| !value.is_string());
    read.unwrap_or_else(|| Value::String(word.to_owned()))
}

fn read_form(word: &str, schema: &Value, root: &Value) -> Value {
    let text = || Value::String(word.to_owned());
    let json = || read_strict(word.as_bytes()).ok();
    match kind(schema) {
        "string" => text(),
        "integer" | "number" => json().filter(Value::is_number).unwrap_or_else(text),
        "boolean" => match word.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Value::Bool(true),
            "false" | "no" | "off" | "0" => Value::Bool(false),
            _ => text(),
        },
        "object" => json().filter(Value::is_object).unwrap_or_else(text),
        "null" => {
            if word == "null" {
                Value::Null
            } else {
                text()
            }
        }
        "array" => json().filter(Value::is_array).unwrap_or_else(|| {
            let item = schema
                .get("items")
                .map_or_else(text, |items| read(word, items, root));
            Value::Array(vec![item])
        }),
        // Anything goes: JSON if it is JSON, else text.
        _ => json().unwrap_or_else(text),
    }
}

fn not_a_pair(word: &str, spec: Option<&ToolSpec>) -> NotAPair {
    let shown = text::shorten(word, 60);
    if let Some((name, _)) = spec.and_then(|spec| property_of(spec, word)) {
        return NotAPair {
            message: format!("`{name}` needs a value: `{name}=…`"),
        };
    }
    let required = spec.and_then(|spec| {
        let schema = &spec.input_schema;
        schema
            .properties()
            .map(|(name, _)| name)
            .find(|name| schema.requires(name))
    });
    let hint = match required {
        Some(name) if !word.starts_with('=') => format!("did you mean `{name}={shown}`?"),
        _ => "write `name=value`".to_owned(),
    };
    NotAPair {
        message: format!("`{shown}` is not an argument; {hint}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use toolcrib::WireName;

    fn spec() -> ToolSpec {
        let schema = json!({"type": "object", "required": ["path"], "properties": {
            "path": {"type": "string"}, "start_line": {"type": "integer"}, "ratio": {"type": "number"},
            "recursive": {"type": "boolean"}, "tags": {"type": "array", "items": {"type": "string"}},
            "ids": {"type": "array", "items": {"type": "integer"}}, "env": {"type": "object"},
            "maybe": {"type": ["null", "integer"]}, "any": {}}});
        let mut spec = ToolSpec::new(
            WireName::parse("t").unwrap(),
            "x",
            Schema::stored(schema).unwrap(),
        );
        spec.synonyms.push(("file".into(), "path".into()));
        spec
    }

    fn read_all(pairs: &[&str]) -> Value {
        let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        Value::Object(arguments(JsonObject::new(), &pairs, Some(&spec())).unwrap())
    }

    #[test]
    fn values_are_read_by_the_schema() {
        assert_eq!(
            read_all(&[
                "path=1",
                "start_line=3",
                "ratio=0.5",
                "recursive=yes",
                "env={\"A\":\"b\"}",
                "maybe=4",
                "any=[1]"
            ]),
            json!({"path": "1", "start_line": 3, "ratio": 0.5, "recursive": true, "env": {"A": "b"}, "maybe": 4, "any": [1]})
        );
    }

    #[test]
    fn optional_texts_and_texts_behind_references_stay_text() {
        let schema = json!({"type": "object", "properties": {
            "optional": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "referred": {"$ref": "#/$defs/Id%3Cx%3E"},
            "count": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "list": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
            "version": {"enum": ["1", "2"]}},
            "$defs": {"Id<x>": {"type": "string"}}});
        let spec = ToolSpec::new(
            WireName::parse("t").unwrap(),
            "x",
            Schema::stored(schema).unwrap(),
        );
        let words = [
            "optional=1",
            "referred=2",
            "count=3",
            "either=4",
            "list=5",
            "list=6",
            "version=1",
        ];
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let args = arguments(JsonObject::new(), &words, Some(&spec)).unwrap();
        assert_eq!(
            Value::Object(args),
            json!({"optional": "1", "referred": "2", "count": 3, "either": 4, "list": ["5", "6"], "version": "1"})
        );
        let none = arguments(JsonObject::new(), &["optional=null".into()], Some(&spec)).unwrap();
        assert_eq!(none["optional"], Value::Null);
    }

    #[test]
    fn a_list_is_json_or_repeated_words() {
        assert_eq!(
            read_all(&["tags=a", "tags=b,c"]),
            json!({"tags": ["a", "b,c"]})
        );
        assert_eq!(
            read_all(&["tags=[\"a\",\"b\"]"]),
            json!({"tags": ["a", "b"]})
        );
        assert_eq!(read_all(&["ids=1", "ids=2"]), json!({"ids": [1, 2]}));
    }

    #[test]
    fn other_spellings_and_synonyms_get_the_published_type() {
        assert_eq!(
            read_all(&["startLine=3", "FILE=x"]),
            json!({"start_line": 3, "path": "x"})
        );
    }

    #[test]
    fn what_does_not_fit_stays_text_for_the_pipeline_to_judge() {
        assert_eq!(
            read_all(&["start_line=three", "recursive=maybe"]),
            json!({"start_line": "three", "recursive": "maybe"})
        );
        assert_eq!(read_all(&["path=a=b"]), json!({"path": "a=b"}));
    }

    #[test]
    fn words_override_json_and_a_bare_word_gets_a_hint() {
        let base = json!({"path": "a", "tags": ["x"]})
            .as_object()
            .unwrap()
            .clone();
        let args = arguments(base, &["path=b".into(), "tags=y".into()], Some(&spec())).unwrap();
        assert_eq!(Value::Object(args), json!({"path": "b", "tags": ["y"]}));
        let error = arguments(JsonObject::new(), &["README.md".into()], Some(&spec())).unwrap_err();
        assert_eq!(
            error.message,
            "`README.md` is not an argument; did you mean `path=README.md`?"
        );
        assert!(arguments(JsonObject::new(), &["=x".into()], None).is_err());
        let message = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            arguments(JsonObject::new(), &words, Some(&spec()))
                .unwrap_err()
                .message
        };
        assert_eq!(message(&["path"]), "`path` needs a value: `path=…`");
        assert_eq!(
            message(&["path=a", "PATH=b"]),
            "`path` is given twice; give it once"
        );
        assert_eq!(
            message(&["=x"]),
            "`=x` is not an argument; write `name=value`"
        );
    }
}
