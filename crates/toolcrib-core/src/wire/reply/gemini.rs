//! Gemini: `functionCall` parts in, one content of `functionResponse` parts out.

use serde_json::{Value, json};

use super::{ModelCall, ResultText, kind_of, last_of, without_answered};

pub(super) fn read(reply: &Value) -> Result<Vec<ModelCall>, String> {
    match reply {
        Value::Object(fields) => {
            if let Some(candidates) = fields.get("candidates") {
                // A prompt that was blocked has none, and a candidate that was may have no content.
                return match candidates.get(0).and_then(|first| first.get("content")) {
                    Some(content) => of_content(content),
                    None => Ok(Vec::new()),
                };
            }
            of_content(fields.get("content").unwrap_or(reply))
        }
        Value::Array(items) if items.iter().any(|item| item.get("parts").is_some()) => {
            let Some((content, later)) = last_of(items, "model") else {
                return Ok(Vec::new());
            };
            let answered: Vec<Option<&str>> = later
                .iter()
                .filter_map(|content| content["parts"].as_array())
                .flatten()
                .filter_map(|part| part.get("functionResponse"))
                .map(|response| response["id"].as_str())
                .collect();
            Ok(without_answered(of_content(content)?, &answered))
        }
        Value::Array(parts) => Ok(of_parts(parts)),
        other => Err(format!("it is {}", kind_of(other))),
    }
}

fn of_content(content: &Value) -> Result<Vec<ModelCall>, String> {
    match content.get("parts") {
        Some(Value::Array(parts)) => Ok(of_parts(parts)),
        Some(other) => Err(format!("its `parts` are {}, not an array", kind_of(other))),
        // What a candidate that says nothing looks like.
        None if content["role"] == "model" => Ok(Vec::new()),
        None => Err("it has no `candidates` and no `parts`".to_owned()),
    }
}

fn of_parts(parts: &[Value]) -> Vec<ModelCall> {
    parts
        .iter()
        .filter_map(|part| part.get("functionCall"))
        .map(|call| ModelCall::new(call.get("id"), call.get("name"), call.get("args")))
        .collect()
}

pub(super) fn write(answers: &[(ModelCall, ResultText)]) -> Value {
    let part = |(call, result): &(ModelCall, ResultText)| {
        let key = if result.failed { "error" } else { "output" };
        let mut response = json!({"name": call.name, "response": {key: result.text}});
        if let Some(id) = &call.id {
            response["id"] = id.as_str().into();
        }
        json!({"functionResponse": response})
    };
    let parts: Vec<Value> = answers.iter().map(part).collect();
    json!({"role": "user", "parts": parts})
}
