//! The format as a JSON Schema, for editors: [`json_schema`].
//!
//! Made from the table of fields. Editors read YAML by its own types, so where a text is wanted a number or a truth value is fine
//! too: `version: 1.10` and `bash: true` are texts to Toolcrib.

use serde_json::{Map, Value, json};

use super::fields::{FORMAT, Kind, Shape, Syntax};

/// The JSON Schema (draft 2020-12) of a tool's file.
pub fn json_schema() -> Value {
    let mut schema = of(&FORMAT, Syntax::Yaml);
    let mut root = Map::new();
    root.insert(
        "$schema".to_owned(),
        "https://json-schema.org/draft/2020-12/schema".into(),
    );
    root.insert("$id".to_owned(), "toolcrib-tool.schema.json".into());
    root.insert("title".to_owned(), "A Toolcrib tool".into());
    root.insert(
        "description".to_owned(),
        "A YAML command tool: what it runs, what it takes, and the wall around it.".into(),
    );
    if let Value::Object(fields) = &mut schema {
        root.append(fields);
    }
    let run = ["bash", "cmd", "pwsh", "run", "script", "commands", "steps"];
    let mut ways: Vec<Value> = run
        .iter()
        .map(|form| json!({"required": ["description", form]}))
        .collect();
    ways.push(json!({"required": ["type", "base-tool"]}));
    root.insert("oneOf".to_owned(), ways.into());
    Value::Object(root)
}

/// The schema of a field and what is below it.
pub(crate) fn of(shape: &Shape, syntax: Syntax) -> Value {
    let mut schema = kind(shape, syntax);
    if let Some(field) = shape.field {
        schema.insert("description".to_owned(), field.meaning.into());
        if let Some(default) = default(field.kind, field.default) {
            schema.insert("default".to_owned(), default);
        }
    }
    Value::Object(schema)
}

/// A default that is a value, not words about one.
fn default(kind: Kind, default: Option<&str>) -> Option<Value> {
    let text = default?;
    match kind {
        Kind::Boolean | Kind::Integer { .. } | Kind::Number | Kind::Time { .. } => {
            serde_json::from_str(text).ok()
        }
        Kind::Choice(words) if words.contains(&text) => Some(text.into()),
        _ => None,
    }
}

/// What holds a text.
fn text(syntax: Syntax) -> Value {
    match syntax {
        Syntax::Yaml => json!(["string", "number", "boolean"]),
        Syntax::Json => json!("string"),
    }
}

fn kind(shape: &Shape, syntax: Syntax) -> Map<String, Value> {
    let text = || text(syntax);
    let of = |shape: &Shape| of(shape, syntax);
    let object = || {
        let properties: Map<String, Value> = shape
            .fields
            .iter()
            .map(|(name, below)| ((*name).to_owned(), of(below)))
            .collect();
        let mut schema = json!({
            "type": "object", "properties": properties, "additionalProperties": false,
        });
        let required = required(shape, syntax);
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        schema
    };
    let schema = match shape.kind {
        Kind::Text | Kind::Template | Kind::Program | Kind::Expression | Kind::Pattern => {
            json!({"type": text()})
        }
        Kind::Condition => json!({"type": ["boolean", "string"]}),
        Kind::Boolean => json!({"type": "boolean"}),
        Kind::Integer { least, most } => {
            json!({"type": "integer", "minimum": least, "maximum": most})
        }
        Kind::Number => json!({"type": "number"}),
        Kind::Time { least, most } => json!({"anyOf": [
            {"type": "number", "minimum": least, "maximum": most},
            {"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(ms|s|m|h)$"},
        ]}),
        Kind::Size { least, most } => json!({"anyOf": [
            {"type": "integer", "minimum": least, "maximum": most},
            {"type": "string", "pattern": "^[0-9]+ ?([kKmMgGtT]([iI]?[bB])?|[bB])?$"},
        ]}),
        Kind::Choice(words) => json!({"enum": words}),
        Kind::Choices(words) => json!({"type": "array", "items": {"enum": words}}),
        Kind::Texts => json!({"type": "array", "items": {"type": text()}}),
        Kind::TextOrTexts => json!({"anyOf": [
            {"type": text()},
            {"type": "array", "items": {"type": text()}},
        ]}),
        Kind::Value => json!({}),
        Kind::Values => json!({"type": "array"}),
        Kind::Integers { least, most } => json!({
            "type": "array", "items": {"type": "integer", "minimum": least, "maximum": most},
        }),
        Kind::Schema => json!({"type": "object"}),
        Kind::Fields => object(),
        Kind::FieldsOrList => {
            let one = object();
            json!({"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]})
        }
        Kind::Map => json!({
            "type": "object",
            "additionalProperties": shape.entry.as_deref().map_or(json!(true), &of),
        }),
        Kind::List => json!({
            "type": "array",
            "items": shape.entry.as_deref().map_or(json!({}), &of),
        }),
    };
    match schema {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// The fields that must be there.
fn required(shape: &Shape, syntax: Syntax) -> Vec<&'static str> {
    let path = shape.field.map_or("", |field| field.path);
    match path {
        _ if syntax == Syntax::Json => match path {
            "" => vec!["description", "impl"],
            "impl" => vec!["urlTemplate"],
            "auth" | "impl.auth" => vec!["type"],
            _ => Vec::new(),
        },
        "steps[]" | "tests[]" => vec!["name"],
        "parameters.*" => vec!["description"],
        "steps[].error-handling.retry" => vec!["attempts"],
        "changelog[]" => vec!["version", "changes"],
        _ => Vec::new(),
    }
}
