//! Parameters that travel in headers too, since 2026-07-28: `x-mcp-header` in a tool's schema, `Mcp-Param-…` on the wire.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

const ANNOTATION: &str = "x-mcp-header";
/// The deepest schema that is looked into; deeper ones are not read at all.
const MAX_DEPTH: usize = 128;
/// The longest name of a header.
const MAX_NAME: usize = 128;

/// Keywords that have one schema, and those that have many. Their contents are not on the way to a property of the arguments.
const ONE: [&str; 12] = [
    "additionalProperties",
    "additionalItems",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const MANY: [&str; 8] = [
    "$defs",
    "allOf",
    "anyOf",
    "definitions",
    "dependentSchemas",
    "oneOf",
    "patternProperties",
    "prefixItems",
];

/// A parameter that goes into a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mirrored {
    header: HeaderName,
    /// Where its value is in the arguments.
    path: Vec<String>,
}

/// The parameters that a tool wants in headers, or what is wrong with how it says so.
pub(super) fn mirrored(definition: &Map<String, Value>) -> Result<Vec<Mirrored>, String> {
    let mut found = MirroredHeaders::default();
    if let Some(schema) = definition.get("inputSchema") {
        found.look(schema, &mut Vec::new(), Way::Properties, 0)?;
    }
    Ok(found.mirrored)
}

/// The headers for a call with these arguments. A value that is not there, or is null, has none.
pub(super) fn headers(
    mirrored: &[Mirrored],
    arguments: &Map<String, Value>,
) -> Vec<(HeaderName, HeaderValue)> {
    let header = |one: &Mirrored| {
        let (first, rest) = one.path.split_first()?;
        let value = rest
            .iter()
            .try_fold(arguments.get(first)?, |value, key| value.get(key))?;
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(is_so) => is_so.to_string(),
            Value::Number(number) => whole(number)?,
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        Some((one.header.clone(), encode(&text)?))
    };
    mirrored.iter().filter_map(header).collect()
}

/// A text as the value of a header: as it is where that is safe, packed where it is not.
pub(super) fn encode(text: &str) -> Option<HeaderValue> {
    let is_plain = text.bytes().all(|byte| matches!(byte, 0x20..=0x7e))
        && text.trim_matches(' ') == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    match is_plain {
        true => HeaderValue::from_str(text).ok(),
        false => HeaderValue::try_from(format!("=?base64?{}?=", STANDARD.encode(text))).ok(),
    }
}

/// A whole number in decimals, `42.0` as `42`.
fn whole(number: &serde_json::Number) -> Option<String> {
    if number.is_i64() || number.is_u64() {
        return Some(number.to_string());
    }
    let float = number.as_f64()?;
    (float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0).then(|| format!("{float:.0}"))
}

#[derive(Default)]
struct MirroredHeaders {
    mirrored: Vec<Mirrored>,
    names: HashSet<String>,
}

/// How a schema is reached from the root.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Properties,
    Other,
}

impl MirroredHeaders {
    fn look(
        &mut self,
        schema: &Value,
        path: &mut Vec<String>,
        way: Way,
        depth: usize,
    ) -> Result<(), String> {
        let Value::Object(schema) = schema else {
            return Ok(());
        };
        if depth > MAX_DEPTH {
            return Err("its `inputSchema` is too deep".to_owned());
        }
        if let Some(name) = schema.get(ANNOTATION) {
            self.note(name, schema, path, way)?;
        }
        for (keyword, value) in schema {
            if keyword == "properties"
                && let Value::Object(properties) = value
            {
                for (name, property) in properties {
                    path.push(name.clone());
                    self.look(property, path, way, depth + 1)?;
                    path.pop();
                }
            } else if ONE.contains(&keyword.as_str()) && value.is_object() {
                self.look(value, path, Way::Other, depth + 1)?;
            } else if ONE.contains(&keyword.as_str()) || MANY.contains(&keyword.as_str()) {
                for schema in within(value) {
                    self.look(schema, path, Way::Other, depth + 1)?;
                }
            }
        }
        Ok(())
    }

    fn note(
        &mut self,
        name: &Value,
        schema: &Map<String, Value>,
        path: &[String],
        way: Way,
    ) -> Result<(), String> {
        let wrong = |why: &str| Err(format!("its `{ANNOTATION}` {why}"));
        let Some(name) = name.as_str() else {
            return wrong("is not a text");
        };
        if way == Way::Other || path.is_empty() {
            return wrong("is not on a property of its arguments");
        }
        if !is_primitive(schema.get("type")) {
            return wrong("is on a parameter that is not a string, integer or boolean");
        }
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_token) {
            return wrong("is not the name of a header");
        }
        let small = name.to_ascii_lowercase();
        let Ok(header) = HeaderName::try_from(format!("mcp-param-{small}")) else {
            return wrong("is not the name of a header");
        };
        if !self.names.insert(small) {
            return wrong("is there twice");
        }
        let path = path.to_vec();
        self.mirrored.push(Mirrored { header, path });
        Ok(())
    }
}

fn within(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(schemas) => schemas.iter().collect(),
        Value::Object(schemas) => schemas.values().collect(),
        _ => Vec::new(),
    }
}

/// Whether values of this type can be a header: one primitive, perhaps or null.
fn is_primitive(kind: Option<&Value>) -> bool {
    let one = |kind: &str| matches!(kind, "string" | "integer" | "boolean");
    match kind {
        Some(Value::String(kind)) => one(kind),
        Some(Value::Array(kinds)) => {
            let mut kinds = kinds.iter().filter(|kind| *kind != "null");
            kinds.next().and_then(Value::as_str).is_some_and(one) && kinds.next().is_none()
        }
        _ => false,
    }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(properties: Value) -> Result<Vec<Mirrored>, String> {
        let definition =
            json!({ "name": "t", "inputSchema": { "type": "object", "properties": properties } });
        mirrored(definition.as_object().unwrap())
    }

    fn sent(properties: Value, arguments: Value) -> Vec<(String, String)> {
        let mirrored = of(properties).unwrap();
        headers(&mirrored, arguments.as_object().unwrap())
            .into_iter()
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
            .collect()
    }

    #[test]
    fn values_are_plain_where_that_is_safe_and_packed_where_not() {
        for (value, expected) in [
            (json!("us-west1"), "us-west1"),
            (json!("us west 1"), "us west 1"),
            (json!(""), ""),
            (json!("Hello, 世界"), "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (json!(" padded "), "=?base64?IHBhZGRlZCA=?="),
            (json!("line1\nline2"), "=?base64?bGluZTEKbGluZTI=?="),
            (json!("a\r\nX-Evil: 1"), "=?base64?YQ0KWC1FdmlsOiAx?="),
            (
                json!("=?base64?literal?="),
                "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
            ),
            (json!(true), "true"),
            (json!(-7), "-7"),
            (json!(42.0), "42"),
        ] {
            let schema = json!({ "p": { "type": "string", "x-mcp-header": "Region" } });
            let expected = vec![("mcp-param-region".to_owned(), expected.to_owned())];
            assert_eq!(sent(schema, json!({ "p": value })), expected);
        }
    }

    #[test]
    fn what_is_not_there_or_null_has_no_header() {
        let schema = json!({
            "a": { "type": ["string", "null"], "x-mcp-header": "A" },
            "b": { "type": "integer", "x-mcp-header": "B" },
            "c": { "type": "object", "properties": { "d": { "type": "boolean", "x-mcp-header": "D" } } },
        });
        assert_eq!(
            sent(schema.clone(), json!({ "a": null, "b": 1.5, "c": 3 })),
            []
        );
        let nested = json!({ "c": { "d": false } });
        assert_eq!(
            sent(schema, nested),
            [("mcp-param-d".to_owned(), "false".to_owned())]
        );
    }

    #[test]
    fn annotations_that_are_wrong_or_in_the_wrong_place_are_refused() {
        for odd in [
            json!({ "p": { "type": "string", "x-mcp-header": "" } }),
            json!({ "p": { "type": "string", "x-mcp-header": 5 } }),
            json!({ "p": { "type": "string", "x-mcp-header": "a b" } }),
            json!({ "p": { "type": "string", "x-mcp-header": "a\r\nb" } }),
            json!({ "p": { "type": "string", "x-mcp-header": "a:b" } }),
            json!({ "p": { "type": "string", "x-mcp-header": "é" } }),
            json!({ "p": { "type": "number", "x-mcp-header": "A" } }),
            json!({ "p": { "type": "object", "x-mcp-header": "A" } }),
            json!({ "p": { "type": ["string", "integer"], "x-mcp-header": "A" } }),
            json!({ "p": { "x-mcp-header": "A" } }),
            json!({ "p": { "type": "string", "x-mcp-header": "A" }, "q": { "type": "string", "x-mcp-header": "a" } }),
            json!({ "p": { "type": "array", "items": { "type": "string", "x-mcp-header": "A" } } }),
            json!({ "p": { "anyOf": [{ "type": "string", "x-mcp-header": "A" }] } }),
            json!({ "p": { "anyOf": [{ "properties": { "q": { "type": "string", "x-mcp-header": "A" } } }] } }),
            json!({ "p": { "$defs": { "d": { "type": "string", "x-mcp-header": "A" } } } }),
        ] {
            assert!(of(odd.clone()).is_err(), "{odd}");
        }
        let root = json!({ "name": "t", "inputSchema": { "type": "string", "x-mcp-header": "A" } });
        assert!(mirrored(root.as_object().unwrap()).is_err());
    }

    #[test]
    fn a_property_of_that_name_and_examples_are_not_annotations() {
        let fine = json!({
            "x-mcp-header": { "type": "string" },
            "p": { "type": "object", "default": { "x-mcp-header": 5 }, "examples": [{ "x-mcp-header": "" }] },
        });
        assert_eq!(of(fine), Ok(vec![]));
    }
}
