//! `type: alias`: another tool with some of its arguments preset.
//!
//! An alias takes what its base takes. What it presets is a default that a caller may override (`default-parameters`), or is set for good
//! and cannot be given (`fixed-parameters`). A preset may use arguments of the alias's own call; those that the
//! base does not take are published as optional texts, and go no further than the presets. The call of the base is a nested one: validated, judged and approved by itself, so that the alias itself asks no one.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::links::fixed;
use super::publish::{self, unpublishable};
use super::steps::arguments;
use super::surroundings::judged_variables;
use crate::call::context::CallContext;
use crate::call::event::OutputWatch;
use crate::call::request::CallRequest;
use crate::definition::{Definition, JsonTemplate};
use crate::model::JsonObject;
use crate::model::effects::Effects;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::as_millis;
use crate::model::names::Slug;
use crate::model::outcome::{Outcome, ToolOutput};
use crate::model::text;
use crate::schema::Schema;
use crate::spec::ToolSpec;
use crate::template::{Reference, Text, Values, Variable};

/// An alias of a tool that is there.
pub(super) struct Alias {
    /// What the base answers to.
    base: String,
    presets: Vec<(String, JsonTemplate)>,
    /// Those of them that a caller may override.
    defaults: Vec<String>,
    /// Arguments that only presets use.
    own: Vec<String>,
}

impl Alias {
    /// The alias and its spec.
    pub(super) fn new(
        definition: &Definition,
        bundle: Slug,
        base: &ToolSpec,
        (presets, defaults): (&[(String, JsonTemplate)], &[String]),
        effects: Effects,
    ) -> Result<(Self, ToolSpec), ToolError> {
        let refused = |why: String| unpublishable(&definition.name, &why);
        let is_preset = |name: &str| presets.iter().any(|(preset, _)| preset == name);
        let is_default = |name: &str| defaults.iter().any(|default| default == name);
        let mut schema = base.input_schema.as_value().clone();
        let takes: Vec<String> = base
            .input_schema
            .properties()
            .map(|(name, _)| name.to_owned())
            .collect();
        let takes_more = schema.get("additionalProperties") != Some(&Value::Bool(false));
        for (name, _) in presets {
            if !takes.contains(name) && !takes_more {
                return Err(refused(format!(
                    "the base tool `{}` has no parameter `{name}` to preset",
                    base.name
                )));
            }
        }
        let mut own = Vec::new();
        for name in used_in(presets) {
            if is_preset(name) {
                return Err(refused(format!(
                    "a preset uses `{{{name}}}`, which is preset itself"
                )));
            }
            if !takes.iter().any(|taken| taken == name) && !own.contains(name) {
                own.push(name.clone());
            }
        }
        if uses_temp(presets) {
            return Err(refused(
                "a preset uses `{TEMP}` or `{TEMP_DIR}`, and an alias has no temporary directory"
                    .to_owned(),
            ));
        }
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| !name.as_str().is_some_and(is_preset));
        }
        let properties = schema
            .as_object_mut()
            .map(|schema| schema.entry("properties").or_insert_with(|| json!({})));
        if let Some(Value::Object(properties)) = properties {
            properties.retain(|name, _| !is_preset(name) || is_default(name));
            for (name, template) in presets.iter().filter(|(name, _)| is_default(name)) {
                publish_default(properties, name, template);
            }
            publish_own(properties, &own, presets);
        }
        let schema = Schema::stored(schema).map_err(|error| refused(error.to_string()))?;
        let description = match definition.description.trim() {
            "" => base.description.clone(),
            own => own.to_owned(),
        };
        let mut spec = ToolSpec::new(definition.name.clone(), description, schema);
        publish::describe(&mut spec, definition, bundle);
        spec.output_schema.clone_from(&base.output_schema);
        spec.effects = effects;
        spec.asks.clone_from(&base.asks);
        spec.interactive = base.interactive;
        spec.limits = base.limits;
        let own_limit = definition.timeout.map(as_millis);
        spec.limits.timeout_ms = match (own_limit, base.limits.timeout_ms) {
            (Some(own), Some(base)) => Some(own.min(base)),
            (own, base) => own.or(base),
        };
        let keeps = |name: &String| !is_preset(name) || is_default(name);
        spec.synonyms = base.synonyms.clone();
        spec.synonyms.retain(|(_, published)| keeps(published));
        spec.roles = base.roles.clone();
        spec.roles.retain(|(name, _)| keeps(name));
        spec.examples = base.examples.clone();
        for example in &mut spec.examples {
            if let Some(example) = example.as_object_mut() {
                example.retain(|name, _| keeps(name));
            }
        }
        let alias = Alias {
            base: base.reference(),
            presets: presets.to_vec(),
            defaults: defaults.to_vec(),
            own,
        };
        Ok((alias, spec))
    }

    /// Calls the base.
    pub(super) async fn call(
        &self,
        definition: &Definition,
        mut args: JsonObject,
        cx: &CallContext,
    ) -> Result<ToolOutput, ToolError> {
        let workspace = cx.workspace().ok().map(Arc::clone);
        let values = Values {
            arguments: args.clone(),
            variables: judged_variables(definition, workspace.as_deref()),
            ..Values::default()
        };
        args.retain(|name, _| !self.own.contains(name));
        for (name, value) in arguments(&self.presets, &values) {
            if !(self.defaults.contains(&name) && args.contains_key(&name)) {
                args.insert(name, value);
            }
        }
        let mut request = CallRequest::new(&self.base).args(args);
        let own = cx.clone();
        request.watch = Some(OutputWatch::new(move |stream, chunk| {
            own.emit_output(stream, chunk);
        }));
        let outcome = in_full(cx, request).await?;
        if let Some(sandbox) = outcome.sandbox {
            cx.note_sandbox(sandbox);
        }
        if outcome.truncated {
            cx.note_truncated();
        }
        outcome.result
    }
}

/// Calls a tool on its own task, so that a call that is over has what the base printed in its error's details.
async fn in_full(cx: &CallContext, request: CallRequest) -> Result<Outcome, ToolError> {
    let (cx, ending) = (cx.clone(), cx.ending());
    let calling = tokio::spawn(async move {
        let outcome = cx.call(request).await;
        let details = outcome.error().and_then(ToolError::details);
        for (key, value) in details.into_iter().flatten() {
            cx.keep_partial(key.clone(), value.clone());
        }
        drop(ending);
        outcome
    });
    match calling.await {
        Ok(outcome) => Ok(outcome),
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => Err(
            ToolError::new(ErrorCode::Cancelled, "the runtime is shutting down").caused_by(error),
        ),
    }
}

/// Publishes the default of a parameter. One that uses arguments is in its description.
fn publish_default(properties: &mut Map<String, Value>, name: &str, template: &JsonTemplate) {
    let Some(property) = properties.get_mut(name).and_then(Value::as_object_mut) else {
        return;
    };
    match fixed(template) {
        Some(value) => {
            property.insert("default".to_owned(), value);
        }
        None => {
            let texts: Vec<String> = texts(template).iter().map(|text| text.shown()).collect();
            let described = property.get("description").and_then(Value::as_str);
            let words = format!(
                "{} (default: `{}`)",
                described.unwrap_or(name),
                text::shorten(&texts.join(" "), 200)
            );
            property.remove("default");
            property.insert("description".to_owned(), words.into());
        }
    }
}

/// Publishes what only presets use, as optional texts.
fn publish_own(
    properties: &mut Map<String, Value>,
    own: &[String],
    presets: &[(String, JsonTemplate)],
) {
    for name in own {
        let reference = Reference::Parameter(name.clone());
        let uses = |text: &&Text| text.references().contains(&reference);
        let used: Vec<String> = presets
            .iter()
            .filter(|(_, template)| texts(template).iter().any(uses))
            .map(|(preset, _)| format!("`{preset}`"))
            .collect();
        let description = format!("Part of the preset {}", used.join(", "));
        properties.insert(
            name.clone(),
            json!({"type": "string", "description": description}),
        );
    }
}

/// Whether a preset names the temporary directory of a call.
fn uses_temp(presets: &[(String, JsonTemplate)]) -> bool {
    presets
        .iter()
        .flat_map(|(_, template)| texts(template))
        .flat_map(Text::references)
        .any(|reference| {
            matches!(
                reference,
                Reference::Variable(Variable::Temp | Variable::TempDir)
            )
        })
}

/// The arguments that presets use.
fn used_in(presets: &[(String, JsonTemplate)]) -> Vec<&String> {
    let references = presets
        .iter()
        .flat_map(|(_, template)| texts(template))
        .flat_map(Text::references);
    references
        .filter_map(|reference| match reference {
            Reference::Parameter(name) => Some(name),
            Reference::Step { .. } | Reference::Variable(_) => None,
        })
        .collect()
}

fn texts(template: &JsonTemplate) -> Vec<&Text> {
    match template {
        JsonTemplate::Plain(_) => Vec::new(),
        JsonTemplate::Text(text) => vec![text],
        JsonTemplate::Array(items) => items.iter().flat_map(texts).collect(),
        JsonTemplate::Object(fields) => fields.iter().flat_map(|(_, field)| texts(field)).collect(),
    }
}
