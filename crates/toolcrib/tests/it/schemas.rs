//! The published schemas of the built-in tools: a golden file, with sorted keys, since types and JSON write them in another order.

use serde_json::{Map, Value};
use toolcrib::config::Surroundings;
use toolcrib::{CribOptions, ToolSpec};

use crate::golden;

const DISCOVERY: [&str; 4] = [
    "find_tools",
    "call_read_tool",
    "call_write_tool",
    "call_tool",
];

#[test]
fn built_in_tools_publish_these_schemas() {
    let directory = tempfile::tempdir().unwrap();
    let surroundings = Surroundings::new(
        directory.path(),
        [("HOME", directory.path().to_str().unwrap())],
    );
    let crib = CribOptions::default()
        .surroundings(surroundings)
        .home(directory.path().join("home"))
        .workspace(directory.path())
        .open()
        .unwrap();
    let registry = crib.registry();
    let mut entries = registry.entries();
    entries.extend(DISCOVERY.map(|name| registry.find(name).unwrap()));
    let mut all = Map::new();
    for entry in &entries {
        all.insert(entry.spec().name.to_string(), schemas(entry.spec()));
    }
    golden::assert_json("builtin/schemas.json", &sorted(all.into()));
}

fn schemas(spec: &ToolSpec) -> Value {
    let output = spec.output_schema.as_ref();
    serde_json::json!({
        "input": spec.input_schema.as_value(),
        "output": output.map(|schema| schema.as_value()),
    })
}

/// The order of `required` has no meaning either.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.into_iter().collect();
            fields.sort_by(|(one, _), (other, _)| one.cmp(other));
            let fields = fields.into_iter().map(|(key, value)| {
                let mut value = sorted(value);
                if key == "required"
                    && let Some(names) = value.as_array_mut()
                {
                    names.sort_by_key(ToString::to_string);
                }
                (key, value)
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        value => value,
    }
}
