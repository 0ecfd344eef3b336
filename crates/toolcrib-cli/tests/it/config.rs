//! `toolcrib config`.

use serde_json::{Value, json};

use crate::harness::Test;

fn setting(rows: &Value, key: &str) -> (Value, Value) {
    let row = rows
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["key"] == key)
        .unwrap();
    (row["value"].clone(), row["origin"].clone())
}

#[test]
fn every_value_is_shown_with_its_origin() {
    let test = Test::new()
        .config("[limits]\ntimeoutMs = 5000\nlistEntries = 5\n")
        .file(".toolcrib/config.toml", "[limits]\nlistEntries = 2\n")
        .variable("TOOLCRIB_READ_EXTENSIONS", "txt, md");
    let rows = test.run(&["config", "show", "--json"]).exits(0).json();
    assert_eq!(
        setting(&rows, "limits.timeoutMs"),
        (json!(5000), json!("home"))
    );
    assert_eq!(
        setting(&rows, "limits.listEntries"),
        (json!(2), json!("project"))
    );
    assert_eq!(
        setting(&rows, "readExtensions"),
        (json!(["txt", "md"]), json!("environment"))
    );
    assert_eq!(
        setting(&rows, "limits.maxConcurrent"),
        (json!(64), json!("default"))
    );
    assert!(
        test.run(&["config", "show"])
            .exits(0)
            .stdout
            .contains("TOOLCRIB_READ_EXTENSIONS")
    );
}

#[test]
fn settings_take_effect() {
    let test = Test::new()
        .config("readExtensions = ['txt']\n[limits]\nlistEntries = 2\nmaxInputBytes = 1024\n")
        .file("a.txt", "A")
        .file("b.key", "B")
        .file("c.txt", "C");
    test.run(&["run", "read_file", "path=a.txt"]).exits(0);
    test.run(&["run", "read_file", "path=b.key"])
        .exits(1)
        .says("readExtensions");
    let listed = test
        .run(&["run", "list_directory", "path=.", "--json"])
        .exits(0)
        .json();
    assert_eq!(listed["value"]["entries"].as_array().unwrap().len(), 2);
    assert_eq!(listed["value"]["truncated"], true);
    test.run(&["run", "read_file", &format!("path={}", "x".repeat(2000))])
        .exits(4)
        .says("limit is 1024");
}

#[test]
fn a_broken_file_is_named_with_line_and_fix_and_a_project_cannot_loosen() {
    let broken = Test::new().config("[limits]\ntimeoutMS = 5\n");
    broken
        .run(&["list"])
        .exits(2)
        .says("did you mean `limits.timeoutMs`?")
        .says("config.toml");
    let path = broken.run(&["config", "path", "--json"]).exits(0).json();
    assert_eq!(path[0]["exists"], true);
    Test::new()
        .config("[limits\n")
        .run(&["list"])
        .exits(2)
        .says("line 1");
    // A project's wider value changes nothing, and stops nothing.
    let greedy = Test::new()
        .file(".toolcrib/config.toml", "[limits]\ntimeoutMs = 600000\n")
        .config("[limits]\ntimeoutMs = 1000\n");
    let rows = greedy.run(&["config", "show", "--json"]).exits(0).json();
    assert_eq!(
        setting(&rows, "limits.timeoutMs"),
        (json!(1000), json!("home"))
    );
    let shown = greedy.run(&["show", "read_file", "--json"]).exits(0).json();
    assert_eq!(
        shown["limits"]["timeoutMs"], 1000,
        "the operator's limit binds tools that set their own"
    );
}

#[test]
fn the_reference_in_docs_is_the_one_the_binary_prints() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    let printed = Test::new().run(&["config", "reference"]).exits(0).stdout;
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &printed).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap(),
        printed,
        "UPDATE_GOLDEN=1 writes docs/config.md"
    );
}
