//! What the arguments of a call become before they are judged: type → default → transform → path form → validation.
//!
//! Arguments stay in the form they are published in, so that a person can edit them and they fit the schema again; [`declared`]
//! gives them as the parameters' own types, which is what commands get.

use serde_json::Value;

use super::hosts;
use super::paths;
use super::programs::{self, Role};
use super::publish::{is_own_type, own_type, property, published_type, to_published};
use super::surroundings::judged_variables;
use crate::definition::{Definition, Parameter, ParameterKind, SchemaGeneration};
use crate::model::JsonObject;
use crate::model::json::read_bounded;
use crate::process::MAX_ARGUMENT;
use crate::schema::{Fault, Schema};
use crate::template::{Reference, ValueFault, Values};

/// The checks that the published schema does not make: of values after their transformation, and of those published as
/// another type.
pub(super) struct Checks(Vec<Option<Schema>>);

impl Checks {
    /// Those of a definition's parameters. The error says which cannot be made.
    pub(super) fn of(definition: &Definition) -> Result<Self, String> {
        let check = |parameter: &Parameter| {
            let published = published_type(parameter.kind, &definition.schema_generation);
            if parameter.transform.is_none() && is_own_type(parameter.kind, published) {
                return Ok(None);
            }
            // As if it were published plainly.
            let plain = Parameter {
                transform: None,
                default: None,
                ..parameter.clone()
            };
            Schema::output(property(&plain, &SchemaGeneration::default()))
                .map(Some)
                .map_err(|error| format!("the parameter `{}`: {error}", parameter.name))
        };
        let all = definition.parameters.iter().map(check);
        Ok(Checks(all.collect::<Result<_, _>>()?))
    }
}

/// Fills defaults in, transforms and checks. `edited`: the arguments went through here before, and a person changed them.
pub(super) fn refine(
    definition: &Definition,
    checks: &Checks,
    mut args: JsonObject,
    edited: bool,
) -> Result<JsonObject, Vec<Fault>> {
    let mut faults = Vec::new();
    for (parameter, check) in definition.parameters.iter().zip(&checks.0) {
        let published = published_type(parameter.kind, &definition.schema_generation);
        let given = args.remove(&parameter.name);
        let refined = match given {
            None => parameter.default.clone().map(Ok),
            Some(value) => Some(from_published(value, parameter.kind, published)),
        };
        let Some(refined) = refined else { continue };
        let refined = refined
            .and_then(|value| transformed(parameter, value, edited))
            .map(|value| paths::in_form(value, parameter, definition));
        match refined {
            Ok(value) => {
                let found = check.as_ref().map(|check| check.check_output(&value));
                match found {
                    Some(Ok(found)) => faults.extend(found.into_iter().map(|fault| Fault {
                        pointer: format!("{}{}", pointer(&parameter.name), fault.pointer),
                        message: fault.message,
                    })),
                    Some(Err(error)) => faults.push(fault(&parameter.name, error.to_string())),
                    None => {}
                }
                args.insert(parameter.name.clone(), to_published(&value, published));
            }
            Err(message) => faults.push(fault(&parameter.name, message)),
        }
    }
    if faults.is_empty() {
        faults = unfit(definition, &args);
    }
    match faults.is_empty() {
        true => Ok(args),
        false => Err(faults),
    }
}

/// The arguments as the parameters' own types.
pub(super) fn declared(definition: &Definition, args: &JsonObject) -> JsonObject {
    let kind_of = |name: &str| {
        let parameter = definition
            .parameters
            .iter()
            .find(|parameter| parameter.name == name)?;
        Some((
            parameter.kind,
            published_type(parameter.kind, &definition.schema_generation).to_owned(),
        ))
    };
    args.iter()
        .map(|(name, value)| {
            let value = match kind_of(name) {
                Some((kind, published)) => {
                    from_published(value.clone(), kind, &published).unwrap_or(value.clone())
                }
                None => value.clone(),
            };
            (name.clone(), value)
        })
        .collect()
}

/// A value of the published type as one of the parameter's own.
fn from_published(value: Value, kind: ParameterKind, published: &str) -> Result<Value, String> {
    if is_own_type(kind, published) || is_of(kind, &value) {
        return Ok(value);
    }
    let read = match (&value, kind) {
        (Value::String(text), _) => read_bounded(text.as_bytes()).ok(),
        (other, ParameterKind::String) => Some(Value::from(other.to_string())),
        _ => None,
    };
    read.filter(|read| is_of(kind, read))
        .ok_or_else(|| format!("is not the text of {}", with_article(kind)))
}

fn is_of(kind: ParameterKind, value: &Value) -> bool {
    match kind {
        ParameterKind::String => value.is_string(),
        ParameterKind::Number => value.is_number(),
        ParameterKind::Integer => is_whole(value),
        ParameterKind::Boolean => value.is_boolean(),
        ParameterKind::Array => value.is_array(),
        ParameterKind::Object => value.is_object(),
    }
}

/// Whether a value is a whole number; `2.0` is one to JSON Schema.
fn is_whole(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

fn transformed(parameter: &Parameter, value: Value, edited: bool) -> Result<Value, String> {
    let Some(transform) = parameter.transform.as_ref().filter(|_| !edited) else {
        return Ok(value);
    };
    let source = transform.source();
    let result = transform
        .evaluate(&[&value])
        .map_err(|error| format!("cannot be transformed by `{source}`: {error}"))?;
    match (parameter.kind, result) {
        // `value.length`, `value * 2`: a text all the same.
        (ParameterKind::String, Value::Number(number)) => Ok(number.to_string().into()),
        (kind, result) if is_of(kind, &result) => Ok(result),
        (kind, result) => Err(format!(
            "is {} and its transform `{source}` makes {} of it",
            with_article(kind),
            kind_in_words(&result)
        )),
    }
}

fn with_article(kind: ParameterKind) -> String {
    let article = match kind {
        ParameterKind::Integer | ParameterKind::Array | ParameterKind::Object => "an",
        ParameterKind::String | ParameterKind::Number | ParameterKind::Boolean => "a",
    };
    format!("{article} {}", own_type(kind))
}

fn kind_in_words(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Values that the commands cannot take: known before anything runs, as far as the arguments tell.
fn unfit(definition: &Definition, args: &JsonObject) -> Vec<Fault> {
    let values = Values {
        arguments: declared(definition, args),
        variables: judged_variables(definition, None),
        ..Values::default()
    };
    let mut faults: Vec<Fault> = unfit_variables(definition, &values);
    faults.extend(hosts::faults(definition, &values));
    for used in programs::used(definition) {
        let certain = match used.role {
            Role::Command | Role::Cleanup => true,
            Role::Step { conditional, .. } => !conditional,
            Role::Fallback { .. } => false,
        };
        let Err(found) = (match certain {
            true => used.program.code.prepare(&values).map(drop),
            false => Ok(()),
        }) else {
            continue;
        };
        for fault in found.into_iter().filter_map(of_parameter) {
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
    }
    faults
}

/// Arguments that make a variable of the environment what no program can be given.
fn unfit_variables(definition: &Definition, values: &Values) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (name, template) in &definition.environment.variables {
        let value = template.render(values);
        let why = if value.contains('\0') {
            "holds a NUL character".to_owned()
        } else if name.len() + 1 + value.len() > MAX_ARGUMENT {
            format!("makes it longer than {MAX_ARGUMENT} bytes")
        } else {
            continue;
        };
        let message = format!(
            "cannot be in the variable `{name}`: it {why}, and no program can be given that"
        );
        let culprit = template
            .references()
            .iter()
            .find_map(|reference| match reference {
                Reference::Parameter(parameter) => Some(parameter),
                Reference::Step { .. } | Reference::Variable(_) => None,
            });
        faults.extend(culprit.map(|parameter| fault(parameter, message)));
    }
    faults
}

/// A fault of an argument; what is wrong with the result of a step shows when there is one.
pub(super) fn of_parameter(found: ValueFault) -> Option<Fault> {
    match found.reference {
        Reference::Parameter(name) => Some(fault(&name, found.message)),
        Reference::Step { .. } | Reference::Variable(_) => None,
    }
}

pub(super) fn fault(name: &str, message: String) -> Fault {
    Fault {
        pointer: pointer(name),
        message,
    }
}

fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}
