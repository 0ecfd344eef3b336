//! Making a call for a request: whole, in the background, or as a stream of its events.
//!
//! A call that has begun goes on when its client goes, unless the client asked otherwise; one that still waits for a place is given up
//! with its client. It is answered only after its record is written: what was answered survives the death of the server.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::stream;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use toolcrib::wire::{ResultShape, TaggedOutcome, render};
use toolcrib::{CallId, Caller, ErrorCode, EventKind, EventReader, Outcome, ToolError};

use super::body::{self, Approvals, CallWish};
use super::detached_call::GoesOn;
use super::gate::CallSlot;
use super::lending::approver;
use super::state::look;
use super::waits;
use crate::api::{Answer, Api, ApiRequest, Body, Query, Refusal, json_response};
use crate::auth::Principal;
use crate::routes::events::call_as_it_comes;
use crate::routes::events::sse::{self, CallFrames, Next, Position};
use crate::routes::read_aside;

/// How long a call waits for a place, if it does not say less itself.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a call in the background is watched for being refused at once, before it is looked whether it is on disk.
const MOMENT: Duration = Duration::from_millis(500);

/// How long a call that is to be streamed is watched for being refused at once. What takes longer to begin is a stream, which says that
/// it is there while nothing happens.
const BEGUN_WITHIN: Duration = Duration::from_secs(1);

/// How often it is looked whether a call in the background is on disk, at least.
const LOOK: Duration = Duration::from_millis(50);

/// The message for a call whose task is gone.
const BUG: &str = "a bug in the server; it is in its log";

/// How a call is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallMode {
    /// With its outcome.
    Whole,
    /// With its id.
    Background,
    /// With its events, and its outcome as the last of them.
    Stream,
}

impl CallMode {
    fn of(headers: &HeaderMap) -> Self {
        if accepts_events(headers) {
            CallMode::Stream
        } else if prefers_async(headers) {
            CallMode::Background
        } else {
            CallMode::Whole
        }
    }
}

/// Whether `Accept` names event streams: `*/*` does not, it is what clients send that do not care.
fn accepts_events(headers: &HeaderMap) -> bool {
    words(headers, &header::ACCEPT).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let is_named = parts
            .next()
            .is_some_and(|media| media.eq_ignore_ascii_case("text/event-stream"));
        is_named && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

fn prefers_async(headers: &HeaderMap) -> bool {
    let prefer = header::HeaderName::from_static("prefer");
    words(headers, &prefer).any(|word| word.eq_ignore_ascii_case("respond-async"))
}

/// The comma-separated words of a header, which may stand there several times.
pub(super) fn words<'a>(
    headers: &'a HeaderMap,
    name: &header::HeaderName,
) -> impl Iterator<Item = &'a str> + use<'a> {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
}

/// The shape that a request wants outcomes in.
pub(crate) fn shape(query: &Query) -> Result<ResultShape, Refusal> {
    query
        .text("shape")
        .map_or(Ok(ResultShape::default()), |text| {
            text.parse()
                .map_err(|error: toolcrib::wire::UnknownChoice| Refusal::usage(error.to_string()))
        })
}

/// Makes the call that a request wants. `tool` is the one that the path names.
pub(crate) async fn make(api: Api, asked: ApiRequest, tool: Option<String>) -> Answer {
    let shape = shape(&asked.query)?;
    let (asked, wanted) = read_aside(asked, move |asked| body::read(asked, tool)).await?;
    match CallMode::of(&asked.headers) {
        CallMode::Whole => {
            let preferred = waits::preferred(&asked.headers);
            whole(&api, &asked.principal, wanted, shape, preferred).await
        }
        CallMode::Background => in_background(&api, &asked.principal, wanted, shape).await,
        CallMode::Stream => streamed(&api, &asked.principal, wanted, shape).await,
    }
}

/// Waits for a place, for a while; what it takes of the call's own time is gone.
async fn enter(
    api: &Api,
    who: &Principal,
    wanted: &mut CallWish,
) -> Result<Arc<CallSlot>, Refusal> {
    let gate = &api.0.gate;
    let stopping = || Refusal::new(ErrorCode::Unavailable, "the server stops; call again later");
    if api.stopping().is_cancelled() {
        return Err(stopping());
    }
    let patience = wanted.request.limits.timeout_ms;
    let patience = patience.map_or(PATIENCE, |own| Duration::from_millis(own).min(PATIENCE));
    let since = Instant::now();
    let entered = tokio::select! {
        biased;
        entered = gate.enter(who) => entered,
        () = tokio::time::sleep(patience) => return Err(too_many(&format!(
            "no place for the call became free within {} ms",
            patience.as_millis()
        ))),
        () = api.stopping().cancelled() => return Err(stopping()),
    };
    match entered {
        Ok(place) => {
            if let Some(left) = &mut wanted.request.limits.timeout_ms {
                let waited = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
                *left = left.saturating_sub(waited).max(1);
            }
            Ok(Arc::new(place))
        }
        Err(full) => Err(too_many(&format!(
            "{} of your calls wait for a place already; wait for some of them",
            full.waiting
        ))),
    }
}

/// Refuses with the advice to come back.
pub(crate) fn too_many(message: &str) -> Refusal {
    let error = ToolError::new(ErrorCode::RateLimited, message).with_detail("retryAfterMs", 1000);
    Refusal::from(error).with_header(header::RETRY_AFTER, HeaderValue::from_static("1"))
}

/// Answers with the outcome; where the call waits for a person for longer than the client wants, with where to ask for it. A call that
/// is to end with its connection keeps it.
async fn whole(
    api: &Api,
    who: &Principal,
    wanted: CallWish,
    shape: ResultShape,
    preferred: Option<Duration>,
) -> Answer {
    let goes_on = !wanted.cancel_on_disconnect && wanted.approvals == Approvals::Wait;
    let after = preferred.unwrap_or_else(|| api.crib().config().respond_after());
    let (mut call, id) = begin(api, who, wanted).await?;
    let waits = async {
        match (goes_on, id.await) {
            (true, Ok(id)) => waits::waits(api, &id, after).await,
            _ => std::future::pending().await,
        }
    };
    let waits = std::pin::pin!(waits);
    let waiting = tokio::select! {
        biased;
        outcome = &mut call => return Ok(response(&outcome, shape)),
        waiting = waits => waiting,
    };
    let (api, id) = (api.clone(), waiting.call_id.clone());
    api.0.waits.goes_on(waiting.clone());
    if let Some(call) = call.take() {
        tokio::spawn(async move {
            let outcome = call.await;
            api.0.waits.ended(&id, outcome);
        });
    }
    waits::waiting(&waiting, preferred)
}

/// Makes one call of several that a request wants; what keeps it from being made is its error.
pub(crate) async fn make_one(
    api: &Api,
    who: &Principal,
    wanted: CallWish,
) -> Result<Outcome, ToolError> {
    one(api, who, wanted).await.map_err(Refusal::into_error)
}

async fn one(api: &Api, who: &Principal, wanted: CallWish) -> Result<Outcome, Refusal> {
    let (call, _) = begin(api, who, wanted).await?;
    Ok(call.await)
}

/// A call that is polled where its request is.
type Polled = GoesOn<Option<CancellationToken>>;

/// Begins a call, whose id comes when it has one.
async fn begin(
    api: &Api,
    who: &Principal,
    mut wanted: CallWish,
) -> Result<(Polled, oneshot::Receiver<CallId>), Refusal> {
    let place = enter(api, who, &mut wanted).await?;
    let approver = approver(api, wanted.approvals, &place);
    let registry = api.crib().registry().clone();
    let note = wanted.note;
    let (sender, id) = oneshot::channel();
    let sender = Mutex::new(Some(sender));
    let mut request = wanted.request.approver(approver).observer(move |events| {
        note.call(events.call_id());
        let mut sender = sender.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = sender.take() {
            let _ = sender.send(events.call_id().clone());
        }
    });
    let cancel = wanted.cancel_on_disconnect.then(CancellationToken::new);
    request.cancel.clone_from(&cancel);
    let call = async move {
        let outcome = registry.execute(request).await;
        drop(place);
        registry.recorded().await;
        outcome
    };
    Ok((GoesOn::new(call.boxed(), cancel), id))
}

/// The answer that an outcome is: 200 if the tool ran, however that went, else the status of the refusal.
pub(super) fn response(outcome: &Outcome, shape: ResultShape) -> Response<Body> {
    let status = outcome
        .error()
        .map_or(200, |error| error.code().http_status());
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = match shape {
        // The usual one is written as it is.
        ResultShape::Tagged => json_response(status, &TaggedOutcome::of(outcome)),
        ResultShape::Simple | ResultShape::Detailed | ResultShape::Mcp => {
            json_response(status, &render(outcome, shape))
        }
    };
    if status == StatusCode::TOO_MANY_REQUESTS {
        let wait = outcome.error().and_then(ToolError::details);
        let wait = wait.and_then(|details| details.get("retryAfterMs")?.as_u64());
        let seconds = wait.unwrap_or(1000).div_ceil(1000).max(1);
        response
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Runs a call on its own task, which has the place for as long as it runs.
fn spawn(api: &Api, wanted: CallWish, place: &Arc<CallSlot>) -> Spawned {
    let approver = approver(api, wanted.approvals, place);
    let registry = api.crib().registry().clone();
    // Known from the start: a client that sees it can ask for it.
    let request = wanted.request;
    let call = call_as_it_comes(&request);
    let handle = registry.execute_async(request.approver(approver));
    let id = handle.id().clone();
    wanted.note.call(&id);
    let call = call(id.clone());
    let events = handle.events();
    let ending = api.0.hub.recent.remember(call, events.clone());
    let place = Arc::clone(place);
    let outcome = tokio::spawn(async move {
        let outcome = handle.outcome().await;
        drop(place);
        registry.recorded().await;
        drop(ending);
        outcome
    });
    Spawned {
        id,
        events,
        outcome,
    }
}

struct Spawned {
    id: CallId,
    events: EventReader,
    outcome: JoinHandle<Outcome>,
}

async fn in_background(
    api: &Api,
    who: &Principal,
    mut wanted: CallWish,
    shape: ResultShape,
) -> Answer {
    if wanted.cancel_on_disconnect {
        return Err(Refusal::usage(
            "`/cancelOnDisconnect`: a call in the background (`Prefer: respond-async`) has no connection that it could end with; leave \
             one of them out, or cancel it by `POST /api/calls/{id}/cancel`",
        ));
    }
    let place = enter(api, who, &mut wanted).await?;
    let wanted = CallWish {
        request: wanted.request.keep_outcome(),
        ..wanted
    };
    let Spawned {
        id,
        events,
        outcome,
    } = spawn(api, wanted, &place);
    drop(place);
    let refused = tokio::select! {
        biased;
        refused = is_refused(events) => refused,
        () = is_kept(api, &id) => false,
    };
    if refused && let Ok(outcome) = outcome.await {
        return Ok(response(&outcome, shape));
    }
    let known = look(api, who, &id).await;
    let status = known.map_or("running", |known| known.status());
    let id = id.to_string();
    let mut answer = json_response(
        StatusCode::ACCEPTED,
        &json!({"callId": id, "status": status}),
    );
    let headers = answer.headers_mut();
    headers.extend(location(&id));
    headers.insert(
        "preference-applied",
        HeaderValue::from_static("respond-async"),
    );
    Ok(answer)
}

/// Whether a call is refused before it begins, by its first events. Such a call is answered at once: there is nothing to follow, and
/// nothing to come back for. Its id is claimed, if it is ours to run, before there is any event.
async fn is_refused(mut events: EventReader) -> bool {
    while let Some(event) = events.next().await {
        match &event.kind {
            EventKind::Finished { ok: false, code } => {
                let code = code.as_deref().and_then(ErrorCode::from_wire);
                return code.is_some_and(|code| code.http_status() != 200);
            }
            // No one can be asked, or someone has answered before: what comes of it comes next. A question that waits for a person
            // has an id.
            EventKind::Approval { status, id, .. } if status != "pending" || id.is_none() => {}
            _ => return false,
        }
    }
    false
}

/// Resolves when a call is on disk: what is acknowledged after this is found, whatever becomes of this process.
async fn is_kept(api: &Api, id: &CallId) {
    let mut pause = MOMENT;
    loop {
        tokio::time::sleep(pause).await;
        let registry = api.crib().registry().clone();
        if registry.running_call(id).is_some() {
            return;
        }
        let id = id.clone();
        let state = tokio::task::spawn_blocking(move || registry.call_state(&id)).await;
        if matches!(state, Ok(Ok(Some(_)))) {
            return;
        }
        pause = LOOK;
    }
}

async fn streamed(api: &Api, who: &Principal, mut wanted: CallWish, shape: ResultShape) -> Answer {
    let stream_place = super::super::events::enter(api, who).await?;
    let place = enter(api, who, &mut wanted).await?;
    let cancel = wanted.cancel_on_disconnect.then(CancellationToken::new);
    wanted.request.cancel.clone_from(&cancel);
    let caller = wanted.request.caller.clone();
    let Spawned {
        id,
        events,
        outcome,
    } = spawn(api, wanted, &place);
    // From here on, a client that goes has left.
    let leaving = cancel.map(CancellationToken::drop_guard);
    let refused = tokio::time::timeout(BEGUN_WITHIN, is_refused(events.clone())).await;
    if refused.unwrap_or(false) {
        return match outcome.await {
            Ok(outcome) => Ok(response(&outcome, shape)),
            Err(_) => Err(Refusal::new(ErrorCode::Internal, BUG)),
        };
    }
    let stream = CallStream {
        frames: CallFrames::new(events, Position::default()),
        outcome: Some(outcome),
        shape,
        caller,
        is_over: false,
        _leaving: leaving,
        _places: (place, stream_place),
    };
    let mut answer = sse::response(stream::unfold(stream, CallStream::next));
    // A client that loses the connection before the first event knows where to look, and what to cancel.
    answer.headers_mut().extend(location(id.as_str()));
    Ok(answer)
}

/// Where a call is found. Ids that callers choose are visible ASCII, of which a path takes not everything as it is.
pub(super) fn location(id: &str) -> Option<(header::HeaderName, HeaderValue)> {
    let encoded: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
    let value = HeaderValue::from_str(&format!("/api/calls/{encoded}")).ok()?;
    Some((header::LOCATION, value))
}

/// An outcome in a shape; for the command line with the text that it shows to people, where that is not the value itself.
pub(super) fn told(outcome: &Outcome, shape: ResultShape, caller: &Caller) -> Value {
    let mut told = render(outcome, shape);
    if let (Caller::Cli, ResultShape::Tagged, Ok(output)) = (caller, shape, &outcome.result)
        && let Some(text) = &output.text
    {
        told["text"] = text.as_str().into();
    }
    told
}

/// The events of a call and then its outcome. It has the call's place until the outcome was taken, since until then it holds memory:
/// clients that do not read cannot have more calls than others.
struct CallStream {
    frames: CallFrames,
    outcome: Option<JoinHandle<Outcome>>,
    shape: ResultShape,
    caller: Caller,
    is_over: bool,
    /// Cancels the call with the stream.
    _leaving: Option<tokio_util::sync::DropGuard>,
    _places: (Arc<CallSlot>, CallSlot),
}

impl CallStream {
    async fn next(mut self) -> Option<(bytes::Bytes, Self)> {
        // Not ended by the server's stopping: that ends the call, and the waiting caller learns how.
        if !self.is_over {
            match Next::of(self.frames.next(), None).await {
                Next::Event(Some(frame)) => return Some((frame, self)),
                Next::Silence => return Some((sse::heartbeat(), self)),
                Next::Event(None) | Next::Stop => self.is_over = true,
            }
        }
        let outcome = self.outcome.as_mut()?;
        let outcome = match Next::of(outcome, None).await {
            Next::Event(outcome) => outcome,
            Next::Silence => return Some((sse::heartbeat(), self)),
            Next::Stop => return None,
        };
        self.outcome = None;
        let data = match &outcome {
            Ok(outcome) => told(outcome, self.shape, &self.caller),
            Err(_) => bug(),
        };
        let frame = sse::frame(self.frames.position(), "outcome", &data);
        Some((frame, self))
    }
}

/// The outcome of a call whose task is gone.
fn bug() -> Value {
    let error = ToolError::new(ErrorCode::Internal, BUG);
    json!({"ok": false, "error": error})
}
