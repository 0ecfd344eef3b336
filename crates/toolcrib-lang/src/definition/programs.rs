//! The programs that a YAML tool runs, for the user who decides on trust.

use serde_json::Value;

use super::RequiresApproval;
use super::values::time_in_words;
use super::{
    Action, Body, Cleanup, Definition, JsonTemplate, Parameter, Privilege, Program, Retry, StreamTo,
};

/// The programs of a tool in the order of its file, each text with its kind, and anything else that a user should know before trusting it.
#[doc(hidden)]
pub fn programs(definition: &Definition) -> Vec<(String, String)> {
    let mut runs = Vec::new();
    let program = |what: &str, program: &Program| (what.to_owned(), program.source.clone());
    match &definition.body {
        Body::Command(command) => runs.push(program("runs", command)),
        Body::Commands { default, platforms } => {
            runs.extend(default.iter().map(|command| program("runs", command)));
            for (platform, command) in platforms {
                let what = format!("runs on {}", format!("{platform:?}").to_lowercase());
                runs.push(program(&what, command));
            }
        }
        Body::Steps(steps) => {
            for step in steps {
                let what = format!("step {}", step.name);
                match &step.action {
                    Action::Run(command) => runs.push(program(&what, command)),
                    Action::UseTool { tool, with } => {
                        runs.push((what, format!("the tool {tool}")));
                        runs.extend(given(with));
                    }
                }
                if let Some(condition) = &step.run_condition {
                    runs.push(("if".to_owned(), condition.text().to_owned()));
                }
                if let Some(retry) = &step.retry {
                    runs.push(("retry".to_owned(), again(retry)));
                }
                if let Some(StreamTo::File(Some(file))) = &step.output.stream_to {
                    runs.push(("writes to".to_owned(), file.clone()));
                }
                if let Some(fallback) = &step.fallback {
                    runs.push(program(&format!("or {}", step.name), fallback));
                }
            }
        }
        Body::Alias { base, presets, .. } => {
            runs.push(("runs".to_owned(), format!("the tool {base}")));
            runs.extend(given(presets));
        }
    }
    match &definition.requires_approval {
        RequiresApproval::Unsaid => {}
        RequiresApproval::Always => runs.push(("asks".to_owned(), "before every call".to_owned())),
        RequiresApproval::Never => {
            runs.push((
                "asks".to_owned(),
                "never because of what it does".to_owned(),
            ));
        }
        RequiresApproval::If(condition) => {
            runs.push(("asks if".to_owned(), condition.text().to_owned()));
        }
    }
    for cleanup in &definition.resources.cleanup {
        if let Cleanup::FinalCommand(command) = cleanup {
            runs.push(program("at the end", command));
        }
    }
    runs.extend(surroundings(definition));
    let security = &definition.security;
    if security.privilege == Privilege::Elevated {
        runs.push(("rights".to_owned(), "those of root, by sudo".to_owned()));
    }
    let raw = definition
        .parameters
        .iter()
        .filter(|parameter| !parameter.escape_shell);
    runs.extend(raw.map(|parameter| {
        let what = format!("{} is pasted into commands as it is", parameter.name);
        ("caution".to_owned(), what)
    }));
    runs
}

/// How often and how fast a step is tried.
fn again(retry: &Retry) -> String {
    let mut line = format!("{} attempts in all", retry.attempts);
    let millis = retry.delay.as_millis();
    if millis > 0 {
        line.push_str(&format!(
            ", {} between them",
            time_in_words(millis.try_into().unwrap_or(u64::MAX))
        ));
    }
    if retry.backoff > 1.0 {
        line.push_str(&format!(", {} times as long after each", retry.backoff));
    }
    line
}

/// What else has an effect on what its programs do.
fn surroundings(definition: &Definition) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    if let Some(input) = &definition.input {
        lines.push(("input".to_owned(), input.shown()));
    }
    if let Some(directory) = &definition.paths.working_directory {
        lines.push(("works in".to_owned(), directory.shown()));
    }
    for (name, value) in &definition.environment.variables {
        lines.push(("variable".to_owned(), format!("{name}={}", value.shown())));
    }
    if definition.environment.inherit {
        let line = "it gets the harmless variables of the user's environment";
        lines.push(("inherits".to_owned(), line.to_owned()));
    }
    if let Some(interactive) = &definition.interactive {
        let answer = match &interactive.default_response {
            Some(answer) => format!("; if no one answers, it receives “{answer}”"),
            None => String::new(),
        };
        let line = format!("with the person at the terminal{answer}");
        lines.push(("talks".to_owned(), line));
    }
    lines.extend(definition.parameters.iter().flat_map(of_parameter));
    lines
}

/// What becomes of an argument before a program gets it.
fn of_parameter(parameter: &Parameter) -> Vec<(String, String)> {
    let name = &parameter.name;
    let mut lines = Vec::new();
    if let Some(default) = &parameter.default {
        lines.push(("default".to_owned(), format!("{name} = {}", text(default))));
    }
    if let Some(transform) = &parameter.transform {
        let line = format!("{name} becomes {}", transform.source());
        lines.push(("transform".to_owned(), line));
    }
    if let Some(format) = &parameter.format {
        lines.push((
            "format".to_owned(),
            format!("{name} is written {}", format.source),
        ));
    }
    lines
}

/// The arguments that another tool is given.
fn given(arguments: &[(String, JsonTemplate)]) -> Vec<(String, String)> {
    let line = |(name, value): &(String, JsonTemplate)| {
        let value = text(&as_json(value));
        ("with".to_owned(), format!("{name} = {value}"))
    };
    arguments.iter().map(line).collect()
}

/// A value with its placeholders in braces.
fn as_json(template: &JsonTemplate) -> Value {
    match template {
        JsonTemplate::Plain(value) => value.clone(),
        JsonTemplate::Text(text) => Value::String(text.shown()),
        JsonTemplate::Array(items) => items.iter().map(as_json).collect(),
        JsonTemplate::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), as_json(value)))
            .collect(),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
