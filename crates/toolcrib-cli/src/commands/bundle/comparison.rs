//! What differs between two bundles and what the tools of the new one would do, for people and programs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use toolcrib::Crib;
use toolcrib::definition::{Problem, Severity};
use toolcrib::model::names::Slug;
use toolcrib::model::text::{self, visible};
use toolcrib::secret::Asker;
use toolcrib::spec::manifest::Bundle;
use toolcrib::store::archive::{
    Comparison, Contents, FieldChange, Reach, ToolChange, ToolComparison, compare,
};

use super::{counted, imported_at};
use crate::commands::trust::labelled;
use crate::output::Output;

/// How much of a value of a field, of a description and of a name is shown.
const MAX_VALUE: usize = 200;
const MAX_NAME: usize = 60;

/// Compares a bundle with an older one, or with none.
pub(super) fn compared(old: Option<&Contents>, new: &Contents, crib: &Crib) -> Comparison {
    compare(old, new, |tool| crib.check_manifest(tool))
}

/// What differs, for a person. What is the same has been agreed to before.
pub(super) fn page(comparison: &Comparison, output: &Output) -> Vec<String> {
    let mut lines = Vec::new();
    for change in &comparison.fields {
        // On one line: nothing of an archive may begin a line of ours.
        let field = text::shorten(&change.field.replace(['\n', '\t'], " "), MAX_NAME);
        lines.extend(labelled(&field, &in_words(change)));
    }
    for tool in &comparison.tools {
        if tool.change != ToolChange::Same {
            lines.push(String::new());
            lines.extend(entry(tool, output));
        }
    }
    lines
}

fn entry(compared: &ToolComparison, output: &Output) -> Vec<String> {
    let ToolComparison { slug, version, .. } = compared;
    let name = output.heading(&visible(&format!("{slug}@{version}")));
    let state = match compared.change {
        ToolChange::Added => output.doubtful("new"),
        ToolChange::Changed { .. } => output.doubtful("changed"),
        ToolChange::Removed => output.bad("removed"),
        ToolChange::Same => "same".to_owned(),
    };
    let mut lines = vec![format!("{name}  {state}")];
    let first = compared.tool.description.lines().next().unwrap_or_default();
    if !first.is_empty() {
        lines.push(text::shorten(first, MAX_VALUE));
    }
    if compared.change == ToolChange::Removed {
        return lines;
    }
    if slug.mixes_scripts() {
        let warning = "its slug mixes scripts and may look like another one";
        lines.extend(labelled("warning", warning));
    }
    if !compared.tool.is_enabled {
        lines.extend(labelled("switch", "off, also when the bundle is on"));
    }
    for (what, text) in &compared.reach.runs {
        lines.extend(labelled(what, text));
    }
    if let Some(before) = &compared.before {
        for line in beyond(before, &compared.reach) {
            lines.extend(labelled("beyond", &line));
        }
    }
    for tool in &compared.reach.tools {
        lines.extend(labelled("calls", tool));
    }
    for problem in &compared.problems {
        let severity = match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        lines.extend(labelled(severity, &problem_in_words(problem)));
    }
    let tags = match compared.tool.tags.is_empty() {
        true => "none".to_owned(),
        false => compared.tool.tags.join(", "),
    };
    lines.extend(labelled("tags", &tags));
    if let ToolChange::Changed { diff, .. } = &compared.change {
        lines.extend(diff.lines().map(|line| visible(line).into_owned()));
    }
    lines
}

/// What a changed tool reaches that it did not before.
fn beyond(before: &Reach, now: &Reach) -> Vec<String> {
    let hosts = now
        .hosts
        .iter()
        .filter(|host| !before.hosts.contains(host))
        .map(|host| format!("{host} was not reached before"));
    let tells = now
        .tells
        .iter()
        .filter(|told| !before.tells.contains(told))
        .map(|told| format!("{} was not told {} before", told.host, told.secret));
    hosts.chain(tells).collect()
}

fn problem_in_words(problem: &Problem) -> String {
    match &problem.help {
        Some(help) => format!("{}; {help}", problem.message),
        None => problem.message.clone(),
    }
}

fn in_words(change: &FieldChange) -> String {
    let value = |value: &Option<Value>| match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => format!("“{}”", text::shorten(text, MAX_VALUE)),
        Some(value) => text::shorten(&value.to_string(), MAX_VALUE),
    };
    format!("was {}, is {}", value(&change.old), value(&change.new))
}

/// What the tools of the new bundle reach.
pub(super) fn reaches(comparison: &Comparison) -> Vec<Reach> {
    let tools = comparison.tools.iter();
    let stay = tools.filter(|tool| tool.change != ToolChange::Removed);
    stay.map(|tool| tool.reach.clone()).collect()
}

/// Where all tools of a bundle together would go, whom they would tell which secrets, and whether those are kept here.
pub(super) fn reach_in_words(reaches: &[Reach], bundle: &Bundle, crib: &Crib) -> Vec<String> {
    let hosts: BTreeSet<&str> = reaches
        .iter()
        .flat_map(|reach| reach.hosts.iter().map(String::as_str))
        .collect();
    let mut told: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for one in reaches.iter().flat_map(|reach| &reach.tells) {
        told.entry(&one.secret).or_default().insert(&one.host);
    }
    let asker = Asker {
        bundle: bundle.slug.clone(),
        id: Some(bundle.bundle_id),
        is_imported: imported_at(bundle).is_some(),
    };
    let mut lines = Vec::new();
    if !hosts.is_empty() {
        let hosts: Vec<&str> = hosts.into_iter().collect();
        lines.extend(labelled("reaches", &hosts.join(", ")));
    }
    for (secret, hosts) in told {
        let hosts: Vec<&str> = hosts.into_iter().collect();
        let kept = kept(secret, &asker, crib);
        let line = format!("{secret} would be told {} ({kept})", hosts.join(", "));
        lines.extend(labelled("secret", &line));
    }
    lines
}

/// Whether a secret is kept here, and whether tools of this bundle would get it.
fn kept(secret: &str, asker: &Asker, crib: &Crib) -> String {
    let secrets = crib.secrets().list().unwrap_or_default();
    let Some(entry) = secrets.iter().find(|entry| entry.name.as_str() == secret) else {
        return "not kept here".to_owned();
    };
    let bundles = entry.binding.bundles();
    let names: Vec<&str> = bundles.iter().map(Slug::as_str).collect();
    match (bundles, entry.binding.is_for(asker)) {
        ([], _) => "kept here, for tools of any bundle".to_owned(),
        (_, true) => "kept here, for tools of this bundle".to_owned(),
        (bundles, false) if bundles.contains(&asker.bundle) => format!(
            "kept here, for another bundle that was named `{}`: this one does not get it",
            asker.bundle
        ),
        (_, false) => format!(
            "kept here, for tools of {}: this one does not get it",
            names.join(", ")
        ),
    }
}

/// How many tools come, go and change, in words.
pub(super) fn counts(comparison: &Comparison) -> String {
    let of = |wanted: fn(&ToolChange) -> bool| {
        let tools = comparison.tools.iter();
        tools.filter(|tool| wanted(&tool.change)).count()
    };
    let parts = [
        (of(|change| *change == ToolChange::Added), "new"),
        (
            of(|change| matches!(change, ToolChange::Changed { .. })),
            "changed",
        ),
        (of(|change| *change == ToolChange::Removed), "removed"),
        (of(|change| *change == ToolChange::Same), "the same"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    match parts.as_slice() {
        [] => counted(0, "tool"),
        parts => format!("tools: {}", parts.join(", ")),
    }
}
