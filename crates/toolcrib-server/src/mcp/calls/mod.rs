//! One call of a tool: through the pipeline, with progress, cancellation and questions.
//!
//! Every call is the registry's, and so is every decision; what is here carries questions to people and outcomes to clients. A call is
//! polled where its request is, without its own task, unless it has to wait for a person longer than its client would:
//!
//! - Up to 2025-11-25 a client that offers it is asked by `elicitation/create` while its request waits (`follow`).
//! - Since 2026-07-28 such a client gets the question as its answer, with a sealed state (`seal`), and answers by asking again (`retry`).
//!   The call waits in the background meanwhile (`pending`).
//! - Every other client waits for a while and then learns what the call waits for.
//!
//! A client that dismisses a question has not answered it: programs without a person do so at once. Its request ends with what is waited for,
//! and it is not asked this again.
//!
//! The question is in the approval queue all the time, where anybody else may be faster: the first answer wins, and what comes from a client
//! is one answer among others.

mod client_approver;
mod follow;
mod form;
mod given_out;
mod pending;
mod progress;
pub(super) mod result;
mod retry;
mod seal;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::OnceCell;
use tokio::time::Instant;
use toolcrib::approval::Approver;
use toolcrib::config::McpSettings;
use toolcrib::limits::aside;
use toolcrib::model::{JsonObject, digest};
use toolcrib::{CallRequest, Caller, Crib, Registry};
use toolcrib_mcp::protocol::Input;
use toolcrib_mcp::rpc::{RpcError, code};
use toolcrib_mcp::server::{Context, Reply};

use self::client_approver::{Asking, Question};
use self::follow::{AskBy, Follower, Step};
use self::given_out::GivenOut;
use self::pending::{Asker, Detached, Own, Pending};
use self::retry::Answered;
use self::seal::Seal;
use super::CribHost;
use crate::observe::CallNote;
use crate::routes::calls::CallSlot;

/// How long the end of cancelled calls is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// What the calls of one host share.
pub(super) struct Calls {
    settings: McpSettings,
    pending: Arc<Pending>,
    seal: OnceCell<Seal>,
    given_out: GivenOut,
}

impl Calls {
    pub(super) fn of(crib: &Crib) -> Self {
        Calls {
            settings: crib.config().mcp(),
            pending: Arc::default(),
            seal: OnceCell::new(),
            given_out: GivenOut::default(),
        }
    }

    /// What seals states, with the home's key.
    async fn seal(&self, crib: &Arc<Crib>) -> Result<&Seal, RpcError> {
        let crib = Arc::clone(crib);
        let made = self.seal.get_or_try_init(|| async move {
            let made = tokio::task::spawn_blocking(move || Seal::of_home(crib.home())).await;
            made.map_err(|error| error.to_string())?
                .map_err(|error| error.to_string())
        });
        made.await.map_err(|error| {
            let message = format!("no one can be asked through the client: {error}");
            RpcError::new(code::INTERNAL_ERROR, message)
        })
    }
}

/// A request for a call, as it came.
struct Wanted {
    name: String,
    arguments: Option<Box<RawValue>>,
}

impl Wanted {
    /// The arguments: an object, in which nothing is there twice.
    fn args(&self) -> Result<JsonObject, RpcError> {
        let Some(arguments) = &self.arguments else {
            return Ok(JsonObject::new());
        };
        match crate::api::read_strict(arguments.get().as_bytes()) {
            Ok(Value::Object(args)) => Ok(args),
            Ok(_) => Err(RpcError::invalid_params(
                "`arguments` is not a JSON object; leave it out if there are none",
            )),
            Err(error) => Err(RpcError::invalid_params(format!(
                "`arguments` is not as it should be: {error}"
            ))),
        }
    }

    /// Which requests are the same as this one.
    fn digest(&self, host: &CribHost, context: &Context) -> Result<String, RpcError> {
        let entry = host.crib.registry().find(&self.name);
        let tool = entry
            .as_ref()
            .map_or(self.name.as_str(), |entry| entry.digest());
        Ok(digest::of_call(&context.principal, tool, &self.args()?))
    }
}

/// How a request for a call came.
pub(super) struct Arrival {
    /// When: what is waited for is waited for from then on.
    pub(super) at: Instant,
    /// Where its call is noted, for the access log and traces.
    pub(super) note: CallNote,
    /// The place of its call among those that run at once, where these are counted. The call has it until it is over.
    pub(super) seat: Option<Seat>,
}

impl Arrival {
    /// Now, and no one counts.
    pub(super) fn now() -> Self {
        Arrival {
            at: Instant::now(),
            note: CallNote::default(),
            seat: None,
        }
    }
}

/// A place, and who is asked while others may have it.
pub(super) struct Seat {
    pub(super) place: Arc<CallSlot>,
    pub(super) asked: Arc<dyn Approver>,
}

/// Answers `tools/call`.
pub(super) async fn call(
    host: Arc<CribHost>,
    name: String,
    arguments: Option<Box<RawValue>>,
    input: Option<Input>,
    context: Context,
    mut arrival: Arrival,
) -> Result<Reply, RpcError> {
    let caller: Caller = context.principal.parse().map_err(|error: String| {
        RpcError::new(
            code::INTERNAL_ERROR,
            format!("no caller has this name: {error}"),
        )
    })?;
    let wanted = Wanted { name, arguments };
    let bytes = wanted
        .arguments
        .as_ref()
        .map_or(0, |given| given.get().len());
    let reading = aside(&caller, bytes, move || {
        let args = wanted.args();
        (wanted, args)
    });
    let (wanted, args) = reading
        .await
        .map_err(|error| RpcError::new(code::INTERNAL_ERROR, error.message()))?;
    let args = args?;
    // No one pays for this but those who were asked something, or were left waiting.
    if input.is_some() || !host.calls.pending.is_empty() {
        let before = Box::pin(before(&host, &wanted, input, &context, &mut arrival));
        if let Some(reply) = before.await? {
            return Ok(reply);
        }
    }
    let mut request = CallRequest::new(wanted.name.clone())
        .args(args)
        .caller(caller);
    let registry = host.crib.registry().clone();
    let (place, asked) = match arrival.seat.take() {
        Some(seat) => (Some(seat.place), seat.asked),
        None => (None, Arc::clone(registry.approver())),
    };
    let asking = Arc::new(Asking::new(asked, host.crib.approvals().clone()));
    if AskBy::of(&host, &context) != AskBy::Nobody {
        request = request.elicitor(Arc::clone(&asking) as _);
    }
    let mut own = begin(registry, request, &asking, place, arrival.note);
    let follower = Follower {
        host: &host,
        asking: &asking,
        context: &context,
        answered: &[],
        arrived: arrival.at,
        is_alone: true,
    };
    match follower.follow(&mut own).await {
        Step::Done(outcome) => result::reply(&host, Arc::new(outcome), &context).await,
        Step::Ask(questions) => {
            let call = leave(&host, own, &wanted, &context)?;
            let before = Answered::default();
            Box::pin(retry::ask(&host, &call, &questions, &before, context.era)).await
        }
        Step::Waits(questions) => {
            let call = leave(&host, own, &wanted, &context)?;
            Ok(result::waiting(&call, &questions))
        }
        Step::TakenBack => result::taken_back(),
    }
}

/// The answer to a request that equals an existing call: it brings an answer to the call's question, or wants its outcome.
/// `None` if there is none, so that a new one is made.
async fn before(
    host: &CribHost,
    wanted: &Wanted,
    input: Option<Input>,
    context: &Context,
    arrival: &mut Arrival,
) -> Result<Option<Reply>, RpcError> {
    let request = wanted.digest(host, context)?;
    let answered = match input {
        Some(input) => retry::answer(host, &request, input, &context.principal).await?,
        None => Answered::default(),
    };
    let call = match &answered.call {
        Some(id) => host.calls.pending.call(id),
        None => host.calls.pending.of(&request),
    };
    match (call, &answered.elsewhere) {
        (Some(call), _) => {
            for id in &answered.dismissed {
                call.asking.dismiss(id);
            }
            arrival.note.about(call.id());
            // It has its own.
            arrival.seat = None;
            let attached = attached(host, &call, context, answered, arrival.at);
            attached.await.map(Some)
        }
        (None, Some(elsewhere)) => Ok(Some(result::elsewhere(elsewhere))),
        (None, None) if answered.is_spent => Err(retry::used()),
        (None, None) => Ok(None),
    }
}

fn begin(
    registry: Registry,
    request: CallRequest,
    asking: &Arc<Asking>,
    place: Option<Arc<CallSlot>>,
    note: CallNote,
) -> Own {
    let (by, told) = (Arc::clone(asking), Arc::clone(asking));
    let request = request.approver(by).observer(move |events| {
        note.call(events.call_id());
        told.begun(events);
    });
    let running = registry.clone();
    let call = async move {
        let outcome = running.execute(request).await;
        drop(place);
        outcome
    };
    let asker = Asker {
        registry,
        asking: Arc::clone(asking),
    };
    Own::new(Box::pin(call), asker)
}

/// Lets a call go on in the background.
fn leave(
    host: &CribHost,
    own: Own,
    wanted: &Wanted,
    context: &Context,
) -> Result<Arc<Detached>, RpcError> {
    let request = wanted.digest(host, context)?;
    let left = host.calls.pending.detach(own, request);
    left.ok_or_else(|| RpcError::new(code::INTERNAL_ERROR, "the call is gone: a bug in Toolcrib"))
}

/// Goes on with a call that was left in the background.
async fn attached(
    host: &CribHost,
    call: &Arc<Detached>,
    context: &Context,
    answered: Answered,
    arrived: Instant,
) -> Result<Reply, RpcError> {
    let mut attached = call.attach();
    // The client just dismissed it, so the answer can only come from elsewhere.
    if !answered.dismissed.is_empty() {
        let open = call.asking.open();
        let open: Vec<_> = open
            .iter()
            .filter_map(Question::approval)
            .cloned()
            .collect();
        if !open.is_empty() {
            return Ok(result::waiting(&attached.leave(), &open));
        }
    }
    let follower = Follower {
        host,
        asking: &call.asking,
        context,
        answered: &answered.ids,
        arrived,
        is_alone: false,
    };
    match follower.follow(&mut attached).await {
        Step::Done(outcome) => {
            host.calls.pending.forget(call);
            match outcome {
                Some(outcome) => result::reply(host, outcome, context).await,
                None => Err(RpcError::new(
                    code::INTERNAL_ERROR,
                    "the call ended without an outcome: a bug in Toolcrib",
                )),
            }
        }
        Step::Ask(questions) => {
            let call = attached.leave();
            retry::ask(host, &call, &questions, &answered, context.era).await
        }
        Step::Waits(questions) => Ok(result::waiting(&attached.leave(), &questions)),
        Step::TakenBack => result::taken_back(),
    }
}

impl CribHost {
    /// Ends what still runs, waits a moment for it, and sees to it that every finished call is on the disk. For when the client is gone.
    pub async fn finish(&self) {
        let registry = self.crib.registry().clone();
        registry.cancel_all();
        let _ = tokio::time::timeout(PATIENCE, registry.idle()).await;
        let _ = tokio::task::spawn_blocking(move || registry.flush()).await;
    }
}
