//! Stage 6: limits. The only maker of [`Permitted`], and so the only way to execution.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use super::Call;
use super::clear::Cleared;
use crate::limits::Permit;
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::Limits;
use crate::registry::Entry;

/// A call that may run now, within limits.
pub(super) struct Permitted {
    entry: Arc<Entry>,
    args: JsonObject,
    basis: Option<Value>,
    limits: Limits,
    deadline: Instant,
    permit: Permit,
}

impl Permitted {
    pub(super) fn into_parts(
        self,
    ) -> (
        Arc<Entry>,
        JsonObject,
        Option<Value>,
        Limits,
        Instant,
        Permit,
    ) {
        (
            self.entry,
            self.args,
            self.basis,
            self.limits,
            self.deadline,
            self.permit,
        )
    }
}

pub(super) async fn admit(cleared: Cleared, call: &Call<'_>) -> Result<Permitted, ToolError> {
    let (entry, args, limits, basis) = cleared.into_parts();
    let gate = (call.depth == 0).then_some(&call.inner.policy.gate);
    let permit = match call
        .cancel
        .run_until_cancelled(entry.meter.admit(gate, limits.timeout))
        .await
    {
        Some(permit) => permit?,
        None => {
            return Err(ToolError::new(
                ErrorCode::Cancelled,
                "the call was cancelled before it ran",
            ));
        }
    };
    // A person may have thought for minutes; the tool's time starts now.
    let now = Instant::now();
    let deadline = now
        .checked_add(limits.timeout)
        .unwrap_or_else(|| now + std::time::Duration::from_secs(1 << 32));
    Ok(Permitted {
        entry,
        args,
        basis,
        limits,
        deadline,
        permit,
    })
}
