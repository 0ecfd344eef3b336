//! `toolcrib grants`: what is allowed without asking.

use std::collections::HashSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib::approval::grants::{Grant, GrantError, Scope, Shape};
use toolcrib::model::{JsonObject, text};
use toolcrib::spec::Role;
use toolcrib::{ErrorCode, ToolError, ToolSpec, WireName};
use toolcrib_server::client::Ask;

use super::confirm::confirmed;
use super::run::read_json_of;
use super::{Done, caller_word};
use crate::args::{Global, GrantArgs, GrantsCommand};
use crate::coerce;
use crate::duration;
use crate::failure::CliError;
use crate::ids::short;
use crate::local_time;
use crate::output::Output;
use crate::prompt::{Extent, Page, Paint, facts, item, session, whoami};
use crate::remote;
use crate::remote::{Backend, DamagedFiles, is_segment};

pub(super) fn grants(
    command: &GrantsCommand,
    backend: &Backend,
    global: &Global,
    output: &Output,
) -> Done {
    match command {
        GrantsCommand::List { all } => list(*all, backend, output)?,
        GrantsCommand::Show { id } => show(&find(id, backend)?, output),
        GrantsCommand::Revoke { ids } => revoke(ids, backend, output)?,
        GrantsCommand::Add(args) => return add(args, backend, global, output),
    }
    Ok(ExitCode::SUCCESS)
}

fn path(id: &str) -> String {
    format!("/api/grants/{}", Ask::encoded(id))
}

fn find(id: &str, backend: &Backend) -> Result<Grant, CliError> {
    let hint = "`toolcrib grants list --all` shows them, also those that are over";
    let not_found = || {
        let error = GrantError::NotFound { id: id.to_owned() };
        CliError::from(ToolError::from(error)).with_hint(hint)
    };
    if !is_segment(id) {
        return Err(not_found());
    }
    let found = backend.wait_raw(backend.client.get_as(&path(id)));
    found.map_err(|error| match error.status() {
        Some(404) => not_found(),
        Some(_) => backend.failed(&error).with_hint(hint),
        None => backend.failed(&error),
    })
}

fn list(all: bool, backend: &Backend, output: &Output) -> Result<(), CliError> {
    let list = |path| backend.pages::<Grant, DamagedFiles>(path, "grants");
    let (in_force, damaged) = list("/api/grants?pageSize=500")?;
    let ids: HashSet<String> = in_force.iter().map(|grant| grant.id.clone()).collect();
    let (grants, damaged) = match all {
        true => list("/api/grants?pageSize=500&all=true")?,
        false => (in_force, damaged),
    };
    damaged.warn("cannot be read and allows nothing", output);
    let workspace = backend.crib().and_then(|crib| crib.workspace_path());
    print_list(&grants, &ids, all, workspace, output);
    Ok(())
}

/// Prints grants, of which those with these ids are in force.
fn print_list(
    grants: &[Grant],
    ids: &HashSet<String>,
    all: bool,
    workspace: Option<&Path>,
    output: &Output,
) {
    if output.json() {
        output.document(&grants);
        return;
    }
    if grants.is_empty() && !output.plain() {
        output.say(match all {
            true => "there are no grants, not even used or expired ones",
            false => "there are no grants: whatever asks, asks every time",
        });
        return;
    }
    let rows: Vec<Vec<String>> = grants
        .iter()
        .map(|grant| {
            let id = match output.plain() {
                true => grant.id.as_str(),
                false => short(&grant.id),
            };
            vec![
                id.to_owned(),
                grant.tool.clone(),
                scope_word(grant.scope).to_owned(),
                place(grant, workspace, output),
                match ids.contains(&grant.id) {
                    true => expires_in(grant),
                    false if grant.max_uses.is_some_and(|most| grant.uses >= most) => {
                        "used up".to_owned()
                    }
                    false => "expired".to_owned(),
                },
                uses(grant),
                grant.shape.to_string(),
            ]
        })
        .collect();
    output.table(
        &[
            "ID",
            "TOOL",
            "SCOPE",
            "WHERE",
            "EXPIRES IN",
            "USED",
            "ALLOWS",
        ],
        &rows,
    );
}

/// Where a grant holds: in this workspace, in another one, or everywhere.
fn place(grant: &Grant, here: Option<&Path>, output: &Output) -> String {
    let Some(workspace) = &grant.workspace else {
        return "everywhere".to_owned();
    };
    if output.plain() {
        return workspace.clone();
    }
    if here.and_then(Path::to_str) == Some(workspace) {
        return "here".to_owned();
    }
    // The end of a path is more useful than its beginning.
    let names: Vec<&str> = workspace.split('/').collect();
    match names.as_slice() {
        [.., parent, name] if names.len() > 3 => format!("…/{parent}/{name}"),
        _ => workspace.clone(),
    }
}

fn scope_word(scope: Scope) -> &'static str {
    match scope {
        Scope::Call => "call",
        Scope::Session => "session",
        Scope::Project => "project",
        Scope::User => "user",
    }
}

fn expires_in(grant: &Grant) -> String {
    let left = grant.expires_at.duration_since(Timestamp::now());
    duration::in_words(Duration::try_from(left).unwrap_or_default())
}

fn uses(grant: &Grant) -> String {
    match grant.max_uses {
        Some(most) => format!("{} of {most}", grant.uses),
        None => grant.uses.to_string(),
    }
}

fn show(grant: &Grant, output: &Output) {
    if output.json() {
        output.document(grant);
        return;
    }
    let visible = |text: &str| text::visible(text).replace('\n', " ");
    output.line(&output.heading(&visible(&grant.tool)));
    let place = match &grant.workspace {
        Some(workspace) => format!(" in {}", visible(workspace)),
        None => String::new(),
    };
    let reason = grant.reason.as_deref().map_or(String::new(), |reason| {
        format!(": {}", text::shorten(reason, 400))
    });
    let made = local_time::second(grant.created_at);
    let fields = [
        ("allows", grant.shape.to_string()),
        ("scope", format!("{}{place}", scope_word(grant.scope))),
        ("caller", caller_word(&grant.caller)),
        ("expires", format!("in {}", expires_in(grant))),
        ("used", uses(grant)),
        ("made", format!("{made} by {}{reason}", visible(&grant.by))),
        ("id", grant.id.clone()),
    ];
    let paint = Paint(output.colours_stdout());
    for line in facts(&fields, page(output.page_columns(), paint)) {
        output.line(&line);
    }
    output.line("");
    output.line(&format!("toolcrib grants revoke {}", short(&grant.id)));
}

fn page(columns: usize, paint: Paint) -> Page {
    Page {
        extent: Extent::Whole,
        columns,
        paint,
    }
}

fn revoke(ids: &[String], backend: &Backend, output: &Output) -> Result<(), CliError> {
    // All or none: a typing error should not leave half of it done.
    let found: Result<Vec<Grant>, _> = ids.iter().map(|id| find(id, backend)).collect();
    let mut found = found.map_err(|failed| match ids {
        [_] => failed,
        _ => failed.with_hint("nothing was revoked; `toolcrib grants list --all` shows them"),
    })?;
    found.dedup_by(|one, other| one.id == other.id);
    for grant in &found {
        backend.wait(backend.client.delete(&path(&grant.id)))?;
        if !output.json() {
            say_revoked(grant, output);
        }
    }
    if output.json() {
        output.document(&found);
    }
    Ok(())
}

/// Says that a grant is no more.
fn say_revoked(grant: &Grant, output: &Output) {
    let mark = format!("revoked {}: ", short(&grant.id));
    let what = format!("{} with {} asks again", grant.tool, grant.shape);
    for line in item(&mark, &what, page(output.columns(), Paint(false))) {
        output.line(&line);
    }
}

/// What a grant would allow, as far as it is shown.
#[derive(Deserialize)]
struct Simulated {
    shape: Shape,
    words: String,
}

fn add(args: &GrantArgs, backend: &Backend, global: &Global, output: &Output) -> Done {
    let remote::FoundTool { spec, server, .. } = remote::look_up(&args.tool, backend)?;
    let shape = shape_wanted(args, &spec, global, output)?;
    let scope = scope_wanted(args);
    let lasting = args.expires.unwrap_or(scope.default_duration());
    let mut body = json!({
        "tool": args.tool,
        "shape": shape,
        "scope": scope,
        "expiresInMs": u64::try_from(lasting.as_millis()).unwrap_or(u64::MAX),
        // The calls of this command line, with and without a server.
        "caller": "cli",
        "by": whoami(),
    });
    if let Some(uses) = args.uses {
        body["maxUses"] = uses.into();
    }
    if let Some(reason) = args.reason.as_ref().filter(|reason| !reason.is_empty()) {
        body["reason"] = reason.clone().into();
    }
    if let (Scope::Session, Some(session)) = (scope, session()) {
        body["session"] = session.into();
    }
    let ask = Ask::post("/api/grants?simulate=true", &body);
    let simulated = backend.wait_raw(backend.client.json_as(ask));
    let simulated: Simulated = simulated.map_err(|error| match error.code() {
        Some(ErrorCode::InvalidArguments) => {
            let hint = match &server {
                Some(server) if spec.effects.is_unknown() => format!(
                    "`toolcrib upstream allow {server} TOOL` lets a tool of this server run without asking"
                ),
                _ => format!("`toolcrib show {}` lists the parameters", spec.name),
            };
            backend.failed(&error).with_hint(hint)
        }
        _ => backend.failed(&error),
    })?;
    let shape = simulated.shape.to_string();
    say_wanted(args, &spec.name, &shape, &simulated.words, output);
    if spec.effects.is_read_only() && spec.asks.is_none() {
        output.say(&format!(
            "{} `{}` only reads: it asks no one, unless one of your rules says so",
            output.bold("note:"),
            spec.name
        ));
    }
    if !is_made(args, global, output)? {
        return Ok(ExitCode::from(ErrorCode::ApprovalDenied.exit_code()));
    }
    let grant = backend.ask(Ask::post("/api/grants", &body))?;
    say_made(&grant, output);
    Ok(ExitCode::SUCCESS)
}

/// The shape that was typed, as words or as JSON.
fn shape_wanted(
    args: &GrantArgs,
    spec: &ToolSpec,
    global: &Global,
    output: &Output,
) -> Result<Shape, CliError> {
    let wire = match &args.shape {
        Some(word) => read_json_of("--shape", word, global, output)?,
        None => shape_of(&args.pairs, spec)?,
    };
    serde_json::from_value(Value::Object(wire)).map_err(|error| {
        CliError::usage(format!("this is not the shape of a grant: {error}"))
            .with_hint("`toolcrib grants add --help` shows how patterns are written")
    })
}

fn scope_wanted(args: &GrantArgs) -> Scope {
    match args.scope.as_str() {
        "session" => Scope::Session,
        "user" => Scope::User,
        _ => Scope::Project,
    }
}

/// Says what a grant would allow, before anybody agrees to it.
fn say_wanted(args: &GrantArgs, tool: &WireName, shape: &str, simulation: &str, output: &Output) {
    let scope = scope_wanted(args);
    let reach = match scope {
        Scope::Call | Scope::Session => "in this terminal session",
        Scope::Project => "in this workspace",
        Scope::User => "in all workspaces",
    };
    let calls = match args.uses {
        None => String::new(),
        Some(1) => ", one call".to_owned(),
        Some(uses) => format!(", {uses} calls"),
    };
    let lasting = duration::in_words(args.expires.unwrap_or(scope.default_duration()));
    output.say(&format!("{} without asking", output.bold(tool.as_str())));
    let fields = [
        ("with", output.masker().mask(shape).into_owned()),
        ("for", format!("{lasting} {reach}{calls}")),
        ("this", simulation.to_owned()),
    ];
    for line in facts(&fields, page(output.columns(), Paint(false))) {
        output.say(&line);
    }
}

/// Whether someone agrees to it.
fn is_made(args: &GrantArgs, global: &Global, output: &Output) -> Result<bool, CliError> {
    let agreed = args.yes || confirmed("Make this grant? (y/n) ", global, output)?;
    if !agreed {
        output.say("no grant was made");
    }
    Ok(agreed)
}

/// Says that it is made, and how it is taken back.
fn say_made(grant: &Grant, output: &Output) {
    if output.json() {
        output.document(grant);
        return;
    }
    output.line(&format!(
        "granted {}: take it back with `toolcrib grants revoke {}`",
        short(&grant.id),
        short(&grant.id)
    ));
}

/// Patterns from words, by the role of each parameter.
fn shape_of(pairs: &[String], spec: &ToolSpec) -> Result<JsonObject, CliError> {
    let values = coerce::arguments(JsonObject::new(), pairs, Some(spec)).map_err(|error| {
        let hint = format!("`toolcrib show {}` lists the parameters", spec.name);
        CliError::usage(error.message).with_hint(hint)
    })?;
    let mut shape = JsonObject::new();
    for (name, value) in values {
        let role = spec.roles.iter().find(|(parameter, _)| *parameter == name);
        let pattern = match (role.map(|(_, role)| role), value) {
            (Some(Role::Shell), Value::String(command)) => json!({"argv": argv(&command)?}),
            (Some(Role::ReadPath | Role::WritePath), Value::String(path)) => json!({"path": path}),
            (Some(Role::Url), Value::String(url)) => url_pattern(&name, &url)?,
            (None, Value::String(word)) if word == "*" => json!("any"),
            (_, value) => json!({"exact": value}),
        };
        shape.insert(name, pattern);
    }
    Ok(shape)
}

/// The pattern of a URL: itself, or everything at `origin:https://host`.
fn url_pattern(name: &str, url: &str) -> Result<Value, CliError> {
    if let Some(origin) = url.strip_prefix("origin:") {
        return Ok(json!({"origin": origin}));
    }
    if url.contains('*') {
        let shown = text::shorten(url, 100);
        let message = format!("`{shown}` is not a pattern: in a URL, `*` stands for itself");
        return Err(CliError::usage(message).with_hint(format!(
            "{name}=origin:https://docs.rs covers everything at one scheme, host and port, as does --shape '{{\"{name}\": {{\"origin\": \"https://docs.rs\"}}}}'"
        )));
    }
    Ok(json!({"exact": url}))
}

/// The words of a command's pattern. Quotes and the like would need a shell to be read; they are left to `--shape`.
fn argv(command: &str) -> Result<Vec<&str>, CliError> {
    const SPECIAL: &str = "'\"\\$`;|&<>()#~{}[]!?";
    if command.contains(|c: char| SPECIAL.contains(c)) {
        let command = text::shorten(command, 100);
        let message = format!("`{command}` is more than plain words, `*` and `**`");
        return Err(CliError::usage(message).with_hint(
            "write the words one by one: --shape '{\"command\": {\"argv\": [\"echo\", \"two words\"]}}'",
        ));
    }
    Ok(command.split_whitespace().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_itself_or_an_origin_and_never_a_pattern() {
        let exact = url_pattern("url", "https://docs.rs/x").unwrap();
        assert_eq!(exact, json!({"exact": "https://docs.rs/x"}));
        let origin = url_pattern("url", "origin:https://docs.rs").unwrap();
        assert_eq!(origin, json!({"origin": "https://docs.rs"}));
        for url in ["*", "https://docs.rs/*"] {
            let error = format!("{:?}", url_pattern("url", url).err().unwrap());
            assert!(error.contains("url=origin:https://docs.rs"), "{error}");
        }
    }

    #[test]
    fn a_command_is_plain_words_or_an_error_that_says_how() {
        assert_eq!(argv("git  log **").unwrap(), ["git", "log", "**"]);
        assert!(argv("echo 'two words'").is_err());
        assert!(argv("a; b").is_err());
    }
}
