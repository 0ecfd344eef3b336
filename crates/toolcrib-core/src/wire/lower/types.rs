//! Types of values: those a schema declares or means, and schemas split by them.

use serde_json::Value;

use super::Context;
use super::node::{ANNOTATIONS, Node, Word};

/// The types of a schema: declared, or plain from its values, or meant by its keywords.
pub(super) fn types(node: &Node) -> Option<Vec<String>> {
    if let Some(kinds) = node.types() {
        return (!kinds.is_empty()).then_some(kinds);
    }
    let values = match (node.data("const"), node.data("enum")) {
        (Some(value), _) => std::slice::from_ref(value),
        (None, Some(Value::Array(values))) => values.as_slice(),
        (None, _) => &[],
    };
    let mut kinds: Vec<String> = Vec::new();
    for value in values {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        if !kinds.iter().any(|own| own == kind) {
            kinds.push(kind.to_owned());
        }
    }
    if !kinds.is_empty() {
        return Some(kinds);
    }
    let meant = [
        (
            "object",
            [
                "properties",
                "required",
                "additionalProperties",
                "patternProperties",
            ]
            .as_slice(),
        ),
        (
            "array",
            &[
                "items",
                "prefixItems",
                "minItems",
                "maxItems",
                "uniqueItems",
            ],
        ),
        ("string", &["pattern", "format", "minLength", "maxLength"]),
        (
            "number",
            &[
                "minimum",
                "maximum",
                "exclusiveMinimum",
                "exclusiveMaximum",
                "multipleOf",
            ],
        ),
    ];
    let (kind, _) = meant
        .into_iter()
        .find(|(_, keywords)| keywords.iter().any(|word| node.has(word)))?;
    Some(vec![kind.to_owned()])
}

/// Splits a schema of several types into one schema per type, each with the keywords that concern
/// it. Annotations stay with none.
pub(super) fn by_type(node: &Node, kinds: &[String]) -> Vec<Node> {
    kinds
        .iter()
        .filter_map(|kind| of_type(node, kind))
        .collect()
}

/// What a schema says about one of its types; `None` when it has no values of it.
fn of_type(node: &Node, kind: &str) -> Option<Node> {
    let mut part = Node::of_type(&node.at, kind);
    for mut entry in node.clone().take_words() {
        let keyword = entry.keyword.as_str();
        let is_other = concerns(keyword).is_some_and(|kinds| !kinds.contains(&kind));
        if keyword == "type" || is_other || ANNOTATIONS.contains(&keyword) {
            continue;
        }
        match (keyword, &mut entry.word) {
            ("enum", Word::Data(Value::Array(values))) => {
                values.retain(|value| is_of(value, kind));
                if values.is_empty() {
                    return None;
                }
            }
            ("const", Word::Data(value)) if !is_of(value, kind) => return None,
            _ => {}
        }
        part.adopt(entry);
    }
    Some(part)
}

/// The types a keyword has something to say about; `None` for all of them.
fn concerns(keyword: &str) -> Option<&'static [&'static str]> {
    match keyword {
        "properties"
        | "required"
        | "additionalProperties"
        | "patternProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "minProperties"
        | "maxProperties"
        | "dependentRequired"
        | "dependentSchemas"
        | "dependencies" => Some(&["object"]),
        "items" | "prefixItems" | "additionalItems" | "unevaluatedItems" | "contains"
        | "minContains" | "maxContains" | "minItems" | "maxItems" | "uniqueItems" => {
            Some(&["array"])
        }
        "pattern" | "format" | "minLength" | "maxLength" | "contentEncoding"
        | "contentMediaType" | "contentSchema" => Some(&["string"]),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            Some(&["number", "integer"])
        }
        _ => None,
    }
}

/// Whether a value is of a type, by the type's name.
pub(super) fn is_of(value: &Value, kind: &str) -> bool {
    match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(number) => {
            kind == "number" || (kind == "integer" && (number.is_i64() || number.is_u64()))
        }
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    }
}

/// A tuple has a schema per place; a list has one for all.
pub(super) fn tuple_to_list(cx: &mut Context, node: &mut Node) {
    for keyword in ["prefixItems", "items"] {
        let place = node.place(keyword);
        let mut places = node.take_many(keyword);
        if places.is_empty() {
            continue;
        }
        places.dedup();
        let at = places[0].at.clone();
        if let Some(Word::One(rest)) = node.remove("items")
            && !rest.is_never()
        {
            places.push(*rest);
        }
        let any = Node::with(&at, "anyOf", Word::Many(places));
        node.set("items", Word::One(Box::new(any)));
        let label = cx.dialect.label();
        cx.lose(
            &place,
            format!(
                "{label} takes one schema for all items; \
                 Toolcrib still enforces the one of each place when the tool is called"
            ),
        );
    }
}
