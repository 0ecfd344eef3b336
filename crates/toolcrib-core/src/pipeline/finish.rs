//! Stage 7 and 8: run the tool, and see that what it returned is fit to pass on.

use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::error::Elapsed;

use super::admit::Permitted;
use super::check::size_of;
use super::trace::Trace;
use super::{Call, panic_text};
use crate::approval::Approver;
use crate::call::context::{Around, CallContext, Inner as Context};
use crate::call::event::EventKind;
use crate::call::request::CallRequest;
use crate::catalogue::{Entry, Inner};
use crate::model::JsonObject;
use crate::model::effects::Verdict;
use crate::model::error::{ErrorCode, ToolError, shorten_value};
use crate::model::limits::Limits;
use crate::model::outcome::{Outcome, ToolOutput};
use crate::model::text::{self, left_out};
use crate::poll::{BoxFuture, caught};
use crate::rules::RuleContext;
use crate::schema::Schema;
use crate::spec::ToolSpec;
use crate::workspace::Workspace;

/// How long a call that is over waits for what it started to end.
const PATIENCE: Duration = Duration::from_millis(1500);

/// How soon it is seen again whether a call that waits for a person has any time left.
const GLANCE: Duration = Duration::from_millis(50);

/// How long an outcome waits for what its tool left to be done; each of these has its own bound, which is less.
const AFTERWARDS: Duration = Duration::from_secs(15);

/// A whole output may be this many times as long as one text in it.
const MAX_TEXTS: u64 = 16;

pub(super) async fn finish(
    permitted: Permitted,
    call: &Call<'_>,
    trace: &mut Trace<'_>,
) -> Result<ToolOutput, ToolError> {
    let (entry, args, basis, limits, deadline, _permit, pinned) = permitted.into_parts();
    trace.execution_starts();
    call.events.push(EventKind::Started {
        tool: entry.spec().name.as_str().to_owned(),
    });
    let cx = CallContext::new(Context {
        call_id: call.id.clone(),
        caller: call.caller.clone(),
        root: call.root.clone(),
        path: call.path(&entry.spec().name),
        spec: Arc::clone(entry.spec()),
        workspace: call.inner.policy.workspace.clone(),
        limits,
        deadline,
        cancel: call.cancel.clone(),
        events: Arc::clone(&call.events),
        around: Arc::new(Surroundings::of(call)),
        depth: call.depth,
        basis,
        pinned,
        partial: Mutex::default(),
        notes: Mutex::default(),
        endings: OnceLock::new(),
        typed: call.typed.clone(),
        elicitor: call.elicitor.clone(),
        after: Mutex::default(),
        cleanups: call
            .cleanups
            .clone()
            .map_or_else(OnceLock::new, OnceLock::from),
        waited_before: call
            .waits
            .as_ref()
            .map_or(Duration::ZERO, |waits| waits.total()),
        waits: call
            .waits
            .clone()
            .map_or_else(OnceLock::new, OnceLock::from),
        exchanges: OnceLock::new(),
    });
    trace.runs_in(cx.clone());
    let afterwards = Afterwards(cx.clone());
    // `call` itself is the tool's code too: it may panic before it returns a future.
    let running = caught(async { entry.tool().call(args, cx.clone()).await });
    let ended = in_time(&cx, call.cancel.run_until_cancelled(running)).await;
    // The call is over: whatever the tool left running in the background learns of it.
    call.cancel.cancel();
    if !matches!(ended, Ok(Some(Ok(_)))) {
        // Processes are ended before the outcome says so, and what they printed is part of it.
        let _ = Box::pin(tokio::time::timeout(PATIENCE, cx.all_ended())).await;
    }
    if let Some(doing) = afterwards.start() {
        Box::pin(afterwards.done(doing)).await;
    }
    if call.depth == 0 && !cx.is_cleaned_up() {
        // Nested calls that were ended with this one clean up on their own.
        let _ = Box::pin(tokio::time::timeout(AFTERWARDS, cx.all_cleaned_up())).await;
    }
    trace.execution_ends();
    let mut notes = cx.take_notes();
    let left_behind = std::mem::take(&mut notes.cleanup);
    trace.notes(notes);
    let result = match ended {
        Ok(Some(Ok(result))) => result,
        Ok(Some(Err(panic))) => Err(ToolError::failed(format!(
            "the tool panicked: {}",
            panic_text(&*panic)
        ))),
        Ok(None) => Err(ToolError::new(
            ErrorCode::Cancelled,
            "the call was cancelled",
        )),
        Err(_) => {
            let millis = limits.timeout.as_millis();
            Err(ToolError::new(
                ErrorCode::Timeout,
                format!("`{}` did not finish within {millis} ms", entry.spec().name),
            ))
        }
    };
    let error = match (result, left_behind) {
        (Ok(mut output), left_behind) => {
            if let (Value::Object(fields), false) = (&mut output.value, left_behind.is_empty()) {
                fields.insert("cleanup".to_owned(), left_behind.into());
            }
            // `null` in the place of a failure is what the tool's file wants, whatever its output is otherwise.
            let schema = match output.failure.is_some() && output.value.is_null() {
                true => None,
                false => entry.spec().output_schema.as_deref(),
            };
            return check_output(output, schema, &entry, &limits, trace);
        }
        (Err(error), left_behind) if left_behind.is_empty() => error,
        (Err(error), left_behind) => error.with_detail("cleanup", left_behind),
    };
    let stopped = matches!(error.code(), ErrorCode::Timeout | ErrorCode::Cancelled);
    let partial = if stopped {
        cx.take_partial()
    } else {
        JsonObject::new()
    };
    let error = partial.into_iter().fold(error, |error, (key, value)| {
        // What an error says itself is newer than what was kept on the way to it.
        let is_said = error
            .details()
            .is_some_and(|details| details.contains_key(&key));
        match is_said {
            true => error,
            false => error.with_detail(key, value),
        }
    });
    let (error, cut) = error.without_huge_details(|details| {
        let size = details.values().try_fold(0, |sum: u64, value| {
            Some(sum.saturating_add(size_of(value, 0)?))
        });
        size.is_none_or(|size| size > limits.max_output_bytes.saturating_mul(MAX_TEXTS))
    });
    if cut {
        trace.truncated();
    }
    let (error, cut) = error.shortened(|text| shorten_text(text, limits.max_output_bytes));
    if cut {
        trace.truncated();
    }
    Err(error)
}

/// Waits for a tool until its time is up, which moves while it waits for a person.
async fn in_time<T>(cx: &CallContext, running: impl Future<Output = T>) -> Result<T, Elapsed> {
    let mut running = std::pin::pin!(running);
    let mut until = cx.deadline();
    loop {
        match tokio::time::timeout_at(until.into(), &mut running).await {
            Err(_) if !cx.remaining().is_zero() => {
                until = cx.deadline().max(Instant::now() + GLANCE);
            }
            ended => return ended,
        }
    }
}

/// Sees to it that what a tool left to be done after its call is done, even if no one waits for the call any more.
struct Afterwards(CallContext);

impl Afterwards {
    /// Resolves when it is done.
    async fn done(&self, doing: JoinHandle<()>) {
        // On its own task: a caller that gives up waiting does not stop it.
        if let Ok(Err(error)) = tokio::time::timeout(AFTERWARDS, doing).await
            && error.is_panic()
        {
            self.0.note_cleanup("cleaning up failed: a bug in Toolcrib");
        }
    }

    fn start(&self) -> Option<JoinHandle<()>> {
        let work = self.0.take_afterwards();
        if work.is_empty() {
            return None;
        }
        // Without a runtime nothing can be done, and nothing of the call runs.
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        let cx = self.0.clone();
        Some(runtime.spawn(async move {
            let _ = tokio::time::timeout(PATIENCE, cx.all_ended()).await;
            for one in work {
                one.await;
            }
        }))
    }
}

impl Drop for Afterwards {
    fn drop(&mut self) {
        drop(self.start());
    }
}

/// What lets a tool call others: its own hold on the registry, for as long as it keeps its context. They ask whom this call asks,
/// and belong to its session, whatever the tool says.
struct Surroundings {
    inner: Arc<Inner>,
    approver: Option<Arc<dyn Approver>>,
    session: Option<String>,
}

impl Surroundings {
    fn of(call: &Call<'_>) -> Self {
        Surroundings {
            inner: Arc::clone(call.inner),
            approver: call.approver.clone(),
            session: call.session.clone(),
        }
    }
}

impl Around for Surroundings {
    fn call(&self, mut request: CallRequest) -> BoxFuture<'static, Outcome> {
        let inner = Arc::clone(&self.inner);
        request.approver.clone_from(&self.approver);
        request.session.clone_from(&self.session);
        Box::pin(async move { super::run(&inner, request).await })
    }

    fn objections(&self, spec: &ToolSpec, args: &JsonObject) -> Vec<String> {
        let policy = &self.inner.policy;
        let cx = RuleContext {
            workspace: policy.workspace.as_deref().map(Workspace::root),
            ..RuleContext::default()
        };
        let judgement = policy.rules.judge(spec, args, &cx);
        let findings = judgement.findings.into_iter();
        findings
            .filter(|finding| finding.verdict > Verdict::Allow)
            .map(|finding| finding.rule)
            .collect()
    }
}

fn check_output(
    mut output: ToolOutput,
    schema: Option<&Schema>,
    entry: &Entry,
    limits: &Limits,
    trace: &mut Trace<'_>,
) -> Result<ToolOutput, ToolError> {
    let name = &entry.spec().name;
    let invalid = |message: String| ToolError::new(ErrorCode::InvalidOutput, message);
    let Some(size) = size_of(&output.value, 0) else {
        return Err(invalid(format!(
            "`{name}` returned a value that is nested too deep"
        )));
    };
    if let Some(schema) = schema {
        match schema.check_output(&output.value) {
            Ok(faults) if faults.is_empty() => {}
            Ok(faults) => {
                let all: Vec<String> = faults
                    .iter()
                    .map(|fault| match fault.pointer.as_str() {
                        "" => format!("the value {}", fault.message),
                        pointer => format!("`{pointer}` {}", fault.message),
                    })
                    .collect();
                let message = format!(
                    "`{name}` returned what its output schema does not allow: {}",
                    all.join("; ")
                );
                return Err(invalid(message)
                    .with_detail("faults", serde_json::to_value(&faults).unwrap_or_default()));
            }
            Err(error) => {
                return Err(invalid(format!(
                    "`{name}` has an output schema that cannot be used: {error}"
                )));
            }
        }
    }
    if !output.content.is_empty() && bound_content(&mut output.content, limits.max_output_bytes) {
        trace.truncated();
    }
    let text_len = output.text.as_ref().map_or(0, |text| text.len() as u64);
    if size.max(text_len) <= limits.max_output_bytes {
        return Ok(output);
    }
    // Something may be too long: look at every text.
    let mut cut = shorten_value(&mut output.value, &mut |text| {
        shorten_text(text, limits.max_output_bytes)
    });
    if let Some(text) = &mut output.text {
        cut |= shorten_text(text, limits.max_output_bytes);
    }
    if cut {
        trace.truncated();
    }
    let limit = limits.max_output_bytes.saturating_mul(MAX_TEXTS);
    match size_of(&output.value, 0) {
        Some(size) if size <= limit => Ok(output),
        _ => Err(invalid(format!(
            "`{name}` returned about {size} bytes; the limit is {limit}"
        ))),
    }
}

/// Sees to it that content blocks are no larger than texts may be; whether something had to go. A text keeps head and tail; of a picture
/// nothing is better than half of it.
fn bound_content(blocks: &mut Vec<Value>, max: u64) -> bool {
    let mut left = max.saturating_mul(MAX_TEXTS);
    let mut cut = false;
    for block in blocks {
        if block["type"] == "text"
            && let Some(Value::String(text)) = block.get_mut("text")
        {
            cut |= shorten_text(text, max);
        }
        let size = size_of(block, 0);
        match size.filter(|size| *size <= left) {
            Some(size) => left -= size,
            None => {
                let kind = block["type"].as_str().unwrap_or("a block");
                let note = format!(
                    "[left out: {} of {} bytes; the limit is {max}]",
                    text::shorten(kind, 64),
                    size.map_or_else(|| "too many".to_owned(), |size| size.to_string()),
                );
                *block = serde_json::json!({"type": "text", "text": note});
                cut = true;
            }
        }
    }
    cut
}

/// Keeps head and tail of a text.
fn shorten_text(text: &mut String, max: u64) -> bool {
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    if text.len() <= max {
        return false;
    }
    let head = text.floor_char_boundary(max / 2);
    let tail = text.ceil_char_boundary(text.len() - (max - max / 2));
    let mark = left_out((tail - head) as u64);
    *text = format!("{}{mark}{}", &text[..head], &text[tail..]);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_head_and_tail_and_says_what_is_missing() {
        let mut text = format!("HEAD{}TAIL", "é".repeat(5000));
        assert!(shorten_text(&mut text, 101));
        assert!(text.starts_with("HEAD") && text.ends_with("TAIL"), "{text}");
        assert!(text.contains(" bytes left out]"), "{text}");
        assert!(text.len() < 200);
        let mut short = "short".to_owned();
        assert!(!shorten_text(&mut short, 5));
        assert_eq!(short, "short");
    }
}
