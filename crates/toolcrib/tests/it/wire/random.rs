//! Random schemas: lowering never panics, and what it makes is what the provider takes.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolcrib::wire::{DefinitionOptions, Provider, definition};
use toolcrib::{Schema, ToolSpec, WireName};

use super::{readers, strict_rules};

const NAMES: [&str; 6] = ["a", "b", "c", "$ref", "x/y", "filter[id]"];
const TYPES: [&str; 8] = [
    "object", "array", "string", "number", "integer", "boolean", "null", "nonsense",
];

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(NAMES.as_slice()).prop_map(str::to_owned)
}

fn reference() -> impl Strategy<Value = Value> {
    let targets = [
        "#",
        "#/$defs/a",
        "#/$defs/b",
        "#/definitions/c",
        "#/properties/a",
    ];
    prop::sample::select(targets.to_vec()).prop_map(Value::from)
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-3..9_i64).prop_map(Value::from),
        Just(json!(1.5)),
        name().prop_map(Value::from),
        Just(json!([1])),
        Just(json!({"$ref": "#/nowhere"}))
    ]
}

fn types() -> impl Strategy<Value = Value> {
    let one = prop::sample::select(TYPES.as_slice());
    prop_oneof![4 => one.clone().prop_map(Value::from), 1 => prop::collection::vec(one, 1..4).prop_map(Value::from)]
}

/// A keyword that holds no schema. Sometimes its value makes no sense.
fn data_keyword() -> impl Strategy<Value = (String, Value)> {
    let keyed = |keyword: &'static str| move |value: Value| (keyword.to_owned(), value);
    prop_oneof![
        6 => types().prop_map(keyed("type")),
        2 => reference().prop_map(keyed("$ref")),
        1 => prop::collection::vec(scalar(), 0..4).prop_map(Value::from).prop_map(keyed("enum")),
        1 => scalar().prop_map(keyed("const")),
        2 => prop::collection::vec(name(), 0..3).prop_map(Value::from).prop_map(keyed("required")),
        1 => any::<bool>().prop_map(Value::from).prop_map(keyed("additionalProperties")),
        1 => name().prop_map(Value::from).prop_map(keyed("description")),
        1 => Just(json!("(?=x)")).prop_map(keyed("pattern")),
        1 => Just(json!("date")).prop_map(keyed("format")),
        2 => (prop::sample::select(["minimum", "maxLength", "minItems", "uniqueItems", "default", "format", "pattern", "title",
            "x-order", "$id", "$comment", "dependentRequired", "exclusiveMinimum"].as_slice()), scalar())
            .prop_map(|(keyword, value)| (keyword.to_owned(), value)),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    let flat = prop_oneof![
        1 => any::<bool>().prop_map(Value::from),
        8 => prop::collection::vec(data_keyword(), 0..4).prop_map(object),
    ];
    flat.prop_recursive(4, 48, 4, |inner| {
        let named = prop::collection::vec((name(), inner.clone()), 0..4).prop_map(object);
        let many = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
        let with_schemas = prop_oneof![
            4 => (prop::sample::select(["properties", "patternProperties", "dependentSchemas", "$defs", "dependencies"].as_slice()), named),
            3 => (prop::sample::select(["allOf", "anyOf", "oneOf", "prefixItems", "items"].as_slice()), many),
            3 => (prop::sample::select(["items", "additionalProperties", "not", "if", "contains", "propertyNames"].as_slice()), inner),
        ]
        .prop_map(|(keyword, value)| (keyword.to_owned(), value));
        let keyword = prop_oneof![data_keyword(), with_schemas];
        prop::collection::vec(keyword, 0..5).prop_map(object)
    })
}

fn object(fields: Vec<(String, Value)>) -> Value {
    Value::Object(fields.into_iter().collect::<Map<_, _>>())
}

/// A schema of an object, with definitions for the references to find.
fn root() -> impl Strategy<Value = Value> {
    let definitions = (schema(), schema(), schema());
    let properties = prop::collection::vec((name(), schema()), 0..4).prop_map(object);
    (schema(), properties, definitions).prop_map(|(root, mut properties, (a, b, c))| {
        if properties.get("a").is_none() {
            properties["a"] = json!({"type": "string"});
        }
        let mut fields = root.as_object().cloned().unwrap_or_default();
        fields.insert("type".to_owned(), json!("object"));
        fields.insert("properties".to_owned(), properties);
        fields.insert("$defs".to_owned(), json!({"a": a, "b": b}));
        fields.insert("definitions".to_owned(), json!({"c": c}));
        Value::Object(fields)
    })
}

fn is_plain_object(schema: &Value) -> bool {
    schema["type"] == "object"
        && schema["properties"].is_object()
        && [
            "anyOf", "oneOf", "allOf", "enum", "not", "$ref", "$schema", "$id",
        ]
        .iter()
        .all(|word| schema.get(word).is_none())
}

/// Every `$ref` in the places where schemas stand leads to a schema.
fn dangling(root: &Value, schema: &Value) -> Option<String> {
    let fields = schema.as_object()?;
    let inner = fields.iter().flat_map(|(keyword, value)| -> Vec<&Value> {
        match (keyword.as_str(), value) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
                | "dependencies",
                Value::Object(inner),
            ) => inner.values().collect(),
            ("allOf" | "anyOf" | "oneOf" | "prefixItems" | "items", Value::Array(inner)) => {
                inner.iter().collect()
            }
            (
                "items" | "additionalProperties" | "not" | "if" | "contains" | "propertyNames",
                inner,
            ) => vec![inner],
            _ => Vec::new(),
        }
    });
    let own = fields
        .get("$ref")
        .and_then(Value::as_str)
        .filter(|reference| {
            reference
                .strip_prefix('#')
                .and_then(|pointer| root.pointer(pointer))
                .is_none()
        });
    own.map(str::to_owned)
        .or_else(|| inner.into_iter().find_map(|inner| dangling(root, inner)))
}

/// What Ollama's types hold, and nothing else.
fn is_for_ollama(schema: &Value) -> bool {
    let Some(fields) = schema.as_object() else {
        return false;
    };
    fields
        .iter()
        .all(|(keyword, value)| match (keyword.as_str(), value) {
            ("type" | "description", value) => value.is_string() || keyword == "description",
            ("enum" | "required", _) => true,
            ("items", inner) => is_for_ollama(inner),
            ("properties", Value::Object(inner)) => inner.values().all(is_for_ollama),
            ("anyOf", Value::Array(inner)) => inner.iter().all(is_for_ollama),
            _ => false,
        })
}

/// What the strictest reader refuses.
fn refused(schema: &Value, provider: Provider) -> Vec<String> {
    let mut found = readers::violations(schema);
    if matches!(provider, Provider::Anthropic | Provider::Mcp) {
        found.extend(readers::odd_names(schema));
    }
    found
}

/// As many cases as asked for by `PROPTEST_CASES`, and never few: one in three is not a schema at all.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: default.cases.max(600),
        failure_persistence: None,
        ..default
    }
}

/// Whether a pointer leads to a part of a schema. Draft 7 spells `prefixItems` as a list of `items`.
fn leads_somewhere(schema: &Value, pointer: &str) -> bool {
    let unescaped = |step: &str| step.replace("~1", "/").replace("~0", "~");
    let mut at = Some(schema);
    for step in pointer.split('/').skip(1).map(unescaped) {
        at = at.and_then(|value| match value {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            Value::Object(fields) => match fields.get(&step) {
                None if step == "prefixItems" => fields.get("items"),
                found => found,
            },
            _ => None,
        });
    }
    at.is_some()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_lowering_makes_is_what_the_provider_takes(value in root()) {
        // References that lead nowhere or in circles are refused before they get here.
        let Ok(schema) = Schema::stored(value.clone()) else { return Ok(()) };
        let spec = ToolSpec::new(WireName::parse("t").unwrap(), "d", schema);
        let runs = Provider::ALL.map(|provider| (provider, false)).into_iter().chain([(Provider::OpenAi, true)]);
        for (provider, strict) in runs {
            let Ok(made) = definition(&spec, provider, &DefinitionOptions { strict }) else { continue };
            for loss in &made.losses {
                prop_assert!(leads_somewhere(&value, &loss.pointer), "{provider}: {loss:?}\n{value:#}");
            }
            match provider {
                Provider::OpenAi if strict => {
                    let lowered = &made.tool["function"]["parameters"];
                    let found = strict_rules::violations(lowered);
                    prop_assert!(found.is_empty(), "{found:#?}\n{lowered:#}\nof {value:#}");
                }
                Provider::OpenAi | Provider::OpenAiFunctions | Provider::OpenAiResponses | Provider::Anthropic => {
                    let function = made.tool.get("function").unwrap_or(&made.tool);
                    let lowered = function.get("parameters").unwrap_or(&function["input_schema"]);
                    prop_assert!(is_plain_object(lowered), "{provider}: {lowered:#}\nof {value:#}");
                    prop_assert_eq!(dangling(lowered, lowered), None, "{}: {:#}\nof {:#}", provider, lowered, value);
                    let found = refused(lowered, provider);
                    prop_assert!(found.is_empty(), "{provider}: {found:#?}\n{lowered:#}\nof {value:#}");
                }
                Provider::Ollama => {
                    let lowered = &made.tool["function"]["parameters"];
                    prop_assert!(is_plain_object(lowered) && is_for_ollama(lowered), "{lowered:#}\nof {value:#}");
                }
                Provider::Gemini => {
                    if let Some(lowered) = made.tool.get("parameters") {
                        let found = super::gemini::violations(lowered);
                        prop_assert!(found.is_empty(), "{found:#?}\n{lowered:#}\nof {value:#}");
                    }
                }
                Provider::Mcp => {
                    let lowered = &made.tool["inputSchema"];
                    prop_assert_eq!(dangling(lowered, lowered), None, "{}: {:#}\nof {:#}", provider, lowered, value);
                    let found = refused(lowered, provider);
                    prop_assert!(found.is_empty(), "{found:#?}\n{lowered:#}\nof {value:#}");
                }
            }
        }
    }
}
