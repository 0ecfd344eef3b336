//! `toolcrib explain` for the format of tools' files: problems of `check`, and fields.

use serde_json::{Value, json};
use toolcrib::definition::fields::Field;
use toolcrib::definition::{ProblemCode, code};
use toolcrib::explain;
use toolcrib::manifest::fields::is_http;
use toolcrib::model::text;
use toolcrib::source::FileKind;

use crate::args::Global;
use crate::output::Output;

/// Explains a problem's code or a field; false when the topic is neither, or a tool that has the same name.
pub(super) fn explain(topic: &str, global: &Global, output: &Output) -> bool {
    let is_tool = || {
        let crib = super::options(global).open();
        crib.is_ok_and(|crib| crib.registry().find(topic).is_ok())
    };
    if let Some(code) = code(topic) {
        if is_tool() {
            return false;
        }
        explain_problem(code, output);
        return true;
    }
    let fields = explain::fields(topic);
    if fields.is_empty() || is_tool() {
        return false;
    }
    // A word that many places have is said of each, but not of dozens.
    let shown = &fields[..fields.len().min(6)];
    if output.json() {
        let all: Vec<Value> = shown.iter().map(|field| as_json(field)).collect();
        output.document(&json!({"fields": all}));
        return true;
    }
    for (index, field) in shown.iter().enumerate() {
        if index > 0 {
            output.line("");
        }
        explain_field(field, output);
    }
    true
}

/// Explains the field of this very name after what else the word means.
pub(super) fn explain_also(topic: &str, output: &Output) {
    for field in explain::fields(topic) {
        if field.path == topic {
            output.line("");
            explain_field(field, output);
        }
    }
}

/// Problems and fields near to a topic.
pub(super) fn near(topic: &str) -> Vec<&'static str> {
    let codes = toolcrib::definition::CODES.iter().map(|code| code.name);
    let mut near = text::nearest(topic, codes);
    near.extend(explain::near(topic));
    near
}

fn explain_problem(code: &ProblemCode, output: &Output) {
    if output.json() {
        output.document(&json!({
            "code": code.name, "severity": code.severity, "meaning": code.meaning,
            "remedy": code.remedy, "example": code.example,
        }));
        return;
    }
    output.line(&output.heading(&format!("{} ({})", code.name, code.severity.as_str())));
    output.line(code.meaning);
    output.line(code.remedy);
    if let Some(example) = code.example {
        output.line("");
        output.line("A file that has it:");
        for line in example.lines() {
            output.line(&format!("  {}", text::visible(line)));
        }
    }
}

/// How files end that have a field.
fn file_of(field: &Field) -> &'static str {
    match is_http(field) {
        true => FileKind::Json.end(),
        false => FileKind::Yaml.end(),
    }
}

fn as_json(field: &Field) -> Value {
    let below: Vec<&str> = explain::below(field)
        .iter()
        .map(|field| field.path)
        .collect();
    json!({
        "field": field.path, "file": file_of(field), "holds": field.kind.in_words(), "default": field.default,
        "meaning": field.meaning, "example": field.example, "enforced": field.enforced, "fields": below,
    })
}

fn explain_field(field: &Field, output: &Output) {
    output.line(&output.heading(field.path));
    if is_http(field) {
        output.line(match field.path.contains('.') {
            true => "a field of HTTP tools (`.json` files)",
            false => "a field of HTTP tools (`.json` files) and of stored tools",
        });
    }
    output.line(field.meaning);
    output.line("");
    output.line(&format!("holds     {}", field.kind.in_words()));
    if let Some(default) = field.default {
        output.line(&format!("default   {default}"));
    }
    output.line(&format!("enforced  {}", field.enforced));
    let name = field.path.rsplit('.').next().unwrap_or_default();
    let name = match name.trim_end_matches("[]") {
        "*" => "NAME",
        name => name,
    };
    if is_http(field) {
        let name = name.trim_matches('"');
        output.line(&format!("example   \"{name}\": {}", field.example));
        print_below(field, output);
        return;
    }
    let mut example = field.example.lines();
    let first = example.next().unwrap_or_default();
    let rest: Vec<&str> = example.collect();
    let is_block = first.starts_with("- ") || first.contains(": ") || first.ends_with(':');
    match is_block {
        false => {
            output.line(&format!("example   {name}: {first}"));
            for line in rest {
                output.line(&format!("          {line}"));
            }
        }
        true => {
            output.line(&format!("example   {name}:"));
            for line in std::iter::once(first).chain(rest) {
                output.line(&format!("            {line}"));
            }
        }
    }
    print_below(field, output);
}

fn print_below(field: &Field, output: &Output) {
    let below = explain::below(field);
    if !below.is_empty() {
        output.line("");
        let rows: Vec<Vec<String>> = below
            .iter()
            .map(|field| {
                let name = field.path.rsplit('.').next().unwrap_or_default();
                vec![name.to_owned(), field.meaning.to_owned()]
            })
            .collect();
        output.table(&["FIELD", "MEANING"], &rows);
    }
}
