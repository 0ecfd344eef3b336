//! `toolcrib upstream`: MCP servers whose tools are used through Toolcrib.

mod approval;
mod import;
mod registry;
mod walled;

use std::future::Future;
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Map, Value, json};
use toolcrib::crib::UpstreamCandidate;
use toolcrib::model::text::{shorten, visible, visible_line};
use toolcrib::upstream::{self, UpstreamSettings};
use toolcrib::{Crib, ErrorCode, Slug, ToolError};
use toolcrib_server::client::{Ask, ClientError};

use super::Done;
use super::confirm::{confirmed, declined};
use crate::args::{Global, UpstreamAddArgs, UpstreamCommand};
use crate::failure::CliError;
use crate::output::Output;
use crate::progress;
use crate::prompt::Screen;
use crate::remote::{Backend, is_segment};

/// How long someone may take to log in at a server that is being added.
const LOGIN_TIME: Duration = Duration::from_secs(300);

/// How long an answer may take: another server may have to be waited for, twice.
const PATIENCE: Option<Duration> = Some(Duration::from_secs(150));

pub(super) fn upstream(
    command: &UpstreamCommand,
    backend: &Backend,
    global: &Global,
    output: &Output,
) -> Done {
    match command {
        UpstreamCommand::Add(args) => add(args, backend, global, output)?,
        UpstreamCommand::Import(args) => {
            let crib = backend.crib().ok_or_else(|| {
                CliError::usage(
                    "`toolcrib upstream import` reads files of this machine, and the server may be on another",
                )
                .with_hint("leave --server out, or add them one by one with `toolcrib upstream add`")
            })?;
            return import::import(args, crib, global, output);
        }
        UpstreamCommand::Allow(args) => approval::set("allow", args, backend, output)?,
        UpstreamCommand::Ask(args) => approval::set("ask", args, backend, output)?,
        UpstreamCommand::Deny(args) => approval::set("deny", args, backend, output)?,
        UpstreamCommand::List => {
            let rows: Vec<Value> = backend.rows("/api/upstreams?pageSize=500", "upstreams")?;
            print_list(&json!(rows), output);
        }
        UpstreamCommand::Show { name } => print_shown(&find(name, backend)?, output),
        UpstreamCommand::Test { names } => return test(names, backend, output),
        UpstreamCommand::Accept { name, tools, yes } => {
            accept_what(name, tools, *yes, Fetched::Before, backend, global, output)?;
        }
        UpstreamCommand::Update { name, yes } => {
            accept_what(name, &[], *yes, Fetched::Again, backend, global, output)?;
        }
        UpstreamCommand::Login {
            name,
            no_browser,
            wait,
        } => {
            let show = page(*no_browser, output);
            let patience = Duration::from_secs(*wait);
            let logging_in = own_logins(name, backend)?.log_in_upstream(name, patience, show);
            let issuer = backend.runtime.block_on(logging_in)?;
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
            let was_there = own_logins(name, backend)?.log_out_upstream(name)?;
            if output.json() {
                output.document(&json!({"name": name, "loggedOut": was_there}));
            } else {
                let name = visible(name);
                output.say(&match was_there {
                    true => format!("removed the login at `{name}`; the server was not informed"),
                    false => format!("there is no login at `{name}`"),
                });
            }
        }
        UpstreamCommand::Rm { names, yes: _ } => remove(names, backend, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A server, as it is shown. The crib has words for a name that cannot be part of an address.
fn find(name: &str, backend: &Backend) -> Result<Value, CliError> {
    if let (false, Some(crib)) = (is_segment(name), backend.crib()) {
        crib.upstream(name)?;
    }
    backend.get(&path(name))
}

fn path(name: &str) -> String {
    format!("/api/upstreams/{}", Ask::encoded(name))
}

/// The crib whose logins these are.
fn own_logins<'b>(name: &str, backend: &'b Backend) -> Result<&'b Crib, CliError> {
    let crib = backend.crib().map(AsRef::as_ref);
    crib.ok_or_else(|| {
        CliError::usage(format!(
            "logins are stored in the home directory of the server's Toolcrib, and a browser is sent back to its machine: `toolcrib upstream login {name}` there"
        ))
    })
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

/// The settings that someone typed.
fn typed(
    args: &UpstreamAddArgs,
    mut described: Option<Map<String, Value>>,
) -> Result<UpstreamCandidate, CliError> {
    let name = upstream::name(&args.name).map_err(CliError::usage)?;
    if (!args.header.is_empty() || args.oauth) && args.url.is_none() && described.is_none() {
        return Err(CliError::usage(
            "`--header` and `--oauth` need `--url` or `--registry`",
        ));
    }
    let is_described = described.is_some();
    let mut fields = described.take().unwrap_or_default();
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
        _ if is_described => match fields.contains_key("command") {
            true => {
                fields.insert("sandbox".to_owned(), walled::typed(args)?);
            }
            false if args.oauth => {
                fields.insert("auth".to_owned(), "oauth".into());
            }
            false => {}
        },
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
            fields.insert("sandbox".to_owned(), walled::typed(args)?);
        }
        (None, None) => {
            return Err(CliError::usage(
                "give a program after `--`, `--url` or `--registry`",
            ));
        }
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
    backend: &Backend,
    global: &Global,
    output: &Output,
) -> Result<(), CliError> {
    let Some(from) = &args.registry else {
        return add_typed(args, typed(args, None)?, backend, global, output);
    };
    let name = upstream::name(&args.name).map_err(CliError::usage)?;
    let (fields, secrets) = registry::fields(&name, from, args, backend, global, output)?;
    let candidate = typed(args, Some(fields))?;
    let crib = backend.crib().map(AsRef::as_ref);
    if let Some(crib) = crib {
        registry::keep(&secrets, crib)?;
    }
    let added = add_typed(args, candidate, backend, global, output);
    if let (Err(_), Some(crib)) = (&added, crib) {
        registry::drop_again(&secrets, crib);
    }
    added
}

fn add_typed(
    args: &UpstreamAddArgs,
    mut candidate: UpstreamCandidate,
    backend: &Backend,
    global: &Global,
    output: &Output,
) -> Result<(), CliError> {
    let name = &candidate.name.clone();
    if !args.replace && backend.get(&path(name.as_str())).is_ok() {
        let message = format!("there is an upstream server `{name}` already");
        return Err(
            CliError::from(ToolError::new(ErrorCode::Conflict, message)).with_hint(format!(
                "`--replace` replaces it, `toolcrib upstream rm {name}` removes it"
            )),
        );
    }
    if !args.yes && backend.crib().is_some() {
        walled::ask_to_write(&mut candidate.settings, global, output)?;
    }
    if let (true, Some(crib)) = (args.oauth, backend.crib()) {
        let show = page(false, output);
        let logging_in = crib.log_in_candidate(&candidate, LOGIN_TIME, show);
        backend.runtime.block_on(logging_in)?;
    }
    let mut body =
        json!({"name": name, "settings": candidate.settings.written(), "replace": args.replace});
    let send = |path: &str, body: &Value| -> Result<Value, CliError> {
        let sent = backend
            .client
            .json(Ask::post(path, body).patience(PATIENCE));
        let answer = backend.wait_raw(alive(name.as_str(), output, sent));
        answer.map_err(|error| match error.code() {
            Some(ErrorCode::ToolNotFound) => backend
                .failed(&error)
                .with_hint("nothing was added; `--allow` takes a tool as the server names it"),
            _ => backend.failed(&error),
        })
    };
    if !args.yes {
        let probe = send("/api/upstreams?dryRun=true", &body)?;
        say_tools(&probe, output);
        walled::say_network(&probe, output);
        if walled::ask_to_reach(&probe, &mut candidate.settings, global, output)? {
            body["settings"] = candidate.settings.written().into();
        }
        let question = format!("add `{name}` with these tools? [y/n] ");
        if !confirmed(&question, global, output)? {
            return Err(declined("nothing was added"));
        }
        body["digests"] = digests(&probe);
    }
    let document = send("/api/upstreams", &body)?;
    if args.yes {
        say_warnings(&document, output);
        for left_out in left_out(&document) {
            output.say(&left_out);
        }
        walled::say_network(&document, output);
    }
    if output.json() {
        output.document(&document);
    } else {
        say_renamed(name, |_| true, backend, output);
        match document["tools"].as_array().map_or(0, Vec::len) {
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

/// The digests of the tools that someone has seen: what is accepted is these and nothing else.
fn digests(probe: &Value) -> Value {
    let tools = probe["tools"].as_array().into_iter().flatten();
    let digests: Map<String, Value> = tools
        .map(|tool| {
            let name = tool["name"].as_str().unwrap_or_default();
            (name.to_owned(), tool["digest"].clone())
        })
        .collect();
    Value::Object(digests)
}

/// Shows progress while a server is contacted.
async fn alive<T>(what: &str, output: &Output, work: impl Future<Output = T>) -> T {
    let what = format!("connecting to {}", shorten(&visible_line(what), 60));
    progress::show(output, &Screen::new(), &what, work).await
}

/// Says by which names tools are called that others were faster to take theirs.
fn say_renamed(name: &Slug, is_meant: impl Fn(&str) -> bool, backend: &Backend, output: &Output) {
    let renamed = backend.crib().map(|crib| crib.renamed_tools(name));
    for (own, here) in renamed.unwrap_or_default() {
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

/// Shows a person what there is to accept: what a probe says of the tools.
fn say_tools(probe: &Value, output: &Output) {
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
    let (prompts, resources) = (probe["prompts"].as_u64(), probe["resources"].as_u64());
    for (number, thing) in [(prompts, "prompt"), (resources, "resource")] {
        if let Some(number @ 1..) = number {
            let things = count(usize::try_from(number).unwrap_or(usize::MAX), thing);
            output.say(&format!(
                "it also has {things}, which MCP clients of Toolcrib get"
            ));
        }
    }
}

/// Says only what draws the eye, to a person who accepts without looking.
fn say_warnings(probe: &Value, output: &Output) {
    for tool in probe["tools"].as_array().into_iter().flatten() {
        say_warnings_of(tool, output);
    }
}

fn say_warnings_of(tool: &Value, output: &Output) {
    for warning in warnings(tool) {
        let name = shorten(&line_of(tool, "name"), 80);
        let word = output.bold("warning:");
        output.say(&format!("{} {word} {warning}", output.bold(&name)));
    }
}

/// What a person should know of a tool before trusting its looks.
fn warnings(tool: &Value) -> Vec<String> {
    let warnings = tool["warnings"].as_array().into_iter().flatten();
    warnings
        .map(|warning| visible_line(warning.as_str().unwrap_or_default()).into_owned())
        .collect()
}

/// A line for each tool that a server has and no one can use.
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

/// A text of someone else's, fit to stand in a line of ours.
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

/// Prints rows of upstream servers.
fn print_list(rows: &Value, output: &Output) {
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
                row["sandbox"].as_str().unwrap_or("-").to_owned(),
                state,
                text(row, "reachedBy"),
            ]
        })
        .collect();
    output.table(
        &["NAME", "TOOLS", "CALLS", "WALL", "STATE", "REACHED BY"],
        &cells,
    );
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

/// Prints a server and what was accepted of it.
fn print_shown(shown: &Value, output: &Output) {
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
    walled::print_plan(&shown["plan"], output);
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

/// Prints what a probe says.
fn print_probe(probe: &Value, output: &Output) {
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

fn testing(name: &str) -> Ask {
    Ask::post_nothing(format!("{}/test", path(name))).patience(PATIENCE)
}

/// Which program of a server is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fetched {
    /// The one that is there.
    Before,
    /// The one that its registry has now.
    Again,
}

fn test(names: &[String], backend: &Backend, output: &Output) -> Done {
    let names = match names {
        [] => {
            let rows: Vec<Value> = backend.rows("/api/upstreams?pageSize=500", "upstreams")?;
            rows.iter()
                .filter_map(|row| Some(row["name"].as_str()?.to_owned()))
                .collect()
        }
        names => names.to_vec(),
    };
    let tests = names.iter().map(|name| backend.client.json(testing(name)));
    // At once: one that hangs delays no one's answer but the last.
    let tests = futures_util::future::join_all(tests);
    let all = names.join(", ");
    let tested = alive(&all, output, tests);
    let mut documents = Vec::new();
    let mut failed = None;
    for (name, tested) in names.iter().zip(backend.runtime.block_on(tested)) {
        match tested {
            Ok(document) => {
                if !output.json() {
                    print_probe(&document, output);
                    if document["changes"]
                        .as_array()
                        .is_some_and(|all| !all.is_empty())
                    {
                        output.say(&format!(
                            "`toolcrib upstream accept {name}` accepts what changed"
                        ));
                    }
                }
                documents.push(document);
            }
            // The problem of this one; the others may be fine.
            Err(ClientError::Refused { error, .. }) => {
                documents.push(json!({"name": name, "error": error}));
                if !output.json() {
                    say_failure(name, &error, output);
                }
                failed.get_or_insert(error.code().exit_code());
            }
            Err(error) => return Err(backend.failed(&error)),
        }
    }
    if output.json() {
        output.document(&documents);
    }
    Ok(failed.map_or(ExitCode::SUCCESS, ExitCode::from))
}

fn say_failure(name: &str, error: &ToolError, output: &Output) {
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

fn accept_what(
    name: &str,
    tools: &[String],
    yes: bool,
    fetched: Fetched,
    backend: &Backend,
    global: &Global,
    output: &Output,
) -> Result<(), CliError> {
    find(name, backend)?;
    let test = match fetched {
        Fetched::Before => testing(name),
        Fetched::Again => {
            Ask::post_nothing(format!("{}/test?update=true", path(name))).patience(PATIENCE)
        }
    };
    let tested = backend.client.json(test);
    let tested = backend.wait(alive(name, output, tested))?;
    if fetched == Fetched::Again {
        walled::say_network(&tested, output);
    }
    let changed = |change: &Value| change["tool"].as_str().unwrap_or_default().to_owned();
    let is_meant = |tool: &str| tools.is_empty() || tools.iter().any(|one| one == tool);
    let mut meant: Vec<Value> = tested["changes"].as_array().cloned().unwrap_or_default();
    meant.retain(|change| is_meant(&changed(change)));
    // Also where no one is asked.
    for tool in tested["tools"].as_array().into_iter().flatten() {
        let own = tool["name"].as_str().unwrap_or_default();
        if meant.iter().any(|change| changed(change) == own) {
            say_warnings_of(tool, output);
        }
    }
    if !yes && !meant.is_empty() {
        for change in &meant {
            let (tool, kind) = (changed(change), change["change"].as_str());
            let kind = kind.unwrap_or_default();
            output.say(&format!("{} is {kind}", output.bold(&tool)));
            for line in change["diff"].as_str().unwrap_or_default().lines() {
                output.say(&format!("  {}", visible(line)));
            }
        }
        if !confirmed(&format!("accept this of `{name}`? [y/n] "), global, output)? {
            return Err(declined("nothing was accepted"));
        }
    }
    let mut body = json!({"digests": digests(&tested)});
    if !tools.is_empty() {
        body["tools"] = json!(tools);
    }
    let accept = Ask::post(format!("{}/accept", path(name)), &body).patience(PATIENCE);
    backend.wait(backend.client.json(accept))?;
    if output.json() {
        output.document(&json!({"name": name, "accepted": meant}));
    } else if meant.is_empty() {
        output.say(&format!("all tools of `{name}` are what was accepted"));
    } else {
        if let Ok(name) = upstream::name(name) {
            let is_meant = |own: &str| meant.iter().any(|change| changed(change) == own);
            say_renamed(&name, is_meant, backend, output);
        }
        let changes = count(meant.len(), "change");
        output.say(&format!("accepted {changes} of `{name}`"));
    }
    Ok(())
}

fn remove(names: &[String], backend: &Backend, output: &Output) -> Result<(), CliError> {
    // All or none, as far as that can be known.
    for name in names {
        find(name, backend)?;
    }
    for name in names {
        backend.wait(backend.client.delete(&path(name)))?;
    }
    if output.json() {
        output.document(&json!({ "removed": names }));
        return Ok(());
    }
    for name in names {
        output.say(&format!(
            "removed `{}`, what was accepted of it, and the files that it kept",
            visible(name)
        ));
    }
    Ok(())
}
