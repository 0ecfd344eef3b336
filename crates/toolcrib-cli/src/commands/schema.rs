//! `toolcrib schema`: JSON Schemas, and definitions in a provider's format.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib::crib::{Discovery, OfferBounds};
use toolcrib::wire::{DefinitionOptions, Provider, definition, definitions};
use toolcrib::{Crib, ErrorCode, ToolError, ToolSpec};

use super::Done;
use crate::args::SchemaArgs;
use crate::failure::CliError;
use crate::output::Output;

/// What is lost in more tools than this is said once.
const MANY: usize = 20;

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
    if args.strict && !provider.is_some_and(Provider::has_strict_mode) {
        return Err(CliError::usage(
            "`--strict` is OpenAI's: use it with `--provider openai` or `openai-responses`",
        ));
    }
    let document = match (provider, specs.as_slice(), args.tools.len()) {
        (None, [spec], 1) => spec.input_schema.as_value().clone(),
        (None, specs, _) => specs.iter().map(|spec| plain(spec)).collect(),
        (Some(provider), [spec], 1) => one(spec, provider, args.strict, output)?,
        (Some(provider), specs, named) => {
            if named == 0 {
                warn_of_many(specs, crib, output);
            }
            many(specs, provider, args.strict, output)
        }
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
    // The same words for each of hundreds of tools are read by nobody.
    let mut tools_by_reason: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for loss in &made.losses {
        let tools = tools_by_reason.entry(&loss.reason).or_default();
        tools.insert(&loss.tool);
    }
    for loss in &made.losses {
        if tools_by_reason[loss.reason.as_str()].len() <= MANY {
            tell(output, &loss.tool, &loss.pointer, &loss.reason);
        }
    }
    for (reason, tools) in tools_by_reason {
        if tools.len() > MANY {
            output.say(&output.dim(&format!("in {} tools: {reason}", tools.len())));
        }
    }
    for dropped in &made.dropped {
        output.say(&format!("{}: left out: {}", dropped.tool, dropped.reason));
    }
    Value::Array(made.tools)
}

/// Says so where all tools together are more than a model is given at once.
fn warn_of_many(specs: &[Arc<ToolSpec>], crib: &Crib, output: &Output) {
    let bounds = OfferBounds {
        tokens: crib.config().mcp().token_budget,
        ..OfferBounds::default()
    };
    if bounds.are_enough_for(specs.iter().map(AsRef::as_ref)) {
        return;
    }
    let few: Vec<&str> = Discovery::names().collect();
    output.say(&output.dim(&format!(
        "these {} tools cost a model more than {} tokens (`mcp.tokenBudget`); name some, or `{}`, with which it finds and calls the others",
        specs.len(),
        bounds.tokens.unwrap_or_default(),
        few.join(" ")
    )));
}

fn tell(output: &Output, tool: &str, pointer: &str, reason: &str) {
    output.say(&output.dim(&format!("{tool}{pointer}: {reason}")));
}
