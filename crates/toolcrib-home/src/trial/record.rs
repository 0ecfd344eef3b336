//! Writing what came of a test into its `expected:`: [`observed_expectation`] and [`rewrite`].
//!
//! The file is edited as text: only the lines of fields that change are touched, so that comments and the author's layout stay
//! byte for byte. What the edit made of the file is read again before it counts.

mod edit;

use serde_json::Value;

use super::{Mismatch, Observed, TestReport, TestStatus};
use crate::definition::{self, Expected, TestCase};
use edit::edit;

/// More of an output than this is not an expectation anybody reads.
const MAX_OUTPUT: usize = 2000;
/// So many lines, or files, are named one by one.
const MAX_ITEMS: usize = 20;

/// Why nothing was recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The call did not get to run a program, or ended by force.
    #[error("there is nothing to record: {0}")]
    Nothing(String),
    /// The test is written in a way that is not edited here.
    #[error("the test cannot be edited in place: {0}; write its `expected:` by hand")]
    Layout(&'static str),
    /// What came out is not what went in.
    #[error(
        "the edited file would not say what was recorded; nothing was changed, write `expected:` by hand"
    )]
    Garbled,
}

/// Whether a test says nothing about what it expects.
pub fn expects_nothing(expected: &Expected) -> bool {
    expected.exit_code.is_none()
        && expected.output_contains.is_empty()
        && expected.output_matches.is_empty()
        && expected.file_exists.is_empty()
        && expected.file_contains.is_empty()
        && expected.output.is_none()
        && expected.error.is_none()
        && expected.value.is_none()
}

/// The expectation that fits two runs of a test. A test without one gets everything that both runs show; otherwise only the fields
/// that no longer hold are corrected.
pub fn observed_expectation(
    test: &TestCase,
    runs: [&TestReport; 2],
) -> Result<Expected, RecordError> {
    let seen = runs.map(settled);
    let [first, second] = [seen[0].clone()?, seen[1].clone()?];
    let output = stable(&first, &second);
    let files: Vec<String> = runs[0]
        .files
        .iter()
        .filter(|file| runs[1].files.contains(file))
        .take(MAX_ITEMS)
        .cloned()
        .collect();
    if expects_nothing(&test.expected) {
        return Ok(Expected {
            exit_code: first.exit_code.or(Some(0)),
            output_contains: output,
            file_exists: files,
            ..Expected::default()
        });
    }
    let mut expected = test.expected.clone();
    for Mismatch {
        field,
        expected: wanted,
        ..
    } in &runs[0].mismatches
    {
        match *field {
            "exit-code" => expected.exit_code = first.exit_code,
            "output-contains" => expected.output_contains.clone_from(&output),
            "output-matches" => {
                expected
                    .output_matches
                    .retain(|pattern| wanted.as_str() != Some(pattern));
                if expected.output_contains.is_empty() {
                    expected.output_contains.clone_from(&output);
                }
            }
            "file-exists" => expected
                .file_exists
                .retain(|path| wanted.as_str() != Some(path)),
            "value" => {
                expected.value = expected
                    .value
                    .as_ref()
                    .map(|value| projected(value, &first));
            }
            "output" | "error" | "file-contains" => {
                let why = format!("`{field}` does not hold any more, and is written by hand");
                return Err(RecordError::Nothing(why));
            }
            other => return Err(RecordError::Nothing(format!("the {other} failed"))),
        }
    }
    Ok(expected)
}

/// What a run showed, if it came to its end.
fn settled(report: &TestReport) -> Result<Observed, RecordError> {
    let nothing = |why: String| Err(RecordError::Nothing(why));
    match (&report.observed, report.status) {
        (_, TestStatus::Skipped) => nothing(report.skipped.clone().unwrap_or_default()),
        (_, TestStatus::Cancelled) => nothing("the test was ended".to_owned()),
        (Some(seen), _) => match report
            .mismatches
            .iter()
            .find(|mismatch| mismatch.field == "call")
        {
            Some(failed) => nothing(failed.message.clone()),
            None => Ok(seen.clone()),
        },
        (None, _) => nothing(
            report
                .mismatches
                .first()
                .map_or(String::new(), |mismatch| mismatch.message.clone()),
        ),
    }
}

/// What both outputs have: the whole, or the lines they share.
fn stable(first: &Observed, second: &Observed) -> Vec<String> {
    let output = first.output.as_deref().unwrap_or_default();
    let other = second.output.as_deref().unwrap_or_default();
    if output == other {
        let end = match output.len() > MAX_OUTPUT {
            true => {
                let cut = output.floor_char_boundary(MAX_OUTPUT);
                output[..cut].rfind('\n').unwrap_or(cut)
            }
            false => output.len(),
        };
        let whole = output[..end].trim_end_matches('\n');
        return match whole.trim().is_empty() {
            true => Vec::new(),
            false => vec![whole.to_owned()],
        };
    }
    let others: Vec<&str> = other.lines().collect();
    let mut lines: Vec<String> = Vec::new();
    for line in output.lines() {
        let is_new = !lines.iter().any(|known| known == line);
        if is_new && !line.trim().is_empty() && others.contains(&line) && lines.len() < MAX_ITEMS {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// What came, as far as the old expectation looked.
fn projected(wanted: &Value, seen: &Observed) -> Value {
    let printed = seen.value.get("stdout").and_then(Value::as_str);
    let own = super::judge::is_about_the_call(wanted, seen);
    let actual = match printed {
        Some(printed) if !own => serde_json::from_str(printed)
            .unwrap_or_else(|_| Value::from(printed.trim_end_matches('\n'))),
        _ => seen.value.clone(),
    };
    fn project(wanted: &Value, actual: &Value) -> Value {
        match (wanted, actual) {
            (Value::Object(wanted), Value::Object(actual)) => wanted
                .iter()
                .filter_map(|(name, wanted)| {
                    Some((name.clone(), project(wanted, actual.get(name)?)))
                })
                .collect(),
            _ => actual.clone(),
        }
    }
    project(wanted, &actual)
}

/// The text of a tool's file with another `expected` in one of its tests; `stem` is the file's name without `.yaml`.
pub fn rewrite(
    text: &str,
    stem: &str,
    index: usize,
    expected: &Expected,
) -> Result<String, RecordError> {
    let before = definition::read(text.as_bytes(), stem).definition;
    let before = before.ok_or(RecordError::Layout("the file has errors"))?;
    let test = before
        .tests
        .get(index)
        .ok_or(RecordError::Layout("it is gone"))?;
    let edited = edit(text, test.at, &test.expected, expected)?;
    let after = definition::read(edited.as_bytes(), stem).definition;
    let after = after.ok_or(RecordError::Garbled)?;
    let says = |tests: &[TestCase], skip: Option<usize>| {
        let tests = tests.iter().enumerate();
        let tests = tests.filter(|(at, _)| Some(*at) != skip);
        tests
            .map(|(_, test)| format!("{:?} {:?} {:?}", test.name, test.parameters, test.expected))
            .collect::<Vec<_>>()
    };
    let is_meant = after.tests.len() == before.tests.len()
        && says(&after.tests, Some(index)) == says(&before.tests, Some(index))
        && format!("{:?}", after.tests[index].expected) == format!("{expected:?}")
        && after.tests[index].parameters == test.parameters
        && after.tests[index].name == test.name;
    is_meant.then_some(edited).ok_or(RecordError::Garbled)
}
