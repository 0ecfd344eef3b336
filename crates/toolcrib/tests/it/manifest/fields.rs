//! The table of fields, the reader, the published schema and the documentation agree.

use std::path::Path;

use serde_json::{Value, json};
use toolcrib::definition::fields::{Field, Kind};
use toolcrib::explain::http_reference;
use toolcrib::manifest::fields::HTTP_FIELDS;
use toolcrib::manifest::{json_schema, read};

use super::{shown, tool};

/// A file with this value at the field.
fn file(field: &Field, value: Value) -> String {
    let mut tree: Value =
        serde_json::from_str(&tool(json!({"urlTemplate": "https://a.example/"}))).unwrap();
    let mut at = &mut tree;
    for part in field.path.split('.') {
        let name = if part == "*" { "X-Name" } else { part };
        if !at.is_object() {
            *at = json!({});
        }
        at = at
            .as_object_mut()
            .unwrap()
            .entry(name.trim_end_matches("[]"))
            .or_insert(Value::Null);
        if name.ends_with("[]") {
            // A test has a name, whatever else is said of it.
            *at = json!([{"name": "t"}]);
            at = &mut at[0];
        }
    }
    *at = value;
    tree.to_string()
}

#[test]
fn every_field_of_the_table_refuses_what_it_does_not_hold() {
    for field in HTTP_FIELDS.iter() {
        let wrong = match field.kind {
            Kind::Value => continue,
            Kind::Fields | Kind::Map | Kind::Schema | Kind::FieldsOrList => json!("x"),
            Kind::Text => json!(5),
            _ => json!({"x": {"y": 1}}),
        };
        let text = file(field, wrong);
        let reading = read(text.as_bytes(), "tool");
        let is_said = reading
            .problems
            .iter()
            .any(|problem| problem.code == "wrong-type");
        assert!(is_said, "{}: {}\n{text}", field.path, shown(&reading));
    }
}

#[test]
fn a_field_that_is_not_in_the_table_is_refused_everywhere() {
    let objects = HTTP_FIELDS
        .iter()
        .filter(|field| matches!(field.kind, Kind::Fields | Kind::FieldsOrList));
    for field in objects {
        let text = file(field, json!({"zzzzzzzz": 1}));
        let reading = read(text.as_bytes(), "tool");
        let is_said = reading
            .problems
            .iter()
            .any(|problem| problem.code == "unknown-key");
        assert!(is_said, "{}: {}", field.path, shown(&reading));
    }
}

#[test]
fn the_table_has_words_and_an_example_for_every_field() {
    let schema = toolcrib::Schema::output(json_schema()).unwrap();
    for (index, field) in HTTP_FIELDS.iter().enumerate() {
        let before = &HTTP_FIELDS[..index];
        assert!(
            before.iter().all(|other| other.path != field.path),
            "{} twice",
            field.path
        );
        assert!(
            field.meaning.ends_with('.') && !field.enforced.is_empty(),
            "{}",
            field.path
        );
        if let Some((above, _)) = field.path.rsplit_once('.') {
            assert!(
                before.iter().any(|other| other.path == above),
                "nothing above {}",
                field.path
            );
        }
        // Examples are JSON, and what the published schema takes there.
        let example: Value = serde_json::from_str(field.example)
            .unwrap_or_else(|error| panic!("{}: {error}", field.path));
        let mut tree: Value = serde_json::from_str(&file(field, example)).unwrap();
        for auth in ["/auth", "/impl/auth"] {
            if let Some(Value::Object(auth)) = tree.pointer_mut(auth) {
                auth.entry("type").or_insert(json!("bearer"));
            }
        }
        let faults = schema.check_output(&tree).unwrap();
        assert!(faults.is_empty(), "{}: {faults:?}", field.path);
    }
}

#[test]
fn the_published_schema_is_made_of_the_table() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/toolcrib-http-tool.schema.json");
    let made = format!("{:#}\n", json_schema());
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(&path, &made).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == made,
        "schema/toolcrib-http-tool.schema.json is not what the table says (UPDATE_GOLDEN=1 accepts it)"
    );
}

#[test]
fn the_documentation_has_every_field_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/http-tools.md");
    let heading = "\n## All fields\n\n";
    let Ok(page) = std::fs::read_to_string(&path) else {
        return;
    };
    let (written, table) = page.split_once(heading).unwrap_or((&page, ""));
    let made = http_reference();
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(&path, format!("{}\n{heading}{made}", written.trim_end())).unwrap();
        return;
    }
    assert!(
        table == made,
        "the table of docs/http-tools.md is not what the fields say (UPDATE_GOLDEN=1 writes it)"
    );
}
