//! Which calls there are and were: `GET /api/calls`.
//!
//! Those that run come first, oldest first; then those that are over, newest first, by the call log. A page goes on where the one before
//! ended: behind a call that runs, or at a place in the log. A call that ends while someone turns pages neither comes twice nor gets
//! lost: a client that saw it as running does not see its record.

use std::sync::Arc;

use http::StatusCode;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib::model::outcome::Origin;
use toolcrib::record::CallRecord;
use toolcrib::record::call_log::{CallFilter, CallLogReader, CallPage, CallPosition, CallStatus};
use toolcrib::registry::RunningCall;
use toolcrib::{CallId, Caller, ErrorCode};

use super::state::{may_see, own, record};
use crate::api::page::{self, Paging, page_token};
use crate::api::{Answer, Api, ApiRequest, Refusal, json_response};
use crate::auth::Principal;

/// The name of the list in its tokens.
const LIST: &str = "calls";

/// Which calls are wanted.
struct Wanted {
    who: Principal,
    tool: Option<String>,
    bundle: Option<String>,
    version: Option<String>,
    text: Option<String>,
    parent: Option<CallId>,
    caller: Option<Caller>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    status: Option<Status>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Running,
    Waiting,
    Done,
    Ok,
    Failed,
    Refused,
    Error,
}

/// Where a page begins.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct At {
    /// Behind these of the calls that run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    told: Option<RunningCursor>,
    /// At this place in the log, if all running calls were listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    log: Option<String>,
}

/// The calls that were listed as running: those that had come by the time of this one, and were not over when the first page was made.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunningCursor {
    asked: Timestamp,
    since: Timestamp,
    id: String,
}

impl RunningCursor {
    fn has(&self, since: Timestamp, id: &str) -> bool {
        (since, id) <= (self.since, self.id.as_str())
    }

    /// Whether a call that is over was listed when it ran.
    fn has_record(&self, record: &CallRecord) -> bool {
        record.end_time >= self.asked && self.has(record.start_time, record.call_id.as_str())
    }
}

impl Wanted {
    fn of(asked: &ApiRequest) -> Result<Self, Refusal> {
        let query = &asked.query;
        let caller = query.text("caller").map(str::parse).transpose();
        let since = query.text("since").map(str::parse).transpose();
        let until = query.text("until").map(str::parse).transpose();
        let parent = query.text("parent").map(CallId::parse).transpose();
        let status = match query.text("status") {
            None => None,
            Some("running") => Some(Status::Running),
            Some("waiting") => Some(Status::Waiting),
            Some("done") => Some(Status::Done),
            Some("ok") => Some(Status::Ok),
            Some("failed") => Some(Status::Failed),
            Some("refused") => Some(Status::Refused),
            Some("error") => Some(Status::Error),
            Some(_) => {
                return Err(Refusal::usage(
                    "`status` is `running`, `waiting`, `done`, `ok`, `failed`, `refused` or `error`",
                ));
            }
        };
        Ok(Wanted {
            who: asked.principal.clone(),
            tool: query.text("tool").map(str::to_owned),
            bundle: query.text("bundle").map(str::to_owned),
            version: query.text("version").map(str::to_owned),
            text: query
                .text("text")
                .filter(|text| !text.is_empty())
                .map(str::to_owned),
            parent: parent.map_err(|_| Refusal::usage("`parent` is the id of a call"))?,
            caller: caller.map_err(|error| Refusal::usage(format!("`caller`: {error}")))?,
            since: since
                .map_err(|_| Refusal::usage("`since` is a time like `2026-01-31T12:00:00Z`"))?,
            until: until
                .map_err(|_| Refusal::usage("`until` is a time like `2026-01-31T12:00:00Z`"))?,
            status,
        })
    }

    fn has(&self, tool: &str, caller: &Caller, at: Timestamp) -> bool {
        may_see(&self.who, caller)
            && self.tool.as_deref().is_none_or(|wanted| wanted == tool)
            && self
                .caller
                .as_ref()
                .is_none_or(|wanted| caller.is_meant_by(wanted))
            && self.since.is_none_or(|since| at >= since)
            && self.until.is_none_or(|until| at < until)
    }

    /// Those that run or wait, oldest first.
    fn running(&self, api: &Api) -> Vec<RunningCall> {
        let is_wanted = |waits: bool| match self.status {
            None | Some(Status::Running) => true,
            Some(Status::Waiting) => waits,
            Some(Status::Done | Status::Ok | Status::Failed | Status::Refused | Status::Error) => {
                false
            }
        };
        // What runs shows neither its arguments nor the calls inside it.
        if self.text.is_some() || self.parent.is_some() {
            return Vec::new();
        }
        let calls = api.crib().registry().running().into_iter();
        calls
            .filter(|call| is_wanted(call.approval.is_some()))
            .filter(|call| self.has(&call.tool, &call.caller, call.since))
            .filter(|call| self.is_of(call.origin.as_ref()))
            .collect()
    }

    /// Whether a call that runs is one of the wanted bundle and version; before its tool is found it is of none.
    fn is_of(&self, origin: Option<&Origin>) -> bool {
        let is = |wanted: &Option<String>, own: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| own == Some(wanted))
        };
        is(&self.bundle, origin.map(|origin| origin.bundle.as_str()))
            && is(&self.version, origin.map(|origin| origin.version.as_str()))
    }

    /// Which records are wanted; `None` if none is.
    fn records(&self) -> Option<CallFilter> {
        let status = match self.status {
            None | Some(Status::Done) => None,
            Some(Status::Ok) => Some(CallStatus::Ok),
            Some(Status::Failed) => Some(CallStatus::Failed),
            Some(Status::Refused) => Some(CallStatus::Refused),
            Some(Status::Error) => Some(CallStatus::Error),
            Some(Status::Running | Status::Waiting) => return None,
        };
        let caller = match (own(&self.who), &self.caller) {
            (Some(own), Some(wanted)) if own != *wanted => return None,
            (Some(own), _) => Some(own),
            (None, wanted) => wanted.clone(),
        };
        Some(CallFilter {
            tool: self.tool.clone(),
            bundle: self.bundle.clone(),
            version: self.version.clone(),
            text: self.text.clone(),
            parent: self.parent.clone(),
            status,
            caller,
            since: self.since,
            until: self.until,
            ..CallFilter::default()
        })
    }
}

/// `GET /api/calls`
pub(super) async fn list(api: Api, asked: ApiRequest) -> Answer {
    let paging = Paging::of(&asked.query)?;
    let wanted = Wanted::of(&asked)?;
    let At { mut told, log } = paging.after(LIST)?.unwrap_or_default();
    let position = log.as_deref().map(str::parse::<CallPosition>).transpose();
    let position = position.map_err(|_| page::not_of_this_list())?;
    let mut calls: Vec<Value> = Vec::new();
    let mut next = None;
    let mut unreadable = 0;
    // Once the log is begun the running calls were listed; later calls are newer than the list.
    if position.is_none() {
        let mut running = wanted.running(&api);
        // After the look: what ends from here on was seen.
        let asked = told.as_ref().map_or_else(Timestamp::now, |told| told.asked);
        running.retain(|call| {
            let is_told = |told: &RunningCursor| told.has(call.since, call.call_id.as_str());
            !told.as_ref().is_some_and(is_told)
        });
        let is_cut = running.len() > paging.size;
        running.truncate(paging.size);
        if let Some(last) = running.last() {
            told = Some(RunningCursor {
                asked,
                since: last.since,
                id: last.call_id.to_string(),
            });
        }
        if is_cut {
            next = Some(None);
        }
        calls.extend(running.iter().map(super::state::running));
    }
    if next.is_none()
        && let Some(filter) = wanted.records()
    {
        match paging.size - calls.len() {
            // A token is for a page that has something.
            0 => {
                let probe = records(&api, filter, position, 1).await?;
                let has_more = !probe.records.is_empty() || probe.next.is_some();
                next = has_more.then_some(None);
            }
            room => {
                let page = records(&api, filter, position, room).await?;
                let is_told = |record: &CallRecord| {
                    let id = Some(record.call_id.as_str());
                    told.as_ref().is_some_and(|told| told.has_record(record))
                        // It ended while this page was made.
                        || calls.iter().any(|call| call["callId"].as_str() == id)
                };
                let records = page.records.iter().filter(|record| !is_told(record));
                let records: Vec<Value> = records.map(record).collect();
                unreadable = page.unreadable;
                next = page.next.map(|at| Some(at.to_string()));
                calls.extend(records);
            }
        }
    }
    let mut page = json!({"calls": calls});
    if unreadable > 0 {
        page["unreadable"] = unreadable.into();
    }
    if let Some(log) = next {
        page["nextPageToken"] = page_token(LIST, &At { told, log }).into();
    }
    Ok(json_response(StatusCode::OK, &page))
}

/// A page of records from a place in the log on.
async fn records(
    api: &Api,
    filter: CallFilter,
    after: Option<CallPosition>,
    size: usize,
) -> Result<CallPage, Refusal> {
    let crib = Arc::clone(api.crib());
    crib.registry().recorded().await;
    let reading = tokio::task::spawn_blocking(move || {
        CallLogReader::new(crib.call_log_path()).page(&filter, after.as_ref(), size)
    });
    let Ok(found) = reading.await else {
        return Err(Refusal::new(ErrorCode::Internal, "a bug in the server"));
    };
    found.map_err(|error| Refusal::new(ErrorCode::StorageError, error.to_string()))
}
