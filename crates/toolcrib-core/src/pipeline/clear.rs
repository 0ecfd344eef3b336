//! Stage 5: does a person have to agree, and do they?
//!
//! What comes back from a person is a fresh call: edited arguments are validated and judged like any others. What was
//! approved is what runs: the tool's own basis for the decision travels along. An approval or a grant is looked at here and
//! used up by the next stage, so that a call that cannot run yet spends nothing.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use serde_json::Value;

use super::Call;
use super::bind::{Bound, Changed};
use super::check::{Checked, Judged, check_aside, panicked};
use super::find::{Located, still_ready};
use super::masking::check_masks;
use super::question::{check_whole, effect_in_words, question, reasons, subject_of, unmasked};
use super::trace::Trace;
use crate::approval::grants::{Grant, GrantRequest, GrantStore, Subject};
use crate::approval::{ApprovalRequest, ApprovalResponse, BoundFile, Hold, NoAnswer};
use crate::call::event::EventKind;
use crate::call::waiting_time::Waits;
use crate::catalogue::{Entry, Inner};
use crate::model::JsonObject;
use crate::model::effects::{Approval, Verdict};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::Limits;
use crate::model::outcome::ApprovalTrail;
use crate::model::text;
use crate::spec::Role;
use crate::tool::{Effect, Look, ShellText};

/// When to try again, with too many questions open: people answer within minutes, not milliseconds.
const RETRY_AFTER_MS: u64 = 10_000;

/// A call that needs no approval, or has it.
pub(super) struct Cleared {
    entry: Arc<Entry>,
    args: JsonObject,
    limits: Limits,
    basis: Option<Value>,
    pass: Pass,
}

/// What lets a call through, to be used up right before it runs.
pub(super) enum Pass {
    /// No one had to be asked.
    Free,
    /// Someone agreed.
    Approved {
        /// The question that was answered.
        id: String,
        hold: Hold,
        /// The files that this counts for.
        bound: Bound,
        /// The call as it would be asked about again.
        again: Box<Judged>,
    },
    /// Someone agreed long ago.
    Granted {
        id: String,
        bound: Bound,
        again: Box<Judged>,
    },
}

/// Whether a call is let through.
#[expect(
    clippy::large_enum_variant,
    reason = "the large one is nearly every one"
)]
pub(super) enum Clearance {
    /// It is.
    Cleared(Cleared),
    /// A file that it runs changed while it was asked about: it is to be asked about again.
    Changed(Box<Judged>),
}

impl Pass {
    /// Lets go of what the call does not use, so that the same call made again can.
    pub(super) async fn let_go(self) {
        if let Pass::Approved { hold, .. } = self {
            // It may write.
            let _ = tokio::task::spawn_blocking(move || drop(hold)).await;
        }
    }
}

impl Cleared {
    pub(super) fn into_parts(self) -> (Arc<Entry>, JsonObject, Limits, Option<Value>, Pass) {
        (self.entry, self.args, self.limits, self.basis, self.pass)
    }
}

pub(super) async fn clear(
    checked: Checked,
    changes: &mut Changed,
    call: &Call<'_>,
    trace: &mut Trace<'_>,
) -> Result<Clearance, ToolError> {
    let (judged, mut look) = checked.into_parts();
    let (entry, args, judgement) = judged.parts();
    let (commands, effect) = (std::mem::take(&mut look.commands), look.effect.take());
    // What few calls come to is in boxes, here and in the other stages: the state of a call is moved now and then, and is as large as
    // its largest part.
    let own = match looks_first(entry) {
        false => ask_tool(entry, args, look, call.inner)?,
        true => Box::pin(ask_tool_aside(entry, args, look, call)).await?,
    };
    if own.verdict.max(judgement.verdict) == Verdict::Allow {
        let (entry, args, limits, _) = judged.into_parts();
        return Ok(Clearance::Cleared(Cleared {
            entry,
            args,
            limits,
            basis: own.basis,
            pass: Pass::Free,
        }));
    }
    let clearing = clear_by_others(judged, own, commands, effect, changes, call, trace);
    Box::pin(clearing).await
}

/// Whether someone else lets a call through: by a grant, or asked now.
async fn clear_by_others(
    judged: Judged,
    mut own: Approval,
    commands: Vec<ShellText>,
    effect: Option<Box<Effect>>,
    changes: &mut Changed,
    call: &Call<'_>,
    trace: &mut Trace<'_>,
) -> Result<Clearance, ToolError> {
    let (entry, args, judgement) = judged.parts();
    let again = Box::new(judged.clone());
    let bound = bound_aside(entry, args, commands, call).await?;
    if let Some(grant) = covering(&own, entry, args, &bound, call).await {
        let (entry, args, limits, judgement) = judged.into_parts();
        let by = format!("grant {}", grant.id);
        tell(call, "approved", Some(by.clone()), None);
        trace.approval(ApprovalTrail {
            approved: true,
            by,
            reason: reasons(&own, &judgement),
            answer: grant.reason,
            modified: false,
            changed: Vec::new(),
            grant: None,
        });
        return Ok(Clearance::Cleared(Cleared {
            entry,
            args,
            limits,
            basis: own.basis,
            pass: Pass::Granted {
                id: grant.id,
                bound,
                again,
            },
        }));
    }
    own.effect
        .get_or_insert_with(|| effect_in_words(entry, args, effect));
    let request = question(entry, args, &own, judgement, &bound, changes, call);
    let (entry, args, limits, _) = judged.into_parts();
    let mut response = match ask(request.clone(), call).await? {
        Ok(response) => response,
        Err(NoAnswer::Changed { files }) => {
            changes.get_or_insert_default().note(files, bound, &entry)?;
            return Ok(Clearance::Changed(again));
        }
        Err(none) => return Err(unanswered(&none, &entry, &request.reason)),
    };
    let id = response
        .hold
        .id()
        .map_or_else(|| request.id.clone(), str::to_owned);
    let mut trail = ApprovalTrail {
        approved: response.approved,
        by: std::mem::take(&mut response.by),
        reason: request.reason.clone(),
        answer: response.reason.clone(),
        modified: response.modified_args.is_some(),
        changed: response
            .modified_args
            .as_ref()
            .map_or_else(Vec::new, |edited| changed(&request.args, edited)),
        grant: None,
    };
    trace.approval(trail.clone());
    let status = if response.approved {
        "approved"
    } else {
        "denied"
    };
    tell(call, status, response.reason.clone(), Some(id.clone()));
    if !response.approved {
        let said = response
            .reason
            .map_or(String::new(), |said| format!(": {said}"));
        return Err(ToolError::new(
            ErrorCode::ApprovalDenied,
            format!("`{}` was not approved{said}", entry.spec().name),
        ));
    }
    // Switching off must take effect, even if a person has agreed in the meantime.
    if let Err(off) = still_ready(&entry, call) {
        Pass::Approved {
            id,
            hold: response.hold,
            bound,
            again,
        }
        .let_go()
        .await;
        return Err(off);
    }
    let (entry, args, limits, own, bound) = match response.modified_args {
        None => (entry, args, limits, own, bound),
        Some(edited) => {
            let whole = check_whole(&edited, &request.args)
                .and_then(|()| check_masks(&edited, &request.args));
            let edited = unmasked(edited, &request.args, &args);
            let found = Located::edited(entry, edited, limits);
            let judged = match whole {
                Ok(()) => judge_edit(found, call, trace).await,
                Err(error) => Err(error),
            };
            match judged {
                Ok(judged) => judged,
                Err(refused) => {
                    // It can never run: the next call like this is asked about, not refused by the same mistake.
                    let _ = call.approver().claim(&id).await;
                    return Err(refused);
                }
            }
        }
    };
    if let Some(wanted) = response.grant {
        let files = bound.files.clone();
        let made = make_grant(wanted, &request, &id, &trail.by, &entry, &args, files, call).await;
        trail.grant =
            Some(made.unwrap_or_else(|why| format!("not made: {}", text::shorten(&why, 400))));
        trace.approval(trail);
    }
    Ok(Clearance::Cleared(Cleared {
        entry,
        args,
        limits,
        basis: own.basis,
        pass: Pass::Approved {
            id,
            hold: response.hold,
            bound,
            again,
        },
    }))
}

/// The files that a call runs, looked at off the async threads.
async fn bound_aside(
    entry: &Arc<Entry>,
    args: &JsonObject,
    commands: Vec<ShellText>,
    call: &Call<'_>,
) -> Result<Bound, ToolError> {
    if call.inner.policy.workspace.is_none() {
        return Ok(Bound::default());
    }
    let inner = Arc::clone(call.inner);
    let (entry, args) = (Arc::clone(entry), args.clone());
    let looking = tokio::task::spawn_blocking(move || {
        Bound::look(&entry, &args, commands, &inner).map(Bound::without_large_content)
    });
    let looked = looking.await;
    looked.map_err(|error| ToolError::new(ErrorCode::Internal, error.to_string()))?
}

/// The names of what is not the same in both, or in one only.
fn changed(before: &JsonObject, after: &JsonObject) -> Vec<String> {
    let edited = after
        .iter()
        .filter(|(name, value)| before.get(*name) != Some(*value));
    let gone = before.iter().filter(|(name, _)| !after.contains_key(*name));
    edited.chain(gone).map(|(name, _)| name.clone()).collect()
}

/// What a person chose instead is a fresh call.
async fn judge_edit(
    found: Located,
    call: &Call<'_>,
    trace: &mut Trace<'_>,
) -> Result<(Arc<Entry>, JsonObject, Limits, Approval, Bound), ToolError> {
    let (judged, mut look) = check_aside(found, call, trace).await?.into_parts();
    let (entry, args, limits, _) = judged.into_parts();
    let commands = std::mem::take(&mut look.commands);
    // The person chose these very arguments, so "ask" is answered; "deny" is not theirs to lift.
    let own = match looks_first(&entry) {
        false => ask_tool(&entry, &args, look, call.inner)?,
        true => ask_tool_aside(&entry, &args, look, call).await?,
    };
    let bound = bound_aside(&entry, &args, commands, call).await?;
    Ok((entry, args, limits, own, bound))
}

/// Puts the question to the approver. The outer error is that of a call that was cancelled.
pub(super) async fn ask(
    request: ApprovalRequest,
    call: &Call<'_>,
) -> Result<Result<ApprovalResponse, NoAnswer>, ToolError> {
    let approver = call.approver();
    if !approver.announces() {
        tell(call, "pending", Some(request.reason.clone()), None);
    }
    // The calls around this one wait along; their clocks are stopped.
    let _wait = call.waits.as_ref().map(Waits::begin);
    let asking = approver.decide(request);
    let Some(answer) = call.cancel.run_until_cancelled(asking).await else {
        let message = "the call was cancelled while it waited for approval";
        return Err(ToolError::new(ErrorCode::Cancelled, message));
    };
    if let Err(none) = &answer {
        let (status, why) = match none {
            NoAnswer::Expired => ("expired", None),
            NoAnswer::Changed { .. } => ("changed", Some(none.to_string())),
            other => ("unavailable", Some(other.to_string())),
        };
        tell(call, status, why, None);
    }
    Ok(answer)
}

/// The refusal that the lack of an answer amounts to.
pub(super) fn unanswered(none: &NoAnswer, entry: &Entry, reason: &str) -> ToolError {
    let needs = format!("`{}` needs approval ({reason})", entry.spec().name);
    match none {
        NoAnswer::Unavailable(why) => ToolError::new(
            ErrorCode::ApprovalUnavailable,
            format!("{needs}, but {why}"),
        ),
        // In fields, too: the front end that called has its own words for it.
        NoAnswer::NotAsked(why) => {
            let message = format!("{needs}, but {why}");
            ToolError::new(ErrorCode::ApprovalUnavailable, message)
                .with_detail("reason", "not-asked")
                .with_detail("why", why.as_str())
        }
        NoAnswer::Expired => ToolError::new(
            ErrorCode::ApprovalExpired,
            format!("{needs}, and no one answered in time"),
        ),
        NoAnswer::TooMany { .. } | NoAnswer::TooManyOfOne { .. } => {
            ToolError::new(ErrorCode::RateLimited, format!("{needs}, but {none}"))
                .with_detail("retryAfterMs", RETRY_AFTER_MS)
        }
        NoAnswer::DeniedTooOften { wait, .. } => {
            let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            ToolError::new(ErrorCode::RateLimited, format!("{needs}, but {none}"))
                .with_detail("retryAfterMs", wait)
        }
        NoAnswer::Taken => ToolError::new(
            ErrorCode::ApprovalUnavailable,
            format!("{needs}, but {none}"),
        ),
        NoAnswer::Changed { .. } => {
            ToolError::new(ErrorCode::Conflict, format!("{needs}, but {none}"))
        }
        NoAnswer::Storage(why) => {
            ToolError::new(ErrorCode::StorageError, format!("{needs}, but {why}"))
        }
    }
}

/// The grant that covers a call, if there is one. Where grants cannot be read, a person is asked.
async fn covering(
    own: &Approval,
    entry: &Arc<Entry>,
    args: &JsonObject,
    bound: &Bound,
    call: &Call<'_>,
) -> Option<Grant> {
    if own.every_time {
        return None;
    }
    let files = bound.files.clone();
    with_grants(entry, args, files, call, |grants, subject| {
        grants.covering(subject).ok().flatten()
    })
    .await?
}

/// Makes the grant that came with an answer, and returns its id or why there is none.
#[expect(clippy::too_many_arguments, reason = "all of one call")]
pub(super) async fn make_grant(
    wanted: GrantRequest,
    request: &ApprovalRequest,
    question: &str,
    by: &str,
    entry: &Arc<Entry>,
    args: &JsonObject,
    files: Vec<BoundFile>,
    call: &Call<'_>,
) -> Result<String, String> {
    if request.offers.is_empty() {
        return Err("calls like this ask every time".to_owned());
    }
    let (question, by) = (question.to_owned(), by.to_owned());
    let made = with_grants(entry, args, files, call, move |grants, subject| {
        grants.make(&question, &wanted, subject, &by)
    });
    match made.await {
        Some(Ok(grant)) => Ok(grant.id),
        Some(Err(error)) => Err(error.message().to_owned()),
        None => Err("no grants are kept here".to_owned()),
    }
}

/// Does something with the grants, which are files, off the async threads.
async fn with_grants<T: Send + 'static>(
    entry: &Arc<Entry>,
    args: &JsonObject,
    files: Vec<BoundFile>,
    call: &Call<'_>,
    work: impl FnOnce(&dyn GrantStore, &Subject<'_>) -> T + Send + 'static,
) -> Option<T> {
    let grants = call.inner.policy.grants.clone()?;
    let inner = Arc::clone(call.inner);
    let (entry, args) = (Arc::clone(entry), args.clone());
    let (caller, root) = (call.caller.clone(), call.root.clone());
    let session = call.session().to_owned();
    let working = tokio::task::spawn_blocking(move || {
        let subject = Subject {
            bound: &files,
            ..subject_of(&inner, &entry, &args, &caller, &session, &root)
        };
        work(&*grants, &subject)
    });
    working.await.ok()
}

/// Whether a tool looks at something before it says what it would do, as all that change files do: a large directory, a slow disk
/// or a database must not hold up other calls.
fn looks_first(entry: &Entry) -> bool {
    let spec = entry.spec();
    spec.looks_first || spec.roles.iter().any(|(_, role)| *role == Role::WritePath)
}

/// As [`ask_tool`], off the async threads.
async fn ask_tool_aside(
    entry: &Arc<Entry>,
    args: &JsonObject,
    look: Look,
    call: &Call<'_>,
) -> Result<Approval, ToolError> {
    let inner = Arc::clone(call.inner);
    let (entry, args) = (Arc::clone(entry), args.clone());
    let asking = tokio::task::spawn_blocking(move || ask_tool(&entry, &args, look, &inner));
    match call.cancel.run_until_cancelled(asking).await {
        Some(Ok(asked)) => asked,
        Some(Err(error)) => Err(ToolError::new(ErrorCode::Internal, error.to_string())),
        None => {
            let message = "the call was cancelled before it ran";
            Err(ToolError::new(ErrorCode::Cancelled, message))
        }
    }
}

/// What the tool itself decides about a call that it looked at; its denial ends it.
pub(super) fn ask_tool(
    entry: &Entry,
    args: &JsonObject,
    look: Look,
    inner: &Inner,
) -> Result<Approval, ToolError> {
    let workspace = inner.policy.workspace.as_deref();
    let asked = std::panic::catch_unwind(AssertUnwindSafe(|| look.into_approval(args, workspace)));
    let approval = asked.map_err(|panic| panicked(&*panic))?;
    if approval.verdict == Verdict::Deny {
        let reason = approval
            .reason
            .as_deref()
            .unwrap_or("the tool refuses this call");
        return Err(ToolError::new(
            ErrorCode::BlockedByRule,
            format!("`{}` is refused: {reason}", entry.spec().name),
        ));
    }
    Ok(approval)
}

fn tell(call: &Call<'_>, status: &str, reason: Option<String>, id: Option<String>) {
    call.events.push(EventKind::Approval {
        status: status.to_owned(),
        reason,
        id,
    });
}
