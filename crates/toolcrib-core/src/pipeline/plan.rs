//! What a call would do, without doing it.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::bind::Bound;
use super::masking::{NO_GRANT, check_masks, mask_option};
use super::question::{subject_of, way_out};
use super::trace::Trace;
use super::{Begun, Call, check, clear, find, question};
use crate::approval::grants::{self, GrantRefusal, Offer, Subject, offers, place};
use crate::approval::{ApprovalRequest, ApprovalResponse};
use crate::call::request::CallRequest;
use crate::catalogue::{Entry, Inner};
use crate::model::JsonObject;
use crate::model::effects::{Effects, Verdict};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::as_millis;
use crate::model::mask::{Masker, REDACTED};
use crate::model::secret::MASK;
use crate::schema::Rejected;
use crate::spec::{Role, ToolSpec};
use crate::workspace::Workspace;

/// What a call would do: the answer to a dry run. Made by the same stages that a call goes through,
/// up to the point where a person would be asked.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The tool's wire name.
    pub tool: String,
    /// Exactly which tool: `bundle/slug@version`.
    pub reference: String,
    /// The arguments it would get: spellings folded, defaults filled, secrets masked.
    pub parameters: JsonObject,
    /// What it may do to the world.
    pub effects: Effects,
    /// What it would do, in words.
    pub effect: String,
    /// Whether it would run at once or ask first.
    pub verdict: Verdict,
    /// The grant that lets it run without asking, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// Why it would ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What would change in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// How long it may run.
    pub timeout_ms: u64,
    /// How long each text of its output may be.
    pub max_output_bytes: u64,
}

pub(crate) fn plan(inner: &Arc<Inner>, request: CallRequest) -> Result<Plan, ToolError> {
    let masker = inner.policy.masker();
    let mut planned = plan_call(inner, request);
    match &mut planned {
        Ok(plan) => plan.mask(&masker),
        Err(error) => error.mask(&masker),
    }
    planned
}

impl Plan {
    /// Takes secrets out of everything it says.
    fn mask(&mut self, masker: &Masker) {
        masker.mask_object(&mut self.parameters);
        masker.mask_text(&mut self.effect);
        mask_option(masker, &mut self.reason);
        mask_option(masker, &mut self.diff);
    }
}

fn plan_call(inner: &Arc<Inner>, request: CallRequest) -> Result<Plan, ToolError> {
    let begun = Begun::of(inner, &request);
    let call = Call::of(inner, &request, &begun, CancellationToken::new());
    let mut trace = Trace::unlisted(inner, &request, &begun);
    // Nothing runs, so there is nothing to record.
    trace.forget();
    let found = find::find(&call, request, &mut trace)?;
    let (judged, mut look) = check::check(found, &call, &mut trace)?.into_parts();
    let (entry, args, limits, judgement) = judged.into_parts();
    let (commands, effect) = (std::mem::take(&mut look.commands), look.effect.take());
    let own = clear::ask_tool(&entry, &args, look, inner)?;
    let mut verdict = own.verdict.max(judgement.verdict);
    let mut grant = None;
    if let (Verdict::Ask, false, Some(grants)) = (verdict, own.every_time, &inner.policy.grants) {
        let bound = Bound::look(&entry, &args, commands, inner)?;
        let subject = Subject {
            bound: &bound.files,
            ..subject_of(
                inner,
                &entry,
                &args,
                &call.caller,
                call.session(),
                &call.root,
            )
        };
        grant = grants.covering(&subject)?.map(|grant| grant.id);
        if grant.is_some() {
            verdict = Verdict::Allow;
        }
    }
    let spec = entry.spec();
    Ok(Plan {
        tool: spec.name.to_string(),
        reference: spec.reference(),
        parameters: spec.input_schema.masked(&args, &spec.synonyms),
        effects: spec.effects,
        reason: (verdict == Verdict::Ask).then(|| question::reasons(&own, &judgement)),
        effect: own
            .effect
            .unwrap_or_else(|| question::effect_in_words(&entry, &args, effect)),
        diff: own.diff,
        verdict,
        grant,
        timeout_ms: as_millis(limits.timeout),
        max_output_bytes: limits.max_output_bytes,
    })
}

/// What could be granted along with a call, from narrow to wide; the error says why nothing can.
pub(crate) fn offers_for(
    inner: &Arc<Inner>,
    request: CallRequest,
) -> Result<Vec<Offer>, ToolError> {
    let masker = inner.policy.masker();
    offers_of_call(inner, request, &masker).map_err(|mut error| {
        error.mask(&masker);
        error
    })
}

fn offers_of_call(
    inner: &Arc<Inner>,
    request: CallRequest,
    masker: &Masker,
) -> Result<Vec<Offer>, ToolError> {
    let begun = Begun::of(inner, &request);
    let call = Call::of(inner, &request, &begun, CancellationToken::new());
    let mut trace = Trace::unlisted(inner, &request, &begun);
    trace.forget();
    let found = find::find(&call, request, &mut trace)?;
    let (judged, look) = check::check(found, &call, &mut trace)?.into_parts();
    let (entry, args, _, _) = judged.into_parts();
    let own = clear::ask_tool(&entry, &args, look, inner)?;
    let why = if own.every_time {
        "this tool asks every time"
    } else if has_secret(&args, masker) {
        NO_GRANT
    } else {
        match offers(&subject_of(
            inner,
            &entry,
            &args,
            &call.caller,
            call.session(),
            &call.root,
        )) {
            Ok(offers) => return Ok(offers),
            Err(why) => why,
        }
    };
    let why = way_out(&entry, why);
    let message = format!("`{}` cannot be granted: {why}", entry.spec().name);
    Err(ToolError::new(ErrorCode::InvalidArguments, message))
}

/// Checks an answer before it counts: see [`Registry::check_answer`](crate::Registry::check_answer).
pub(crate) fn check_answer(
    inner: &Arc<Inner>,
    asked: &ApprovalRequest,
    response: &ApprovalResponse,
) -> Result<(), ToolError> {
    let reference = format!("{}@{}", asked.tool, asked.version);
    let Ok(entry) = inner.find(&asked.tool).or_else(|_| inner.find(&reference)) else {
        return Ok(());
    };
    let workspace = inner.policy.workspace.as_deref().map(Workspace::root);
    if asked.workspace != workspace.map(place) {
        let message = "the question is about another workspace; edit it from there, or approve or deny it as it is";
        return Err(ToolError::new(ErrorCode::Conflict, message));
    }
    if entry.digest() != asked.tool_digest {
        let message = format!(
            "`{}` is another tool now than the one that was asked about; approve or deny it as it is",
            asked.tool
        );
        return Err(ToolError::new(ErrorCode::Conflict, message));
    }
    let request = CallRequest::new(&asked.tool).caller(asked.caller.clone());
    let begun = Begun::of(inner, &request);
    let call = Call::of(inner, &request, &begun, CancellationToken::new());
    let args = match &response.modified_args {
        Some(edited) => {
            question::check_whole(edited, &asked.args)?;
            check_masks(edited, &asked.args)?;
            check_edit(edited, asked, &entry, &call)?
        }
        None => asked.args.clone(),
    };
    match (&response.grant, &inner.policy.grants) {
        (None, _) => Ok(()),
        (Some(_), _) if asked.offers.is_empty() => Err(ToolError::new(
            ErrorCode::InvalidArguments,
            format!(
                "calls of `{}` ask every time; approve it without a grant",
                asked.tool
            ),
        )),
        (Some(_), None) => Ok(()),
        (Some(wanted), Some(_)) => {
            let shape = serde_json::to_value(&wanted.shape).unwrap_or_default();
            if call.inner.policy.masker().finds_in(&shape) {
                let message = format!("the grant cannot be made: {NO_GRANT}");
                return Err(ToolError::new(ErrorCode::InvalidArguments, message));
            }
            let root = &asked.call_id;
            let subject = subject_of(inner, &entry, &args, &asked.caller, call.session(), root);
            grants::check(wanted, &subject)?;
            if !wanted.shape.covers(&args, workspace) {
                return Err(GrantRefusal::NotThisCall.into());
            }
            Ok(())
        }
    }
}

/// Checks edited arguments by schema, rules and the tool itself. Masks that stayed where they were stand for secrets that are
/// not known here, and are not judged.
fn check_edit(
    edited: &JsonObject,
    asked: &ApprovalRequest,
    entry: &Entry,
    call: &Call<'_>,
) -> Result<JsonObject, ToolError> {
    let spec = entry.spec();
    check_secrets(entry, edited, &call.inner.policy.masker())?;
    let args = match spec
        .input_schema
        .check_arguments(edited.clone(), &spec.synonyms)
    {
        Ok(args) => args,
        Err(Rejected::Arguments { args, mut faults }) => {
            faults.retain(|fault| !is_masked(&fault.pointer, edited, &asked.args));
            if !faults.is_empty() {
                return Err(check::invalid(entry, &faults));
            }
            args
        }
        Err(Rejected::Schema(_)) => return Ok(edited.clone()),
    };
    // A mask is not a value that a tool could make something of.
    let args = if has_mask(&args) {
        args
    } else {
        check::refine(entry, args, true)?
    };
    let look = check::look(entry, &args, call.inner)?;
    check::judge(entry, &args, &look, call.inner)?;
    clear::ask_tool(entry, &args, look, call.inner)?;
    check_paths(spec, &args, call)?;
    Ok(args)
}

/// Refuses a secret that someone typed: answers are files, and secrets are in none.
fn check_secrets(entry: &Entry, edited: &JsonObject, masker: &Masker) -> Result<(), ToolError> {
    let spec = entry.spec();
    let mut masked = spec.input_schema.masked(edited, &spec.synonyms);
    for value in masked.values_mut() {
        masker.mask_value(value);
    }
    let typed = |(name, value): &(&String, &Value)| edited.get(*name) != Some(*value);
    match masked.iter().find(typed) {
        None => Ok(()),
        Some((name, _)) => {
            let message = format!(
                "is a secret, which an answer cannot hold; leave it as `{MASK}` or deny the call"
            );
            let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
            Err(check::invalid(entry, &[check::fault(&pointer, message)]))
        }
    }
}

/// Refuses paths that lead out of the workspace or may not be written. Tools refuse them, too, but only when they run.
fn check_paths(spec: &ToolSpec, args: &JsonObject, call: &Call<'_>) -> Result<(), ToolError> {
    let Some(workspace) = call.inner.policy.workspace.as_deref() else {
        return Ok(());
    };
    for (name, role) in &spec.roles {
        if let (Role::ReadPath | Role::WritePath | Role::Directory, Some(Value::String(text))) =
            (role, args.get(name))
        {
            let found = workspace.path(text).and_then(|path| {
                if *role == Role::WritePath {
                    // A protected name is one before there is anything of that name.
                    workspace.spot(&path, "write")?;
                }
                workspace.metadata(&path)
            });
            let is_final =
                |code| matches!(code, ErrorCode::InvalidPath | ErrorCode::PermissionDenied);
            if let Err(error) = found
                && is_final(error.code())
            {
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Whether arguments have a secret of the store in them.
fn has_secret(args: &JsonObject, masker: &Masker) -> bool {
    args.iter()
        .any(|(key, value)| masker.finds(key) || masker.finds_in(value))
}

fn has_mask(args: &JsonObject) -> bool {
    fn holds_mask(value: &Value) -> bool {
        match value {
            Value::String(text) => text == MASK || text.contains(REDACTED),
            Value::Array(items) => items.iter().any(holds_mask),
            Value::Object(fields) => fields.values().any(holds_mask),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
    args.values().any(holds_mask)
}

/// Whether a place holds a mask, and held it when the person saw it.
fn is_masked(pointer: &str, edited: &JsonObject, shown: &JsonObject) -> bool {
    let at = |object: &JsonObject| Value::Object(object.clone()).pointer(pointer).cloned();
    let (edited, shown) = (at(edited), at(shown));
    let holds = |value: Value| {
        value
            .as_str()
            .is_some_and(|text| text == MASK || text.contains(REDACTED))
    };
    edited == shown && edited.is_some_and(holds)
}
