//! What differs between two bundles and what the tools of the new one would do, for people.

use serde_json::Value;
use toolcrib::crib::{ChangedField, ComparedTool, ComparisonShown, ProblemRow, ReachShown};
use toolcrib::definition::Severity;
use toolcrib::model::text::{self, visible};

use super::counted;
use crate::commands::trust::labelled;
use crate::output::Output;

/// How much of a value of a field, of a description and of a name is shown.
const MAX_VALUE: usize = 200;
const MAX_NAME: usize = 60;

/// What differs, for a person. The unchanged part was agreed to before.
pub(super) fn page(comparison: &ComparisonShown, output: &Output) -> Vec<String> {
    let mut lines = Vec::new();
    for change in &comparison.fields {
        // On one line: nothing of an archive may begin a line of ours.
        let field = text::shorten(&change.field.replace(['\n', '\t'], " "), MAX_NAME);
        lines.extend(labelled(&field, &in_words(change)));
    }
    for tool in &comparison.tools {
        if tool.change != "same" {
            lines.push(String::new());
            lines.extend(entry(tool, output));
        }
    }
    lines
}

fn entry(compared: &ComparedTool, output: &Output) -> Vec<String> {
    let ComparedTool { slug, version, .. } = compared;
    let name = output.heading(&visible(&format!("{slug}@{version}")));
    let state = match compared.change.as_ref() {
        "added" => output.doubtful("new"),
        "removed" => output.bad("removed"),
        other => output.doubtful(&visible(other)),
    };
    let mut lines = vec![format!("{name}  {state}")];
    let first = compared.description.lines().next().unwrap_or_default();
    if !first.is_empty() {
        lines.push(text::shorten(first, MAX_VALUE));
    }
    if compared.change == "removed" {
        return lines;
    }
    if slug.mixes_scripts() {
        let warning = "its slug mixes scripts and may look like another one";
        lines.extend(labelled("warning", warning));
    }
    let shown = compared.shown.as_ref();
    if shown.is_some_and(|shown| !shown.is_enabled) {
        lines.extend(labelled("switch", "off, also when the bundle is on"));
    }
    lines.extend(runs(compared));
    for line in shown.iter().flat_map(|shown| &shown.beyond) {
        lines.extend(labelled("beyond", line));
    }
    for tool in &compared.calls {
        lines.extend(labelled("calls", tool));
    }
    for (index, problem) in compared.problems.iter().enumerate() {
        let severity = shown.and_then(|shown| shown.severities.get(index));
        let severity = severity.map_or("problem", |severity: &Severity| severity.as_str());
        lines.extend(labelled(severity, &problem_in_words(problem)));
    }
    lines.extend(tags(compared));
    let diff = compared.diff.as_deref().unwrap_or_default();
    lines.extend(diff.lines().map(|line| visible(line).into_owned()));
    lines
}

/// What a tool runs and sends.
pub(super) fn runs(tool: &ComparedTool) -> Vec<String> {
    let runs = tool.runs.iter();
    runs.flat_map(|run| labelled(&run.what, &run.text))
        .collect()
}

/// The tags of a tool.
pub(super) fn tags(tool: &ComparedTool) -> Vec<String> {
    match tool.tags.is_empty() {
        true => labelled("tags", "none"),
        false => labelled("tags", &tool.tags.join(", ")),
    }
}

fn problem_in_words(problem: &ProblemRow) -> String {
    match &problem.help {
        Some(help) => format!("{}; {help}", problem.message),
        None => problem.message.clone(),
    }
}

fn in_words(change: &ChangedField) -> String {
    let value = |value: &Option<Value>| match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => format!("“{}”", text::shorten(text, MAX_VALUE)),
        Some(value) => text::shorten(&value.to_string(), MAX_VALUE),
    };
    format!("was {}, is {}", value(&change.old), value(&change.new))
}

/// Where all tools of a bundle together would go, whom they would tell which secrets, and whether those are kept.
pub(super) fn reach_in_words(comparison: &ComparisonShown) -> Vec<String> {
    let Some(ReachShown { hosts, secrets }) = &comparison.reach else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    if !hosts.is_empty() {
        lines.extend(labelled("reaches", &hosts.join(", ")));
    }
    for told in secrets {
        let (secret, hosts, kept) = (&told.secret, told.hosts.join(", "), &told.kept);
        let line = format!("{secret} would be sent to {hosts} ({kept})");
        lines.extend(labelled("secret", &line));
    }
    lines
}

/// How many tools come, go and change, in words.
pub(super) fn counts(comparison: &ComparisonShown) -> String {
    let words = [
        ("added", "new"),
        ("changed", "changed"),
        ("removed", "removed"),
        ("same", "the same"),
    ];
    let parts: Vec<String> = words
        .iter()
        .filter_map(|(change, what)| {
            let tools = comparison.tools.iter();
            let count = tools.filter(|tool| tool.change == *change).count();
            (count > 0).then(|| format!("{count} {what}"))
        })
        .collect();
    match parts.as_slice() {
        [] => counted(0, "tool"),
        parts => format!("tools: {}", parts.join(", ")),
    }
}
