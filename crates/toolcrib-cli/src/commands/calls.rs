//! `toolcrib calls`: what was called, when, and what came of it.

use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use toolcrib::model::ids::BundleId;
use toolcrib::record::CallRecord;
use toolcrib::record::call_log::CallLogReader;
use toolcrib::{Crib, ErrorCode, ToolError};

use super::Done;
use crate::args::{CallsCommand, Global};
use crate::duration;
use crate::failure::CliError;
use crate::output::Output;
use crate::remote;

pub(super) fn calls(command: &CallsCommand, crib: &Crib, global: &Global, output: &Output) -> Done {
    let log = CallLogReader::new(crib.call_log_path());
    match command {
        CallsCommand::List {
            limit,
            tool,
            failed,
        } => {
            // Any spelling of a tool that is there; else the name as typed, for tools that are gone.
            let tool = tool.as_ref().map(|name| match crib.registry().find(name) {
                Ok(entry) => entry.spec().name.to_string(),
                Err(_) => name.clone(),
            });
            let wanted = |record: &CallRecord| {
                tool.as_ref().is_none_or(|tool| record.tool == *tool) && !(*failed && record.ok)
            };
            let found = log
                .latest(*limit as usize, wanted)
                .map_err(ToolError::from)?;
            if found.unreadable > 0 {
                output.say(&output.dim(&format!(
                    "{} damaged lines were passed over",
                    found.unreadable
                )));
            }
            // Those that run in servers of this home have no record yet.
            let mut listed = running(tool.as_deref(), *failed, crib, global, output);
            listed.extend(found.records.into_iter().map(Box::new).map(Listed::Over));
            listed.truncate(*limit as usize);
            list(&listed, output);
        }
        CallsCommand::Show { id } => {
            let record = log.find(id).map_err(ToolError::from)?.ok_or_else(|| {
                let id = toolcrib::model::text::shorten(id, 128);
                ToolError::new(
                    ErrorCode::CallNotFound,
                    format!("no call `{id}` is on record"),
                )
            })?;
            show(&record, output);
        }
        CallsCommand::Cancel { id } => cancel(id, crib, global, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A call in a list.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Listed {
    Over(Box<CallRecord>),
    Running(Running),
}

/// A call that runs in a server, or waits there.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Running {
    call_id: String,
    status: String,
    tool: String,
    caller: String,
    start_time: Timestamp,
}

impl Running {
    /// By what a server says; `None` if that is no call that runs.
    pub(super) fn of(row: &Value) -> Option<Self> {
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
fn cancel(id: &str, crib: &Crib, global: &Global, output: &Output) -> Result<(), CliError> {
    match remote::cancel_by_home(id, crib, global, output)? {
        Some(view) => {
            cancelled(&view, output);
            Ok(())
        }
        None => {
            let id = toolcrib::model::text::shorten(id, 128);
            let message = format!("no server of this home runs a call `{id}`");
            Err(CliError::from(ToolError::new(ErrorCode::CallNotFound, message)).with_hint(
                "`toolcrib calls list` shows those that run; a call of a command is ended by Ctrl-C there",
            ))
        }
    }
}

/// Says what became of a call that was to be cancelled.
pub(super) fn cancelled(view: &Value, output: &Output) {
    if output.json() {
        output.document(view);
        return;
    }
    let text = |key: &str| view.get(key).and_then(Value::as_str).unwrap_or_default();
    let id = toolcrib::model::text::visible(text("callId")).into_owned();
    match (text("status"), text("code")) {
        ("done", "CANCELLED") => output.say(&format!("call {id} is cancelled")),
        ("done", _) => output.say(&format!("call {id} was over first")),
        _ => output.say(&format!("call {id} is told to stop")),
    }
}

pub(super) fn list(records: &[Listed], output: &Output) {
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
                    call.start_time.strftime("%Y-%m-%d %H:%M:%S").to_string(),
                    call.tool.clone(),
                    call.status.clone(),
                    duration::measured(since.as_secs_f64() * 1000.0),
                    call.call_id.clone(),
                ]
            }
            Listed::Over(record) => vec![
                record.start_time.strftime("%Y-%m-%d %H:%M:%S").to_string(),
                tool_of(record, output),
                record.code.map_or("ok", ErrorCode::as_str).to_owned(),
                duration::measured(record.duration_ms),
                record.call_id.to_string(),
            ],
        })
        .collect();
    output.table(&["TIME (UTC)", "TOOL", "RESULT", "TOOK", "CALL"], &rows);
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

pub(super) fn show(record: &CallRecord, output: &Output) {
    if output.json() {
        output.document(record);
        return;
    }
    let visible = toolcrib::model::text::visible;
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
    output.line(&format!("started   {}", record.start_time));
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
