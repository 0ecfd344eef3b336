//! Tools of the store, as the verbs need them that show, switch, edit and remove tools.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolcrib::crib::{BundleKind, BundleView};
use toolcrib::definition::Problem;
use toolcrib::model::manifest::ToolManifest;
use toolcrib::model::text::visible;
use toolcrib::registry::{Entry, Source};
use toolcrib::store::StoredTool;
use toolcrib::store::archive::Reach;
use toolcrib::{Crib, ErrorCode, ToolError};

use super::show::call_line;
use super::{standing, word};
use crate::failure::CliError;
use crate::output::Output;
use crate::wrap;

/// The record of a tool of the store; none for others.
pub(super) fn record(entry: &Entry, crib: &Crib) -> Option<Arc<StoredTool>> {
    match entry.source() {
        Source::Store => crib.record_of(entry),
        Source::BuiltIn | Source::App | Source::Local | Source::User | Source::Global => None,
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

/// A record as a program reads it: S4's fields, and what is computed. A field of another version gives way to the latter.
pub(super) fn as_json(
    record: &StoredTool,
    entry: &Entry,
    crib: &Crib,
) -> Result<Map<String, Value>, CliError> {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(manifest(record)?) else {
        return Ok(Map::new());
    };
    let spec = entry.spec();
    for (key, value) in [
        ("name", json!(spec.name)),
        ("bundle", json!(spec.bundle)),
        ("source", json!(entry.source())),
        ("effects", json!(spec.effects)),
        ("digest", json!(entry.digest())),
        ("availability", json!(entry.availability())),
    ] {
        fields.insert(key.to_owned(), value);
    }
    let usage = crib.usage(entry);
    fields.insert("callCount".to_owned(), json!(usage.call_count));
    fields.shift_remove("lastCalledAt");
    if let Some(last) = usage.last_called_at {
        fields.insert("lastCalledAt".to_owned(), json!(last));
    }
    Ok(fields)
}

/// What a record's tool runs, sends and reaches, each text with what it is.
pub(super) fn does(record: &StoredTool) -> Vec<(String, String)> {
    let Ok(manifest) = record.manifest() else {
        return vec![("problem".to_owned(), "the record cannot be read".to_owned())];
    };
    let reach = Reach::of(&manifest);
    let mut lines = reach.runs;
    if !reach.hosts.is_empty() {
        lines.push(("reaches".to_owned(), reach.hosts.join(", ")));
    }
    for told in reach.tells {
        let what = format!("{} is told to {}", told.secret, told.host);
        lines.push(("secret".to_owned(), what));
    }
    if !reach.tools.is_empty() {
        lines.push(("calls".to_owned(), reach.tools.join(", ")));
    }
    lines
}

/// Refuses a bundle of Toolcrib's own, which nothing can be put into; says where its tools come from instead.
pub(super) fn refuse_own(view: &BundleView) -> Result<(), CliError> {
    let slug = &view.bundle.slug;
    let (what, hint) = match view.kind {
        BundleKind::Store => return Ok(()),
        BundleKind::BuiltIn => (
            "has the built-in tools",
            "`toolcrib bundle new SLUG` makes a bundle of yours",
        ),
        BundleKind::Files => (
            "has the tools of files",
            "`toolcrib new NAME` writes a file there; `toolcrib bundle new SLUG` makes a bundle of yours",
        ),
    };
    let message = format!("`{slug}` {what}, and nothing can be put into it");
    Err(CliError::from(ToolError::new(ErrorCode::ReadOnly, message)).with_hint(hint))
}

/// Refuses a bundle in which nothing can be changed as it stands.
pub(super) fn refuse_closed(view: &BundleView) -> Result<(), CliError> {
    let slug = &view.bundle.slug;
    let (state, verb, what) = match (view.bundle.soft_deleted_at, view.bundle.is_enabled) {
        (Some(_), _) => ("in the bin", "restore", "takes it out"),
        (None, false) => ("off", "enable", "switches it on"),
        (None, true) => return Ok(()),
    };
    let message = format!("the bundle `{slug}` is {state}, and nothing in it can be changed");
    let hint = format!("`toolcrib bundle {verb} {}` {what}", word(slug.as_str()));
    Err(CliError::from(ToolError::new(ErrorCode::Conflict, message)).with_hint(hint))
}

/// The text that problems of a manifest have their places in.
pub(super) fn record_text(manifest: &ToolManifest) -> String {
    serde_json::to_string_pretty(manifest).unwrap_or_default() + "\n"
}

/// What is wrong with a manifest beside the tools, secrets and functions that there are, and was not said of its file already.
pub(super) fn further_problems(
    manifest: &ToolManifest,
    known: &[Problem],
    crib: &Crib,
) -> Vec<Problem> {
    let mut problems = crib.check_manifest(manifest);
    let is_known = |problem: &Problem| {
        let mut known = known.iter();
        known.any(|one| one.code == problem.code && one.message == problem.message)
    };
    problems.retain(|problem| !is_known(problem));
    problems
}

/// Says what to type next about a tool that was just put or changed, and what keeps it from being called.
pub(super) fn say_next(reference: &str, crib: &Crib, output: &Output) {
    let Ok(entry) = crib.registry().find(reference) else {
        return;
    };
    if let (state, Some(why)) = standing(&entry) {
        output.say(&format!("it is {state}: {}", visible(&why)));
    }
    let shown = word(reference);
    let call = visible(&call_line_of(&entry, crib)).into_owned();
    let lines = [
        (format!("toolcrib show {shown}"), "what it takes"),
        (format!("toolcrib run {call}"), "call it"),
    ];
    let width = lines.iter().map(|(line, _)| wrap::width(line)).max();
    for (line, what) in &lines {
        let pad = width.unwrap_or_default().saturating_sub(wrap::width(line));
        output.say(&format!("  {line}{:pad$}   {}", "", output.dim(what)));
    }
}

/// How the tool is called: by its name, or by its reference where another tool has the name.
pub(super) fn call_line_of(entry: &Arc<Entry>, crib: &Crib) -> String {
    let spec = entry.spec();
    let line = call_line(spec);
    let named = crib.registry().find(spec.name.as_str());
    if named.is_ok_and(|named| Arc::ptr_eq(&named, entry)) {
        return line;
    }
    match line.strip_prefix(spec.name.as_str()) {
        Some(rest) => format!("{}{rest}", word(&spec.reference())),
        None => line,
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
