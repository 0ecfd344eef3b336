//! HTTP tools as files: what is read, what is refused, and in which words.

mod bodies;
mod fields;
mod meaning;
mod random;
mod seed;
mod urls;

use serde_json::{Value, json};
use toolcrib::definition::{Severity, one_line};
use toolcrib::manifest::{HttpDefinition, Reading, read};

/// A file around a request.
fn tool(request: Value) -> String {
    with(json!({}), request)
}

/// A file around a request, with more fields.
fn with(more: Value, request: Value) -> String {
    let mut file = json!({
        "description": "Does something",
        "tags": ["read", "write"],
        "argSchema": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "A city"},
                "limit": {"type": "integer", "description": "How many", "default": 10},
            },
            "required": ["city"],
        },
        "impl": request,
    });
    for (key, value) in more.as_object().unwrap() {
        file[key] = value.clone();
    }
    format!("{file:#}")
}

fn shown(reading: &Reading) -> String {
    let lines: Vec<String> = reading
        .problems
        .iter()
        .map(|problem| one_line(problem, "tool.json"))
        .collect();
    lines.join("\n")
}

/// The definition of a file that must load, with whatever warnings.
#[track_caller]
fn loads(text: &str) -> HttpDefinition {
    let reading = read(text.as_bytes(), "tool");
    let said = shown(&reading);
    reading
        .definition
        .unwrap_or_else(|| panic!("{said}\n{text}"))
}

/// The codes of the errors of a file that must not load.
#[track_caller]
fn refused(text: &str) -> Vec<&'static str> {
    let reading = read(text.as_bytes(), "tool");
    assert!(reading.definition.is_none(), "it loads: {text}");
    codes(&reading, Severity::Error)
}

/// The codes of the warnings of a file that loads; that arguments are not used is not what these tests are about.
#[track_caller]
fn warned(text: &str) -> Vec<&'static str> {
    loads(text);
    let mut codes = codes(&read(text.as_bytes(), "tool"), Severity::Warning);
    codes.retain(|code| *code != "unused-parameter");
    codes
}

fn codes(reading: &Reading, severity: Severity) -> Vec<&'static str> {
    let problems = reading.problems.iter();
    problems
        .filter(|problem| problem.severity == severity)
        .map(|problem| problem.code)
        .collect()
}
