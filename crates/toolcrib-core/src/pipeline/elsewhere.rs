//! Calls that another program makes with its own tools: judged by the same rules and grants, recorded, never run here.
//!
//! The program's tool is described as a call of ours that means the same: its `Bash` is `shell`, its `Read` is `read_file`. What our own
//! tool would ask about or refuse does not count, since it does not run: a path outside of the workspace, a missing sandbox. Nothing here
//! holds the call back, so *allow* is said only where a rule or a grant says so for every command of it; without one the answer is
//! nothing, and the program's own permissions apply.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::bind::Bound;
use super::question::{question, reasons, subject_of};
use super::trace::Trace;
use super::{Begun, Call, check, clear, panic_text};
use crate::approval::NoAnswer;
use crate::approval::grants::{Subject, parts};
use crate::call::request::CallRequest;
use crate::catalogue::{Entry, Inner};
use crate::model::JsonObject;
use crate::model::caller::Caller;
use crate::model::effects::{Approval, Verdict};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::ids::CallId;
use crate::model::outcome::{ApprovalTrail, ToolOutput};
use crate::poll::caught;
use crate::record::{CallRecord, HookAnswer, HookNote};
use crate::rules::{Finding, Judgement, RuleContext};
use crate::spec::Role;
use crate::tool::Look;
use crate::workspace::Workspace;

/// How often a question is put again whose files changed, or whose approval another call used.
const MAX_ASKED: usize = 3;

/// A call that another program is about to make with its own tool.
#[derive(Debug, Clone)]
pub struct ElsewhereCall {
    /// The tool here that means the same.
    pub tool: String,
    /// Its arguments.
    pub args: JsonObject,
    /// The caller.
    pub caller: Caller,
    /// Whose grants count besides the caller's: those of the person who started the program.
    pub grants_of: Option<Caller>,
    /// Its id.
    pub call_id: CallId,
    /// The program.
    pub client: String,
    /// What the program calls its tool.
    pub client_tool: String,
    /// What the call would do, in words.
    pub effect: String,
    /// How long a person may take to answer in the approvals queue; `None` where the program asks its person itself.
    pub ask_here: Option<Duration>,
}

/// The answer about such a call.
#[derive(Debug, Clone)]
pub enum Ruling {
    /// A rule, a grant or a person allows it.
    Allow {
        /// Which one.
        by: String,
        /// The arguments that the person gave instead.
        edited: Option<JsonObject>,
    },
    /// A person has to agree.
    Ask {
        /// Why.
        reason: String,
    },
    /// It must not be made.
    Deny(ToolError),
    /// Nothing here decides it.
    Nothing,
}

impl Ruling {
    /// The word for it in a record.
    pub fn answer(&self) -> HookAnswer {
        match self {
            Ruling::Allow { .. } => HookAnswer::Allow,
            Ruling::Ask { .. } => HookAnswer::Ask,
            Ruling::Deny(_) => HookAnswer::Deny,
            Ruling::Nothing => HookAnswer::None,
        }
    }
}

/// How such a call ended.
#[derive(Debug, Clone, Default)]
pub struct ElsewhereEnd {
    /// What went wrong, by the program's own words.
    pub error: Option<String>,
    /// How long the program says that its tool ran.
    pub took: Option<Duration>,
}

pub(crate) async fn judge_elsewhere(inner: &Arc<Inner>, given: ElsewhereCall) -> Ruling {
    let request = CallRequest::new(&given.tool)
        .caller(given.caller.clone())
        .call_id(given.call_id.clone());
    let request = match given.ask_here {
        Some(wait) => request.approval_wait(wait),
        None => request,
    };
    let begun = Begun::of(inner, &request);
    let cancel = CancellationToken::new();
    let mut trace = Trace::listed(inner, &request, &begun, cancel.clone());
    let call = Call::of(inner, &request, &begun, cancel);
    let ruling = match caught(decide(&given, &call, &mut trace)).await {
        Ok(Ok(ruling)) => ruling,
        Ok(Err(error)) => Ruling::Deny(error),
        Err(panic) => {
            let message = format!("a bug in Toolcrib: {}", panic_text(&*panic));
            Ruling::Deny(ToolError::new(ErrorCode::Internal, message))
        }
    };
    trace.hook(HookNote {
        client: given.client,
        tool: given.client_tool,
        answer: ruling.answer(),
        over: matches!(ruling, Ruling::Deny(_)),
    });
    let result = match &ruling {
        Ruling::Deny(error) => Err(error.clone()),
        Ruling::Allow { .. } | Ruling::Ask { .. } | Ruling::Nothing => {
            Ok(ToolOutput::value(Value::Null))
        }
    };
    let outcome = trace.finish(result);
    match (ruling, outcome.error()) {
        // With secrets taken out.
        (Ruling::Deny(_), Some(error)) => Ruling::Deny(error.clone()),
        (ruling, _) => ruling,
    }
}

pub(crate) fn over_elsewhere(inner: &Inner, mut record: CallRecord, end: ElsewhereEnd) {
    let now = Timestamp::now();
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    let whole = now.duration_since(record.start_time);
    let whole = Duration::try_from(whole).unwrap_or_default();
    record.duration_ms = milliseconds(whole);
    record.execution_time_ms = milliseconds(end.took.unwrap_or(whole).min(whole));
    record.queue_time_ms = record.duration_ms - record.execution_time_ms;
    record.end_time = now;
    record.reached = true;
    record.ok = end.error.is_none();
    record.code = end.error.as_ref().map(|_| ErrorCode::ExecutionError);
    record.message = end.error.map(|mut message| {
        inner.policy.masker().mask_text(&mut message);
        message
    });
    if let Some(note) = &mut record.hook {
        note.over = true;
    }
    inner.policy.record_hooks.tell(&record);
    inner.policy.recorder.note(&record);
}

async fn decide(
    given: &ElsewhereCall,
    call: &Call<'_>,
    trace: &mut Trace<'_>,
) -> Result<Ruling, ToolError> {
    let entry = call.inner.find(&given.tool)?;
    trace.found(&entry);
    let args = with_defaults(&entry, &given.args);
    let spec = entry.spec();
    trace.parameters(spec.input_schema.masked(&args, &spec.synonyms));
    let weighed = weigh(&entry, &args, given, call)?;
    if let Some(by) = weighed.allowed {
        if let Some(grant) = by.iter().find(|by| by.starts_with("grant ")) {
            trace.approval(ApprovalTrail {
                approved: true,
                by: grant.clone(),
                reason: reasons(&Approval::allow(), &weighed.judgement),
                answer: None,
                modified: false,
                changed: Vec::new(),
                grant: None,
            });
        }
        let by = by.into_iter().collect::<Vec<_>>().join(", ");
        return Ok(Ruling::Allow { by, edited: None });
    }
    match (weighed.judgement.verdict, given.ask_here) {
        (Verdict::Ask, None) => Ok(Ruling::Ask {
            reason: asked(&weighed.judgement),
        }),
        (Verdict::Ask, Some(_)) => {
            ask_here(&entry, args, &weighed.judgement, given, call, trace).await
        }
        (Verdict::Allow | Verdict::Deny, _) => Ok(Ruling::Nothing),
    }
}

/// The arguments with the defaults that calls of the tool have, so that a grant for those covers them.
fn with_defaults(entry: &Entry, args: &JsonObject) -> JsonObject {
    let mut args = args.clone();
    for (name, property) in entry.spec().input_schema.properties() {
        if let Some(default) = property.get("default")
            && !args.contains_key(name)
        {
            args.insert(name.to_owned(), default.clone());
        }
    }
    args
}

/// Why a person has to agree, each reason once.
fn asked(judgement: &Judgement) -> String {
    let asks = judgement.findings.iter();
    let asks = asks.filter(|finding| finding.verdict == Verdict::Ask);
    let words: BTreeSet<String> = asks.map(Finding::in_words).collect();
    words.into_iter().collect::<Vec<_>>().join("; ")
}

/// What rules and grants say about a call.
struct Weighed {
    judgement: Judgement,
    /// What allows it, if every part of it is allowed.
    allowed: Option<BTreeSet<String>>,
}

/// The error is that of a call that a rule denies.
fn weigh(
    entry: &Entry,
    args: &JsonObject,
    given: &ElsewhereCall,
    call: &Call<'_>,
) -> Result<Weighed, ToolError> {
    let judgement = judge(entry, args, call);
    if judgement.verdict == Verdict::Deny {
        return Err(check::blocked(entry, &judgement));
    }
    let callers: Vec<&Caller> = std::iter::once(&call.caller)
        .chain(&given.grants_of)
        .collect();
    let allowed = allowed(entry, args, &judgement, &callers, call)?;
    Ok(Weighed { judgement, allowed })
}

fn judge(entry: &Entry, args: &JsonObject, call: &Call<'_>) -> Judgement {
    let policy = &call.inner.policy;
    let workspace = policy.workspace.as_deref();
    let touched = check::touched(entry.spec(), args, &Look::allow(), workspace);
    let cx = RuleContext {
        workspace: workspace.map(Workspace::root),
        commands: &[],
        touched: &touched,
        follows_links: true,
    };
    policy.rules.judge(entry.spec(), args, &cx)
}

/// What allows every part of a call: for each a rule with the verdict `allow`, or a grant. What rules ask about the whole is answered only
/// if they ask it about a part that a grant covers.
fn allowed(
    entry: &Entry,
    args: &JsonObject,
    whole: &Judgement,
    callers: &[&Caller],
    call: &Call<'_>,
) -> Result<Option<BTreeSet<String>>, ToolError> {
    let Some(parts) = parts_of(entry, args) else {
        return Ok(None);
    };
    let (mut allowed, mut answered, mut grants) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for part in &parts {
        let judged = judge(entry, part, call);
        let rule = named(&judged, Verdict::Allow).next().map(str::to_owned);
        match (judged.verdict, rule) {
            (Verdict::Deny, _) => return Err(check::blocked(entry, &judged)),
            (Verdict::Allow, Some(rule)) => {
                allowed.insert(format!("rule {rule}"));
            }
            (Verdict::Ask, _) | (Verdict::Allow, None) => {
                let Some(grant) = covering(entry, part, callers, call)? else {
                    return Ok(None);
                };
                answered.extend(named(&judged, Verdict::Ask).map(str::to_owned));
                allowed.insert(format!("grant {grant}"));
                grants.insert(grant);
            }
        }
    }
    if named(whole, Verdict::Ask).any(|rule| !answered.contains(rule)) {
        return Ok(None);
    }
    for grant in grants {
        let store = call.inner.policy.grants.as_ref();
        let spent = store.map(|store| store.spend(&grant)).transpose()?;
        // Another call used it up.
        if spent != Some(true) {
            return Ok(None);
        }
    }
    Ok(Some(allowed))
}

/// The names of the rules with a verdict.
fn named(judgement: &Judgement, verdict: Verdict) -> impl Iterator<Item = &str> {
    let findings = judgement.findings.iter();
    let findings = findings.filter(move |finding| finding.verdict == verdict);
    findings.map(|finding| finding.rule.as_str())
}

/// The calls that a call with several commands amounts to; `None` where that cannot be said of its shell text.
fn parts_of(entry: &Entry, args: &JsonObject) -> Option<Vec<JsonObject>> {
    let mut roles = entry.spec().roles.iter();
    let shell = roles.find(|(_, role)| *role == Role::Shell);
    let Some((name, _)) = shell else {
        return Some(vec![args.clone()]);
    };
    let texts = parts(args.get(name)?.as_str()?)?;
    let parts = texts.into_iter().map(|text| {
        let mut part = args.clone();
        part.insert(name.clone(), text.into());
        part
    });
    Some(parts.collect())
}

/// The grant that covers a call.
fn covering(
    entry: &Entry,
    args: &JsonObject,
    callers: &[&Caller],
    call: &Call<'_>,
) -> Result<Option<String>, ToolError> {
    let Some(grants) = &call.inner.policy.grants else {
        return Ok(None);
    };
    // A grant counts for the files that it was made for.
    let Ok(bound) = Bound::look(entry, args, Vec::new(), call.inner) else {
        return Ok(None);
    };
    for caller in callers {
        let subject = Subject {
            bound: &bound.files,
            ..subject_of(call.inner, entry, args, caller, call.session(), &call.root)
        };
        if let Some(grant) = grants.covering(&subject)? {
            return Ok(Some(grant.id));
        }
    }
    Ok(None)
}

/// Asks a person in the approvals queue.
async fn ask_here(
    entry: &Arc<Entry>,
    args: JsonObject,
    judgement: &Judgement,
    given: &ElsewhereCall,
    call: &Call<'_>,
    trace: &mut Trace<'_>,
) -> Result<Ruling, ToolError> {
    let own = Approval::allow().with_effect(&given.effect);
    for _ in 0..MAX_ASKED {
        let bound = Bound::look(entry, &args, Vec::new(), call.inner)?;
        let request = question(entry, &args, &own, judgement, &bound, &None, call);
        let response = match clear::ask(request.clone(), call).await? {
            Ok(response) => response,
            Err(NoAnswer::Changed { .. } | NoAnswer::Taken) => continue,
            Err(none) => {
                let error = clear::unanswered(&none, entry, &request.reason);
                return Err(with_id(error, call));
            }
        };
        let id = response.hold.id().unwrap_or(&request.id).to_owned();
        let mut trail = ApprovalTrail {
            approved: response.approved,
            by: response.by.clone(),
            reason: request.reason.clone(),
            answer: response.reason.clone(),
            modified: response.modified_args.is_some(),
            changed: Vec::new(),
            grant: None,
        };
        trace.approval(trail.clone());
        if !response.approved {
            let said = response
                .reason
                .map_or(String::new(), |said| format!(": {said}"));
            let message = format!("`{}` was not approved{said}", given.client_tool);
            return Err(with_id(
                ToolError::new(ErrorCode::ApprovalDenied, message),
                call,
            ));
        }
        if let Some(edited) = &response.modified_args {
            // What a person chose is theirs; what rules deny is not theirs to lift.
            let judged = judge(entry, edited, call);
            if judged.verdict == Verdict::Deny {
                return Err(check::blocked(entry, &judged));
            }
        }
        match call.approver().claim(&id).await {
            Ok(()) => {}
            Err(NoAnswer::Taken) => continue,
            Err(none) => {
                let error = clear::unanswered(&none, entry, &request.reason);
                return Err(with_id(error, call));
            }
        }
        if let Some(wanted) = response.grant {
            let (by, files) = (trail.by.clone(), bound.files.clone());
            let made =
                clear::make_grant(wanted, &request, &id, &by, entry, &args, files, call).await;
            trail.grant = Some(made.unwrap_or_else(|why| format!("not made: {why}")));
            trace.approval(trail.clone());
        }
        return Ok(Ruling::Allow {
            by: trail.by,
            edited: response.modified_args,
        });
    }
    let message =
        "the question about this call was answered for others again and again; call again";
    Err(ToolError::new(ErrorCode::ApprovalUnavailable, message))
}

/// The error with the id of the call, by which a person finds it.
fn with_id(error: ToolError, call: &Call<'_>) -> ToolError {
    let message = format!("{} (call {})", error.message(), call.id);
    let named = ToolError::new(error.code(), message);
    named.with_detail("callId", json!(call.id.as_str()))
}
