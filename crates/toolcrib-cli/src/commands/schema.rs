//! `toolcrib schema`: JSON Schemas, and definitions in a provider's format.

use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib::wire::{DefinitionOptions, Provider, definition, definitions};
use toolcrib::{Crib, ErrorCode, ToolError, ToolSpec};

use super::Done;
use crate::args::SchemaArgs;
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn schema(args: &SchemaArgs, crib: &Crib, output: &Output) -> Done {
    let registry = crib.registry();
    let specs: Vec<Arc<ToolSpec>> = match args.tools.as_slice() {
        [] => registry.list(),
        names => names
            .iter()
            .map(|name| Ok(Arc::clone(registry.find(name)?.spec())))
            .collect::<Result<_, ToolError>>()?,
    };
    let provider = args
        .provider
        .as_deref()
        .and_then(|provider| provider.parse::<Provider>().ok());
    if args.strict && provider != Some(Provider::OpenAi) {
        return Err(CliError::usage(
            "`--strict` is OpenAI's: use it with `--provider openai`",
        ));
    }
    let document = match (provider, specs.as_slice(), args.tools.len()) {
        (None, [spec], 1) => spec.input_schema.as_value().clone(),
        (None, specs, _) => specs.iter().map(|spec| plain(spec)).collect(),
        (Some(provider), [spec], 1) => one(spec, provider, args.strict, output)?,
        (Some(provider), specs, _) => many(specs, provider, args.strict, output),
    };
    output.line(&format!("{document:#}"));
    Ok(ExitCode::SUCCESS)
}

/// Name and schemas, for no provider in particular.
fn plain(spec: &ToolSpec) -> Value {
    let mut value = json!({"name": spec.name, "description": spec.description, "inputSchema": spec.input_schema.as_value()});
    if let Some(schema) = &spec.output_schema {
        value["outputSchema"] = schema.as_value().clone();
    }
    value
}

fn one(
    spec: &ToolSpec,
    provider: Provider,
    strict: bool,
    output: &Output,
) -> Result<Value, CliError> {
    let made = definition(spec, provider, &DefinitionOptions { strict }).map_err(|error| {
        CliError::from(ToolError::new(
            ErrorCode::ToolUnavailable,
            error.to_string(),
        ))
    })?;
    for loss in &made.losses {
        tell(output, &loss.tool, &loss.pointer, &loss.reason);
    }
    Ok(made.tool)
}

fn many(specs: &[Arc<ToolSpec>], provider: Provider, strict: bool, output: &Output) -> Value {
    let made = definitions(
        specs.iter().map(AsRef::as_ref),
        provider,
        &DefinitionOptions { strict },
    );
    for loss in &made.losses {
        tell(output, &loss.tool, &loss.pointer, &loss.reason);
    }
    for dropped in &made.dropped {
        output.say(&format!("{}: left out: {}", dropped.tool, dropped.reason));
    }
    Value::Array(made.tools)
}

fn tell(output: &Output, tool: &str, pointer: &str, reason: &str) {
    output.say(&output.dim(&format!("{tool}{pointer}: {reason}")));
}
