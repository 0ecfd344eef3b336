//! HMAC-SHA256 over `METHOD\nPATH?QUERY\nTIMESTAMP\nSHA256(BODY)`.
//!
//! In full: the method in upper case; path and query exactly as they go over the wire, percent-encoding and all, without a `?`
//! where there is no query; the time in Unix seconds, as sent in its header; the SHA-256 of the body in lower-case hex (that of
//! nothing, if there is no body). Four lines with `\n` between them and none at the end. The key is the secret's UTF-8; the
//! signature is lower-case hex.
//!
//! A repeated request is signed again. One that is redirected is not: its signature is of the path that was asked for first.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use url::Position;

use crate::egress::Request;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::hex;
use crate::model::secret::Secret;

/// The signature of a request, at this Unix second.
pub(super) fn of(request: &Request, key: &Secret, timestamp: i64) -> Result<Secret, ToolError> {
    if key.expose().is_empty() {
        return Err(no_key("is empty"));
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(key.expose().as_bytes())
        .map_err(|_| no_key("cannot be a key"))?;
    mac.update(signed(request, timestamp).as_bytes());
    Ok(Secret::new(hex(&mac.finalize().into_bytes())))
}

/// The signed text.
fn signed(request: &Request, timestamp: i64) -> String {
    let path_and_query = &request.url[Position::BeforePath..Position::AfterQuery];
    let body = hex(&Sha256::digest(&request.body));
    format!("{}\n{path_and_query}\n{timestamp}\n{body}", request.method)
}

fn no_key(why: &str) -> ToolError {
    let message = format!("`auth.key` {why}; set the secret again with `toolcrib secret set`");
    ToolError::new(ErrorCode::ToolUnavailable, message)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::Method;

    use super::*;

    /// Computed with
    ///
    /// ```python
    /// import hmac, hashlib
    /// def sign(key, method, path, time, body):
    ///     text = f"{method}\n{path}\n{time}\n{hashlib.sha256(body).hexdigest()}"
    ///     return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()
    /// sign("k3y", "GET", "/v1/items?q=a%20b&n=2", 1700000000, b"")
    /// sign("k3y", "POST", "/v1/items", 1700000000, b'{"name":"caf\xc3\xa9"}')
    /// sign("schl\u00fcssel", "DELETE", "/", 0, b"")
    /// sign("k3y", "GET", "/a?", 1700000000, b"")
    /// ```
    #[test]
    fn signatures_are_those_of_known_vectors() {
        let vectors = [
            (
                "k3y",
                Method::GET,
                "https://api.example.com/v1/items?q=a%20b&n=2#part",
                1_700_000_000,
                "",
                "e64de1376a4f4a5536a32102e95eba19f451492d1b40af0ccc4d738e727a3b80",
            ),
            (
                "k3y",
                Method::POST,
                "https://api.example.com:8443/v1/items",
                1_700_000_000,
                "{\"name\":\"café\"}",
                "ae3944eeced84112b957a570b6611f1ce5ead69ac6c2c5959ee7f33b9fad56ee",
            ),
            (
                "schlüssel",
                Method::DELETE,
                "https://api.example.com",
                0,
                "",
                "026c9a87a669f6c4fdf14bd3b76ca5bf0bd61f94ace8afff80583fdd85e37819",
            ),
            (
                "k3y",
                Method::GET,
                "https://api.example.com/a?",
                1_700_000_000,
                "",
                "c01ac508af99b66f89ca17cf7d35d9fe41c219a8913c0922eca32d59ab20756a",
            ),
        ];
        for (key, method, url, timestamp, body, expected) in vectors {
            let mut request = Request::get(url.parse().unwrap());
            request.method = method;
            request.body = Bytes::from(body);
            let signature = of(&request, &Secret::new(key), timestamp).unwrap();
            assert_eq!(signature.expose(), expected, "{url}");
        }
    }

    #[test]
    fn every_part_of_a_request_changes_its_signature() {
        let request = Request::get("https://a.example/p?q=1".parse().unwrap());
        let key = Secret::new("k3y");
        let plain = of(&request, &key, 1).unwrap();
        let mut others = vec![of(&request, &key, 2), of(&request, &Secret::new("k3z"), 1)];
        for change in [
            (|r: &mut Request| r.method = Method::POST) as fn(&mut Request),
            |r| r.url = "https://a.example/p?q=2".parse().unwrap(),
            |r| r.url = "https://a.example/P?q=1".parse().unwrap(),
            |r| r.body = Bytes::from_static(b"x"),
        ] {
            let mut changed = request.clone();
            change(&mut changed);
            others.push(of(&changed, &key, 1));
        }
        assert!(others.into_iter().all(|other| other.unwrap() != plain));
    }

    #[test]
    fn an_empty_key_signs_nothing() {
        let request = Request::get("https://a.example/".parse().unwrap());
        assert!(of(&request, &Secret::new(""), 1).is_err());
    }
}
