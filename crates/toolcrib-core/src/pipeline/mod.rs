//! How one call goes: the only code that runs a tool.
//!
//! ```text
//! find → check → clear → admit → finish
//! lookup, enabled?  validate, rules  approval  limits  execute, output
//! ```
//!
//! Each stage consumes what the one before made and is its only maker, so that the order is a fact
//! of types: there is no way to execute what was not admitted, nor to admit what was not cleared.
//! Recording sits around all of it, so that no early return, panic or dropped future can skip it.
//!
//! A call can go back: edited arguments to `check`, a call whose approval was used by an identical one, or whose script changed,
//! to `clear`. Before the stages, an id that the caller chose is claimed ([`replay`](crate::record::replay)).
//!
//! A nested call enters at the top, is approved by itself and ends with its parent. It never waits for a place: parents and
//! children would wait for each other. Parents and the depth bound how many there can be.

mod admit;
mod bind;
mod check;
mod clear;
mod elsewhere;
mod find;
mod finish;
mod many_files;
mod masking;
mod named_files;
mod plan;
mod question;
mod search_path;
mod trace;

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

pub(crate) use bind::Bound;
pub(crate) use check::look;
pub use check::touched;
pub use elsewhere::{ElsewhereCall, ElsewhereEnd, Ruling};
pub(crate) use elsewhere::{judge_elsewhere, over_elsewhere};
pub use masking::mask_answer;
pub use plan::Plan;
pub(crate) use plan::{check_answer, offers_for, plan};
pub(crate) use question::subject_of;

use crate::approval::Approver;
use crate::call::context::Endings;
use crate::call::elicit::Asks;
use crate::call::event::EventLog;
use crate::call::live::Live;
use crate::call::request::{CallRequest, Typed};
use crate::call::waiting_time::Waits;
use crate::catalogue::{Counted, Inner};
use crate::model::caller::Caller;
use crate::model::digest::Digester;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::ids::CallId;
use crate::model::names::WireName;
use crate::model::outcome::{Outcome, ToolOutput};
use crate::model::text;
use crate::poll::{caught, unless};
use crate::record::replay::{Claim, Claimant};
use admit::Admission;
use clear::Clearance;
use trace::Trace;

/// How long a call waits for another with its id, if it does not say.
const MAX_PATIENCE: Duration = Duration::from_secs(7 * 24 * 3600);

/// How often a call asks when other calls use up the approvals meant for it. A real person never reaches this limit; it stops an
/// approver that approves everything and claims nothing.
const MAX_ASKED: u32 = 1000;

/// What a call has from its first moment.
pub(crate) struct Begun {
    pub(crate) id: CallId,
    pub(crate) events: Arc<EventLog>,
    /// The tool that is asked for, fit to be shown.
    asked_for: Arc<str>,
    /// When it arrived, by both clocks.
    at: Timestamp,
    started: Instant,
    /// The approver of this call and the calls inside it, if not the registry's.
    approver: Option<Arc<dyn Approver>>,
    /// Shows whether all calls were cancelled since.
    era: u64,
}

impl Begun {
    pub(crate) fn of(inner: &Inner, request: &CallRequest) -> Self {
        let id = request.call_id.clone().unwrap_or_else(CallId::generate);
        let at = Timestamp::now();
        // No one has vouched for this text yet.
        let asked_for: Arc<str> = text::shortened(&request.tool, 128).into();
        let around = request.nested_in.as_ref();
        let live = match around.and_then(|nested| nested.live.clone()) {
            Some(around) => around,
            None => Arc::new(Live::new(
                id.clone(),
                Arc::clone(&asked_for),
                request.caller.clone(),
                at,
                Arc::clone(inner.running.hooks()),
            )),
        };
        let events = EventLog::new(id.clone())
            .watched_by(request.watch.clone())
            .live_in(live)
            .without_secrets(inner.policy.secrets.clone());
        Begun {
            id,
            events: Arc::new(events),
            asked_for,
            at,
            started: Instant::now(),
            approver: request.approver.clone(),
            era: inner.running.era(),
        }
    }
}

/// What the stages share about the call they work on.
struct Call<'a> {
    inner: &'a Arc<Inner>,
    id: CallId,
    events: Arc<EventLog>,
    cancel: CancellationToken,
    depth: u8,
    caller: Caller,
    /// The approver, if not the registry's.
    approver: Option<Arc<dyn Approver>>,
    /// Which session it belongs to, if not the registry's.
    session: Option<String>,
    /// The outermost call: this one, or the one it is nested in.
    root: CallId,
    /// The tool that makes it, the steps that lead to that one's call, and its step that makes this call.
    called_by: Option<String>,
    path_around: Option<String>,
    step: Option<String>,
    /// How long the caller would wait for a person.
    approval_wait: Option<Duration>,
    /// What a person types.
    typed: Option<Typed>,
    /// Asks the person behind the call.
    elicitor: Option<Asks>,
    /// What the whole tree of calls has yet to clean up; of an outermost call its context makes it.
    cleanups: Option<Arc<Endings>>,
    /// How long people were waited for by the calls around this one, and by others in them.
    waits: Option<Arc<Waits>>,
}

impl<'a> Call<'a> {
    fn of(
        inner: &'a Arc<Inner>,
        request: &CallRequest,
        begun: &Begun,
        cancel: CancellationToken,
    ) -> Self {
        let nested = request.nested_in.as_ref();
        Call {
            inner,
            id: begun.id.clone(),
            events: Arc::clone(&begun.events),
            cancel,
            depth: nested.map_or(0, |nested| nested.depth),
            caller: request.caller.clone(),
            approver: begun.approver.clone(),
            session: request.session.clone(),
            root: nested.map_or_else(|| begun.id.clone(), |nested| nested.root.clone()),
            called_by: nested.map(|nested| nested.tool.clone()),
            path_around: nested.and_then(|nested| nested.path.clone()),
            step: request.step.clone(),
            approval_wait: request.approval_wait,
            typed: request.typed.clone(),
            elicitor: request.elicitor.clone(),
            cleanups: nested.map(|nested| Arc::clone(&nested.cleanups)),
            waits: nested.map(|nested| Arc::clone(&nested.waits)),
        }
    }

    /// The steps that lead to it, joined by `/`; `None` for a call that no tool makes.
    fn path(&self, tool: &WireName) -> Option<String> {
        self.called_by.as_ref()?;
        let step = self.step.as_deref().unwrap_or(tool.as_str());
        Some(match &self.path_around {
            Some(around) => format!("{around}/{step}"),
            None => step.to_owned(),
        })
    }

    /// Its approver.
    fn approver(&self) -> &Arc<dyn Approver> {
        self.approver
            .as_ref()
            .unwrap_or(&self.inner.policy.approver)
    }

    /// Which session it belongs to, for grants.
    fn session(&self) -> &str {
        self.session
            .as_deref()
            .unwrap_or(&self.inner.policy.session)
    }
}

/// Runs a call.
pub(crate) async fn run(inner: &Arc<Inner>, request: CallRequest) -> Outcome {
    let begun = Begun::of(inner, &request);
    let _counted = begun.events.outermost().map(|_| Counted::one(inner));
    run_begun(inner, request, begun).await
}

pub(crate) async fn run_begun(
    inner: &Arc<Inner>,
    mut request: CallRequest,
    begun: Begun,
) -> Outcome {
    if let Some(observer) = request.observer.take() {
        observer.begun(begun.events.read_after(0));
    }
    // Our own token below the caller's: what ends this call must not end its neighbours.
    let cancel = request
        .cancel
        .take()
        .map_or_else(CancellationToken::new, |token| token.child_token());
    // Replay is for ids the caller chose: a generated one cannot come twice.
    match request.call_id.clone() {
        None => run_once(inner, request, begun, cancel).await.0,
        Some(given) => Box::pin(run_given(inner, given, request, begun, cancel)).await,
    }
}

/// Runs a call by the id that its caller gave, unless it ran already.
async fn run_given(
    inner: &Arc<Inner>,
    given: CallId,
    request: CallRequest,
    begun: Begun,
    cancel: CancellationToken,
) -> Outcome {
    // A call that runs by an id we made is no one's to repeat, let alone to take the id of.
    if inner.running.has(&given) && !inner.policy.replay.knows(&given) {
        let error = ToolError::new(
            ErrorCode::Conflict,
            format!("call `{given}` is another call, which runs; call with an id of your own"),
        );
        return refused(inner, request, begun, error);
    }
    let digest = Digester::default()
        // An id is its caller's own: what another one gets to know is that it is taken.
        .text(&request.caller.to_string())
        .text(&request.tool)
        .object(&request.args)
        .finish();
    let claimant = Claimant {
        digest,
        caller: request.caller.clone(),
        live: begun.events.outermost().cloned(),
    };
    let given_up = inner.running.given_up();
    // After that: who cancels all from now on is heard.
    if inner.running.era() != begun.era {
        cancel.cancel();
    }
    let claiming = inner.policy.replay.claim(&given, &claimant);
    // A caller that waits for a running call waits no longer than it said.
    let patience = request
        .limits
        .timeout_ms
        .map_or(MAX_PATIENCE, Duration::from_millis)
        .min(MAX_PATIENCE);
    let claiming = async {
        let late = || ToolError::new(ErrorCode::Timeout, "the call with this id is still running");
        tokio::time::timeout(patience, claiming)
            .await
            .unwrap_or_else(|_| Err(late()))
    };
    let claimed = unless(given_up, cancel.run_until_cancelled(claiming))
        .await
        .flatten();
    match claimed {
        Some(Ok(Claim::Fresh(claim))) => {
            let (outcome, ran) = run_once(inner, request, begun, cancel).await;
            // A refusal is not an answer to keep: the tool may be enabled, the rate limit pass. But
            // a person who said no is not asked again.
            let denied = outcome
                .error()
                .is_some_and(|error| error.code() == ErrorCode::ApprovalDenied);
            if ran || denied {
                claim.finish(&outcome).await;
            } else {
                claim.give_up();
            }
            outcome
        }
        Some(Ok(Claim::Stored(mut outcome))) => {
            mask_stored(inner, &mut outcome);
            begun.events.push(trace::finished(outcome.error()));
            *outcome
        }
        Some(Err(error)) => refused(inner, request, begun, error),
        None => {
            let error = ToolError::new(ErrorCode::Cancelled, "the call was cancelled");
            refused(inner, request, begun, error)
        }
    }
}

/// Takes secrets out of an outcome that was kept: one may have become known since.
pub(crate) fn mask_stored(inner: &Inner, outcome: &mut Outcome) {
    masking::mask_outcome(&inner.policy.masker(), outcome);
}

/// A call that ends before it begins: recorded like any, but under its own id, because its id
/// belongs to the call that has it.
fn refused(inner: &Arc<Inner>, request: CallRequest, begun: Begun, error: ToolError) -> Outcome {
    Trace::unlisted(inner, &request, &begun).finish(Err(error))
}

/// Runs a call; says too whether the tool itself was reached.
async fn run_once(
    inner: &Arc<Inner>,
    request: CallRequest,
    begun: Begun,
    cancel: CancellationToken,
) -> (Outcome, bool) {
    let mut trace = Trace::listed(inner, &request, &begun, cancel.clone());
    if inner.running.era() != begun.era {
        cancel.cancel();
    }
    let call = Call::of(inner, &request, &begun, cancel);
    // Tools' own panics are caught where they are called; this one is for ours, and for the
    // approver's and the rules'.
    let result = match caught(stages(&call, request, &mut trace)).await {
        Ok(result) => result,
        Err(panic) => {
            let message = format!("a bug in Toolcrib: {}", panic_text(&*panic));
            Err(ToolError::new(ErrorCode::Internal, message))
        }
    };
    let ran = trace.ran();
    (trace.finish(result), ran)
}

async fn stages(
    call: &Call<'_>,
    request: CallRequest,
    trace: &mut Trace<'_>,
) -> Result<ToolOutput, ToolError> {
    call.inner.policy.recorder.ready()?;
    let found = find::find(call, request, trace)?;
    let mut checked = check::check_aside(found, call, trace).await?;
    let mut changes = None;
    for _ in 0..MAX_ASKED {
        let judged = match clear::clear(checked, &mut changes, call, trace).await? {
            Clearance::Cleared(cleared) => match admit::admit(cleared, &mut changes, call).await? {
                Admission::Permitted(permitted) => {
                    return finish::finish(permitted, call, trace).await;
                }
                // What allowed this call was used by an identical one meanwhile, or is no longer what was allowed: ask again.
                Admission::TooLate(judged) => judged,
            },
            // A file that it runs changed while the question waited: ask again.
            Clearance::Changed(judged) => judged,
        };
        checked = judged.again(call.inner)?;
    }
    Err(ToolError::new(
        ErrorCode::ApprovalUnavailable,
        "every approval of this call was used by another one; call again",
    ))
}

/// The message of a panic.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
