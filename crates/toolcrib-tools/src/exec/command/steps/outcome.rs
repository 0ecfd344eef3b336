//! What a call says about its steps: [`Ended`].

use serde_json::Value;

use super::OnFailure;
use super::result::{Printed, Status, StepResult};
use crate::call::context::CallContext;
use crate::definition::{Action, Step};
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError, shorten_value};
use crate::model::limits::as_millis;
use crate::model::outcome::ToolOutput;
use crate::model::text::{left_out, shorten};

/// How many times the call's limit for one text all texts of the steps may be long, taken together.
const ALL_TEXTS: u64 = 8;

/// How many of the last lines of a failed step are in the message, and how much of each.
const LAST_LINES: usize = 5;
const LONGEST_LINE: usize = 300;

/// What came of all steps.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Which step failed and why, without details; `None` when all went well, or what failed may.
    pub(super) failure: Option<ToolError>,
    /// `{output, stdout, stderr, exitCode, steps}`: those of the step that failed, or of the last in the file that ran.
    pub(super) fields: JsonObject,
    /// One line for each step that did not go well though the call did.
    notes: Vec<String>,
}

impl Ended {
    /// Puts together what came of the steps; `failed` is the first in time that failed and may not.
    pub(super) fn of(
        cx: &CallContext,
        steps: &[Step],
        results: &[StepResult],
        failed: Option<usize>,
        on_failure: OnFailure,
    ) -> Self {
        // No one ignores that the call is over.
        let failed = failed.filter(|_| on_failure == OnFailure::Stop || cx.is_cancelled());
        let last = failed.or_else(|| results.iter().rposition(|result| result.printed.is_some()));
        let printed = last.and_then(|last| results[last].printed.clone());
        let printed = printed.unwrap_or_else(|| Printed {
            exit_code: failed.is_none().then_some(0),
            ..Printed::default()
        });
        let mut fields = printed.fields();
        fields.shift_remove("truncated");
        if let Some(why) = failed.and_then(|failed| results[failed].why.as_ref()) {
            for (key, value) in &why.details {
                fields.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
        if results
            .iter()
            .filter_map(|result| result.printed.as_ref())
            .any(|printed| printed.truncated)
        {
            cx.note_truncated();
        }
        let mut all: Value = steps
            .iter()
            .zip(results)
            .map(|(step, result)| (step.name.clone(), result.to_json()))
            .collect::<JsonObject>()
            .into();
        if fit(&mut all, cx.limits().max_output_bytes) {
            cx.note_truncated();
        }
        fields.insert("steps".to_owned(), all);
        let notes = steps.iter().zip(results);
        let notes = notes.filter(|(_, result)| !matches!(result.status, Status::Ok));
        let notes = notes.map(|(step, result)| note(step, result)).collect();
        Ended {
            failure: failed.map(|failed| failure(cx, steps, results, failed)),
            fields,
            notes,
        }
    }

    /// Nothing came of anything.
    pub(super) fn failed(failure: ToolError) -> Self {
        Ended {
            failure: Some(failure),
            fields: JsonObject::new(),
            notes: Vec::new(),
        }
    }

    /// The value, or the failure with everything in its details.
    pub(crate) fn into_result(self) -> Result<ToolOutput, ToolError> {
        match self.failure {
            None => {
                let output = self.fields.get("output").and_then(Value::as_str);
                let mut text = output.unwrap_or_default().to_owned();
                for note in &self.notes {
                    if !text.is_empty() && !text.ends_with('\n') {
                        text.push('\n');
                    }
                    text.push_str(&format!("[{note}]\n"));
                }
                Ok(ToolOutput::value(self.fields).with_text(text))
            }
            Some(failure) => Err(self
                .fields
                .into_iter()
                .fold(failure, |error, (key, value)| error.with_detail(key, value))),
        }
    }
}

/// A line about a step that did not go well.
fn note(step: &Step, result: &StepResult) -> String {
    let why = result.why.as_ref().map_or("", |why| why.message.as_str());
    let status = match result.status {
        Status::Ok => "went well",
        Status::Failed => "failed",
        Status::Skipped => "was skipped",
        Status::Timeout => "took too long",
        Status::Cancelled => "was cancelled",
    };
    format!("step `{}` {status}: {}", step.name, shorten(why, 500))
}

/// Says which step failed and why, with the end of what it complained.
fn failure(cx: &CallContext, steps: &[Step], results: &[StepResult], failed: usize) -> ToolError {
    let (step, result) = (&steps[failed], &results[failed]);
    let name = &step.name;
    let why = result.why.as_ref();
    let said = why.map_or("", |why| why.message.as_str());
    let own = why.map_or(ErrorCode::ExecutionError, |why| why.code);
    let (code, mut message) = match (result.status, cx.is_cancelled()) {
        (Status::Cancelled, true) => (
            ErrorCode::Cancelled,
            format!("the call was cancelled while step `{name}` ran"),
        ),
        (Status::Timeout, true) => (
            ErrorCode::Timeout,
            format!(
                "`{}` did not finish within {} ms; step `{name}` was running",
                cx.spec().name,
                as_millis(cx.limits().timeout)
            ),
        ),
        (Status::Timeout, false) => (
            ErrorCode::Timeout,
            format!("step `{name}` took too long: {said}"),
        ),
        (Status::Cancelled, false) => (
            ErrorCode::Cancelled,
            format!("step `{name}` was cancelled: {said}"),
        ),
        // Another tool's refusal is not a refusal of this one, which ran.
        (_, _) => match step.action {
            // But a person who could have answered a question can be asked when it is called again.
            Action::UseTool { .. }
                if result.replaced.is_none() && own != ErrorCode::ApprovalUnavailable =>
            {
                (
                    ErrorCode::ExecutionError,
                    format!("step `{name}` failed: {said}"),
                )
            }
            Action::UseTool { .. } | Action::Run(_) => {
                (own, format!("step `{name}` failed: {said}"))
            }
        },
    };
    if let Some((first, _)) = &result.replaced {
        message.push_str(&format!(", in its fallback (after: {})", first.message));
    } else if result.attempts > 1 {
        message.push_str(&format!(", the last of {} attempts", result.attempts));
    }
    let others: Vec<String> = steps
        .iter()
        .zip(results)
        .enumerate()
        .filter(|(index, (step, result))| {
            let counts = matches!(result.status, Status::Failed | Status::Timeout);
            *index != failed && counts && !step.continue_on_error && !cx.is_cancelled()
        })
        .map(|(_, (step, _))| format!("`{}`", step.name))
        .collect();
    if !others.is_empty() {
        message.push_str(&format!("; so did {}", others.join(", ")));
    }
    if let Some(printed) = &result.printed {
        message.push_str(&last_lines(printed));
    }
    ToolError::new(code, message)
}

/// The last lines of what a step complained, or of what it printed if it did not, each on its own line.
fn last_lines(printed: &Printed) -> String {
    let text = match printed.stderr.trim().is_empty() {
        true => &printed.output,
        false => &printed.stderr,
    };
    let lines = text.lines().rev().filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines.take(LAST_LINES).collect();
    let lines = lines.iter().rev();
    lines
        .map(|line| format!("\n  {}", shorten(line.trim_end(), LONGEST_LINE)))
        .collect()
}

/// Shortens the texts of all steps if they are too much together; whether they were.
fn fit(steps: &mut Value, limit: u64) -> bool {
    let (mut count, mut bytes) = (0_u64, 0_u64);
    shorten_value(steps, &mut |text| {
        count += 1;
        bytes = bytes.saturating_add(text.len() as u64);
        false
    });
    let budget = limit.saturating_mul(ALL_TEXTS);
    if bytes <= budget {
        return false;
    }
    let share = usize::try_from(budget / count.max(1)).unwrap_or(usize::MAX);
    shorten_value(steps, &mut |text| {
        if text.len() <= share {
            return false;
        }
        let head = text.floor_char_boundary(share / 2);
        let tail = text.ceil_char_boundary(text.len() - (share - share / 2));
        let mark = left_out((tail - head) as u64);
        *text = format!("{}{mark}{}", &text[..head], &text[tail..]);
        true
    })
}
