//! Tools of the store, as the verbs need them that show, switch, edit and remove tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use toolcrib::crib::{BundleKind, BundleView};
use toolcrib::definition::Problem;
use toolcrib::model::text::visible;
use toolcrib::registry::{Availability, Entry, Source};
use toolcrib::spec::manifest::ToolManifest;
use toolcrib::store::StoredTool;
use toolcrib::store::archive::Reach;
use toolcrib::{Crib, ErrorCode, ToolError, ToolSpec};

use super::show::call_line;
use super::{standing, tool_file, word};
use crate::failure::CliError;
use crate::output::Output;
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

/// What a record's tool runs, sends and reaches, each text with what it is.
pub(super) fn does(record: &StoredTool) -> Vec<(String, String)> {
    let Ok(manifest) = record.manifest() else {
        return vec![("problem".to_owned(), "the record cannot be read".to_owned())];
    };
    Reach::of(&manifest).runs
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
        BundleKind::Upstream => (
            "has the tools of an MCP server",
            "`toolcrib bundle new SLUG` makes a bundle of yours",
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
    let message = format!(
        "the bundle `{slug}` is {state}: its tools can be removed, and nothing else in it can be changed"
    );
    let hint = format!("`toolcrib bundle {verb} {}` {what}", word(slug.as_str()));
    Err(CliError::from(ToolError::new(ErrorCode::Conflict, message)).with_hint(hint))
}

/// Prints problems of a manifest, which have their places in the record as the store would write it. Where a line stands once
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

/// Says what to type next about a tool that was just put or changed, and what keeps it from being called.
pub(super) fn say_next(reference: &str, crib: &Crib, output: &Output) {
    say_next_after(None, reference, crib, output);
}

/// The same behind another line.
pub(super) fn say_next_after(
    first: Option<(String, &'static str)>,
    reference: &str,
    crib: &Crib,
    output: &Output,
) {
    let Ok(entry) = crib.registry().find(reference) else {
        return;
    };
    if let (state, Some(why)) = standing(&entry) {
        output.say(&format!("it is {state}: {}", visible(&why)));
    }
    let shown = word(reference);
    let call = visible(&call_line_of(&entry, crib)).into_owned();
    let last = match entry.availability() {
        Availability::Ready => (format!("toolcrib run {call}"), "call it"),
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

/// What people type for a tool that has its name: of a slug in another script the slug, which the name for models is only derived from.
pub(super) fn typed_name(spec: &ToolSpec) -> &str {
    match spec.slug.as_str().is_ascii() {
        true => spec.name.as_str(),
        false => spec.slug.as_str(),
    }
}

/// How the tool is called: by its name, or by its reference where another tool has the name.
pub(super) fn call_line_of(entry: &Arc<Entry>, crib: &Crib) -> String {
    let spec = entry.spec();
    let line = call_line(spec);
    let named = crib.registry().find(spec.name.as_str());
    let has_name = named.is_ok_and(|named| Arc::ptr_eq(&named, entry));
    let typed = match has_name {
        true => typed_name(spec).to_owned(),
        false => spec.reference(),
    };
    match line.strip_prefix(spec.name.as_str()) {
        Some(rest) => word(&format!("{typed}{rest}")),
        None => word(&line),
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

/// Which tools have the names that a change is about, to say who has them after it.
pub(super) struct Names(BTreeMap<String, Option<String>>);

impl Names {
    /// The names of these tools, as they are before the change.
    pub(super) fn of(entries: &[Arc<Entry>], crib: &Crib) -> Self {
        let names = entries.iter().map(|entry| entry.spec().name.to_string());
        Names(
            names
                .map(|name| (name.clone(), holder(&name, crib)))
                .collect(),
        )
    }

    /// Says which names lead to another tool than before.
    pub(super) fn say_changes(&self, crib: &Crib, output: &Output) {
        for (name, before) in &self.0 {
            let now = holder(name, crib);
            if let Some(now) = now.filter(|now| before.as_ref() != Some(now) && before.is_some()) {
                let (name, now) = (visible(name), visible(&now));
                output.say(&format!("`{name}` is `{now}` from now on"));
            }
        }
    }
}

/// Which tool a call by a name reaches; none where nothing is offered by it.
fn holder(name: &str, crib: &Crib) -> Option<String> {
    let entry = crib.registry().find(name).ok()?;
    (!entry.is_off()).then(|| entry.spec().reference())
}
