//! What came of one step: [`StepResult`], and how it is published.

use std::time::Duration;

use serde_json::{Value, json};

use super::Ran;
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::as_millis;
use crate::template::StepValues;

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// It did what it should.
    Ok,
    /// It did not.
    Failed,
    /// It was not to run: its condition did not hold, or another step failed.
    Skipped,
    /// It took longer than it, or the call, may.
    Timeout,
    /// The call was cancelled before it came to its end.
    Cancelled,
}

impl Status {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
            Status::Timeout => "timeout",
            Status::Cancelled => "cancelled",
        }
    }
}

/// What a step printed, as far as it was kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Printed {
    /// Both streams, without the newline at the end.
    pub(super) output: String,
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) exit_code: Option<i64>,
    pub(super) truncated: bool,
}

impl From<Ran> for Printed {
    fn from(ran: Ran) -> Self {
        Printed {
            output: ran.output,
            stdout: ran.stdout,
            stderr: ran.stderr,
            exit_code: Some(ran.exit_code),
            truncated: ran.truncated,
        }
    }
}

impl Printed {
    /// What the details of an error keep, and the rest of them.
    pub(super) fn of_error(error: &ToolError) -> (Self, JsonObject) {
        let mut details = error.details().cloned().unwrap_or_default();
        let mut text = |key: &str| match details.shift_remove(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let stdout = text("stdout").unwrap_or_default();
        let stderr = text("stderr").unwrap_or_default();
        let output = text("output").unwrap_or_else(|| in_turn(&stdout, &stderr));
        let exit_code = details
            .shift_remove("exitCode")
            .and_then(|code| code.as_i64());
        let truncated = details.shift_remove("truncated") == Some(Value::Bool(true));
        details.shift_remove("duration");
        let printed = Printed {
            output,
            stdout,
            stderr,
            exit_code,
            truncated,
        };
        (printed, details)
    }

    /// `{output, stdout, stderr, exitCode?, truncated?}`
    pub(super) fn fields(&self) -> JsonObject {
        let mut fields = JsonObject::with_capacity(5);
        fields.insert("output".to_owned(), self.output.as_str().into());
        fields.insert("stdout".to_owned(), self.stdout.as_str().into());
        fields.insert("stderr".to_owned(), self.stderr.as_str().into());
        if let Some(exit_code) = self.exit_code {
            fields.insert("exitCode".to_owned(), exit_code.into());
        }
        if self.truncated {
            fields.insert("truncated".to_owned(), true.into());
        }
        fields
    }
}

/// Both streams where the order of arrival is not known.
pub(super) fn in_turn(stdout: &str, stderr: &str) -> String {
    let between = match stdout.is_empty() || stdout.ends_with('\n') || stderr.is_empty() {
        true => "",
        false => "\n",
    };
    trimmed(&format!("{stdout}{between}{stderr}")).to_owned()
}

/// A text without its final newline, as `{step.output}` has it.
pub(super) fn trimmed(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}

/// Why something went wrong: the error's words and code, without what was printed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Why {
    pub(super) code: ErrorCode,
    pub(super) message: String,
    /// Whatever else the error has in its details.
    pub(super) details: JsonObject,
}

impl Why {
    pub(super) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Why {
            code,
            message: message.into(),
            details: JsonObject::new(),
        }
    }
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StepResult {
    pub(super) status: Status,
    /// `None` if it did not run.
    pub(super) printed: Option<Printed>,
    /// How often its own action was tried.
    pub(super) attempts: u32,
    pub(super) duration: Duration,
    /// The file its output went to, relative to the workspace.
    pub(super) file: Option<String>,
    /// How its last attempt failed, if the fallback took its place.
    pub(super) replaced: Option<(Why, Printed)>,
    /// Why it is not `ok`.
    pub(super) why: Option<Why>,
}

impl StepResult {
    /// A step that was not started.
    pub(super) fn not_started(status: Status, why: Why) -> Self {
        StepResult {
            status,
            printed: None,
            attempts: 0,
            duration: Duration::ZERO,
            file: None,
            replaced: None,
            why: Some(why),
        }
    }

    /// What later steps can use of it; `None` if it did not run.
    pub(super) fn values(&self) -> Option<StepValues> {
        let printed = self.printed.as_ref()?;
        Some(StepValues {
            output: printed.output.clone(),
            stdout: printed.stdout.clone(),
            stderr: printed.stderr.clone(),
            exit_code: printed.exit_code,
        })
    }

    /// `{status, exitCode?, stdout, stderr, output, attempts, durationMs, truncated?, file?, fallback?, error?, reason?}`
    pub(super) fn to_json(&self) -> Value {
        let mut all = JsonObject::new();
        all.insert("status".to_owned(), self.status.as_str().into());
        all.extend(self.printed.clone().unwrap_or_default().fields());
        all.insert("attempts".to_owned(), self.attempts.into());
        all.insert("durationMs".to_owned(), as_millis(self.duration).into());
        if let Some(file) = &self.file {
            all.insert("file".to_owned(), file.as_str().into());
        }
        if let Some((why, printed)) = &self.replaced {
            let mut fallback = printed.fields();
            fallback.insert("message".to_owned(), why.message.as_str().into());
            all.insert("fallback".to_owned(), fallback.into());
        }
        match (&self.why, self.status) {
            (Some(why), Status::Skipped) => {
                all.insert("reason".to_owned(), why.message.as_str().into());
            }
            (Some(why), _) => {
                let error = json!({"code": why.code, "message": why.message});
                all.insert("error".to_owned(), error);
            }
            (None, _) => {}
        }
        all.into()
    }
}
