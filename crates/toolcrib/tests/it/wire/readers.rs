//! What the strictest public readers refuse, restated from their sources and documentation as a list of violations: VS Code Copilot's
//! normaliser of tool schemas, OpenAI, and Anthropic. One violation refuses all tools of a request. (`strict_rules.rs` has OpenAI's strict
//! mode, `gemini.rs` Gemini.)

use serde_json::{Value, json};
use toolcrib::RegisterBuiltins as _;
use toolcrib::wire::{DefinitionOptions, Provider, definition, definitions, mcp_tool};
use toolcrib::{Schema, ToolSpec, WireName};

use super::{LOOSE, tool};

/// Everything that one of the readers refuses about a tool's parameters.
pub(super) fn violations(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    // Anthropic: "It must match JSON Schema draft 2020-12". Copilot: Ajv with the metaschema of draft 7.
    let (mut latest, mut seventh) = (schema.clone(), schema.clone());
    for (copy, draft) in [
        (&mut latest, "https://json-schema.org/draft/2020-12/schema"),
        (&mut seventh, "http://json-schema.org/draft-07/schema#"),
    ] {
        copy["$schema"] = draft.into();
        if let Err(error) = jsonschema::meta::validate(copy) {
            found.push(format!("{draft}, at {}: {error}", error.instance_path()));
        }
    }
    if schema["type"] != "object" || !schema["properties"].is_object() {
        found.push("the root is not an object with properties".to_owned());
    }
    for word in ["anyOf", "oneOf", "allOf", "enum", "not"] {
        if schema.get(word).is_some() {
            found.push(format!("`{word}` at the top level"));
        }
    }
    each(schema, &mut |node| {
        let kinds = match &node["type"] {
            Value::Array(kinds) => kinds.clone(),
            kind => vec![kind.clone()],
        };
        let has_items = !matches!(node.get("items"), None | Some(Value::Bool(false)));
        if kinds.contains(&json!("array")) && !has_items {
            found.push(format!("an array without items: {node}"));
        }
        if let (Some(properties), Some(required)) =
            (node["properties"].as_object(), node["required"].as_array())
        {
            for name in required.iter().filter_map(Value::as_str) {
                if !properties.contains_key(name) {
                    found.push(format!("`{name}` is required and not described"));
                }
            }
        }
        if node["enum"].as_array().is_some_and(Vec::is_empty) {
            found.push("an empty enum".to_owned());
        }
    });
    found
}

/// The parameters whose names Anthropic refuses.
pub(super) fn odd_names(schema: &Value) -> Vec<String> {
    let is_odd = |name: &String| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        !name.bytes().all(is_plain) || name.is_empty() || name.len() > 64
    };
    let properties = schema["properties"].as_object();
    let names = properties
        .into_iter()
        .flat_map(|properties| properties.keys());
    names.filter(|name| is_odd(name)).cloned().collect()
}

/// Visits every schema in a schema.
fn each(schema: &Value, visit: &mut impl FnMut(&Value)) {
    let Some(fields) = schema.as_object() else {
        return;
    };
    visit(schema);
    for (word, value) in fields {
        match (word.as_str(), value) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
                | "dependencies",
                Value::Object(named),
            ) => named.values().for_each(|schema| each(schema, visit)),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                list.iter().for_each(|schema| each(schema, visit));
            }
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames",
                schema,
            ) => each(schema, visit),
            _ => {}
        }
    }
}

/// The schemas that a tool is published with over MCP: in S3's form and on the wire.
fn published(spec: &ToolSpec) -> Result<Vec<Value>, String> {
    let made = definition(spec, Provider::Mcp, &LOOSE).map_err(|error| error.to_string())?;
    let wire = mcp_tool(spec, None).map_err(|error| error.to_string())?;
    let wire: Value = serde_json::from_slice(&wire.json).unwrap();
    let anthropic = definition(spec, Provider::Anthropic, &LOOSE).map_err(|e| e.to_string())?;
    let openai = definition(spec, Provider::OpenAi, &LOOSE).map_err(|error| error.to_string())?;
    assert_eq!(made.tool["inputSchema"], wire["inputSchema"]);
    for schema in [&wire["inputSchema"], &anthropic.tool["input_schema"]] {
        assert_eq!(odd_names(schema), [""; 0]);
    }
    Ok(vec![
        wire["inputSchema"].clone(),
        anthropic.tool["input_schema"].clone(),
        openai.tool["function"]["parameters"].clone(),
    ])
}

#[test]
fn every_built_in_tool_is_taken_by_the_strictest_reader() {
    let registry = toolcrib::Registry::new();
    registry.register_builtins().unwrap();
    let entries = registry.entries();
    assert!(entries.len() > 15);
    for entry in entries {
        for schema in published(entry.spec()).unwrap() {
            let found = violations(&schema);
            assert!(
                found.is_empty(),
                "{}: {found:#?}\n{schema:#}",
                entry.spec().name
            );
        }
        if let Ok(made) = definition(
            entry.spec(),
            Provider::OpenAi,
            &DefinitionOptions { strict: true },
        ) {
            super::strict_rules::assert_strict(&made.tool["function"]["parameters"]);
        }
        let gemini = definition(entry.spec(), Provider::Gemini, &LOOSE).unwrap();
        if let Some(schema) = gemini.tool.get("parameters") {
            assert_eq!(super::gemini::violations(schema), [""; 0]);
        }
    }
}

#[test]
fn anthropics_strict_mode_closes_objects_and_lets_parameters_be_left_out() {
    let strict = DefinitionOptions { strict: true };
    let made = |schema: Value| definition(&tool("t", schema), Provider::Anthropic, &strict);
    let schema = json!({"type": "object", "required": ["a"], "properties": {
        "a": {"type": ["string", "null"], "minLength": 1, "pattern": "^a"},
        "n": {"type": "integer", "minimum": 1},
        "list": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3}}});
    let tool = made(schema).unwrap().tool;
    assert_eq!(tool["strict"], true);
    assert_eq!(
        tool["input_schema"],
        json!({"type": "object", "properties": {
                "a": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "n": {"type": "integer"},
                "list": {"type": "array", "items": {"type": "string"}, "minItems": 1}},
            "required": ["a"], "additionalProperties": false})
    );
    let circle = json!({"type": "object", "required": ["t"], "properties": {"t": {"$ref": "#/$defs/t"}},
        "$defs": {"t": {"type": "object", "properties": {"next": {"$ref": "#/$defs/t"}}, "required": ["next"]}}});
    assert!(made(circle).unwrap_err().reason.contains("contains itself"));
}

/// As servers in the wild have them, or could.
#[test]
fn a_foreign_schema_is_published_in_a_form_that_every_reader_takes() {
    for property in [
        json!({"type": "array"}),
        json!({"type": ["array", "null"]}),
        json!({"anyOf": [{"type": "array"}, {"type": "object"}]}),
        json!({"type": "array", "items": true}),
        json!({"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "items": false}),
        json!({"type": "object", "properties": {"a": true}, "required": ["b", "a"]}),
        json!({"type": "object", "properties": {}, "required": ["b"], "additionalProperties": false}),
        json!(true),
        json!({"type": "string", "enum": []}),
        json!({"$ref": "#/$defs/list"}),
    ] {
        let schema = json!({"type": "object", "properties": {"p": property, "odd name": {"type": "string"}},
            "anyOf": [{"required": ["p"]}, {"required": ["q"]}], "$defs": {"list": {"type": "array"}}});
        for schema in published(&tool("t", schema.clone())).unwrap() {
            let found = violations(&schema);
            assert!(found.is_empty(), "{found:#?}\n{schema:#}\nof {property:#}");
        }
    }
    let draft_4 = json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "object", "properties": {
        "n": {"type": "number", "minimum": 0, "exclusiveMinimum": true},
        "pair": {"type": "array", "items": [{"type": "string"}], "additionalItems": false}}});
    for schema in published(&tool("t", draft_4)).unwrap() {
        assert_eq!(violations(&schema), [""; 0], "{schema:#}");
        assert_eq!(schema["properties"]["n"]["exclusiveMinimum"], 0);
    }
}

#[test]
fn a_schema_that_no_reader_takes_leaves_out_its_tool_alone_and_says_why() {
    let good = tool("good", json!({"type": "object", "properties": {}}));
    for (property, required, reason) in [
        (json!({"type": "any"}), json!([]), "`type` is one of"),
        (
            json!({"type": "string", "required": true}),
            json!([]),
            "`required` is a list of names",
        ),
        (
            json!({"type": "string"}),
            json!(null),
            "`required` is a list of names",
        ),
        (
            json!({"type": "number", "minimum": "1"}),
            json!([]),
            "`minimum` is a number",
        ),
        (
            json!({"type": "string", "maxLength": -1}),
            json!([]),
            "`maxLength` is a whole number",
        ),
        (json!({"enum": []}), json!(["p"]), "its `enum` is empty"),
    ] {
        let schema = json!({"type": "object", "properties": {"p": property}, "required": required});
        let bad = ToolSpec::new(
            WireName::parse("bad").unwrap(),
            "Bad",
            Schema::stored(schema).unwrap(),
        );
        for provider in Provider::ALL {
            let made = definitions([&bad, &good], provider, &LOOSE);
            assert_eq!((made.tools.len(), made.dropped.len()), (1, 1), "{provider}");
            assert!(
                made.dropped[0].reason.contains(reason),
                "{:?}",
                made.dropped
            );
        }
        assert!(mcp_tool(&bad, None).is_err());
    }
}
