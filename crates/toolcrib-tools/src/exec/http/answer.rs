//! From an answer to a value: is the status one of success, what does the body say, and which part of it is wanted?

use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde_json::Value;

use super::pick::pick;
use super::retry::{Failure, Repeat};
use crate::egress::charset::{self, Decoded};
use crate::egress::{Redirected, Response, retry_after};
use crate::jsonpath::JsonPath;
use crate::manifest::{Extract, Placeholder, RequestTemplate, ResponseEncoding};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;
use crate::secret::{self, SecretStore};

/// How much of a body a message quotes, in bytes.
const MAX_QUOTED: usize = 200;

/// How many values a JSON answer may hold. Each takes some seventy bytes once it is read, so that a few megabytes of `0,0,0,…` would
/// become hundreds.
const MAX_VALUES: usize = 1_000_000;

/// How often over the parts that `extractExpr` takes may be as long as the answer that they are from.
const COPIES: usize = 4;
/// As long as this they may be in any case.
const FREE: usize = 1024 * 1024;

/// The value of an answer, or why there is none and whether asking again may help.
pub(super) fn value(
    template: &RequestTemplate,
    response: &Response,
    secrets: Option<&SecretStore>,
) -> Result<Value, Failure> {
    if !is_success(template, response.status) {
        return Err(unsuccessful(template, response, secrets));
    }
    extracted(template, response).map_err(|why| {
        let message = format!("{} {}", whose(template), why.what);
        Failure::lasting(with_answer(&message, why.hint, response, secrets))
    })
}

/// `successCodes`; 200 to 299 if the file says nothing.
fn is_success(template: &RequestTemplate, status: StatusCode) -> bool {
    match template.success_codes.is_empty() {
        true => status.is_success(),
        false => template.success_codes.contains(&status.as_u16()),
    }
}

fn unsuccessful(
    template: &RequestTemplate,
    response: &Response,
    secrets: Option<&SecretStore>,
) -> Failure {
    let status = response.status;
    let reason = status.canonical_reason().unwrap_or_default();
    let message = format!("{} answered {} {reason}", whose(template), status.as_u16());
    let message = message.trim_end();
    let hint = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => credentials_of(template),
        _ => String::new(),
    };
    let may_pass = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
    let mut failure = Failure {
        // A server that never saw the credentials cannot have refused them.
        refused_credentials: (status == StatusCode::UNAUTHORIZED
            && response.redirected != Redirected::Elsewhere)
            .then_some(response.redirected),
        ..Failure::lasting(with_answer(message, &hint, response, secrets))
    };
    if !may_pass {
        return failure;
    }
    match retry_after(&response.headers, jiff::Timestamp::now()) {
        Ok(retry_after) => {
            failure.repeat = Repeat::IfIdempotent;
            failure.retry_after = retry_after;
        }
        Err(unreadable) => {
            failure.error = failure.error.with_detail(
                "retryAfter",
                format!("not tried again: `{unreadable}` is not a valid time"),
            );
        }
    }
    failure
}

/// The host that answered, without the query: queries hold secrets.
fn whose(template: &RequestTemplate) -> String {
    format!("`{}`", template.url.origin)
}

/// Where to look when a server does not let the request in.
fn credentials_of(template: &RequestTemplate) -> String {
    let mut names: Vec<&str> = Vec::new();
    for placeholder in template.placeholders() {
        if let Placeholder::Secret(name) = placeholder
            && !names.contains(&name.as_str())
        {
            names.push(name.as_str());
        }
    }
    match (names.as_slice(), &template.auth) {
        ([], None) => "; the request has no `auth` and no secret".to_owned(),
        ([], Some(_)) => "; look at `auth` of the request".to_owned(),
        ([first, ..], auth) => format!(
            "; look at {}the secret `{}` (`toolcrib secret set {first}`)",
            if auth.is_some() {
                "`auth` of the request and "
            } else {
                ""
            },
            names.join("`, `"),
        ),
    }
}

/// The error with what the server said, shortened: how it begins in the message, more of it in the details.
fn with_answer(
    message: &str,
    hint: &str,
    response: &Response,
    secrets: Option<&SecretStore>,
) -> ToolError {
    let error = |begins: &str| {
        ToolError::new(ErrorCode::UpstreamError, format!("{message}{begins}{hint}"))
            .with_detail("status", response.status.as_u16())
    };
    if response.body.is_empty() {
        return error("");
    }
    let body = secret::excerpt(&response.body, secrets);
    error(&beginning(&body)).with_detail("body", body)
}

/// How a body begins, in one line; nothing of one that is not text.
fn beginning(body: &str) -> String {
    let mut line = String::new();
    for word in body.split_whitespace() {
        if line.len() > 4 * MAX_QUOTED {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if line.is_empty() || line.contains(['\0', char::REPLACEMENT_CHARACTER]) {
        return String::new();
    }
    format!(": {}", text::shorten(&line, MAX_QUOTED))
}

/// Why there is no value in an answer; reads on from who answered.
struct NoValue {
    what: String,
    hint: &'static str,
}

impl From<String> for NoValue {
    fn from(what: String) -> Self {
        NoValue { what, hint: "" }
    }
}

/// The wanted part of the body.
fn extracted(template: &RequestTemplate, response: &Response) -> Result<Value, NoValue> {
    match (template.encoding, &template.extract) {
        (ResponseEncoding::Text, None) => Ok(text_of(response)?.into()),
        (ResponseEncoding::Json, None) if is_blank(response) => Ok(Value::Null),
        (ResponseEncoding::Json, None) => json_of(response),
        (ResponseEncoding::Json | ResponseEncoding::Text, Some(Extract::Pattern(pattern))) => {
            let text = text_of(response)?;
            let found = pattern.captures(&text).ok_or_else(|| {
                format!("gave an answer in which `extractExpr` finds nothing: /{pattern}/")
            })?;
            // A group that took no part has no text; the match always has.
            let found = found.get(1).or(found.get(0));
            Ok(found.map_or("", |found| found.as_str()).into())
        }
        (ResponseEncoding::Json | ResponseEncoding::Text, Some(Extract::Path(path))) => {
            if let Some(way) = path.way() {
                let picked = pick(json_text(response)?, &way);
                return picked
                    .map_err(|error| no_json(response, &error))?
                    .ok_or_else(|| found_nothing(path));
            }
            let document = json_of(response)?;
            let nodes = path.query(&document).map_err(|error| {
                format!("gave an answer that is too much for `extractExpr`: {error}")
            })?;
            match nodes.as_slice() {
                [] => Err(found_nothing(path)),
                [node] => Ok((*node).clone()),
                nodes => {
                    let mut left = Allowance::for_answer(response.body.len());
                    if !nodes.iter().all(|node| left.takes(node)) {
                        return Err(NoValue::from(format!(
                            "gave an answer of which `extractExpr` takes parts that hold one another, more than \
                             {COPIES} times the answer together: `{path}`; have it take fewer of them"
                        )));
                    }
                    Ok(nodes.iter().copied().cloned().collect())
                }
            }
        }
    }
}

fn found_nothing(path: &JsonPath) -> NoValue {
    NoValue::from(format!(
        "gave an answer in which `extractExpr` finds nothing: `{path}`"
    ))
}

/// What may be copied out of an answer. Where an expression takes a part and also what is in it (`$..*`), each level of nesting is
/// copied once more.
struct Allowance {
    bytes: usize,
    values: usize,
}

impl Allowance {
    fn for_answer(bytes: usize) -> Self {
        Allowance {
            bytes: bytes.saturating_mul(COPIES).max(FREE),
            values: MAX_VALUES,
        }
    }

    /// Whether there is enough left for this value. The parser bounds how deep it is.
    fn takes(&mut self, value: &Value) -> bool {
        if self.values == 0 {
            return false;
        }
        self.values -= 1;
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => self.takes_text(1),
            Value::String(text) => self.takes_text(text.len()),
            Value::Array(items) => self.takes_text(2) && items.iter().all(|item| self.takes(item)),
            Value::Object(fields) => {
                self.takes_text(2)
                    && fields
                        .iter()
                        .all(|(name, field)| self.takes_text(name.len()) && self.takes(field))
            }
        }
    }

    fn takes_text(&mut self, bytes: usize) -> bool {
        match self.bytes.checked_sub(bytes) {
            Some(left) => {
                self.bytes = left;
                true
            }
            None => false,
        }
    }
}

/// Whether there is nothing but white space: what many servers say when there is nothing to say.
fn is_blank(response: &Response) -> bool {
    response.body.iter().all(u8::is_ascii_whitespace)
}

/// The body as JSON. The parser bounds how deep it may be nested, the exchange how long it may be.
fn json_of(response: &Response) -> Result<Value, NoValue> {
    serde_json::from_slice(json_bytes(response)?).map_err(|error| no_json(response, &error))
}

/// The body as text that may be JSON, which is always UTF-8.
fn json_text(response: &Response) -> Result<&str, NoValue> {
    let body = json_bytes(response)?;
    std::str::from_utf8(body).map_err(|_| {
        // The parser's own words for it.
        match serde_json::from_slice::<Value>(body) {
            Err(error) => no_json(response, &error),
            Ok(_) => NoValue::from("gave an answer that is not UTF-8".to_owned()),
        }
    })
}

/// The body without the mark of its encoding, if it does not hold too many values.
fn json_bytes(response: &Response) -> Result<&[u8], NoValue> {
    let body = &response.body;
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    if body.len() > MAX_VALUES && values_in(body) > MAX_VALUES {
        return Err(NoValue::from(format!(
            "gave an answer of more than {MAX_VALUES} values; ask for less of it"
        )));
    }
    Ok(body)
}

fn no_json(response: &Response, error: &serde_json::Error) -> NoValue {
    NoValue {
        what: match kind(response) {
            Some(kind) => format!("gave an answer that is not JSON ({kind}), {error}"),
            None => format!("gave an answer that is not JSON, {error}"),
        },
        hint: "; `\"responseEncoding\": \"text\"` takes an answer that is not JSON",
    }
}

/// At least as many values as there are in a text of JSON.
fn values_in(body: &[u8]) -> usize {
    let (mut count, mut in_text, mut escaped) = (1, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => count += 1,
            _ => {}
        }
    }
    count
}

/// The body as text, by the charset it says it has. Unlike a page that someone looks at, a value is not guessed at.
fn text_of(response: &Response) -> Result<String, String> {
    let charset = kind(response).and_then(charset::named);
    let Decoded { text, note } = charset::decode(&response.body, charset);
    match note {
        None => Ok(text),
        Some(note) => Err(format!("gave an answer that is not readable text: {note}")),
    }
}

fn kind(response: &Response) -> Option<&str> {
    response.headers.get(CONTENT_TYPE)?.to_str().ok()
}
