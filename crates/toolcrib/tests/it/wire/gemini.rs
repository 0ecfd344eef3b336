//! Definitions for Gemini, whose server refuses a request for one field it does not know.

use serde_json::{Value, json};
use toolcrib::wire::{Provider, definition, definitions};
use toolcrib::{ToolSpec, WireName};

use super::{LOOSE, dropped, execute_bash, lowered, tool};

/// What Gemini's `Schema` message would not take, with the place.
pub(super) fn violations(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    look(schema, "", &mut found);
    if schema["type"] != "object" {
        found.push("the root is not an object".to_owned());
    }
    found
}

fn look(schema: &Value, at: &str, found: &mut Vec<String>) {
    let mut say = |what: &str| found.push(format!("{at}: {what}"));
    let Some(fields) = schema.as_object() else {
        return say("is not an object");
    };
    if let Some(variants) = fields.get("anyOf").and_then(Value::as_array) {
        if fields.len() != 1 || variants.len() < 2 {
            say("anyOf is not alone, or no choice");
        }
        for (index, variant) in variants.iter().enumerate() {
            look(variant, &format!("{at}/anyOf/{index}"), found);
        }
        return;
    }
    let kind = fields
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !["string", "number", "integer", "boolean", "array", "object"].contains(&kind) {
        say("has no type Gemini knows");
    }
    if kind == "array" && !fields.contains_key("items") {
        say("is an array without items");
    }
    let names: Vec<&String> = fields
        .get("properties")
        .and_then(Value::as_object)
        .map(|properties| properties.keys().collect())
        .unwrap_or_default();
    for (word, value) in fields {
        let good = match word.as_str() {
            "type" | "title" | "description" | "pattern" => value.is_string(),
            "nullable" => value.is_boolean(),
            "minimum" | "maximum" => value.is_number(),
            "minItems" | "maxItems" | "minLength" | "maxLength" => value.is_u64(),
            "format" => ["date-time", "int32", "int64", "float", "double"]
                .iter()
                .any(|known| value == known),
            "enum" => {
                kind == "string"
                    && value.as_array().is_some_and(|values| {
                        values
                            .iter()
                            .all(|value| value.as_str().is_some_and(|value| !value.is_empty()))
                    })
            }
            "required" => value.as_array().is_some_and(|required| {
                required
                    .iter()
                    .all(|name| names.iter().any(|own| *own == name))
            }),
            "items" | "properties" => true,
            _ => false,
        };
        if !good {
            found.push(format!("{at}/{word}: {value}"));
        }
    }
    if let Some(items) = fields.get("items") {
        look(items, &format!("{at}/items"), found);
    }
    for (name, property) in fields
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        look(property, &format!("{at}/properties/{name}"), found);
    }
}

#[test]
fn gemini_gets_what_its_schema_message_holds() {
    let schema = json!({"type": "object", "additionalProperties": false, "required": ["a", "z"], "properties": {
        "a": {"type": ["string", "null"], "maxLength": 3, "description": "A"},
        "b": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}], "description": "B"},
        "c": {"enum": [1, 2]},
        "d": {"const": "fixed"},
        "e": {"type": "array"},
        "f": {"type": "string", "format": "uri"},
        "g": {"type": "string", "format": "date-time"},
        "h": {"type": "null"},
        "i": {"$ref": "#/$defs/node"},
        "j": {"type": "integer", "exclusiveMinimum": 0, "maximum": 9, "default": 3}},
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}});
    let (made, losses) = lowered(schema, Provider::Gemini, &LOOSE);
    assert_eq!(violations(&made), [""; 0]);
    let any =
        json!([{"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"type": "object"}]);
    assert_eq!(
        made,
        json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "string", "maxLength": 3, "nullable": true, "description": "A"},
            "b": {"anyOf": [
                {"type": "string", "nullable": true, "description": "B"},
                {"type": "integer", "nullable": true, "description": "B"}]},
            "c": {"type": "integer"},
            "d": {"type": "string", "enum": ["fixed"]},
            "e": {"type": "array", "items": {"anyOf": any}},
            "f": {"type": "string"},
            "g": {"type": "string", "format": "date-time"},
            "i": {"type": "object", "properties": {"next": {"type": "object"}}},
            "j": {"type": "integer", "maximum": 9}}})
    );
    let mut pointers: Vec<&str> = losses.iter().map(|(pointer, _)| pointer.as_str()).collect();
    pointers.sort_unstable();
    assert_eq!(
        pointers,
        [
            "/$defs/node/properties/next",
            "/additionalProperties",
            "/properties/c/enum",
            "/properties/e",
            "/properties/f/format",
            "/properties/h",
            "/properties/j/default",
            "/properties/j/exclusiveMinimum",
            "/required",
        ]
    );
}

#[test]
fn a_tool_without_parameters_says_nothing_about_them() {
    let spec = tool("now", json!({"type": "object"}));
    let made = definition(&spec, Provider::Gemini, &LOOSE).unwrap();
    assert_eq!(
        made.tool,
        json!({"name": "now", "description": "Describes now"})
    );
}

#[test]
fn a_name_gemini_refuses_leaves_out_that_tool_alone() {
    let odd = ToolSpec {
        name: WireName::parse("7zip").unwrap(),
        ..execute_bash()
    };
    let made = definitions([&odd, &execute_bash()], Provider::Gemini, &LOOSE);
    assert_eq!(made.tools.len(), 1);
    assert_eq!(made.dropped[0].tool, "7zip");
}

#[test]
fn a_required_parameter_that_cannot_be_said_leaves_out_the_tool() {
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"]});
    assert!(dropped(schema, Provider::Gemini, &LOOSE).contains("null is all it takes"));
}

#[test]
fn the_responses_api_receives_whether_it_is_strict() {
    let made = definition(&execute_bash(), Provider::OpenAiResponses, &LOOSE).unwrap();
    assert_eq!(made.tool["strict"], false);
    assert_eq!(made.tool["type"], "function");
    let made = definition(&execute_bash(), Provider::OpenAiResponses, &super::STRICT).unwrap();
    assert_eq!(made.tool["strict"], true);
}
