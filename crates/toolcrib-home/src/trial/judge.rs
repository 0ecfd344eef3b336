//! What came of a test's call against what its `expected` says: [`judge`].
//!
//! Pure but for `file-exists` and `file-contains`, which look into the throw-away workspace and nowhere else.

use std::io::Read as _;

use regex::RegexBuilder;
use serde::Serialize;
use serde_json::{Value, json};

use crate::builtin::unified_diff;
use crate::definition::Expected;
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::outcome::Outcome;
use crate::model::text;
use crate::workspace::Workspace;

/// How much memory a pattern may take once it is compiled.
const PATTERN_BYTES: usize = 1024 * 1024;

/// How much of a file is looked at.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// The fields of what a command tool returns. `expected.value` with other names is about JSON that the tool prints.
const VALUE_FIELDS: [&str; 7] = [
    "output", "stdout", "stderr", "exitCode", "steps", "duration", "note",
];

/// One thing that was expected and did not come.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mismatch {
    /// The field of `expected`; `call` when the call itself failed.
    pub field: &'static str,
    /// What was expected.
    pub expected: Value,
    /// What came.
    pub actual: Value,
    /// The difference in words.
    pub message: String,
    /// How two texts differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// What a call came to, as far as tests look at it.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    /// The exit code, if a program ran to its end.
    pub exit_code: Option<i64>,
    /// What it printed, both streams in the order of arrival; for other tools the text of their value.
    pub output: Option<String>,
    /// The value of the call, or the same fields of its error.
    pub value: Value,
    /// Why the call failed.
    pub error: Option<ToolError>,
}

impl Observed {
    /// What an outcome shows.
    pub fn of(outcome: &Outcome) -> Self {
        let (value, error) = match &outcome.result {
            Ok(output) => (output.value.clone(), None),
            Err(error) => {
                let details = error.details().cloned().map_or(Value::Null, Value::Object);
                (details, Some(error.clone()))
            }
        };
        let text = |field: &str| value.get(field).and_then(Value::as_str);
        let output = match (text("output"), text("stdout"), &outcome.result) {
            (Some(output), _, _) => Some(output.to_owned()),
            (None, Some(stdout), _) => {
                let both = format!("{stdout}{}", text("stderr").unwrap_or_default());
                Some(both.strip_suffix('\n').unwrap_or(&both).to_owned())
            }
            (None, None, Ok(output)) => Some(output.text().into_owned()),
            (None, None, Err(_)) => None,
        };
        Observed {
            exit_code: value.get("exitCode").and_then(Value::as_i64),
            output,
            value,
            error,
        }
    }

    /// Whether the call failed only in that its program said so.
    fn is_exit(&self) -> bool {
        self.exit_code.is_some()
            && self
                .error
                .as_ref()
                .is_none_or(|error| error.code() == ErrorCode::ExecutionError)
    }
}

/// Everything that was expected and did not come, in the order of S0's fields.
pub fn judge(expected: &Expected, seen: &Observed, workspace: &Workspace) -> Vec<Mismatch> {
    let mut found = Vec::new();
    match &expected.error {
        Some(wanted) => {
            found.extend(error_mismatch(wanted, seen));
            let exit_code = expected.exit_code.filter(|_| seen.is_exit());
            found.extend(exit_code.and_then(|code| exit(Some(code), seen)));
        }
        None => {
            found.extend(exit(expected.exit_code, seen));
            if seen.error.is_some() && !seen.is_exit() {
                // What a call did not get to do cannot be looked at.
                return found;
            }
        }
    }
    let output = seen.output.as_deref().unwrap_or_default();
    found.extend(
        expected
            .output
            .as_deref()
            .and_then(|wanted| whole_output(wanted, output)),
    );
    for wanted in &expected.output_contains {
        if !output.contains(wanted.as_str()) {
            found.push(Mismatch {
                field: "output-contains",
                expected: json!(wanted),
                actual: json!(output),
                message: match output.is_empty() {
                    true => "the tool printed nothing".to_owned(),
                    false => "the output does not contain the text".to_owned(),
                },
                diff: Some(text_diff(wanted, output)),
            });
        }
    }
    for pattern in &expected.output_matches {
        found.extend(pattern_mismatch(pattern, output));
    }
    for path in &expected.file_exists {
        if let Err(why) = exists(path, workspace) {
            found.push(Mismatch {
                field: "file-exists",
                expected: json!(path),
                actual: json!(false),
                message: why,
                diff: None,
            });
        }
    }
    for (path, texts) in &expected.file_contains {
        found.extend(file_mismatches(path, texts, workspace));
    }
    if let Some(wanted) = &expected.value {
        found.extend(value_mismatches(wanted, seen));
    }
    found
}

fn exit(wanted: Option<i64>, seen: &Observed) -> Option<Mismatch> {
    match &seen.error {
        Some(error) if !seen.is_exit() => Some(Mismatch {
            field: "call",
            expected: wanted.map_or(Value::Null, Value::from),
            actual: json!({"code": error.code(), "message": error.message()}),
            message: format!("the call failed: {}: {}", error.code(), error.message()),
            diff: None,
        }),
        error => {
            // Where nothing is said a test expects the call to go well, whatever exit code that is.
            let (wanted, came) = match (wanted, error) {
                (Some(wanted), _) => (wanted, seen.exit_code.unwrap_or(0)),
                (None, None) => return None,
                (None, Some(_)) => (0, seen.exit_code.unwrap_or(1)),
            };
            (wanted != came).then(|| Mismatch {
                field: "exit-code",
                expected: json!(wanted),
                actual: json!(came),
                message: match error {
                    Some(error) => format!("expected {wanted}, came {came}: {}", error.message()),
                    None => format!("expected {wanted}, came {came}"),
                },
                diff: None,
            })
        }
    }
}

/// Whether a pattern can be used; in linear time, so neither look-around nor references back.
fn compiled(pattern: &str) -> Result<regex::Regex, String> {
    RegexBuilder::new(pattern)
        .multi_line(true)
        .size_limit(PATTERN_BYTES)
        .build()
        .map_err(|error| error.to_string())
}

fn pattern_mismatch(pattern: &str, output: &str) -> Option<Mismatch> {
    let message = match compiled(pattern) {
        Ok(compiled) if compiled.is_match(output) => return None,
        Ok(_) if output.is_empty() => "the tool printed nothing".to_owned(),
        Ok(_) => "the output does not match the pattern".to_owned(),
        Err(problem) => format!("the pattern cannot be used: {problem}"),
    };
    Some(Mismatch {
        field: "output-matches",
        expected: json!(pattern),
        actual: json!(output),
        message,
        diff: None,
    })
}

/// The whole output, but for the line end that the last line of a text has or has not.
fn whole_output(wanted: &str, output: &str) -> Option<Mismatch> {
    let bare = |text: &str| text.strip_suffix('\n').unwrap_or(text).to_owned();
    let (wanted, output) = (bare(wanted), bare(output));
    (wanted != output).then(|| Mismatch {
        field: "output",
        message: match output.is_empty() {
            true => "the tool printed nothing".to_owned(),
            false => "the output is another".to_owned(),
        },
        diff: Some(text_diff(&wanted, &output)),
        expected: json!(wanted),
        actual: json!(output),
    })
}

/// A call that had to fail, by the code of its error or a part of its message.
fn error_mismatch(wanted: &str, seen: &Observed) -> Option<Mismatch> {
    let (actual, message) = match &seen.error {
        None => (
            Value::Null,
            format!("the call succeeded; it had to fail with `{wanted}`"),
        ),
        Some(error) if error.code().as_str() == wanted || error.message().contains(wanted) => {
            return None;
        }
        Some(error) => (
            json!({"code": error.code(), "message": error.message()}),
            format!(
                "the call failed otherwise: {}: {}",
                error.code(),
                error.message()
            ),
        ),
    };
    Some(Mismatch {
        field: "error",
        expected: json!(wanted),
        actual,
        message,
        diff: None,
    })
}

/// What a file should contain and does not.
fn file_mismatches(path: &str, texts: &[String], workspace: &Workspace) -> Vec<Mismatch> {
    let content = match content(path, workspace) {
        Ok(content) => content,
        Err(why) => {
            return vec![Mismatch {
                field: "file-contains",
                expected: json!(path),
                actual: Value::Null,
                message: format!("`{path}`: {why}"),
                diff: None,
            }];
        }
    };
    let missing = texts.iter().filter(|text| !content.contains(text.as_str()));
    missing
        .map(|text| Mismatch {
            field: "file-contains",
            expected: json!({"file": path, "text": text}),
            actual: json!(content),
            message: format!("`{path}` does not contain the text"),
            diff: Some(text_diff(text, &content)),
        })
        .collect()
}

/// The text of a file that a test left; it is read as far as anyone would write it into a test.
fn content(path: &str, workspace: &Workspace) -> Result<String, String> {
    exists(path, workspace)?;
    let refused = |error: ToolError| error.message().to_owned();
    let place = workspace.path(path).map_err(refused)?;
    let (file, _) = workspace.open_file(&place).map_err(refused)?;
    let mut bytes = Vec::new();
    let read = file.take(MAX_FILE_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether something is there, in the workspace and not behind a link out of it.
fn exists(path: &str, workspace: &Workspace) -> Result<(), String> {
    let refused = |error: ToolError| match error.code() {
        ErrorCode::FileNotFound => "there is no such file afterwards".to_owned(),
        _ => format!("refused: {}", error.message()),
    };
    let place = workspace.path(path).map_err(refused)?;
    // Opened rather than looked at: a link that leads out of the workspace is not a file of the test.
    match workspace.open_file(&place) {
        Ok(_) => Ok(()),
        Err(_) if workspace.open_dir(&place).is_ok() => Ok(()),
        Err(error) => Err(refused(error)),
    }
}

/// Whether an expected value is about the fields of the call rather than about JSON that the tool printed.
pub(super) fn is_about_the_call(wanted: &Value, seen: &Observed) -> bool {
    let is_own = |fields: &JsonObject| {
        fields
            .keys()
            .all(|field| VALUE_FIELDS.contains(&field.as_str()))
    };
    seen.value.get("exitCode").is_none() || wanted.as_object().is_some_and(is_own)
}

fn value_mismatches(wanted: &Value, seen: &Observed) -> Vec<Mismatch> {
    let parsed;
    let actual = if is_about_the_call(wanted, seen) {
        &seen.value
    } else {
        let printed = seen.value.get("stdout").and_then(Value::as_str);
        let printed = printed.or(seen.output.as_deref()).unwrap_or_default();
        parsed = match serde_json::from_str::<Value>(printed) {
            Ok(value) => value,
            // A text is what it is, JSON or not.
            Err(_) if wanted.is_string() => {
                Value::from(printed.strip_suffix('\n').unwrap_or(printed))
            }
            Err(error) => {
                return vec![Mismatch {
                    field: "value",
                    expected: wanted.clone(),
                    actual: json!(printed),
                    message: format!("what the tool printed is not JSON: {error}"),
                    diff: None,
                }];
            }
        };
        &parsed
    };
    let mut found = Vec::new();
    differences(wanted, actual, "", &mut found);
    found
}

/// Objects are compared by the fields that are named, everything else in whole.
pub(super) fn differences(wanted: &Value, actual: &Value, at: &str, found: &mut Vec<Mismatch>) {
    match (wanted, actual) {
        (Value::Object(wanted), Value::Object(actual)) => {
            for (name, wanted) in wanted {
                let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
                match actual.get(name) {
                    Some(actual) => differences(wanted, actual, &at, found),
                    None => found.push(difference(wanted, &Value::Null, &at, "is missing")),
                }
            }
        }
        (Value::Array(wanted), Value::Array(actual)) if wanted.len() == actual.len() => {
            for (index, (wanted, actual)) in wanted.iter().zip(actual).enumerate() {
                differences(wanted, actual, &format!("{at}/{index}"), found);
            }
        }
        (Value::Number(wanted_number), Value::Number(actual_number))
            if wanted_number.as_f64() == actual_number.as_f64()
                && wanted_number.as_f64().is_some() => {}
        _ if wanted == actual => {}
        _ => found.push(difference(wanted, actual, at, "differs")),
    }
}

fn difference(wanted: &Value, actual: &Value, at: &str, how: &str) -> Mismatch {
    let place = match at {
        "" => "the value".to_owned(),
        at => format!("`{at}` of the value"),
    };
    let diff = match (wanted, actual) {
        (Value::String(wanted), Value::String(actual)) => Some(text_diff(wanted, actual)),
        _ => None,
    };
    let short = |value: &Value| text::shorten(&value.to_string(), 200);
    let message = match how {
        "differs" => format!(
            "{place} differs: expected {}, came {}",
            short(wanted),
            short(actual)
        ),
        how => format!("{place} {how}: expected {}", short(wanted)),
    };
    Mismatch {
        field: "value",
        expected: wanted.clone(),
        actual: actual.clone(),
        message,
        diff,
    }
}

/// How an expected text and what came differ, line by line.
fn text_diff(expected: &str, actual: &str) -> String {
    let whole = |text: &str| match text.is_empty() || text.ends_with('\n') {
        true => text.to_owned(),
        false => format!("{text}\n"),
    };
    let diff = unified_diff("output", &whole(expected), &whole(actual));
    let hunks: Vec<&str> = diff.lines().skip(2).collect();
    format!("--- expected\n+++ came\n{}\n", hunks.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(exit_code: i64, output: &str) -> Observed {
        Observed {
            exit_code: Some(exit_code),
            output: Some(output.to_owned()),
            value: json!({"output": output, "stdout": format!("{output}\n"), "stderr": "", "exitCode": exit_code}),
            error: (exit_code != 0).then(|| ToolError::failed(format!("exit code {exit_code}"))),
        }
    }

    fn fields(expected: &Expected, seen: &Observed) -> Vec<(&'static str, String)> {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        judge(expected, seen, &workspace)
            .into_iter()
            .map(|mismatch| (mismatch.field, mismatch.message))
            .collect()
    }

    #[test]
    fn what_was_expected_and_came_is_not_a_mismatch() {
        let expected = Expected {
            exit_code: Some(3),
            output_contains: vec!["two".into(), "one\ntwo".into()],
            output_matches: vec!["^t.o$".into(), r"one\ntwo".into()],
            file_exists: Vec::new(),
            value: Some(json!({"exitCode": 3, "output": "one\ntwo"})),
            ..Expected::default()
        };
        assert_eq!(fields(&expected, &seen(3, "one\ntwo")), []);
    }

    #[test]
    fn a_failure_no_one_expected_is_one_and_an_expected_exit_code_is_none() {
        let silent = Expected::default();
        assert_eq!(
            fields(&silent, &seen(2, "")),
            [("exit-code", "expected 0, came 2: exit code 2".to_owned())]
        );
        assert_eq!(fields(&silent, &seen(0, "")), []);
        let two = Expected {
            exit_code: Some(2),
            ..Expected::default()
        };
        assert_eq!(fields(&two, &seen(2, "")), []);
        assert_eq!(
            fields(&two, &seen(0, "")),
            [("exit-code", "expected 2, came 0".to_owned())]
        );
    }

    #[test]
    fn a_call_that_was_refused_never_passes() {
        let error = ToolError::new(ErrorCode::InvalidArguments, "no `X`");
        let refused = Observed {
            exit_code: None,
            output: None,
            value: Value::Null,
            error: Some(error),
        };
        for exit_code in [None, Some(0), Some(1)] {
            let expected = Expected {
                exit_code,
                output_contains: vec!["x".into()],
                ..Expected::default()
            };
            assert_eq!(
                fields(&expected, &refused),
                [(
                    "call",
                    "the call failed: INVALID_ARGUMENTS: no `X`".to_owned()
                )]
            );
        }
    }

    #[test]
    fn an_ending_by_time_is_a_failure_whatever_exit_code_is_expected() {
        let mut late = seen(0, "half");
        late.error = Some(ToolError::new(ErrorCode::Timeout, "too slow"));
        let expected = Expected {
            exit_code: Some(0),
            ..Expected::default()
        };
        assert_eq!(fields(&expected, &late)[0].0, "call");
    }

    #[test]
    fn texts_that_differ_are_shown_line_by_line() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        let expected = Expected {
            output_contains: vec!["one\ntwo".into()],
            ..Expected::default()
        };
        let found = judge(&expected, &seen(0, "one\nthree"), &workspace);
        assert_eq!(
            found[0].diff.as_deref(),
            Some("--- expected\n+++ came\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n")
        );
    }

    #[test]
    fn patterns_are_linear_and_bounded() {
        let with = |pattern: &str| Expected {
            output_matches: vec![pattern.to_owned()],
            ..Expected::default()
        };
        let long = format!("{}!", "a".repeat(50_000));
        let start = std::time::Instant::now();
        assert_eq!(fields(&with("^(a+)+$"), &seen(0, &long)).len(), 1);
        assert!(start.elapsed() < std::time::Duration::from_secs(1));
        for pattern in ["(", "(?=a)", "((((a{100}){100}){100}){100})"] {
            let found = fields(&with(pattern), &seen(0, "a"));
            assert!(found[0].1.contains("cannot be used"), "{found:?}");
        }
    }

    #[test]
    fn values_are_compared_by_the_fields_that_are_named() {
        let with = |value: Value| Expected {
            value: Some(value),
            ..Expected::default()
        };
        let printed = seen(0, r#"{"a": [1, {"b": 2, "c": 3}], "d": "x"}"#);
        assert_eq!(fields(&with(json!({"a": [1.0, {"b": 2}]})), &printed), []);
        assert_eq!(
            fields(&with(json!({"a": [1, {"b": 3}], "e": 1})), &printed),
            [
                (
                    "value",
                    "`/a/1/b` of the value differs: expected 3, came 2".to_owned()
                ),
                (
                    "value",
                    "`/e` of the value is missing: expected 1".to_owned()
                ),
            ]
        );
        assert_eq!(fields(&with(json!({"a": [1]})), &printed).len(), 1);
        // The call's own fields, a text, and values that are not JSON.
        assert_eq!(fields(&with(json!({"exitCode": 0})), &printed), []);
        assert_eq!(fields(&with(json!("plain")), &seen(0, "plain")), []);
        assert!(
            fields(&with(json!({"a": 1})), &seen(0, "plain"))[0]
                .1
                .contains("not JSON")
        );
    }

    #[test]
    fn files_are_looked_for_in_the_workspace_and_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("ws");
        std::fs::create_dir_all(root.join("sub")).unwrap();
        std::fs::write(root.join("sub/a"), "").unwrap();
        std::fs::write(dir.path().join("outside"), "").unwrap();
        std::os::unix::fs::symlink(dir.path().join("outside"), root.join("link")).unwrap();
        let workspace = Workspace::open(&root).unwrap();
        let found = |path: &str| {
            let expected = Expected {
                file_exists: vec![path.to_owned()],
                ..Expected::default()
            };
            judge(&expected, &seen(0, ""), &workspace)
                .pop()
                .map(|mismatch| mismatch.message)
        };
        assert_eq!(found("sub/a"), None);
        assert_eq!(found("sub"), None);
        assert_eq!(
            found("none").as_deref(),
            Some("there is no such file afterwards")
        );
        for outside in ["../outside", "/etc/passwd", "link", "sub/../../outside"] {
            let message = found(outside).unwrap();
            assert!(message.starts_with("refused: "), "{outside}: {message}");
        }
    }
}
