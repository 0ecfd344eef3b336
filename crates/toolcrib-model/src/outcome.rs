//! What a call came to: [`Outcome`], made by the pipeline on every path.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::JsonObject;
use super::error::ToolError;
use super::ids::CallId;
use super::names::{Slug, Version};

/// What a tool returns: a value for programs and, when that differs from the value's own text,
/// the text for people and models.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// The value, as the output schema describes it.
    pub value: Value,
    /// What a person wants to read, if it is not the value itself (the content of a file, say).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The failure that the value is in for, where a tool's file wants `null` rather than an error (S4: `errorMode: empty`). The
    /// output schema says nothing about such a `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<ToolError>>,
    /// Content that is not text, or not only text: pictures, sounds, bytes. MCP's content blocks, which take the place of the text for an MCP client;
    /// everybody else goes by the value and the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<Value>,
}

impl ToolOutput {
    /// An output that is its value.
    pub fn value(value: impl Into<Value>) -> Self {
        ToolOutput {
            value: value.into(),
            text: None,
            failure: None,
            content: Vec::new(),
        }
    }

    /// `null` in the place of a failure.
    pub fn in_place_of(failure: ToolError) -> Self {
        ToolOutput {
            failure: Some(Box::new(failure)),
            ..ToolOutput::value(Value::Null)
        }
    }

    /// Sets the text for people and models.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Sets the content blocks for MCP clients.
    #[must_use]
    pub fn with_content(mut self, blocks: Vec<Value>) -> Self {
        self.content = blocks;
        self
    }

    /// The text for people and models: what the tool said, a string as it is, else indented JSON.
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        match (&self.text, &self.value) {
            (Some(text), _) | (None, Value::String(text)) => text.into(),
            (None, value) => format!("{value:#}").into(),
        }
    }
}

/// Where the time of a call went (S3: queue, execution, total).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// When the call arrived.
    pub started_at: Timestamp,
    /// When its outcome was known.
    pub ended_at: Timestamp,
    /// Waiting: for approval, for a free place.
    pub queue: Duration,
    /// The tool itself.
    pub execution: Duration,
    /// End to end.
    pub total: Duration,
}

/// A duration as it is published: milliseconds with three decimals, finer than that is noise.
#[doc(hidden)]
pub fn milliseconds(duration: Duration) -> f64 {
    let microseconds = (duration.as_nanos() + 500) / 1000;
    // Exact for every duration below 285 years.
    microseconds as f64 / 1000.0
}

/// How a call that needed approval got it or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalTrail {
    /// Whether it was approved.
    pub approved: bool,
    /// The source of the decision: a person's channel, a grant, `--yes`.
    pub by: String,
    /// Why someone was asked.
    pub reason: String,
    /// What the one who decided said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Whether the arguments were edited on the way.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub modified: bool,
    /// The names of the arguments that were edited. For the one who called: programs and records have the arguments themselves.
    #[serde(skip)]
    pub changed: Vec<String>,
    /// What became of the grant that came with the answer: its id, or why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
}

/// The wall a tool's program ran behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SandboxUse {
    /// The level that was asked for.
    pub requested: String,
    /// The level it was.
    pub level: String,
    /// The layers that stood.
    pub layers: Vec<String>,
    /// Layers that would have stood if this machine had them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_enforced: Vec<String>,
    /// Files that other programs run later, which the run made where nothing kept it from doing so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planted: Vec<String>,
}

/// Something that a tool's program planted, which is held in the home until a person puts it back or drops it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeldNote {
    /// Its id, for `toolcrib held`.
    pub id: String,
    /// Where it was, from the workspace.
    pub path: String,
    /// The program that would run it.
    pub why: String,
}

/// What a call came to. There is always one: errors, panics and timeouts are outcomes too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The call.
    pub call_id: CallId,
    /// The wire name of the tool, or what the caller asked for when nothing was found.
    pub tool: String,
    /// The name that the caller used, if it is another one: an alias, a slug, a reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called: Option<String>,
    /// The tool's bundle and version, when it was found.
    pub origin: Option<Origin>,
    /// The arguments that ran (or would have), secrets masked.
    pub parameters: JsonObject,
    /// The output, or why there is none.
    pub result: Result<ToolOutput, ToolError>,
    /// Where the time went.
    pub timing: Timing,
    /// How approval went, if it was needed.
    pub approval: Option<ApprovalTrail>,
    /// The wall around it, if it ran a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxUse>,
    /// Whether the output was cut to its limit.
    pub truncated: bool,
    /// What its program planted and is held.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldNote>,
    /// What the caller should know besides: arguments that could not be checked, defaults that were not used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Which exact tool answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The bundle's slug.
    pub bundle: Slug,
    /// The tool's version.
    pub version: Version,
}

impl Outcome {
    /// Whether the call went well.
    pub fn is_ok(&self) -> bool {
        self.result.is_ok()
    }

    /// The output or the error, for `?`.
    pub fn into_result(self) -> Result<ToolOutput, ToolError> {
        self.result
    }

    /// The error, if the call failed.
    pub fn error(&self) -> Option<&ToolError> {
        self.result.as_ref().err()
    }

    /// The value, if the call went well.
    pub fn value(&self) -> Option<&Value> {
        self.result.as_ref().ok().map(|output| &output.value)
    }
}
