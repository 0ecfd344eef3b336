//! `toolcrib show`: one tool, in full.

use std::process::ExitCode;
use std::sync::Arc;

use serde_json::Value;
use toolcrib::model::text::visible;
use toolcrib::registry::Entry;
use toolcrib::source::{ToolFile, runs};
use toolcrib::store::StoredTool;
use toolcrib::{Crib, ToolSpec};

use super::list::Listing;
use super::trust::labelled;
use super::{Done, in_words, source, standing, stored};
use crate::args::ShowArgs;
use crate::output::Output;

pub(super) fn show(args: &ShowArgs, crib: &Crib, output: &Output) -> Done {
    let entry = crib.registry().find(&args.tool)?;
    let files = crib.tool_files();
    let file = files.file_of(&entry);
    let record = stored::record(&entry, crib);
    if output.json() {
        output.document(&crib.tool_document(&entry)?);
        return Ok(ExitCode::SUCCESS);
    }
    let listing = Listing::of(crib);
    print(&entry, file, record.as_deref(), &listing, crib, output);
    Ok(ExitCode::SUCCESS)
}

/// What only tools of files have: more about the parameters, what is run, what changed.
fn print_definition(file: &ToolFile, output: &Output) {
    output.line(&format!("file      {}", file.shown));
    let Some(definition) = &file.definition else {
        return;
    };
    for (what, text) in runs(definition) {
        labelled(&what, &text)
            .iter()
            .for_each(|line| output.line(line));
    }
    let Some(definition) = definition.command() else {
        return;
    };
    for parameter in &definition.parameters {
        let examples: Vec<String> = parameter
            .examples
            .iter()
            .map(|example| match example {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            })
            .collect();
        if parameter.detailed_help.is_none() && examples.is_empty() {
            continue;
        }
        output.line("");
        output.line(&output.bold(&visible(&parameter.name)));
        if let Some(help) = &parameter.detailed_help {
            for line in help.trim_end().lines() {
                output.line(&format!("  {}", visible(line)));
            }
        }
        if !examples.is_empty() {
            output.line(&format!("  for example {}", visible(&examples.join(", "))));
        }
    }
    if !definition.changelog.is_empty() {
        output.line("");
        output.line(&output.bold("changes"));
    }
    for change in &definition.changelog {
        let mut lines = change.changes.trim_end().lines();
        let first = lines.next().unwrap_or_default();
        output.line(&format!(
            "  {}  {}",
            visible(&change.version),
            visible(first)
        ));
        lines.for_each(|line| output.line(&format!("    {}", visible(line))));
    }
}

fn print(
    entry: &Arc<Entry>,
    file: Option<&ToolFile>,
    record: Option<&StoredTool>,
    listing: &Listing<'_>,
    crib: &Crib,
    output: &Output,
) {
    let spec = entry.spec();
    output.line(&output.heading(spec.name.as_str()));
    output.line(&visible(&spec.description));
    output.line("");
    let rows = parameter_rows(spec.input_schema.as_value());
    if rows.is_empty() {
        output.line("takes no parameters");
    } else {
        output.table(&["PARAMETER", "TYPE", "", "DESCRIPTION"], &rows);
    }
    output.line("");
    let effects = match spec.effects.tags().as_slice() {
        [] => "unknown: a call asks first".to_owned(),
        tags => tags.join(", "),
    };
    let (_, reason) = standing(entry);
    let state = listing.state(entry);
    let state = reason.map_or(state.to_owned(), |reason| format!("{state}: {reason}"));
    for warning in spec.warnings() {
        output.line(&output.doubtful(&format!("warning   {warning}")));
    }
    output.line(&format!("effects   {effects}"));
    if let Some(asks) = &spec.asks {
        output.line(&format!("asks      {}", visible(asks)));
    }
    output.line(&format!("standing  {}", visible(&state)));
    output.line(&format!(
        "from      {} ({})",
        visible(&spec.reference()),
        source(entry)
    ));
    if let Some(record) = record {
        print_record(record, output);
    }
    let usage = crib.usage(entry);
    if let Some(last) = usage.last_called_at {
        let times = match usage.call_count {
            1 => "once".to_owned(),
            count => format!("{count} times"),
        };
        output.line(&format!("called    {times}, last {last}"));
    }
    if !spec.aliases.is_empty() {
        let aliases: Vec<&str> = spec
            .aliases
            .iter()
            .map(toolcrib::WireName::as_str)
            .collect();
        output.line(&format!("also      {}", aliases.join(", ")));
    }
    let limits = entry.limits();
    let words = in_words(limits.timeout, limits.max_output_bytes);
    output.line(&format!(
        "limits    {words}, {} at once",
        limits.max_concurrent
    ));
    if !spec.tags.is_empty() {
        output.line(&format!("tags      {}", visible(&spec.tags.join(", "))));
    }
    if !spec.keywords.is_empty() {
        let keywords = spec.keywords.join(", ");
        output.line(&format!("keywords  {}", visible(&keywords)));
    }
    if let Some(file) = file {
        print_definition(file, output);
    }
    if let Some(record) = record {
        for (what, text) in stored::does(record) {
            labelled(&what, &text)
                .iter()
                .for_each(|line| output.line(line));
        }
        print_versions(record, crib, output);
    }
    output.line("");
    let line = stored::call_line_of(entry, crib);
    output.line(&format!("toolcrib run {}", visible(&line)));
}

/// What only tools of the store have: which record it is, and since when.
fn print_record(record: &StoredTool, output: &Output) {
    let head = &record.head;
    for (what, value) in [
        ("title", head.display_name.clone()),
        ("version", record.key.version.to_string()),
        ("id", head.tool_id.to_string()),
        ("created", head.created_at.to_string()),
        ("modified", head.modified_at.to_string()),
    ] {
        if !value.is_empty() {
            output.line(&format!("{what:<10}{}", visible(&value)));
        }
    }
}

/// The other versions of a stored tool.
fn print_versions(record: &StoredTool, crib: &Crib, output: &Output) {
    let versions = stored::versions(record, crib);
    let others: Vec<&str> = versions
        .iter()
        .map(|other| other.key.version.as_str())
        .filter(|version| *version != record.key.version.as_str())
        .collect();
    if !others.is_empty() {
        output.line(&format!("beside    {}", visible(&others.join(", "))));
    }
}

/// A row for each parameter of a schema.
pub(super) fn parameter_rows(schema: &Value) -> Vec<Vec<String>> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        let mut required = required.into_iter().flatten();
        required.any(|required| required.as_str() == Some(name))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let properties = properties.into_iter().flatten();
    properties
        .map(|(name, property)| row(is_required(name), name, property))
        .collect()
}

fn row(is_required: bool, name: &str, property: &Value) -> Vec<String> {
    let text = |key: &str| {
        property
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let kind = match property.get("enum").and_then(Value::as_array) {
        Some(values) => values
            .iter()
            .map(|value| value.as_str().map_or(value.to_string(), str::to_owned))
            .collect::<Vec<_>>()
            .join("|"),
        None => match property.get("type") {
            Some(Value::String(kind)) => kind.clone(),
            Some(other) => other.to_string(),
            None => "any".to_owned(),
        },
    };
    let need = match (is_required, property.get("default")) {
        (true, _) => "required".to_owned(),
        (false, Some(default)) => format!("default {default}"),
        (false, None) => String::new(),
    };
    vec![name.to_owned(), kind, need, text("description")]
}

/// A call of it as a line of words: an example, or what has to be filled in.
pub(super) fn call_line(spec: &ToolSpec) -> String {
    spec.example_line()
        .unwrap_or_else(|| format!("{}{}", spec.name, example(spec)))
}

/// The required parameters, ready to fill in.
fn example(spec: &ToolSpec) -> String {
    let schema = &spec.input_schema;
    let required = schema
        .properties()
        .filter(|(name, _)| schema.requires(name));
    required.map(|(name, _)| format!(" {name}=…")).collect()
}
