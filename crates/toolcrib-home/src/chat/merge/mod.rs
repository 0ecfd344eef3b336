//! The documents of a stream merged into the model's message, per provider.
//!
//! Every merger takes a whole answer as well: some servers do not stream although they are asked
//! to. What a merger makes is read like any reply, by [`read_reply`](crate::wire::read_reply).

mod anthropic;
mod gemini;
mod ollama;
mod openai;
mod responses;

use serde_json::{Value, json};

use crate::model::text;
use crate::wire::ReplyFormat;

/// Why a stream cannot be gone on with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The provider says so.
    Provider(String),
    /// It is not what the provider's streams are.
    Strange(String),
}

impl Fault {
    /// The fault that a document is, by its `error`.
    fn said(document: &Value) -> Option<Fault> {
        let error = document.get("error").filter(|error| !error.is_null())?;
        let message = error.as_str().or_else(|| error["message"].as_str());
        let message = message.map_or_else(|| error.to_string(), str::to_owned);
        let message = text::visible(&text::shorten(&message, 1000)).into_owned();
        Some(Fault::Provider(message))
    }

    fn strange(what: &str) -> Fault {
        Fault::Strange(what.to_owned())
    }
}

/// A reply, whole.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Merged {
    /// The messages that it is: one, or the items of the Responses API.
    pub(super) messages: Vec<Value>,
    /// Why it ends before its end, in the provider's word.
    pub(super) cut_short: Option<String>,
}

/// Merges the documents of one provider.
pub(super) trait Merge: Send {
    /// Takes a document; what is new in it to read is added to `said`.
    fn take(&mut self, document: Value, said: &mut String) -> Result<(), Fault>;
    /// Whether the reply is whole.
    fn is_whole(&self) -> bool;
    /// The end was announced beside the documents.
    fn done(&mut self) {}
    /// The reply.
    fn finish(self: Box<Self>) -> Merged;
}

/// Adds to a text where it is: a long reply comes in very many pieces.
fn append(text: &mut Value, piece: &str) {
    match text {
        Value::String(text) => text.push_str(piece),
        other => *other = piece.into(),
    }
}

pub(super) fn merger(format: ReplyFormat) -> Box<dyn Merge> {
    match format {
        ReplyFormat::OpenAi => Box::<openai::OpenAi>::default(),
        ReplyFormat::OpenAiResponses => Box::<responses::Responses>::default(),
        ReplyFormat::Anthropic => Box::<anthropic::Anthropic>::default(),
        ReplyFormat::Ollama => Box::<ollama::Ollama>::default(),
        ReplyFormat::Gemini => Box::<gemini::Gemini>::default(),
    }
}

/// What was said before a stream broke off, as a message without calls.
pub(super) fn partial(format: ReplyFormat, said: &str) -> Option<Value> {
    if said.trim().is_empty() {
        return None;
    }
    Some(match format {
        ReplyFormat::OpenAi | ReplyFormat::Anthropic | ReplyFormat::Ollama => {
            json!({"role": "assistant", "content": said})
        }
        ReplyFormat::OpenAiResponses => json!({"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": said, "annotations": []}]}),
        ReplyFormat::Gemini => json!({"role": "model", "parts": [{"text": said}]}),
    })
}

/// The messages as they can be sent back: arguments that no one can read are refused by some
/// servers for as long as they are in the conversation. What was wrong with them is in the answer.
pub(super) fn sendable(format: ReplyFormat, mut messages: Vec<Value>) -> Vec<Value> {
    let mend_text = |arguments: &mut Value| {
        let is_object = match &*arguments {
            Value::String(text) => {
                serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object())
            }
            _ => false,
        };
        if !is_object {
            *arguments = "{}".into();
        }
    };
    let mend_object = |arguments: &mut Value| {
        if !arguments.is_object() {
            *arguments = json!({});
        }
    };
    for message in &mut messages {
        match format {
            ReplyFormat::OpenAi | ReplyFormat::Ollama => {
                let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
                for call in calls.into_iter().flatten() {
                    if let Some(arguments) = call.pointer_mut("/function/arguments") {
                        match format {
                            ReplyFormat::OpenAi => mend_text(arguments),
                            _ => mend_object(arguments),
                        }
                    }
                }
            }
            ReplyFormat::OpenAiResponses => {
                if message["type"] == "function_call" {
                    mend_text(&mut message["arguments"]);
                }
            }
            ReplyFormat::Anthropic => {
                let blocks = message.get_mut("content").and_then(Value::as_array_mut);
                for block in blocks.into_iter().flatten() {
                    if block["type"] == "tool_use" {
                        mend_object(&mut block["input"]);
                    }
                }
            }
            ReplyFormat::Gemini => {}
        }
    }
    messages
}
