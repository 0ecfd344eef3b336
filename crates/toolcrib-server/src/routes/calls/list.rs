//! Which calls there are and were: `GET /api/calls`.
//!
//! Those that run come first, on the first page; then those that are over, newest first, by the call log.

use std::sync::Arc;

use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Value, json};
use toolcrib::record::CallRecord;
use toolcrib::record::call_log::CallLogReader;
use toolcrib::{Caller, ErrorCode};

use super::state::{may_see, record, running};
use crate::api::page::{Paging, page_token};
use crate::api::{Answer, Api, Asked, Refusal, json_response};
use crate::auth::Principal;

/// The name of the list in its tokens.
const LIST: &str = "calls";

/// Which calls are wanted.
struct Wanted {
    who: Principal,
    tool: Option<String>,
    caller: Option<Caller>,
    since: Option<Timestamp>,
    status: Option<Status>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Running,
    Waiting,
    Done,
    Ok,
    Failed,
}

impl Wanted {
    fn of(asked: &Asked) -> Result<Self, Refusal> {
        let query = &asked.query;
        let caller = query.text("caller").map(str::parse).transpose();
        let since = query.text("since").map(str::parse).transpose();
        let status = match query.text("status") {
            None => None,
            Some("running") => Some(Status::Running),
            Some("waiting") => Some(Status::Waiting),
            Some("done") => Some(Status::Done),
            Some("ok") => Some(Status::Ok),
            Some("failed") => Some(Status::Failed),
            Some(_) => {
                return Err(Refusal::usage(
                    "`status` is `running`, `waiting`, `done`, `ok` or `failed`",
                ));
            }
        };
        Ok(Wanted {
            who: asked.principal.clone(),
            tool: query.text("tool").map(str::to_owned),
            caller: caller.map_err(|error| Refusal::usage(format!("`caller`: {error}")))?,
            since: since
                .map_err(|_| Refusal::usage("`since` is a time like `2026-01-31T12:00:00Z`"))?,
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
    }

    fn has_record(&self, record: &CallRecord) -> bool {
        let status = match self.status {
            None | Some(Status::Done) => true,
            Some(Status::Ok) => record.ok,
            Some(Status::Failed) => !record.ok,
            Some(Status::Running | Status::Waiting) => false,
        };
        status && self.has(&record.tool, &record.caller, record.start_time)
    }

    /// Those that run or wait, oldest first.
    fn running(&self, api: &Api) -> Vec<Value> {
        let is_wanted = |waits: bool| match self.status {
            None | Some(Status::Running) => true,
            Some(Status::Waiting) => waits,
            Some(Status::Done | Status::Ok | Status::Failed) => false,
        };
        let calls = api.crib().registry().running().into_iter();
        calls
            .filter(|call| is_wanted(call.approval.is_some()))
            .filter(|call| self.has(&call.tool, &call.caller, call.since))
            .map(|call| running(&call))
            .collect()
    }
}

/// `GET /api/calls`
pub(super) async fn list(api: Api, asked: Asked) -> Answer {
    let paging = Paging::of(&asked.query)?;
    let wanted = Wanted::of(&asked)?;
    let after: Option<String> = paging.after(LIST)?;
    let mut calls = match after {
        None => wanted.running(&api),
        Some(_) => Vec::new(),
    };
    let mut next = None;
    if !matches!(wanted.status, Some(Status::Running | Status::Waiting)) {
        // All that run are on the first page, which may be longer for it: they are as many as there are places at most.
        let (records, more) = records(&api, wanted, after, paging.size).await?;
        next = records
            .last()
            .filter(|_| more)
            .map(|last| page_token(LIST, &last.call_id.to_string()));
        calls.extend(records.iter().map(record));
    }
    let mut page = json!({"calls": calls});
    if let Some(next) = next {
        page["nextPageToken"] = next.into();
    }
    Ok(json_response(StatusCode::OK, &page))
}

/// A page of records behind the call `after`, and whether there are more.
async fn records(
    api: &Api,
    wanted: Wanted,
    after: Option<String>,
    size: usize,
) -> Result<(Vec<CallRecord>, bool), Refusal> {
    let crib = Arc::clone(api.crib());
    crib.registry().recorded().await;
    let reading = tokio::task::spawn_blocking(move || {
        let mut is_behind = after.is_none();
        CallLogReader::new(crib.call_log_path()).latest(size + 1, |record| {
            if !is_behind {
                is_behind = Some(record.call_id.as_str()) == after.as_deref();
                return false;
            }
            wanted.has_record(record)
        })
    });
    let Ok(found) = reading.await else {
        return Err(Refusal::new(ErrorCode::Internal, "a bug in the server"));
    };
    let found = found.map_err(|error| Refusal::new(ErrorCode::StorageError, error.to_string()))?;
    let mut records = found.records;
    let more = records.len() > size;
    records.truncate(size);
    Ok((records, more))
}
