//! Hostile input, at random: the parsers of references, arguments and manifests never panic, and
//! what they accept survives being written and read again. The fuzz targets do the same for longer.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolcrib::model::text;
use toolcrib::schema::{Rejected, SchemaPool};
use toolcrib::{CallId, CallRequest, Schema, Slug, ToolManifest, ToolRef, Version, WireName};

/// Text as people, models and attackers write it.
fn hostile_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9_+@/.-]{0,80}",
        "[a-z]{1,8}/[a-z-]{1,8}(@[a-z0-9.]{1,8})?",
        any::<String>(),
        "\\PC{0,80}",
        Just("018faf50-b7b6-7a01-9a05-a22a6e0af101".to_owned()),
    ]
}

const WORDS: &[&str] = &[
    "path",
    "start_line",
    "startLine",
    "^a+$",
    "#",
    "#/properties/a",
    "object",
    "string",
    "integer",
];
const KEYWORDS: &[&str] = &[
    "type",
    "properties",
    "required",
    "items",
    "anyOf",
    "allOf",
    "oneOf",
    "enum",
    "default",
    "pattern",
    "minimum",
    "$ref",
    "writeOnly",
    "not",
];

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        hostile_text().prop_map(Value::from),
        prop::sample::select(WORDS).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        let key = prop_oneof![
            prop::sample::select(KEYWORDS).prop_map(str::to_owned),
            "[a-c]",
            hostile_text(),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..6)
                .prop_map(|fields| Value::Object(Map::from_iter(fields))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_reference_is_refused_or_survives_being_written(text in hostile_text()) {
        if let Ok(reference) = text.parse::<ToolRef>() {
            prop_assert_eq!(reference.to_string().parse::<ToolRef>(), Ok(reference));
        }
        if let Ok(slug) = Slug::parse(&text) {
            prop_assert_eq!(slug.as_str(), &text);
            prop_assert!(text.chars().count() <= 64);
        }
        if let Ok(version) = Version::parse(&text) {
            prop_assert_eq!(version.as_str(), &text);
        }
        let _ = CallId::parse(&text);
        prop_assert!(WireName::parse(WireName::fit(&text).as_str()).is_ok());
        prop_assert!(!text::visible(&text).chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
        let _ = text::nearest(&text, ["read_file", "list_directory"]);
    }

    #[test]
    fn any_json_is_a_call_or_says_why_not(value in json_value()) {
        match CallRequest::from_json(value) {
            Ok(request) => prop_assert!(request.call_id.is_none_or(|id| !id.to_string().is_empty())),
            Err(error) => prop_assert!(!error.message().is_empty()),
        }
    }

    #[test]
    fn arguments_are_accepted_for_good_or_refused_with_pointers(
        properties in json_value(), extra in json_value(), args in json_value(),
    ) {
        let mut schema = json!({"type": "object"});
        schema["properties"] = properties;
        if let Value::Object(fields) = extra {
            for (key, value) in fields {
                if key != "type" {
                    schema[key] = value;
                }
            }
        }
        let Ok(schema) = Schema::stored(schema) else { return Ok(()) };
        let Value::Object(args) = args else { return Ok(()) };
        match schema.check_arguments(args, &[]) {
            Ok(checked) => prop_assert_eq!(schema.check_arguments(checked.clone(), &[]), Ok(checked)),
            Err(Rejected::Arguments { faults, .. }) => prop_assert!(!faults.is_empty()),
            Err(Rejected::Schema(error)) => prop_assert!(!error.problems.is_empty()),
        }
    }

    #[test]
    fn a_manifest_is_refused_or_kept_as_it_was(field in "[a-zA-Z]{1,12}", value in json_value(), bytes in any::<Vec<u8>>()) {
        let _ = ToolManifest::from_json(&bytes);
        let mut json = json!({
            "bundleID": "018faf50-b7b6-7a01-9a05-a22a6e0af101", "slug": "weather", "version": "v2", "type": "http",
            "argSchema": {"type": "object"}, "createdAt": "2024-05-14T13:44:00Z", "modifiedAt": "2024-06-01T09:17:10Z"
        });
        let known = ["slug", "version", "type", "argSchema", "outputSchema", "tags", "limits", "name", "impl"];
        let key = known.iter().find(|known| known.starts_with(&field)).map_or(field.as_str(), |known| known);
        json[key] = value;
        if let Ok(manifest) = ToolManifest::from_json(json.to_string().as_bytes()) {
            let written = serde_json::to_string(&manifest).unwrap();
            prop_assert_eq!(&ToolManifest::from_json(written.as_bytes()).unwrap(), &manifest);
            let _ = manifest.into_spec(Slug::parse("test").unwrap(), &mut SchemaPool::default());
        }
    }
}
