//! S0's examples as they stand; fragments in the smallest wrapper.

use std::path::Path;

use toolcrib::definition::{Body, Definition, read};

use super::shown;

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../toolcrib-cli/tests/seeds/s0")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

#[track_caller]
fn loads(text: &str) -> Definition {
    let reading = read(text.as_bytes(), "example");
    let said = shown(&reading);
    reading
        .definition
        .unwrap_or_else(|| panic!("{said}\n{text}"))
}

#[test]
fn complete_examples_load_verbatim() {
    for (name, tool) in [
        ("simple-tool", "simple-tool"),
        ("multi-step-tool", "multi-step-tool"),
        ("find-files", "find-files"),
        ("alias", "clone-my-repo"),
    ] {
        let definition = loads(&example(&format!("{name}.yaml")));
        assert_eq!(definition.name.as_str(), tool);
    }
}

#[test]
fn fragments_load_in_the_smallest_wrapper() {
    let bash = "description: An example\nbash: echo\n";
    let steps = "description: An example\n";
    let parameter =
        |name: &str| format!("parameters:\n  {name}: {{type: string, description: A parameter}}\n");
    for (name, before, after) in [
        ("composition", steps, parameter("REPO_URL")),
        ("error-handling", steps, parameter("PARAM")),
        ("output", steps, String::new()),
        ("parallel", steps, String::new()),
        ("function-calling", bash, String::new()),
        ("ignore-errors", bash, String::new()),
        ("parameters", "description: An example\nbash: echo {NAME}\n", String::new()),
        ("security", bash, parameter("DIRECTORY")),
        ("tags-and-platforms", bash, String::new()),
        (
            "tests",
            "description: An example\nbash: git clone -- {URL} {DIRECTORY}\n",
            "parameters:\n  URL: {type: string, description: A parameter}\n  DIRECTORY: {type: string, description: A parameter}\n".to_owned(),
        ),
    ] {
        loads(&format!("{before}{}{after}", example(&format!("{name}.yaml"))));
    }
}

/// The schema block is an inventory that mixes all forms: one form at a time it is a tool.
#[test]
fn the_inventory_of_fields_loads_one_form_at_a_time() {
    let block = example("schema.yaml");
    let sections: Vec<&str> = block.split("\n\n").collect();
    let has = |section: &str, key: &str| {
        section
            .lines()
            .any(|line| line.starts_with(&format!("{key}:")))
    };
    let find = |key: &str| *sections.iter().find(|section| has(section, key)).unwrap();
    let common: Vec<&str> = [
        "name",
        "environment",
        "function-calling",
        "security",
        "file-paths",
        "metadata",
        "resources",
        "interactive",
        "tests",
        "changelog",
        "tags",
    ]
    .into_iter()
    .map(find)
    .collect();
    let parameters = "parameters:\n  PARAM: {type: string, description: d}\n  PARAM1: {type: string, description: d}\n  DIRECTORY: {type: string, description: d}\n  PATTERN: {type: string, description: d}\n  PROXY_URL: {type: string, description: d}\n  INPUT_PARAM: {type: string, description: d}\n";
    let forms = find("bash");
    let line = |key: &str| {
        let line = forms
            .lines()
            .find(|line| line.starts_with(&format!("{key}:")))
            .unwrap();
        line.to_owned()
    };
    let bodies = [
        line("bash"),
        line("run"),
        "script: |\n  command line 1\n  command line 2\nshell: bash".to_owned(),
        find("commands").to_owned(),
    ];
    for body in bodies {
        let text = format!("{}\n\n{body}\n\n{parameters}", common.join("\n\n"));
        let definition = loads(&text);
        assert!(matches!(
            definition.body,
            Body::Command(_) | Body::Commands { .. }
        ));
        assert_eq!(definition.version.as_str(), "1.0.0");
        assert_eq!(definition.tests[0].expected.file_exists, ["output.txt"]);
        assert_eq!(definition.paths.windows_separator, '\\');
    }
    let alias = find("type");
    loads(&format!("{}\n\n{alias}\n", find("name")));
}
