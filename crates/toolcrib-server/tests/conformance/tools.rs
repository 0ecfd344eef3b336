//! The tools that answer at once, tell how far they are, or ask a client of the older era.

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_mcp::rpc::{RpcError, code};
use toolcrib_mcp::server::{ChangeNotice, Context, Reply};

use crate::host::Fixture;

/// One red pixel.
pub(crate) const IMAGE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// One sample of silence.
const AUDIO: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
/// The tool whose parameters travel as headers too.
pub(crate) const WITH_HEADERS: &str = "test_header_params";
/// How long a client has to answer a question.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a tool rests between two pieces of news.
const REST: Duration = Duration::from_millis(20);

/// Those without parameters.
const PLAIN: [(&str, &str); 24] = [
    ("test_simple_text", "Answers with a text"),
    ("test_image_content", "Answers with an image"),
    ("test_audio_content", "Answers with a sound"),
    ("test_embedded_resource", "Answers with a resource"),
    (
        "test_multiple_content_types",
        "Answers with a text, an image and a resource",
    ),
    ("test_tool_with_logging", "Logs what it does"),
    ("test_tool_with_progress", "Reports progress"),
    ("test_error_handling", "Fails"),
    (
        "test_reconnection",
        "Takes long enough for a client to come back",
    ),
    ("test_elicitation_sep1034_defaults", "Asks with defaults"),
    (
        "test_elicitation_sep1330_enums",
        "Asks with every kind of choice",
    ),
    ("test_missing_capability", "Needs a client that has a model"),
    (
        "test_streaming_elicitation",
        "Reports progress, if that is wanted",
    ),
    ("test_logging_tool", "Logs something, if that is wanted"),
    ("test_trigger_tool_change", "Changes the list of tools"),
    ("test_trigger_prompt_change", "Changes the list of prompts"),
    (
        "test_input_required_result_elicitation",
        "Asks a person first",
    ),
    ("test_input_required_result_sampling", "Asks a model first"),
    (
        "test_input_required_result_list_roots",
        "Asks for directories first",
    ),
    (
        "test_input_required_result_request_state",
        "Asks, and wants its state back",
    ),
    (
        "test_input_required_result_multiple_inputs",
        "Asks three things at once",
    ),
    ("test_input_required_result_multi_round", "Asks twice"),
    (
        "test_input_required_result_tampered_state",
        "Does not take a state that it did not give out",
    ),
    (
        "test_input_required_result_capabilities",
        "Asks only what the client offers",
    ),
];

/// Every tool, in order.
pub(crate) fn list() -> Vec<Value> {
    let tool = |name: &str, about: &str, schema: Value| json!({"name": name, "description": about, "inputSchema": schema});
    let text = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    let mut list: Vec<Value> = PLAIN
        .iter()
        .map(|(name, about)| tool(name, about, json!({"type": "object", "properties": {}})))
        .collect();
    list.push(tool("test_sampling", "Asks a model", text("prompt")));
    list.push(tool("test_elicitation", "Asks a person", text("message")));
    list.push(tool(
        "json_schema_2020_12_tool",
        "Has a schema with every kind of keyword",
        json_schema_2020_12(),
    ));
    list.push(tool(
        WITH_HEADERS,
        "Has parameters that travel as headers too",
        json!({
            "type": "object",
            "properties": {
                "region": {"type": "string", "x-mcp-header": "Region"},
                "count": {"type": "integer", "x-mcp-header": "Count"},
                "urgent": {"type": "boolean", "x-mcp-header": "Urgent"},
                "note": {"type": "string"},
            },
            "required": ["region"],
        }),
    ));
    list
}

fn json_schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

/// A result that is one text.
pub(crate) fn text(text: impl Into<String>) -> Result<Reply, RpcError> {
    Reply::of(&json!({"content": [{"type": "text", "text": text.into()}]}))
}

/// Calls a tool.
pub(crate) async fn call(
    fixture: &Fixture,
    name: &str,
    arguments: &Value,
    context: &Context,
) -> Result<Reply, RpcError> {
    let content = |content: Value| Reply::of(&json!({"content": content}));
    let image = || json!({"type": "image", "data": IMAGE, "mimeType": "image/png"});
    let resource = |uri: &str, kind: &str, text: &str| json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}});
    match name {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => content(json!([image()])),
        "test_audio_content" => {
            content(json!([{"type": "audio", "data": AUDIO, "mimeType": "audio/wav"}]))
        }
        "test_embedded_resource" => content(json!([resource(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content."
        )])),
        "test_multiple_content_types" => content(json!([
            {"type": "text", "text": "Multiple content types test:"},
            image(),
            resource(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#
            ),
        ])),
        "test_tool_with_logging" => {
            for stage in ["started", "goes on", "completed"] {
                context.log("info", None, json!(format!("Tool execution {stage}")));
                tokio::time::sleep(REST).await;
            }
            text("Tool with logging executed successfully")
        }
        "test_tool_with_progress" => {
            for step in [0.0, 50.0, 100.0] {
                context.progress(
                    step,
                    Some(100.0),
                    Some(&format!("Completed step {step} of 100")),
                );
                tokio::time::sleep(REST).await;
            }
            text("Tool with progress executed successfully")
        }
        "test_error_handling" => Reply::of(&json!({
            "content": [{"type": "text", "text": "This tool intentionally returns an error for testing"}],
            "isError": true,
        })),
        "test_reconnection" => {
            tokio::time::sleep(Duration::from_millis(600)).await;
            text("Reconnection test completed successfully.")
        }
        "test_missing_capability" => match context.capabilities.sampling {
            Some(_) => text("Success"),
            None => Err(RpcError::new(
                code::MISSING_CAPABILITY,
                "this tool needs a client that declares `sampling`",
            )
            .with_data(json!({"requiredCapabilities": {"sampling": {}}}))),
        },
        "test_streaming_elicitation" => {
            context.progress(50.0, Some(100.0), None);
            text("Streaming complete")
        }
        "test_logging_tool" => {
            context.log("info", Some("fixture"), json!("Diagnostic trace"));
            text("Logging evaluated")
        }
        "test_trigger_tool_change" => {
            fixture.changed(ChangeNotice::Tools);
            text("Mutation triggered")
        }
        "test_trigger_prompt_change" => {
            fixture.changed(ChangeNotice::Prompts);
            text("Mutation triggered")
        }
        "test_sampling" => {
            let params = json!({
                "messages": [{"role": "user", "content": {"type": "text", "text": arguments["prompt"]}}],
                "maxTokens": 100,
            });
            match context
                .ask("sampling/createMessage", params, PATIENCE)
                .await
            {
                Ok(answer) => text(format!(
                    "LLM response: {}",
                    answer["content"]["text"].as_str().unwrap_or("No response")
                )),
                Err(error) => text(format!("Sampling not supported or error: {error}")),
            }
        }
        "test_elicitation" => {
            let schema = json!({
                "type": "object",
                "properties": {"response": {"type": "string", "description": "User's response"}},
                "required": ["response"],
            });
            let message = arguments["message"].as_str().unwrap_or_default();
            elicit(context, "User response", message, schema).await
        }
        "test_elicitation_sep1034_defaults" => {
            let message = "Please review and update the form fields with defaults";
            elicit(context, "Elicitation completed", message, defaults()).await
        }
        "test_elicitation_sep1330_enums" => {
            let message = "Please select options from the enum fields";
            elicit(context, "Elicitation completed", message, choices()).await
        }
        "json_schema_2020_12_tool" => {
            text(format!("JSON Schema 2020-12 tool called with: {arguments}"))
        }
        WITH_HEADERS => text(format!("called with: {arguments}")),
        _ => Err(RpcError::invalid_params(format!(
            "there is no tool `{name}`"
        ))),
    }
}

async fn elicit(
    context: &Context,
    done: &str,
    message: &str,
    schema: Value,
) -> Result<Reply, RpcError> {
    let params = json!({"message": message, "requestedSchema": schema});
    match context.ask("elicitation/create", params, PATIENCE).await {
        Ok(answer) => text(format!(
            "{done}: action={}, content={}",
            answer["action"].as_str().unwrap_or_default(),
            match &answer["content"] {
                Value::Null => json!({}),
                content => content.clone(),
            }
        )),
        Err(error) => text(format!("Elicitation not supported or error: {error}")),
    }
}

fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "User name", "default": "John Doe"},
            "age": {"type": "integer", "description": "User age", "default": 30},
            "score": {"type": "number", "description": "User score", "default": 95.5},
            "status": {
                "type": "string",
                "description": "User status",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": {"type": "boolean", "description": "Verification status", "default": true},
        },
        "required": [],
    })
}

fn choices() -> Value {
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {
                "type": "string",
                "description": "Select one option",
                "enum": ["option1", "option2", "option3"],
            },
            "titledSingle": {
                "type": "string",
                "description": "Select one option with titles",
                "oneOf": [
                    {"const": "value1", "title": "First Option"},
                    {"const": "value2", "title": "Second Option"},
                    {"const": "value3", "title": "Third Option"},
                ],
            },
            "legacyEnum": {
                "type": "string",
                "description": "Select one option (legacy)",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {
                "type": "array",
                "description": "Select multiple options",
                "minItems": 1,
                "maxItems": 3,
                "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
            },
            "titledMulti": {
                "type": "array",
                "description": "Select multiple options with titles",
                "minItems": 1,
                "maxItems": 3,
                "items": {
                    "anyOf": [
                        {"const": "value1", "title": "First Choice"},
                        {"const": "value2", "title": "Second Choice"},
                        {"const": "value3", "title": "Third Choice"},
                    ],
                },
            },
        },
        "required": [],
    })
}
