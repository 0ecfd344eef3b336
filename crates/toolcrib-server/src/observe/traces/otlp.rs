//! Spans as OTLP writes them in JSON: ids in hexadecimal, 64-bit numbers as strings.

use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::context::{SpanContext, hex};
use super::{CallSpan, RequestSpan};
use crate::auth::Principal;
use crate::observe::watch::Ended;

/// The kinds of spans and the states of their ends, by their numbers in the protocol.
const SERVER: u8 = 2;
const INTERNAL: u8 = 1;
const UNSET: u8 = 0;
const ERROR: u8 = 2;

/// The body of one export.
pub(super) fn document(service: &str, spans: &[Value]) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    json!({"resourceSpans": [{
        "resource": {"attributes": [
            text("service.name", service),
            text("service.version", version),
        ]},
        "scopeSpans": [{
            "scope": {"name": "toolcrib", "version": version},
            "spans": spans,
        }],
    }]})
}

/// The span of a request.
pub(super) fn request(span: &RequestSpan) -> Value {
    let method = known_method(&span.method);
    let mut attributes = vec![
        text("http.request.method", method),
        text("toolcrib.request.id", &span.request_id),
        text("toolcrib.principal", principal_kind(&span.principal)),
    ];
    if let Some(route) = span.route {
        attributes.push(text("http.route", route));
    }
    if let Some(status) = span.status {
        attributes.push(integer("http.response.status_code", status.into()));
    }
    let error = match (span.ended, span.status) {
        (Ended::Aborted, _) => Some("aborted".to_owned()),
        (Ended::Whole, Some(status @ 500..)) => Some(status.to_string()),
        (Ended::Whole, _) => None,
    };
    if let Some(error) = &error {
        attributes.push(text("error.type", error));
    }
    let name = match span.route {
        Some(route) => format!("{method} {route}"),
        None => method.to_owned(),
    };
    let began = nanos(span.began_at);
    let ended = began + i128::try_from(span.duration.as_nanos()).unwrap_or(0);
    let status = if error.is_some() { ERROR } else { UNSET };
    let mut value = base(&span.context, &name, SERVER, began, ended, status);
    value["attributes"] = attributes.into();
    value
}

/// The span of a call.
pub(super) fn call(context: &SpanContext, span: &CallSpan) -> Value {
    let code = span.code.map_or("OK", |code| code.as_str());
    let mut attributes = vec![
        text("toolcrib.call.id", &span.id.to_string()),
        text("toolcrib.caller", span.caller),
        text("toolcrib.code", code),
        number("toolcrib.queue_ms", span.queue_ms),
        number("toolcrib.execution_ms", span.execution_ms),
    ];
    let found = [
        ("toolcrib.tool", &span.tool),
        ("toolcrib.bundle", &span.bundle),
        ("toolcrib.version", &span.version),
    ];
    for (key, value) in found {
        if let Some(value) = value {
            attributes.push(text(key, value));
        }
    }
    if span.code.is_some() {
        attributes.push(text("error.type", code));
    }
    let name = format!("call {}", span.tool.as_deref().unwrap_or("unknown"));
    let (began, ended) = (nanos(span.began_at), nanos(span.ended_at));
    let status = if span.code.is_some() { ERROR } else { UNSET };
    let mut value = base(context, &name, INTERNAL, began, ended.max(began), status);
    value["attributes"] = attributes.into();
    if let Some(approved) = span.approval {
        // The record says how long the call waited, which ends when someone has decided.
        let decided = began + (span.queue_ms * 1e6) as i128;
        value["events"] = json!([{
            "timeUnixNano": decided.min(ended.max(began)).to_string(),
            "name": "approval",
            "attributes": [
                {"key": "toolcrib.approved", "value": {"boolValue": approved}},
                number("toolcrib.waited_ms", span.queue_ms),
            ],
        }]);
    }
    value
}

fn base(
    context: &SpanContext,
    name: &str,
    kind: u8,
    began: i128,
    ended: i128,
    status: u8,
) -> Value {
    let mut value = json!({
        "traceId": hex(&context.trace),
        "spanId": hex(&context.span),
        "name": name,
        "kind": kind,
        "startTimeUnixNano": began.to_string(),
        "endTimeUnixNano": ended.to_string(),
        "status": {"code": status},
    });
    if let Some(parent) = &context.parent {
        value["parentSpanId"] = hex(parent).into();
    }
    value
}

/// Methods that everybody knows; any other is text of the client's.
fn known_method(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    let found = known.into_iter().find(|known| *known == method.as_str());
    found.unwrap_or("_OTHER")
}

fn principal_kind(principal: &Principal) -> &'static str {
    match principal {
        Principal::Nobody => "nobody",
        Principal::Operator => "operator",
        Principal::Client(_) => "client",
    }
}

fn nanos(at: Timestamp) -> i128 {
    at.as_nanosecond()
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

fn integer(key: &str, value: u64) -> Value {
    json!({"key": key, "value": {"intValue": value.to_string()}})
}

fn number(key: &str, value: f64) -> Value {
    json!({"key": key, "value": {"doubleValue": value}})
}
