//! The status of a call: `GET /api/calls/{id}`, and ending it: `POST /api/calls/{id}/cancel`.

use std::time::Duration;

use http::StatusCode;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use toolcrib::model::outcome::{Origin, Timing, ToolOutput};
use toolcrib::record::CallRecord;
use toolcrib::record::call_log::{CallFilter, CallLogReader};
use toolcrib::registry::{CallState, RunningCall};
use toolcrib::wire::ResultShape;
use toolcrib::{CallId, Caller, ErrorCode, Outcome, ToolError};

use super::make;
use crate::api::{Answer, Api, ApiRequest, Refusal, json_response};
use crate::auth::Principal;

/// The longest that a request waits for the end of a call.
pub(super) const MAX_WAIT_MS: u64 = 60_000;

/// How long a request to cancel waits for the end of the call.
const CANCEL_WAIT: Duration = Duration::from_secs(5);

/// How long a call that has come may take to be listed.
const LISTED_WITHIN: Duration = Duration::from_secs(2);

/// How often a call of another process is looked at.
const POLL: Duration = Duration::from_millis(200);

/// The known state of a call.
pub(crate) enum KnownCall {
    /// It runs, or is over and its outcome was kept.
    State(CallState),
    /// It is over, and there is a record of it.
    Record(Box<CallRecord>),
}

impl KnownCall {
    /// Whether it is not over.
    pub(crate) fn runs(&self) -> bool {
        match self {
            KnownCall::State(CallState::Running(_) | CallState::Elsewhere(_)) => true,
            KnownCall::State(CallState::Done(..) | CallState::Lost(_)) | KnownCall::Record(_) => {
                false
            }
        }
    }

    /// Its status, in a word.
    pub(crate) fn status(&self) -> &'static str {
        match self {
            KnownCall::State(CallState::Running(call)) => status_of(call),
            KnownCall::State(CallState::Elsewhere(_)) => "running",
            KnownCall::State(CallState::Done(..)) | KnownCall::Record(_) => "done",
            KnownCall::State(CallState::Lost(_)) => "lost",
        }
    }

    /// Its status, with the outcome as `caller` sees it.
    fn view(&self, id: &CallId, shape: ResultShape, caller: &Caller) -> Value {
        let mut view = match self {
            KnownCall::State(CallState::Running(call)) => running(call),
            KnownCall::State(CallState::Elsewhere(caller)) => {
                json!({"callId": id, "status": "running", "caller": caller, "elsewhere": true})
            }
            KnownCall::State(CallState::Done(caller, outcome)) => done(caller, outcome),
            KnownCall::State(CallState::Lost(caller)) => {
                json!({"callId": id, "status": "lost", "caller": caller})
            }
            KnownCall::Record(call) => record(call),
        };
        if let Some(outcome) = self.outcome(shape, caller) {
            view["outcome"] = outcome;
        }
        if matches!(self, KnownCall::Record(_)) {
            view["fromRecord"] = true.into();
        }
        view
    }

    /// What it came to, if it is over and anybody knows: what was kept, or what its record says, which has neither the value nor the
    /// details of an error.
    fn outcome(&self, shape: ResultShape, caller: &Caller) -> Option<Value> {
        match self {
            KnownCall::State(CallState::Done(_, outcome)) => {
                Some(make::told(outcome, shape, caller))
            }
            KnownCall::Record(record) => {
                let mut told = make::told(&outcome_of(record), shape, caller);
                if let (ResultShape::Tagged, Value::Object(fields)) = (shape, &mut told) {
                    fields.remove("value");
                    fields.remove("text");
                }
                Some(told)
            }
            KnownCall::State(_) => None,
        }
    }

    /// What it came to, if all of it is known.
    pub(crate) fn whole_outcome(&self, shape: ResultShape, caller: &Caller) -> Option<Value> {
        match self {
            KnownCall::Record(record) if record.ok => None,
            _ => self.outcome(shape, caller),
        }
    }
}

/// An outcome as far as a record shows it.
fn outcome_of(record: &CallRecord) -> Outcome {
    let milliseconds =
        |number: f64| Duration::try_from_secs_f64(number / 1000.0).unwrap_or_default();
    let origin = record.bundle.clone().zip(record.version.clone());
    Outcome {
        call_id: record.call_id.clone(),
        called: None,
        tool: record.tool.clone(),
        origin: origin.map(|(bundle, version)| Origin { bundle, version }),
        parameters: record.parameters.clone(),
        result: match record.ok {
            true => {
                Ok(ToolOutput::value(Value::Null).with_text("the value of this call was not kept"))
            }
            false => Err(ToolError::new(
                record.code.unwrap_or(ErrorCode::ExecutionError),
                record.message.clone().unwrap_or_default(),
            )),
        },
        timing: Timing {
            started_at: record.start_time,
            ended_at: record.end_time,
            queue: milliseconds(record.queue_time_ms),
            execution: milliseconds(record.execution_time_ms),
            total: milliseconds(record.duration_ms),
        },
        approval: record.approval.clone(),
        sandbox: None,
        truncated: record.truncated,
        held: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Whether someone may see a caller's calls: a client only its own.
pub(crate) fn may_see(who: &Principal, caller: &Caller) -> bool {
    match (who, caller) {
        (Principal::Operator, _) => true,
        (Principal::Client(name), Caller::Client(caller)) => **name == **caller,
        (Principal::Client(_) | Principal::Nobody, _) => false,
    }
}

/// The one caller whose calls someone may see; none for the operator, who sees all.
pub(super) fn own(who: &Principal) -> Option<Caller> {
    match who {
        Principal::Client(name) => Some(Caller::Client(name.to_string())),
        Principal::Operator | Principal::Nobody => None,
    }
}

/// The id in a path. What cannot be the id of a call is the id of none.
pub(crate) fn id_of(asked: &ApiRequest) -> Result<CallId, Refusal> {
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

/// The known state of a call that the principal may see. Of a call that runs here without a look at files.
pub(crate) async fn look(api: &Api, who: &Principal, id: &CallId) -> Result<KnownCall, Refusal> {
    let here = api.crib().registry().running_call(id);
    if let Some(call) = here.filter(|call| may_see(who, &call.caller)) {
        return Ok(KnownCall::State(CallState::Running(call)));
    }
    // One that has just ended is in the log before it is looked for there.
    api.crib().registry().recorded().await;
    let (api, who, wanted) = (api.clone(), who.clone(), id.clone());
    let looked = tokio::task::spawn_blocking(move || look_now(&api, &who, &wanted)).await;
    let known = looked.unwrap_or_else(|_| Err(ToolError::new(ErrorCode::Internal, "a bug")))?;
    known.ok_or_else(|| not_found(id.as_str()))
}

fn look_now(api: &Api, who: &Principal, id: &CallId) -> Result<Option<KnownCall>, ToolError> {
    let crib = api.crib();
    let state = crib.registry().call_state(id)?;
    if let Some(state) = state.filter(|state| may_see(who, state.caller())) {
        return Ok(Some(KnownCall::State(state)));
    }
    if let Some(state) = api.0.waits.state(id)
        && may_see(who, state.caller())
    {
        return Ok(Some(KnownCall::State(state)));
    }
    let begun = api.0.hub.recent.begun(id);
    if let Some(call) = begun.filter(|call| may_see(who, &call.caller)) {
        return Ok(Some(KnownCall::State(CallState::Running(call))));
    }
    Ok(recorded(api, who, id)?.map(KnownCall::Record))
}

/// The record of a call that someone may see.
fn recorded(api: &Api, who: &Principal, id: &CallId) -> Result<Option<Box<CallRecord>>, ToolError> {
    let wanted = CallFilter {
        call_id: Some(id.clone()),
        caller: own(who),
        ..CallFilter::default()
    };
    let log = CallLogReader::new(api.crib().call_log_path());
    let mut after = None;
    loop {
        let page = log.page(&wanted, after.as_ref(), 1);
        let mut page =
            page.map_err(|error| ToolError::new(ErrorCode::StorageError, error.to_string()))?;
        let record = page.records.pop().filter(|call| may_see(who, &call.caller));
        if let Some(record) = record {
            return Ok(Some(Box::new(record)));
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(None),
        }
    }
}

/// Waits until a call is over, or for so long.
pub(crate) async fn look_until(
    api: &Api,
    who: &Principal,
    id: &CallId,
    deadline: Instant,
) -> Result<KnownCall, Refusal> {
    let mut pause = Duration::from_millis(1);
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
            tokio::time::sleep(pause).await;
        };
        tokio::select! {
            () = ended => {}
            () = tokio::time::sleep_until(deadline) => {}
            () = api.stopping().cancelled() => {}
        }
        pause = (pause * 2).min(POLL);
    }
}

/// `GET /api/calls/{id}`
pub(super) async fn show(api: Api, asked: ApiRequest) -> Answer {
    let id = id_of(&asked)?;
    if asked.query.flag("record")? {
        let found = super::super::blocking(move || {
            let found = recorded(&api, &asked.principal, &id)?;
            found.ok_or_else(|| not_found(id.as_str()))
        });
        let found: Box<CallRecord> = found.await?;
        return Ok(json_response(StatusCode::OK, &record(&found)));
    }
    let shape = make::shape(&asked.query)?;
    let wait = asked.query.number("waitMs", 0, MAX_WAIT_MS)?.unwrap_or(0);
    let deadline = Instant::now() + Duration::from_millis(wait);
    let known = look_until(&api, &asked.principal, &id, deadline).await?;
    let view = known.view(&id, shape, &asked.caller()?);
    Ok(json_response(StatusCode::OK, &view))
}

/// `POST /api/calls/{id}/cancel`
pub(super) async fn cancel(api: Api, asked: ApiRequest) -> Answer {
    let id = id_of(&asked)?;
    let known = look(&api, &asked.principal, &id).await?;
    match &known {
        KnownCall::State(CallState::Running(_)) => {}
        KnownCall::State(CallState::Elsewhere(_)) => {
            return Err(Refusal::new(
                ErrorCode::Conflict,
                format!("call `{id}` runs in another process, which alone can cancel it"),
            ));
        }
        KnownCall::State(CallState::Done(..) | CallState::Lost(_)) | KnownCall::Record(_) => {
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
    let view = known.view(&id, shape, &asked.caller()?);
    Ok(json_response(StatusCode::OK, &view))
}

fn status_of(call: &RunningCall) -> &'static str {
    match call.approval {
        Some(_) => "waiting",
        None => "running",
    }
}

/// A call that runs or waits.
pub(super) fn running(call: &RunningCall) -> Value {
    let mut view = json!({
        "callId": call.call_id,
        "status": status_of(call),
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

fn done(caller: &Caller, outcome: &Outcome) -> Value {
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
    view
}
