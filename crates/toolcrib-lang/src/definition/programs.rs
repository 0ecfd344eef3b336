//! What a YAML tool runs: for whoever is to trust it.

use serde_json::Value;

use super::{
    Action, Body, Cleanup, Definition, JsonTemplate, Parameter, Privilege, Program, StreamTo,
};

/// The programs of a tool in the order of its file, each text with what it is, and what else whoever trusts it should know.
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
                if let Some(StreamTo::File(Some(file))) = &step.output.stream_to {
                    runs.push(("writes to".to_owned(), file.clone()));
                }
                if let Some(fallback) = &step.fallback {
                    runs.push(program(&format!("or {}", step.name), fallback));
                }
            }
        }
        Body::Alias { base, presets } => {
            runs.push(("runs".to_owned(), format!("the tool {base}")));
            runs.extend(given(presets));
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
        let line = "it gets the variables of whoever runs it, as far as they are harmless";
        lines.push(("inherits".to_owned(), line.to_owned()));
    }
    if let Some(interactive) = &definition.interactive {
        let answer = match &interactive.default_response {
            Some(answer) => format!("; where nobody answers, it is told “{answer}”"),
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
