//! Credentials that are a header and nothing else: bearer (RFC 6750) and basic (RFC 7617).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;

use crate::model::error::{ErrorCode, ToolError};
use crate::model::secret::Secret;

/// `Bearer TOKEN`
pub(super) fn bearer(token: &Secret) -> Result<HeaderValue, ToolError> {
    if token.expose().is_empty() {
        return Err(unusable("the bearer token", "is empty"));
    }
    let value = Secret::new(format!("Bearer {}", token.expose()));
    sensitive(&value, "the bearer token")
}

/// `Basic …`: name and password as UTF-8. A colon ends the name, so none can be in it.
pub(super) fn basic(username: &Secret, password: &Secret) -> Result<HeaderValue, ToolError> {
    if username.expose().contains(':') {
        return Err(unusable(
            "`auth.username`",
            "has a colon, with which a user name ends",
        ));
    }
    for (text, what) in [(username, "`auth.username`"), (password, "`auth.password`")] {
        if let Some(bad) = text.expose().chars().find(|c| c.is_control()) {
            return Err(unusable(what, &format!("has {}", in_words(bad))));
        }
    }
    let pair = Secret::new(format!("{}:{}", username.expose(), password.expose()));
    let encoded = Secret::new(STANDARD.encode(pair.expose()));
    sensitive(
        &Secret::new(format!("Basic {}", encoded.expose())),
        "`auth`",
    )
}

/// A header that no one sees and that does not leave its origin. What it cannot carry is refused without showing it.
pub(super) fn sensitive(value: &Secret, what: &str) -> Result<HeaderValue, ToolError> {
    if let Some(bad) = value.expose().chars().find(|c| !matches!(c, ' '..='~')) {
        let why = format!("has {}, which a header cannot carry", in_words(bad));
        return Err(unusable(what, &why));
    }
    let mut header = HeaderValue::from_str(value.expose())
        .map_err(|_| unusable(what, "cannot be sent in a header"))?;
    header.set_sensitive(true);
    Ok(header)
}

fn in_words(bad: char) -> &'static str {
    match bad {
        '\r' | '\n' => "a line break",
        '\0' => "a NUL character",
        c if c.is_control() => "a control character",
        _ => "a character that is not ASCII",
    }
}

fn unusable(what: &str, why: &str) -> ToolError {
    let message = format!("{what} {why}; set the secret again with `toolcrib secret set`");
    ToolError::new(ErrorCode::ToolUnavailable, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> Secret {
        Secret::new(text)
    }

    #[test]
    fn basic_is_as_the_rfc_has_it() {
        // RFC 7617, 2 and 2.1
        for (username, password, expected) in [
            (
                "Aladdin",
                "open sesame",
                "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
            ),
            ("test", "123£", "Basic dGVzdDoxMjPCow=="),
            ("", "a:b", "Basic OmE6Yg=="),
        ] {
            let header = basic(&secret(username), &secret(password)).unwrap();
            assert_eq!(header.to_str().unwrap(), expected);
            assert!(header.is_sensitive());
        }
    }

    #[test]
    fn a_colon_in_a_user_name_is_refused() {
        let error = basic(&secret("a:b"), &secret("c")).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ToolUnavailable);
        assert!(error.message().contains("colon"), "{error}");
    }

    #[test]
    fn what_would_end_a_header_is_refused_without_being_shown() {
        for token in [
            "SENTINEL\r\nX: y",
            "SENTINEL\n",
            "SENTINEL\0",
            "SENTINEL\u{e9}",
            "SENTINEL\t",
        ] {
            let error = bearer(&secret(token)).unwrap_err();
            assert_eq!(error.code(), ErrorCode::ToolUnavailable);
            assert!(!error.message().contains("SENTINEL"), "{error}");
        }
        assert!(bearer(&secret("")).is_err());
        assert!(basic(&secret("a"), &secret("b\n")).is_err());
    }

    #[test]
    fn a_bearer_token_is_sent_as_it_is_and_marked() {
        let header = bearer(&secret("abc.DEF-_~+/=")).unwrap();
        assert_eq!(header.to_str().unwrap(), "Bearer abc.DEF-_~+/=");
        assert!(header.is_sensitive());
    }
}
