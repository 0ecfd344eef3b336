//! Templates: placeholders, what they become, and what they cannot do.

mod forms;
mod places;
mod programs;
mod property;
mod snippets;
mod windows;

use serde_json::Value;
use toolcrib::definition::ParameterKind;
use toolcrib::template::{Code, Form, NamedParameter, Names, TemplateProblem, Values};

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
