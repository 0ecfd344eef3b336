//! A value as it is written where it is: [`encode`].
//!
//! Pure, and the only place that knows how. A server that reads a request the way its position is read (percent-decoding a segment or a
//! parameter, parsing a JSON body) gets the value back, and nothing else than it: a value cannot end its position.
//!
//! As text a value is: a string as it is; a number or a boolean as JSON prints it, whole numbers without a fraction; an array of
//! these joined with `,`, each item encoded by itself, so that the commas between items are the only bare ones; anything else as
//! compact JSON.

use std::borrow::Cow;

use serde_json::{Number, Value};

/// Where a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// In the path: within one segment of it.
    Path,
    /// In the query, as a name or a value.
    Query,
    /// In the value of a header.
    Header,
    /// In a JSON body, inside the quotes of a text.
    JsonText,
    /// In a JSON body, as a whole value.
    JsonValue,
    /// In a body of form fields, as a name or a value.
    Form,
    /// In any other body.
    Text,
    /// As it is: what credentials are made of.
    Credential,
}

impl Position {
    /// In words, after "in".
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Position::Path => "the path of the URL",
            Position::Query => "the query of the URL",
            Position::Header => "a header",
            Position::JsonText | Position::JsonValue | Position::Form | Position::Text => {
                "the body"
            }
            Position::Credential => "credentials",
        }
    }
}

/// Why a value cannot stand where it should; reads on from its name.
pub(super) type Misfit = String;

/// Writes a value for its position.
pub(super) fn encode(value: &Value, position: Position, out: &mut String) -> Result<(), Misfit> {
    refuse_rounded(value)?;
    if position == Position::JsonValue {
        out.push_str(&value.to_string());
        return Ok(());
    }
    match value {
        Value::Null => Err("is null, which is not a text".to_owned()),
        Value::Array(items) if items.iter().all(is_plain) => {
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                encode_text(&plain_text(item), position, out)?;
            }
            Ok(())
        }
        other => encode_text(&plain_text(other), position, out),
    }
}

/// Writes a text for its position.
pub(super) fn encode_text(text: &str, position: Position, out: &mut String) -> Result<(), Misfit> {
    match position {
        Position::Path | Position::Query | Position::Form => {
            refuse_nul(text, position)?;
            percent_encode(text, out);
        }
        Position::Header => {
            refuse_unsendable(text)?;
            out.push_str(text);
        }
        Position::JsonText => {
            let quoted = Value::from(text).to_string();
            out.push_str(&quoted[1..quoted.len() - 1]);
        }
        Position::JsonValue => out.push_str(&Value::from(text).to_string()),
        Position::Text => {
            refuse_nul(text, position)?;
            out.push_str(text);
        }
        Position::Credential => out.push_str(text),
    }
    Ok(())
}

/// Whole numbers beyond 64 bits are kept with some sixteen digits: what would be sent is another one than was given. What has
/// fifteen or fewer (`6.022e23`) is kept as it was.
fn refuse_rounded(value: &Value) -> Result<(), Misfit> {
    const BEYOND: f64 = 18_446_744_073_709_551_615.0;
    match value {
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) if float.abs() >= BEYOND / 2.0 && digits_of(number) > 15 => Err(format!(
                "has the number {number}, of which digits may be lost: whole numbers are exact up to 64 bits; give it as text"
            )),
            _ => Ok(()),
        },
        Value::Array(items) => items.iter().try_for_each(refuse_rounded),
        Value::Object(fields) => fields.values().try_for_each(refuse_rounded),
        Value::Null | Value::Bool(_) | Value::String(_) => Ok(()),
    }
}

/// How many digits a number has before its exponent.
fn digits_of(number: &Number) -> usize {
    let text = number.to_string();
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    digits.trim_end_matches('0').len()
}

/// Whether a value has its own text, so that several can be joined.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::String(_) | Value::Number(_) | Value::Bool(_) => true,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn plain_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => text.into(),
        Value::Number(number) => number_text(number).into(),
        Value::Bool(_) | Value::Null | Value::Array(_) | Value::Object(_) => {
            value.to_string().into()
        }
    }
}

/// A number as JSON prints it; `3.0`, which is an integer to JSON Schema, as `3`.
fn number_text(number: &Number) -> String {
    let text = number.to_string();
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// Everything but RFC 3986's unreserved characters becomes `%XX`.
fn percent_encode(text: &str, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    out.reserve(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

/// Servers in C end a text there, and what was checked is not what they read.
fn refuse_nul(text: &str, position: Position) -> Result<(), Misfit> {
    match text.contains('\0') {
        true => Err(format!(
            "has a NUL character, which cannot be sent in {}",
            position.in_words()
        )),
        false => Ok(()),
    }
}

/// Headers carry printable ASCII: line breaks would end them, and servers disagree on everything beyond.
fn refuse_unsendable(text: &str) -> Result<(), Misfit> {
    let Some(bad) = text.chars().find(|c| !matches!(c, ' '..='~')) else {
        return Ok(());
    };
    let what = match bad {
        '\r' | '\n' => "a line break".to_owned(),
        '\0' => "a NUL character".to_owned(),
        c if c.is_control() => format!("the control character U+{:04X}", u32::from(c)),
        c => format!("`{c}`, which is not ASCII"),
    };
    Err(format!("has {what}; a header cannot carry it"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn encoded(value: &Value, position: Position) -> Result<String, Misfit> {
        let mut out = String::new();
        encode(value, position, &mut out).map(|()| out)
    }

    #[test]
    fn what_would_end_a_parameter_is_encoded_once() {
        for (value, expected) in [
            ("Paris&key=evil", "Paris%26key%3Devil"),
            ("x#frag", "x%23frag"),
            ("a%26b", "a%2526b"),
            ("a b+c", "a%20b%2Bc"),
            ("@evil.test/", "%40evil.test%2F"),
            ("${WEATHER_API_KEY}", "%24%7BWEATHER_API_KEY%7D"),
            ("$${x}", "%24%24%7Bx%7D"),
            ("a\r\nHost: evil", "a%0D%0AHost%3A%20evil"),
            ("Zürich", "Z%C3%BCrich"),
            ("~._-09azAZ", "~._-09azAZ"),
        ] {
            for position in [Position::Query, Position::Path, Position::Form] {
                assert_eq!(encoded(&value.into(), position).unwrap(), expected);
            }
        }
    }

    #[test]
    fn a_number_that_was_rounded_is_refused() {
        for text in [
            "12345678901234567890123",
            "-12345678901234567890",
            "[{\"a\": 98765432109876543210987}]",
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            for position in [Position::Query, Position::JsonValue, Position::Header] {
                let why = encoded(&value, position).unwrap_err();
                assert!(why.contains("give it as text"), "{text}: {why}");
            }
        }
        for text in [
            "18446744073709551615",
            "-9223372036854775808",
            "1.5",
            "6.022e23",
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert!(encoded(&value, Position::Query).is_ok(), "{text}");
        }
    }

    #[test]
    fn values_of_every_type_have_a_text() {
        for (value, expected) in [
            (json!(3), "3"),
            (json!(3.0), "3"),
            (json!(-0.0), "0"),
            (json!(-2.5), "-2.5"),
            (json!(1e300), "1e%2B300"),
            (json!(true), "true"),
            (json!(["a,b", 1, false]), "a%2Cb,1,false"),
            (json!([]), ""),
            (json!({"a": [1]}), "%7B%22a%22%3A%5B1%5D%7D"),
            (json!([["a"]]), "%5B%5B%22a%22%5D%5D"),
        ] {
            assert_eq!(encoded(&value, Position::Query).unwrap(), expected);
        }
        assert!(encoded(&Value::Null, Position::Query).is_err());
        assert_eq!(encoded(&Value::Null, Position::JsonValue).unwrap(), "null");
    }

    #[test]
    fn what_a_header_cannot_carry_is_refused_with_the_reason() {
        for (value, reason) in [
            ("a\r\nHost: evil\r\n\r\nGET /admin", "line break"),
            ("a\nb", "line break"),
            ("a\0b", "NUL"),
            ("a\tb", "U+0009"),
            ("a\u{7f}b", "U+007F"),
            ("a\u{85}b", "U+0085"),
            ("é", "not ASCII"),
            ("a\u{2028}b", "not ASCII"),
        ] {
            let misfit = encoded(&value.into(), Position::Header).unwrap_err();
            assert!(misfit.contains(reason), "{misfit}");
        }
        assert_eq!(encoded(&"a b~!".into(), Position::Header).unwrap(), "a b~!");
    }

    #[test]
    fn nul_is_refused_where_it_cannot_be_distinguished_from_the_end() {
        for position in [
            Position::Path,
            Position::Query,
            Position::Form,
            Position::Text,
        ] {
            assert!(encoded(&"a\0".into(), position).is_err());
        }
        assert_eq!(
            encoded(&"a\0".into(), Position::JsonText).unwrap(),
            "a\\u0000"
        );
    }

    proptest! {
        #[test]
        fn a_form_decoder_gets_every_text_back_as_the_one_parameter_it_is(text in "[^\0]*", name in "[^\0]*") {
            let query = format!(
                "{}={}&last=1",
                encoded(&name.clone().into(), Position::Query).unwrap(),
                encoded(&text.clone().into(), Position::Query).unwrap(),
            );
            let read: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
            prop_assert_eq!(read, [(name, text), ("last".to_owned(), "1".to_owned())]);
        }

        #[test]
        fn a_json_parser_gets_every_text_back(text in any::<String>()) {
            let body = format!("{{\"a\":\"x{}\",\"b\":{}}}",
                encoded(&text.clone().into(), Position::JsonText).unwrap(),
                encoded(&text.clone().into(), Position::JsonValue).unwrap());
            let read: Value = serde_json::from_str(&body).unwrap();
            prop_assert_eq!(read, json!({"a": format!("x{text}"), "b": text}));
        }

        #[test]
        fn what_a_header_takes_is_printable_ascii_and_unchanged(text in any::<String>()) {
            match encoded(&text.clone().into(), Position::Header) {
                Ok(out) => {
                    prop_assert_eq!(&out, &text);
                    prop_assert!(http::HeaderValue::from_str(&out).is_ok());
                }
                Err(_) => prop_assert!(text.bytes().any(|byte| !(b' '..=b'~').contains(&byte))),
            }
        }
    }
}
