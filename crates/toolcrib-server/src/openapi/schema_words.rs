//! Schemas for people: the fields of an object as rows, types in a few words.

use serde_json::Value;

/// One field of an object.
pub(super) struct Field {
    /// Its name, with `[]` and dots where it lies deeper.
    pub(super) name: String,
    /// Its type, in a few words.
    pub(super) kind: String,
    /// Whether it must be there.
    pub(super) is_required: bool,
    /// What it is.
    pub(super) about: String,
}

/// The fields of an object, or of the objects in an array; none for anything else.
pub(super) fn fields(schema: &Value, document: &Value) -> Vec<Field> {
    let schema = follow(schema, document);
    let Some(properties) = schema["properties"].as_object() else {
        return Vec::new();
    };
    let required = |name: &str| {
        let names = schema["required"].as_array();
        names.is_some_and(|names| names.iter().any(|required| required == name))
    };
    properties
        .iter()
        .map(|(name, property)| Field {
            name: name.clone(),
            kind: kind(property, document),
            is_required: required(name),
            about: about(property, document),
        })
        .collect()
}

/// What a schema is called, if it has a name.
pub(super) fn name_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

/// The schema behind a reference.
fn follow<'v>(schema: &'v Value, document: &'v Value) -> &'v Value {
    match name_of(schema) {
        Some(name) => &document["components"]["schemas"][name],
        None => schema,
    }
}

fn about(schema: &Value, document: &Value) -> String {
    let own = schema["description"].as_str();
    let own = own.or_else(|| follow(schema, document)["description"].as_str());
    own.unwrap_or_default().replace('\n', " ")
}

/// A type in a few words: `text`, `list of Client`, `"a" or "b"`.
pub(super) fn kind(schema: &Value, document: &Value) -> String {
    if let Some(name) = name_of(schema) {
        let behind = follow(schema, document);
        return match behind["enum"].is_array() || behind["const"].is_string() {
            true => kind(behind, document),
            false => name.to_owned(),
        };
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        return values.join(" or ");
    }
    if !schema["const"].is_null() {
        return schema["const"].to_string();
    }
    for several in ["anyOf", "oneOf"] {
        if let Some(schemas) = schema[several].as_array() {
            let mut kinds: Vec<String> = schemas
                .iter()
                .filter(|schema| schema["type"] != "null")
                .map(|schema| kind(schema, document))
                .collect();
            kinds.dedup();
            return kinds.join(" or ");
        }
    }
    let word = |word: &str| match word {
        "string" => match schema["format"].as_str() {
            Some("date-time") => "time".to_owned(),
            _ => "text".to_owned(),
        },
        "integer" => match (schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
            (Some(from), Some(to)) => format!("whole number {from}–{to}"),
            _ => "whole number".to_owned(),
        },
        "boolean" => "true or false".to_owned(),
        "array" => match &schema["items"] {
            Value::Null => "list".to_owned(),
            items => format!("list of {}", kind(items, document)),
        },
        other => other.to_owned(),
    };
    match &schema["type"] {
        Value::String(name) => word(name),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str);
            let words: Vec<String> = names.filter(|name| *name != "null").map(word).collect();
            words.join(" or ")
        }
        _ => "anything".to_owned(),
    }
}
