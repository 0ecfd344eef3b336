//! What a caller may have sent: method, headers, body, time.
//!
//! Headers that say how a message is framed, where it goes on the way or how it is packed are the client's own: one that a caller sets
//! could make two readers of the same bytes see two requests.

use std::collections::BTreeMap;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::TIMEOUT;
use crate::egress::is_framing;
use crate::model::JsonObject;
use crate::model::error::ToolError;
use crate::schema::Fault;

/// How many headers there may be.
const MAX_HEADERS: usize = 64;

/// How long a header's value may be.
const MAX_VALUE: usize = 8 * 1024;

/// The longest URL.
const MAX_URL: usize = 8 * 1024;

/// Headers that are the client's own, besides those that frame a message and `proxy-…`.
const OWN: &[&str] = &["accept-encoding", "via"];

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["url"],
        "properties": {
            "url": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_URL,
                "description": "URL to fetch (HTTP or HTTPS)"
            },
            "method": {
                "type": "string",
                "enum": ["GET", "HEAD", "POST"],
                "default": "GET",
                "description": "The HTTP method"
            },
            "headers": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "Headers to send; `Host`, `Content-Length` and others that frame the message are set by themselves"
            },
            "body": {
                "type": "string",
                "description": "What to send with POST; its Content-Type, if no header says so, is application/json if it is JSON, else text/plain"
            },
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": TIMEOUT.as_secs(),
                "default": TIMEOUT.as_secs(),
                "description": "Seconds the whole exchange may take"
            },
            "format": {
                "type": "string",
                "enum": ["raw", "markdown"],
                "default": "raw",
                "description": "How text comes back: as sent, or a web page as readable Markdown"
            }
        }
    })
}

/// The arguments.
#[derive(Debug, Deserialize)]
pub(super) struct Args {
    pub(super) url: String,
    #[serde(default)]
    pub(super) method: Verb,
    #[serde(default)]
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Option<String>,
    timeout: Option<f64>,
    #[serde(default)]
    pub(super) format: Format,
}

/// The methods there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Verb {
    #[default]
    Get,
    Head,
    Post,
}

impl From<Verb> for Method {
    fn from(verb: Verb) -> Method {
        match verb {
            Verb::Get => Method::GET,
            Verb::Head => Method::HEAD,
            Verb::Post => Method::POST,
        }
    }
}

/// How text comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Format {
    #[default]
    Raw,
    Markdown,
}

impl Args {
    /// Reads arguments that fit the schema.
    pub(super) fn read(args: &JsonObject) -> Result<Self, ToolError> {
        super::super::arguments(args.clone())
    }

    pub(super) fn timeout(&self) -> Duration {
        let seconds = self.timeout.unwrap_or(TIMEOUT.as_secs_f64());
        Duration::try_from_secs_f64(seconds).map_or(TIMEOUT, |timeout| timeout.min(TIMEOUT))
    }

    /// The headers as they are sent, with those that no one has to think of.
    pub(super) fn header_map(&self) -> Result<HeaderMap, ToolError> {
        let mut map = HeaderMap::new();
        for (name, value) in &self.headers {
            let (name, value) = header(name, value)
                .map_err(|message| super::super::invalid("web_fetch", &pointer(name), &message))?;
            map.insert(name, value);
        }
        let defaults = [
            (ACCEPT, Some(HeaderValue::from_static("*/*"))),
            (CONTENT_TYPE, self.body.as_deref().map(type_of)),
        ];
        for (name, value) in defaults {
            if let Some(value) = value {
                map.entry(name).or_insert(value);
            }
        }
        Ok(map)
    }
}

fn type_of(body: &str) -> HeaderValue {
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(body).is_ok();
    HeaderValue::from_static(if is_json {
        "application/json"
    } else {
        "text/plain; charset=utf-8"
    })
}

/// What the schema cannot say about arguments; `None` if all is well.
pub(super) fn faults(args: &JsonObject) -> Option<Vec<Fault>> {
    // The schema reported values that do not fit their type.
    let read = Args::read(args).ok()?;
    let mut faults = Vec::new();
    let mut fault = |pointer: String, message: String| faults.push(Fault { pointer, message });
    if read.headers.len() > MAX_HEADERS {
        fault(
            "/headers".to_owned(),
            format!(
                "has {} entries; {MAX_HEADERS} are allowed",
                read.headers.len()
            ),
        );
    }
    let mut seen: Vec<String> = Vec::new();
    for (name, value) in &read.headers {
        match header(name, value) {
            Err(message) => fault(pointer(name), message),
            Ok((name, _)) if seen.iter().any(|other| *other == name.as_str()) => fault(
                pointer(name.as_str()),
                "is given twice, in two spellings".to_owned(),
            ),
            Ok((name, _)) => seen.push(name.as_str().to_owned()),
        }
    }
    if read.method != Verb::Post && read.body.is_some() {
        fault(
            "/body".to_owned(),
            "is sent with POST only; set `method` to \"POST\", or leave the body out".to_owned(),
        );
    }
    (!faults.is_empty()).then_some(faults)
}

/// A header that may be sent; the error says why not.
fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let parsed = HeaderName::try_from(name)
        .map_err(|_| "is not a header name: letters, digits and `-` are".to_owned())?;
    let own = parsed.as_str();
    if is_framing(own) || OWN.contains(&own) || own.starts_with("proxy-") {
        return Err(
            "may not be set: it says how the message is carried, which is the client's own to say"
                .to_owned(),
        );
    }
    if value.len() > MAX_VALUE {
        return Err(format!(
            "is {} bytes long; {MAX_VALUE} are allowed",
            value.len()
        ));
    }
    if value.contains(['\r', '\n', '\0']) {
        return Err("holds a line break or a NUL character, which would end the header".to_owned());
    }
    let value = HeaderValue::from_str(value)
        .or_else(|_| HeaderValue::from_bytes(value.as_bytes()))
        .map_err(|_| "holds a control character, which no header can carry".to_owned())?;
    Ok((parsed, value))
}

/// Where a header is.
fn pointer(name: &str) -> String {
    crate::schema::pointer_to("/headers", name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: Value) -> Vec<(String, String)> {
        let faults = faults(value.as_object().unwrap()).unwrap_or_default();
        let pairs = faults
            .into_iter()
            .map(|fault| (fault.pointer, fault.message));
        pairs.collect()
    }

    #[test]
    fn headers_that_frame_the_message_are_refused() {
        for name in [
            "Host",
            "content-length",
            "Transfer-Encoding",
            "Proxy-Authorization",
            "Connection",
            "Accept-Encoding",
            "Upgrade",
            "TE",
        ] {
            let found = of(json!({"url": "https://a.test/", "headers": {name: "x"}}));
            assert_eq!(found[0].0, format!("/headers/{name}"));
            assert!(found[0].1.starts_with("may not be set"), "{name}");
        }
        assert_eq!(
            of(json!({"url": "x", "headers": {"Authorization": "Bearer x", "X-Y": ""}})),
            []
        );
    }

    #[test]
    fn nothing_that_ends_a_header_gets_into_one() {
        for value in [
            "a\r\nHost: evil",
            "a\nb",
            "a\rb",
            "a\0b",
            "\n",
            "a\u{1}b",
            "a\u{7f}",
        ] {
            let found = of(json!({"url": "x", "headers": {"X-Y": value}}));
            assert_eq!(found.len(), 1, "{value:?}");
        }
        for name in ["", "X Y", "X:Y", "X\r\nY", "ü", "a/b"] {
            let found = of(json!({"url": "x", "headers": {name: "x"}}));
            assert_eq!(found.len(), 1, "{name:?}");
        }
        let long = "x".repeat(MAX_VALUE + 1);
        assert_eq!(of(json!({"url": "x", "headers": {"X": long}})).len(), 1);
        let twice = of(json!({"url": "x", "headers": {"X-Y": "1", "x-y": "2"}}));
        assert_eq!(twice[0].1, "is given twice, in two spellings");
    }

    #[test]
    fn a_body_needs_a_post() {
        assert_eq!(
            of(json!({"url": "x", "method": "GET", "body": "b"}))[0].0,
            "/body"
        );
        assert_eq!(
            of(json!({"url": "x", "method": "HEAD", "body": ""}))[0].0,
            "/body"
        );
        assert_eq!(of(json!({"url": "x", "method": "POST", "body": "b"})), []);
        assert_eq!(of(json!({"url": "x", "method": "POST"})), []);
    }

    #[test]
    fn headers_no_one_has_to_think_of_are_added() {
        let args = |value: Value| Args::read(value.as_object().unwrap()).unwrap();
        let sent = args(json!({"url": "x", "method": "POST", "body": "{\"a\":1}"}))
            .header_map()
            .unwrap();
        assert_eq!(sent["content-type"], "application/json");
        assert_eq!(sent["accept"], "*/*");
        let sent = args(
            json!({"url": "x", "body": "a", "headers": {"user-AGENT": "me", "Content-Type": "text/csv"}}),
        );
        let sent = sent.header_map().unwrap();
        assert_eq!(sent["content-type"], "text/csv");
        assert_eq!(sent["user-agent"], "me");
        assert_eq!(
            args(json!({"url": "x", "body": "a"})).header_map().unwrap()["content-type"],
            "text/plain; charset=utf-8"
        );
        assert!(
            args(json!({"url": "x"}))
                .header_map()
                .unwrap()
                .get("content-type")
                .is_none()
        );
    }
}
