//! OpenAI's chat completions: `tool_calls` in, messages of role `tool` out.

use serde_json::{Value, json};

use super::{Kind, ModelCall, ResultText, ids, kind_of, last_of, without_answered};

pub(super) fn read(reply: &Value) -> Result<Vec<ModelCall>, String> {
    match reply {
        Value::Object(fields) => {
            if let Some(choices) = fields.get("choices") {
                let choice = choices.get(0).ok_or("it has no `choices`")?;
                if choice.get("message").is_none() && choice.get("delta").is_some() {
                    return Err("it is a piece of a stream; merge the pieces first".to_owned());
                }
                return of_message(&choice["message"]);
            }
            match fields.get("message") {
                Some(message) => of_message(message),
                None => of_message(reply),
            }
        }
        Value::Array(items) if items.iter().any(|item| item.get("role").is_some()) => {
            let Some((message, later)) = last_of(items, "assistant") else {
                return Ok(Vec::new());
            };
            let answered: Vec<Option<&str>> = later
                .iter()
                .filter(|message| message["role"] == "tool" || message["role"] == "function")
                .map(|message| message["tool_call_id"].as_str())
                .collect();
            Ok(without_answered(of_message(message)?, &answered))
        }
        Value::Array(calls) => Ok(calls.iter().map(call).collect()),
        other => Err(format!("it is {}", kind_of(other))),
    }
}

pub(super) fn of_message(message: &Value) -> Result<Vec<ModelCall>, String> {
    let Value::Object(fields) = message else {
        return Err(format!("its message is {}", kind_of(message)));
    };
    if fields
        .get("role")
        .is_some_and(|role| !["assistant", "model"].iter().any(|own| role == own))
    {
        return Err("its message is not the assistant's".to_owned());
    }
    let legacy = fields.get("function_call").filter(|call| !call.is_null());
    match fields.get("tool_calls") {
        None | Some(Value::Null) => Ok(legacy.map(legacy_call).into_iter().collect()),
        Some(Value::Array(calls)) => Ok(calls.iter().map(call).collect()),
        Some(other) => Err(format!(
            "its `tool_calls` are {}, not an array",
            kind_of(other)
        )),
    }
    .and_then(|calls| {
        let is_message = ["role", "content", "tool_calls", "function_call"]
            .iter()
            .any(|field| fields.contains_key(*field));
        match is_message {
            true => Ok(calls),
            false => Err("it has no `choices`, no `message` and no `tool_calls`".to_owned()),
        }
    })
}

fn call(call: &Value) -> ModelCall {
    if call["type"] == "custom" {
        return ModelCall::custom(call.get("id"), call["custom"].get("name"));
    }
    // Some servers leave the wrapper out.
    let function = call.get("function").unwrap_or(call);
    ModelCall::new(
        call.get("id"),
        function.get("name"),
        function.get("arguments"),
    )
}

fn legacy_call(call: &Value) -> ModelCall {
    ModelCall {
        kind: Kind::Legacy,
        ..ModelCall::new(None, call.get("name"), call.get("arguments"))
    }
}

pub(super) fn write(answers: &[(ModelCall, ResultText)]) -> Vec<Value> {
    let message = |((call, result), id): (&(ModelCall, ResultText), String)| match call.kind {
        Kind::Legacy => json!({"role": "function", "name": call.name, "content": result.text}),
        Kind::Function | Kind::Custom => {
            json!({"role": "tool", "tool_call_id": id, "content": result.text})
        }
    };
    answers.iter().zip(ids(answers)).map(message).collect()
}
