//! Values between PostgreSQL's texts and JSON. Every type has a text, so nothing is unsupported: what JSON has no like of is its text.

use std::error::Error;

use bytes::BytesMut;
use serde_json::Value;

use crate::model::json::read_bounded;
use tokio_postgres::types::{Format, IsNull, Kind, ToSql, Type};

use super::super::answer;

/// How deep arrays and types may be in each other; PostgreSQL has six dimensions.
const MAX_DEPTH: usize = 8;

/// The most digits that a double holds for sure.
const EXACT_DIGITS: usize = 15;

/// The name of a type as SQL has it.
pub(super) fn type_name(kind: &Type) -> String {
    match kind.kind() {
        Kind::Array(element) => format!("{}[]", element.name()),
        _ => kind.name().to_owned(),
    }
}

/// A value of a type as JSON.
pub(super) fn as_json(text: Option<&str>, kind: &Type) -> Value {
    match text {
        None => Value::Null,
        Some(text) => read(text, kind, 0),
    }
}

fn read(text: &str, kind: &Type, depth: usize) -> Value {
    let whole = || Value::from(text);
    if depth > MAX_DEPTH {
        return whole();
    }
    match kind.kind() {
        Kind::Domain(base) => return read(text, base, depth + 1),
        // Boxes have another separator; no one misses them as arrays.
        Kind::Array(element) if *element != Type::BOX => {
            return array(text, element, depth).unwrap_or_else(whole);
        }
        _ => {}
    }
    match *kind {
        Type::BOOL => match text {
            "t" => true.into(),
            "f" => false.into(),
            _ => whole(),
        },
        Type::INT2 | Type::INT4 | Type::INT8 | Type::OID => {
            text.parse().map_or_else(|_| whole(), answer::integer)
        }
        Type::FLOAT4 | Type::FLOAT8 => text.parse().map_or_else(|_| whole(), answer::real),
        Type::JSON | Type::JSONB => exact_json(text).unwrap_or_else(whole),
        Type::BYTEA => bytes(text).map_or_else(whole, |bytes| answer::blob(&bytes)),
        Type::TIMESTAMP => iso(text, "").unwrap_or_else(whole),
        Type::TIMESTAMPTZ => iso(text, "Z").unwrap_or_else(whole),
        _ => whole(),
    }
}

/// JSON as it is, if no number of it would be changed by reading it.
fn exact_json(text: &str) -> Option<Value> {
    let is_exact = numbers(text).all(|number| {
        let digits = number
            .bytes()
            .take_while(|byte| !matches!(byte, b'e' | b'E'));
        digits.filter(u8::is_ascii_digit).count() <= EXACT_DIGITS && !number.contains(['e', 'E'])
    });
    is_exact.then(|| read_bounded(text.as_bytes()).ok())?
}

/// The numbers of a JSON text.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    // Every other piece between quotes is a text, once escaped quotes are out of the way.
    let mut is_text = false;
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let bytes = rest.as_bytes();
            let at = match is_text {
                true => bytes.iter().position(|byte| matches!(byte, b'"' | b'\\'))?,
                false => bytes
                    .iter()
                    .position(|byte| matches!(byte, b'"' | b'-' | b'0'..=b'9'))?,
            };
            match bytes[at] {
                b'"' => {
                    is_text = !is_text;
                    rest = &rest[at + 1..];
                }
                b'\\' => rest = rest.get(at + 2..).unwrap_or(""),
                _ => {
                    let tail = &rest[at..];
                    let is_part =
                        |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
                    let end = tail.find(|c| !is_part(c)).unwrap_or(tail.len());
                    rest = &tail[end..];
                    return Some(&tail[..end]);
                }
            }
        }
    })
}

/// `\x0aff` as bytes.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x")?.as_bytes();
    let digit = |byte: u8| char::from(byte).to_digit(16);
    digits
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high)? << 4 | digit(*low)?).ok(),
            _ => None,
        })
        .collect()
}

/// `2026-11-16 21:00:00+00` as `2026-11-16T21:00:00Z`; other times (infinity, before Christ) stay as they are.
fn iso(text: &str, zone: &str) -> Option<Value> {
    let (date, time) = text.split_once(' ')?;
    let time = match zone {
        "" => time,
        _ => time.strip_suffix("+00")?,
    };
    let is_plain = !time.contains(' ') && date.starts_with(|c: char| c.is_ascii_digit());
    is_plain.then(|| format!("{date}T{time}{zone}").into())
}

/// `{1,NULL,"a b"}` as a list, of lists where it has more dimensions.
fn array(text: &str, element: &Type, depth: usize) -> Option<Value> {
    // `[0:1]={…}`: bounds that do not begin with 1.
    let text = match text.starts_with('[') {
        true => text.split_once('=')?.1,
        false => text,
    };
    let (value, rest) = list(text, element, depth)?;
    rest.is_empty().then_some(value)
}

fn list<'t>(text: &'t str, element: &Type, depth: usize) -> Option<(Value, &'t str)> {
    if depth > MAX_DEPTH {
        return None;
    }
    let mut rest = text.strip_prefix('{')?;
    let mut items = Vec::new();
    if let Some(after) = rest.strip_prefix('}') {
        return Some((items.into(), after));
    }
    loop {
        let (item, after) = match rest.as_bytes().first()? {
            b'{' => list(rest, element, depth + 1)?,
            b'"' => {
                let (text, after) = quoted(&rest[1..])?;
                (read(&text, element, depth + 1), after)
            }
            _ => {
                let (text, after) = rest.split_at(rest.find([',', '}'])?);
                let item = match text {
                    "NULL" => Value::Null,
                    text => read(text, element, depth + 1),
                };
                (item, after)
            }
        };
        items.push(item);
        rest = match (after.strip_prefix(','), after.strip_prefix('}')) {
            (Some(after), _) => after,
            (None, Some(after)) => return Some((items.into(), after)),
            (None, None) => return None,
        };
    }
}

/// A text up to its closing quote, and what follows that.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut whole = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((whole, &text[at + 1..])),
            '\\' => whole.push(chars.next()?.1),
            c => whole.push(c),
        }
    }
    None
}

/// A value for a parameter, as a text that PostgreSQL reads by the parameter's type.
#[derive(Debug)]
pub(super) struct Given(Option<String>);

impl Given {
    pub(super) fn of(value: &Value, kind: &Type) -> Result<Given, String> {
        written(value, kind, 0).map(Given)
    }
}

fn written(value: &Value, kind: &Type, depth: usize) -> Result<Option<String>, String> {
    let kind = match kind.kind() {
        Kind::Domain(base) => base,
        _ => kind,
    };
    let is_json = matches!(*kind, Type::JSON | Type::JSONB);
    if is_json && !value.is_null() {
        // A text that is to be JSON is a JSON text already, as PostgreSQL takes it.
        return Ok(Some(match value {
            Value::String(text) if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() => {
                text.clone()
            }
            value => value.to_string(),
        }));
    }
    if let Some(bytes) = answer::bytes_of(value) {
        let hex: String = bytes?.iter().map(|byte| format!("{byte:02x}")).collect();
        return Ok(Some(format!("\\x{hex}")));
    }
    match value {
        Value::Null => Ok(None),
        Value::Bool(yes) => Ok(Some(yes.to_string())),
        Value::Number(number) => Ok(Some(number.to_string())),
        Value::String(text) if text.contains('\0') => {
            Err("has a NUL character, which no text of PostgreSQL has".to_owned())
        }
        Value::String(text) => Ok(Some(text.clone())),
        Value::Array(items) => match kind.kind() {
            Kind::Array(element) if depth <= MAX_DEPTH => {
                let items = items.iter().map(|item| {
                    let inner = if item.is_array() { kind } else { element };
                    Ok(match (item, written(item, inner, depth + 1)?) {
                        (_, None) => "NULL".to_owned(),
                        (Value::Array(_), Some(text)) => text,
                        (_, Some(text)) => {
                            format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
                        }
                    })
                });
                let items: Vec<String> = items.collect::<Result<_, String>>()?;
                Ok(Some(format!("{{{}}}", items.join(","))))
            }
            _ => Err(format!(
                "is a list, and the parameter is of type {}",
                type_name(kind)
            )),
        },
        Value::Object(_) => Err(format!(
            "is an object, and the parameter is of type {}",
            type_name(kind)
        )),
    }
}

impl ToSql for Given {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        Ok(match &self.0 {
            None => IsNull::Yes,
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                IsNull::No
            }
        })
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    tokio_postgres::types::to_sql_checked!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_of_the_server_become_values_of_their_types() {
        for (text, kind, expected) in [
            ("t", Type::BOOL, json!(true)),
            ("42", Type::INT4, json!(42)),
            (
                "9223372036854775807",
                Type::INT8,
                json!("9223372036854775807"),
            ),
            ("0.1", Type::FLOAT8, json!(0.1)),
            ("NaN", Type::FLOAT8, json!("NaN")),
            ("-Infinity", Type::FLOAT4, json!("-Infinity")),
            (
                "12345678901234567890.5",
                Type::NUMERIC,
                json!("12345678901234567890.5"),
            ),
            ("\\x00ff", Type::BYTEA, json!({"base64": "AP8="})),
            (
                "2026-11-16 21:00:00.5+00",
                Type::TIMESTAMPTZ,
                json!("2026-11-16T21:00:00.5Z"),
            ),
            (
                "2026-11-16 21:00:00",
                Type::TIMESTAMP,
                json!("2026-11-16T21:00:00"),
            ),
            ("infinity", Type::TIMESTAMP, json!("infinity")),
            (
                "0044-03-15 12:00:00+00 BC",
                Type::TIMESTAMPTZ,
                json!("0044-03-15 12:00:00+00 BC"),
            ),
            (
                r#"{"a": [1, "2\"3"]}"#,
                Type::JSONB,
                json!({"a": [1, "2\"3"]}),
            ),
            (
                r#"{"a": 12345678901234567}"#,
                Type::JSONB,
                json!(r#"{"a": 12345678901234567}"#),
            ),
            (
                r#"["12345678901234567"]"#,
                Type::JSON,
                json!(["12345678901234567"]),
            ),
            ("{1,NULL,3}", Type::INT4_ARRAY, json!([1, null, 3])),
            ("{{1,2},{3,4}}", Type::INT4_ARRAY, json!([[1, 2], [3, 4]])),
            (
                "[0:1]={a,\"b,\\\"c\"}",
                Type::TEXT_ARRAY,
                json!(["a", "b,\"c"]),
            ),
            ("{\"NULL\",\"\"}", Type::TEXT_ARRAY, json!(["NULL", ""])),
            ("{}", Type::TEXT_ARRAY, json!([])),
            ("{1", Type::INT4_ARRAY, json!("{1")),
            ("[1,5)", Type::INT4_RANGE, json!("[1,5)")),
        ] {
            assert_eq!(as_json(Some(text), &kind), expected, "{text}");
        }
        assert_eq!(as_json(None, &Type::INT4), Value::Null);
        assert_eq!(type_name(&Type::INT4_ARRAY), "int4[]");
    }

    #[test]
    fn values_become_texts_of_the_parameters_types() {
        for (value, kind, expected) in [
            (json!(null), Type::INT4, None),
            (json!(7), Type::INT4, Some("7")),
            (json!(true), Type::BOOL, Some("true")),
            (json!("it's"), Type::TEXT, Some("it's")),
            (json!({"a": 1}), Type::JSONB, Some(r#"{"a":1}"#)),
            (json!("plain"), Type::JSONB, Some("\"plain\"")),
            (json!("[1]"), Type::JSONB, Some("[1]")),
            (
                json!(["a\"b", null, "c\\"]),
                Type::TEXT_ARRAY,
                Some(r#"{"a\"b",NULL,"c\\"}"#),
            ),
            (
                json!([[1, 2], [3, 4]]),
                Type::INT4_ARRAY,
                Some(r#"{{"1","2"},{"3","4"}}"#),
            ),
            (json!({"base64": "AP8="}), Type::BYTEA, Some("\\x00ff")),
        ] {
            let given = Given::of(&value, &kind).unwrap();
            assert_eq!(given.0.as_deref(), expected, "{value}");
        }
        assert!(Given::of(&json!([1]), &Type::INT4).is_err());
        assert!(Given::of(&json!({"a": 1}), &Type::TEXT).is_err());
        assert!(Given::of(&json!("a\0"), &Type::TEXT).is_err());
    }
}
