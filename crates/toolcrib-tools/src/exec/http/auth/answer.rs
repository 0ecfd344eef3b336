//! What a token server said (RFC 6749, 5.1 and 5.2): a token, or why there is none and what to do about it.

use std::time::Duration;

use http::StatusCode;
use serde_json::Value;

use super::grant::Grant;
use crate::egress::Response;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::json::read_bounded;
use crate::model::secret::Secret;
use crate::model::text;

/// How long a token is taken to last if the server does not say. When it ends sooner, a 401 has it replaced.
const UNSAID: Duration = Duration::from_secs(5 * 60);
/// How long a token is kept at most.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// How much of its time a token is not used for: it has to last until the request arrives, by the other clock.
const MARGIN: Duration = Duration::from_secs(30);
/// How long a token may be; no server takes longer headers.
const MAX_TOKEN: usize = 16 * 1024;
/// How much of a server's words is shown.
const MAX_SHOWN: usize = 200;

/// A token.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) token: Secret,
    /// How long it is good for, with the margin taken off.
    pub(super) lasts: Duration,
    /// The refresh token for next time, if it is another one.
    pub(super) refresh_token: Option<Secret>,
}

/// Why there is no token.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The server says so.
    Said {
        status: u16,
        error: String,
        description: Option<String>,
    },
    /// It says nothing that makes sense; reads on from who it is.
    Senseless { status: u16, why: String },
}

/// Reads an answer.
pub(super) fn read(response: &Response) -> Result<Answer, Refusal> {
    let status = response.status;
    let fields: Option<Value> = read_bounded(&response.body).ok();
    let field = |name: &str| fields.as_ref().and_then(|fields| fields.get(name));
    let text = |name: &str| field(name).and_then(Value::as_str);
    if let Some(error) = text("error") {
        return Err(Refusal::Said {
            status: status.as_u16(),
            error: shown(error),
            description: text("error_description").map(shown),
        });
    }
    let senseless = |why: String| {
        Err(Refusal::Senseless {
            status: status.as_u16(),
            why,
        })
    };
    if status != StatusCode::OK {
        let reason = status.canonical_reason().unwrap_or_default();
        let why = format!("answered {} {reason}", status.as_u16());
        return senseless(why.trim_end().to_owned());
    }
    if !fields.as_ref().is_some_and(Value::is_object) {
        return senseless("gave an answer that is not a JSON object".to_owned());
    }
    match text("token_type") {
        Some(kind) if kind.eq_ignore_ascii_case("bearer") => {}
        Some(kind) => {
            return senseless(format!(
                "gave a token of the type `{}`; only `bearer` can be used",
                shown(kind)
            ));
        }
        None => return senseless("gave no `token_type`; it must be `bearer`".to_owned()),
    }
    let Some(token) = text("access_token") else {
        return senseless("gave no `access_token`".to_owned());
    };
    if !is_token(token) {
        return senseless("gave an `access_token` that no header can carry".to_owned());
    }
    let Some(lasts) = lifetime(field("expires_in")) else {
        return senseless("gave an `expires_in` that is not a number of seconds".to_owned());
    };
    let refresh_token = match field("refresh_token") {
        None | Some(Value::Null) => None,
        Some(Value::String(token)) if is_token(token) => Some(Secret::new(token)),
        Some(_) => return senseless("gave a `refresh_token` that is none".to_owned()),
    };
    Ok(Answer {
        token: Secret::new(token),
        lasts,
        refresh_token,
    })
}

fn is_token(text: &str) -> bool {
    (1..=MAX_TOKEN).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// How long a token is good for: a number of seconds, which some servers put in quotes.
fn lifetime(expires_in: Option<&Value>) -> Option<Duration> {
    let seconds = match expires_in {
        None | Some(Value::Null) => return Some(UNSAID),
        Some(Value::Number(number)) => number.as_f64()?,
        Some(Value::String(text)) => text.parse::<u64>().ok()? as f64,
        Some(_) => return None,
    };
    let seconds = Duration::from_secs_f64(seconds.clamp(0.0, LONGEST.as_secs_f64()));
    Some(seconds - MARGIN.min(seconds / 10))
}

/// A server's words, fit to be shown.
fn shown(words: &str) -> String {
    text::shorten(&text::visible(words), MAX_SHOWN)
}

impl Refusal {
    /// Whether the refresh token is no longer good.
    pub(super) fn is_of_refresh_token(&self) -> bool {
        matches!(self, Refusal::Said { error, .. } if error == "invalid_grant")
    }

    /// The error of a call that needed the token.
    pub(super) fn into_error(self, grant: &Grant) -> ToolError {
        let server = grant.server();
        match self {
            Refusal::Said {
                status,
                error,
                description,
            } => {
                let description = description.map_or(String::new(), |words| format!(" ({words})"));
                let message = format!(
                    "the token server `{server}` gives no token: {error}{description}; {}",
                    remedy(&error, grant)
                );
                ToolError::new(ErrorCode::UpstreamError, message)
                    .with_detail("tokenStatus", status)
                    .with_detail("tokenError", error)
            }
            Refusal::Senseless { status, why } => {
                let message = format!("the token server `{server}` {why}; check `auth.tokenUrl`");
                ToolError::new(ErrorCode::UpstreamError, message).with_detail("tokenStatus", status)
            }
        }
    }
}

/// What to do about an error of RFC 6749, 5.2.
fn remedy(error: &str, grant: &Grant) -> String {
    let place = grant
        .refresh
        .as_ref()
        .and_then(|refresh| refresh.place.as_ref());
    match error {
        "invalid_grant" => match place {
            Some(place) => format!(
                "sign in there again, and set the new refresh token with `toolcrib secret set {}`",
                place.name
            ),
            None => "sign in there again for a new refresh token".to_owned(),
        },
        "invalid_client" => match grant.secrets.is_empty() {
            true => "check `auth.clientId` and `auth.clientSecret` of the tool".to_owned(),
            false => {
                let names: Vec<String> = grant
                    .secrets
                    .iter()
                    .map(|name| format!("`{name}`"))
                    .collect();
                format!(
                    "check `auth.clientId` and `auth.clientSecret` (secrets: {}; `toolcrib secret set` sets one)",
                    names.join(", ")
                )
            }
        },
        "invalid_scope" => "check `auth.scope` of the tool".to_owned(),
        "unauthorized_client" | "unsupported_grant_type" => {
            "check `auth.grant` of the tool, and what the server permits this client".to_owned()
        }
        _ => "check `auth` of the tool".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::HeaderMap;
    use serde_json::json;

    use super::*;

    fn answered(status: u16, body: impl Into<Bytes>) -> Result<Answer, Refusal> {
        read(&Response {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            url: "https://a.example/token".parse().unwrap(),
            body: body.into(),
            redirected: crate::egress::Redirected::No,
        })
    }

    fn given(body: Value) -> Result<Answer, Refusal> {
        answered(200, body.to_string())
    }

    #[test]
    fn a_token_is_read_with_what_it_needs() {
        let answer = given(json!({
            "access_token": "2YotnFZFEjr1zCsicMWpAA", "token_type": "BeArEr", "expires_in": 3600,
            "refresh_token": "tGzv3JOkF0XG5Qx2TlKWIA", "example_parameter": "example_value"
        }));
        let expected = Answer {
            token: Secret::new("2YotnFZFEjr1zCsicMWpAA"),
            lasts: Duration::from_secs(3570),
            refresh_token: Some(Secret::new("tGzv3JOkF0XG5Qx2TlKWIA")),
        };
        assert_eq!(answer, Ok(expected));
    }

    #[test]
    fn a_token_is_not_used_to_its_last_second() {
        for (expires_in, lasts) in [
            (json!(3600), 3570.0),
            (json!("3600"), 3570.0),
            (json!(10), 9.0),
            (json!(0), 0.0),
            (json!(-5), 0.0),
            (json!(1e300), 86_370.0),
            (Value::Null, 300.0),
        ] {
            let answer = given(
                json!({"access_token": "a", "token_type": "bearer", "expires_in": expires_in}),
            );
            assert_eq!(answer.unwrap().lasts.as_secs_f64(), lasts, "{expires_in}");
        }
    }

    #[test]
    fn an_answer_that_makes_no_sense_is_refused_with_the_reason() {
        for (body, reason) in [
            ("", "not a JSON object"),
            ("access_token=a&token_type=bearer", "not a JSON object"),
            ("[1]", "not a JSON object"),
            ("{}", "no `token_type`"),
            (r#"{"token_type":"mac","access_token":"a"}"#, "type `mac`"),
            (r#"{"token_type":"bearer"}"#, "no `access_token`"),
            (
                r#"{"token_type":"bearer","access_token":7}"#,
                "no `access_token`",
            ),
            (
                r#"{"token_type":"bearer","access_token":""}"#,
                "no header can carry",
            ),
            (
                r#"{"token_type":"bearer","access_token":"a\r\nX: y"}"#,
                "no header can carry",
            ),
            (
                r#"{"token_type":"bearer","access_token":"a","expires_in":"soon"}"#,
                "not a number of seconds",
            ),
            (
                r#"{"token_type":"bearer","access_token":"a","expires_in":[]}"#,
                "not a number of seconds",
            ),
            (
                r#"{"token_type":"bearer","access_token":"a","refresh_token":5}"#,
                "`refresh_token` that is none",
            ),
        ] {
            match answered(200, body) {
                Err(Refusal::Senseless { status: 200, why }) => {
                    assert!(why.contains(reason), "{body}: {why}");
                }
                other => panic!("{body}: {other:?}"),
            }
        }
        let long = "x".repeat(MAX_TOKEN + 1);
        assert!(given(json!({"access_token": long, "token_type": "bearer"})).is_err());
        let down = answered(503, "<html>");
        let why = "answered 503 Service Unavailable".to_owned();
        assert_eq!(down, Err(Refusal::Senseless { status: 503, why }));
    }

    #[test]
    fn an_error_is_read_whatever_the_status_and_shown_harmlessly() {
        let body = json!({"error": "invalid_client", "error_description": format!("no\u{1b}[2J{}", "x".repeat(1000))});
        for status in [200, 400, 401] {
            match answered(status, body.to_string()) {
                Err(Refusal::Said {
                    status: said,
                    error,
                    description,
                }) => {
                    assert_eq!((said, error.as_str()), (status, "invalid_client"));
                    let description = description.unwrap();
                    assert!(
                        description.len() < 300 && !description.contains('\u{1b}'),
                        "{description}"
                    );
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
