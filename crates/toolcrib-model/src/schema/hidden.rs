//! Hidden characters in schemas, wherever they come from.
//!
//! A text that only explains (`title`, `description`) may have some: models get it without them. A name or a value would be
//! another one without them, and no one could type it as it is, so that a schema with such a name or value is not accepted.

use std::borrow::Cow;

use serde_json::Value;

use super::SchemaError;
use crate::hidden::{hidden, hides_something, is_hidden, without_hidden};
use crate::text::{shorten, visible_line};

/// Whether the value of a keyword is a text that explains; everything else is data.
#[doc(hidden)]
pub fn explains(keyword: &str) -> bool {
    matches!(keyword, "title" | "description" | "$comment")
}

/// The first hidden character of a name.
#[doc(hidden)]
pub fn in_name(name: &str) -> Option<char> {
    name.chars()
        .find(|c| is_hidden(*c) || matches!(c, '\t' | '\n'))
}

/// The first hidden character of data. Ends of lines may be meant, also those of Windows; other control characters are not for a model
/// or a terminal to get.
#[doc(hidden)]
pub fn in_data(data: &str) -> Option<(usize, char)> {
    hidden(data).find(|(_, c)| *c != '\r')
}

/// Refuses a name or a value with hidden characters; `schema` is one that is bounded.
#[doc(hidden)]
pub fn check(schema: &Value) -> Result<(), SchemaError> {
    match find(schema) {
        None => Ok(()),
        Some(HiddenText { pointer, message }) => Err(SchemaError::one(pointer, message)),
    }
}

struct HiddenText {
    pointer: String,
    message: String,
}

impl HiddenText {
    fn new(what: &str, text: &str, c: char) -> Self {
        let shown = shorten(&visible_line(text), 80);
        let number = u32::from(c);
        HiddenText {
            pointer: String::new(),
            message: format!("the {what} `{shown}` has a hidden character, U+{number:04X}"),
        }
    }

    fn below(mut self, part: &str) -> Self {
        let part = part.replace('~', "~0").replace('/', "~1");
        self.pointer = format!("/{part}{}", self.pointer);
        self
    }
}

fn find(schema: &Value) -> Option<HiddenText> {
    match schema {
        Value::String(data) => in_data(data).map(|(_, c)| HiddenText::new("value", data, c)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| Some(find(item)?.below(&index.to_string()))),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| match in_name(name) {
            Some(c) => Some(HiddenText::new("name", name, c)),
            None if explains(name) && value.is_string() => None,
            None => Some(find(value)?.below(name)),
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Whether a text that explains has hidden characters.
#[doc(hidden)]
pub fn in_texts(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.iter().any(|(name, value)| match value {
            Value::String(text) => explains(name) && hides_something(text),
            value => in_texts(value),
        }),
        Value::Array(items) => items.iter().any(in_texts),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// A schema whose texts have no hidden characters.
pub(crate) fn without(schema: &Value) -> Cow<'_, Value> {
    if !in_texts(schema) {
        return Cow::Borrowed(schema);
    }
    let mut cleaned = schema.clone();
    clean(&mut cleaned);
    Cow::Owned(cleaned)
}

fn clean(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if explains(name) => {
                        *text = without_hidden(text).into_owned();
                    }
                    value => clean(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clean),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Schema;

    #[test]
    fn names_and_values_with_hidden_characters_are_not_accepted() {
        for (property, place, what) in [
            (
                json!({"a\u{200b}": {}}),
                "/properties",
                "the name `a\\u{200b}`",
            ),
            (
                json!({"a": {"enum": ["x", "x\u{202e}"]}}),
                "/properties/a/enum/1",
                "the value `x\\u{202e}`",
            ),
            (
                json!({"a": {"default": "\u{e0041}"}}),
                "/properties/a/default",
                "U+E0041",
            ),
            (
                json!({"a": {"const": "x\u{7f}"}}),
                "/properties/a/const",
                "U+007F",
            ),
            (
                json!({"a": {"enum": ["x", "x\u{1b}[31m"]}}),
                "/properties/a/enum/1",
                "U+001B",
            ),
            (
                json!({"a": {"default": "n\u{0}ul"}}),
                "/properties/a/default",
                "U+0000",
            ),
            (
                json!({"a": {"examples": ["b\u{8}"]}}),
                "/properties/a/examples/0",
                "U+0008",
            ),
            (
                json!({"a/b": {"pattern": "[\u{200b}]"}}),
                "/properties/a~1b/pattern",
                "U+200B",
            ),
            (
                json!({"a": {"examples": [{"b\u{feff}": 1}]}}),
                "/properties/a/examples/0",
                "U+FEFF",
            ),
        ] {
            let schema = json!({"type": "object", "properties": property});
            for error in [
                Schema::stored(schema.clone()).unwrap_err(),
                Schema::output(schema.clone()).unwrap_err(),
            ] {
                assert_eq!(error.problems[0].pointer, place);
                assert!(error.to_string().contains(what), "{error}");
                assert!(!hides_something(&error.to_string()), "{error}");
            }
        }
    }

    #[test]
    fn texts_are_cleaned_and_data_keeps_ends_of_lines() {
        let schema = json!({
            "type": "object", "title": "T\u{202e}",
            "properties": {"by": {
                "type": "string", "description": "By\u{e0041} what", "enum": ["\r\n", "\t", "می\u{200c}خواهم"],
                "anyOf": [{"$comment": "x\u{200b}"}],
            }},
        });
        let cleaned = without(Schema::stored(schema.clone()).unwrap().as_value()).into_owned();
        let mut expected = schema;
        expected["title"] = json!("T");
        expected["properties"]["by"]["description"] = json!("By what");
        expected["properties"]["by"]["anyOf"][0]["$comment"] = json!("x");
        assert_eq!(cleaned, expected);
        assert!(matches!(without(&cleaned), Cow::Borrowed(_)));
    }
}
