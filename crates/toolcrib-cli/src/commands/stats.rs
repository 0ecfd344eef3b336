//! `toolcrib stats`: what the record of calls adds up to.
//!
//! The home has the record of all callers; a server that serves this home adds what only it knows. One that is named by `--server`
//! says everything itself.

use std::collections::BTreeMap;
use std::process::ExitCode;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::Value;
use toolcrib::model::text::visible;
use toolcrib::{Crib, ErrorCode, ToolError};
use toolcrib_server::client::Ask;

use super::Done;
use crate::args::{Global, StatsArgs};
use crate::duration;
use crate::failure::CliError;
use crate::local_time;
use crate::output::Output;
use crate::remote;

/// How many codes of one tool are shown to people.
const MAX_CODES: usize = 3;

/// The selection of figures to show.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Figures {
    total: Calls,
    tools: Vec<Tool>,
    other: Option<Calls>,
    approvals: BTreeMap<String, u64>,
    store: BTreeMap<String, u64>,
    server: Option<Server>,
}

#[derive(Deserialize)]
struct Tool {
    tool: String,
    #[serde(flatten)]
    calls: Calls,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Calls {
    calls: u64,
    ok: u64,
    codes: BTreeMap<String, u64>,
    duration_ms: Times,
    last_at: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Times {
    p50: f64,
    p95: f64,
    max: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Server {
    version: String,
    uptime_ms: f64,
    running_calls: u64,
    waiting_calls: u64,
    connections: u64,
    streams: u64,
}

pub(super) fn stats(args: &StatsArgs, global: &Global, output: &Output) -> Done {
    let since = args.since.map(|ago| {
        let ago = SignedDuration::try_from(ago).unwrap_or(SignedDuration::MAX);
        // Before time began is from the beginning.
        Timestamp::now().checked_sub(ago).unwrap_or(Timestamp::MIN)
    });
    let backend = crate::commands::backend(global, output)?;
    let mut value = backend.get(&path(since, args.tool.as_deref()))?;
    if let (Some(crib), Some(figures)) = (backend.crib(), value.as_object_mut()) {
        // A server does not have the figures of this process.
        figures.shift_remove("server");
        if let Some(server) = servers_figures(crib, global, output)? {
            figures.insert("server".to_owned(), server);
        }
    }
    if output.json() {
        output.document(&value);
        return Ok(ExitCode::SUCCESS);
    }
    let figures: Figures = serde_json::from_value(value).map_err(|error| {
        ToolError::new(
            ErrorCode::Internal,
            format!("the figures are not what was expected: {error}"),
        )
    })?;
    show(&figures, args, output);
    Ok(ExitCode::SUCCESS)
}

/// What the server of this home has to say of itself, if there is one.
fn servers_figures(
    crib: &Crib,
    global: &Global,
    output: &Output,
) -> Result<Option<Value>, CliError> {
    let Some(client) = remote::of_home(crib, global, output) else {
        return Ok(None);
    };
    // A moment's figures alone: the record is the same. A server that does not answer has nothing to add.
    let now = path(Some(Timestamp::now()), None);
    let answer = remote::runtime()?.block_on(client.get(&now));
    Ok(answer.ok().map(|mut answer| answer["server"].take()))
}

fn path(since: Option<Timestamp>, tool: Option<&str>) -> String {
    let since = since.map(|since| format!("since={since}"));
    let tool = tool.map(|tool| format!("tool={}", Ask::encoded(tool)));
    let query: Vec<String> = since.into_iter().chain(tool).collect();
    match query.is_empty() {
        true => "/api/stats".to_owned(),
        false => format!("/api/stats?{}", query.join("&")),
    }
}

fn show(figures: &Figures, args: &StatsArgs, output: &Output) {
    if figures.total.calls == 0 && !output.plain() {
        output.say(match (&args.tool, args.since) {
            (None, None) => "no calls on record yet: try `toolcrib run list_directory path=.`",
            _ => "no such calls on record; `toolcrib stats` shows all",
        });
    } else {
        table(figures, output);
    }
    if output.plain() {
        return;
    }
    output.line("");
    output.line(&format!("approvals  {}", list(&figures.approvals)));
    output.line(&format!("store      {}", list(&figures.store)));
    if let Some(server) = &figures.server {
        output.line(&format!(
            "server     {}, up {}; {} running, {} waiting; {}, {}",
            visible(&server.version),
            duration::measured(server.uptime_ms),
            server.running_calls,
            server.waiting_calls,
            counted(server.connections, "connections"),
            counted(server.streams, "streams"),
        ));
    }
}

/// How many there are of what, without what there is none of.
fn list(figures: &BTreeMap<String, u64>) -> String {
    let parts = figures.iter().filter(|(_, count)| **count > 0);
    let parts: Vec<String> = parts.map(|(what, count)| counted(*count, what)).collect();
    match parts.is_empty() {
        true => "none".to_owned(),
        false => parts.join(", "),
    }
}

/// A number of things: `1 tool`, `2 tools`. What has no plural, such as `damaged`, stays as it is.
fn counted(count: u64, several: &str) -> String {
    match count {
        1 => format!("1 {}", several.strip_suffix('s').unwrap_or(several)),
        count => format!("{count} {several}"),
    }
}

/// A column: its heading, how wide a line must be for it to be shown, and what it says.
type Column = (&'static str, usize, fn(&Calls, &Output) -> String);

const COLUMNS: [Column; 6] = [
    ("CALLS", 0, |calls, _| calls.calls.to_string()),
    ("OK", 0, |calls, _| calls.ok.to_string()),
    ("P50", 64, |calls, _| {
        duration::measured(calls.duration_ms.p50)
    }),
    ("P95", 0, |calls, _| {
        duration::measured(calls.duration_ms.p95)
    }),
    ("MAX", 80, |calls, _| {
        duration::measured(calls.duration_ms.max)
    }),
    ("LAST", 100, |calls, output| {
        let last = calls.last_at.map(|at| match output.plain() {
            true => at.strftime("%Y-%m-%d %H:%M").to_string(),
            false => local_time::minute(at),
        });
        last.unwrap_or_default()
    }),
];

fn table(figures: &Figures, output: &Output) {
    let width = if output.plain() {
        usize::MAX
    } else {
        output.columns()
    };
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .filter(|(_, least, _)| *least <= width)
        .collect();
    let row = |name: &str, calls: &Calls| {
        let mut row = vec![visible(name).into_owned()];
        row.extend(columns.iter().map(|(_, _, says)| says(calls, output)));
        row.push(failures(&calls.codes, output));
        row
    };
    let mut rows: Vec<Vec<String>> = figures
        .tools
        .iter()
        .map(|tool| row(&tool.tool, &tool.calls))
        .collect();
    if let Some(other) = &figures.other {
        rows.push(row("(not found)", other));
    }
    if rows.len() > 1 {
        rows.push(row("(all)", &figures.total));
    }
    let mut headings = vec!["TOOL"];
    headings.extend(columns.iter().map(|(heading, _, _)| *heading));
    headings.push("FAILED");
    output.table(&headings, &rows);
}

/// The codes of failures, the most frequent first.
fn failures(codes: &BTreeMap<String, u64>, output: &Output) -> String {
    let mut codes: Vec<(&String, &u64)> = codes.iter().collect();
    codes.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let most = if output.plain() {
        usize::MAX
    } else {
        MAX_CODES
    };
    let more = codes.len().saturating_sub(most);
    let mut parts: Vec<String> = codes
        .into_iter()
        .take(most)
        .map(|(code, count)| format!("{code} {count}"))
        .collect();
    if more > 0 {
        parts.push(format!("{more} more"));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_thing_is_not_several() {
        let figures = [("bundles", 1), ("damaged", 1), ("tools", 6), ("used", 0)];
        let figures = figures.map(|(what, count)| (what.to_owned(), count));
        assert_eq!(list(&figures.into()), "1 bundle, 1 damaged, 6 tools");
        assert_eq!(counted(0, "streams"), "0 streams");
        assert_eq!(list(&BTreeMap::new()), "none");
    }
}
