//! YAML tools as files: what is read, what is refused, and in which words.

mod codes;
mod fields;
mod fixes;
mod hostile;
mod meaning;
mod random;
mod seed;
mod words;

use toolcrib::definition::{Definition, Reading, Severity, one_line, read};

/// The definition of a file that must load, without a warning.
#[track_caller]
fn loads(text: &str) -> Definition {
    let reading = read(text.as_bytes(), "tool");
    assert!(reading.problems.is_empty(), "{}", shown(&reading));
    reading.definition.unwrap()
}

/// The definition of a file that must load, with whatever warnings.
#[track_caller]
fn loads_with_warnings(text: &str) -> Definition {
    let reading = read(text.as_bytes(), "tool");
    let said = shown(&reading);
    reading.definition.unwrap_or_else(|| panic!("{said}"))
}

/// The codes of a file that must not load, in order.
#[track_caller]
fn refused(text: impl AsRef<[u8]>) -> Vec<&'static str> {
    let reading = read(text.as_ref(), "tool");
    assert!(
        reading.definition.is_none(),
        "it loads: {}",
        shown(&reading)
    );
    let problems = reading.problems.iter();
    problems
        .filter(|problem| problem.severity == Severity::Error)
        .map(|problem| problem.code)
        .collect()
}

/// The codes of the warnings of a file that loads.
#[track_caller]
fn warned(text: &str) -> Vec<&'static str> {
    loads_with_warnings(text);
    let reading = read(text.as_bytes(), "tool");
    reading
        .problems
        .iter()
        .map(|problem| problem.code)
        .collect()
}

fn shown(reading: &Reading) -> String {
    let lines: Vec<String> = reading
        .problems
        .iter()
        .map(|problem| one_line(problem, "tool.yaml"))
        .collect();
    lines.join("\n")
}

/// A file around some lines, with everything that a tool must have.
fn tool(lines: &str) -> String {
    format!("description: Does something\ntags: [read]\n{lines}")
}
