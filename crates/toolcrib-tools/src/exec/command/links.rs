//! How a definition uses other tools: what they would refuse in every call is refused when tools are linked.
//!
//! Only what is fixed in the file is judged. A value that a call brings is judged in the call, by the other tool.

use std::sync::Arc;

use serde_json::Value;

use super::code_arguments::{self, published_name};
use crate::definition::{Action, Body, Definition, JsonTemplate, LinkFault};
use crate::model::JsonObject;
use crate::model::text::fold;
use crate::schema::{Fault, Rejected};
use crate::spec::ToolSpec;
use crate::template::Values;

/// Problems of the arguments that a definition has for other tools. Tools that are not there are passed over.
pub(super) fn faults(
    definition: &Definition,
    lookup: &dyn Fn(&str) -> Option<Arc<ToolSpec>>,
) -> Vec<LinkFault> {
    let mut faults = Vec::new();
    for (number, used) in uses(definition).into_iter().enumerate() {
        let Some(spec) = lookup(used.tool) else {
            continue;
        };
        let at = definition.uses_at.get(number).cloned().unwrap_or_default();
        let mut push = |code, message| {
            let span = at.arguments.clone();
            faults.push(LinkFault {
                code,
                span,
                message,
            });
        };
        if let Some(why) = code_arguments::fault(definition, &spec, used.arguments) {
            push("code-argument", why);
        }
        for fault in misfits(&spec, used.arguments) {
            let name = fault.pointer.trim_start_matches('/');
            // An alias leaves the rest to its caller, and says itself what its base does not take.
            let is_given = used
                .arguments
                .iter()
                .any(|(given, _)| fold(published_name(&spec, given)) == fold(top(name)));
            let is_known = takes(&spec, top(name));
            match used.step {
                None if !is_given || !is_known => {}
                None => push(
                    "bad-argument",
                    format!("the preset `{name}` of `{}` {}", spec.name, fault.message),
                ),
                Some(step) => push(
                    "bad-argument",
                    format!(
                        "step `{step}` calls `{}`, and its argument `{name}` {}",
                        spec.name, fault.message
                    ),
                ),
            }
        }
    }
    faults
}

/// One use of another tool.
struct Use<'a> {
    tool: &'a str,
    arguments: &'a [(String, JsonTemplate)],
    /// The step that calls it; none for an alias.
    step: Option<&'a str>,
}

fn uses(definition: &Definition) -> Vec<Use<'_>> {
    match &definition.body {
        Body::Command(_) | Body::Commands { .. } => Vec::new(),
        Body::Alias { base, presets, .. } => vec![Use {
            tool: base,
            arguments: presets,
            step: None,
        }],
        Body::Steps(steps) => steps
            .iter()
            .filter_map(|step| match &step.action {
                Action::Run(_) => None,
                Action::UseTool { tool, with } => Some(Use {
                    tool,
                    arguments: with,
                    step: Some(&step.name),
                }),
            })
            .collect(),
    }
}

/// The faults of arguments that no value can mend.
fn misfits(spec: &ToolSpec, arguments: &[(String, JsonTemplate)]) -> Vec<Fault> {
    let mut open: Vec<String> = Vec::new();
    let mut given = JsonObject::new();
    for (name, template) in arguments {
        let value = fixed(template).unwrap_or_else(|| {
            open.push(fold(published_name(spec, name)));
            Value::from("")
        });
        given.insert(name.clone(), value);
    }
    match spec.input_schema.check_arguments(given, &spec.synonyms) {
        Ok(_) | Err(Rejected::Schema(_)) => Vec::new(),
        Err(Rejected::Arguments { mut faults, .. }) => {
            faults.retain(|fault| {
                let name = top(fault.pointer.trim_start_matches('/'));
                let is_open = open.contains(&fold(name)) && takes(spec, name);
                // A fault of the arguments as a whole may depend on any of them.
                !is_open && (!name.is_empty() || open.is_empty())
            });
            faults
        }
    }
}

/// The parameter that a pointer leads into.
fn top(pointer: &str) -> &str {
    pointer.split('/').next().unwrap_or_default()
}

fn takes(spec: &ToolSpec, name: &str) -> bool {
    let mut properties = spec.input_schema.properties();
    properties.any(|(property, _)| property == name)
}

/// The value of a template without placeholders.
pub(super) fn fixed(template: &JsonTemplate) -> Option<Value> {
    Some(match template {
        JsonTemplate::Plain(value) => value.clone(),
        JsonTemplate::Text(text) if text.references().is_empty() => {
            text.render(&Values::default()).into()
        }
        JsonTemplate::Text(_) => return None,
        JsonTemplate::Array(items) => Value::Array(items.iter().map(fixed).collect::<Option<_>>()?),
        JsonTemplate::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, field)| Some((name.clone(), fixed(field)?)));
            Value::Object(fields.collect::<Option<_>>()?)
        }
    })
}
