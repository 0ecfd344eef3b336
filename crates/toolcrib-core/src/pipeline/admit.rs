//! Stage 6: limits. The only maker of [`Permitted`], and so the only way to execution.
//!
//! Here an approval or a grant is used up: after the call has its place, so that one that is refused a place spends nothing, and
//! before the tool runs, so that nothing runs twice by one approval, whatever dies when.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use super::Call;
use super::bind::{Bound, Changed};
use super::check::Judged;
use super::clear::{Cleared, Pass, unanswered};
use crate::approval::NoAnswer;
use crate::approval::grants::place;
use crate::catalogue::Entry;
use crate::limits::Permit;
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::Limits;
use crate::workspace::{Runnable, Workspace};

/// The files that an approval counts for, as they are to run; none for nearly every call.
type Pinned = Option<Arc<[Runnable]>>;

/// A call that may run now, within limits.
pub(super) struct Permitted {
    entry: Arc<Entry>,
    args: JsonObject,
    basis: Option<Value>,
    limits: Limits,
    deadline: Instant,
    permit: Permit,
    pinned: Pinned,
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
        Pinned,
    ) {
        (
            self.entry,
            self.args,
            self.basis,
            self.limits,
            self.deadline,
            self.permit,
            self.pinned,
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
    /// Another call used the approval or the grant meanwhile, or it does not count for what the files are now: the call has to be
    /// asked about again.
    TooLate(Box<Judged>),
}

pub(super) async fn admit(
    cleared: Cleared,
    changes: &mut Changed,
    call: &Call<'_>,
) -> Result<Admission, ToolError> {
    let (entry, args, limits, basis, pass) = cleared.into_parts();
    let gate = (call.depth == 0).then_some(&call.inner.policy.gate);
    // A person may have thought for minutes; the call's time starts now, and waiting for a place is part of it.
    let now = Instant::now();
    let admitted = match call.cancel.is_cancelled() {
        true => None,
        false => {
            let rates = call.inner.policy.rates.as_ref();
            match entry.meter().count(entry.spec(), rates).await {
                Err(too_often) => Some(Err(too_often)),
                Ok(()) => match (entry.meter().admit_now(gate), gate) {
                    (None, Some(gate)) => {
                        let waiting = entry.meter().wait(gate, &call.caller, limits.timeout);
                        Box::pin(call.cancel.run_until_cancelled(waiting)).await
                    }
                    (now, _) => now.map(Ok),
                },
            }
        }
    };
    let permit = match admitted {
        Some(Ok(permit)) => permit,
        refused => {
            Box::pin(pass.let_go()).await;
            return Err(refused.and_then(Result::err).unwrap_or_else(cancelled));
        }
    };
    let pinned = match pass {
        Pass::Free => None,
        pass => match Box::pin(use_up(pass, &entry, changes, call)).await? {
            Use::Used(pinned) => pinned,
            Use::TooLate(again) => return Ok(Admission::TooLate(again)),
        },
    };
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
        pinned,
    }))
}

/// What came of using up what lets a call through.
enum Use {
    /// It may run, with these files as they are here.
    Used(Pinned),
    TooLate(Box<Judged>),
}

/// Uses up what lets the call through; the call to ask about again where that was too late.
async fn use_up(
    pass: Pass,
    entry: &Arc<Entry>,
    changes: &mut Changed,
    call: &Call<'_>,
) -> Result<Use, ToolError> {
    match pass {
        Pass::Free => Ok(Use::Used(None)),
        Pass::Approved {
            id,
            hold,
            bound,
            again,
        } => {
            let pinned = match hold_files(&bound, call).await? {
                Ok(pinned) => pinned,
                Err(files) => {
                    // The approval is not used: it counts for what the files were.
                    tokio::task::spawn_blocking(move || drop(hold));
                    changes.get_or_insert_default().note(files, bound, entry)?;
                    return Ok(Use::TooLate(again));
                }
            };
            let claiming = call.cancel.run_until_cancelled(call.approver().claim(&id));
            let claimed = claiming.await.ok_or_else(cancelled)?;
            // Until here others knew that someone waits to use it. Letting go may write; no one waits for that.
            tokio::task::spawn_blocking(move || drop(hold));
            match claimed {
                Ok(()) => {
                    remember(bound, call).await;
                    Ok(Use::Used(pinned))
                }
                Err(NoAnswer::Taken) => Ok(Use::TooLate(again)),
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
        Pass::Granted { id, bound, again } => {
            let Some(grants) = call.inner.policy.grants.clone() else {
                return Ok(Use::TooLate(again));
            };
            let pinned = match hold_files(&bound, call).await? {
                Ok(pinned) => pinned,
                Err(files) => {
                    changes.get_or_insert_default().note(files, bound, entry)?;
                    return Ok(Use::TooLate(again));
                }
            };
            let spending = tokio::task::spawn_blocking(move || grants.spend(&id));
            let spent = spending
                .await
                .map_err(|error| ToolError::new(ErrorCode::Internal, error.to_string()))??;
            match spent {
                true => Ok(Use::Used(pinned)),
                false => Ok(Use::TooLate(again)),
            }
        }
    }
}

/// Looks at the files that an approval counts for once more; the names of those that changed, or what is to run of them.
async fn hold_files(
    bound: &Bound,
    call: &Call<'_>,
) -> Result<Result<Pinned, Vec<String>>, ToolError> {
    if bound.is_empty() {
        return Ok(Ok(None));
    }
    let (bound, inner) = (bound.clone(), Arc::clone(call.inner));
    let looking =
        tokio::task::spawn_blocking(move || bound.hold(inner.policy.workspace.as_deref()));
    let held = looking
        .await
        .map_err(|error| ToolError::new(ErrorCode::Internal, error.to_string()))?;
    Ok(held.map(Some))
}

/// Remembers which files were approved, for the next question about them. A disk that refuses stops no call.
async fn remember(bound: Bound, call: &Call<'_>) {
    let policy = &call.inner.policy;
    let Some(approved) = policy
        .approved_files
        .clone()
        .filter(|_| !bound.files.is_empty())
    else {
        return;
    };
    let workspace = policy.workspace.as_deref().map(Workspace::root).map(place);
    let remembering = tokio::task::spawn_blocking(move || {
        let workspace = workspace.unwrap_or_default();
        approved.remember(&workspace, &bound.files)
    });
    let _ = remembering.await;
}

fn cancelled() -> ToolError {
    ToolError::new(ErrorCode::Cancelled, "the call was cancelled before it ran")
}
