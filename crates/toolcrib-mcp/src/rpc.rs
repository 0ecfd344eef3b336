//! JSON-RPC 2.0: one message read from a text, one written to it.
//!
//! Reading borrows from the text and looks at no more than the envelope; parameters and results stay raw until someone wants them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::weight;

/// Which request an answer is for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    /// A whole number.
    Number(i64),
    /// A text.
    Text(String),
}

/// Codes of errors: JSON-RPC's own and MCP's.
pub mod code {
    /// The text is not JSON.
    pub const PARSE_ERROR: i64 = -32700;
    /// It is JSON, but not a request.
    pub const INVALID_REQUEST: i64 = -32600;
    /// No one knows the method.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit; also for tools and prompts that no one knows.
    pub const INVALID_PARAMS: i64 = -32602;
    /// A bug.
    pub const INTERNAL_ERROR: i64 = -32603;
    /// A resource no one knows, up to 2025-11-25.
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// HTTP headers and body disagree, since 2026-07-28.
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The client lacks a capability that the request needs, since 2026-07-28.
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// The version is not spoken here, since 2026-07-28.
    pub const UNSUPPORTED_VERSION: i64 = -32022;
}

/// The error of a request that has no result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// See [`code`].
    pub code: i64,
    /// What happened, for people.
    pub message: String,
    /// More of it, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        RpcError {
            code,
            message: message.into(),
            data: None,
        }
    }

    /// The parameters do not fit.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        RpcError::new(code::INVALID_PARAMS, message)
    }

    /// Adds data.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}

/// One message.
#[derive(Debug)]
pub enum Message<'a> {
    /// Wants an answer.
    Request {
        /// By which the answer is known.
        id: Id,
        /// The method.
        method: Cow<'a, str>,
        /// With what.
        params: Option<&'a RawValue>,
    },
    /// Wants none.
    Notification {
        /// The notification's method.
        method: Cow<'a, str>,
        /// With what.
        params: Option<&'a RawValue>,
    },
    /// The answer to a request of ours.
    Response {
        /// Of which; `None` where the other end could not read it.
        id: Option<Id>,
        /// What came of it.
        result: Result<&'a RawValue, RpcError>,
    },
}

/// A text that is not a message. The connection stays usable.
#[derive(Debug, Clone, PartialEq)]
pub struct Malformed {
    /// Of which request, where that can be read.
    pub id: Option<Id>,
    /// What it is answered with.
    pub error: RpcError,
}

/// The members of a message, none of them looked into.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Reads a member that is there, `null` included: serde takes a `null` for a member that is not.
pub(crate) fn present<'de, D>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error>
where
    D: serde::Deserializer<'de>,
{
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl Malformed {
    fn new(code: i64, message: impl Into<String>) -> Box<Self> {
        Box::new(Malformed {
            id: None,
            error: RpcError::new(code, message),
        })
    }

    fn of(id: Option<Id>, message: &str) -> Box<Self> {
        Box::new(Malformed {
            id,
            error: RpcError::new(code::INVALID_REQUEST, message),
        })
    }
}

/// Reads one message: an object of JSON-RPC 2.0. A batch (an array) is refused as a whole, as both eras want it.
///
/// However deep the text is nested, reading it takes no more than its own length in memory: what is not looked into is skipped in a loop.
pub fn read(text: &[u8]) -> Result<Message<'_>, Box<Malformed>> {
    let text = std::str::from_utf8(text)
        .map_err(|_| Malformed::new(code::PARSE_ERROR, "the message is not UTF-8"))?;
    match text.trim_ascii_start().as_bytes().first() {
        Some(b'{') => {}
        Some(b'[') => {
            return Err(Malformed::new(
                code::INVALID_REQUEST,
                "batches are not part of this protocol: send one message at a time",
            ));
        }
        _ => {
            let error = match serde_json::from_str::<serde::de::IgnoredAny>(text) {
                Ok(_) => Malformed::new(code::INVALID_REQUEST, "a message is a JSON object"),
                Err(error) => not_json(&error),
            };
            return Err(error);
        }
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|error| {
        if error.is_data() {
            Malformed::new(
                code::INVALID_REQUEST,
                format!("not a JSON-RPC message: {error}"),
            )
        } else {
            not_json(&error)
        }
    })?;
    message(envelope, weight::is_over(weight::MAX_MESSAGE, text))
}

fn not_json(error: &serde_json::Error) -> Box<Malformed> {
    Malformed::new(
        code::PARSE_ERROR,
        format!("the message is not JSON: {error}"),
    )
}

/// The error for a message whose values would take too much memory.
const TOO_HEAVY: &str = "the values of the message would take more than 64 MB of memory";

/// Which of the three kinds a message is. Of one that is too heavy only the envelope is read.
fn message(envelope: Envelope<'_>, is_too_heavy: bool) -> Result<Message<'_>, Box<Malformed>> {
    let id = match envelope.id {
        None => None,
        Some(raw) => match read_id(raw) {
            Some(id) => Some(id),
            // The answer to a message that the other end could not read has no id.
            None if raw.get() == "null" && envelope.error.is_some() => None,
            None => {
                return Err(Malformed::of(
                    None,
                    "`id` must be a string or a whole number of 64 bits",
                ));
            }
        },
    };
    if envelope.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        return Err(Malformed::of(id, "`jsonrpc` must be \"2.0\""));
    }
    if let Some(method) = envelope.method {
        if envelope.result.is_some() || envelope.error.is_some() {
            return Err(Malformed::of(
                id,
                "a message has either `method` or `result` or `error`",
            ));
        }
        let Some(method) = read_text(method) else {
            return Err(Malformed::of(id, "`method` must be a string"));
        };
        if is_too_heavy {
            return Err(Malformed::of(id, TOO_HEAVY));
        }
        let params = envelope.params;
        return Ok(match id {
            Some(id) => Message::Request { id, method, params },
            None => Message::Notification { method, params },
        });
    }
    let result = match (envelope.result, envelope.error) {
        // The request that waits for this answer fails with the reason.
        (Some(_), None) | (None, Some(_)) if is_too_heavy => {
            Err(RpcError::new(code::INVALID_REQUEST, TOO_HEAVY))
        }
        (Some(result), None) => Ok(result),
        (None, Some(error)) => Err(serde_json::from_str(error.get()).unwrap_or_else(|_| {
            RpcError::new(code::INTERNAL_ERROR, "an error without code or message")
        })),
        _ => {
            return Err(Malformed::of(
                id,
                "a message has either `method` or `result` or `error`",
            ));
        }
    };
    if id.is_none() && result.is_ok() {
        return Err(Malformed::of(None, "an answer has an `id`"));
    }
    Ok(Message::Response { id, result })
}

/// An id, if it is one.
pub(crate) fn read_id(raw: &RawValue) -> Option<Id> {
    match raw.get().as_bytes().first() {
        Some(b'"') => read_text(raw).map(|text| Id::Text(text.into_owned())),
        Some(b'-' | b'0'..=b'9') => raw.get().parse().ok().map(Id::Number),
        _ => None,
    }
}

/// A string, borrowed unless it has escapes.
pub(crate) fn read_text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.as_bytes().contains(&b'\\') {
        serde_json::from_str(raw.get()).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// Writes an id as JSON.
pub(crate) fn write_id(id: &Id, out: &mut Vec<u8>) {
    match id {
        Id::Number(number) => write_whole(*number, out),
        Id::Text(text) => write_text(text, out),
    }
}

/// Writes a text as JSON.
pub(crate) fn write_text(text: &str, out: &mut Vec<u8>) {
    // Writing a string to memory cannot fail.
    let _ = serde_json::to_writer(out, text);
}

/// Writes a whole number.
pub(crate) fn write_whole(number: i64, out: &mut Vec<u8>) {
    let _ = serde_json::to_writer(out, &number);
}

/// Writes the answer to a request that has no result.
pub(crate) fn write_error(id: Option<&Id>, error: &RpcError, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\"");
    if let Some(id) = id {
        out.extend_from_slice(b",\"id\":");
        write_id(id, out);
    }
    out.extend_from_slice(b",\"error\":");
    // A message, a number and a value that was JSON before.
    let _ = serde_json::to_writer(&mut *out, error);
    out.push(b'}');
}
