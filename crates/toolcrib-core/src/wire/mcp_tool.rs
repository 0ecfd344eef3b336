//! A tool as the MCP wire has it, written straight to text: [`mcp_tool`].
//!
//! The result is that of [`definition`](super::definition) for [`Provider::Mcp`], without S3's `type`. Lists of ten thousand tools are
//! written by this, so a schema that needs no change is written as it is, without a copy.

use serde_json::Value;

use super::definitions::{NotExpressible, Provider};
use super::hints::Hints;
use super::lower::{self, Dialect, Trouble};
use super::tokens::Counter;
use crate::spec::ToolSpec;

/// A tool as MCP publishes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpTool {
    /// The JSON object.
    pub json: Vec<u8>,
    /// What it costs a model, as [`estimated_tokens`](super::estimated_tokens) has it.
    pub tokens: u64,
}

/// Writes a tool for the MCP wire; with another description if one is given.
pub fn mcp_tool(spec: &ToolSpec, description: Option<&str>) -> Result<McpTool, NotExpressible> {
    let spec = &*spec.for_models();
    let description = description.unwrap_or(&spec.description);
    let mut json = Vec::with_capacity(512);
    let mut counted = Counter::default();
    json.extend_from_slice(b"{\"name\":");
    write(&mut json, spec.name.as_str());
    counted.text(spec.name.as_str());
    if let Some(title) = &spec.title {
        json.extend_from_slice(b",\"title\":");
        write(&mut json, title);
    }
    json.extend_from_slice(b",\"description\":");
    write(&mut json, description);
    counted.text(description);
    json.extend_from_slice(b",\"inputSchema\":");
    let begin = json.len();
    write_schema(&mut json, spec.input_schema.as_value()).map_err(|trouble| NotExpressible {
        tool: spec.name.to_string(),
        provider: Provider::Mcp,
        pointer: trouble.at,
        reason: trouble.reason,
    })?;
    counted.bytes(&json[begin..]);
    if let Some(output) = &spec.output_schema {
        let end = json.len();
        json.extend_from_slice(b",\"outputSchema\":");
        match lower::is_publishable(output.as_value()) {
            true => write(&mut json, output.as_value()),
            // Before 2026-07-28 structured content is always an object; the schema of anything else is left out of the list.
            false => match lower::lower_output(output.as_value()) {
                Ok(schema) => write(&mut json, &schema),
                Err(_) => json.truncate(end),
            },
        }
    }
    if let Some(annotations) = Hints::of(spec).annotations(spec.title.as_deref()) {
        json.extend_from_slice(b",\"annotations\":");
        write(&mut json, &annotations);
    }
    json.push(b'}');
    Ok(McpTool {
        json,
        tokens: counted.tokens(),
    })
}

fn write(json: &mut Vec<u8>, value: &(impl serde::Serialize + ?Sized)) {
    // Into memory, with keys that are texts: that does not fail.
    let _ = serde_json::to_writer(json, value);
}

fn write_schema(json: &mut Vec<u8>, schema: &Value) -> Result<(), Trouble> {
    if lower::is_publishable(schema) {
        write(json, schema);
    } else {
        write(json, &lower::lower(schema, Dialect::Mcp)?.schema);
    }
    Ok(())
}
