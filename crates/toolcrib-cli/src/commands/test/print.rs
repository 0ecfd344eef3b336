//! What `toolcrib test` shows of each test.

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib::definition::TestCase;
use toolcrib::model::text;
use toolcrib::source::ToolFile;
use toolcrib::trial::{Mismatch, TestReport, TestStatus, Trial};

use super::choose::Origin;
use crate::commands::run::quoted;
use crate::commands::tool_file::problem_json;
use crate::output::Output;
use crate::wrap;

/// More of an output helps no one.
const MAX_LINES: usize = 30;

/// One line for what passed; for what failed, everything that is needed to find out why.
pub(super) fn report(report: &TestReport, trial: &Trial, origin: &Origin<'_>, output: &Output) {
    let name = text::visible(&format!("{}:{}", report.tool, report.test)).into_owned();
    let took = in_words(report.duration);
    let place = match origin {
        Origin::File(_, shown) => format!("{shown}:{}", report.at.0),
        // No one sees the lines of a record.
        Origin::Store(reference) => reference.clone(),
    };
    if output.plain() {
        let (word, why) = (status_word(report.status), in_one_line(report));
        let millis = report.duration.as_millis().to_string();
        output.table(
            &[""; 6],
            &[vec![
                word.to_owned(),
                report.tool.clone(),
                report.test.clone(),
                millis,
                place,
                why,
            ]],
        );
        return;
    }
    match report.status {
        TestStatus::Passed => {
            output.line(&format!("{}    {name} ({took})", output.good("ok")));
        }
        TestStatus::Skipped => {
            let why = report.skipped.as_deref().unwrap_or_default();
            output.line(&format!(
                "{}  {name}: {}",
                output.doubtful("skip"),
                text::visible(why)
            ));
        }
        TestStatus::Cancelled => {
            output.line(&format!("{}  {name} ({took})", output.doubtful("ended")));
        }
        TestStatus::Failed => {
            output.line(&format!("{}  {name} ({took})", output.bad("FAIL")));
            output.line(&format!("      {}", text::visible(&place)));
            if let Some(about) = &trial.test().description {
                boxed(about, "      ", output);
            }
            for mismatch in &report.mismatches {
                print_mismatch(mismatch, output);
            }
            printed(report, output);
            let tool = match origin {
                Origin::File(..) => &report.tool,
                Origin::Store(reference) => reference,
            };
            let by_hand = by_hand(tool, trial.test());
            output.line(&format!(
                "      by hand, in this workspace: {}",
                text::visible(&by_hand)
            ));
        }
    }
    for problem in &report.cleanup {
        output.line(&format!(
            "      {} {}",
            output.doubtful("cleanup failed:"),
            text::visible(problem).replace('\n', " ")
        ));
    }
}

fn print_mismatch(mismatch: &Mismatch, output: &Output) {
    let field = mismatch.field;
    boxed(&format!("{field}: {}", mismatch.message), "      ", output);
    match (&mismatch.diff, field) {
        (Some(_), _) => print_diff(mismatch, "        | ", output),
        (None, "output-matches") => {
            let pattern = mismatch.expected.as_str().unwrap_or_default();
            boxed(pattern, "        pattern: ", output);
        }
        (None, "file-exists") => {
            let path = mismatch.expected.as_str().unwrap_or_default();
            boxed(path, "        file: ", output);
        }
        (None, _) => {}
    }
}

/// How a text differs from what was expected, line by line, if that is known.
pub(in crate::commands) fn print_diff(mismatch: &Mismatch, margin: &str, output: &Output) {
    if let Some(diff) = &mismatch.diff {
        boxed(diff.trim_end(), margin, output);
    }
}

/// What the tool printed, unless a diff has shown it already.
fn printed(report: &TestReport, output: &Output) {
    let is_shown = report
        .mismatches
        .iter()
        .any(|mismatch| mismatch.field == "output-contains");
    let text = report
        .observed
        .as_ref()
        .and_then(|seen| seen.output.as_deref());
    let Some(text) = text.filter(|text| !is_shown && !text.is_empty()) else {
        return;
    };
    output.line("      it printed:");
    let lines: Vec<&str> = text.lines().collect();
    let (shown, left) = match lines.len() > MAX_LINES {
        true => (&lines[lines.len() - MAX_LINES..], lines.len() - MAX_LINES),
        false => (lines.as_slice(), 0),
    };
    if left > 0 {
        output.line(&format!("        … {left} more lines before"));
    }
    boxed(&shown.join("\n"), "        | ", output);
}

/// Text from outside, every row behind a margin of ours.
fn boxed(words: &str, margin: &str, output: &Output) {
    let escaped = wrap::escaped(words);
    let room = output.columns().saturating_sub(margin.len());
    for row in wrap::rows(&escaped, room) {
        output.line(format!("{margin}{}", row.text).trim_end());
    }
}

/// The same call as a command line.
fn by_hand(tool: &str, test: &TestCase) -> String {
    let mut words = vec!["toolcrib run".to_owned(), quoted(tool)];
    let texts = test.parameters.iter().all(|(name, value)| {
        !name.contains('=') && matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_))
    });
    if texts {
        words.extend(test.parameters.iter().map(|(name, value)| {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            format!("{}={}", quoted(name), quoted(&value))
        }));
    } else {
        let args: Value = test.parameters.iter().cloned().collect();
        words.push(format!("--args {}", quoted(&args.to_string())));
    }
    words.join(" ")
}

/// The reason in one line, for rows.
pub(in crate::commands) fn in_one_line(report: &TestReport) -> String {
    let first = report.mismatches.first();
    let failed = first.map(|first| format!("{}: {}", first.field, first.message));
    let why = failed
        .or_else(|| report.skipped.clone())
        .unwrap_or_default();
    text::shorten(&why.replace('\n', " "), 200)
}

fn status_word(status: TestStatus) -> &'static str {
    match status {
        TestStatus::Passed => "passed",
        TestStatus::Failed => "failed",
        TestStatus::Skipped => "skipped",
        TestStatus::Cancelled => "cancelled",
    }
}

/// How many there were of what.
pub(in crate::commands) fn summary(
    reports: &[TestReport],
    broken: usize,
    took: Duration,
) -> String {
    let count = |status| {
        reports
            .iter()
            .filter(|report| report.status == status)
            .count()
    };
    let mut parts = vec![format!("{} passed", count(TestStatus::Passed))];
    let others = [
        TestStatus::Failed,
        TestStatus::Skipped,
        TestStatus::Cancelled,
    ];
    for status in others {
        if count(status) > 0 {
            parts.push(format!("{} {}", count(status), status_word(status)));
        }
    }
    match broken {
        0 => {}
        1 => parts.push("1 file cannot be loaded".to_owned()),
        more => parts.push(format!("{more} files cannot be loaded")),
    }
    format!("{} ({})", parts.join(", "), in_words(took))
}

pub(in crate::commands) fn in_words(took: Duration) -> String {
    match took.as_millis() {
        millis @ 0..1000 => format!("{millis} ms"),
        _ => format!("{:.1} s", took.as_secs_f64()),
    }
}

/// A file that cannot be loaded, with its first problem.
pub(super) fn broken(file: &ToolFile, output: &Output) {
    output.line(&format!(
        "{}  {} cannot be loaded",
        output.bad("FAIL"),
        text::visible(&file.shown)
    ));
    for problem in file.problems.iter().take(3) {
        let place = format!("{}:{}", problem.line, problem.column);
        boxed(&format!("{place}: {}", problem.message), "      ", output);
    }
    output.line("      `toolcrib check` says everything that is wrong");
}

pub(super) fn broken_json(file: &ToolFile) -> Value {
    let problems: Vec<Value> = file.problems.iter().map(problem_json).collect();
    json!({"file": file.path, "problems": problems})
}

/// A test as a program reads it.
pub(in crate::commands) fn as_json(report: &TestReport, origin: &Origin<'_>) -> Value {
    let seen = report.observed.as_ref();
    let mut value = json!({
        "tool": report.tool,
        "test": report.test,
        "status": report.status,
        "durationMs": report.duration.as_millis(),
        "mismatches": report.mismatches,
        "cleanup": report.cleanup,
    });
    match origin {
        Origin::File(path, _) => {
            value["file"] = json!(path);
            value["line"] = json!(report.at.0);
            value["column"] = json!(report.at.1);
        }
        Origin::Store(reference) => value["reference"] = json!(reference),
    }
    if let Some(why) = &report.skipped {
        value["reason"] = json!(why);
    }
    if let Some(code) = seen.and_then(|seen| seen.exit_code) {
        value["exitCode"] = json!(code);
    }
    if let Some(printed) = seen.and_then(|seen| seen.output.as_deref()) {
        value["output"] = json!(printed);
    }
    value
}
