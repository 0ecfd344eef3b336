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

mod admit;
mod check;
mod clear;
mod find;
mod finish;
mod plan;
mod trace;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt as _;
use tokio_util::sync::CancellationToken;

pub use plan::Plan;
pub(crate) use plan::plan;

use crate::model::call::CallRequest;
use crate::model::digest::Digester;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::event::EventLog;
use crate::model::ids::CallId;
use crate::model::outcome::{Outcome, ToolOutput};
use crate::record::replay::Claim;
use crate::registry::Inner;
use trace::Trace;

/// What a call has from its first moment.
pub(crate) struct Begun {
    pub(crate) id: CallId,
    pub(crate) events: Arc<EventLog>,
}

/// What the stages share about the call they work on.
struct Call<'a> {
    inner: &'a Arc<Inner>,
    id: CallId,
    events: Arc<EventLog>,
    cancel: CancellationToken,
    depth: u8,
}

pub(crate) async fn run(inner: &Arc<Inner>, request: CallRequest) -> Outcome {
    let id = request.call_id.clone().unwrap_or_else(CallId::generate);
    let events = Arc::new(EventLog::new(id.clone()));
    run_begun(inner, request, Begun { id, events }).await
}

pub(crate) async fn run_begun(inner: &Arc<Inner>, request: CallRequest, begun: Begun) -> Outcome {
    // Replay is for ids the caller chose: a generated one cannot come twice.
    let CallId::Given(given) = &begun.id else {
        return run_once(inner, request, begun).await;
    };
    let digest = Digester::default()
        .text(&request.tool)
        .object(&request.args)
        .finish();
    let claim = match &request.cancel {
        Some(cancel) => {
            cancel
                .run_until_cancelled(inner.policy.replay.claim(given, &digest))
                .await
        }
        None => Some(inner.policy.replay.claim(given, &digest).await),
    };
    match claim {
        Some(Ok(Claim::Fresh(claim))) => {
            let outcome = run_once(inner, request, begun).await;
            claim.finish(&outcome);
            outcome
        }
        Some(Ok(Claim::Stored(outcome))) => *outcome,
        Some(Err(error)) => refused(inner, request, begun, error),
        None => refused(
            inner,
            request,
            begun,
            ToolError::new(ErrorCode::Cancelled, "the call was cancelled"),
        ),
    }
}

/// A call that ends before it begins; recorded like any.
fn refused(inner: &Arc<Inner>, request: CallRequest, begun: Begun, error: ToolError) -> Outcome {
    Trace::start(inner, &request, &begun, CancellationToken::new()).finish(Err(error))
}

async fn run_once(inner: &Arc<Inner>, mut request: CallRequest, begun: Begun) -> Outcome {
    let cancel = request.cancel.take().unwrap_or_default();
    let mut trace = Trace::start(inner, &request, &begun, cancel.clone());
    let depth = request.nested_in.as_ref().map_or(0, |nested| nested.depth);
    let call = Call {
        inner,
        id: begun.id,
        events: begun.events,
        cancel,
        depth,
    };
    // Tools' own panics are caught where they are called; this one is for ours.
    let result = match AssertUnwindSafe(stages(&call, request, &mut trace))
        .catch_unwind()
        .await
    {
        Ok(result) => result,
        Err(panic) => Err(ToolError::new(
            ErrorCode::Internal,
            format!("a bug in Toolcrib: {}", panic_text(&*panic)),
        )),
    };
    trace.finish(result)
}

async fn stages(
    call: &Call<'_>,
    request: CallRequest,
    trace: &mut Trace<'_>,
) -> Result<ToolOutput, ToolError> {
    let limits = request.limits;
    let found = find::find(call, request, trace)?;
    let checked = check::check(found, call, trace)?;
    let cleared = clear::clear(checked, call, trace).await?;
    let permitted = admit::admit(cleared, call, &limits).await?;
    trace.execution_starts(Instant::now());
    finish::finish(permitted, call, trace).await
}

/// The message of a panic.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}
