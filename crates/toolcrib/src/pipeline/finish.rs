//! Stage 7 and 8: run the tool, and see that what it returned is fit to pass on.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt as _;
use serde_json::Value;

use super::admit::Permitted;
use super::check::size_of;
use super::trace::Trace;
use super::{Call, panic_text};
use crate::model::context::{CallContext, Inner as Context};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::event::EventKind;
use crate::model::limits::Limits;
use crate::model::outcome::ToolOutput;
use crate::registry::Entry;

/// A whole output may be this many times as long as one text in it.
const MAX_TEXTS: u64 = 16;

pub(super) async fn finish(
    permitted: Permitted,
    call: &Call<'_>,
    trace: &mut Trace<'_>,
) -> Result<ToolOutput, ToolError> {
    let (entry, args, basis, limits, deadline, _permit) = permitted.into_parts();
    call.events.push(EventKind::Started {
        tool: entry.spec().name.to_string(),
    });
    let cx = CallContext::new(Context {
        call_id: call.id.clone(),
        spec: Arc::clone(entry.spec()),
        workspace: call.inner.policy.workspace.clone(),
        limits,
        deadline,
        cancel: call.cancel.clone(),
        events: Arc::clone(&call.events),
        nested: call.inner.nested(),
        depth: call.depth,
        basis,
        partial: Mutex::default(),
    });
    // `call` itself is the tool's code too: it may panic before it returns a future.
    let running =
        AssertUnwindSafe(async { entry.tool.call(args, cx.clone()).await }).catch_unwind();
    let ended =
        tokio::time::timeout_at(deadline.into(), call.cancel.run_until_cancelled(running)).await;
    trace.execution_ends();
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
            // Whatever the tool left running in the background learns of it too.
            call.cancel.cancel();
            let millis = limits.timeout.as_millis();
            Err(ToolError::new(
                ErrorCode::Timeout,
                format!("`{}` did not finish within {millis} ms", entry.spec().name),
            ))
        }
    };
    match result {
        Ok(output) => check_output(output, &entry, &limits, trace),
        Err(error) if matches!(error.code(), ErrorCode::Timeout | ErrorCode::Cancelled) => Err(cx
            .take_partial()
            .into_iter()
            .fold(error, |error, (key, value)| error.with_detail(key, value))),
        Err(error) => Err(error),
    }
}

fn check_output(
    mut output: ToolOutput,
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
    if let Some(schema) = &entry.spec().output_schema {
        match schema.check_output(&output.value) {
            Ok(faults) if faults.is_empty() => {}
            Ok(faults) => {
                let all: Vec<String> = faults
                    .iter()
                    .map(|fault| format!("`{}` {}", fault.pointer, fault.message))
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
    let text_len = output.text.as_ref().map_or(0, |text| text.len() as u64);
    if size.max(text_len) <= limits.max_output_bytes {
        return Ok(output);
    }
    // Something may be too long: look at every text.
    let mut cut = shorten_texts(&mut output.value, limits.max_output_bytes);
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

fn shorten_texts(value: &mut Value, max: u64) -> bool {
    match value {
        Value::String(text) => shorten_text(text, max),
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |cut, item| shorten_texts(item, max) | cut),
        Value::Object(fields) => fields
            .values_mut()
            .fold(false, |cut, field| shorten_texts(field, max) | cut),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Keeps head and tail of a text. The mark between them carries a fresh random number, so that no
/// output can contain it by design.
fn shorten_text(text: &mut String, max: u64) -> bool {
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    if text.len() <= max {
        return false;
    }
    let head = text.floor_char_boundary(max / 2);
    let tail = text.ceil_char_boundary(text.len() - (max - max / 2));
    let mark = uuid::Uuid::now_v7().simple().to_string();
    let left_out = tail - head;
    *text = format!(
        "{}\n[toolcrib {}: {left_out} bytes left out]\n{}",
        &text[..head],
        &mark[12..],
        &text[tail..]
    );
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
