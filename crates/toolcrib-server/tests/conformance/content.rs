//! Prompts and resources.

use serde_json::{Map, Value, json};
use toolcrib_mcp::protocol::Era;
use toolcrib_mcp::rpc::{RpcError, code};
use toolcrib_mcp::server::Reply;

use crate::input;
use crate::tools::IMAGE;

/// Every prompt, in order.
pub(crate) fn prompts() -> Value {
    json!([
        {"name": "test_simple_prompt", "title": "Simple", "description": "Has no arguments"},
        {
            "name": "test_prompt_with_arguments",
            "title": "With arguments",
            "description": "Has arguments",
            "arguments": [
                {"name": "arg1", "description": "First test argument", "required": true},
                {"name": "arg2", "description": "Second test argument", "required": true},
            ],
        },
        {
            "name": "test_prompt_with_embedded_resource",
            "title": "With a resource",
            "description": "Brings a resource",
            "arguments": [{"name": "resourceUri", "description": "Which", "required": true}],
        },
        {"name": "test_prompt_with_image", "title": "With an image", "description": "Brings an image"},
        {"name": input::PROMPT, "title": "With a question", "description": "Asks first"},
    ])
}

/// Gets a prompt that does not ask first.
pub(crate) fn prompt(name: &str, arguments: &Map<String, Value>) -> Result<Reply, RpcError> {
    let argument = |name: &str| {
        arguments
            .get(name)
            .and_then(Value::as_str)
            .ok_or_else(|| RpcError::invalid_params(format!("the argument `{name}` is missing")))
    };
    let said = |text: String| json!({"role": "user", "content": {"type": "text", "text": text}});
    let messages = match name {
        "test_simple_prompt" => vec![said("This is a simple prompt for testing.".to_owned())],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1")?, argument("arg2")?);
            vec![said(format!(
                "Prompt with arguments: arg1='{first}', arg2='{second}'"
            ))]
        }
        "test_prompt_with_embedded_resource" => {
            let resource = json!({
                "uri": argument("resourceUri")?,
                "mimeType": "text/plain",
                "text": "Embedded resource content for testing.",
            });
            vec![
                json!({"role": "user", "content": {"type": "resource", "resource": resource}}),
                said("Please process the embedded resource above.".to_owned()),
            ]
        }
        "test_prompt_with_image" => vec![
            json!({"role": "user", "content": {"type": "image", "data": IMAGE, "mimeType": "image/png"}}),
            said("Please analyze the image above.".to_owned()),
        ],
        _ => {
            return Err(RpcError::invalid_params(format!(
                "there is no prompt `{name}`"
            )));
        }
    };
    Reply::of(&json!({"messages": messages}))
}

/// Every resource, in order.
pub(crate) fn resources() -> Value {
    json!([
        {"uri": "test://static-text", "name": "static-text", "description": "A text", "mimeType": "text/plain"},
        {"uri": "test://static-binary", "name": "static-binary", "description": "An image", "mimeType": "image/png"},
        {"uri": "test://watched-resource", "name": "watched-resource", "description": "One to follow", "mimeType": "text/plain"},
    ])
}

/// Every template, in order.
pub(crate) fn templates() -> Value {
    json!([{
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "description": "One for every id",
        "mimeType": "application/json",
    }])
}

/// Reads a resource.
pub(crate) fn resource(uri: &str, era: Era) -> Result<Value, RpcError> {
    let content = |kind: &str, key: &str, value: &str| {
        Ok(json!({"contents": [{"uri": uri, "mimeType": kind, key: value}]}))
    };
    match uri {
        "test://static-text" => content(
            "text/plain",
            "text",
            "This is the content of the static text resource.",
        ),
        "test://static-binary" => content("image/png", "blob", IMAGE),
        "test://watched-resource" => content("text/plain", "text", "Watched resource content"),
        _ => {
            let id = uri
                .strip_prefix("test://template/")
                .and_then(|rest| rest.strip_suffix("/data"));
            let Some(id) = id else {
                let code = match era {
                    Era::Modern => code::INVALID_PARAMS,
                    Era::Legacy(_) => code::RESOURCE_NOT_FOUND,
                };
                let error = RpcError::new(code, format!("there is no resource `{uri}`"));
                return Err(error.with_data(json!({"uri": uri})));
            };
            let data =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            content("application/json", "text", &data.to_string())
        }
    }
}
