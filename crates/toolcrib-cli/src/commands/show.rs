//! `toolcrib show`: one tool, in full.

use std::process::ExitCode;

use serde::Serialize;
use serde_json::Value;
use toolcrib::registry::Entry;
use toolcrib::{Crib, Limits, ToolSpec};

use super::list::Row;
use super::{Done, in_words, source, standing};
use crate::args::ShowArgs;
use crate::output::Output;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Whole<'a> {
    #[serde(flatten)]
    row: Row<'a>,
    aliases: &'a [toolcrib::WireName],
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asks: Option<&'a str>,
    #[serde(skip_serializing_if = "<[Value]>::is_empty")]
    examples: &'a [Value],
    limits: ShownLimits,
    digest: &'a str,
}

/// Limits in the units of the wire.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownLimits {
    timeout_ms: u64,
    max_input_bytes: u64,
    max_output_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_calls_per_minute: Option<u32>,
    max_concurrent: u32,
}

impl From<&Limits> for ShownLimits {
    fn from(limits: &Limits) -> Self {
        ShownLimits {
            timeout_ms: u64::try_from(limits.timeout.as_millis()).unwrap_or(u64::MAX),
            max_input_bytes: limits.max_input_bytes,
            max_output_bytes: limits.max_output_bytes,
            max_calls_per_minute: limits.max_calls_per_minute,
            max_concurrent: limits.max_concurrent,
        }
    }
}

pub(super) fn show(args: &ShowArgs, crib: &Crib, output: &Output) -> Done {
    let entry = crib.registry().find(&args.tool)?;
    let spec = entry.spec();
    if output.json() {
        output.document(&Whole {
            row: Row::of(&entry),
            aliases: &spec.aliases,
            input_schema: spec.input_schema.as_value(),
            output_schema: spec.output_schema.as_ref().map(|schema| schema.as_value()),
            asks: spec.asks.as_deref(),
            examples: &spec.examples,
            limits: entry.limits().into(),
            digest: entry.digest(),
        });
        return Ok(ExitCode::SUCCESS);
    }
    print(&entry, output);
    Ok(ExitCode::SUCCESS)
}

fn print(entry: &Entry, output: &Output) {
    let spec = entry.spec();
    let visible = toolcrib::model::text::visible;
    output.line(&output.heading(spec.name.as_str()));
    output.line(&visible(&spec.description));
    output.line("");
    let rows: Vec<Vec<String>> = spec
        .input_schema
        .properties()
        .map(|(name, property)| row(spec, name, property))
        .collect();
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
    let (state, reason) = standing(entry);
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
        spec.reference(),
        source(entry)
    ));
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
    output.line("");
    output.line(&format!("toolcrib run {}", visible(&call_line(spec))));
}

fn row(spec: &ToolSpec, name: &str, property: &Value) -> Vec<String> {
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
    let need = match (spec.input_schema.requires(name), property.get("default")) {
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
