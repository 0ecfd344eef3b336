//! JSON as other programs want it: tool definitions per provider, models' replies and their
//! answers, results per shape.
//!
//! Everything here is a pure function from a [`ToolSpec`](crate::spec::ToolSpec) or an
//! [`Outcome`](crate::model::outcome::Outcome) to JSON. Nothing is validated, run or stored, and nothing that is
//! published here is relied on: whatever a provider's format cannot say is reported as a
//! [`Loss`], and the pipeline still checks every call against the tool's own schema.
//!
//! ```
//! use serde_json::json;
//! use toolcrib::wire::{DefinitionOptions, Provider, definition};
//! use toolcrib::{Schema, ToolSpec, WireName};
//!
//! let schema = Schema::stored(json!({
//!     "type": "object",
//!     "properties": {"city": {"type": "string", "description": "City to look up"}},
//!     "required": ["city"],
//! }))?;
//! let spec = ToolSpec::new(WireName::parse("weather")?, "Current weather", schema);
//! let made = definition(&spec, Provider::Anthropic, &DefinitionOptions::default())?;
//! assert_eq!(made.tool["input_schema"]["required"], json!(["city"]));
//! assert!(made.losses.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod choice;
mod definitions;
mod fit;
mod hints;
mod lower;
mod mcp;
mod mcp_tool;
mod reply;
mod result;
mod tokens;

pub use choice::UnknownChoice;
pub use definitions::{
    Definition, DefinitionOptions, Definitions, Dropped, Loss, NotExpressible, Provider,
    definition, definitions,
};
pub use fit::{
    Fitted, KeepResults, MAX_RESULT_TOKENS, ReadOn, ReaderOf, fit, fits, head_within, value_within,
    whole_error_text,
};
pub use hints::{Care, Hints};
pub use mcp::McpOutcome;
pub use mcp_tool::{McpTool, mcp_tool};
pub use reply::{
    MAX_RESULT_CHARS, ModelCall, ModelReply, ReplyError, ReplyFormat, ResultText, error_text,
    read_reply, result_text, write_results,
};
pub use result::{ResultShape, TaggedOutcome, render};
pub use tokens::{estimated_tokens, tokens_of, tokens_sent};
