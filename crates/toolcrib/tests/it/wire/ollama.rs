//! Definitions for Ollama, whose schemas are the plainest.

use serde_json::json;
use toolcrib::wire::Provider;

use super::{LOOSE, dropped, losses, lowered};

#[test]
fn ollama_gets_one_type_and_no_constraints() {
    let schema = json!({"type": "object", "additionalProperties": false, "properties": {
        "a": {"type": ["string", "null"], "maxLength": 3, "description": "A"},
        "b": {"type": ["string", "array"], "items": {"type": "integer", "minimum": 1}},
        "c": {"const": 5}, "d": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false},
        "e": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "E"}, "f": false, "g": {"type": "object"}}});
    let (plain, losses) = lowered(schema, Provider::Ollama, &LOOSE);
    assert_eq!(
        plain,
        json!({"type": "object", "properties": {
            "a": {"type": "string", "description": "A"},
            "b": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
            "c": {"type": "integer", "enum": [5]},
            "d": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
            "e": {"type": "string", "description": "E"},
            "g": {"type": "object"}}})
    );
    let pointers: Vec<&str> = losses.iter().map(|(pointer, _)| pointer.as_str()).collect();
    assert_eq!(
        pointers,
        [
            "/additionalProperties",
            "/properties/a",
            "/properties/a/maxLength",
            "/properties/b/items/minimum",
            "/properties/d/prefixItems",
            "/properties/e",
            "/properties/f"
        ]
    );
}

#[test]
fn ollama_stops_definitions_that_multiply() {
    let mut definitions = serde_json::Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions.insert(
            format!("d{level}"),
            json!({"type": "object", "properties": {"a": next.clone(), "b": next}}),
        );
    }
    definitions.insert("d40".to_owned(), json!({"type": "string"}));
    let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
    assert!(dropped(schema.clone(), Provider::Ollama, &LOOSE).contains("written out"));
    assert_eq!(losses(schema, Provider::OpenAi, &LOOSE), [""; 0]);
}

#[test]
fn a_definition_reached_twice_from_one_place_is_not_recursion() {
    let schema = json!({"type": "object", "properties": {"p": {"allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]}},
        "$defs": {
            "A": {"type": "object", "properties": {"x": {"type": "string"}}},
            "B": {"allOf": [{"$ref": "#/$defs/A"}], "properties": {"y": {"type": "integer"}}}}});
    let expected = json!({"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "integer"}}});
    let (plain, lost) = lowered(schema, Provider::Ollama, &LOOSE);
    assert_eq!((&plain["properties"]["p"], lost), (&expected, vec![]));
}
