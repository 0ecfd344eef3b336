//! One call of a tool, and the shapes that its answer may have.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::error::ClientError;
use super::listing;
use super::options::{CallOptions, ToolCall};
use super::request_table::{Ask, GivingUp, Talk, Wait, Wire};
use super::server_message::Called;
use crate::protocol::InputRequest;
use crate::rpc::{RpcError, code};

/// The most questions that a server may have at once.
const MAX_INPUT_REQUESTS: usize = 64;

pub(super) async fn call(
    talk: &Arc<Talk>,
    call: ToolCall,
    options: CallOptions,
) -> Result<Called, ClientError> {
    let is_modern = talk.era().is_modern();
    if call.input.is_some() && !is_modern {
        return Err(ClientError::Rpc(RpcError::invalid_params(
            "a server up to 2025-11-25 asks during a call; it takes no answers with the next one",
        )));
    }
    let result = match ask(talk, &call, &options).await {
        Err(error) if error.code() == Some(code::HEADER_MISMATCH) && is_modern => {
            // The tool wants other headers than it did when it was listed.
            listing::list(talk).await?;
            ask(talk, &call, &options).await?
        }
        answer => answer?,
    };
    match is_modern {
        true => modern(&result),
        false => Ok(Called::Complete(complete(object(&result)?)?)),
    }
}

async fn ask(
    talk: &Arc<Talk>,
    call: &ToolCall,
    options: &CallOptions,
) -> Result<Box<RawValue>, ClientError> {
    let mut params = Map::new();
    params.insert("name".to_owned(), json!(call.name));
    params.insert("arguments".to_owned(), json!(call.arguments));
    if let Some(input) = &call.input {
        if !input.responses.is_empty() {
            params.insert("inputResponses".to_owned(), json!(input.responses));
        }
        if let Some(state) = &input.state {
            params.insert("requestState".to_owned(), json!(state));
        }
    }
    let mirrored = match &talk.wire {
        Wire::Pipes(_) => Vec::new(),
        Wire::Http(http) => http.mirrored(call),
    };
    let ask = Ask {
        method: "tools/call",
        params: talk.with_meta(params),
        name: Some(call.name.clone()),
        mirrored,
        wait: Wait {
            idle: options.idle_timeout,
            total: options.timeout,
            cancel: options.cancel.clone(),
            progress: options.progress.clone(),
            key: Some(options.key),
            giving_up: GivingUp::Told,
        },
    };
    talk.ask(ask).await
}

fn object(result: &RawValue) -> Result<Map<String, Value>, ClientError> {
    serde_json::from_str(result.get())
        .map_err(|error| wrong(&format!("is not an object that can be read ({error})")))
}

fn modern(result: &RawValue) -> Result<Called, ClientError> {
    let result = object(result)?;
    match result.get("resultType") {
        None => Ok(Called::Complete(complete(result)?)),
        Some(Value::String(kind)) if kind == "complete" => Ok(Called::Complete(complete(result)?)),
        Some(Value::String(kind)) if kind == "input_required" => input_required(result),
        Some(kind) => {
            let kind = super::request_table::cut(kind.to_string(), 100);
            Err(wrong(&format!(
                "is of a kind that was not requested: {kind}"
            )))
        }
    }
}

/// A result with content, as a model can be given it.
fn complete(result: Map<String, Value>) -> Result<Map<String, Value>, ClientError> {
    match result.get("content") {
        Some(Value::Array(items)) => {
            if let Some(odd) = items.iter().position(|item| !item["type"].is_string()) {
                return Err(wrong(&format!(
                    "has no type for number {} of its content",
                    odd + 1
                )));
            }
        }
        Some(_) => return Err(wrong("has a content that is not a list")),
        None if result.contains_key("structuredContent") => {}
        None => return Err(wrong("has no content")),
    }
    match result.get("isError") {
        None | Some(Value::Bool(_)) => Ok(result),
        Some(_) => Err(wrong("has an `isError` that is neither true nor false")),
    }
}

fn input_required(mut result: Map<String, Value>) -> Result<Called, ClientError> {
    let requests = match result.remove("inputRequests") {
        None => Vec::new(),
        Some(Value::Object(requests)) if requests.len() <= MAX_INPUT_REQUESTS => {
            let read = |(key, request)| match serde_json::from_value::<InputRequest>(request) {
                Ok(request) => Ok((key, request)),
                Err(_) => Err(wrong("has a question that has the wrong shape")),
            };
            requests.into_iter().map(read).collect::<Result<_, _>>()?
        }
        Some(Value::Object(_)) => return Err(wrong("has too many questions")),
        Some(_) => return Err(wrong("has questions that are not an object")),
    };
    let state = match result.remove("requestState") {
        None => None,
        Some(Value::String(state)) => Some(state),
        Some(_) => return Err(wrong("has a state that is not a text")),
    };
    if requests.is_empty() && state.is_none() {
        return Err(wrong("wants input and does not say which"));
    }
    Ok(Called::InputRequired { requests, state })
}

fn wrong(how: &str) -> ClientError {
    ClientError::protocol(format!("the result of `tools/call` {how}"))
}
