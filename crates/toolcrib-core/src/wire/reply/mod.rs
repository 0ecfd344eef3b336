//! A model's reply read into calls, and what the calls came to written in the messages its
//! [`Provider`] expects next.
//!
//! Reading never fails for one call: the problem of a call is a fault in place of its arguments,
//! and is answered like any other. Only a document that is not a reply of
//! the provider at all is a [`ReplyError`]. Nothing is run here; see [`crate::answer`].
//!
//! A reply may be given as the provider's whole answer, as the message in it, as the
//! conversation whose last message of the model it is, or as the bare list of calls. Calls that
//! later messages of a conversation answer are not read again. Of several alternatives
//! (`choices`, `candidates`) the first counts.

mod anthropic;
mod arguments;
mod detect;
mod gemini;
mod ollama;
mod openai;
mod responses;
mod text;

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use super::{Provider, UnknownChoice};
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text as words;

pub use text::{MAX_RESULT_CHARS, ResultText, error_text, result_text};

/// Whose messages are read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplyFormat {
    /// OpenAI's chat completions, and what is compatible with them.
    OpenAi,
    /// OpenAI's Responses API.
    OpenAiResponses,
    /// Anthropic's messages.
    Anthropic,
    /// Ollama's own chat.
    Ollama,
    /// Gemini's `generateContent`.
    Gemini,
}

impl ReplyFormat {
    /// Every format.
    pub const ALL: [ReplyFormat; 5] = [
        ReplyFormat::OpenAi,
        ReplyFormat::OpenAiResponses,
        ReplyFormat::Anthropic,
        ReplyFormat::Ollama,
        ReplyFormat::Gemini,
    ];

    /// The name on the command line and in URLs.
    pub fn as_str(self) -> &'static str {
        self.provider().as_str()
    }

    /// The provider whose definitions go with it.
    pub fn provider(self) -> Provider {
        match self {
            ReplyFormat::OpenAi => Provider::OpenAi,
            ReplyFormat::OpenAiResponses => Provider::OpenAiResponses,
            ReplyFormat::Anthropic => Provider::Anthropic,
            ReplyFormat::Ollama => Provider::Ollama,
            ReplyFormat::Gemini => Provider::Gemini,
        }
    }

    /// Reads a name, or `auto`, which is `None`.
    pub fn parse_or_auto(text: &str) -> Result<Option<Self>, UnknownChoice> {
        if text == "auto" {
            return Ok(None);
        }
        text.parse()
            .map(Some)
            .map_err(|mut unknown: UnknownChoice| {
                unknown.known.insert(0, "auto");
                unknown
            })
    }
}

impl fmt::Display for ReplyFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for ReplyFormat {
    type Err = UnknownChoice;

    fn from_str(text: &str) -> Result<Self, UnknownChoice> {
        let found = ReplyFormat::ALL
            .into_iter()
            .find(|format| format.as_str() == text);
        found.ok_or_else(|| UnknownChoice {
            what: "provider",
            given: text.to_owned(),
            known: ReplyFormat::ALL.map(ReplyFormat::as_str).to_vec(),
        })
    }
}

/// One call that a model asks for.
#[derive(Debug, Clone)]
pub struct ModelCall {
    /// The provider's id of it, for the message that answers it and for nothing else.
    pub id: Option<String>,
    /// The tool's name as the model wrote it; empty where it wrote none.
    pub name: String,
    /// The arguments, or why there are none.
    pub arguments: Result<JsonObject, ToolError>,
    kind: Kind,
}

/// How a call was made, where it is answered differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Function,
    /// OpenAI's `custom` tools, which take plain text; none of ours does.
    Custom,
    /// OpenAI's first form, `function_call`.
    Legacy,
}

impl ModelCall {
    fn new(id: Option<&Value>, name: Option<&Value>, arguments: Option<&Value>) -> Self {
        let id = match id {
            Some(Value::String(id)) if !id.is_empty() => Some(id.clone()),
            Some(Value::Number(id)) => Some(id.to_string()),
            _ => None,
        };
        let (name, arguments) = match name {
            Some(Value::String(name)) if !name.is_empty() => {
                (name.clone(), arguments::read(arguments))
            }
            _ => (String::new(), Err(nameless())),
        };
        ModelCall {
            id,
            name,
            arguments,
            kind: Kind::Function,
        }
    }

    /// A call of a tool that takes text, which is none of ours.
    fn custom(id: Option<&Value>, name: Option<&Value>) -> Self {
        let mut call = ModelCall::new(id, name, None);
        if call.arguments.is_ok() {
            call.arguments = Err(ToolError::new(
                ErrorCode::InvalidArguments,
                "tools here take a JSON object of arguments, not text; call it as a function",
            ));
        }
        call.kind = Kind::Custom;
        call
    }
}

fn nameless() -> ToolError {
    ToolError::new(ErrorCode::ToolNotFound, "the call names no tool")
}

/// A document is not a reply that can be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// It is not what the named provider sends.
    #[error("this is not a reply from {format}: {why}{}", looks_like(*.instead))]
    Mismatch {
        /// The provider that was named.
        format: ReplyFormat,
        /// The missing or wrong part.
        why: String,
        /// Whose reply it looks like, if anybody's.
        instead: Option<ReplyFormat>,
    },
    /// It could be the reply of several providers.
    #[error("this could be a reply of {}; say whose it is", or_list(.0))]
    Ambiguous(Vec<ReplyFormat>),
    /// It is no one's reply.
    #[error("this is not a reply from a known provider ({}): {why}", or_list(&ReplyFormat::ALL))]
    Unknown {
        /// The missing part.
        why: String,
    },
    /// It is longer than any model's.
    #[error(
        "this is not a model's reply: a list in it has {count} entries; at most {MAX_ENTRIES} are read"
    )]
    TooLong {
        /// How many entries the list has.
        count: usize,
    },
    /// The provider answered with an error.
    #[error("the provider answered with an error, not with a reply: {0}")]
    Refused(String),
}

fn looks_like(instead: Option<ReplyFormat>) -> String {
    instead.map_or_else(String::new, |format| {
        format!("; it looks like one of `{format}`")
    })
}

fn or_list(formats: &[ReplyFormat]) -> String {
    let names: Vec<&str> = formats.iter().map(|format| format.as_str()).collect();
    words::or_list(&names)
}

impl From<ReplyError> for ToolError {
    fn from(error: ReplyError) -> Self {
        ToolError::new(ErrorCode::Usage, error.to_string())
    }
}

/// What a model's reply asks for.
#[derive(Debug, Clone)]
pub struct ModelReply {
    /// Whose reply it is.
    pub format: ReplyFormat,
    /// The calls, in the model's order.
    pub calls: Vec<ModelCall>,
}

/// Reads a reply of a provider; without one, it is found out from the reply.
pub fn read_reply(reply: &Value, format: Option<ReplyFormat>) -> Result<ModelReply, ReplyError> {
    if let Some(count) = too_many(reply) {
        return Err(ReplyError::TooLong { count });
    }
    if let Some(error) = detect::error_in(reply) {
        return Err(ReplyError::Refused(error));
    }
    let Some(format) = format else {
        let format = detect::detect(reply)?;
        let calls = calls_of(reply, format).map_err(|why| ReplyError::Mismatch {
            format,
            why,
            instead: None,
        })?;
        return Ok(ModelReply { format, calls });
    };
    let instead = detect::detect(reply).ok().filter(|other| *other != format);
    let calls = calls_of(reply, format).map_err(|why| ReplyError::Mismatch {
        format,
        why,
        instead,
    })?;
    // Read the wrong way, a message can pass for one that only says something: its calls would be lost, or run without their arguments.
    match instead {
        Some(other) if !are_alike(format, other) && has_calls(reply, other) => {
            Err(ReplyError::Mismatch {
                format,
                why: "it calls tools in another way".to_owned(),
                instead,
            })
        }
        Some(_) | None => Ok(ModelReply { format, calls }),
    }
}

/// The most entries of a list that is not a part of some call's arguments.
const MAX_ENTRIES: usize = 10_000;

/// How many entries a list has that is too long: each would be answered.
fn too_many(reply: &Value) -> Option<usize> {
    match reply {
        Value::Array(entries) if entries.len() > MAX_ENTRIES => Some(entries.len()),
        Value::Array(entries) => entries.iter().find_map(too_many),
        Value::Object(members) => members
            .iter()
            .filter(|(key, value)| {
                let is_arguments = matches!(key.as_str(), "input" | "args" | "arguments");
                !(is_arguments && value.is_object())
            })
            .find_map(|(_, value)| too_many(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

fn calls_of(reply: &Value, format: ReplyFormat) -> Result<Vec<ModelCall>, String> {
    match format {
        ReplyFormat::OpenAi => openai::read(reply),
        ReplyFormat::OpenAiResponses => responses::read(reply),
        ReplyFormat::Anthropic => anthropic::read(reply),
        ReplyFormat::Ollama => ollama::read(reply),
        ReplyFormat::Gemini => gemini::read(reply),
    }
}

fn has_calls(reply: &Value, format: ReplyFormat) -> bool {
    calls_of(reply, format).is_ok_and(|calls| !calls.is_empty())
}

/// Whether calls of one are read as those of the other: Ollama's are OpenAI's, but for the way they are answered.
fn are_alike(one: ReplyFormat, other: ReplyFormat) -> bool {
    let is_openais = |format| matches!(format, ReplyFormat::OpenAi | ReplyFormat::Ollama);
    is_openais(one) && is_openais(other)
}

/// Writes the messages that answer the calls of one reply, in the order of the calls; none for none.
pub fn write_results(format: ReplyFormat, answers: &[(ModelCall, ResultText)]) -> Vec<Value> {
    if answers.is_empty() {
        return Vec::new();
    }
    match format {
        ReplyFormat::OpenAi => openai::write(answers),
        ReplyFormat::OpenAiResponses => responses::write(answers),
        ReplyFormat::Anthropic => vec![anthropic::write(answers)],
        ReplyFormat::Ollama => ollama::write(answers),
        ReplyFormat::Gemini => vec![gemini::write(answers)],
    }
}

/// The ids to answer by, for providers that insist on one: those given, and `call_N` for those
/// missing.
fn ids(answers: &[(ModelCall, ResultText)]) -> Vec<String> {
    let given: HashSet<&str> = answers
        .iter()
        .filter_map(|(call, _)| call.id.as_deref())
        .collect();
    let mut made_up = (1..)
        .map(|number| format!("call_{number}"))
        .filter(|id| !given.contains(id.as_str()));
    let mut ids = Vec::with_capacity(answers.len());
    for (call, _) in answers {
        let id = call.id.clone().or_else(|| made_up.next());
        ids.push(id.unwrap_or_default());
    }
    ids
}

/// The last message of the model in a conversation, and what follows it.
fn last_of<'a>(messages: &'a [Value], role: &str) -> Option<(&'a Value, &'a [Value])> {
    let at = messages
        .iter()
        .rposition(|message| message["role"] == role)?;
    Some((&messages[at], &messages[at + 1..]))
}

/// Leaves out the calls that later messages answer already: by their ids, or, where there are
/// none, one for one.
fn without_answered(calls: Vec<ModelCall>, answered: &[Option<&str>]) -> Vec<ModelCall> {
    let ids: HashSet<&str> = answered.iter().flatten().copied().collect();
    let mut nameless = answered.iter().filter(|id| id.is_none()).count();
    let mut left = Vec::new();
    for call in calls {
        let is_answered = match &call.id {
            Some(id) => ids.contains(id.as_str()),
            None if nameless > 0 => {
                nameless -= 1;
                true
            }
            None => false,
        };
        if !is_answered {
            left.push(call);
        }
    }
    left
}

/// What kind of JSON a value is, for messages.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
