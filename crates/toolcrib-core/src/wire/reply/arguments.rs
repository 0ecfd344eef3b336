//! The arguments of a model's call: an object, or the text of one, which is read as strictly as everything from outside.

use serde_json::Value;

use super::kind_of;
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::json::read_strict;
use crate::model::text;

/// Reads arguments. None at all, `null` and an empty text are an empty object: that is how
/// servers write a call without arguments.
pub(super) fn read(arguments: Option<&Value>) -> Result<JsonObject, ToolError> {
    match arguments {
        None | Some(Value::Null) => Ok(JsonObject::new()),
        Some(Value::Object(arguments)) => Ok(arguments.clone()),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(JsonObject::new()),
        Some(Value::String(text)) => match read_strict(text.as_bytes()) {
            Ok(Value::Object(arguments)) => Ok(arguments),
            // Written as a text twice over: some models do.
            Ok(Value::String(inner)) => match read_strict(inner.as_bytes()) {
                Ok(Value::Object(arguments)) => Ok(arguments),
                _ => Err(no_object("a string")),
            },
            Ok(other) => Err(no_object(kind_of(&other))),
            Err(error) => Err(ToolError::new(
                ErrorCode::InvalidArguments,
                format!(
                    "the arguments are not valid JSON: {}; they begin with `{}`",
                    text::shorten(&error.to_string(), 200),
                    text::visible(&text::shorten(text, 80))
                ),
            )),
        },
        Some(other) => Err(no_object(kind_of(other))),
    }
}

fn no_object(kind: &str) -> ToolError {
    ToolError::new(
        ErrorCode::InvalidArguments,
        format!("the arguments are {kind}; they must be a JSON object of parameters by name"),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_and_their_text_are_arguments_and_nothing_is_none() {
        let expected = json!({"a": [1, -2, 1.5, null, true, {"b": "c"}]});
        let text = json!(expected.to_string());
        let twice = json!(text.to_string());
        for given in [&expected, &text, &twice] {
            assert_eq!(Value::Object(read(Some(given)).unwrap()), expected);
        }
        for nothing in [
            None,
            Some(&Value::Null),
            Some(&json!("")),
            Some(&json!(" ")),
        ] {
            assert!(read(nothing).unwrap().is_empty());
        }
    }

    #[test]
    fn what_is_wrong_with_arguments_is_said() {
        let deep = "[".repeat(10_000);
        for (given, says) in [
            (json!("{\"a\": 1"), "not valid JSON"),
            (json!("{\"a\": 1} x"), "not valid JSON"),
            (json!("{\"a\": 1, \"a\": 2}"), "a key twice in one object"),
            (json!("{\"a\": 18446744073709551616}"), "would be rounded"),
            (json!("{\"a\": \"\\ud800\"}"), "at `/a`"),
            (json!("[1]"), "are an array"),
            (json!("\"hello\""), "are a string"),
            (json!(3), "are a number"),
            (json!(deep), "not valid JSON"),
        ] {
            let error = read(Some(&given)).unwrap_err();
            assert_eq!(error.code(), ErrorCode::InvalidArguments);
            assert!(error.message().contains(says), "{}", error.message());
            assert!(error.message().len() < 400);
        }
    }
}
