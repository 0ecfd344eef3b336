//! Stage 1 and 2: which tool, and may it be called at all?

use std::sync::Arc;

use super::Call;
use super::trace::Trace;
use crate::model::JsonObject;
use crate::model::call::CallRequest;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::Limits;
use crate::registry::{Availability, Entry};

/// A tool that is there and switched on.
pub(super) struct Found {
    entry: Arc<Entry>,
    args: JsonObject,
    limits: Limits,
}

impl Found {
    pub(super) fn into_parts(self) -> (Arc<Entry>, JsonObject, Limits) {
        (self.entry, self.args, self.limits)
    }

    /// The same tool with the arguments a person gave instead.
    pub(super) fn edited(entry: Arc<Entry>, args: JsonObject, limits: Limits) -> Self {
        Found {
            entry,
            args,
            limits,
        }
    }
}

pub(super) fn find(
    call: &Call<'_>,
    request: CallRequest,
    trace: &mut Trace<'_>,
) -> Result<Found, ToolError> {
    let max_depth = call.inner.policy.max_depth;
    if call.depth > max_depth {
        return Err(ToolError::failed(format!(
            "tools call tools more than {max_depth} levels deep; a tool probably calls itself"
        )));
    }
    let entry = call.inner.find(&request.tool)?;
    trace.found(&entry);
    match entry.availability() {
        Availability::Ready => {
            let limits = entry.limits.tightened(&request.limits.into());
            Ok(Found {
                entry,
                args: request.args,
                limits,
            })
        }
        Availability::Disabled { reason } => Err(refused(
            ErrorCode::ToolDisabled,
            &entry,
            "is disabled",
            reason,
        )),
        Availability::Unavailable { reason } => Err(refused(
            ErrorCode::ToolUnavailable,
            &entry,
            "cannot run here",
            reason,
        )),
    }
}

fn refused(code: ErrorCode, entry: &Entry, state: &str, reason: String) -> ToolError {
    ToolError::new(code, format!("`{}` {state}: {reason}", entry.spec().name))
        .with_detail("reason", reason)
}
