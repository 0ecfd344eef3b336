//! The table of fields and the reader agree, in both directions; the published schema is made of it.

use std::path::Path;

use serde_json::Value;
use toolcrib::definition::fields::{FIELDS, Field, Kind};
use toolcrib::definition::{Definition, json_schema, read};

use super::shown;

/// Lines of a tool that has every mapping and list that a field can be in.
fn around(field: &Field) -> &'static str {
    let path = field.path;
    let has = |start: &str| path.starts_with(start);
    match path {
        "type" | "base-tool" | "default-parameters" | "default-parameters.*" => {
            "type: alias\nbase-tool: other\n"
        }
        _ if has("steps") => {
            "description: d\ntags: [read]\nsteps:\n  - name: build\n    bash: echo\n  - name: lint\n    bash: echo\n"
        }
        _ => "description: d\ntags: [read]\nbash: echo\n",
    }
}

/// Puts a value at a path of a tree, making what is missing on the way; a list gets its own last entry.
fn put(tree: &mut Value, path: &str, value: Value) {
    if path.is_empty() {
        *tree = value;
        return;
    }
    if let Some(rest) = path.strip_prefix("[]") {
        if !tree.is_array() {
            *tree = Value::Array(Vec::new());
        }
        let items = tree.as_array_mut().unwrap();
        if items.is_empty() {
            items.push(Value::Null);
        }
        let last = items.len() - 1;
        put(&mut items[last], rest.trim_start_matches('.'), value);
        return;
    }
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (name, rest) = path.split_at(end);
    let name = if name == "*" { "NAME" } else { name };
    if !tree.is_object() {
        *tree = Value::Object(Default::default());
    }
    let slot = tree
        .as_object_mut()
        .unwrap()
        .entry(name)
        .or_insert(Value::Null);
    put(slot, rest.trim_start_matches('.'), value);
}

/// A file with this value at the field; everything that must stand beside it is added.
fn file(field: &Field, value: Value) -> String {
    let mut tree: Value = from_yaml(around(field));
    // What a field needs around it to mean something.
    let mut needs = |path: &str, value: Value| put(&mut tree, path, value);
    let path = field.path;
    if path.starts_with("parameters.*.")
        || path.starts_with("tests[].parameters")
        || path == "parameters.*"
    {
        needs("parameters.*.description", "d".into());
        needs("bash", "echo {NAME}".into());
    }
    for (start, beside, with) in [
        (
            "parameters.*.validation.m",
            "parameters.*.type",
            Value::from("number"),
        ),
        (
            "parameters.*.validation.minLength",
            "parameters.*.type",
            "string".into(),
        ),
        (
            "parameters.*.validation.maxLength",
            "parameters.*.type",
            "string".into(),
        ),
        (
            "steps[].error-handling.retry.",
            "steps[].error-handling.retry.attempts",
            2.into(),
        ),
        (
            "steps[].output.stream-callback",
            "steps[].output.mode",
            "stream".into(),
        ),
        (
            "steps[].output.file",
            "steps[].output.stream-callback",
            "file".into(),
        ),
        ("interactive-options.", "interactive", true.into()),
        ("changelog[].", "changelog[].version", "1".into()),
        ("changelog[].", "changelog[].changes", "c".into()),
        ("tests[].", "tests[].name", "t".into()),
        ("steps[].with", "steps[].use-tool", "other".into()),
        ("steps[].shell", "steps[].script", "echo".into()),
        ("shell", "script", "echo".into()),
    ] {
        if path.starts_with(start) {
            needs(beside, with);
        }
    }
    put(&mut tree, path, value);
    let one_way = |tree: &mut Value, own: &str| {
        let forms = [
            "bash", "cmd", "pwsh", "run", "script", "commands", "use-tool",
        ];
        let map = tree.as_object_mut().unwrap();
        if forms
            .iter()
            .any(|form| own == *form || own.starts_with(&format!("{form}.")))
            || own == "shell"
            || own.starts_with("with")
        {
            let keep = own.split('.').next().unwrap();
            let keep = match keep {
                "shell" => "script",
                "with" => "use-tool",
                keep => keep,
            };
            for form in forms {
                if form != keep {
                    map.remove(form);
                }
            }
        }
    };
    match path.strip_prefix("steps[].") {
        Some(own) => {
            let last = tree["steps"].as_array_mut().unwrap().last_mut().unwrap();
            one_way(last, own);
        }
        None => one_way(&mut tree, path),
    }
    tree.to_string()
}

/// JSON is YAML, so trees are written as JSON; the few lines above are read by hand.
fn from_yaml(text: &str) -> Value {
    let mut tree = Value::Null;
    for line in text.lines() {
        let Some((key, value)) = line.trim_start().trim_start_matches("- ").split_once(": ") else {
            continue;
        };
        let value = match value {
            "[read]" => Value::from(vec!["read"]),
            value => value.into(),
        };
        match line.trim_start().len() == line.len() {
            true => put(&mut tree, key, value),
            false => {
                if line.trim_start().starts_with("- ") {
                    let steps = tree
                        .as_object_mut()
                        .unwrap()
                        .entry("steps")
                        .or_insert_with(|| Value::Array(Vec::new()));
                    steps.as_array_mut().unwrap().push(Value::Null);
                }
                put(&mut tree, &format!("steps[].{key}"), value);
            }
        }
    }
    tree
}

/// Two values of a field that mean different things.
fn two(field: &Field) -> Option<(Value, Value)> {
    Some(match field.path {
        "name" | "base-tool" | "steps[].use-tool" => ("one".into(), "two".into()),
        "version" => ("1.0".into(), "2.0".into()),
        "type" | "min-toolcrib-version" | "min-cycod-version" => return None,
        "shell" | "steps[].shell" => ("python".into(), "bash".into()),
        "steps[].wait-for" => (Value::from(vec!["build"]), Value::Array(Vec::new())),
        "steps[].run-condition" => ("1 == 1".into(), "1 == 2".into()),
        "parameters.*.transform" => ("value + 1".into(), "value + 2".into()),
        "parameters.*.default" | "default-parameters.*" | "steps[].with.*" => {
            ("a".into(), "b".into())
        }
        "tests[].parameters.*" => ("a".into(), "b".into()),
        "tests[].expected.value" => (1.into(), 2.into()),
        "parameters.*.format" => ("--a={value}".into(), "--b={value}".into()),
        "security.required-permissions" => (
            Value::from(vec!["filesystem:read:/a"]),
            Value::from(vec!["filesystem:read:/b"]),
        ),
        "file-paths.temp-directory" => ("{TEMP}/a".into(), "{TEMP}/b".into()),
        "file-paths.cross-platform.windows-separator"
        | "file-paths.cross-platform.unix-separator" => ("/".into(), "\\".into()),
        "steps[].error-handling.retry.backoff" => (2.into(), 3.into()),
        _ => match field.kind {
            Kind::Text | Kind::Template | Kind::Program | Kind::Pattern | Kind::TextOrTexts => {
                ("a".into(), "b".into())
            }
            Kind::Expression | Kind::Condition => return None,
            Kind::Boolean => (true.into(), false.into()),
            Kind::Integer { .. } => (3.into(), 4.into()),
            Kind::Number => (5.into(), 6.into()),
            Kind::Time { .. } => (2000.into(), 3000.into()),
            Kind::Size { .. } => ("8MB".into(), "9MB".into()),
            Kind::Choice([one]) => {
                assert_eq!(field.path.rsplit('.').next(), Some(*one), "a choice of one");
                return None;
            }
            Kind::Choice(words) => (words[0].into(), words[1].into()),
            Kind::Choices(words) => (Value::from(vec![words[0]]), Value::from(vec![words[1]])),
            Kind::Texts | Kind::Values => (Value::from(vec!["a"]), Value::from(vec!["b"])),
            Kind::Value => return None,
            Kind::Integers { .. } | Kind::Schema | Kind::FieldsOrList => return None,
            Kind::Fields | Kind::Map | Kind::List => return None,
        },
    })
}

fn without_digest(mut definition: Definition) -> String {
    definition.digest = String::new();
    for test in &mut definition.tests {
        test.at = (0, 0);
    }
    format!("{definition:?}")
}

/// No field of the table is decoration: another value makes another definition.
#[test]
fn every_field_of_the_table_changes_what_is_read() {
    let mut tried = 0;
    for field in FIELDS.iter() {
        let Some((one, other)) = two(field) else {
            continue;
        };
        let read = |value: Value| {
            let text = file(field, value);
            let reading = read(text.as_bytes(), "tool");
            let said = shown(&reading);
            let definition = reading
                .definition
                .unwrap_or_else(|| panic!("{}: {said}\n{text}", field.path));
            without_digest(definition)
        };
        assert_ne!(read(one), read(other), "`{}` changes nothing", field.path);
        tried += 1;
    }
    assert!(tried > 90, "{tried}");
}

/// The reader looks at every field: a value of a wrong kind is refused wherever it is.
#[test]
fn every_field_of_the_table_refuses_what_it_does_not_hold() {
    for field in FIELDS.iter() {
        let wrong = match field.kind {
            Kind::Value => continue,
            Kind::Fields
            | Kind::Map
            | Kind::List
            | Kind::Schema
            | Kind::Texts
            | Kind::Values
            | Kind::Choices(_) => Value::from("x"),
            _ => serde_json::json!({"x": {"y": 1}}),
        };
        let text = file(field, wrong);
        let reading = read(text.as_bytes(), "tool");
        assert!(
            reading
                .problems
                .iter()
                .any(|problem| problem.code == "wrong-type"),
            "{}: {}\n{text}",
            field.path,
            shown(&reading)
        );
    }
}

/// Nothing beside the table is accepted, at any place that has fields.
#[test]
fn a_field_that_is_not_in_the_table_is_refused_everywhere() {
    for field in FIELDS.iter().filter(|field| field.kind == Kind::Fields) {
        let text = file(field, serde_json::json!({"zzzzzzzz": 1}));
        let reading = read(text.as_bytes(), "tool");
        assert!(
            reading
                .problems
                .iter()
                .any(|problem| problem.code == "unknown-key"),
            "{}: {}",
            field.path,
            shown(&reading)
        );
    }
}

#[test]
fn the_table_has_words_for_every_field() {
    for (index, field) in FIELDS.iter().enumerate() {
        assert!(
            FIELDS[..index].iter().all(|other| other.path != field.path),
            "{} twice",
            field.path
        );
        assert!(
            field.meaning.ends_with('.') && !field.example.is_empty() && !field.enforced.is_empty(),
            "{}",
            field.path
        );
        // Above each field is the one it is in.
        let above = field.path.rsplit_once('.').map(|(above, _)| above);
        if let Some(above) = above {
            assert!(
                FIELDS[..index].iter().any(|other| other.path == above),
                "nothing above {}",
                field.path
            );
        }
    }
}

#[test]
fn the_published_schema_is_made_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/toolcrib-tool.schema.json");
    let made = format!("{:#}\n", json_schema());
    if std::env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &made).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == made,
        "schema/toolcrib-tool.schema.json is not what the table says (UPDATE_GOLDEN=1 accepts it)"
    );
}

/// What the reader takes the schema takes, and unknown fields neither.
#[test]
fn the_schema_and_the_reader_agree_on_files() {
    let schema = toolcrib::Schema::output(json_schema()).unwrap();
    for field in FIELDS.iter() {
        let Some((one, other)) = two(field) else {
            continue;
        };
        for value in [one, other] {
            let text = file(field, value);
            let tree: Value = serde_json::from_str(&text).unwrap();
            let faults = schema.check_output(&tree).unwrap();
            assert!(faults.is_empty(), "{}: {faults:?}\n{text}", field.path);
        }
    }
    for field in FIELDS.iter().filter(|field| field.kind == Kind::Fields) {
        let text = file(field, serde_json::json!({"zzzzzzzz": 1}));
        let tree: Value = serde_json::from_str(&text).unwrap();
        assert!(
            !schema.check_output(&tree).unwrap().is_empty(),
            "{}",
            field.path
        );
    }
}

#[test]
fn the_documentation_has_every_field_of_the_table() {
    use toolcrib::explain;
    has_every_field("yaml-tools.md", &explain::reference());
    has_every_field("http-tools.md", &explain::http_reference());
}

fn has_every_field(page: &str, made: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let heading = "\n## All fields\n\n";
    let (written, table) = text.split_once(heading).expect("a heading for all fields");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, format!("{written}{heading}{made}")).unwrap();
        return;
    }
    assert!(
        table == made,
        "the table of docs/{page} is not what the fields say (UPDATE_GOLDEN=1 writes it)"
    );
}

/// The table of places where no value may stand, and what to write instead.
#[test]
fn what_the_documentation_calls_refused_is_refused_and_what_it_suggests_loads() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/yaml-tools.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let reading = |command: &str| {
        let file = toolcrib::serde_json::json!({
            "description": "An example",
            "tags": ["read"],
            "bash": format!("{command}\n: {{X}} {{N}}"),
            "parameters": {
                "X": {"type": "string", "description": "A text"},
                "N": {"type": "number", "description": "A number"},
            },
            "environment": {"variables": {"X": "{X}"}},
        });
        read(file.to_string().as_bytes(), "example")
    };
    let mut rows = 0;
    for row in page.lines().filter(|row| row.contains("| `template-")) {
        let spans: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        let refused = reading(spans[0]);
        let codes: Vec<&str> = refused.problems.iter().map(|found| found.code).collect();
        assert_eq!(codes, [spans[1]], "{row}");
        if let Some(instead) = spans.get(2) {
            let reading = reading(instead);
            assert!(
                reading.definition.is_some(),
                "{row}: {:?}",
                reading.problems
            );
        }
        rows += 1;
    }
    assert!(rows >= 10, "the table was not found");
}
