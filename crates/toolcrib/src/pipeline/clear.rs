//! Stage 5: does a person have to agree, and do they?
//!
//! What comes back from a person is a fresh call: edited arguments are validated and judged like
//! any others. What was approved is what runs: the tool's own basis for the decision travels along.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use serde_json::Value;

use super::check::{Checked, check};
use super::find::Found;
use super::trace::Trace;
use super::{Call, panic_text};
use crate::approval::{ApprovalRequest, NoAnswer};
use crate::model::JsonObject;
use crate::model::digest::Digester;
use crate::model::effects::{Approval, Verdict};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::event::EventKind;
use crate::model::ids::CallId;
use crate::model::limits::Limits;
use crate::model::outcome::ApprovalTrail;
use crate::model::secret::MASK;
use crate::model::text;
use crate::registry::Entry;
use crate::rules::Judgement;

/// A call that needs no approval, or has it.
pub(super) struct Cleared {
    entry: Arc<Entry>,
    args: JsonObject,
    limits: Limits,
    basis: Option<Value>,
}

impl Cleared {
    pub(super) fn into_parts(self) -> (Arc<Entry>, JsonObject, Limits, Option<Value>) {
        (self.entry, self.args, self.limits, self.basis)
    }
}

pub(super) async fn clear(
    checked: Checked,
    call: &Call<'_>,
    trace: &mut Trace<'_>,
) -> Result<Cleared, ToolError> {
    let (entry, args, limits, judgement) = checked.into_parts();
    let own = ask_tool(&entry, &args, call)?;
    if own.verdict.max(judgement.verdict) == Verdict::Allow {
        return Ok(Cleared {
            entry,
            args,
            limits,
            basis: own.basis,
        });
    }
    let request = question(&entry, &args, &own, &judgement, &call.id);
    let reason = request.reason.clone();
    tell(call, "pending", Some(reason.clone()));
    let asking = call.inner.policy.approver.decide(request);
    let Some(answer) = call.cancel.run_until_cancelled(asking).await else {
        let message = "the call was cancelled while it waited for approval";
        return Err(ToolError::new(ErrorCode::Cancelled, message));
    };
    let name = &entry.spec().name;
    let response = match answer {
        Ok(response) => response,
        Err(NoAnswer::Unavailable(why)) => {
            tell(call, "unavailable", Some(why.clone()));
            let message = format!("`{name}` needs approval ({reason}), but {why}");
            return Err(ToolError::new(ErrorCode::ApprovalUnavailable, message));
        }
        Err(NoAnswer::Expired) => {
            tell(call, "expired", None);
            let message =
                format!("`{name}` needs approval ({reason}), and nobody answered in time");
            return Err(ToolError::new(ErrorCode::ApprovalExpired, message));
        }
    };
    trace.approval(ApprovalTrail {
        approved: response.approved,
        by: response.by,
        reason,
        answer: response.reason.clone(),
        modified: response.modified_args.is_some(),
    });
    tell(
        call,
        if response.approved {
            "approved"
        } else {
            "denied"
        },
        response.reason.clone(),
    );
    if !response.approved {
        let said = response
            .reason
            .map_or(String::new(), |said| format!(": {said}"));
        return Err(ToolError::new(
            ErrorCode::ApprovalDenied,
            format!("`{name}` was not approved{said}"),
        ));
    }
    match response.modified_args {
        None => Ok(Cleared {
            entry,
            args,
            limits,
            basis: own.basis,
        }),
        Some(edited) => {
            let edited = unmasked(edited, &args);
            let found = Found::edited(entry, edited, limits);
            let (entry, args, limits, _) = check(found, call, trace)?.into_parts();
            // The person chose these very arguments, so "ask" is answered; "deny" is not theirs to lift.
            let own = ask_tool(&entry, &args, call)?;
            Ok(Cleared {
                entry,
                args,
                limits,
                basis: own.basis,
            })
        }
    }
}

/// Whoever answers sees secrets masked; a mask that comes back stands for the secret.
fn unmasked(mut edited: JsonObject, original: &JsonObject) -> JsonObject {
    for (name, value) in &mut edited {
        if value == MASK
            && let Some(secret) = original.get(name)
        {
            *value = secret.clone();
        }
    }
    edited
}

/// What the tool itself says about the call; its refusal ends it.
pub(super) fn ask_tool(
    entry: &Entry,
    args: &JsonObject,
    call: &Call<'_>,
) -> Result<Approval, ToolError> {
    let workspace = call.inner.policy.workspace.as_deref();
    let asked = std::panic::catch_unwind(AssertUnwindSafe(|| entry.tool.approval(args, workspace)));
    let approval = asked.map_err(|panic| {
        ToolError::failed(format!("the tool panicked: {}", panic_text(&*panic)))
    })?;
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

/// Why a person is asked: the tool's own reason and the rules'.
pub(super) fn reasons(own: &Approval, judgement: &Judgement) -> String {
    let own_reason = (own.verdict == Verdict::Ask)
        .then(|| own.reason.clone())
        .flatten();
    let rules = judgement
        .findings
        .iter()
        .filter(|finding| finding.verdict == Verdict::Ask)
        .map(|finding| format!("{} (rule `{}`)", finding.reason, finding.rule));
    let all: Vec<String> = own_reason.into_iter().chain(rules).collect();
    if all.is_empty() {
        "the tool asks for it".to_owned()
    } else {
        all.join("; ")
    }
}

fn question(
    entry: &Entry,
    args: &JsonObject,
    own: &Approval,
    judgement: &Judgement,
    id: &CallId,
) -> ApprovalRequest {
    let spec = entry.spec();
    ApprovalRequest {
        id: CallId::generate().to_string(),
        step_id: id.clone(),
        tool: spec.name.to_string(),
        args: spec.input_schema.masked(args, &spec.synonyms),
        reason: reasons(own, judgement),
        effect: own
            .effect
            .clone()
            .unwrap_or_else(|| effect_in_words(entry, args)),
        diff: own.diff.clone(),
        expires_at: None,
        args_digest: Digester::default()
            .text(entry.digest())
            .object(args)
            .finish(),
    }
}

/// For tools that do not say themselves what they would do.
pub(super) fn effect_in_words(entry: &Entry, args: &JsonObject) -> String {
    let spec = entry.spec();
    let masked = Value::Object(spec.input_schema.masked(args, &spec.synonyms)).to_string();
    format!("run `{}` with {}", spec.name, text::shorten(&masked, 400))
}

fn tell(call: &Call<'_>, status: &str, reason: Option<String>) {
    call.events.push(EventKind::Approval {
        status: status.to_owned(),
        reason,
    });
}
