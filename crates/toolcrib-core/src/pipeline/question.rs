//! What a person is asked: made from the tool's own words, the rules' and the arguments.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::Call;
use super::bind::{Bound, Changed};
use super::masking::mask_question;
use crate::approval::grants::{Subject, offers, place};
use crate::approval::{Announce, ApprovalRequest};
use crate::call::event::EventKind;
use crate::catalogue::{Entry, Inner, Source};
use crate::model::JsonObject;
use crate::model::caller::Caller;
use crate::model::digest::Digester;
use crate::model::effects::{Approval, Verdict};
use crate::model::error::{ErrorCode, ToolError, shorten_value};
use crate::model::ids::CallId;
use crate::model::text;
use crate::rules::Judgement;
use crate::tool::Effect;
use crate::workspace::Workspace;

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

/// The question about a call, of which `own` says the effect.
pub(super) fn question(
    entry: &Entry,
    args: &JsonObject,
    own: &Approval,
    judgement: &Judgement,
    bound: &Bound,
    changes: &Changed,
    call: &Call<'_>,
) -> ApprovalRequest {
    let spec = entry.spec();
    let workspace = call.inner.policy.workspace.as_deref().map(Workspace::root);
    let workspace = workspace.map(place);
    let mut args_digest = Digester::default().text(entry.digest()).object(args);
    if !bound.files.is_empty() {
        args_digest = args_digest.json(&bound.digested());
    }
    let args_digest = args_digest.finish();
    let mut reason = reasons(own, judgement);
    let mut diff = own.diff.clone();
    if let Some(changes) = changes {
        if let Some(changed) = changes.reason() {
            reason = format!("{changed}; {reason}");
        }
        let parts: Vec<String> = changes.diff_to(bound).into_iter().chain(diff).collect();
        diff = (!parts.is_empty()).then(|| parts.join("\n"));
    }
    let effect = own.effect.clone().unwrap_or_default();
    // An answer to the same arguments does not count when the tool would do something else with them.
    let call_digest = Digester::default()
        .text(&args_digest)
        .text(&format!("{:?}", call.caller))
        .text(workspace.as_deref().unwrap_or_default())
        .text(&reason)
        .text(&effect)
        .text(diff.as_deref().unwrap_or_default())
        .json(own.basis.as_ref().unwrap_or(&Value::Null))
        .finish();
    let (offers, no_grant) = if own.every_time {
        let why = "this tool asks every time";
        (Vec::new(), Some(why.to_owned()))
    } else {
        match offers(&subject_of(
            call.inner,
            entry,
            args,
            &call.caller,
            call.session(),
            &call.root,
        )) {
            Ok(offers) => (offers, None),
            Err(why) => (Vec::new(), Some(way_out(entry, why))),
        }
    };
    let mut question = ApprovalRequest {
        id: CallId::generate().to_string(),
        step_id: call
            .path(&spec.name)
            .unwrap_or_else(|| spec.name.to_string()),
        call_id: call.id.clone(),
        tool: spec.name.to_string(),
        called_by: call.called_by.clone(),
        args: shown(entry, args),
        effect,
        diff,
        bound: bound.files.clone(),
        expires_at: None,
        args_digest,
        bundle: spec.bundle.to_string(),
        slug: spec.slug.to_string(),
        version: spec.version.to_string(),
        tool_digest: entry.digest().to_owned(),
        caller: call.caller.clone(),
        workspace,
        created_at: Timestamp::now(),
        call_digest,
        offers,
        no_grant,
        wait: call.approval_wait,
        announce: announcement(call, reason.clone()),
        reason,
    };
    mask_question(&call.inner.policy.masker(), &mut question);
    question
}

/// The longest text of an argument that is shown whole; the digest is of the whole.
const MAX_SHOWN: usize = 64 * 1024;

/// The arguments as a person sees them: secrets masked, texts that no one reads to their end shortened.
fn shown(entry: &Entry, args: &JsonObject) -> JsonObject {
    let spec = entry.spec();
    let mut shown = spec.input_schema.masked(args, &spec.synonyms);
    for value in shown.values_mut() {
        shorten_value(value, &mut shorten);
    }
    shown
}

/// Keeps head and tail. The mark between them is made from the text: a call that joins another's question finds the same mark.
fn shorten(text: &mut String) -> bool {
    if text.len() <= MAX_SHOWN {
        return false;
    }
    let head = text.floor_char_boundary(MAX_SHOWN / 2);
    let tail = text.ceil_char_boundary(text.len() - MAX_SHOWN / 2);
    let digest = Digester::default().text(text).finish();
    let mark = format!("{MARK}{}: {} bytes left out]\n", &digest[..16], tail - head);
    *text = format!("{}{mark}{}", &text[..head], &text[tail..]);
    true
}

const MARK: &str = "\n[toolcrib ";

/// The mark in a text that was shortened.
fn mark_of(text: &str) -> Option<&str> {
    let (at, _) = text
        .match_indices(MARK)
        .find(|(at, _)| at + 4 >= MAX_SHOWN / 2)?;
    text[at..].lines().nth(1)
}

/// Refuses an edit within a text that was shown shortened: no one could tell what its middle is to be.
pub(super) fn check_whole(edited: &JsonObject, shown: &JsonObject) -> Result<(), ToolError> {
    let touched = edited.iter().find(|(name, value)| {
        let before = shown.get(*name).and_then(Value::as_str);
        let (Some(before), Some(now)) = (before, value.as_str()) else {
            return false;
        };
        before != now && mark_of(before).is_some_and(|mark| now.contains(mark))
    });
    match touched {
        None => Ok(()),
        Some((name, _)) => Err(ToolError::new(
            ErrorCode::InvalidArguments,
            format!(
                "`/{name}` was shown shortened and cannot be edited in part; give it whole, or leave it as it is"
            ),
        )),
    }
}

/// A call as grants see it.
pub(crate) fn subject_of<'a>(
    inner: &'a Inner,
    entry: &'a Entry,
    args: &'a JsonObject,
    caller: &'a Caller,
    session: &'a str,
    root: &'a CallId,
) -> Subject<'a> {
    Subject {
        spec: entry.spec(),
        tool_digest: entry.digest(),
        args,
        caller,
        workspace: inner.policy.workspace.as_deref().map(Workspace::root),
        session,
        call: root,
        bound: &[],
    }
}

/// Reports to watchers of the call where its question is pending.
fn announcement(call: &Call<'_>, reason: String) -> Announce {
    if !call.approver().announces() {
        return Announce::default();
    }
    let events = Arc::clone(&call.events);
    Announce::to(move |id| {
        events.push(EventKind::Approval {
            status: "pending".to_owned(),
            reason: Some(reason.clone()),
            id: Some(id.to_owned()),
        });
    })
}

/// For tools that did not say along with their approval what they would do.
pub(super) fn effect_in_words(
    entry: &Entry,
    args: &JsonObject,
    own: Option<Box<Effect>>,
) -> String {
    // The tool's own code: where it panics, our words must do.
    let own = std::panic::catch_unwind(AssertUnwindSafe(|| own.map(|own| own(args))));
    if let Ok(Some(own)) = own {
        return own;
    }
    let spec = entry.spec();
    let masked = Value::Object(spec.input_schema.masked(args, &spec.synonyms)).to_string();
    format!("run `{}` with {}", spec.name, text::shorten(&masked, 400))
}

/// The answering person sees masked secrets and shortened texts; what comes back as it was shown stands for the original.
pub(super) fn unmasked(
    edited: JsonObject,
    shown: &JsonObject,
    original: &JsonObject,
) -> JsonObject {
    let restore = |(name, value): (String, Value)| {
        let value = match (shown.get(&name), original.get(&name)) {
            (Some(shown), Some(original)) => restored(value, shown, original),
            _ => value,
        };
        (name, value)
    };
    edited.into_iter().map(restore).collect()
}

fn restored(edited: Value, shown: &Value, original: &Value) -> Value {
    match (edited, shown, original) {
        (Value::String(edited), Value::String(shown), original) if edited == *shown => {
            original.clone()
        }
        (Value::Object(edited), Value::Object(shown), Value::Object(original)) => {
            Value::Object(unmasked(edited, shown, original))
        }
        // Items have no names; only in a list of the same length is it clear which one is meant.
        (Value::Array(edited), Value::Array(shown), Value::Array(original))
            if edited.len() == shown.len() && shown.len() == original.len() =>
        {
            let items = edited.into_iter().zip(shown.iter().zip(original));
            items
                .map(|(edited, (shown, original))| restored(edited, shown, original))
                .collect()
        }
        (edited, _, _) => edited,
    }
}

/// Why calls of a tool cannot be granted, with what its owner can do about it.
pub(super) fn way_out(entry: &Entry, why: &str) -> String {
    let spec = entry.spec();
    match entry.source() == Source::Upstream {
        true => format!(
            "{why}; `toolcrib upstream allow {} TOOL` lets a tool of this server run without asking",
            spec.bundle
        ),
        false => why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> JsonObject {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_mask_means_the_secret_only_where_one_was_shown() {
        let original = object(json!({
            "key": "hunter2", "note": "a", "deep": {"key": "s", "n": 1}, "list": [{"key": "t"}]
        }));
        let shown = object(json!({
            "key": "***", "note": "a", "deep": {"key": "***", "n": 1}, "list": [{"key": "***"}]
        }));
        let edited = object(json!({
            "key": "***", "note": "***", "deep": {"key": "***", "n": 2}, "list": [{"key": "***"}], "new": "***"
        }));
        assert_eq!(
            unmasked(edited, &shown, &original),
            object(json!({
                "key": "hunter2", "note": "***", "deep": {"key": "s", "n": 2}, "list": [{"key": "t"}], "new": "***"
            }))
        );
    }
}
