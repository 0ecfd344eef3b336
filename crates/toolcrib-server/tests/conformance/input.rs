//! What asks a client of the newer era: answers `input_required`, and goes on when the request is made again.

use serde_json::{Value, json};
use toolcrib_mcp::protocol::{Input, InputRequest};
use toolcrib_mcp::rpc::RpcError;
use toolcrib_mcp::server::{Context, Reply};

use crate::host::Fixture;
use crate::tools::text;

/// The prompt that asks first.
pub(crate) const PROMPT: &str = "test_input_required_result_prompt";

fn request(method: &str, params: Value) -> InputRequest {
    InputRequest {
        method: method.to_owned(),
        params: Some(params),
    }
}

/// A form with one field.
fn form(message: &str, field: &str, kind: &str) -> InputRequest {
    request(
        "elicitation/create",
        json!({
            "mode": "form",
            "message": message,
            "requestedSchema": {"type": "object", "properties": {field: {"type": kind}}, "required": [field]},
        }),
    )
}

fn sample(prompt: &str) -> InputRequest {
    request(
        "sampling/createMessage",
        json!({"messages": [{"role": "user", "content": {"type": "text", "text": prompt}}], "maxTokens": 100}),
    )
}

fn roots() -> InputRequest {
    request("roots/list", json!({}))
}

fn ask<const N: usize>(
    requests: [(&str, InputRequest); N],
    state: Option<String>,
) -> Result<Reply, RpcError> {
    let requests = requests
        .into_iter()
        .map(|(key, request)| (key.to_owned(), request));
    Ok(Reply::input_required(requests, state))
}

/// A field of the form that a client sent back.
fn field<'a>(input: &'a Input, key: &str, field: &str) -> Option<&'a Value> {
    let response = input.responses.get(key)?;
    response.get("content")?.get(field)
}

/// The text of a model's answer.
fn said<'a>(input: &'a Input, key: &str) -> Option<&'a str> {
    input
        .responses
        .get(key)?
        .get("content")?
        .get("text")?
        .as_str()
}

fn root_count(input: &Input, key: &str) -> Option<usize> {
    Some(input.responses.get(key)?.get("roots")?.as_array()?.len())
}

impl Fixture {
    /// A state that no one can guess, for this.
    fn seal(&self, what: Value) -> String {
        let state = uuid::Uuid::now_v7().to_string();
        self.states.lock().unwrap().insert(state.clone(), what);
        state
    }

    /// What a state was given out for; one that was not is refused.
    fn open(&self, input: &Input) -> Result<Option<Value>, RpcError> {
        let Some(state) = &input.state else {
            return Ok(None);
        };
        match self.states.lock().unwrap().get(state) {
            Some(what) => Ok(Some(what.clone())),
            None => Err(RpcError::invalid_params(
                "the request state is not one that was given out here",
            )),
        }
    }
}

/// Calls a tool that asks first.
pub(crate) fn call(
    fixture: &Fixture,
    name: &str,
    input: Input,
    context: &Context,
) -> Result<Reply, RpcError> {
    let state = fixture.open(&input)?;
    let kind = name.trim_start_matches("test_input_required_result_");
    let is_back = state.as_ref() == Some(&json!(kind));
    match kind {
        "elicitation" => match field(&input, "user_name", "name").and_then(Value::as_str) {
            Some(name) => text(format!("Hello, {name}!")),
            None => ask(
                [("user_name", form("What is your name?", "name", "string"))],
                None,
            ),
        },
        "sampling" => match said(&input, "sample_request") {
            Some(said) => text(format!("Sampling result: {said}")),
            None => ask(
                [("sample_request", sample("What is the capital of France?"))],
                None,
            ),
        },
        "list_roots" => match root_count(&input, "roots_request") {
            Some(count) => text(format!("Found {count} root(s)")),
            None => ask([("roots_request", roots())], None),
        },
        "request_state" | "tampered_state" => {
            match is_back && field(&input, "confirm", "ok") == Some(&json!(true)) {
                true if kind == "request_state" => text("state-ok: requestState validated"),
                true => text("integrity-ok: state verified"),
                false => ask(
                    [("confirm", form("Please confirm", "ok", "boolean"))],
                    Some(fixture.seal(json!(kind))),
                ),
            }
        }
        "multiple_inputs" => {
            let answers = (
                field(&input, "user_name", "name").and_then(Value::as_str),
                said(&input, "greeting"),
                root_count(&input, "client_roots"),
            );
            match answers {
                (Some(name), Some(greeting), Some(roots)) if is_back => text(format!(
                    "Name: {name}; Greeting: {greeting}; Roots: {roots}"
                )),
                _ => ask(
                    [
                        ("user_name", form("What is your name?", "name", "string")),
                        ("greeting", sample("Generate a greeting")),
                        ("client_roots", roots()),
                    ],
                    Some(fixture.seal(json!(kind))),
                ),
            }
        }
        "multi_round" => multi_round(fixture, &input, state.as_ref()),
        "capabilities" => capabilities(fixture, &input, context),
        _ => Err(RpcError::invalid_params(format!(
            "there is no tool `{name}`"
        ))),
    }
}

fn multi_round(fixture: &Fixture, input: &Input, state: Option<&Value>) -> Result<Reply, RpcError> {
    let round = state.map_or(0, |state| state["round"].as_u64().unwrap_or(0));
    let name = field(input, "step1", "name").and_then(Value::as_str);
    let colour = field(input, "step2", "color").and_then(Value::as_str);
    match (round, name, colour, state) {
        (1, Some(name), _, _) => ask(
            [(
                "step2",
                form("Step 2: What is your favorite color?", "color", "string"),
            )],
            Some(fixture.seal(json!({"round": 2, "name": name}))),
        ),
        (2, _, Some(colour), Some(state)) => text(format!(
            "Multi-round complete for {} who likes {colour}",
            state["name"].as_str().unwrap_or_default()
        )),
        _ => ask(
            [(
                "step1",
                form("Step 1: What is your name?", "name", "string"),
            )],
            Some(fixture.seal(json!({"round": 1}))),
        ),
    }
}

fn capabilities(fixture: &Fixture, input: &Input, context: &Context) -> Result<Reply, RpcError> {
    if !input.responses.is_empty() {
        let keys: Vec<&str> = input.responses.keys().map(String::as_str).collect();
        return text(format!("capabilities-ok: received {}", keys.join(",")));
    }
    let mut requests = Vec::new();
    if context.capabilities.asks_with_forms() {
        let form = form("Elicitation input", "value", "string");
        requests.push(("elicit_input".to_owned(), form));
    }
    if context.capabilities.sampling.is_some() {
        requests.push(("sample_input".to_owned(), sample("Sample request")));
    }
    match requests.is_empty() {
        true => text("No supported capabilities declared"),
        false => Ok(Reply::input_required(
            requests,
            Some(fixture.seal(json!("capabilities"))),
        )),
    }
}

/// Gets the prompt that asks first.
pub(crate) fn prompt(input: &Input) -> Result<Reply, RpcError> {
    match field(input, "user_context", "context").and_then(Value::as_str) {
        Some(context) => Reply::of(&json!({
            "messages": [{
                "role": "user",
                "content": {"type": "text", "text": format!("Prompt with context: {context}")},
            }],
        })),
        None => ask(
            [(
                "user_context",
                form("What context should the prompt use?", "context", "string"),
            )],
            None,
        ),
    }
}
