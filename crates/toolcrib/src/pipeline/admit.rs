//! Stage 6: limits. The only maker of [`Permitted`], and so the only way to execution.
//!
//! Here an approval or a grant is used up: after the call has its place, so that one that is refused a place spends nothing, and
//! before the tool runs, so that nothing runs twice by one approval, whatever dies when.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use super::Call;
use super::check::Checked;
use super::clear::{Cleared, Pass, unanswered};
use crate::approval::NoAnswer;
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

/// Whether a call may run.
#[expect(
    clippy::large_enum_variant,
    reason = "the large one is nearly every one"
)]
pub(super) enum Admission {
    /// It may.
    Permitted(Permitted),
    /// Somebody else used the approval or the grant meanwhile: the call is to be asked about again.
    TooLate(Box<Checked>),
}

pub(super) async fn admit(cleared: Cleared, call: &Call<'_>) -> Result<Admission, ToolError> {
    let (entry, args, limits, basis, pass) = cleared.into_parts();
    let gate = (call.depth == 0).then_some(&call.inner.policy.gate);
    // A person may have thought for minutes; the call's time starts now, and waiting for a place is part of it.
    let now = Instant::now();
    let admitted = match call.cancel.is_cancelled() {
        true => None,
        false => match (entry.meter().admit_now(gate), gate) {
            (Ok(None), Some(gate)) => {
                let waiting = entry.meter().wait(gate, &call.caller, limits.timeout);
                Box::pin(call.cancel.run_until_cancelled(waiting)).await
            }
            (now, _) => now.transpose(),
        },
    };
    let permit = match admitted {
        Some(Ok(permit)) => permit,
        refused => {
            Box::pin(pass.let_go()).await;
            return Err(refused.and_then(Result::err).unwrap_or_else(cancelled));
        }
    };
    match pass {
        Pass::Free => {}
        pass => {
            if let Some(again) = Box::pin(use_up(pass, &entry, call)).await? {
                return Ok(Admission::TooLate(again));
            }
        }
    }
    let deadline = now
        .checked_add(limits.timeout)
        .unwrap_or_else(|| now + std::time::Duration::from_secs(1 << 32));
    Ok(Admission::Permitted(Permitted {
        entry,
        args,
        basis,
        limits,
        deadline,
        permit,
    }))
}

/// Uses up what lets the call through; the call to ask about again where that was too late.
async fn use_up(
    pass: Pass,
    entry: &Arc<Entry>,
    call: &Call<'_>,
) -> Result<Option<Box<Checked>>, ToolError> {
    let policy = &call.inner.policy;
    match pass {
        Pass::Free => Ok(None),
        Pass::Approved { id, hold, again } => {
            let claiming = call.cancel.run_until_cancelled(call.approver().claim(&id));
            let claimed = claiming.await.ok_or_else(cancelled)?;
            // Until here others knew that somebody waits to use it. Letting go may write; nobody waits for that.
            tokio::task::spawn_blocking(move || drop(hold));
            match claimed {
                Ok(()) => Ok(None),
                Err(NoAnswer::Taken) => Ok(Some(again)),
                Err(NoAnswer::Expired) => Err(ToolError::new(
                    ErrorCode::ApprovalExpired,
                    format!(
                        "the approval of `{}` lapsed before the call could run",
                        entry.spec().name
                    ),
                )),
                Err(none) => Err(unanswered(&none, entry, "it was given")),
            }
        }
        Pass::Granted { id, again } => {
            let Some(grants) = policy.grants.clone() else {
                return Ok(Some(again));
            };
            let spending = tokio::task::spawn_blocking(move || grants.spend(&id));
            let spent = spending
                .await
                .map_err(|error| ToolError::new(ErrorCode::Internal, error.to_string()))??;
            Ok((!spent).then_some(again))
        }
    }
}

fn cancelled() -> ToolError {
    ToolError::new(ErrorCode::Cancelled, "the call was cancelled before it ran")
}
