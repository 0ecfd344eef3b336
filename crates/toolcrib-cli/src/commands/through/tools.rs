//! Tools of a server: `list`, `show`, `search`, `schema`, `enable`, `disable`, `rm`.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use serde_json::{Value, json};
use toolcrib::model::text::{first_sentence, visible};
use toolcrib::wire::tokens_of;
use toolcrib_server::client::Ask;

use super::super::confirm::{confirmed, declined};
use super::super::list::tokens_in_words;
use super::super::{Done, bytes_in_words, word};
use super::{standing, text, texts};
use crate::args::{Global, ListArgs, RmArgs, SchemaArgs, SearchArgs, ShowArgs, SwitchArgs};
use crate::backend::Backend as Server;
use crate::failure::CliError;
use crate::output::Output;
use crate::remote;

/// `bundle/slug@version`.
fn reference(row: &Value) -> String {
    format!(
        "{}/{}@{}",
        text(row, "bundle"),
        text(row, "slug"),
        text(row, "version")
    )
}

/// The path of a version.
fn path_of(row: &Value) -> String {
    format!(
        "/tools/bundles/{}/tools/{}/version/{}",
        Ask::encoded(text(row, "bundle")),
        Ask::encoded(text(row, "slug")),
        Ask::encoded(text(row, "version"))
    )
}

fn is_shadowed(row: &Value) -> bool {
    row.get("shadowedBy").is_some()
}

fn is_stored(row: &Value) -> bool {
    text(row, "source") == "store"
}

/// How a tool stands, in one word.
pub(super) fn state(row: &Value) -> &str {
    let (word, why) = standing(row);
    let same = format!("{}/{}@", text(row, "bundle"), text(row, "slug"));
    match (word, why.as_deref(), text(row, "shadowedBy")) {
        ("disabled", Some(why), _) if why.starts_with("untrusted") => "untrusted",
        ("ready", _, "") => "ready",
        ("ready", _, by) if by.starts_with(&same) => "behind",
        ("ready", _, _) => "shadowed",
        (word, _, _) => word,
    }
}

/// A tool's name; of a stored one its reference, where a call by the name reaches another tool.
fn called(row: &Value, plain: bool) -> String {
    let name = match is_stored(row) && is_shadowed(row) {
        true => reference(row),
        false => text(row, "name").to_owned(),
    };
    match plain || texts(row, "warnings").is_empty() {
        true => name,
        false => format!("{name} (!)"),
    }
}

fn has_versions(rows: &[&Value]) -> bool {
    let mut seen = BTreeSet::new();
    let mut tools = rows
        .iter()
        .map(|row| (text(row, "bundle"), text(row, "slug")));
    tools.any(|tool| !seen.insert(tool))
}

fn effects(row: &Value) -> String {
    match texts(row, "effects").as_slice() {
        [] => "unknown".to_owned(),
        tags => tags.join(","),
    }
}

pub(in crate::commands) fn list(args: &ListArgs, server: &Server, output: &Output) -> Done {
    let mut path = "/tools?includeDisabled=true&recommendedPageSize=500".to_owned();
    if let Some(bundle) = &args.bundle {
        // One that nobody has is an error here, as it is on this machine.
        server.get(&format!("/tools/bundles/{}", Ask::encoded(bundle)))?;
        path.push_str(&format!("&bundleIDs={}", Ask::encoded(bundle)));
    }
    if !args.tags.is_empty() {
        path.push_str(&format!("&tags={}", Ask::encoded(&args.tags.join(","))));
    }
    let mut all = server.rows::<Value>(&path, "tools")?;
    if args.bundle.is_none() && !args.all {
        all.retain(|row| !is_shadowed(row));
    }
    if args.tokens {
        add_tokens(&mut all, server)?;
    }
    let shown: Vec<&Value> = all
        .iter()
        .filter(|row| args.all || standing(row).0 == "ready")
        .collect();
    if output.json() {
        output.document(&shown);
        return Ok(ExitCode::SUCCESS);
    }
    let with_version = !output.plain() && has_versions(&shown);
    let mut headings = vec!["NAME"];
    if with_version {
        headings.push("VERSION");
    }
    headings.extend(["EFFECTS", "FROM"]);
    if args.all {
        headings.push("STATE");
    }
    if args.tokens {
        headings.push("TOKENS");
    }
    headings.push("DESCRIPTION");
    let rows: Vec<Vec<String>> = shown
        .iter()
        .map(|row| {
            let mut cells = vec![called(row, output.plain())];
            if with_version {
                cells.push(text(row, "version").to_owned());
            }
            cells.extend([effects(row), text(row, "bundle").to_owned()]);
            if args.all {
                cells.push(state(row).to_owned());
            }
            if args.tokens {
                let tokens = row.get("tokens").and_then(Value::as_u64);
                cells.push(tokens.map_or_else(|| "-".to_owned(), |tokens| tokens.to_string()));
            }
            cells.push(first_sentence(text(row, "description")).to_owned());
            cells
        })
        .collect();
    if !rows.is_empty() || output.plain() {
        output.table(&headings, &rows);
        explain_mark(&shown, output);
    }
    if args.tokens {
        let tokens = shown.iter().filter_map(|row| row.get("tokens")?.as_u64());
        // What the budget there is, its settings say, which are not told.
        output.say(&tokens_in_words(tokens.sum(), None));
    }
    say_what_is_hidden(args, &all, shown.len(), output);
    Ok(ExitCode::SUCCESS)
}

/// Notes in rows what their tools cost a model, by the definitions that the server gives out: those of tools that can be called.
fn add_tokens(rows: &mut [Value], server: &Server) -> Result<(), CliError> {
    let made = server.get("/api/definitions/mcp")?;
    let tools = made.get("tools").and_then(Value::as_array);
    let tokens: BTreeMap<&str, u64> = tools
        .into_iter()
        .flatten()
        .map(|tool| {
            let schema = tool.get("inputSchema").unwrap_or(&Value::Null);
            let (name, description) = (text(tool, "name"), text(tool, "description"));
            (name, tokens_of(name, description, schema))
        })
        .collect();
    for row in rows {
        if !is_shadowed(row)
            && let Some(tokens) = tokens.get(text(row, "name"))
            && let Value::Object(fields) = row
        {
            fields.insert("tokens".to_owned(), json!(tokens));
        }
    }
    Ok(())
}

fn say_what_is_hidden(args: &ListArgs, all: &[Value], shown: usize, output: &Output) {
    let is_filtered = args.bundle.is_some() || !args.tags.is_empty();
    let is_untrusted = |row: &&Value| state(row) == "untrusted";
    let untrusted = match args.all || is_filtered {
        true => 0,
        false => all.iter().filter(is_untrusted).count(),
    };
    let hidden = (all.len() - shown).saturating_sub(untrusted);
    let more = match is_filtered {
        true => "add --all",
        false => "toolcrib list --all",
    };
    match (shown, hidden) {
        (0, 0) if is_filtered => output.say("no tool is like that"),
        (_, 0) => {}
        (_, 1) => {
            output.say(&output.dim(&format!("1 more tool is off or cannot run here: {more}")));
        }
        (_, hidden) => output.say(&output.dim(&format!(
            "{hidden} more tools are off or cannot run here: {more}"
        ))),
    }
    match untrusted {
        0 => {}
        1 => output.say("1 tool of this project is not trusted yet: toolcrib trust"),
        count => output.say(&format!(
            "{count} tools of this project are not trusted yet: toolcrib trust"
        )),
    }
}

/// Says what the mark behind a name means.
fn explain_mark(shown: &[&Value], output: &Output) {
    let marked = shown.iter().find(|row| !texts(row, "warnings").is_empty());
    if let Some(row) = marked.filter(|_| !output.plain()) {
        let reference = word(&reference(row));
        output.say(&output.dim(&format!(
            "(!) it may not be what it looks like: toolcrib show {reference}"
        )));
    }
}

pub(in crate::commands) fn search(args: &SearchArgs, server: &Server, output: &Output) -> Done {
    let mut path = format!(
        "/tools/search?q={}&pageSize={}",
        Ask::encoded(&args.words.join(" ")),
        args.limit
    );
    if args.all {
        path.push_str("&includeDisabled=true");
    }
    if let Some(token) = &args.page_token {
        path.push_str(&format!("&pageToken={}", Ask::encoded(token)));
    }
    let page = server.get(&path)?;
    let rows = page.get("results").and_then(Value::as_array);
    let found: Vec<&Value> = rows.into_iter().flatten().collect();
    if output.json() {
        output.document(&found);
    } else if !found.is_empty() {
        let with_version = !output.plain() && has_versions(&found);
        let mut headings = vec!["NAME", "BUNDLE"];
        if with_version {
            headings.push("VERSION");
        }
        if args.all {
            headings.push("STATE");
        }
        headings.push("DESCRIPTION");
        let cells = found.iter().map(|row| {
            let mut cells = vec![called(row, output.plain()), text(row, "bundle").to_owned()];
            if with_version {
                cells.push(text(row, "version").to_owned());
            }
            if args.all {
                cells.push(state(row).to_owned());
            }
            cells.push(first_sentence(text(row, "description")).to_owned());
            cells
        });
        output.table(&headings, &cells.collect::<Vec<_>>());
        explain_mark(&found, output);
    }
    if let Some(token) = page.get("nextPageToken").and_then(Value::as_str) {
        super::super::search::say_how_to_go_on(token, output);
    } else if found.is_empty() && args.page_token.is_none() {
        let words = toolcrib::model::text::shorten(&args.words.join(" "), 80);
        output.say(&format!(
            "no tool matches `{words}`: try fewer words, or `toolcrib list`"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn look_up(tool: &str, server: &Server) -> Result<Value, CliError> {
    let mut found = server.get(&format!("/api/lookup?tool={}", Ask::encoded(tool)))?;
    // Only calls and grants need them.
    if let Some(fields) = found.as_object_mut() {
        fields.shift_remove("synonyms");
        fields.shift_remove("roles");
    }
    Ok(found)
}

pub(in crate::commands) fn show(args: &ShowArgs, server: &Server, output: &Output) -> Done {
    let tool = look_up(&args.tool, server)?;
    if output.json() {
        output.document(&tool);
        return Ok(ExitCode::SUCCESS);
    }
    output.line(&output.heading(&visible(text(&tool, "name"))));
    output.line(&visible(text(&tool, "description")));
    output.line("");
    let schema = tool.get("inputSchema").cloned().unwrap_or_default();
    let rows = super::super::show::parameter_rows(&schema);
    if rows.is_empty() {
        output.line("takes no parameters");
    } else {
        output.table(&["PARAMETER", "TYPE", "", "DESCRIPTION"], &rows);
    }
    output.line("");
    let effects = match texts(&tool, "effects").as_slice() {
        [] => "unknown: a call asks first".to_owned(),
        tags => tags.join(", "),
    };
    for warning in texts(&tool, "warnings") {
        output.line(&output.doubtful(&format!("warning   {}", visible(warning))));
    }
    output.line(&format!("effects   {effects}"));
    let line = |name: &str, value: &str| {
        if !value.is_empty() {
            output.line(&format!("{name:<10}{}", visible(value)));
        }
    };
    line("asks", text(&tool, "asks"));
    let (_, reason) = standing(&tool);
    let state = state(&tool);
    line(
        "standing",
        &reason.map_or(state.to_owned(), |reason| format!("{state}: {reason}")),
    );
    let from = format!("{} ({})", reference(&tool), text(&tool, "source"));
    line("from", &from);
    if is_stored(&tool) {
        line("title", text(&tool, "displayName"));
        line("version", text(&tool, "version"));
        line("id", text(&tool, "toolID"));
        line("created", text(&tool, "createdAt"));
        line("modified", text(&tool, "modifiedAt"));
    }
    let last = text(&tool, "lastCalledAt");
    if !last.is_empty() {
        let times = match tool.get("callCount").and_then(Value::as_u64) {
            Some(1) => "once".to_owned(),
            count => format!("{} times", count.unwrap_or_default()),
        };
        line("called", &format!("{times}, last {last}"));
    }
    line("also", &texts(&tool, "aliases").join(", "));
    if let Some(limits) = tool
        .get("limits")
        .filter(|limits| limits.get("timeoutMs").is_some())
    {
        let number = |key: &str| limits.get(key).and_then(Value::as_u64).unwrap_or_default();
        let timeout = std::time::Duration::from_millis(number("timeoutMs"));
        let most = bytes_in_words(number("maxOutputBytes"));
        line(
            "limits",
            &format!(
                "{timeout:?} to run, {most} a text, {} at once",
                number("maxConcurrent")
            ),
        );
    }
    line("tags", &texts(&tool, "tags").join(", "));
    line("keywords", &texts(&tool, "keywords").join(", "));
    line("file", text(&tool, "file"));
    for run in tool
        .get("runs")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        for row in super::super::trust::labelled(text(run, "what"), text(run, "text")) {
            output.line(&row);
        }
    }
    output.line("");
    output.line(&format!("toolcrib run {}", visible(&call_line(&tool))));
    Ok(ExitCode::SUCCESS)
}

/// A call of it as a line of words.
fn call_line(tool: &Value) -> String {
    let name = text(tool, "name");
    let line = remote::spec_of(tool).map_or_else(
        || name.to_owned(),
        |spec| super::super::show::call_line(&spec),
    );
    match (is_shadowed(tool), line.strip_prefix(name)) {
        (true, Some(rest)) => word(&format!("{}{rest}", reference(tool))),
        _ => word(&line),
    }
}

pub(in crate::commands) fn schema(args: &SchemaArgs, server: &Server, output: &Output) -> Done {
    let document = match (&args.provider, args.tools.as_slice()) {
        (None, [tool]) => look_up(tool, server)?
            .get("inputSchema")
            .cloned()
            .unwrap_or_default(),
        (provider, tools) => {
            let mut path = format!(
                "/api/definitions/{}",
                Ask::encoded(provider.as_deref().unwrap_or("mcp"))
            );
            let mut mark = '?';
            if !tools.is_empty() {
                path.push_str(&format!("?tools={}", Ask::encoded(&tools.join(","))));
                mark = '&';
            }
            if args.strict {
                path.push_str(&format!("{mark}strict=true"));
            }
            let made = server.get(&path)?;
            for loss in made
                .get("losses")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                let line = format!(
                    "{}{}: {}",
                    text(loss, "tool"),
                    text(loss, "pointer"),
                    text(loss, "reason")
                );
                output.say(&output.dim(&visible(&line)));
            }
            for dropped in made
                .get("dropped")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                let line = format!(
                    "{}: left out: {}",
                    text(dropped, "tool"),
                    text(dropped, "reason")
                );
                output.say(&visible(&line));
            }
            let all = made.get("tools").cloned().unwrap_or_else(|| json!([]));
            match (tools, all.as_array().map(Vec::as_slice)) {
                ([_], Some([one])) => one.clone(),
                _ => all,
            }
        }
    };
    output.line(&format!("{document:#}"));
    Ok(ExitCode::SUCCESS)
}

pub(in crate::commands) fn switch(
    args: &SwitchArgs,
    enabled: bool,
    server: &Server,
    output: &Output,
) -> Done {
    // All are looked up first: a typing error should not leave half of it done.
    let mut all: Vec<Value> = Vec::new();
    for tool in &args.tools {
        let found = look_up(tool, server)?;
        let versions = match is_stored(&found) && !super::super::stored::names_version(tool) {
            true => versions(&found, server)?,
            false => vec![found],
        };
        for version in versions {
            if !all
                .iter()
                .any(|known| reference(known) == reference(&version))
            {
                all.push(version);
            }
        }
    }
    let mut switched = Vec::new();
    for tool in &all {
        let body = json!({"isEnabled": enabled});
        switched.push(server.wait(server.client.patch(&path_of(tool), &body))?);
    }
    if output.json() {
        output.document(&switched);
        return Ok(ExitCode::SUCCESS);
    }
    for tool in &switched {
        let name = match is_stored(tool) {
            true => visible(&reference(tool)).into_owned(),
            false => text(tool, "name").to_owned(),
        };
        match (enabled, standing(tool)) {
            (true, (state, Some(why))) => {
                output.say(&format!("`{name}` is on, but {state}: {}", visible(&why)));
            }
            (true, _) => output.say(&format!("`{name}` is on")),
            (false, _) => output.say(&format!("`{name}` is off")),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Every version of a stored tool.
fn versions(tool: &Value, server: &Server) -> Result<Vec<Value>, CliError> {
    let bundle = Ask::encoded(text(tool, "bundle"));
    let path = format!("/tools?includeDisabled=true&recommendedPageSize=500&bundleIDs={bundle}");
    let mut rows = server.rows::<Value>(&path, "tools")?;
    rows.retain(|row| text(row, "slug") == text(tool, "slug"));
    Ok(rows)
}

pub(in crate::commands) fn rm(
    args: &RmArgs,
    server: &Server,
    global: &Global,
    output: &Output,
) -> Done {
    let tool = look_up(&args.tool, server)?;
    let reference = reference(&tool);
    if is_stored(&tool)
        && !super::super::stored::names_version(&args.tool)
        && versions(&tool, server)?.len() > 1
    {
        let shown = visible(text(&tool, "slug"));
        return Err(
            CliError::usage(format!("`{shown}` has several versions; name one"))
                .with_hint(format!("`toolcrib rm {}`", word(&reference))),
        );
    }
    let question = format!("remove `{}` for good? [y/n] ", visible(&reference));
    if !args.yes && !confirmed(&question, global, output)? {
        return Err(declined("nothing was removed"));
    }
    server.wait(server.client.delete(&path_of(&tool)))?;
    if output.json() {
        output.document(&json!({"ok": true, "value": {"removed": reference}}));
    } else {
        output.say(&format!("`{}` is gone", visible(&reference)));
    }
    Ok(ExitCode::SUCCESS)
}
