//! What a server's answer means here: MCP's `CallToolResult` becomes a [`ToolOutput`] or an error.
//!
//! The value is `structuredContent` if there is some (of any type since 2026-07-28), else the text if there is nothing but text, else the blocks themselves; the blocks go
//! along as they are, for callers that speak MCP. Sizes are the pipeline's to bound.

use serde_json::{Map, Value};

use crate::model::error::{ErrorCode, ToolError};
use crate::model::outcome::ToolOutput;
use crate::model::text;

/// The longest message of an error; the rest is in its details.
const MAX_MESSAGE: usize = 4000;

/// Reads a result. Without an output schema a structured `null` is none.
pub(super) fn output(
    upstream: &str,
    mut result: Map<String, Value>,
    has_schema: bool,
) -> Result<ToolOutput, ToolError> {
    let blocks = match result.remove("content") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(blocks)) => blocks,
        Some(_) => return Err(odd(upstream, "`content` is not a list")),
    };
    let structured = result.remove("structuredContent");
    let structured = structured.filter(|value| has_schema || !value.is_null());
    let texts: Vec<&str> = blocks.iter().filter_map(text_of).collect();
    let is_all_text = texts.len() == blocks.len();
    let text: Vec<String> = blocks.iter().map(in_words).collect();
    let text = text.join("\n");
    if result.get("isError") == Some(&Value::Bool(true)) {
        let message = match text.trim() {
            "" => format!("the tool of `{upstream}` failed and did not say why"),
            text => text::shorten(&text::visible(text), MAX_MESSAGE),
        };
        let error = ToolError::new(ErrorCode::ExecutionError, message);
        let error = match structured {
            Some(structured) => error.with_detail("structuredContent", structured),
            None => error,
        };
        return Err(match is_all_text && text.len() <= MAX_MESSAGE {
            true => error,
            false => error.with_detail("content", blocks),
        });
    }
    let mut output = match (structured, is_all_text) {
        (Some(structured), _) => {
            let output = ToolOutput::value(structured);
            match text.is_empty() {
                true => output,
                false => output.with_text(text),
            }
        }
        (None, true) => ToolOutput::value(text),
        (None, false) => ToolOutput::value(blocks.clone()).with_text(text),
    };
    output.content = blocks;
    Ok(output)
}

fn odd(upstream: &str, what: &str) -> ToolError {
    let message = format!("`{upstream}` answered with something that is not a result: {what}");
    ToolError::new(ErrorCode::UpstreamError, message)
}

fn text_of(block: &Value) -> Option<&str> {
    let is_text = block.get("type").and_then(Value::as_str) == Some("text");
    is_text
        .then(|| block.get("text").and_then(Value::as_str))
        .flatten()
}

/// A block for people.
fn in_words(block: &Value) -> String {
    if let Some(text) = text_of(block) {
        return text.to_owned();
    }
    let word = |key: &str| {
        let word = block.get(key).and_then(Value::as_str).unwrap_or_default();
        text::shorten(&text::visible(word), 200)
    };
    let kind = word("type");
    match kind.as_str() {
        "resource" => {
            let resource = &block["resource"];
            match resource["text"].as_str() {
                Some(text) => text.to_owned(),
                None => format!(
                    "[resource {}]",
                    text::shorten(
                        &text::visible(resource["uri"].as_str().unwrap_or_default()),
                        200
                    )
                ),
            }
        }
        "resource_link" => format!("[link {}]", word("uri")),
        "image" | "audio" => format!("[{kind} {}]", word("mimeType")),
        "" => "[something]".to_owned(),
        kind => format!("[{kind}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<ToolOutput, ToolError> {
        output("files", value.as_object().unwrap().clone(), false)
    }

    #[test]
    fn the_value_is_the_structured_content_else_the_text_else_the_blocks() {
        let text = json!({"type": "text", "text": "hi"});
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        let made = read(json!({"content": [text], "structuredContent": {"a": 1}})).unwrap();
        assert_eq!(
            (made.value.clone(), made.text().into_owned()),
            (json!({"a": 1}), "hi".to_owned())
        );
        assert_eq!(made.content, std::slice::from_ref(&text));
        let made = read(json!({"content": [text, text]})).unwrap();
        assert_eq!(made.value, "hi\nhi");
        let made = read(json!({"content": [text, image]})).unwrap();
        assert_eq!(made.value, json!([text, image]));
        assert_eq!(made.text(), "hi\n[image image/png]");
        assert_eq!(made.content, [text, image]);
        let made = read(json!({})).unwrap();
        assert_eq!((made.value, made.content), (json!(""), vec![]));
    }

    #[test]
    fn structured_content_may_be_of_any_type() {
        let text = json!({"type": "text", "text": "[1,2]"});
        for value in [json!([1, 2]), json!(7), json!("x"), json!(false)] {
            let made = read(json!({"content": [text], "structuredContent": value})).unwrap();
            assert_eq!(
                (made.value.clone(), made.text().into_owned()),
                (value, "[1,2]".to_owned())
            );
        }
        let null = json!({"content": [text], "structuredContent": null});
        assert_eq!(read(null.clone()).unwrap().value, "[1,2]");
        let with_schema = output("files", null.as_object().unwrap().clone(), true).unwrap();
        assert_eq!(with_schema.value, Value::Null);
    }

    #[test]
    fn a_failure_is_an_error_with_what_the_server_said() {
        let error = read(json!({"content": [{"type": "text", "text": "no such file\u{1b}[2J"}], "isError": true})).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ExecutionError);
        assert_eq!(error.message(), "no such file\\u{001b}[2J");
        let error = read(json!({"content": [], "structuredContent": {"why": 1}, "isError": true}))
            .unwrap_err();
        assert_eq!(
            error.details().unwrap()["structuredContent"],
            json!({"why": 1})
        );
        assert_eq!(
            read(json!({"content": "x"})).unwrap_err().code(),
            ErrorCode::UpstreamError
        );
    }
}
