//! Whose reply a document is, by the marks that only one provider's replies have.

use serde_json::Value;

use super::{ReplyError, ReplyFormat, kind_of, last_of};
use crate::model::text;

/// Finds out whose reply it is.
pub(super) fn detect(reply: &Value) -> Result<ReplyFormat, ReplyError> {
    let found = match reply {
        Value::Object(_) => of_object(reply),
        Value::Array(items) => of_array(items),
        other => {
            return Err(ReplyError::Unknown {
                why: format!("it is {}", kind_of(other)),
            });
        }
    };
    match found.as_slice() {
        [] => Err(ReplyError::Unknown {
            why: "it has none of `choices`, `output`, `content`, `message`, `candidates` and `tool_calls`".to_owned(),
        }),
        [one] => Ok(*one),
        several => Err(ReplyError::Ambiguous(several.to_vec())),
    }
}

/// What a provider says that could not answer.
pub(super) fn error_in(reply: &Value) -> Option<String> {
    let fields = reply.as_object()?;
    let error = fields.get("error").filter(|error| !error.is_null())?;
    let is_reply = ["choices", "output", "content", "message", "candidates"]
        .iter()
        .any(|field| {
            fields
                .get(*field)
                .is_some_and(|value| value.as_array().is_none_or(|list| !list.is_empty()))
                && !fields[*field].is_null()
        });
    if is_reply {
        return None;
    }
    let message = error
        .as_str()
        .or_else(|| error["message"].as_str())
        .map_or_else(|| error.to_string(), str::to_owned);
    Some(text::visible(&text::shorten(&message, 500)).into_owned())
}

fn of_object(reply: &Value) -> Vec<ReplyFormat> {
    let has = |field: &str| reply.get(field).is_some_and(|value| !value.is_null());
    let mut found = Vec::new();
    if has("candidates") || has("promptFeedback") || reply["parts"].is_array() {
        found.push(ReplyFormat::Gemini);
    }
    if has("choices") {
        found.push(ReplyFormat::OpenAi);
    }
    if reply["output"].is_array()
        || reply["object"] == "response"
        || reply["type"] == "function_call"
    {
        found.push(ReplyFormat::OpenAiResponses);
    }
    if reply["message"].is_object() {
        if has("finish_reason") {
            found.push(ReplyFormat::OpenAi);
        } else if has("done") || has("created_at") || has("model") {
            found.push(ReplyFormat::Ollama);
        } else {
            found.extend(of_message(&reply["message"]));
        }
    }
    if found.is_empty() {
        if reply["content"]["parts"].is_array() {
            return vec![ReplyFormat::Gemini];
        }
        found = of_message(reply);
    }
    found.dedup();
    found
}

fn of_message(message: &Value) -> Vec<ReplyFormat> {
    let blocks = message["content"].as_array();
    let has_block =
        |kind: &str| blocks.is_some_and(|blocks| blocks.iter().any(|block| block["type"] == kind));
    let mut found = Vec::new();
    if has_block("tool_use") || has_block("thinking") || message["type"] == "message" {
        found.push(match has_block("output_text") {
            true => ReplyFormat::OpenAiResponses,
            false => ReplyFormat::Anthropic,
        });
    }
    match &message["tool_calls"] {
        Value::Array(calls) if !calls.is_empty() => found.extend(of_calls(calls)),
        Value::Null | Value::Array(_) => {}
        _ => found.push(ReplyFormat::OpenAi),
    }
    if message["function_call"].is_object() {
        found.push(ReplyFormat::OpenAi);
    }
    // A message that calls nothing: there is nothing to answer, whatever its role.
    let says_something = message.get("content").is_some() || message.get("tool_calls").is_some();
    if found.is_empty() && says_something && message.get("role").is_none_or(|role| role.is_string())
    {
        found.push(ReplyFormat::OpenAi);
    }
    found.dedup();
    found
}

/// OpenAI's calls have a `type` and text for arguments, Ollama's neither. An object for
/// arguments beside an id is what both are known to send.
fn of_calls(calls: &[Value]) -> Vec<ReplyFormat> {
    let (mut openai, mut ollama) = (false, false);
    for call in calls {
        let function = call.get("function").unwrap_or(call);
        let has_id = call.get("id").is_some_and(|id| !id.is_null());
        if function["arguments"].is_string() || call["type"].is_string() {
            openai = true;
        } else if function["arguments"].is_object() && !has_id {
            ollama = true;
        }
    }
    match (openai, ollama) {
        (true, false) => vec![ReplyFormat::OpenAi],
        (false, true) => vec![ReplyFormat::Ollama],
        _ => vec![ReplyFormat::OpenAi, ReplyFormat::Ollama],
    }
}

fn of_array(items: &[Value]) -> Vec<ReplyFormat> {
    let any = |is: &dyn Fn(&Value) -> bool| items.iter().any(is);
    let typed = |kinds: &'static [&'static str]| {
        move |item: &Value| kinds.iter().any(|kind| item["type"] == *kind)
    };
    let mut found = Vec::new();
    if any(&typed(&[
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "reasoning",
    ])) {
        found.push(ReplyFormat::OpenAiResponses);
    }
    if any(&|item| item["parts"].is_array() || item.get("functionCall").is_some()) {
        found.push(ReplyFormat::Gemini);
    }
    if any(&typed(&["tool_use"])) {
        found.push(ReplyFormat::Anthropic);
    }
    if found.is_empty() {
        match last_of(items, "assistant") {
            Some((message, _)) => found = of_message(message),
            None if any(&|item| item.get("function").is_some()) => found = of_calls(items),
            // Nothing in it, or a conversation in which the model has not spoken yet.
            None if items.iter().all(|item| item["role"].is_string()) => {
                found.push(ReplyFormat::OpenAi);
            }
            None if any(&typed(&["text", "thinking"])) => found.push(ReplyFormat::Anthropic),
            None => {}
        }
    }
    found
}
