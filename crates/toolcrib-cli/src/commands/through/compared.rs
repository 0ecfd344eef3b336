//! What the tools of a bundle run, send and reach, as a server says it, for a person who is asked: the page of `bundle import`, `bundle diff`
//! and `bundle enable`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use toolcrib::model::text::{shorten, visible};

use super::super::trust::labelled;
use super::{first_line, flag, text, texts};
use crate::backend::Backend as Server;
use crate::failure::CliError;
use crate::output::Output;

/// How much of a value of a field, of a description and of a name is shown.
const MAX_VALUE: usize = 200;
const MAX_NAME: usize = 60;

/// What something has under a key, if that is a list.
fn rows<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value
        .get(key)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

/// What the bundle says about itself.
pub(super) fn head(shown: &Value, output: &Output) -> Vec<String> {
    let bundle = shown.get("bundle").unwrap_or(&Value::Null);
    let mut lines = vec![output.heading(&visible(text(bundle, "slug")))];
    if !text(bundle, "description").is_empty() {
        lines.push(shorten(&first_line(text(bundle, "description")), MAX_VALUE));
    }
    if !["", text(bundle, "slug")].contains(&text(bundle, "displayName")) {
        lines.extend(labelled("name", text(bundle, "displayName")));
    }
    lines.extend(labelled("id", text(bundle, "bundleID")));
    lines
}

/// What differs, every tool that is not the same as before, and what all of them reach.
pub(super) fn page(
    shown: &Value,
    server: &Server,
    output: &Output,
) -> Result<Vec<String>, CliError> {
    let mut lines = Vec::new();
    for note in texts(shown, "notes") {
        lines.extend(labelled("note", note));
    }
    for change in rows(shown, "fields") {
        // On one line: nothing of an archive may begin a line of ours.
        let field = shorten(&text(change, "field").replace(['\n', '\t'], " "), MAX_NAME);
        let line = format!("was {}, is {}", value(change, "old"), value(change, "new"));
        lines.extend(labelled(&field, &line));
    }
    for tool in rows(shown, "tools").filter(|tool| text(tool, "change") != "same") {
        lines.push(String::new());
        lines.extend(entry(tool, output));
    }
    lines.push(String::new());
    lines.push(counts(shown));
    for contest in rows(shown, "names") {
        let (name, tool, holder) = (
            text(contest, "name"),
            text(contest, "tool"),
            text(contest, "holder"),
        );
        lines.extend(match flag(contest, "taken") {
            true => labelled(
                "takes",
                &format!(
                    "the name `{name}` from `{holder}`, once it is on: `{name}` is `{tool}` then"
                ),
            ),
            false => labelled(
                "behind",
                &format!("`{name}` stays `{holder}`; this one is `{tool}`"),
            ),
        });
    }
    lines.extend(reach(shown, server)?);
    Ok(lines)
}

fn value(change: &Value, key: &str) -> String {
    match change.get(key) {
        None | Some(Value::Null) => "nothing".to_owned(),
        Some(Value::String(text)) => format!("“{}”", shorten(text, MAX_VALUE)),
        Some(value) => shorten(&value.to_string(), MAX_VALUE),
    }
}

fn entry(tool: &Value, output: &Output) -> Vec<String> {
    let name = format!("{}@{}", text(tool, "slug"), text(tool, "version"));
    let state = match text(tool, "change") {
        "added" => output.doubtful("new"),
        "removed" => output.bad("removed"),
        other => output.doubtful(&visible(other)),
    };
    let mut lines = vec![format!("{}  {state}", output.heading(&visible(&name)))];
    let first = first_line(text(tool, "description"));
    if !first.is_empty() {
        lines.push(shorten(&first, MAX_VALUE));
    }
    if text(tool, "change") == "removed" {
        return lines;
    }
    for run in rows(tool, "runs") {
        lines.extend(labelled(text(run, "what"), text(run, "text")));
    }
    for called in texts(tool, "calls") {
        lines.extend(labelled("calls", called));
    }
    for problem in rows(tool, "problems") {
        let line = match text(problem, "help") {
            "" => text(problem, "message").to_owned(),
            help => format!("{}; {help}", text(problem, "message")),
        };
        lines.extend(labelled("problem", &line));
    }
    let tags = texts(tool, "tags").join(", ");
    lines.extend(labelled(
        "tags",
        if tags.is_empty() { "none" } else { &tags },
    ));
    lines.extend(
        text(tool, "diff")
            .lines()
            .map(|line| visible(line).into_owned()),
    );
    lines
}

/// How many tools come, go and change, in words.
pub(super) fn counts(shown: &Value) -> String {
    let words = [
        ("added", "new"),
        ("changed", "changed"),
        ("removed", "removed"),
        ("same", "the same"),
    ];
    let parts: Vec<String> = words
        .iter()
        .filter_map(|(change, what)| {
            let count = rows(shown, "tools")
                .filter(|tool| text(tool, "change") == *change)
                .count();
            (count > 0).then(|| format!("{count} {what}"))
        })
        .collect();
    match parts.as_slice() {
        [] => "no tools".to_owned(),
        parts => format!("tools: {}", parts.join(", ")),
    }
}

/// Where all tools together would go, whom they would tell which secrets, and whether the server keeps those.
fn reach(shown: &Value, server: &Server) -> Result<Vec<String>, CliError> {
    let mut hosts: BTreeSet<&str> = BTreeSet::new();
    let mut told: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for tool in rows(shown, "tools").filter(|tool| text(tool, "change") != "removed") {
        hosts.extend(texts(tool, "hosts"));
        for one in rows(tool, "tells") {
            told.entry(text(one, "secret"))
                .or_default()
                .insert(text(one, "host"));
        }
    }
    let joined = |hosts: BTreeSet<&str>| hosts.into_iter().collect::<Vec<_>>().join(", ");
    let mut lines = Vec::new();
    if !hosts.is_empty() {
        lines.extend(labelled("reaches", &joined(hosts)));
    }
    if told.is_empty() {
        return Ok(lines);
    }
    let secrets = server.rows::<Value>("/api/secrets?pageSize=500", "secrets")?;
    let bundle = shown.get("bundle").unwrap_or(&Value::Null);
    for (secret, hosts) in told {
        let found = secrets.iter().find(|row| text(row, "name") == secret);
        let line = format!(
            "{secret} would be told {} ({})",
            joined(hosts),
            kept(found, bundle)
        );
        lines.extend(labelled("secret", &line));
    }
    Ok(lines)
}

/// Whether a secret is kept there, and whether tools of this bundle would get it.
fn kept(secret: Option<&Value>, bundle: &Value) -> String {
    let Some(secret) = secret else {
        return "not kept there".to_owned();
    };
    let bundles = texts(secret, "bundles");
    let slug = text(bundle, "slug");
    let id = secret
        .get("bundleIDs")
        .and_then(|ids| ids.get(slug)?.as_str());
    match bundles.as_slice() {
        [] => "kept there, for tools of any bundle".to_owned(),
        bundles if !bundles.contains(&slug) => format!(
            "kept there, for tools of {}: this one does not get it",
            bundles.join(", ")
        ),
        _ if id == Some(text(bundle, "bundleID")) => {
            "kept there, for tools of this bundle".to_owned()
        }
        _ => format!("kept there, for a bundle that is named `{slug}`"),
    }
}
