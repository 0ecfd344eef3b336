//! Definitions in OpenAI's strict mode.

use serde_json::{Value, json};
use toolcrib::wire::{Provider, definition};

use super::{STRICT, dropped, execute_bash, losses, lowered, search};
use crate::golden;

/// In strict mode a model says null for what it leaves out, and the tool accepts that.
#[test]
fn arguments_made_in_strict_mode_fit_the_tool() {
    let spec = search();
    let made = definition(&spec, Provider::OpenAi, &STRICT).unwrap();
    let validator = jsonschema::validator_for(&made.tool["function"]["parameters"]).unwrap();
    let call = json!({"query": "x", "limit": 3, "filter": {"field": "a", "value": null, "and": null},
        "sort": "name", "range": {"from": "2026-01-01", "to": "2026-02-01"}, "since": 12,
        "mode": "text", "fuzzy": true, "flags": null});
    let faults: Vec<String> = validator
        .iter_errors(&call)
        .map(|fault| fault.to_string())
        .collect();
    assert_eq!(faults, [""; 0]);
    let Value::Object(args) = call else {
        unreachable!("an object")
    };
    let checked = spec.input_schema.check_arguments(args, &[]);
    assert_eq!(checked.err(), None);
}

#[test]
fn strict_mode_leaves_out_optional_parameters_it_cannot_say() {
    let schema = json!({"type": "object", "required": ["url"], "properties": {
        "url": {"type": "string"}, "headers": {"type": "object", "additionalProperties": {"type": "string"}},
        "body": {}, "list": {"type": "array"}}});
    let (strict, lost) = lowered(schema, Provider::OpenAi, &STRICT);
    assert_eq!(
        strict,
        json!({"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"], "additionalProperties": false})
    );
    let pointers: Vec<&str> = lost.iter().map(|(pointer, _)| pointer.as_str()).collect();
    assert_eq!(
        pointers,
        [
            "/properties/headers",
            "/properties/body",
            "/properties/list"
        ]
    );
}

#[test]
fn strict_mode_drops_tools_that_need_what_it_cannot_say() {
    let needs = |property: Value| json!({"type": "object", "properties": {"p": property}, "required": ["p"]});
    for (schema, reason) in [
        (needs(json!({"type": "object"})), "an object of any fields"),
        (
            needs(json!({"type": "object", "additionalProperties": true})),
            "an object of any fields",
        ),
        (
            needs(
                json!({"type": "object", "patternProperties": {"^x": {}}, "additionalProperties": false}),
            ),
            "an object of any fields",
        ),
        (needs(json!(true)), "any type"),
        (needs(json!({"type": "array"})), "an array of anything"),
        (
            needs(json!({"allOf": [{"type": "string"}, {"type": "integer"}]})),
            "nothing can fit",
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            "an object of any fields",
        ),
        (
            json!({"type": "object", "required": ["q"]}),
            "requires `q` but does not describe it",
        ),
    ] {
        let found = dropped(schema.clone(), Provider::OpenAi, &STRICT);
        assert!(found.contains(reason), "{schema}: {found}");
    }
}

#[test]
fn strict_mode_has_its_limits() {
    let object = |properties: serde_json::Map<String, Value>| json!({"type": "object", "properties": properties});
    let many = |count: usize| {
        (0..count)
            .map(|n| (format!("p{n}"), json!({"type": "string"})))
            .collect()
    };
    assert!(dropped(object(many(5_001)), Provider::OpenAi, &STRICT).contains("5001 properties"));
    assert_eq!(
        losses(object(many(5_000)), Provider::OpenAi, &STRICT),
        [""; 0]
    );

    let choices = |count: usize| json!({"type": "object", "properties": {"p": {"enum": (0..count).map(|n| format!("v{n}")).collect::<Vec<_>>()}}});
    assert!(dropped(choices(1_001), Provider::OpenAi, &STRICT).contains("1001 `enum` values"));
    assert_eq!(losses(choices(1_000), Provider::OpenAi, &STRICT), [""; 0]);

    let long = json!({"type": "object", "properties": {"p": {"enum": (0..251).map(|n| format!("{n:0>60}")).collect::<Vec<_>>()}}});
    assert!(dropped(long, Provider::OpenAi, &STRICT).contains("15000 characters"));

    let nested = |levels: usize| {
        let leaf =
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
        (1..levels).fold(
            leaf,
            |inner, _| json!({"type": "object", "properties": {"a": inner}, "required": ["a"]}),
        )
    };
    assert!(dropped(nested(11), Provider::OpenAi, &STRICT).contains("11 levels"));
    assert_eq!(losses(nested(10), Provider::OpenAi, &STRICT), [""; 0]);
}

#[test]
fn strict_is_for_openai_alone() {
    for provider in Provider::ALL {
        let made = definition(&execute_bash(), provider, &STRICT).unwrap();
        let is_strict = made.tool.to_string().contains("strict");
        assert_eq!(is_strict, provider.has_strict_mode(), "{provider}");
    }
    golden::assert_json(
        "wire/seed_openai_strict.json",
        &definition(&execute_bash(), Provider::OpenAi, &STRICT)
            .unwrap()
            .tool,
    );
}

#[test]
fn strict_mode_makes_optional_parameters_nullable() {
    let schema = json!({"type": "object", "properties": {
        "text": {"type": "string"}, "maybe": {"type": ["string", "null"]},
        "choice": {"description": "C", "enum": ["a", "b"]}, "nothing": {"enum": ["a", null]},
        "object": {"type": "object", "description": "O", "properties": {"x": {"type": "integer"}}},
        "list": {"type": "array", "items": {"type": "string"}},
        "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        "reference": {"$ref": "#/$defs/R", "description": "D"}}, "$defs": {"R": {"type": "string", "enum": ["r"]}}});
    let (strict, lost) = lowered(schema, Provider::OpenAi, &STRICT);
    assert_eq!(lost, []);
    assert_eq!(
        strict["properties"],
        json!({
            "text": {"type": ["string", "null"]}, "maybe": {"type": ["string", "null"]},
            "choice": {"description": "C", "anyOf": [{"enum": ["a", "b"], "type": "string"}, {"type": "null"}]},
            "nothing": {"enum": ["a", null], "type": ["string", "null"]},
            "object": {"description": "O", "anyOf": [
                {"type": "object", "properties": {"x": {"type": ["integer", "null"]}}, "required": ["x"], "additionalProperties": false},
                {"type": "null"}]},
            "list": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
            "reference": {"description": "D", "anyOf": [{"$ref": "#/$defs/R"}, {"type": "null"}]}})
    );
}

#[test]
fn strict_mode_reports_each_keyword_it_does_not_take() {
    let schema = json!({"type": "object", "minProperties": 1, "required": ["s", "a", "n"], "properties": {
        "s": {"type": "string", "minLength": 1, "default": "x", "pattern": "^(?=a)", "format": "uri", "examples": ["x"]},
        "a": {"type": "array", "items": {"type": "string", "pattern": "^a", "format": "date"}, "minItems": 1, "uniqueItems": true,
            "contains": {"const": "x"}},
        "n": {"type": "number", "minimum": 1, "multipleOf": 2, "not": {"const": 4}, "if": {"minimum": 3}, "then": {"multipleOf": 4}}}});
    let (strict, lost) = lowered(schema, Provider::OpenAi, &STRICT);
    assert_eq!(
        strict["properties"],
        json!({"s": {"type": "string"},
            "a": {"type": "array", "minItems": 1, "items": {"type": "string", "pattern": "^a", "format": "date"}},
            "n": {"type": "number", "minimum": 1, "multipleOf": 2}})
    );
    let mut pointers: Vec<&str> = lost.iter().map(|(pointer, _)| pointer.as_str()).collect();
    pointers.sort_unstable();
    assert_eq!(
        pointers,
        [
            "/minProperties",
            "/properties/a/contains",
            "/properties/a/uniqueItems",
            "/properties/n/if",
            "/properties/n/not",
            "/properties/n/then",
            "/properties/s/default",
            "/properties/s/examples",
            "/properties/s/format",
            "/properties/s/minLength",
            "/properties/s/pattern"
        ]
    );
}

#[test]
fn strict_mode_offers_a_type_only_the_values_it_has() {
    let schema = json!({"type": "object", "required": ["p"], "properties": {
        "p": {"type": ["string", "array"], "enum": ["a"], "items": {"type": "string"}}}});
    let (strict, lost) = lowered(schema, Provider::OpenAi, &STRICT);
    assert_eq!(
        strict["properties"]["p"],
        json!({"type": "string", "enum": ["a"]})
    );
    assert_eq!(lost, []);
}
