//! A step that calls a tool: a nested call, with its own rules, approval and depth.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::Tried;
use super::outlet::Outlet;
use super::result::{Printed, Why, in_turn, trimmed};
use crate::call::context::CallContext;
use crate::call::event::{OutputStream, OutputWatch};
use crate::call::request::CallRequest;
use crate::definition::Step;
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::outcome::{Outcome, ToolOutput};

/// Calls a tool once for a step.
pub(super) async fn call(
    cx: &CallContext,
    step: &Step,
    tool: &str,
    args: JsonObject,
    outlet: &Outlet,
) -> Tried {
    let mut request = CallRequest::new(tool).args(args);
    request.step = Some(step.name.clone());
    if let Some(timeout) = step.timeout {
        request = request.timeout(timeout);
    }
    request.limits.max_output_bytes = step.output.buffer_limit;
    let sink = Arc::new(Mutex::new(outlet.sink()));
    let has_come = Arc::new(AtomicBool::new(false));
    if outlet.is_live() {
        let (sink, has_come) = (Arc::clone(&sink), Arc::clone(&has_come));
        request.watch = Some(OutputWatch::new(move |stream, chunk| {
            has_come.store(true, Ordering::Relaxed);
            sink.lock().unwrap_or_else(PoisonError::into_inner)(stream, chunk);
        }));
    }
    let tried = tried(tool, cx.call(request).await);
    if !has_come.load(Ordering::Relaxed) {
        // A tool that has no output but its result.
        let mut sink = sink.lock().unwrap_or_else(PoisonError::into_inner);
        let Printed { stdout, stderr, .. } = &tried.printed;
        for (stream, text) in [
            (OutputStream::Stdout, stdout),
            (OutputStream::Stderr, stderr),
        ] {
            if !text.is_empty() {
                sink(stream, text);
            }
        }
    }
    tried
}

/// What the outcome of a call is to a step.
fn tried(tool: &str, outcome: Outcome) -> Tried {
    let truncated = outcome.truncated;
    let mut tried = match outcome.result {
        Ok(output) => done(tool, output),
        Err(error) => failed(tool, &error),
    };
    tried.printed.truncated |= truncated;
    tried
}

/// A program's result is taken apart; any other is the text that people get.
///
/// To `shell` and `run_code` any exit is a success, so that here the exit code says how it went. A command tool, whose result has an
/// `output`, has judged that itself: its `ignore-errors` counts.
fn done(tool: &str, output: ToolOutput) -> Tried {
    let fields = output.value.as_object();
    let text = |key: &str| fields.and_then(|fields| fields.get(key)?.as_str());
    let exit_code = fields.and_then(|fields| fields.get("exitCode")?.as_i64());
    let (Some(stdout), Some(exit_code)) = (text("stdout"), exit_code) else {
        let text = output.text().into_owned();
        let printed = Printed {
            output: trimmed(&text).to_owned(),
            stdout: text,
            exit_code: Some(0),
            ..Printed::default()
        };
        return Tried { printed, why: None };
    };
    let stderr = text("stderr").unwrap_or_default();
    let both = text("output");
    let why = (exit_code != 0 && both.is_none()).then(|| {
        Why::new(
            ErrorCode::ExecutionError,
            format!("`{tool}` ended with exit code {exit_code}"),
        )
    });
    let printed = Printed {
        output: both.map_or_else(|| in_turn(stdout, stderr), str::to_owned),
        stdout: stdout.to_owned(),
        stderr: stderr.to_owned(),
        exit_code: Some(exit_code),
        truncated: false,
    };
    Tried { printed, why }
}

fn failed(tool: &str, error: &ToolError) -> Tried {
    let (mut printed, mut details) = Printed::of_error(error);
    printed.exit_code = printed.exit_code.or(Some(1));
    // The steps of another tool would pass for the steps of this one.
    details.shift_remove("steps");
    details.insert("tool".to_owned(), Value::from(tool));
    details.insert("code".to_owned(), error.code().as_str().into());
    let message = format!("`{tool}`: {} ({})", error.message(), error.code());
    Tried {
        printed,
        why: Some(Why {
            code: error.code(),
            message,
            details,
        }),
    }
}
