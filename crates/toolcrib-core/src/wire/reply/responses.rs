//! OpenAI's Responses API: `function_call` items in, `function_call_output` items out.

use serde_json::{Value, json};

use super::{Kind, ModelCall, ResultText, ids, kind_of, without_answered};

pub(super) fn read(reply: &Value) -> Result<Vec<ModelCall>, String> {
    let items = match reply {
        Value::Object(fields) => match fields.get("output") {
            Some(Value::Array(items)) => items.as_slice(),
            Some(other) => return Err(format!("its `output` is {}, not an array", kind_of(other))),
            None if is_call(reply) => std::slice::from_ref(reply),
            None => return Err("it has no `output`".to_owned()),
        },
        Value::Array(items) => items.as_slice(),
        other => return Err(format!("it is {}", kind_of(other))),
    };
    let answered: Vec<Option<&str>> = items
        .iter()
        .filter(|item| {
            item["type"] == "function_call_output" || item["type"] == "custom_tool_call_output"
        })
        .filter_map(|item| item["call_id"].as_str())
        .map(Some)
        .collect();
    let calls = items
        .iter()
        .filter(|item| is_call(item))
        .map(|item| match item["type"].as_str() {
            Some("custom_tool_call") => ModelCall::custom(item.get("call_id"), item.get("name")),
            _ => ModelCall::new(item.get("call_id"), item.get("name"), item.get("arguments")),
        });
    Ok(without_answered(calls.collect(), &answered))
}

fn is_call(item: &Value) -> bool {
    item["type"] == "function_call" || item["type"] == "custom_tool_call"
}

pub(super) fn write(answers: &[(ModelCall, ResultText)]) -> Vec<Value> {
    let item = |((call, result), id): (&(ModelCall, ResultText), String)| {
        let kind = match call.kind {
            Kind::Custom => "custom_tool_call_output",
            Kind::Function | Kind::Legacy => "function_call_output",
        };
        json!({"type": kind, "call_id": id, "output": result.text})
    };
    answers.iter().zip(ids(answers)).map(item).collect()
}
