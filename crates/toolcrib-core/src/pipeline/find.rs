//! Stage 1 and 2: which tool, and may it be called at all?

use std::sync::Arc;

use super::Call;
use super::trace::Trace;
use crate::call::request::CallRequest;
use crate::catalogue::{Availability, Entry, Source};
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::Limits;

/// A tool that is there and switched on.
pub(super) struct Located {
    entry: Arc<Entry>,
    args: JsonObject,
    limits: Limits,
    edited: bool,
}

impl Located {
    pub(super) fn into_parts(self) -> (Arc<Entry>, JsonObject, Limits) {
        (self.entry, self.args, self.limits)
    }

    /// Whether a person gave the arguments instead of the caller.
    pub(super) fn is_edited(&self) -> bool {
        self.edited
    }

    /// The tool with the arguments that a person gave instead of the caller's.
    pub(super) fn edited(entry: Arc<Entry>, args: JsonObject, limits: Limits) -> Self {
        Located {
            entry,
            args,
            limits,
            edited: true,
        }
    }
}

pub(super) fn find(
    call: &Call<'_>,
    request: CallRequest,
    trace: &mut Trace<'_>,
) -> Result<Located, ToolError> {
    let max_depth = call.inner.policy.max_depth;
    if call.depth > max_depth {
        return Err(ToolError::failed(format!(
            "tools call tools more than {max_depth} levels deep, which is the limit: a tool calls itself, or the chain is too long"
        )));
    }
    call.inner.follow_for_call();
    let entry = call.inner.find(&request.tool).or_else(|_| {
        // It may have come since anybody looked.
        call.inner.follow();
        call.inner.find(&request.tool)
    })?;
    trace.found(&entry);
    ready(&entry, &request.tool)?;
    let limits = entry.limits().tightened(&request.limits.into());
    Ok(Located {
        entry,
        args: request.args,
        limits,
        edited: false,
    })
}

/// Whether a tool that was found before is still there and switched on: a person may have taken a long time.
pub(super) fn still_ready(entry: &Entry, call: &Call<'_>) -> Result<(), ToolError> {
    call.inner.follow();
    let reference = entry.spec().reference();
    let now = call.inner.find(&reference);
    // Where another tool goes by that reference, this one is asked itself.
    match now {
        Ok(now) if now.spec().reference() == reference => ready(&now, &reference),
        Err(gone) if entry.id().is_some() => Err(gone),
        _ => ready(entry, &reference),
    }
}

fn ready(entry: &Entry, asked_for: &str) -> Result<(), ToolError> {
    match entry.availability() {
        Availability::Ready => Ok(()),
        Availability::Disabled { reason, help } => {
            let help = help.map_or(String::new(), |help| format!("; {help}"));
            let message = format!("`{}` is disabled: {reason}{help}", said(asked_for, entry));
            Err(ToolError::new(ErrorCode::ToolDisabled, message).with_detail("reason", reason))
        }
        Availability::Unavailable { reason } => {
            let message = format!("`{}` cannot run here: {reason}", said(asked_for, entry));
            Err(ToolError::new(ErrorCode::ToolUnavailable, message).with_detail("reason", reason))
        }
    }
}

/// What to call a tool that was asked for: its name may be another version's.
fn said(asked_for: &str, entry: &Entry) -> String {
    let spec = entry.spec();
    match entry.source() {
        Source::Store if asked_for != spec.name.as_str() => spec.reference(),
        _ => spec.name.to_string(),
    }
}
