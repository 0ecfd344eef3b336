//! Anthropic's messages: `tool_use` blocks in, one user message of `tool_result` blocks out.

use serde_json::{Value, json};

use super::{ModelCall, ResultText, ids, kind_of, last_of, without_answered};

pub(super) fn read(reply: &Value) -> Result<Vec<ModelCall>, String> {
    match reply {
        Value::Object(_) => of_message(reply),
        Value::Array(items) if items.iter().any(|item| item.get("role").is_some()) => {
            let Some((message, later)) = last_of(items, "assistant") else {
                return Ok(Vec::new());
            };
            let blocks = later
                .iter()
                .filter_map(|message| message["content"].as_array())
                .flatten();
            let answered: Vec<Option<&str>> = blocks
                .filter(|block| block["type"] == "tool_result")
                .filter_map(|block| block["tool_use_id"].as_str())
                .map(Some)
                .collect();
            Ok(without_answered(of_message(message)?, &answered))
        }
        Value::Array(blocks) => Ok(of_blocks(blocks)),
        other => Err(format!("it is {}", kind_of(other))),
    }
}

fn of_message(message: &Value) -> Result<Vec<ModelCall>, String> {
    if message.get("role").is_some_and(|role| role != "assistant") {
        return Err("its message is not the assistant's".to_owned());
    }
    match message.get("content") {
        Some(Value::Array(blocks)) => Ok(of_blocks(blocks)),
        // A message that is just text.
        Some(Value::String(_)) => Ok(Vec::new()),
        Some(other) => Err(format!(
            "its `content` is {}, not an array of blocks",
            kind_of(other)
        )),
        None => Err("it has no `content`".to_owned()),
    }
}

/// What the provider runs itself (`server_tool_use`, `mcp_tool_use`) is not our call.
fn of_blocks(blocks: &[Value]) -> Vec<ModelCall> {
    blocks
        .iter()
        .filter(|block| block["type"] == "tool_use")
        .map(|block| ModelCall::new(block.get("id"), block.get("name"), block.get("input")))
        .collect()
}

pub(super) fn write(answers: &[(ModelCall, ResultText)]) -> Value {
    let block = |((_, result), id): (&(ModelCall, ResultText), String)| {
        let mut block = json!({"type": "tool_result", "tool_use_id": id});
        // An empty text block is refused; an empty result is said by no content.
        if !result.text.is_empty() {
            block["content"] = result.text.as_str().into();
        }
        if result.failed {
            block["is_error"] = true.into();
        }
        block
    };
    let blocks: Vec<Value> = answers.iter().zip(ids(answers)).map(block).collect();
    json!({"role": "user", "content": blocks})
}
