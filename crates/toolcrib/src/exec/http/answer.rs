//! From an answer to a value: is the status one of success, what does the body say, and which part of it is wanted?

use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde_json::Value;

use super::retry::{Failure, Repeat};
use crate::egress::charset::{self, Decoded};
use crate::egress::{Response, retry_after};
use crate::manifest::{Extract, RequestTemplate, ResponseEncoding};
use crate::model::error::{ErrorCode, ToolError};
use crate::secret::{self, SecretStore};

/// How many values a JSON answer may hold. Each takes some seventy bytes once it is read, so that a few megabytes of `0,0,0,…` would
/// become hundreds.
const MAX_VALUES: usize = 1_000_000;

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
        let error = ToolError::new(
            ErrorCode::UpstreamError,
            format!("{} {why}", whose(template)),
        );
        Failure::lasting(with_answer(error, response, secrets))
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
    let error = ToolError::new(ErrorCode::UpstreamError, message.trim_end());
    let may_pass = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
    Failure {
        error: with_answer(error, response, secrets),
        repeat: match may_pass {
            true => Repeat::IfIdempotent,
            false => Repeat::Never,
        },
        retry_after: may_pass
            .then(|| retry_after(&response.headers, jiff::Timestamp::now()))
            .flatten(),
    }
}

/// Who answered, without what was asked: queries hold secrets.
fn whose(template: &RequestTemplate) -> String {
    format!("`{}`", template.url.origin)
}

/// What the server said, shortened.
fn with_answer(error: ToolError, response: &Response, secrets: Option<&SecretStore>) -> ToolError {
    let error = error.with_detail("status", response.status.as_u16());
    if response.body.is_empty() {
        return error;
    }
    error.with_detail("body", secret::excerpt(&response.body, secrets))
}

/// The wanted part of the body; the error reads on from who answered.
fn extracted(template: &RequestTemplate, response: &Response) -> Result<Value, String> {
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
            let document = json_of(response)?;
            let nodes = path.query(&document).map_err(|error| {
                format!("gave an answer that is too much for `extractExpr`: {error}")
            })?;
            match nodes.as_slice() {
                [] => Err("gave an answer in which `extractExpr` finds nothing".to_owned()),
                [node] => Ok((*node).clone()),
                nodes => Ok(nodes.iter().copied().cloned().collect()),
            }
        }
    }
}

/// Whether there is nothing but white space: what many servers say when there is nothing to say.
fn is_blank(response: &Response) -> bool {
    response.body.iter().all(u8::is_ascii_whitespace)
}

/// The body as JSON. The parser bounds how deep it may be nested, the exchange how long it may be.
fn json_of(response: &Response) -> Result<Value, String> {
    let body = response
        .body
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(&response.body);
    if body.len() > MAX_VALUES && values_in(body) > MAX_VALUES {
        return Err(format!(
            "gave an answer of more than {MAX_VALUES} values; ask for less of it"
        ));
    }
    serde_json::from_slice(body).map_err(|error| match kind(response) {
        Some(kind) => format!("gave an answer that is not JSON ({kind}): {error}"),
        None => format!("gave an answer that is not JSON: {error}"),
    })
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

/// The body as text, by the charset it says it has. Unlike a page that somebody looks at, a value is not guessed at.
fn text_of(response: &Response) -> Result<String, String> {
    let charset = kind(response).and_then(charset::named);
    let Decoded { text, note } = charset::decode(&response.body, charset);
    match note {
        None => Ok(text),
        Some(note) => Err(format!(
            "gave an answer that is no text that can be read: {note}"
        )),
    }
}

fn kind(response: &Response) -> Option<&str> {
    response.headers.get(CONTENT_TYPE)?.to_str().ok()
}
