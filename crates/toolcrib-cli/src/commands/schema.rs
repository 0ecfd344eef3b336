//! `toolcrib schema`: JSON Schemas, and definitions in a provider's format.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use serde_json::Value;
use toolcrib::crib::{Discovery, OfferBounds};
use toolcrib::wire::{Definitions, Provider};
use toolcrib::{Crib, ErrorCode, ToolError};
use toolcrib_server::client::Ask;

use super::{Done, stored};
use crate::args::SchemaArgs;
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::Backend;

/// A constraint that is lost in more tools than this is reported once.
const MANY: usize = 20;

pub(super) fn schema(args: &SchemaArgs, backend: &Backend, output: &Output) -> Done {
    let provider = args
        .provider
        .as_deref()
        .and_then(|provider| provider.parse::<Provider>().ok());
    if args.strict && !provider.is_some_and(Provider::has_strict_mode) {
        return Err(CliError::usage(
            "`--strict` works with `--provider openai`, `openai-responses` and `anthropic`",
        ));
    }
    // No tool has such a name; it is not for a list.
    let is_odd = |tool: &&String| tool.is_empty() || tool.contains(',');
    for odd in args.tools.iter().filter(is_odd) {
        stored::find(odd, backend)?;
    }
    let format = provider.map_or("plain", Provider::as_str);
    let tools = Ask::encoded(&args.tools.join(","));
    let path = match args.strict {
        true => format!("/api/definitions/{format}?tools={tools}&strict=true"),
        false => format!("/api/definitions/{format}?tools={tools}"),
    };
    let mut made: Definitions = backend.get_as(&path)?;
    let document = match (provider, args.tools.as_slice()) {
        (None, [_]) => made
            .tools
            .first_mut()
            .map(|tool| tool["inputSchema"].take()),
        (Some(provider), [_]) => {
            if let Some(dropped) = made.dropped.first() {
                let message = format!(
                    "cannot express tool `{}` for {provider}: {}",
                    dropped.tool, dropped.reason
                );
                return Err(ToolError::new(ErrorCode::ToolUnavailable, message).into());
            }
            say_losses(&made, output);
            made.tools.pop()
        }
        (_, tools) => {
            if let (Some(_), [], Some(crib)) = (provider, tools, backend.crib()) {
                warn_of_many(crib, output);
            }
            say_losses(&made, output);
            Some(Value::Array(made.tools))
        }
    };
    output.line(&format!("{:#}", document.unwrap_or_default()));
    Ok(ExitCode::SUCCESS)
}

/// Says what a format cannot say about tools, and which ones are left out.
fn say_losses(made: &Definitions, output: &Output) {
    // The same words for each of hundreds of tools are read by no one.
    let mut tools_by_reason: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for loss in &made.losses {
        let tools = tools_by_reason.entry(&loss.reason).or_default();
        tools.insert(&loss.tool);
    }
    for loss in &made.losses {
        if tools_by_reason[loss.reason.as_str()].len() <= MANY {
            let line = format!("{}{}: {}", loss.tool, loss.pointer, loss.reason);
            output.say(&output.dim(&line));
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
}

/// Says so where all tools together are more than a model is given at once.
fn warn_of_many(crib: &Crib, output: &Output) {
    let specs = crib.registry().list();
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
