//! An [`Outcome`] as JSON, in the [`ResultShape`] a caller asks for.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::UnknownChoice;
use super::mcp::McpOutcome;
use crate::model::JsonObject;
use crate::model::error::ToolError;
use crate::model::ids::CallId;
use crate::model::outcome::{ApprovalTrail, HeldNote, Outcome, SandboxUse, milliseconds};

/// How an outcome is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ResultShape {
    /// `{"ok": …, "value" | "error": …, "metadata": …}` (S2, S4), the shape of REST and `--json`.
    #[default]
    Tagged,
    /// `{tool_call_id, output, error?, success}` (S1).
    Simple,
    /// `{success, content, data?, error?, metadata}` (S3).
    Detailed,
    /// MCP's `CallToolResult`.
    Mcp,
}

impl ResultShape {
    /// Every shape.
    pub const ALL: [ResultShape; 4] = [
        ResultShape::Tagged,
        ResultShape::Simple,
        ResultShape::Detailed,
        ResultShape::Mcp,
    ];

    /// The name on the command line and in URLs.
    pub fn as_str(self) -> &'static str {
        match self {
            ResultShape::Tagged => "tagged",
            ResultShape::Simple => "simple",
            ResultShape::Detailed => "detailed",
            ResultShape::Mcp => "mcp",
        }
    }
}

impl fmt::Display for ResultShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ResultShape {
    type Err = UnknownChoice;

    fn from_str(text: &str) -> Result<Self, UnknownChoice> {
        let found = ResultShape::ALL
            .into_iter()
            .find(|shape| shape.as_str() == text);
        found.ok_or_else(|| UnknownChoice {
            what: "shape",
            given: text.to_owned(),
            known: ResultShape::ALL.map(ResultShape::as_str).to_vec(),
        })
    }
}

/// Writes an outcome in a shape.
pub fn render(outcome: &Outcome, shape: ResultShape) -> Value {
    match shape {
        ResultShape::Tagged => tagged(outcome),
        ResultShape::Simple => simple(outcome),
        ResultShape::Detailed => detailed(outcome),
        ResultShape::Mcp => json!(McpOutcome::of(outcome)),
    }
}

/// An outcome in the shape [`Tagged`](ResultShape::Tagged), to be written without making a [`Value`] of it first.
#[derive(Debug, Clone, Serialize)]
pub struct TaggedOutcome<'a> {
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ToolError>,
    metadata: Metadata<'a>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    call_id: &'a CallId,
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bundle: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    parameters: &'a JsonObject,
    start_time: Timestamp,
    end_time: Timestamp,
    queue_time_ms: f64,
    execution_time_ms: f64,
    duration_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<&'a ApprovalTrail>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<&'a SandboxUse>,
    #[serde(skip_serializing_if = "<[HeldNote]>::is_empty")]
    held: &'a [HeldNote],
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a ToolError>,
}

impl<'a> TaggedOutcome<'a> {
    /// Of an outcome.
    pub fn of(outcome: &'a Outcome) -> Self {
        let output = outcome.result.as_ref().ok();
        let timing = &outcome.timing;
        TaggedOutcome {
            ok: outcome.is_ok(),
            value: outcome.value(),
            error: outcome.error(),
            metadata: Metadata {
                call_id: &outcome.call_id,
                tool: &outcome.tool,
                bundle: outcome.origin.as_ref().map(|origin| origin.bundle.as_str()),
                version: outcome
                    .origin
                    .as_ref()
                    .map(|origin| origin.version.as_str()),
                parameters: &outcome.parameters,
                start_time: timing.started_at,
                end_time: timing.ended_at,
                queue_time_ms: milliseconds(timing.queue),
                execution_time_ms: milliseconds(timing.execution),
                duration_ms: milliseconds(timing.total),
                approval: outcome.approval.as_ref(),
                truncated: outcome.truncated,
                sandbox: outcome.sandbox.as_ref(),
                held: &outcome.held,
                warnings: &outcome.warnings,
                failure: output.and_then(|output| output.failure.as_deref()),
            },
        }
    }
}

fn tagged(outcome: &Outcome) -> Value {
    json!(TaggedOutcome::of(outcome))
}

fn simple(outcome: &Outcome) -> Value {
    let id = outcome.call_id.to_string();
    match &outcome.result {
        Ok(output) => json!({"tool_call_id": id, "output": output.text(), "success": true}),
        Err(error) => {
            json!({"tool_call_id": id, "output": "", "error": error.message(), "success": false})
        }
    }
}

/// S3's `ToolResult`. On failure the error's details take the place of the data, so that the
/// output of a command that failed is not lost in this shape.
fn detailed(outcome: &Outcome) -> Value {
    let mut result = match &outcome.result {
        Ok(output) => {
            let content = output.text();
            let data = match &output.value {
                Value::Object(_) => Some(output.value.clone()),
                Value::String(text) if *text == content => None,
                other => Some(json!({"value": other})),
            };
            let mut result = json!({"success": true, "content": content});
            if let Some(data) = data {
                result["data"] = data;
            }
            result
        }
        Err(error) => {
            let mut result = json!({"success": false, "content": ""});
            if let Some(details) = error.details() {
                result["data"] = Value::Object(details.clone());
            }
            result["error"] = error.message().into();
            result
        }
    };
    let nanoseconds = u64::try_from(outcome.timing.execution.as_nanos()).unwrap_or(u64::MAX);
    result["metadata"] = json!({
        "execution_time": nanoseconds,
        "start_time": outcome.timing.started_at.to_string(),
        "end_time": outcome.timing.ended_at.to_string(),
        "tool_name": outcome.called.as_ref().unwrap_or(&outcome.tool),
        "parameters": outcome.parameters,
    });
    result
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn shapes_go_by_their_names() {
        for shape in ResultShape::ALL {
            assert_eq!(shape.to_string().parse(), Ok(shape));
        }
        assert_eq!(
            "detailled".parse::<ResultShape>().unwrap_err().to_string(),
            "unknown shape `detailled`; did you mean `detailed`? use `tagged`, `simple`, `detailed` or `mcp`"
        );
    }

    #[test]
    fn milliseconds_are_rounded_to_three_decimals() {
        for (nanoseconds, expected) in [
            (0, 0.0),
            (499, 0.0),
            (500, 0.001),
            (1_234_567, 1.235),
            (12_000_000, 12.0),
        ] {
            assert_eq!(
                milliseconds(Duration::from_nanos(nanoseconds)),
                json!(expected)
            );
        }
    }
}
