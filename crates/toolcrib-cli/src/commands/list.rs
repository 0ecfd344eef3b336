//! `toolcrib list`: what tools there are.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use serde::Serialize;
use toolcrib::registry::{Availability, Entry};
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
    /// What a person should know before trusting its looks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<&'static str>,
}

impl<'a> Row<'a> {
    pub(super) fn of(entry: &'a Entry) -> Self {
        let spec = entry.spec();
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
            warnings: spec.warnings(),
        }
    }
}

pub(super) fn list(args: &ListArgs, crib: &Crib, output: &Output) -> Done {
    let all = crib.registry().entries();
    let shown: Vec<&Arc<Entry>> = all
        .iter()
        .filter(|entry| args.all || entry.availability() == Availability::Ready)
        .collect();
    if output.json() {
        let rows: Vec<Row<'_>> = shown.iter().map(|entry| Row::of(entry)).collect();
        output.document(&rows);
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<String>> = shown.iter().map(|entry| cells(entry, args.all)).collect();
    let headings: &[&str] = if args.all {
        &["NAME", "EFFECTS", "STATE", "DESCRIPTION"]
    } else {
        &["NAME", "EFFECTS", "DESCRIPTION"]
    };
    if !rows.is_empty() || output.plain() {
        output.table(headings, &rows);
    }
    let hidden = all.len() - shown.len();
    let reasons: BTreeSet<String> = all.iter().filter_map(|entry| standing(entry).1).collect();
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
    Ok(ExitCode::SUCCESS)
}

fn cells(entry: &Entry, with_state: bool) -> Vec<String> {
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
    let mut cells = vec![format!("{}{mark}", spec.name), effects];
    if with_state {
        cells.push(standing(entry).0.to_owned());
    }
    cells.push(
        spec.description
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned(),
    );
    cells
}
