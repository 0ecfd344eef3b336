//! How a command ended: as a value, or as an error that keeps what was printed.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::Wall;
use super::capture::Captured;
use super::dialogue::Talk;
use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::as_millis;
use crate::model::outcome::{SandboxUse, ToolOutput};
use crate::sandbox::{EndedBy, Report, Status};

/// A command that ended by itself.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// Both in the order in which they came, without the newline at the end.
    pub(crate) output: String,
    /// Whether `output` is not all there was. (That `stdout` or `stderr` is not, the call knows already.)
    pub(crate) is_output_cut: bool,
    pub(crate) exit_code: i32,
    pub(crate) duration: Duration,
}

pub(super) fn finished(
    cx: &CallContext,
    report: &Report,
    captured: Captured,
    talk: Option<&Talk>,
) -> Result<Finished, ToolError> {
    let name = &cx.spec().name;
    let failure = match (report.ended_by, report.status) {
        (None, Status::Exited(exit_code)) => {
            let Captured {
                stdout,
                stderr,
                output,
                is_output_cut,
            } = captured;
            return Ok(Finished {
                stdout,
                stderr,
                output,
                is_output_cut,
                exit_code,
                duration: report.duration,
            });
        }
        (None, Status::Signalled(signal)) => {
            ToolError::failed(format!("the command was ended by {}", signal_name(signal)))
        }
        (Some(EndedBy::Time | EndedBy::Cancelled), _) => {
            ToolError::new(ErrorCode::Cancelled, format!("`{name}` was cancelled"))
        }
        (Some(EndedBy::Silence), _) => talk.map_or_else(
            || ToolError::new(ErrorCode::Timeout, "the program waits for input"),
            Talk::waited,
        ),
        (Some(limit), _) => ToolError::failed(match limit {
            EndedBy::Memory => "the command needed more memory than it may have, and was ended",
            EndedBy::Growth => "the command wrote more than it may, and was ended",
            EndedBy::Cpu => "the command used more CPU time than it may have, and was ended",
            _ => "the command reached a limit, and was ended",
        })
        .with_detail("limit", limit.name()),
    };
    if captured.is_output_cut {
        cx.note_truncated();
    }
    let mut details = fields(
        captured.stdout,
        captured.stderr,
        report.exit_code(),
        report.duration,
    );
    details.insert("output".to_owned(), captured.output.into());
    if let (None, Status::Signalled(signal)) = (report.ended_by, report.status) {
        details.insert("signal".to_owned(), signal.into());
    }
    Err(with_details(failure, details))
}

pub(super) fn with_details(error: ToolError, details: JsonObject) -> ToolError {
    details
        .into_iter()
        .fold(error, |error, (key, value)| error.with_detail(key, value))
}

/// What is published of a command, whether it went well or not.
fn fields(stdout: String, stderr: String, exit_code: i32, duration: Duration) -> JsonObject {
    let mut fields = JsonObject::with_capacity(5);
    fields.insert("stdout".to_owned(), stdout.into());
    fields.insert("stderr".to_owned(), stderr.into());
    fields.insert("exitCode".to_owned(), exit_code.into());
    fields.insert("duration".to_owned(), as_millis(duration).into());
    fields
}

impl Finished {
    /// The value `{stdout, stderr, exitCode, duration}`, and a text that says what a model needs to know of it.
    pub(crate) fn into_output(self) -> ToolOutput {
        let mut text = self.stdout.clone();
        if !self.stderr.is_empty() {
            end_line(&mut text);
            text.push_str("[stderr]\n");
            text.push_str(&self.stderr);
        }
        if self.exit_code != 0 {
            end_line(&mut text);
            text.push_str(&format!("[exit code {}]\n", self.exit_code));
        }
        let value = fields(self.stdout, self.stderr, self.exit_code, self.duration);
        ToolOutput::value(value).with_text(text)
    }
}

fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// The schema of what [`Finished::into_output`] gives.
pub(crate) fn output_schema() -> Value {
    json!({
        "type": "object",
        "required": ["stdout", "stderr", "exitCode", "duration"],
        "properties": {
            "stdout": {"type": "string", "description": "What it printed"},
            "stderr": {"type": "string", "description": "What it printed as errors"},
            "exitCode": {"type": "integer", "description": "0 when all went well, by convention"},
            "duration": {"type": "integer", "description": "How long it ran, in milliseconds"}
        }
    })
}

/// What stood around a run; `planted` is what it planted and could not be held.
pub(super) fn sandbox_use(wall: &Wall, report: &Report, planted: &[PathBuf]) -> SandboxUse {
    SandboxUse {
        requested: wall.level.name().to_owned(),
        level: report.level.name().to_owned(),
        layers: report
            .layers
            .iter()
            .map(|layer| layer.name().to_owned())
            .collect(),
        not_enforced: report
            .not_enforced
            .iter()
            .map(|missing| missing.layer.name().to_owned())
            .collect(),
        planted: planted
            .iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect(),
    }
}

fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        25 => "SIGXFSZ",
        31 => "SIGSYS",
        other => return format!("signal {other}"),
    };
    format!("signal {signal} ({name})")
}
