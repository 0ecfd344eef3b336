//! How a call stands: `GET /api/calls/{id}`, and ending it: `POST /api/calls/{id}/cancel`.

use std::time::Duration;

use http::StatusCode;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use toolcrib::record::CallRecord;
use toolcrib::record::call_log::CallLogReader;
use toolcrib::registry::{CallState, RunningCall};
use toolcrib::wire::{ResultShape, render};
use toolcrib::{CallId, Caller, ErrorCode, Outcome, ToolError};

use super::make;
use crate::api::{Answer, Api, Asked, Refusal, json_response};
use crate::auth::Principal;

/// The longest that a request waits for the end of a call.
pub(super) const MAX_WAIT_MS: u64 = 60_000;

/// How long a request to cancel waits for the end of the call.
const CANCEL_WAIT: Duration = Duration::from_secs(5);

/// How long a call that has come may take to be listed.
const LISTED_WITHIN: Duration = Duration::from_secs(2);

/// How often a call of another process is looked at.
const POLL: Duration = Duration::from_millis(200);

/// What is known about a call.
pub(crate) enum Known {
    /// It runs, or is over and its outcome was kept.
    State(CallState),
    /// It is over, and there is a record of it.
    Record(Box<CallRecord>),
}

impl Known {
    fn caller(&self) -> &Caller {
        match self {
            Known::State(state) => state.caller(),
            Known::Record(record) => &record.caller,
        }
    }

    /// Whether it is not over.
    pub(crate) fn runs(&self) -> bool {
        match self {
            Known::State(CallState::Running(_) | CallState::Elsewhere(_)) => true,
            Known::State(CallState::Done(..) | CallState::Lost(_)) | Known::Record(_) => false,
        }
    }

    fn view(&self, id: &CallId, shape: ResultShape) -> Value {
        match self {
            Known::State(CallState::Running(call)) => running(call),
            Known::State(CallState::Elsewhere(caller)) => {
                json!({"callId": id, "status": "running", "caller": caller, "elsewhere": true})
            }
            Known::State(CallState::Done(caller, outcome)) => done(caller, outcome, shape),
            Known::State(CallState::Lost(caller)) => {
                json!({"callId": id, "status": "lost", "caller": caller})
            }
            Known::Record(call) => record(call),
        }
    }
}

/// Whether somebody may see a caller's calls: a client only its own.
pub(crate) fn may_see(who: &Principal, caller: &Caller) -> bool {
    match (who, caller) {
        (Principal::Operator, _) => true,
        (Principal::Client(name), Caller::Client(caller)) => **name == **caller,
        (Principal::Client(_) | Principal::Nobody, _) => false,
    }
}

/// The id in a path. What cannot be the id of a call is the id of none.
pub(crate) fn id_of(asked: &Asked) -> Result<CallId, Refusal> {
    let id = asked.path.get("id");
    let id = CallId::parse(id).map_err(|_| not_found(id))?;
    asked.note.about(&id);
    Ok(id)
}

pub(crate) fn not_found(id: &str) -> Refusal {
    let shown: String = id.chars().take(CallId::MAX_BYTES).collect();
    Refusal::new(
        ErrorCode::CallNotFound,
        format!("there is no call `{shown}`, or none that you may see"),
    )
}

/// What is known about a call that somebody may see. Reads files.
pub(crate) async fn look(api: &Api, who: &Principal, id: &CallId) -> Result<Known, Refusal> {
    let (api, wanted) = (api.clone(), id.clone());
    let looked = tokio::task::spawn_blocking(move || look_now(&api, &wanted)).await;
    let known = looked.unwrap_or_else(|_| Err(ToolError::new(ErrorCode::Internal, "a bug")))?;
    known
        .filter(|known| may_see(who, known.caller()))
        .ok_or_else(|| not_found(id.as_str()))
}

fn look_now(api: &Api, id: &CallId) -> Result<Option<Known>, ToolError> {
    let crib = api.crib();
    if let Some(state) = crib.registry().call_state(id)? {
        return Ok(Some(Known::State(state)));
    }
    if let Some(call) = api.0.hub.recent.begun(id) {
        return Ok(Some(Known::State(CallState::Running(call))));
    }
    let found = CallLogReader::new(crib.call_log_path()).find(id.as_str());
    let record =
        found.map_err(|error| ToolError::new(ErrorCode::StorageError, error.to_string()))?;
    Ok(record.map(|record| Known::Record(Box::new(record))))
}

/// Waits until a call is over, or for so long.
pub(crate) async fn look_until(
    api: &Api,
    who: &Principal,
    id: &CallId,
    deadline: Instant,
) -> Result<Known, Refusal> {
    loop {
        let known = look(api, who, id).await?;
        if !known.runs() || Instant::now() >= deadline || api.stopping().is_cancelled() {
            return Ok(known);
        }
        // Its end is its last event. A call of another process, or one that waits for another with its id, has none here.
        let ended = async {
            let events = api.crib().registry().events(id, 0);
            let recent = || api.0.hub.recent.events(id, |_| true);
            match events.or_else(recent) {
                Some(mut events) => while events.next().await.is_some() {},
                None => tokio::time::sleep(POLL).await,
            }
            // The outcome is kept, and the record written, soon after the last event.
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        tokio::select! {
            () = ended => {}
            () = tokio::time::sleep_until(deadline) => {}
            () = api.stopping().cancelled() => {}
        }
    }
}

/// `GET /api/calls/{id}`
pub(super) async fn show(api: Api, asked: Asked) -> Answer {
    let id = id_of(&asked)?;
    let shape = make::shape(&asked.query)?;
    let wait = asked.query.number("waitMs", 0, MAX_WAIT_MS)?.unwrap_or(0);
    let deadline = Instant::now() + Duration::from_millis(wait);
    let known = look_until(&api, &asked.principal, &id, deadline).await?;
    let mut view = known.view(&id, shape);
    if let Known::State(CallState::Done(_, outcome)) = &known {
        view["outcome"] = make::told(outcome, shape, &asked.caller()?);
    }
    Ok(json_response(StatusCode::OK, &view))
}

/// `POST /api/calls/{id}/cancel`
pub(super) async fn cancel(api: Api, asked: Asked) -> Answer {
    let id = id_of(&asked)?;
    let known = look(&api, &asked.principal, &id).await?;
    match &known {
        Known::State(CallState::Running(_)) => {}
        Known::State(CallState::Elsewhere(_)) => {
            return Err(Refusal::new(
                ErrorCode::Conflict,
                format!("call `{id}` runs in another process, which alone can cancel it"),
            ));
        }
        Known::State(CallState::Done(..) | CallState::Lost(_)) | Known::Record(_) => {
            return Err(Refusal::new(
                ErrorCode::Conflict,
                format!("call `{id}` is over"),
            ));
        }
    }
    // A call that has just come is not listed for a moment.
    let deadline = Instant::now() + LISTED_WITHIN;
    while !api.crib().registry().cancel(&id) {
        let known = look(&api, &asked.principal, &id).await?;
        if !known.runs() || Instant::now() >= deadline {
            return Err(Refusal::new(
                ErrorCode::Conflict,
                format!("call `{id}` is over, or waits for another with its id"),
            ));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let deadline = Instant::now() + CANCEL_WAIT;
    let known = look_until(&api, &asked.principal, &id, deadline).await?;
    api.crib().registry().recorded().await;
    let shape = ResultShape::default();
    Ok(json_response(StatusCode::OK, &known.view(&id, shape)))
}

/// A call that runs or waits.
pub(super) fn running(call: &RunningCall) -> Value {
    let mut view = json!({
        "callId": call.call_id,
        "status": if call.approval.is_some() { "waiting" } else { "running" },
        "tool": call.tool,
        "caller": call.caller,
        "startTime": call.since,
    });
    if let Some(id) = &call.approval {
        view["approval"] = json!({"id": id, "status": "pending"});
    }
    view
}

/// A call that is over, by its record.
pub(super) fn record(record: &CallRecord) -> Value {
    let mut view = Map::new();
    view.insert("callId".to_owned(), record.call_id.to_string().into());
    view.insert("status".to_owned(), "done".into());
    if let Ok(Value::Object(fields)) = serde_json::to_value(record) {
        view.extend(fields);
    }
    Value::Object(view)
}

fn done(caller: &Caller, outcome: &Outcome, shape: ResultShape) -> Value {
    let mut view = json!({
        "callId": outcome.call_id,
        "status": "done",
        "tool": outcome.tool,
        "caller": caller,
        "startTime": outcome.timing.started_at,
        "endTime": outcome.timing.ended_at,
        "ok": outcome.is_ok(),
    });
    if let Some(error) = outcome.error() {
        view["code"] = json!(error.code());
        view["message"] = error.message().into();
    }
    view["outcome"] = render(outcome, shape);
    view
}
