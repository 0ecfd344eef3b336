//! `toolcrib calls` through a server.

use std::process::ExitCode;

use serde_json::Value;
use toolcrib::record::CallRecord;
use toolcrib_server::client::{Ask, ClientError};

use super::super::Done;
use super::super::calls::{self, Listed, Running};
use crate::args::CallsCommand;
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::{self, Server};

pub(super) fn calls(command: &CallsCommand, server: &Server, output: &Output) -> Done {
    match command {
        CallsCommand::List {
            limit,
            tool,
            failed,
        } => {
            let mut path = format!("/api/calls?pageSize={}", (*limit).min(500));
            if let Some(tool) = tool {
                let name = tool_name(tool, server);
                path.push_str(&format!("&tool={}", Ask::encoded(&name)));
            }
            if *failed {
                path.push_str("&status=failed");
            }
            let listed = list(server, &path, *limit as usize)?;
            calls::list(&listed, output);
        }
        CallsCommand::Show { id } => {
            let path = format!("/api/calls/{}", Ask::encoded(id));
            let found = server.get(&path)?;
            match serde_json::from_value::<CallRecord>(as_record(&found)) {
                Ok(record) => calls::show(&record, output),
                // It runs, or its outcome was kept: what the server says of it.
                Err(_) if output.json() => output.document(&found),
                Err(_) => show(&found, output),
            }
        }
        CallsCommand::Cancel { id } => {
            let view = server.wait(server.client.cancel(id))?;
            calls::cancelled(&view, output);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Any spelling of a tool that is there; else the name as typed, for tools that are gone.
fn tool_name(tool: &str, server: &Server) -> String {
    let path = format!("/api/lookup?tool={}", Ask::encoded(tool));
    let found = server.runtime.block_on(server.client.get(&path));
    found
        .ok()
        .and_then(|found| Some(found.get("name")?.as_str()?.to_owned()))
        .unwrap_or_else(|| tool.to_owned())
}

/// The newest calls: those that run, then those that are over.
fn list(server: &Server, path: &str, limit: usize) -> Result<Vec<Listed>, CliError> {
    let mut listed = Vec::new();
    let mut page = path.to_owned();
    while listed.len() < limit {
        let answer = server.get(&page)?;
        let rows = answer.get("calls").and_then(Value::as_array);
        let rows = rows.ok_or_else(|| {
            let server_at = server.client.address().to_string();
            let why = "`calls` is missing in its list".to_owned();
            let error = ClientError::Strange {
                server: server_at,
                why,
            };
            remote::failed(&error, server.client.address())
        })?;
        listed.extend(rows.iter().filter_map(|row| {
            match serde_json::from_value::<CallRecord>(row.clone()) {
                Ok(record) => Some(Listed::Over(Box::new(record))),
                Err(_) => Running::of(row).map(Listed::Running),
            }
        }));
        match answer.get("nextPageToken").and_then(Value::as_str) {
            Some(token) => page = format!("{path}&pageToken={}", Ask::encoded(token)),
            None => break,
        }
    }
    listed.truncate(limit);
    Ok(listed)
}

/// What a server says of a call, as the record of it. Of one whose outcome was kept it says that.
fn as_record(found: &Value) -> Value {
    let mut record = found.clone();
    let metadata = found
        .pointer("/outcome/metadata")
        .and_then(Value::as_object);
    for (key, value) in metadata.into_iter().flatten() {
        if key != "sandbox" {
            record[key] = value.clone();
        }
    }
    record
}

/// A call of which there is no record yet.
fn show(view: &Value, output: &Output) {
    let visible = |key: &str| toolcrib::model::text::visible(super::text(view, key)).into_owned();
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
    output.line(&format!("started   {}", visible("startTime")));
}
