//! Templates: placeholders, what they become, and what they cannot do.

mod channels;
mod data;
mod forms;
mod languages;
mod places;
mod programs;
mod property;
mod snippets;
mod soup;
mod windows;

use serde_json::Value;
use toolcrib::definition::{Format, ParameterKind};
use toolcrib::template::{Code, Form, NamedParameter, Names, TemplateProblem, Text, Values};

/// Names for a template: `names("A B:number C:array", "step1")`.
pub(super) fn names(parameters: &str, steps: &str) -> Names {
    Names {
        parameters: parameters
            .split_whitespace()
            .map(|word| {
                let (name, kind) = word.split_once(':').unwrap_or((word, "string"));
                NamedParameter {
                    name: name.to_owned(),
                    kind: match kind {
                        "number" => ParameterKind::Number,
                        "boolean" => ParameterKind::Boolean,
                        "array" => ParameterKind::Array,
                        "object" => ParameterKind::Object,
                        "raw" | "string" => ParameterKind::String,
                        other => panic!("no kind {other}"),
                    },
                    format: None,
                    raw: kind == "raw",
                }
            })
            .collect(),
        steps: steps.split_whitespace().map(str::to_owned).collect(),
        ..Names::default()
    }
}

/// The usual names: texts P, Q, DIR, a number N, a list L, an object O, a boolean F, a step.
pub(super) fn usual() -> Names {
    names(
        "P Q DIR PATTERN FILE URL N:number L:array O:object F:boolean R:raw",
        "step1",
    )
}

pub(super) fn bash(text: &str) -> Result<Code, Vec<TemplateProblem>> {
    Code::compile(&Form::Bash, text, &usual())
}

pub(super) fn values(arguments: Value) -> Values {
    Values {
        arguments: arguments.as_object().unwrap().clone(),
        ..Values::default()
    }
}

/// A format, as a definition would have it.
pub(super) fn format(text: &str) -> Format {
    let value = names("value", "");
    Format {
        words: text
            .split_whitespace()
            .map(|word| Text::compile(word, &value).unwrap())
            .collect(),
        source: text.to_owned(),
    }
}
