//! Requests for tokens, as every OAuth client makes them (RFC 6749).
//!
//! Two clients use this: HTTP tools, whose grants are in a tool's file (`exec::http::auth`), and logins at MCP servers, which a person
//! makes (`toolcrib-home`). How they read answers, and where they keep tokens, stays with them: a tool's tokens are in memory, with one
//! fetch for all calls that wait, and a login is a file that several processes renew under a lock.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, Method};
use url::form_urlencoded::{Serializer, byte_serialize};

use crate::egress::Request;
use crate::model::secret::Secret;

/// How long an answer of a token server may be, in bytes.
pub const MAX_ANSWER: u64 = 256 * 1024;

/// How a client shows who it is (RFC 6749, 2.3.1).
#[derive(Debug, Clone, Copy)]
pub enum Proof<'a> {
    /// By its id alone.
    Nothing,
    /// By a secret in a header.
    Basic(&'a Secret),
    /// By a secret in the form.
    Post(&'a Secret),
}

/// Makes a request one for a token: a form with these fields and with the client's credentials. Redirections are not followed, so that
/// only the server that was named gets a client's secret.
///
/// Returns the credentials in the form that the server may repeat and a masker does not guess.
pub fn ask(
    request: &mut Request,
    client_id: &str,
    proof: Proof<'_>,
    fields: &[(&str, &str)],
) -> Option<Secret> {
    let mut form = Serializer::new(String::new());
    form.extend_pairs(fields);
    let headers = &mut request.headers;
    let sent = match proof {
        Proof::Nothing => {
            form.append_pair("client_id", client_id);
            None
        }
        Proof::Post(secret) => {
            form.append_pair("client_id", client_id)
                .append_pair("client_secret", secret.expose());
            None
        }
        Proof::Basic(secret) => {
            // Both texts are encoded as in a form first.
            let encoded = |text: &str| -> Secret {
                Secret::new(byte_serialize(text.as_bytes()).collect::<String>())
            };
            let (id, secret) = (encoded(client_id), encoded(secret.expose()));
            let pair = Secret::new(format!("{}:{}", id.expose(), secret.expose()));
            let pair = Secret::new(STANDARD.encode(pair.expose()));
            let value = Secret::new(format!("Basic {}", pair.expose()));
            let mut value = HeaderValue::from_str(value.expose()).expect("base64 is ASCII");
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
            Some(pair)
        }
    };
    let form_type = HeaderValue::from_static("application/x-www-form-urlencoded");
    headers.insert(CONTENT_TYPE, form_type);
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    request.method = Method::POST;
    request.body = Bytes::from(form.finish());
    request.max_received = MAX_ANSWER;
    request.max_redirects = 0;
    sent
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(proof: Proof<'_>) -> (String, Option<String>, Option<Secret>) {
        let mut request = Request::get("https://auth.example/token".parse().unwrap());
        let sent = ask(&mut request, "a b", proof, &[("grant_type", "x&y")]);
        let header = request.headers.get(AUTHORIZATION).map(|value| {
            assert!(value.is_sensitive());
            value.to_str().unwrap().to_owned()
        });
        assert_eq!((request.method, request.max_redirects), (Method::POST, 0));
        (
            String::from_utf8(request.body.to_vec()).unwrap(),
            header,
            sent,
        )
    }

    #[test]
    fn a_client_shows_who_it_is_in_one_place_only() {
        let secret = Secret::new("s:1");
        let id = "grant_type=x%26y&client_id=a+b";
        assert_eq!(asked(Proof::Nothing), (id.to_owned(), None, None));
        let post = format!("{id}&client_secret=s%3A1");
        assert_eq!(asked(Proof::Post(&secret)), (post, None, None));
        let pair = STANDARD.encode("a+b:s%3A1");
        assert_eq!(
            asked(Proof::Basic(&secret)),
            (
                "grant_type=x%26y".to_owned(),
                Some(format!("Basic {pair}")),
                Some(Secret::new(pair))
            )
        );
    }
}
