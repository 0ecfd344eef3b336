//! `toolcrib calls`: what was called, when, and what came of it.

use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib::model::ids::BundleId;
use toolcrib::model::text;
use toolcrib::record::CallRecord;
use toolcrib::{Crib, ErrorCode, ToolError};
use toolcrib_server::client::Ask;

use super::Done;
use crate::args::{CallsCommand, Global};
use crate::duration;
use crate::failure::CliError;
use crate::ids::short;
use crate::local_time;
use crate::output::Output;
use crate::remote;
use crate::remote::Backend;

pub(super) fn calls(
    command: &CallsCommand,
    backend: &Backend,
    global: &Global,
    output: &Output,
) -> Done {
    match command {
        CallsCommand::List {
            limit,
            tool,
            failed,
        } => {
            // Any spelling of a tool that is there; else the name as typed, for tools that are gone.
            let tool = tool.as_ref().map(|name| {
                let found = backend.wait_raw(remote::look_up_at(name, &backend.client));
                found.map_or_else(|_| name.clone(), |found| found.spec.name.to_string())
            });
            let limit = *limit as usize;
            // Those that run in servers of this home have no record yet.
            let mut listed = match backend.crib() {
                Some(crib) => running(tool.as_deref(), *failed, crib, global, output),
                None => Vec::new(),
            };
            listed.extend(latest(tool.as_deref(), *failed, limit, backend, output)?);
            listed.truncate(limit);
            list(&listed, output);
        }
        CallsCommand::Show { id } => {
            let id = &whole_id(id, backend)?;
            let path = format!("/api/calls/{}", Ask::encoded(id));
            let of_log = format!("{path}?record=true");
            let record = backend.wait_raw(backend.client.get_as(&of_log));
            match (record, backend.crib()) {
                (Ok(record), _) => show(&record, output),
                (Err(error), Some(_)) if matches!(error.status(), Some(400 | 404)) => {
                    let id = text::shorten(id, 128);
                    let message = format!("no call `{id}` is on record");
                    return Err(ToolError::new(ErrorCode::CallNotFound, message).into());
                }
                // It may run, or have ended with nothing but its outcome.
                (Err(error), None) if error.status() == Some(404) => {
                    show_view(&backend.get(&path)?, output);
                }
                (Err(error), _) => return Err(backend.failed(&error)),
            }
        }
        CallsCommand::Cancel { id } => {
            let id = &running_id(id, backend, global, output);
            let view = match backend.crib() {
                Some(crib) => cancel(id, crib, global, output)?,
                None => backend.wait(backend.client.cancel(id))?,
            };
            cancelled(&view, output);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// How many of the latest calls are looked through for the end of an id.
const SEARCHED: usize = 5000;

/// An id of our own making as people see it, its last characters; one that a caller chose is shown whole.
fn shown_id<'a>(id: &'a str, output: &Output) -> &'a str {
    match output.plain() || !is_own_id(id) {
        true => id,
        false => short(id),
    }
}

fn is_own_id(id: &str) -> bool {
    id.len() == 36 && id.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

/// Whether a word could be the end of one of our ids.
fn is_end_of_id(word: &str) -> bool {
    (4..36).contains(&word.len())
        && word
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, 'a'..='f' | '-'))
}

/// The whole id for what was typed: `last`, the end of an id, or an id.
fn whole_id(word: &str, backend: &Backend) -> Result<String, CliError> {
    let is_last = word == "last";
    if !is_last && !is_end_of_id(word) {
        return Ok(word.to_owned());
    }
    let (mut next, mut found, mut seen) = ("/api/calls?pageSize=500".to_owned(), Vec::new(), 0);
    while seen < SEARCHED {
        let page: CallPage = backend.get_as(&next)?;
        let ids = page.calls.iter().filter_map(|row| row["callId"].as_str());
        let ids: Vec<&str> = ids.collect();
        if is_last && let Some(newest) = ids.first() {
            return Ok((*newest).to_owned());
        }
        seen += ids.len();
        if ids.contains(&word) {
            return Ok(word.to_owned());
        }
        found.extend(
            ids.iter()
                .filter(|id| id.ends_with(word))
                .map(|id| (*id).to_owned()),
        );
        match page.next_page_token {
            Some(token) => {
                next = format!("/api/calls?pageSize=500&pageToken={}", Ask::encoded(&token));
            }
            None => break,
        }
    }
    found.dedup();
    match found.as_slice() {
        [] if is_last => {
            Err(ToolError::new(ErrorCode::CallNotFound, "there is no call on record yet").into())
        }
        // It may be a short id that a caller chose.
        [] => Ok(word.to_owned()),
        [one] => Ok(one.clone()),
        several => {
            let several: Vec<&str> = several.iter().map(String::as_str).collect();
            let message = format!(
                "`{word}` ends the ids of several calls: {}",
                text::or_list(&several[..several.len().min(3)])
            );
            Err(CliError::usage(message).with_hint("type more of the id"))
        }
    }
}

/// The whole id of a call that runs, for the end of it; else what was typed.
fn running_id(word: &str, backend: &Backend, global: &Global, output: &Output) -> String {
    if !is_end_of_id(word) {
        return word.to_owned();
    }
    let rows = match backend.crib() {
        Some(crib) => remote::running_calls(crib, global, output),
        None => backend
            .get_as("/api/calls?pageSize=500")
            .map_or_else(|_| Vec::new(), |page: CallPage| page.calls),
    };
    let running = rows.iter().filter_map(Running::of);
    let mut ids = running
        .map(|call| call.call_id)
        .filter(|id| id.ends_with(word));
    match (ids.next(), ids.next()) {
        (Some(id), None) => id,
        _ => word.to_owned(),
    }
}

/// A page of calls.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallPage {
    calls: Vec<Value>,
    #[serde(default)]
    unreadable: u64,
    next_page_token: Option<String>,
}

/// The newest calls: those that run in the server that is asked, then those that are over.
fn latest(
    tool: Option<&str>,
    failed: bool,
    limit: usize,
    backend: &Backend,
    output: &Output,
) -> Result<Vec<Listed>, CliError> {
    let mut path = format!("/api/calls?pageSize={}", limit.clamp(1, 500));
    if let Some(tool) = tool {
        path.push_str(&format!("&tool={}", Ask::encoded(tool)));
    }
    if failed {
        path.push_str("&status=failed");
    }
    let mut listed = Vec::new();
    let (mut next, mut unreadable) = (path.clone(), 0);
    while listed.len() < limit {
        let page: CallPage = backend.get_as(&next)?;
        unreadable += page.unreadable;
        listed.extend(page.calls.into_iter().filter_map(|row| {
            match CallRecord::deserialize(&row) {
                Ok(record) => Some(Listed::Over(Box::new(record))),
                Err(_) => Running::of(&row).map(Listed::Running),
            }
        }));
        match page.next_page_token {
            Some(token) => next = format!("{path}&pageToken={}", Ask::encoded(&token)),
            None => break,
        }
    }
    if unreadable > 0 {
        let line = format!("skipped {unreadable} damaged lines");
        output.say(&output.dim(&line));
    }
    Ok(listed)
}

/// A call in a list.
#[derive(Serialize)]
#[serde(untagged)]
enum Listed {
    Over(Box<CallRecord>),
    Running(Running),
}

/// A call that runs in a server, or waits there.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Running {
    call_id: String,
    status: String,
    tool: String,
    caller: String,
    start_time: Timestamp,
}

impl Running {
    /// As a server reports it; `None` if the call does not run.
    fn of(row: &Value) -> Option<Self> {
        let text = |key: &str| Some(row.get(key)?.as_str()?.to_owned());
        Some(Running {
            call_id: text("callId")?,
            status: text("status").filter(|status| status != "done")?,
            tool: text("tool")?,
            caller: text("caller")?,
            start_time: text("startTime")?.parse().ok()?,
        })
    }
}

/// The calls that servers of this home run now.
fn running(
    tool: Option<&str>,
    failed: bool,
    crib: &Crib,
    global: &Global,
    output: &Output,
) -> Vec<Listed> {
    if failed {
        return Vec::new();
    }
    let rows = remote::running_calls(crib, global, output);
    rows.iter()
        .filter_map(Running::of)
        .filter(|call| tool.is_none_or(|tool| call.tool == tool))
        .map(Listed::Running)
        .collect()
}

/// Cancels a call that a server of this home runs.
fn cancel(id: &str, crib: &Crib, global: &Global, output: &Output) -> Result<Value, CliError> {
    let cancelled = remote::cancel_by_home(id, crib, global, output)?;
    cancelled.ok_or_else(|| {
        let id = text::shorten(id, 128);
        let message = format!("no server of this home runs a call `{id}`");
        CliError::from(ToolError::new(ErrorCode::CallNotFound, message)).with_hint(
            "`toolcrib calls list` shows those that run; a call of a command is ended by Ctrl-C there",
        )
    })
}

/// Says what became of a call that was to be cancelled.
fn cancelled(view: &Value, output: &Output) {
    if output.json() {
        output.document(view);
        return;
    }
    let text = |key: &str| view.get(key).and_then(Value::as_str).unwrap_or_default();
    let id = text::visible(text("callId")).into_owned();
    match (text("status"), text("code")) {
        ("done", "CANCELLED") => output.say(&format!("call {id} is cancelled")),
        ("done", _) => output.say(&format!("call {id} had ended already")),
        _ => output.say(&format!("asked call {id} to stop")),
    }
}

fn list(records: &[Listed], output: &Output) {
    if output.json() {
        output.document(&records);
        return;
    }
    if records.is_empty() && !output.plain() {
        output.say("no calls on record yet: try `toolcrib run list_directory path=.`");
        return;
    }
    let rows: Vec<Vec<String>> = records
        .iter()
        .map(|listed| match listed {
            Listed::Running(call) => {
                let since = Timestamp::now().duration_since(call.start_time);
                let since = Duration::try_from(since).unwrap_or_default();
                vec![
                    time_of(call.start_time, output),
                    call.tool.clone(),
                    call.status.clone(),
                    duration::measured(since.as_secs_f64() * 1000.0),
                    shown_id(&call.call_id, output).to_owned(),
                ]
            }
            Listed::Over(record) => vec![
                time_of(record.start_time, output),
                tool_of(record, output),
                record.code.map_or("ok", ErrorCode::as_str).to_owned(),
                duration::measured(record.duration_ms),
                shown_id(record.call_id.as_str(), output).to_owned(),
            ],
        })
        .collect();
    output.table(&["TIME", "TOOL", "RESULT", "TOOK", "CALL"], &rows);
}

/// When a call began. Programs get UTC: their rows have no heading that could say which zone it is.
fn time_of(time: Timestamp, output: &Output) -> String {
    match output.plain() {
        true => time.strftime("%Y-%m-%d %H:%M:%S").to_string(),
        false => local_time::second(time),
    }
}

/// Which tool it was. Of a stored one people want to know the bundle and the version; programs have them in the JSON.
fn tool_of(record: &CallRecord, output: &Output) -> String {
    let own = |bundle: &str| BundleId::OWN.iter().any(|(_, slug)| *slug == bundle);
    match (&record.bundle, &record.slug, &record.version) {
        (Some(bundle), Some(slug), Some(version))
            if !output.plain() && !own(bundle.as_str()) && bundle.as_str() != "app" =>
        {
            format!("{bundle}/{slug}@{version}")
        }
        _ => record.tool.clone(),
    }
}

fn show(record: &CallRecord, output: &Output) {
    if output.json() {
        output.document(record);
        return;
    }
    let visible = text::visible;
    let result = match (record.code, &record.message) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_string(),
        (None, _) => "ok".to_owned(),
    };
    let origin = match (&record.bundle, &record.version) {
        (Some(bundle), Some(version)) => format!(" ({bundle}, {version})"),
        _ => String::new(),
    };
    output.line(&format!("call      {}", record.call_id));
    output.line(&format!(
        "tool      {}{}",
        visible(&record.tool),
        visible(&origin)
    ));
    output.line(&format!("result    {}", visible(&result)));
    output.line(&format!(
        "started   {}",
        local_time::second(record.start_time)
    ));
    output.line(&format!(
        "took      {}: {} waiting, {} running",
        duration::measured(record.duration_ms),
        duration::measured(record.queue_time_ms),
        duration::measured(record.execution_time_ms)
    ));
    if let Some(parent) = &record.parent {
        output.line(&format!("within    {parent}"));
    }
    if let Some(approval) = &record.approval {
        let verdict = if approval.approved {
            "approved"
        } else {
            "denied"
        };
        output.line(&format!(
            "approval  {verdict} by {}: {}",
            visible(&approval.by),
            visible(&approval.reason)
        ));
    }
    if let Some(note) = &record.hook {
        let end = match note.over {
            true => "",
            false => "; its end is not known",
        };
        output.line(&format!(
            "hook      `{}` of {}, answered {}{end}",
            visible(&note.tool),
            visible(&note.client),
            note.answer.as_str()
        ));
    }
    for exchange in &record.network {
        let status = exchange.status.map_or_else(
            || "no answer".to_owned(),
            |status| format!("status {status}"),
        );
        output.line(&format!(
            "network   {} {}: {status}, {} bytes sent, {} received",
            visible(&exchange.method),
            visible(&exchange.host),
            exchange.sent,
            exchange.received
        ));
    }
    let parameters = serde_json::to_string_pretty(&record.parameters).unwrap_or_default();
    output.line(&format!("with      {}", visible(&parameters)));
}

/// A call that has no record: what the server knows of it.
fn show_view(view: &Value, output: &Output) {
    if output.json() {
        return output.document(view);
    }
    let visible = |key: &str| {
        let text = view.get(key).and_then(Value::as_str).unwrap_or_default();
        text::visible(text).into_owned()
    };
    output.line(&format!("call      {}", visible("callId")));
    output.line(&format!("tool      {}", visible("tool")));
    let result = match (visible("code"), visible("message")) {
        (code, message) if !code.is_empty() => format!("{code}: {message}"),
        _ => match visible("status").as_str() {
            "done" => "ok".to_owned(),
            status => status.to_owned(),
        },
    };
    output.line(&format!("result    {result}"));
    output.line(&format!(
        "started   {}",
        local_time::of_text(&visible("startTime"))
    ));
}
