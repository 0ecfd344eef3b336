//! `toolcrib list`: what tools there are.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use toolcrib::model::ids::{BundleId, ToolId};
use toolcrib::model::manifest::ToolKind;
use toolcrib::registry::{Availability, Entry};
use toolcrib::source::{Standing, ToolFile};
use toolcrib::store::StoredTool;
use toolcrib::{Crib, Effects};

use super::{Done, source, standing};
use crate::args::ListArgs;
use crate::output::Output;

/// One tool in a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row<'a> {
    name: &'a str,
    slug: &'a str,
    bundle: &'a str,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    description: &'a str,
    effects: Effects,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tags: &'a [String],
    source: &'static str,
    availability: Availability,
    /// Its file, for a tool that has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    /// Which tool has its name, if another one has.
    #[serde(skip_serializing_if = "Option::is_none")]
    shadowed_by: Option<&'a str>,
    /// What a person should know before trusting its looks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<&'static str>,
    /// What only tools of the store have.
    #[serde(flatten)]
    stored: Option<Stored>,
}

/// What a list says of a tool of the store besides, in S4's words.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
    #[serde(rename = "bundleID")]
    bundle_id: BundleId,
    #[serde(rename = "toolID")]
    tool_id: ToolId,
    display_name: String,
    #[serde(rename = "type")]
    kind: ToolKind,
    is_enabled: bool,
    created_at: Timestamp,
    modified_at: Timestamp,
}

impl Stored {
    fn of(record: &StoredTool) -> Self {
        let head = &record.head;
        Stored {
            bundle_id: record.key.bundle,
            tool_id: head.tool_id,
            display_name: head.display_name.clone(),
            kind: head.kind,
            is_enabled: head.is_enabled,
            created_at: head.created_at,
            modified_at: head.modified_at,
        }
    }
}

impl<'a> Row<'a> {
    pub(super) fn of(entry: &'a Entry, file: Option<&'a ToolFile>, crib: &Crib) -> Self {
        let spec = entry.spec();
        let shadowed_by = file.and_then(|file| match &file.standing {
            Standing::Shadowed { by, .. } => Some(by.as_str()),
            _ => None,
        });
        Row {
            name: spec.name.as_str(),
            slug: spec.slug.as_str(),
            bundle: spec.bundle.as_str(),
            version: spec.version.as_str(),
            title: spec.title.as_deref(),
            description: &spec.description,
            effects: spec.effects,
            tags: &spec.tags,
            source: source(entry),
            availability: entry.availability(),
            file: file.map(|file| file.shown.as_str()),
            shadowed_by,
            warnings: spec.warnings(),
            stored: crib.record_of(entry).as_deref().map(Stored::of),
        }
    }
}

pub(super) fn list(args: &ListArgs, crib: &Crib, output: &Output) -> Done {
    let mut all = crib.registry().entries();
    let files = crib.tool_files();
    if args.all {
        let shadowed = crib.registry().shadowed();
        all.extend(shadowed.into_iter().map(|(entry, _)| entry));
        all.sort_by_key(|entry| (entry.spec().name.clone(), entry.source()));
    }
    let shown: Vec<&Arc<Entry>> = all
        .iter()
        .filter(|entry| args.all || entry.availability() == Availability::Ready)
        .collect();
    if output.json() {
        let rows: Vec<Row<'_>> = shown
            .iter()
            .map(|entry| Row::of(entry, files.file_of(entry), crib))
            .collect();
        output.document(&rows);
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<String>> = shown
        .iter()
        .map(|entry| cells(entry, files.file_of(entry), args.all))
        .collect();
    let headings: &[&str] = if args.all {
        &["NAME", "EFFECTS", "FROM", "STATE", "DESCRIPTION"]
    } else {
        &["NAME", "EFFECTS", "FROM", "DESCRIPTION"]
    };
    if !rows.is_empty() || output.plain() {
        output.table(headings, &rows);
    }
    let untrusted = if args.all { 0 } else { files.untrusted() };
    let hidden = (all.len() - shown.len()).saturating_sub(untrusted);
    let reasons: BTreeSet<String> = all.iter().filter_map(|entry| standing(entry).1).collect();
    let shared = if args.all { None } else { shared_lack(&all) };
    if let Some((count, lack)) = shared.filter(|_| !shown.is_empty()) {
        output.say(&format!("{count} tools cannot run here: {lack}"));
    }
    match (shown.is_empty(), reasons.first()) {
        (true, Some(reason)) if reasons.len() == 1 => {
            output.say(&format!("no tool can run here: {reason}"));
        }
        _ if hidden == 1 => {
            output.say(&output.dim("1 more tool is off or cannot run here: toolcrib list --all"));
        }
        _ if hidden > 1 => {
            output.say(&output.dim(&format!(
                "{hidden} more tools are off or cannot run here: toolcrib list --all"
            )));
        }
        _ => {}
    }
    match untrusted {
        0 => {}
        1 => output.say("1 tool of this project is not trusted yet: toolcrib trust"),
        count => output.say(&format!(
            "{count} tools of this project are not trusted yet: toolcrib trust"
        )),
    }
    Ok(ExitCode::SUCCESS)
}

/// What most of the tools that cannot run lack, as a workspace, and how many they are; `None` if no two of them lack the same.
fn shared_lack(all: &[Arc<Entry>]) -> Option<(usize, String)> {
    let mut lacks: BTreeMap<String, usize> = BTreeMap::new();
    for entry in all {
        if let Availability::Unavailable { reason } = entry.availability() {
            *lacks.entry(reason).or_default() += 1;
        }
    }
    let (lack, count) = lacks.into_iter().max_by_key(|(_, count)| *count)?;
    (count > 1).then_some((count, lack))
}

/// How a tool stands, in one word.
pub(super) fn state(entry: &Entry, file: Option<&ToolFile>) -> &'static str {
    match file.map(|file| &file.standing) {
        Some(Standing::Shadowed { .. }) => "shadowed",
        Some(Standing::Broken { .. }) => "broken",
        _ => match entry.availability() {
            Availability::Disabled { reason, .. } if reason == "untrusted" => "untrusted",
            _ => standing(entry).0,
        },
    }
}

fn cells(entry: &Entry, file: Option<&ToolFile>, with_state: bool) -> Vec<String> {
    let spec = entry.spec();
    let mark = if spec.warnings().is_empty() {
        ""
    } else {
        " (!)"
    };
    let effects = match spec.effects.tags().as_slice() {
        [] => "unknown".to_owned(),
        tags => tags.join(","),
    };
    let bundle = spec.bundle.to_string();
    let mut cells = vec![format!("{}{mark}", spec.name), effects, bundle];
    if with_state {
        cells.push(state(entry, file).to_owned());
    }
    let first = spec.description.lines().next().unwrap_or_default();
    cells.push(first.to_owned());
    cells
}
