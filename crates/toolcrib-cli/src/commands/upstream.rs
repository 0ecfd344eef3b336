//! `toolcrib upstream`: MCP servers whose tools are used through Toolcrib.

mod import;

use std::future::Future;
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Map, Value, json};
use toolcrib::config::Replace;
use toolcrib::crib::{ChangeRow, UpstreamCandidate, UpstreamRow, probe_shown};
use toolcrib::model::text::{shorten, visible, visible_line};
use toolcrib::upstream::{self, Change, UpstreamSettings};
use toolcrib::{Crib, ErrorCode, Slug, ToolError};

use super::confirm::{confirmed, declined};
use super::{Done, open};
use crate::args::{Global, UpstreamAddArgs, UpstreamCommand};
use crate::failure::CliError;
use crate::output::Output;
use crate::progress;
use crate::prompt::Screen;
use crate::remote;

/// How long somebody may take to log in at a server that is being added.
const LOGIN_TIME: Duration = Duration::from_secs(300);

pub(super) fn upstream(command: &UpstreamCommand, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    match command {
        UpstreamCommand::Add(args) => add(args, &crib, global, output)?,
        UpstreamCommand::Import(args) => return import::import(args, &crib, global, output),
        UpstreamCommand::List => {
            let rows: Vec<UpstreamRow> = crib.upstreams().iter().map(|view| view.row()).collect();
            print_list(&json!(rows), output);
        }
        UpstreamCommand::Show { name } => print_shown(&crib.upstream(name)?.shown(), output),
        UpstreamCommand::Test { names } => return test(names, &crib, output),
        UpstreamCommand::Accept { name, tools, yes } => {
            accept(name, tools, *yes, &crib, global, output)?;
        }
        UpstreamCommand::Login {
            name,
            no_browser,
            wait,
        } => {
            let show = page(*no_browser, output);
            let patience = Duration::from_secs(*wait);
            let logging_in = crib.log_in_upstream(name, patience, show);
            let issuer = remote::runtime()?.block_on(logging_in)?;
            if output.json() {
                output.document(&json!({"name": name, "issuer": issuer}));
            } else {
                output.say(&format!(
                    "logged in at `{}` by {}",
                    visible(name),
                    shorten(&visible(&issuer), 200)
                ));
            }
        }
        UpstreamCommand::Logout { name } => {
            let was_there = crib.log_out_upstream(name)?;
            if output.json() {
                output.document(&json!({"name": name, "loggedOut": was_there}));
            } else {
                let name = visible(name);
                output.say(&match was_there {
                    true => format!("forgot the login at `{name}`; the server was not told"),
                    false => format!("there is no login at `{name}`"),
                });
            }
        }
        UpstreamCommand::Rm { names, yes: _ } => remove(names, &crib, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows a person the page to log in at: always as a text, and in a browser where there is one.
fn page(no_browser: bool, output: &Output) -> impl Fn(&str) + Send + Sync + 'static {
    let opens = !no_browser && std::io::stderr().is_terminal() && !output.json();
    move |url: &str| {
        eprintln!("to log in, open this page:\n  {url}");
        let has_screen = ["WAYLAND_DISPLAY", "DISPLAY"]
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
        if opens && has_screen {
            // Where there is no such program, the address is there to be opened by hand.
            let _ = std::process::Command::new("xdg-open")
                .arg(url)
                .stdin(std::process::Stdio::null())
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .spawn();
        }
    }
}

/// The settings that somebody typed.
pub(super) fn typed(args: &UpstreamAddArgs) -> Result<UpstreamCandidate, CliError> {
    let name = upstream::name(&args.name).map_err(CliError::usage)?;
    let mut fields = Map::new();
    let pairs = |texts: &[String], what: &str| -> Result<Value, CliError> {
        let mut pairs = Map::new();
        for text in texts {
            let (key, value) = text
                .split_once('=')
                .ok_or_else(|| CliError::usage(format!("`--{what}` takes NAME=VALUE")))?;
            pairs.insert(key.trim().to_owned(), value.trim().into());
        }
        Ok(Value::Object(pairs))
    };
    match (&args.url, args.command.split_first()) {
        (Some(url), _) => {
            fields.insert("url".to_owned(), url.as_str().into());
            if !args.header.is_empty() {
                fields.insert("headers".to_owned(), pairs(&args.header, "header")?);
            }
            if args.oauth {
                fields.insert("auth".to_owned(), "oauth".into());
            }
        }
        (None, Some((program, rest))) => {
            fields.insert("command".to_owned(), program.as_str().into());
            fields.insert("args".to_owned(), json!(rest));
            if !args.env.is_empty() {
                fields.insert("env".to_owned(), pairs(&args.env, "env")?);
            }
            if let Some(cwd) = &args.cwd {
                let cwd = cwd
                    .canonicalize()
                    .map_err(|error| CliError::usage(format!("`--cwd`: {error}")))?;
                fields.insert("cwd".to_owned(), cwd.to_string_lossy().into());
            }
        }
        (None, None) => return Err(CliError::usage("give a program after `--`, or `--url`")),
    }
    if let Some(timeout) = args.timeout_ms {
        fields.insert("timeoutMs".to_owned(), timeout.into());
    }
    let policy = args
        .allow
        .iter()
        .map(|tool| (tool.clone(), json!({"approval": "allow"})));
    let policy: Map<String, Value> = policy.collect();
    if !policy.is_empty() {
        fields.insert("tools".to_owned(), policy.into());
    }
    let settings =
        UpstreamSettings::read(&fields).map_err(|fault| CliError::usage(fault.to_string()))?;
    Ok(UpstreamCandidate { name, settings })
}

fn add(
    args: &UpstreamAddArgs,
    crib: &Crib,
    global: &Global,
    output: &Output,
) -> Result<(), CliError> {
    let candidate = typed(args)?;
    let name = &candidate.name;
    if !args.replace && crib.upstream(name.as_str()).is_ok() {
        let message = format!("there is an upstream server `{name}` already");
        return Err(
            CliError::from(ToolError::new(ErrorCode::Conflict, message)).with_hint(format!(
                "`--replace` replaces it, `toolcrib upstream rm {name}` removes it"
            )),
        );
    }
    if args.oauth {
        let show = page(false, output);
        let logging_in = crib.log_in_candidate(&candidate, LOGIN_TIME, show);
        remote::runtime()?.block_on(logging_in)?;
    }
    let probe = wait(name.as_str(), output, crib.probe_candidate(&candidate))??;
    candidate.check(&probe).map_err(|error| {
        CliError::from(error)
            .with_hint("nothing was added; `--allow` takes a tool as the server names it")
    })?;
    let document = probe_shown(name, &probe, &[]);
    if !args.yes {
        say_tools(&document, output);
        if !confirmed(
            &format!("add `{name}` with these tools? [y/n] "),
            global,
            output,
        )? {
            return Err(declined("nothing was added"));
        }
    } else {
        say_warnings(&document, output);
        for left_out in left_out(&document) {
            output.say(&left_out);
        }
    }
    let replace = if args.replace {
        Replace::Allowed
    } else {
        Replace::Never
    };
    crib.add_upstream(&candidate, Some(&probe), replace)?;
    if output.json() {
        output.document(&document);
    } else {
        say_renamed(name, |_| true, crib, output);
        match probe.tools.len() {
            0 => output.say(&format!(
                "{} added `{name}`, which has no tool that can be used; `toolcrib upstream rm {name}` removes it",
                output.bold("warning:")
            )),
            tools => output.say(&format!(
                "added `{name}` with {}; `toolcrib list` shows them, `toolcrib upstream rm {name}` removes them",
                count(tools, "tool")
            )),
        }
    }
    Ok(())
}

/// Waits for a server.
fn wait<T>(what: &str, output: &Output, work: impl Future<Output = T>) -> Result<T, CliError> {
    Ok(remote::runtime()?.block_on(alive(what, output, work)))
}

/// Does what takes as long as a server takes, with a sign of life.
pub(super) async fn alive<T>(what: &str, output: &Output, work: impl Future<Output = T>) -> T {
    let what = format!("connecting to {}", shorten(&visible_line(what), 60));
    progress::show(output, &Screen::new(), &what, work).await
}

/// Says by which names tools are called that others were faster to take theirs.
fn say_renamed(name: &Slug, is_meant: impl Fn(&str) -> bool, crib: &Crib, output: &Output) {
    for (own, here) in crib.renamed_tools(name) {
        if is_meant(&own) {
            output.say(&format!(
                "its `{}` is called `{here}` here: something else has that name",
                shorten(&visible_line(&own), 80)
            ));
        }
    }
}

/// A number of things.
fn count(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    }
}

/// Shows a person what there is to accept: what [`probe_shown`] says of the tools.
pub(super) fn say_tools(probe: &Value, output: &Output) {
    let tools = probe["tools"].as_array().map(Vec::as_slice);
    let tools = tools.unwrap_or_default();
    output.say(&format!(
        "{} (MCP {}) has {}:",
        server_word(&probe["server"]),
        line_of(probe, "protocol"),
        count(tools.len(), "tool")
    ));
    for tool in tools {
        let name = shorten(&line_of(tool, "name"), 80);
        output.say(&format!("  {}", output.bold(&name)));
        let description = visible(tool["description"].as_str().unwrap_or_default());
        for line in description.lines().take(40) {
            output.say(&format!("    {line}"));
        }
        for warning in warnings(tool) {
            output.say(&format!("    {} {warning}", output.bold("warning:")));
        }
    }
    for left_out in left_out(probe) {
        output.say(&left_out);
    }
}

/// The same, only what draws the eye: for whoever accepts without looking.
pub(super) fn say_warnings(probe: &Value, output: &Output) {
    for tool in probe["tools"].as_array().into_iter().flatten() {
        for warning in warnings(tool) {
            let name = shorten(&line_of(tool, "name"), 80);
            let word = output.bold("warning:");
            output.say(&format!("{} {word} {warning}", output.bold(&name)));
        }
    }
}

/// What a person should know of a tool before trusting its looks.
fn warnings(tool: &Value) -> Vec<String> {
    let warnings = tool["warnings"].as_array().into_iter().flatten();
    warnings
        .map(|warning| visible_line(warning.as_str().unwrap_or_default()).into_owned())
        .collect()
}

/// A line for each tool that a server has and nobody can use.
fn left_out(probe: &Value) -> Vec<String> {
    let rejected = probe["rejected"].as_array().into_iter().flatten();
    rejected
        .map(|tool| {
            let reason = line_of(tool, "reason");
            match shorten(&line_of(tool, "name"), 80).as_str() {
                // It is about all of those behind.
                "" if reason.starts_with("the server has more") => {
                    format!("  some tools are left out: {reason}")
                }
                "" => format!("  a tool without a name is left out: {reason}"),
                name => format!("  {name} is left out: {reason}"),
            }
        })
        .collect()
}

/// A text of somebody else's, fit to stand in a line of ours.
fn line_of(value: &Value, key: &str) -> String {
    visible_line(value[key].as_str().unwrap_or_default()).into_owned()
}

fn server_word(server: &Value) -> String {
    let text = |key: &str| shorten(&line_of(server, key), 80);
    match text("name").as_str() {
        "" => "the server".to_owned(),
        name => format!("{name} {}", text("version")).trim_end().to_owned(),
    }
}

/// Prints rows of [`UpstreamRow`].
pub(super) fn print_list(rows: &Value, output: &Output) {
    if output.json() {
        return output.document(rows);
    }
    let rows = rows.as_array().map(Vec::as_slice).unwrap_or_default();
    if rows.is_empty() && !output.plain() {
        return output.say("there are no upstream servers; `toolcrib upstream add` adds one");
    }
    let text = line_of;
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let state = match row["enabled"] == json!(false) {
                true => "off".to_owned(),
                false => match row["changes"].as_array().map_or(0, Vec::len) {
                    0 => text(row, "state"),
                    changes => format!("{changes} changed"),
                },
            };
            vec![
                text(row, "name"),
                row["tools"].to_string(),
                text(row, "approval"),
                state,
                text(row, "reachedBy"),
            ]
        })
        .collect();
    output.table(&["NAME", "TOOLS", "CALLS", "STATE", "REACHED BY"], &cells);
    for row in rows {
        for note in row["notes"].as_array().into_iter().flatten() {
            output.say(&format!(
                "{}: {}",
                text(row, "name"),
                visible(note.as_str().unwrap_or_default())
            ));
        }
    }
}

/// Prints what [`UpstreamView::shown`](toolcrib::crib::UpstreamView::shown) says.
pub(super) fn print_shown(shown: &Value, output: &Output) {
    if output.json() {
        return output.document(shown);
    }
    let text = line_of;
    output.line(&format!(
        "{}  {}",
        output.bold(&text(shown, "name")),
        text(shown, "reachedBy")
    ));
    if !shown["server"].is_null() {
        output.line(&format!(
            "  {} (MCP {}), accepted {}",
            server_word(&shown["server"]),
            text(shown, "protocol"),
            text(shown, "pinnedAt")
        ));
    }
    for note in shown["notes"].as_array().into_iter().flatten() {
        output.line(&format!("  {}", visible(note.as_str().unwrap_or_default())));
    }
    for tool in shown["accepted"].as_array().into_iter().flatten() {
        let first = visible(tool["description"].as_str().unwrap_or_default());
        let first = first.lines().next().unwrap_or_default();
        output.line(&format!(
            "  {} ({}): {}",
            output.bold(&text(tool, "name")),
            text(tool, "approval"),
            shorten(first, 200)
        ));
        for warning in warnings(tool) {
            output.line(&format!("    {} {warning}", output.bold("warning:")));
        }
    }
    print_changes(&shown["changes"], output);
}

fn print_changes(changes: &Value, output: &Output) {
    for change in changes.as_array().into_iter().flatten() {
        let (tool, kind) = (
            change["tool"].as_str().unwrap_or_default(),
            change["change"].as_str().unwrap_or_default(),
        );
        output.line(&format!("  {} is {kind}", output.bold(&visible_line(tool))));
        for line in change["diff"].as_str().unwrap_or_default().lines() {
            output.line(&format!("    {}", visible(line)));
        }
    }
}

/// Prints what [`probe_shown`] says.
pub(super) fn print_probe(probe: &Value, output: &Output) {
    let millis = |key: &str| probe[key].as_f64().unwrap_or_default().ceil();
    output.line(&format!(
        "{}: {}, MCP {}, {}, connected in {} ms, listed in {} ms",
        output.bold(&line_of(probe, "name")),
        server_word(&probe["server"]),
        line_of(probe, "protocol"),
        count(probe["tools"].as_array().map_or(0, Vec::len), "tool"),
        millis("connectMs"),
        millis("listMs"),
    ));
    for tool in probe["tools"].as_array().into_iter().flatten() {
        for warning in warnings(tool) {
            let name = shorten(&line_of(tool, "name"), 80);
            let word = output.bold("warning:");
            output.line(&format!("  {} {word} {warning}", output.bold(&name)));
        }
    }
    for left_out in left_out(probe) {
        output.line(&left_out);
    }
    print_changes(&probe["changes"], output);
    let stderr = visible(probe["stderr"].as_str().unwrap_or_default());
    if output.verbose() && !stderr.is_empty() {
        output.say(&stderr);
    }
}

fn test(names: &[String], crib: &Crib, output: &Output) -> Done {
    let names = match names {
        [] => crib
            .upstreams()
            .iter()
            .map(|view| view.name.to_string())
            .collect(),
        names => names.to_vec(),
    };
    let tests = names.iter().map(|name| crib.probe_upstream(name));
    // At once: one that hangs delays nobody's answer but the last.
    let tests = futures_util::future::join_all(tests);
    let tested = wait(&names.join(", "), output, tests)?;
    let mut documents = Vec::new();
    let mut failed = None;
    for (name, tested) in names.iter().zip(tested) {
        match tested {
            Ok((probe, changes)) => {
                let name = upstream::name(name).map_err(CliError::usage)?;
                let document = probe_shown(&name, &probe, &changes);
                if !output.json() {
                    print_probe(&document, output);
                    if !changes.is_empty() {
                        output.say(&format!(
                            "`toolcrib upstream accept {name}` accepts what changed"
                        ));
                    }
                }
                documents.push(document);
            }
            Err(error) => {
                documents.push(json!({"name": name, "error": error}));
                if !output.json() {
                    say_failure(name, &error, output);
                }
                failed.get_or_insert(error.code().exit_code());
            }
        }
    }
    if output.json() {
        output.document(&documents);
    }
    Ok(failed.map_or(ExitCode::SUCCESS, ExitCode::from))
}

pub(super) fn say_failure(name: &str, error: &ToolError, output: &Output) {
    output.line(&format!(
        "{}: {}: {}",
        output.bold(&visible_line(name)),
        error.code(),
        visible(error.message())
    ));
    let stderr = error
        .details()
        .and_then(|details| details.get("stderr")?.as_str());
    for line in stderr.unwrap_or_default().lines() {
        output.line(&format!("  {}", visible(line)));
    }
}

fn accept(
    name: &str,
    tools: &[String],
    yes: bool,
    crib: &Crib,
    global: &Global,
    output: &Output,
) -> Result<(), CliError> {
    let (probe, changes) = wait(name, output, crib.probe_upstream(name))??;
    let only = (!tools.is_empty()).then_some(tools);
    let is_meant =
        |change: &&Change| only.is_none_or(|only| only.iter().any(|tool| tool == change.tool()));
    let meant: Vec<&Change> = changes.iter().filter(is_meant).collect();
    let rows: Vec<ChangeRow> = meant.iter().map(|change| ChangeRow::of(change)).collect();
    // Also where nobody is asked.
    let there = |change: &&Change| probe.tools.iter().find(|tool| tool.name == change.tool());
    for tool in meant.iter().filter_map(there) {
        for warning in tool.warnings() {
            let name = output.bold(&shorten(&visible_line(&tool.name), 80));
            let word = output.bold("warning:");
            output.say(&format!("{name} {word} {}", visible_line(&warning)));
        }
    }
    if !yes && !meant.is_empty() {
        for row in &rows {
            output.say(&format!("{} is {}", output.bold(&row.tool), row.change));
            for line in row.diff.lines() {
                output.say(&format!("  {}", visible(line)));
            }
        }
        if !confirmed(&format!("accept this of `{name}`? [y/n] "), global, output)? {
            return Err(declined("nothing was accepted"));
        }
    }
    crib.accept_upstream(name, &probe, only)?;
    if output.json() {
        output.document(&json!({"name": name, "accepted": rows}));
    } else if meant.is_empty() {
        output.say(&format!("all tools of `{name}` are what was accepted"));
    } else {
        if let Ok(name) = upstream::name(name) {
            let is_meant = |own: &str| meant.iter().any(|change| change.tool() == own);
            say_renamed(&name, is_meant, crib, output);
        }
        let changes = count(meant.len(), "change");
        output.say(&format!("accepted {changes} of `{name}`"));
    }
    Ok(())
}

fn remove(names: &[String], crib: &Crib, output: &Output) -> Result<(), CliError> {
    // All or none, as far as that can be known.
    for name in names {
        crib.upstream(name)?;
    }
    for name in names {
        crib.remove_upstream(name)?;
    }
    if output.json() {
        output.document(&json!({ "removed": names }));
        return Ok(());
    }
    for name in names {
        output.say(&format!(
            "removed `{}`, and what was accepted of it",
            visible(name)
        ));
    }
    Ok(())
}
