//! What a text or a value costs a model, in quarters of a token: the measure of [`tokens`](super::super::tokens), by the character, so that
//! a text can be cut where the budget ends.

use serde_json::Value;

use crate::model::text;

/// A token, in quarters.
pub(super) const TOKEN: u64 = 4;
/// What a character costs that is written as its code point: `\u{200b}`.
const HIDDEN: u64 = 10;

/// What a character costs that is printed.
pub(super) fn of_char(c: char) -> u64 {
    match c {
        '\n' | '\t' | ' '..='~' => 1,
        c if text::is_hidden(c) => HIDDEN,
        _ => TOKEN,
    }
}

/// What a text costs; counting stops once that is more than `limit`.
pub(super) fn of_text(text: &str, limit: u64) -> u64 {
    let mut cost = 0;
    for c in text.chars() {
        cost += of_char(c);
        if cost > limit {
            break;
        }
    }
    cost
}

/// What a value costs as compact JSON; counting stops once that is more than `limit`.
pub(super) fn of_value(value: &Value, limit: u64) -> u64 {
    match value {
        Value::Null | Value::Bool(true) => 4,
        Value::Bool(false) => 5,
        Value::Number(number) => number.to_string().len() as u64,
        Value::String(text) => of_string(text, limit),
        Value::Array(items) => {
            let mut cost = 2;
            for item in items {
                cost += 1 + of_value(item, limit.saturating_sub(cost));
                if cost > limit {
                    break;
                }
            }
            cost
        }
        Value::Object(fields) => {
            let mut cost = 2;
            for (key, field) in fields {
                cost += of_key(key, limit) + of_value(field, limit.saturating_sub(cost));
                if cost > limit {
                    break;
                }
            }
            cost
        }
    }
}

/// What the name of a field costs, with the colon and the comma.
pub(super) fn of_key(key: &str, limit: u64) -> u64 {
    2 + of_string(key, limit)
}

/// What a character costs in a string of JSON.
pub(super) fn of_json_char(c: char) -> u64 {
    match c {
        '"' | '\\' | '\n' | '\t' | '\r' => 2,
        c if c.is_ascii_control() => 6,
        c if c.is_ascii() => 1,
        _ => TOKEN,
    }
}

fn of_string(text: &str, limit: u64) -> u64 {
    let mut cost = 2;
    for c in text.chars() {
        cost += of_json_char(c);
        if cost > limit {
            break;
        }
    }
    cost
}
