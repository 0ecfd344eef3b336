//! How values appear in texts and commands.

use std::borrow::Cow;

use serde_json::{Number, Value};

use super::scan::Piece;
use super::{Format, ParameterKind};

/// A value as text: a list's items with blanks between them, JSON for objects, nothing for null.
pub(super) fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::Bool(true) => Cow::Borrowed("true"),
        Value::Bool(false) => Cow::Borrowed("false"),
        Value::Number(number) => Cow::Owned(digits(number)),
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(items) => {
            let items: Vec<Cow<'_, str>> = items.iter().map(item).collect();
            Cow::Owned(items.join(" "))
        }
        Value::Object(_) => Cow::Owned(value.to_string()),
    }
}

/// An item of a list as text; a list in a list is JSON.
fn item(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Array(_) => Cow::Owned(value.to_string()),
        value => text(value),
    }
}

/// A number in plain digits: never an exponent, which programs and shells read differently.
pub(super) fn digits(number: &Number) -> String {
    match number.as_f64() {
        // Whole numbers that are exact stay exact.
        _ if number.is_i64() || number.is_u64() => number.to_string(),
        // Minus zero has no minus.
        Some(0.0) => "0".to_owned(),
        // Rust writes all digits and no exponent.
        Some(float) => float.to_string(),
        None => number.to_string(),
    }
}

/// A word of a command, and how much of its beginning the author wrote.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MadeWord {
    pub(super) text: String,
    /// Whether it begins with text of the format, as `--name=x` does.
    pub(super) glued: bool,
}

/// The words that a value is in a command (`run`, a bare placeholder): by its format, or a list's items, JSON for objects, `true`
/// or `false`.
pub fn words(format: Option<&Format>, kind: ParameterKind, value: Option<&Value>) -> Vec<String> {
    made_words(format, kind, value)
        .into_iter()
        .map(|word| word.text)
        .collect()
}

pub(super) fn made_words(
    format: Option<&Format>,
    kind: ParameterKind,
    value: Option<&Value>,
) -> Vec<MadeWord> {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Vec::new();
    };
    let items: &[Value] = match value {
        Value::Array(items) => items,
        value => std::slice::from_ref(value),
    };
    let Some(format) = format else {
        return items
            .iter()
            .map(|value| MadeWord {
                text: item(value).into_owned(),
                glued: false,
            })
            .collect();
    };
    let mut made = Vec::new();
    for value in items {
        // A flag is there or not.
        if *value == Value::Bool(false) && kind == ParameterKind::Boolean {
            continue;
        }
        let shown = item(value);
        for word in &format.words {
            let mut text = String::new();
            let mut glued = false;
            for piece in &word.pieces {
                match piece {
                    Piece::Literal(literal) => {
                        glued |= text.is_empty();
                        text.push_str(literal);
                    }
                    Piece::Placeholder { .. } => text.push_str(&shown),
                }
            }
            made.push(MadeWord { text, glued });
        }
    }
    made
}
