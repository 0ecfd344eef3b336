//! What models and people see of a YAML tool: its [`ToolSpec`].
//!
//! `function-calling.schema-generation` decides what of the parameters is published. What a parameter must be like is part of
//! the published schema unless `transform` comes in between, or the parameter is published as another type than its own: then
//! only `refine` can tell.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::question;
use crate::definition::{Definition, Parameter, ParameterKind, Permission, SchemaGeneration};
use crate::model::effects::Effects;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::{LimitsPatch, as_millis};
use crate::model::names::{Slug, WireName};
use crate::schema::Schema;
use crate::spec::{Role, ToolSpec};
use crate::template::{Reference, Text};

/// How many example calls are made up.
const MAX_EXAMPLES: usize = 3;

/// The spec of a tool that runs commands.
pub(super) fn spec(
    definition: &Definition,
    bundle: Slug,
    effects: Effects,
) -> Result<ToolSpec, ToolError> {
    let schema = Schema::stored(input_schema(definition))
        .map_err(|error| unpublishable(&definition.name, &error.to_string()))?;
    let mut spec = ToolSpec::new(
        definition.name.clone(),
        definition.description.clone(),
        schema,
    );
    let output = Schema::output(output_schema());
    spec.output_schema = output.ok().map(Arc::new);
    describe(&mut spec, definition, bundle);
    spec.effects = effects;
    spec.roles = roles(definition);
    spec.asks = question::asks(definition, effects);
    spec.interactive = definition.interactive.is_some();
    if definition.schema_generation.example_generation {
        spec.examples = examples(definition);
    }
    spec.limits = LimitsPatch {
        timeout_ms: definition.timeout.map(as_millis),
        ..LimitsPatch::default()
    };
    Ok(spec)
}

/// What every YAML tool has, aliases too: where it belongs and how it is found.
pub(super) fn describe(spec: &mut ToolSpec, definition: &Definition, bundle: Slug) {
    spec.slug = definition.slug.clone();
    spec.version = definition.version.clone();
    spec.bundle = bundle;
    let metadata = &definition.metadata;
    let tags = definition
        .tags
        .iter()
        .chain(&metadata.category)
        .chain(&metadata.subcategory)
        .chain(&metadata.tags);
    for tag in tags {
        if !spec.tags.contains(tag) {
            spec.tags.push(tag.clone());
        }
    }
    spec.keywords.clone_from(&metadata.search_keywords);
    spec.content_digest = Some(definition.digest.clone());
}

pub(super) fn unpublishable(name: &WireName, why: &str) -> ToolError {
    ToolError::new(
        ErrorCode::ToolUnavailable,
        format!("`{name}` cannot be published: {why}"),
    )
}

fn input_schema(definition: &Definition) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for parameter in &definition.parameters {
        properties.insert(
            parameter.name.clone(),
            property(parameter, &definition.schema_generation),
        );
        if parameter.required && parameter.default.is_none() {
            required.push(Value::from(parameter.name.clone()));
        }
    }
    let mut schema = json!({
        "type": "object", "properties": properties, "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

/// One parameter as JSON Schema.
pub(super) fn property(parameter: &Parameter, generation: &SchemaGeneration) -> Value {
    let published = published_type(parameter.kind, generation);
    let mut property = Map::new();
    property.insert("type".to_owned(), published.into());
    if generation.include_descriptions {
        property.insert(
            "description".to_owned(),
            parameter.description.clone().into(),
        );
    }
    if checks_are_published(parameter, published) {
        add_validation(&mut property, parameter);
    }
    if let Some(default) = &parameter.default
        && generation.include_defaults
    {
        property.insert("default".to_owned(), to_published(default, published));
    }
    if generation.example_generation && !parameter.examples.is_empty() {
        let examples = parameter.examples.iter();
        let examples: Vec<Value> = examples
            .map(|example| to_published(example, published))
            .collect();
        property.insert("examples".to_owned(), examples.into());
    }
    property.into()
}

/// The JSON Schema type that a parameter is published as.
pub(super) fn published_type(kind: ParameterKind, generation: &SchemaGeneration) -> &str {
    let mapped = generation
        .parameter_mapping
        .iter()
        .find(|(from, _)| *from == kind);
    mapped.map_or(own_type(kind), |(_, to)| to.as_str())
}

/// The JSON Schema type of a kind.
pub(super) fn own_type(kind: ParameterKind) -> &'static str {
    match kind {
        ParameterKind::String => "string",
        ParameterKind::Number => "number",
        ParameterKind::Integer => "integer",
        ParameterKind::Boolean => "boolean",
        ParameterKind::Array => "array",
        ParameterKind::Object => "object",
    }
}

/// Whether the values of a published type are those of the parameter's own type.
pub(super) fn is_own_type(kind: ParameterKind, published: &str) -> bool {
    published == own_type(kind) || (kind == ParameterKind::Number && published == "integer")
}

fn checks_are_published(parameter: &Parameter, published: &str) -> bool {
    parameter.transform.is_none() && is_own_type(parameter.kind, published)
}

fn add_validation(property: &mut Map<String, Value>, parameter: &Parameter) {
    let checks = &parameter.validation;
    let mut add = |keyword: &str, value: Option<Value>| {
        if let Some(value) = value {
            property.insert(keyword.to_owned(), value);
        }
    };
    add("minimum", checks.minimum.clone().map(Value::Number));
    add("maximum", checks.maximum.clone().map(Value::Number));
    let (least, most) = match parameter.kind == ParameterKind::Array {
        true => ("minItems", "maxItems"),
        false => ("minLength", "maxLength"),
    };
    add(least, checks.min_length.map(Value::from));
    add(most, checks.max_length.map(Value::from));
    add("pattern", checks.pattern.clone().map(Value::from));
    add("enum", checks.allowed.clone().map(Value::from));
    add("items", checks.items.clone());
}

/// A value of a parameter as the type it is published as has it.
pub(super) fn to_published(value: &Value, published: &str) -> Value {
    match (published, value) {
        ("string", Value::String(_)) => value.clone(),
        ("string", other) => other.to_string().into(),
        _ => value.clone(),
    }
}

/// Calls made up from the examples of the parameters, as far as every required one has some.
fn examples(definition: &Definition) -> Vec<Value> {
    let most = definition
        .parameters
        .iter()
        .map(|parameter| parameter.examples.len())
        .max()
        .unwrap_or(0);
    let call = |index: usize| {
        let mut call = Map::new();
        for parameter in &definition.parameters {
            let own = &parameter.examples;
            match own.get(index).or(own.last()) {
                Some(example) => {
                    let published = published_type(parameter.kind, &definition.schema_generation);
                    call.insert(parameter.name.clone(), to_published(example, published));
                }
                None if parameter.required && parameter.default.is_none() => return None,
                None => {}
            }
        }
        Some(Value::Object(call))
    };
    (0..most.min(MAX_EXAMPLES)).filter_map(call).collect()
}

/// Parameters that are paths to be read or written, by what the tool says it needs.
fn roles(definition: &Definition) -> Vec<(String, Role)> {
    let mut roles: Vec<(String, Role)> = Vec::new();
    for permission in &definition.security.permissions {
        let (path, role) = match permission {
            Permission::Read(path) => (path, Role::ReadPath),
            Permission::Write(path) => (path, Role::WritePath),
            Permission::Network(_) => continue,
        };
        if let Some(name) = whole_parameter(path)
            && !roles.iter().any(|(other, _)| other == name)
        {
            roles.push((name.to_owned(), role));
        }
    }
    roles
}

fn whole_parameter(text: &Text) -> Option<&str> {
    match text.whole()? {
        Reference::Parameter(name) => Some(name),
        Reference::Step { .. } | Reference::Variable(_) => None,
    }
}

/// The schema of a YAML tool's value.
fn output_schema() -> Value {
    json!({
        "type": "object",
        "required": ["output", "stdout", "stderr", "exitCode"],
        "properties": {
            "output": {"type": "string", "description": "What it printed, both streams in the order of arrival"},
            "stdout": {"type": "string", "description": "What it printed"},
            "stderr": {"type": "string", "description": "What it printed as errors"},
            "exitCode": {"type": ["integer", "null"], "description": "0 when all went well, by convention"},
            "note": {"type": "string", "description": "Why it failed, where the sandbox is the reason"},
            "steps": {"type": "object", "description": "What came of each step"},
            "cleanup": {"type": "array", "items": {"type": "string"}, "description": "What cleaning up left behind, and what went wrong with it"}
        }
    })
}
