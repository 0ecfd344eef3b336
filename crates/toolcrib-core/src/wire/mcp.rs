//! An [`Outcome`] as MCP's `CallToolResult`: [`McpOutcome`], the one writer of that shape.
//!
//! Clients print text content, so escape sequences and what else deceives a terminal are made visible in it. Structured content is
//! data for programs and stays as it is; it is there only if the value is an object, and never for a failure: some clients hold it
//! against the output schema even then. What went wrong is in the text, for the model, and in `_meta`, for programs. Which arguments a
//! person changed is a separate text behind the result: the model asked for something else.

use std::borrow::Cow;

use serde::ser::{SerializeMap as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::fit::whole_error_text;
use crate::model::error::ToolError;
use crate::model::ids::CallId;
use crate::model::outcome::{
    ApprovalTrail, HeldNote, Outcome, SandboxUse, ToolOutput, milliseconds,
};
use crate::model::text;

/// An outcome in the shape [`Mcp`](super::ResultShape::Mcp), to be written without making a [`Value`] of it first.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct McpOutcome<'a> {
    // First: servers put their own beside ours without reading the rest.
    #[serde(rename = "_meta")]
    meta: Meta<'a>,
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<&'a Value>,
    is_error: bool,
}

/// What `_meta` has, under the one key that is ours.
#[derive(Debug, Clone, Serialize)]
struct Meta<'a> {
    #[serde(rename = "toolcrib/call")]
    call: Call<'a>,
}

#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    call_id: Option<&'a CallId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<f64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<&'a ApprovalTrail>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<&'a SandboxUse>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a ToolError>,
    /// What the value is in for.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a ToolError>,
}

impl<'a> McpOutcome<'a> {
    /// Of an outcome.
    pub fn of(outcome: &'a Outcome) -> Self {
        let output = outcome.result.as_ref().ok();
        McpOutcome {
            meta: Meta {
                call: Call {
                    call_id: Some(&outcome.call_id),
                    duration_ms: Some(milliseconds(outcome.timing.total)),
                    truncated: outcome.truncated,
                    approval: outcome.approval.as_ref(),
                    sandbox: outcome.sandbox.as_ref(),
                    error: outcome.error(),
                    failure: output.and_then(|output| output.failure.as_deref()),
                },
            },
            content: Content {
                of: outcome.result.as_ref(),
                note: note(outcome),
            },
            structured_content: output
                .map(|output| &output.value)
                .filter(|value| value.is_object()),
            is_error: output.is_none(),
        }
    }

    /// For a client of 2026-07-28 or later, where structured content may be of any type. A text is not structured; nor are content blocks.
    #[must_use]
    pub fn with_any_structure(mut self) -> Self {
        if let Ok(output) = self.content.of {
            let is_blocks = output.value.as_array() == Some(&output.content);
            self.structured_content = Some(&output.value).filter(|value| {
                let is_plain = value.is_string() || value.is_null();
                !is_plain && (!is_blocks || output.content.is_empty())
            });
        }
        self
    }

    /// With a note of ours behind the result.
    #[must_use]
    pub fn with_note(mut self, text: &str) -> Self {
        self.content.note = Some(match self.content.note {
            Some(note) => format!("{note}\n{text}"),
            None => text.to_owned(),
        });
        self
    }

    /// As an error without a value, for a result whose value cannot be sent: clients hold structured content against the output schema.
    #[must_use]
    pub fn without_structure(mut self) -> Self {
        self.structured_content = None;
        self.is_error = true;
        self
    }

    /// Of an error that kept a call from being begun: there is no outcome and no record.
    pub fn of_error(error: &'a ToolError) -> Self {
        McpOutcome {
            meta: Meta {
                call: Call {
                    error: Some(error),
                    ..Call::default()
                },
            },
            content: Content {
                of: Err(error),
                note: None,
            },
            structured_content: None,
            is_error: true,
        }
    }
}

/// What the model should know besides the result.
fn note(outcome: &Outcome) -> Option<String> {
    let edited = outcome.approval.as_ref().and_then(edited);
    let warnings = outcome.warnings.iter().take(MAX_NAMES);
    let warnings = warnings.map(|warning| format!("Warning: {}", text::visible_line(warning)));
    let notes = edited.into_iter().chain(held(&outcome.held));
    let notes: Vec<String> = notes.chain(warnings).collect();
    (!notes.is_empty()).then(|| notes.join("\n"))
}

/// What was taken out of the workspace: the model may have meant it, and should not look for it there.
fn held(held: &[HeldNote]) -> Option<String> {
    let first = held.iter().take(MAX_NAMES);
    let names: Vec<String> = first
        .map(|note| format!("`{}`", text::visible_line(&text::shorten(&note.path, 100))))
        .collect();
    (!names.is_empty()).then(|| {
        format!(
            "Taken out of the workspace and held for a person to look at, because other programs run such files: {}. Continue without.",
            names.join(", ")
        )
    })
}

/// Names that are said; more help no one.
const MAX_NAMES: usize = 20;

/// What the model should know of the arguments that its call was made with.
fn edited(trail: &ApprovalTrail) -> Option<String> {
    if !trail.approved || trail.changed.is_empty() {
        return None;
    }
    let names = trail.changed.iter().take(MAX_NAMES);
    let names: Vec<String> = names
        .map(|name| format!("`{}`", text::visible_line(&text::shorten(name, 60))))
        .collect();
    let more = match trail.changed.len().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!(
        "A person changed arguments of this call before approving it: {}{more}. The result is that of the changed call.",
        names.join(", ")
    ))
}

/// The content blocks: those that the tool made, or one text; and a note of ours, if there is one.
#[derive(Debug, Clone)]
struct Content<'a> {
    of: Result<&'a ToolOutput, &'a ToolError>,
    note: Option<String>,
}

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let blocks = match self.of {
            Ok(output) => output.content.as_slice(),
            Err(_) => &[],
        };
        let mut content = serializer
            .serialize_seq(Some(blocks.len().max(1) + usize::from(self.note.is_some())))?;
        for block in blocks {
            content.serialize_element(&Block(block))?;
        }
        if blocks.is_empty() {
            let text = match self.of {
                Ok(output) => text_of(output),
                Err(error) => whole_error_text(error).into(),
            };
            content.serialize_element(&Text {
                kind: "text",
                text: &printable(&text),
            })?;
        }
        if let Some(text) = &self.note {
            content.serialize_element(&Text { kind: "text", text })?;
        }
        content.end()
    }
}

#[derive(Serialize)]
struct Text<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

/// A block that a tool made, its texts made safe to print. Base64 contains nothing that could be made visible.
struct Block<'a>(&'a Value);

impl Serialize for Block<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text) => serializer.serialize_str(&printable(text)),
            Value::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (key, value) in fields {
                    map.serialize_entry(key, &Block(value))?;
                }
                map.end()
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(Block)),
            other => other.serialize(serializer),
        }
    }
}

/// What a model wants to read: what the tool said, a string as it is, else JSON without the spaces that cost tokens.
fn text_of(output: &ToolOutput) -> Cow<'_, str> {
    match (&output.text, &output.value) {
        (Some(text), _) | (None, Value::String(text)) => text.into(),
        (None, value) => value.to_string().into(),
    }
}

/// [`text::visible`], but lines may end as they do on Windows: a return alone goes back over what was printed, one before a line feed
/// does not.
fn printable(text: &str) -> Cow<'_, str> {
    if !text::hides_something(text) {
        return text.into();
    }
    let lines: Vec<Cow<'_, str>> = text.split("\r\n").map(text::visible).collect();
    lines.join("\r\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn line_ends_of_windows_stay_and_a_return_alone_is_shown() {
        assert_eq!(printable("a\r\nb\r\n"), "a\r\nb\r\n");
        assert_eq!(printable("good\rbad\r\n"), "good\\u{000d}bad\r\n");
    }

    #[test]
    fn blocks_are_passed_on_with_their_texts_made_safe() {
        let block = json!({"type": "resource", "resource": {"uri": "a:b", "text": "\u{1b}[2J", "n": [1, "\u{7}"]}});
        assert_eq!(
            json!(Block(&block)),
            json!({"type": "resource", "resource": {"uri": "a:b", "text": "\\u{001b}[2J", "n": [1, "\\u{0007}"]}})
        );
    }
}
