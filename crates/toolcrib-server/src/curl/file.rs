//! The file of a tool: S4's fields, in S4's order.

use serde_json::{Map, Value, json};

use super::Import;
use super::arguments::Argument;
use super::draft::Draft;
use super::headers::Auth;
use super::placeholder;
use super::url::Url;

/// Makes the file, and what is said about it.
pub(super) fn finish(draft: Draft, tool: &str, description: Option<&str>) -> Import {
    let url = draft.url.template();
    let text = text(&draft, tool, description);
    let mut notes = draft.notes;
    if description.is_none() {
        notes.push("`description` is what models choose by: say there what it does".to_owned());
    }
    if !reads(&draft.method) {
        notes.push(format!(
            "calls ask until a grant covers them, because {} changes something; `requiresApproval` in the file decides",
            draft.method
        ));
    }
    Import {
        text,
        method: draft.method,
        url,
        origin: draft.url.origin(),
        host: entry(&draft.url),
        has_typed_credentials: draft.has_typed_credentials,
        arguments: draft.arguments,
        secrets: draft.secrets,
        left_out: draft.left_out,
        notes,
    }
}

/// The host as `allowedHosts` wants it: an address and `localhost` name their port, others only one that is not the usual.
fn entry(url: &Url) -> String {
    let (name, port) = match url.host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (url.host.as_str(), None),
    };
    let usual = if url.scheme == "https" { "443" } else { "80" };
    let is_address =
        name == "localhost" || name.starts_with('[') || name.parse::<std::net::Ipv4Addr>().is_ok();
    match port {
        None if is_address => format!("{name}:{usual}"),
        Some("80" | "443") if !is_address => name.to_owned(),
        Some(port) => format!("{name}:{port}"),
        None => name.to_owned(),
    }
}

/// Whether a request with this method changes nothing.
pub fn reads(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS")
}

/// What calls do, by the method.
pub fn tags(method: &str) -> Vec<&'static str> {
    match reads(method) {
        true => vec!["read"],
        false => vec!["write"],
    }
}

fn text(draft: &Draft, tool: &str, description: Option<&str>) -> String {
    let description = match description {
        Some(description) => description.to_owned(),
        None => described(&draft.method, &draft.url.template()),
    };
    let mut file = Map::new();
    let mut put = |key: &str, value: Value| {
        file.insert(key.to_owned(), value);
    };
    put("slug", json!(tool.replace('_', "-")));
    put("version", json!("v1"));
    put("displayName", json!(title(tool)));
    put("description", json!(description));
    put("type", json!("http"));
    put("isEnabled", json!(true));
    put("tags", json!(tags(&draft.method)));
    if !reads(&draft.method) {
        put("requiresApproval", json!(true));
    }
    put("argSchema", arg_schema(&draft.arguments));
    put("impl", request(draft));
    if let Some(bytes) = draft.max_received {
        put("limits", json!({"maxReceivedBytes": bytes}));
    }
    let json = serde_json::to_string_pretty(&file).unwrap_or_default();
    format!("// Made from a curl command; docs/http-tools.md says what each field means.\n{json}\n")
}

/// What can be said of a request without knowing what it is good for.
pub fn plain_description(request: &Import) -> String {
    described(&request.method, &request.url)
}

fn described(method: &str, url: &str) -> String {
    let page = url.split('?').next().unwrap_or_default();
    let page = page.split_once("://").map_or(page, |(_, page)| page);
    format!("{method} {page}")
}

/// A name as a title.
pub fn title(tool: &str) -> String {
    let words = tool.replace(['-', '_'], " ");
    let mut chars = words.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

/// `argSchema` of these arguments, all of them required.
pub fn arg_schema(arguments: &[Argument]) -> Value {
    let names: Vec<&str> = arguments
        .iter()
        .map(|argument| argument.name.as_str())
        .collect();
    let properties = arguments.iter();
    let properties: Map<String, Value> = properties
        .map(|argument| (argument.name.clone(), argument.schema()))
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": false,
    })
}

fn request(draft: &Draft) -> Value {
    let mut request = Map::new();
    let mut put = |key: &str, value: Value| {
        request.insert(key.to_owned(), value);
    };
    put("method", json!(draft.method));
    put("urlTemplate", json!(draft.url.template()));
    let headers = draft.headers.iter();
    let headers: Map<String, Value> = headers
        .map(|(name, value)| (name.clone(), json!(placeholder::template(value))))
        .collect();
    put("headers", Value::Object(headers));
    if let Some(body) = &draft.body {
        put("bodyTemplate", json!(body.template()));
    }
    match &draft.auth {
        Some(Auth::Bearer { token }) => {
            put(
                "auth",
                json!({"type": "bearer", "token": placeholder::template(token)}),
            );
        }
        Some(Auth::Basic { username, password }) => {
            put(
                "auth",
                json!({
                    "type": "basic",
                    "username": placeholder::template(username),
                    "password": placeholder::template(password),
                }),
            );
        }
        None => {}
    }
    put("timeoutMs", json!(draft.timeout_ms.unwrap_or(10_000)));
    if let Some(max) = draft.retries {
        put("retry", json!({"max": max}));
    }
    put(
        "responseEncoding",
        json!(if draft.is_json { "json" } else { "text" }),
    );
    put("errorMode", json!("fail"));
    Value::Object(request)
}
