//! Since 2026-07-28 headers say again what the body says, so that proxies can route by them. They are believed only
//! where both say the same: a gateway that let a request pass by its headers must not find that another one was carried out.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName};
use serde_json::Value;

use crate::rpc::{RpcError, code};

/// The version that a request is spoken in.
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The method of the body.
pub(super) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// The name or address in the body's parameters.
pub(super) const NAME: HeaderName = HeaderName::from_static("mcp-name");

/// Before and behind a value that is written in Base64.
const BEFORE: &str = "=?base64?";
const BEHIND: &str = "?=";

/// Up to here every whole number is one in floating point.
const EXACT: f64 = 9_007_199_254_740_991.0;

fn mismatch(message: impl Into<String>) -> RpcError {
    RpcError::new(code::HEADER_MISMATCH, message)
}

/// The text of a header that may stand there once, without blanks around it.
pub(super) fn single<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'h str>, RpcError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(mismatch(format!("the header `{name}` is there twice")));
    }
    match value.to_str() {
        Ok(text) => Ok(Some(text.trim_matches([' ', '\t']))),
        Err(_) => Err(mismatch(format!(
            "the header `{name}` has characters that no header may have"
        ))),
    }
}

/// The value of a required header.
pub(super) fn required<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<&'h str, RpcError> {
    single(headers, name)?.ok_or_else(|| mismatch(format!("the header `{name}` is missing")))
}

/// What a value stands for: itself, or what it is in Base64.
fn decode<'t>(name: &HeaderName, text: &'t str) -> Result<Cow<'t, str>, RpcError> {
    let inside = text
        .strip_prefix(BEFORE)
        .and_then(|text| text.strip_suffix(BEHIND));
    let Some(inside) = inside else {
        return Ok(Cow::Borrowed(text));
    };
    STANDARD
        .decode(inside)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .map(Cow::Owned)
        .ok_or_else(|| mismatch(format!("the header `{name}` is not sound Base64 of UTF-8")))
}

/// Refuses a request whose method is another one by its header.
pub(super) fn check_method(headers: &HeaderMap, method: &str) -> Result<(), RpcError> {
    match required(headers, &METHOD)? {
        said if said == method => Ok(()),
        _ => Err(differ(&METHOD)),
    }
}

/// Refuses a request whose name or address is another one by its header.
pub(super) fn check_name(headers: &HeaderMap, name: &str) -> Result<(), RpcError> {
    match decode(&NAME, required(headers, &NAME)?)? {
        said if said == name => Ok(()),
        _ => Err(differ(&NAME)),
    }
}

/// The header of a parameter, and where it is in the arguments.
pub(super) type HeaderParam = (String, Vec<String>);

/// Refuses a call whose arguments are others by their headers.
pub(super) fn check_params(
    headers: &HeaderMap,
    params: &[HeaderParam],
    arguments: &Value,
) -> Result<(), RpcError> {
    for (name, path) in params {
        let Ok(name) = HeaderName::try_from(format!("mcp-param-{}", name.to_ascii_lowercase()))
        else {
            // A tool with an invalid header has none: clients must leave out such a tool.
            continue;
        };
        let value = path
            .iter()
            .try_fold(arguments, |value, key| value.get(key))
            .filter(|value| !value.is_null());
        match (single(headers, &name)?, value) {
            (None, None) => {}
            (None, Some(_)) => {
                return Err(mismatch(format!(
                    "the header `{name}` is missing; the body has a value for it"
                )));
            }
            (Some(_), None) => {
                return Err(mismatch(format!(
                    "the body has no value for the header `{name}`"
                )));
            }
            (Some(said), Some(value)) => {
                if !is_same(&decode(&name, said)?, value) {
                    return Err(differ(&name));
                }
            }
        }
    }
    Ok(())
}

/// Whether a header's text is a value. Numbers are the same if they are the same number.
fn is_same(said: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => said == text,
        Value::Bool(flag) => said == if *flag { "true" } else { "false" },
        Value::Number(number) => {
            said == number.to_string()
                || match (said.parse::<f64>(), number.as_f64()) {
                    // Beyond that neighbours look alike as floating point.
                    (Ok(said), Some(number)) => said == number && number.abs() <= EXACT,
                    _ => false,
                }
        }
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn differ(name: &HeaderName) -> RpcError {
    mismatch(format!(
        "the header `{name}` and the body do not say the same"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        pairs.collect()
    }

    fn params() -> Vec<HeaderParam> {
        vec![
            ("Region".to_owned(), vec!["region".to_owned()]),
            (
                "Count".to_owned(),
                vec!["inner".to_owned(), "count".to_owned()],
            ),
        ]
    }

    fn is_taken(pairs: &[(&'static str, &str)], arguments: Value) -> bool {
        let checked = check_params(&headers(pairs), &params(), &arguments);
        if let Err(error) = &checked {
            assert_eq!(error.code, code::HEADER_MISMATCH);
        }
        checked.is_ok()
    }

    #[test]
    fn names_are_compared_as_they_are_meant() {
        let is = |said: &str, name: &str| check_name(&headers(&[("mcp-name", said)]), name).is_ok();
        assert!(is("get_weather", "get_weather"));
        assert!(is("\t get_weather ", "get_weather"));
        assert!(!is("Get_weather", "get_weather"));
        assert!(is("=?base64?SGVsbG8sIOS4lueVjA==?=", "Hello, 世界"));
        assert!(is(
            "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
            "=?base64?literal?="
        ));
        assert!(is("=?base64?SGVsbG8=", "=?base64?SGVsbG8="));
        assert!(is("=?base64?=", "=?base64?="));
        assert!(!is("=?base64?SGVsbG8?=", "Hello"), "padding");
        assert!(!is("=?base64?SGVs!!!bG8=?=", "Hello"), "alphabet");
        assert!(!is("=?base64?/w==?=", "\u{ff}"), "not UTF-8");
        assert!(check_name(&HeaderMap::new(), "x").is_err());
        let twice: HeaderMap = [(NAME, "x".parse().unwrap()), (NAME, "x".parse().unwrap())]
            .into_iter()
            .fold(HeaderMap::new(), |mut all, (name, value)| {
                all.append(name, value);
                all
            });
        assert!(check_name(&twice, "x").is_err());
    }

    #[test]
    fn parameters_are_compared_with_the_body() {
        assert!(is_taken(&[], json!({})));
        assert!(is_taken(&[], json!({"region": null})));
        assert!(is_taken(
            &[("mcp-param-region", "eu")],
            json!({"region": "eu"})
        ));
        assert!(!is_taken(
            &[("mcp-param-region", "us")],
            json!({"region": "eu"})
        ));
        assert!(!is_taken(&[], json!({"region": "eu"})), "missing");
        assert!(
            !is_taken(&[("mcp-param-region", "eu")], json!({})),
            "too much"
        );
        let count = |said| {
            is_taken(
                &[("mcp-param-count", said)],
                json!({"inner": {"count": 42}}),
            )
        };
        assert!(count("42"));
        assert!(count("42.0"));
        assert!(!count("43"));
        assert!(!count("forty-two"));
    }
}
