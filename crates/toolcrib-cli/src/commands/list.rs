//! `toolcrib list`: what tools there are.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::Arc;

use serde::Serialize;
use toolcrib::Crib;
use toolcrib::crib::{
    BundleKind, BundleRow, DamagedTool, Discovery, ListedTool, ToolList, ToolRow,
};
use toolcrib::model::text::first_sentence;
use toolcrib::registry::{Availability, Entry, Source};
use toolcrib::results::READ_RESULT;
use toolcrib::wire::{estimated_tokens, tokens_of};
use toolcrib_server::client::Ask;

use super::{Done, reason_of, reference, word};
use crate::args::ListArgs;
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::Backend;

/// Says which tools could be called if one that cannot did not have their name.
fn say_whose_name_is_taken(crib: &Crib, output: &Output) {
    const MOST: usize = 5;
    let mut names = BTreeSet::new();
    for (below, by) in crib.registry().shadowed() {
        // Files that lose their names are warned of anyway.
        let is_wanted = below.source() == Source::Store
            && below.availability() == Availability::Ready
            && by.availability() != Availability::Ready
            && names.insert(below.spec().name.clone());
        if is_wanted && names.len() <= MOST {
            let (name, this) = (&by.spec().name, by.spec().reference());
            let yours = below.spec().reference();
            output.say(&format!(
                "`{name}` is `{this}`, which cannot be called now; the next of this name is `{yours}`: toolcrib run {}",
                word(&yours)
            ));
        }
    }
}

/// The path of a list, with a query of these keys.
pub(super) fn tools_at(query: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = query
        .iter()
        .map(|(key, value)| format!("{key}={}", Ask::encoded(value)))
        .collect();
    format!("/api/tools?{}", pairs.join("&"))
}

/// A row for programs.
#[derive(Serialize)]
struct Row<'l> {
    #[serde(flatten)]
    row: &'l ToolRow,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
}

/// A row of a tool, or of the damaged file of one.
#[derive(Serialize)]
#[serde(untagged)]
enum AnyRow<'l> {
    Tool(Row<'l>),
    Damaged(&'l DamagedTool),
}

pub(super) fn list(args: &ListArgs, backend: &Backend, output: &Output) -> Done {
    let tags = args.tags.join(",");
    let mut query = vec![("tags", tags.as_str())];
    query.extend(args.bundle.as_deref().map(|bundle| ("bundle", bundle)));
    query.extend(args.all.then_some(("all", "true")));
    query.extend(args.tokens.then_some(("tokens", "true")));
    let ToolList { tools, damaged } = backend.get_as(&tools_at(&query))?;
    let is_ready = |tool: &&ListedTool| tool.row.availability == Availability::Ready;
    let shown: Vec<&ListedTool> = tools
        .iter()
        .filter(|tool| args.all || is_ready(tool))
        .collect();
    if output.json() {
        let rows = shown.iter().map(|tool| {
            let (row, tokens) = (&tool.row, tool.tokens);
            AnyRow::Tool(Row { row, tokens })
        });
        let lost = damaged.iter().map(AnyRow::Damaged);
        output.document(&rows.chain(lost).collect::<Vec<_>>());
        return Ok(ExitCode::SUCCESS);
    }
    // Programs count columns: with `--plain` they are the same whatever there is. A version that does not have the name is shown by its
    // reference.
    let columns = Columns {
        version: !output.plain() && has_versions(shown.iter().map(|tool| &tool.row)),
        state: args.all,
        tokens: args.tokens,
        plain: output.plain(),
    };
    let rows = shown.iter().map(|tool| columns.cells(tool));
    let lost = damaged.iter().map(|tool| columns.damaged(tool));
    let rows: Vec<Vec<String>> = rows.chain(lost).collect();
    if !rows.is_empty() || output.plain() {
        output.table_of_lines(&columns.headings(), &rows);
        explain_mark(shown.iter().map(|tool| &tool.row), output);
    }
    if args.tokens {
        let tokens = shown.iter().filter_map(|tool| tool.tokens).sum();
        say_tokens(args, tokens, backend, output);
    }
    say_what_is_hidden(args, &tools, shown.len(), backend, output)?;
    Ok(ExitCode::SUCCESS)
}

/// Says what tools cost together, and what MCP clients are given instead of too many.
fn say_tokens(args: &ListArgs, tokens: u64, backend: &Backend, output: &Output) {
    let is_all = !args.all && args.bundle.is_none() && args.tags.is_empty();
    // The budget of a server is in its settings, which it does not report.
    let crib = backend.crib().filter(|_| is_all);
    let budget = crib.map(|crib| crib.config().mcp().token_budget);
    output.say(&tokens_in_words(tokens, budget));
    if let Some(crib) = crib
        && budget.flatten().is_some_and(|budget| tokens > budget)
    {
        say_what_clients_are_given(crib, output);
    }
}

/// Says how many tools are not shown, and why.
fn say_what_is_hidden(
    args: &ListArgs,
    all: &[ListedTool],
    shown: usize,
    backend: &Backend,
    output: &Output,
) -> Result<(), CliError> {
    let is_filtered = args.bundle.is_some() || !args.tags.is_empty();
    let is_untrusted = |tool: &&ListedTool| tool.state == "untrusted";
    let untrusted = match (args.all || is_filtered, backend.crib()) {
        (true, _) => 0,
        (false, Some(crib)) => crib.tool_files().untrusted(),
        (false, None) => all.iter().filter(is_untrusted).count(),
    };
    let hidden = (all.len() - shown).saturating_sub(untrusted);
    let reasons: BTreeSet<String> = all
        .iter()
        .filter_map(|tool| reason_of(&tool.row.availability))
        .collect();
    let shared = if args.all { None } else { shared_lack(all) };
    if let Some((count, lack)) = shared.filter(|_| shown > 0) {
        output.say(&format!("{count} tools cannot run here: {lack}"));
    }
    let more = match is_filtered {
        true => "add --all",
        false => "toolcrib list --all",
    };
    match (shown, reasons.first()) {
        (0, None) if is_filtered => output.say(&nothing(args, backend)?),
        (0, Some(reason)) if reasons.len() == 1 => {
            output.say(&format!("no tool can run here: {reason}"));
        }
        _ if hidden == 1 => {
            let line = format!("1 more tool is off or cannot run here: {more}");
            output.say(&output.dim(&line));
        }
        _ if hidden > 1 => {
            output.say(&output.dim(&format!(
                "{hidden} more tools are off or cannot run here: {more}"
            )));
        }
        _ => {}
    }
    if let Some(crib) = backend.crib().filter(|_| !args.all && !is_filtered) {
        say_whose_name_is_taken(crib, output);
    }
    match untrusted {
        0 => {}
        1 => output.say("1 tool of this project is not trusted yet: toolcrib trust"),
        count => output.say(&format!(
            "{count} tools of this project are not trusted yet: toolcrib trust"
        )),
    }
    Ok(())
}

/// What tools cost a model together. With the budget of MCP clients' lists, if these are all the tools there are: `Some(None)` if there is none.
fn tokens_in_words(tokens: u64, budget: Option<Option<u64>>) -> String {
    let about = format!("about {tokens} tokens together, by an estimate");
    match budget {
        None => about,
        Some(None) => {
            format!("{about}; MCP clients are given all of them (`mcp.tokenBudget` is 0)")
        }
        Some(Some(budget)) if tokens <= budget => {
            format!("{about}; MCP clients are given all of them (`mcp.tokenBudget` is {budget})")
        }
        Some(Some(budget)) => format!(
            "{about}: more than `mcp.tokenBudget`, {budget}. MCP clients are given `find_tools`, `read_result` and what `mcp.pinned` names"
        ),
    }
}

/// What MCP clients are given instead of everything, what that costs, and which pins name nothing.
fn say_what_clients_are_given(crib: &Crib, output: &Output) {
    let registry = crib.registry();
    let mut given = BTreeMap::new();
    for pinned in &crib.config().mcp().pinned {
        match registry.find(pinned) {
            Ok(entry) if entry.availability() == Availability::Ready => {
                let spec = entry.spec();
                given.insert(spec.name.to_string(), estimated_tokens(spec));
            }
            Ok(_) => {}
            Err(error) => output.say(&format!(
                "`mcp.pinned` names what is not there: {}",
                error.message()
            )),
        }
    }
    let mut offered: Vec<Arc<Entry>> = registry.entries();
    offered.retain(|entry| entry.availability() == Availability::Ready);
    let names = Discovery::names().chain([READ_RESULT]);
    for entry in names.filter_map(|name| registry.find(name).ok()) {
        let spec = entry.spec();
        let name = spec.name.as_str();
        let tokens = match name == Discovery::FIND {
            true => {
                let description = Discovery::description(&offered);
                tokens_of(name, &description, spec.input_schema.as_value())
            }
            false => estimated_tokens(spec),
        };
        given.insert(name.to_owned(), tokens);
    }
    output.say(&format!(
        "that is {} tools, about {} tokens: {}",
        given.len(),
        given.values().sum::<u64>(),
        given.keys().cloned().collect::<Vec<_>>().join(", ")
    ));
}

/// Why there is nothing to list where someone asked for a bundle or for tags.
fn nothing(args: &ListArgs, backend: &Backend) -> Result<String, CliError> {
    let Some(bundle) = &args.bundle else {
        return Ok("no tool has these tags".to_owned());
    };
    let path = format!("/tools/bundles/{}", Ask::encoded(bundle));
    let bundle: BundleRow = backend.get_as(&path)?;
    let slug = word(bundle.slug.as_str());
    Ok(match (bundle.tools, bundle.kind) {
        (0, BundleKind::Store) => {
            format!("there is no tool in it: `toolcrib bundle add {slug} FILE` puts one there")
        }
        (0, BundleKind::Upstream) => format!(
            "nothing of it was accepted yet: `toolcrib upstream accept {slug}` shows its tools and asks"
        ),
        (0, _) => "there is no tool in it".to_owned(),
        _ => "none of its tools has these tags".to_owned(),
    })
}

/// What most of the tools that cannot run lack, as a workspace, and how many they are; `None` if no two of them lack the same.
fn shared_lack(all: &[ListedTool]) -> Option<(usize, String)> {
    let mut lacks: BTreeMap<&str, usize> = BTreeMap::new();
    for tool in all {
        if let Availability::Unavailable { reason } = &tool.row.availability {
            *lacks.entry(reason).or_default() += 1;
        }
    }
    let (lack, count) = lacks.into_iter().max_by_key(|(_, count)| *count)?;
    (count > 1).then(|| (count, lack.to_owned()))
}

/// A tool's name. A stored tool whose name reaches another tool is shown by its reference, which has the version. For people, a mark
/// warns of a name that looks like another.
pub(super) fn called(row: &ToolRow, plain: bool) -> String {
    let name = match row.source == Source::Store && row.shadowed_by.is_some() {
        true => reference(row),
        false if plain => row.name.clone(),
        false => typed_name(row).to_owned(),
    };
    match plain || row.warnings.is_empty() {
        true => name,
        false => format!("{name} (!)"),
    }
}

/// What people type for a tool that has its name: of a slug in another script the slug, which the name for models is only derived from.
pub(super) fn typed_name(row: &ToolRow) -> &str {
    match row.slug.is_ascii() {
        true => &row.name,
        false => &row.slug,
    }
}

/// Says what the mark behind a name means.
pub(super) fn explain_mark<'r>(shown: impl IntoIterator<Item = &'r ToolRow>, output: &Output) {
    let mut shown = shown.into_iter();
    let marked = shown.find(|row| !row.warnings.is_empty());
    if let Some(row) = marked.filter(|_| !output.plain()) {
        let reference = word(&reference(row));
        output.say(&output.dim(&format!(
            "(!) it may not be what it looks like: toolcrib show {reference}"
        )));
    }
}

/// Whether a tool is listed in more than one version.
pub(super) fn has_versions<'r>(shown: impl IntoIterator<Item = &'r ToolRow>) -> bool {
    let mut seen = BTreeSet::new();
    let mut tools = shown.into_iter().map(|row| (&row.bundle, &row.slug));
    tools.any(|tool| !seen.insert(tool))
}

/// Which columns a table has besides those of every one.
struct Columns {
    /// The version, where a tool has several.
    version: bool,
    /// Its status.
    state: bool,
    /// What it costs a model.
    tokens: bool,
    /// For programs: nothing but the name is in its column.
    plain: bool,
}

impl Columns {
    fn headings(&self) -> Vec<&'static str> {
        let mut headings = vec!["NAME"];
        if self.version {
            headings.push("VERSION");
        }
        headings.extend(["EFFECTS", "FROM"]);
        if self.state {
            headings.push("STATE");
        }
        if self.tokens {
            headings.push("TOKENS");
        }
        headings.push("DESCRIPTION");
        headings
    }

    fn damaged(&self, tool: &DamagedTool) -> Vec<String> {
        let mut cells = vec![tool.name.clone()];
        if self.version {
            let version = tool.version.as_ref().map(ToString::to_string);
            cells.push(version.unwrap_or_else(|| "-".to_owned()));
        }
        cells.extend(["unknown".to_owned(), tool.bundle.clone()]);
        if self.state {
            cells.push("damaged".to_owned());
        }
        if self.tokens {
            cells.push("-".to_owned());
        }
        cells.push(reason_of(&tool.availability).unwrap_or_default());
        cells
    }

    fn cells(&self, tool: &ListedTool) -> Vec<String> {
        let row = &tool.row;
        let mut cells = vec![called(row, self.plain)];
        if self.version {
            cells.push(row.version.clone());
        }
        cells.push(match row.effects.tags().as_slice() {
            [] => "unknown".to_owned(),
            tags => tags.join(","),
        });
        cells.push(row.bundle.clone());
        if self.state {
            cells.push(tool.state.to_string());
        }
        if self.tokens {
            let tokens = tool.tokens.map(|tokens| tokens.to_string());
            cells.push(tokens.unwrap_or_else(|| "-".to_owned()));
        }
        cells.push(first_sentence(&row.description).to_owned());
        cells
    }
}
