//! `toolcrib explain`: why a tool is or is not on offer, and what an error code means.

use std::process::ExitCode;

use serde_json::{Value, json};
use toolcrib::model::text;
use toolcrib::registry::Entry;
use toolcrib::{ErrorCode, McpForm, ToolError};

use super::{Done, format, in_words, open, source, standing};
use crate::args::{ExplainArgs, Global};
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn explain(args: &ExplainArgs, global: &Global, output: &Output) -> Done {
    if let Some(code) = ErrorCode::from_wire(&args.topic.to_ascii_uppercase()) {
        explain_code(code, output);
        return Ok(ExitCode::SUCCESS);
    }
    if format::explain(&args.topic, output) {
        return Ok(ExitCode::SUCCESS);
    }
    let crib = open(global, output)?;
    match crib.registry().find(&args.topic) {
        Ok(entry) => explain_tool(&entry, output),
        Err(error) => return Err(neither(&args.topic, error)),
    }
    Ok(ExitCode::SUCCESS)
}

fn neither(topic: &str, error: ToolError) -> CliError {
    let codes = text::nearest(topic, ErrorCode::ALL.iter().map(|code| code.as_str()));
    let tools = error
        .details()
        .and_then(|details| details.get("near")?.as_array().cloned())
        .unwrap_or_default();
    let near: Vec<&str> = tools
        .iter()
        .filter_map(Value::as_str)
        .chain(codes)
        .chain(format::near(topic))
        .take(3)
        .collect();
    let topic = text::shorten(topic, 60);
    let hint = if near.is_empty() {
        String::new()
    } else {
        format!("; did you mean {}?", text::or_list(&near))
    };
    let message = format!("`{topic}` is no tool, code, problem or field{hint}");
    ToolError::new(error.code(), message).into()
}

fn explain_code(code: ErrorCode, output: &Output) {
    let mcp = match code.mcp_form() {
        McpForm::Protocol => "protocol error",
        McpForm::ToolResult => "tool result with isError",
    };
    if output.json() {
        output.document(&json!({
            "code": code, "meaning": code.meaning(), "remedy": code.remedy(),
            "httpStatus": code.http_status(), "exitCode": code.exit_code(), "mcp": mcp,
        }));
        return;
    }
    output.line(&output.heading(code.as_str()));
    output.line(code.meaning());
    output.line(code.remedy());
    output.line("");
    output.line(&format!("exit code    {}", code.exit_code()));
    output.line(&format!("HTTP status  {}", code.http_status()));
    output.line(&format!("MCP          {mcp}"));
}

fn explain_tool(entry: &Entry, output: &Output) {
    let spec = entry.spec();
    let (state, reason) = standing(entry);
    let approval = match (spec.effects.is_unknown(), spec.effects.is_read_only()) {
        (true, _) => {
            "asks before every call: the tool does not say whether it reads, writes or runs something"
        }
        (false, true) => "runs without asking: it only reads",
        (false, false) => "runs without asking unless the tool or a rule says otherwise",
    };
    let limits = entry.limits();
    if output.json() {
        output.document(&json!({
            "tool": spec.name, "reference": spec.reference(), "source": source(entry),
            "offered": reason.is_none(), "state": state, "reason": reason,
            "approval": approval, "effects": spec.effects,
            "timeoutMs": u64::try_from(limits.timeout.as_millis()).unwrap_or(u64::MAX),
            "maxOutputBytes": limits.max_output_bytes, "digest": entry.digest(),
        }));
        return;
    }
    let offered = match reason {
        None => output.good("on offer"),
        Some(reason) => output.doubtful(&format!("not on offer: {}", text::visible(&reason))),
    };
    output.line(&format!(
        "{}  {offered}",
        output.heading(spec.name.as_str())
    ));
    output.line(&format!(
        "from      {} ({}); nothing can take its name",
        spec.reference(),
        source(entry)
    ));
    output.line(&format!("approval  {approval}"));
    let words = in_words(limits.timeout, limits.max_output_bytes);
    output.line(&format!(
        "limits    {words}, {} at once",
        limits.max_concurrent
    ));
    output.line(&format!("digest    {}", entry.digest()));
    if state == "disabled" {
        output.line("switch    it is named in `disabledTools`: toolcrib config show");
    }
}
