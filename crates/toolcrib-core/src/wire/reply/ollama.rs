//! Ollama's chat: `message.tool_calls` in, messages of role `tool` with the tool's name out.

use serde_json::{Value, json};

use super::{ModelCall, ResultText, openai};

/// As OpenAI's messages, but for the way they are answered.
pub(super) fn read(reply: &Value) -> Result<Vec<ModelCall>, String> {
    let calls = match reply.get("message") {
        Some(message) => openai::of_message(message),
        None => openai::read(reply),
    };
    calls.map_err(
        |why| match reply.is_object() && why.starts_with("it has no") {
            true => "it has no `message` and no `tool_calls`".to_owned(),
            false => why,
        },
    )
}

pub(super) fn write(answers: &[(ModelCall, ResultText)]) -> Vec<Value> {
    let message = |(call, result): &(ModelCall, ResultText)| {
        let mut message = json!({"role": "tool", "tool_name": call.name, "content": result.text});
        if let Some(id) = &call.id {
            message["tool_call_id"] = id.as_str().into();
        }
        message
    };
    answers.iter().map(message).collect()
}
