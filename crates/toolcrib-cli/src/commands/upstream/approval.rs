//! `toolcrib upstream allow`, `ask` and `deny`: what calls of a server's tools need.

use serde_json::{Value, json};
use toolcrib::model::text::{nearest, or_list, visible};
use toolcrib::{ErrorCode, ToolError};
use toolcrib_server::client::Ask;

use super::{find, path};
use crate::args::UpstreamToolsArgs;
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::Backend;

pub(super) fn set(
    approval: &str,
    args: &UpstreamToolsArgs,
    backend: &Backend,
    output: &Output,
) -> Result<(), CliError> {
    let name = &args.name;
    let shown = find(name, backend)?;
    let accepted = shown["accepted"].as_array().map(Vec::as_slice);
    let known: Vec<&str> = accepted
        .unwrap_or_default()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    for tool in &args.tools {
        if known.contains(&tool.as_str()) {
            continue;
        }
        let hint = match nearest(tool, known.iter().copied()).as_slice() {
            [] => format!("`toolcrib upstream show {}` lists its tools", visible(name)),
            near => format!("did you mean {}?", or_list(near)),
        };
        let message = format!("`{}` has no tool `{}`", visible(name), visible(tool));
        return Err(
            CliError::from(ToolError::new(ErrorCode::ToolNotFound, message)).with_hint(hint),
        );
    }
    let body = json!({"tools": args.tools, "approval": approval});
    backend.wait(backend.client.json(Ask::patch(path(name), &body)))?;
    if output.json() {
        let tools: Vec<Value> = args.tools.iter().map(|tool| json!(tool)).collect();
        output.document(&json!({"name": name, "tools": tools, "approval": approval}));
        return Ok(());
    }
    let what = match approval {
        "allow" => "runs without asking",
        "deny" => "is refused",
        _ => "asks before every call",
    };
    for tool in &args.tools {
        output.line(&format!("`{}` {what}", visible(tool)));
    }
    Ok(())
}
