//! Outgoing requests and their answers: [`Request`] and [`Response`].

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, StatusCode, header};
use url::Url;

use super::hosts::Reach;
use crate::model::exchange::ExchangeLog;
use crate::target::EgressError;

/// The most headers of a request, and how long they may be together.
const MAX_HEADERS: usize = 100;
const MAX_HEADER_BYTES: usize = 64 * 1024;

/// One request. Made with [`Request::get`] and changed by field.
#[derive(Clone)]
pub struct Request {
    /// GET, POST, …
    pub method: Method,
    /// The destination; judged again when the request is sent.
    pub url: Url,
    /// Headers. When a hop leaves the origin, only those go along that say how to answer (`Accept`, `User-Agent` …), and of those none
    /// that is marked sensitive. `Host` and what frames a message cannot be set.
    pub headers: HeaderMap,
    /// The body; empty for none.
    pub body: Bytes,
    /// Whether nothing in the body is a secret, so that a server may have it sent on to another origin (307, 308).
    pub body_is_plain: bool,
    /// Which targets it, and every hop, may go to.
    pub reach: Reach,
    /// How long everything may take together, bodies included.
    pub timeout: Duration,
    /// How many bytes may leave, heads and every hop included; `None` for no limit. What would be more is not sent.
    pub max_sent: Option<u64>,
    /// How many bytes may come back, unpacked, the bodies of redirections included; more is an error.
    pub max_received: u64,
    /// How many hops are followed, five at most; 0 for none, and the answer is the redirection itself.
    pub max_redirects: u8,
    /// Where it is noted what left, also when nothing comes back: `CallContext::exchanges` for a call's own record.
    pub log: ExchangeLog,
}

/// Without what may be a secret: path, query, values of headers, body.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.keys().map(HeaderName::as_str).collect();
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("host", &self.url.host_str())
            .field("port", &self.url.port_or_known_default())
            .field("headers", &headers)
            .field("body_bytes", &self.body.len())
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl Request {
    /// A plain GET to what the setting `allowedHosts` names: 30 s, 5 MB, five hops.
    pub fn get(url: Url) -> Self {
        Request {
            method: Method::GET,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            body_is_plain: false,
            reach: Reach::Listed,
            timeout: Duration::from_secs(30),
            max_sent: None,
            max_received: 5 * 1024 * 1024,
            max_redirects: 5,
            log: ExchangeLog::default(),
        }
    }

    /// How many bytes it is with this URL, credentials and all.
    pub(crate) fn size(&self, url: &Url) -> u64 {
        let headers = self.headers.iter();
        let headers: usize = headers
            .map(|(name, value)| name.as_str().len() + value.len())
            .sum();
        (url.as_str().len() + headers + self.body.len()) as u64
    }

    /// Whether something of it must not go to another origin, or in the clear.
    pub(super) fn has_credentials(&self) -> bool {
        let credential = |(name, value): (&HeaderName, &http::HeaderValue)| {
            value.is_sensitive() || is_credential(name)
        };
        self.headers.iter().any(credential)
    }

    /// Refuses what would be read as something else than a header of this request.
    pub(super) fn check(&self) -> Result<(), EgressError> {
        let bad = |message: String| Err(EgressError::BadRequest(message));
        if let Some(name) = self
            .headers
            .keys()
            .find(|name| crate::target::is_framing(name.as_str()))
        {
            return bad(format!(
                "the header `{name}` cannot be set: it follows from the request itself"
            ));
        }
        if self.method == Method::CONNECT || self.method == Method::TRACE {
            return bad(format!(
                "the method `{}` is not for requests to servers",
                self.method
            ));
        }
        let size =
            |(name, value): (&HeaderName, &http::HeaderValue)| name.as_str().len() + value.len();
        if self.headers.len() > MAX_HEADERS
            || self.headers.iter().map(size).sum::<usize>() > MAX_HEADER_BYTES
        {
            return bad(format!(
                "a request may have {MAX_HEADERS} headers and 64 KB of them at most"
            ));
        }
        Ok(())
    }
}

/// The well-known headers for credentials.
pub(super) fn is_credential(name: &HeaderName) -> bool {
    matches!(
        *name,
        header::AUTHORIZATION | header::COOKIE | header::PROXY_AUTHORIZATION
    )
}

/// An answer, whole and unpacked.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// The headers of the last hop, without those that were true of the body as it came.
    pub headers: HeaderMap,
    /// The URL of the last hop.
    pub url: Url,
    /// The body, unpacked.
    pub body: Bytes,
    /// Whether someone else answered than who was asked first.
    pub redirected: Redirected,
}

/// Where redirections led, if there were any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Redirected {
    /// There were none.
    No,
    /// Every hop had the origin of the first, so that credentials went along.
    WithinOrigin,
    /// A hop left the origin, and credentials stayed behind.
    Elsewhere,
}
