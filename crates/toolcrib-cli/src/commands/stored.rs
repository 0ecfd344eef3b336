//! Tools of the store, as the verbs need them that show, switch, edit and remove tools.

use std::sync::Arc;

use toolcrib::crib::{BundleKind, BundleRow, ToolList, ToolRow};
use toolcrib::definition::Problem;
use toolcrib::model::text::visible;
use toolcrib::registry::{Availability, Entry, Source};
use toolcrib::spec::manifest::ToolManifest;
use toolcrib::store::StoredTool;
use toolcrib::{Crib, ErrorCode, ToolError};
use toolcrib_server::client::Ask;

use super::list::tools_at;
use super::show::Looked;
use super::{availability_word, reason_of, tool_file, word};
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::Backend;
use crate::wrap;

/// What a version looks like.
pub(super) const VERSION_HINT: &str = "a short text without spaces, as `v2` or `2026-11`";

/// The record of a tool of the store; none for others.
pub(super) fn record(entry: &Entry, crib: &Crib) -> Option<Arc<StoredTool>> {
    match entry.source() {
        Source::Store => crib.record_of(entry),
        Source::BuiltIn
        | Source::App
        | Source::Local
        | Source::User
        | Source::Global
        | Source::Upstream => None,
    }
}

/// All that a record says. One that cannot be read any more was damaged since it was found.
pub(super) fn manifest(record: &StoredTool) -> Result<ToolManifest, CliError> {
    record.manifest().map_err(|error| {
        let message = format!("the record cannot be read: {error}");
        CliError::from(ToolError::new(ErrorCode::StorageError, message))
            .with_hint("`toolcrib doctor` says what is damaged")
    })
}

/// The row of the tool that a word names.
pub(super) fn find(word: &str, backend: &Backend) -> Result<ToolRow, CliError> {
    let list: ToolList = backend.get_as(&tools_at(&[("tool", word)]))?;
    let mut rows = list.tools.into_iter().map(|tool| tool.row);
    rows.next()
        .ok_or_else(|| CliError::usage("the name of a tool is missing"))
}

/// Every version of the tool that a row is one of, the newest first.
pub(super) fn versions_of(row: &ToolRow, backend: &Backend) -> Result<Vec<ToolRow>, CliError> {
    let bundle = row.bundle_id.map(|id| id.to_string()).unwrap_or_default();
    let list: ToolList = backend.get_as(&tools_at(&[("bundle", &bundle)]))?;
    let rows = list.tools.into_iter().map(|tool| tool.row);
    let mut versions: Vec<ToolRow> = rows.filter(|other| other.slug == row.slug).collect();
    versions.sort_by(|one, other| {
        let by_time = other.modified_at.cmp(&one.modified_at);
        by_time.then_with(|| one.version.cmp(&other.version))
    });
    Ok(versions)
}

/// The path of a version.
pub(super) fn path_of(row: &ToolRow) -> String {
    let bundle = row.bundle_id.map(|id| id.to_string());
    format!(
        "/tools/bundles/{}/tools/{}/version/{}",
        Ask::encoded(bundle.as_ref().unwrap_or(&row.bundle)),
        Ask::encoded(&row.slug),
        Ask::encoded(&row.version)
    )
}

/// Refuses a bundle of Toolcrib's own, which nothing can be put into; says where its tools come from instead.
pub(super) fn refuse_own(bundle: &BundleRow) -> Result<(), CliError> {
    let slug = &bundle.slug;
    let (what, hint) = match bundle.kind {
        BundleKind::Store => return Ok(()),
        BundleKind::BuiltIn => (
            "has the built-in tools",
            "`toolcrib bundle new SLUG` makes a bundle of yours",
        ),
        BundleKind::Files => (
            "has the tools of files",
            "`toolcrib new NAME` writes a file there; `toolcrib bundle new SLUG` makes a bundle of yours",
        ),
        BundleKind::Upstream => (
            "has the tools of an MCP server",
            "`toolcrib bundle new SLUG` makes a bundle of yours",
        ),
    };
    let message = format!("`{slug}` {what}, and nothing can be put into it");
    Err(CliError::from(ToolError::new(ErrorCode::ReadOnly, message)).with_hint(hint))
}

/// Refuses a bundle in which nothing can be changed as it is.
pub(super) fn refuse_closed(bundle: &BundleRow) -> Result<(), CliError> {
    let slug = &bundle.slug;
    let (state, verb, what) = match (bundle.soft_deleted_at, bundle.is_enabled) {
        (Some(_), _) => ("in the bin", "restore", "takes it out"),
        (None, false) => ("off", "enable", "switches it on"),
        (None, true) => return Ok(()),
    };
    let message = format!(
        "the bundle `{slug}` is {state}: its tools can be removed, and nothing else in it can be changed"
    );
    let hint = format!("`toolcrib bundle {verb} {}` {what}", word(slug.as_str()));
    Err(CliError::from(ToolError::new(ErrorCode::Conflict, message)).with_hint(hint))
}

/// Prints problems of a manifest, which have their places in the record as the store would write it. Where a line is once
/// and alike in the text that a person wrote, it is shown there.
pub(super) fn print_problems(
    shown: &str,
    text: &str,
    manifest: &ToolManifest,
    problems: &[Problem],
    output: &Output,
) {
    let record = serde_json::to_string_pretty(manifest).unwrap_or_default() + "\n";
    for problem in problems {
        match toolcrib::crib::moved(problem, &record, text) {
            Some(problem) => tool_file::print_problems(shown, text, &[problem], output),
            None => {
                let problem = std::slice::from_ref(problem);
                tool_file::print_problems(shown, &record, problem, output);
            }
        }
    }
}

/// Says what to type next about a tool that was just put or changed, behind a first line; and what keeps it from being called.
pub(super) fn say_next(first: Option<(String, &'static str)>, tool: &Looked, output: &Output) {
    let availability = tool.availability();
    if let Some(why) = reason_of(&availability) {
        let state = availability_word(&availability);
        output.say(&format!("it is {state}: {}", visible(&why)));
    }
    let shown = word(&tool.reference());
    let last = match availability {
        Availability::Ready => {
            let call = tool.call_line();
            (format!("toolcrib run {}", visible(&call)), "call it")
        }
        Availability::Disabled { .. } | Availability::Unavailable { .. } => (
            format!("toolcrib explain {shown}"),
            "what keeps it from running",
        ),
    };
    let show = (format!("toolcrib show {shown}"), "what it takes");
    let lines: Vec<(String, &str)> = first.into_iter().chain([show, last]).collect();
    let width = lines.iter().map(|(line, _)| wrap::width(line)).max();
    for (line, what) in &lines {
        let pad = width.unwrap_or_default().saturating_sub(wrap::width(line));
        output.say(&format!("  {line}{:pad$}   {}", "", output.dim(what)));
    }
}

/// Every version of the tool that a record is one of, the newest first.
pub(super) fn versions(record: &StoredTool, crib: &Crib) -> Vec<Arc<StoredTool>> {
    let mut all = crib.store().tools(record.key.bundle);
    all.retain(|other| other.key.slug == record.key.slug);
    all
}

/// Whether a word of the command line says which version it means: by `@`, or by an id.
pub(super) fn names_version(word: &str) -> bool {
    word.contains('@') || toolcrib::model::ids::ToolId::parse(word).is_ok()
}
