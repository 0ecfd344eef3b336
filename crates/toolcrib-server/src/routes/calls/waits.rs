//! Calls that are answered before a person has decided about them: [`Waits`].
//!
//! A plain request is answered with its outcome. If the call waits for a person for too long, it is answered with where to ask for the
//! outcome instead, and the call goes on. Its outcome is kept here, in memory, until many others came after it: of calls without an id
//! of the caller's own nothing else keeps the value.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::json;
use toolcrib::registry::{CallState, RunningCall};
use toolcrib::{CallId, Outcome};

use super::make::{location, words};
use super::state::running;
use crate::api::{Answer, Api, json_response, short_id};

/// How many outcomes are kept.
const KEPT: usize = 64;

/// How often it is looked whether a call has begun to wait for a person, once it would be answered for that.
const LOOK: Duration = Duration::from_millis(100);

/// Calls that were answered while they waited, the oldest first. An outcome is missing as long as the call goes on.
#[derive(Default)]
pub(crate) struct Waits(Mutex<VecDeque<(RunningCall, Option<Outcome>)>>);

impl Waits {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(RunningCall, Option<Outcome>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a call that goes on.
    pub(super) fn goes_on(&self, call: RunningCall) {
        let mut all = self.lock();
        if all.len() >= KEPT {
            all.pop_front();
        }
        all.push_back((call, None));
    }

    /// Keeps the outcome of a call that was noted.
    pub(super) fn ended(&self, id: &CallId, outcome: Outcome) {
        let mut all = self.lock();
        if let Some((_, kept)) = all.iter_mut().find(|(call, _)| call.call_id == *id) {
            *kept = Some(outcome);
        }
    }

    /// The state of a call that was answered while it waited.
    pub(super) fn state(&self, id: &CallId) -> Option<CallState> {
        let all = self.lock();
        let (call, outcome) = all.iter().find(|(call, _)| call.call_id == *id)?;
        Some(match outcome {
            Some(outcome) => CallState::Done(call.caller.clone(), Box::new(outcome.clone())),
            None => CallState::Running(call.clone()),
        })
    }
}

/// How long a client wants to wait: `Prefer: wait=N`, in seconds.
pub(super) fn preferred(headers: &HeaderMap) -> Option<Duration> {
    let prefer = http::header::HeaderName::from_static("prefer");
    words(headers, &prefer).find_map(|word| {
        let (name, seconds) = word.split_once('=')?;
        let seconds = seconds.trim().trim_matches('"').parse().ok()?;
        name.trim()
            .eq_ignore_ascii_case("wait")
            .then(|| Duration::from_secs(seconds))
    })
}

/// Resolves when the call waits for a person, `after` it began or later.
pub(super) async fn waits(api: &Api, id: &CallId, after: Duration) -> RunningCall {
    tokio::time::sleep(after).await;
    loop {
        let call = api.crib().registry().running_call(id);
        if let Some(call) = call.filter(|call| call.approval.is_some()) {
            return call;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// The answer that a call waits for a person, and where its outcome will be.
pub(super) fn waiting(call: &RunningCall, preferred: Option<Duration>) -> Answer {
    let mut body = running(call);
    let question = call.approval.as_deref().unwrap_or_default();
    body["follow"] = json!({
        "outcome": format!("{}?waitMs=30000", location_of(call.call_id.as_str())),
        "answer": format!("/api/approvals/{question}"),
    });
    body["message"] = json!(format!(
        "`{}` waits for approval; answer with `toolcrib approvals approve {}`",
        call.tool,
        short_id(question)
    ));
    let mut answer = json_response(StatusCode::ACCEPTED, &body);
    let headers = answer.headers_mut();
    headers.extend(location(call.call_id.as_str()));
    if let Some(wait) = preferred
        && let Ok(applied) = HeaderValue::from_str(&format!("wait={}", wait.as_secs()))
    {
        headers.insert("preference-applied", applied);
    }
    Ok(answer)
}

fn location_of(id: &str) -> String {
    let encoded: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
    format!("/api/calls/{encoded}")
}
