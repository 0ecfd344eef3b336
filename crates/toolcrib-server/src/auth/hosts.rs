//! Which `Host` and `Origin` headers are taken: a page in a browser must not reach this server by its own name (DNS rebinding).
//!
//! A server is reached by loopback names and by the address it listens on, each with its port, and by what `server.hosts` adds. A page
//! of one of these hosts is its own; a page from elsewhere is refused unless `server.origins` lists it, and then its browser gets the CORS
//! headers. None of this replaces a token: browsers send none by themselves.

use std::net::SocketAddr;

use http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use toolcrib::ErrorCode;

use super::authority::{Authority, Host};
use crate::api::{Peer, Refusal};

const REQUEST_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-request-private-network");
const ALLOW_PRIVATE_NETWORK: HeaderName =
    HeaderName::from_static("access-control-allow-private-network");

/// The names this server answers to.
#[derive(Debug, Clone, Default)]
pub struct Hosts {
    hosts: Vec<Authority<'static>>,
    origins: Vec<Origin<'static>>,
    listening: Option<SocketAddr>,
}

/// An entry of `server.hosts` or `server.origins` that means nothing.
#[derive(Debug, thiserror::Error)]
#[error("`{setting}`: `{entry}` {problem}")]
pub struct HostsError {
    setting: &'static str,
    entry: String,
    problem: &'static str,
}

impl Hosts {
    /// By the settings `server.hosts` and `server.origins`, and the address that is listened on. Without an address, which is for
    /// sockets in the file system and for tests, loopback names are taken with any port.
    pub fn new(
        hosts: impl IntoIterator<Item = String>,
        origins: impl IntoIterator<Item = String>,
        listening: Option<SocketAddr>,
    ) -> Result<Self, HostsError> {
        let wrong = |setting, entry: &str, problem| HostsError {
            setting,
            entry: toolcrib::model::text::shorten(entry, 100),
            problem,
        };
        let host = |entry: String| match Authority::parse(&entry) {
            Ok(host) => Ok(host.into_owned()),
            Err(problem) => Err(wrong("server.hosts", &entry, problem)),
        };
        let origin = |entry: String| match Origin::parse(&entry) {
            Ok(origin) => Ok(origin.into_owned()),
            Err(problem) => Err(wrong("server.origins", &entry, problem)),
        };
        Ok(Hosts {
            hosts: hosts.into_iter().map(host).collect::<Result<_, _>>()?,
            origins: origins.into_iter().map(origin).collect::<Result<_, _>>()?,
            listening,
        })
    }

    /// Refuses a request for another host, or from a page of another origin.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap, peer: &Peer) -> Result<Welcome, Refusal> {
        self.check_host(uri, headers, peer)?;
        self.check_origin(headers)
    }

    fn check_host(&self, uri: &Uri, headers: &HeaderMap, peer: &Peer) -> Result<(), Refusal> {
        let host = single(headers, &header::HOST)?;
        // A browser cannot open a socket in the file system.
        if *peer == Peer::Local {
            return Ok(());
        }
        let Some(host) = host else {
            return Err(Refusal::usage("the request has no `Host`"));
        };
        // The target of a request may name a host itself, which then counts; both have to be ours.
        for named in [Some(host), uri.authority().map(|named| named.as_str())]
            .into_iter()
            .flatten()
        {
            let authority = Authority::parse(named).map_err(|problem| {
                Refusal::usage(format!("the `Host` of the request {problem}"))
            })?;
            if !self.is_own(&authority, &[80, 443]) {
                return Err(Refusal::new(
                    ErrorCode::Forbidden,
                    format!(
                        "this server is not known as `{}`; if it should be, add that to the setting `server.hosts`",
                        toolcrib::model::text::shorten(named, 100)
                    ),
                ));
            }
        }
        Ok(())
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<Welcome, Refusal> {
        let Some(value) = single(headers, &header::ORIGIN)? else {
            return Ok(Welcome::default());
        };
        let origin = Origin::parse(value).ok();
        if let Some(origin) = &origin
            && (self.listening.is_some() || !self.hosts.is_empty())
            && self.is_own(&origin.authority, &[origin.default_port()])
        {
            return Ok(Welcome::default());
        }
        let is_listed =
            origin.is_some_and(|origin| self.origins.iter().any(|entry| entry.is(&origin)));
        match HeaderValue::from_str(value) {
            Ok(value) if is_listed => Ok(Welcome {
                origin: Some(value),
                asks_first: headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD),
                asks_for_private: headers.contains_key(REQUEST_PRIVATE_NETWORK),
            }),
            _ => Err(Refusal::new(
                ErrorCode::Forbidden,
                format!(
                    "pages of `{}` may not use this server; if they should, add that to the setting `server.origins`",
                    toolcrib::model::text::shorten(value, 100)
                ),
            )),
        }
    }

    /// Whether this server is meant. `defaults` are the ports that a host without one may mean.
    fn is_own(&self, authority: &Authority<'_>, defaults: &[u16]) -> bool {
        let is_port = |wanted: u16| match authority.port {
            Some(port) => port == wanted,
            None => defaults.contains(&wanted),
        };
        let by_listening = match self.listening {
            Some(listening) => {
                let address = Host::Address(listening.ip().to_canonical());
                (authority.host.is_loopback() || authority.host.is(&address))
                    && is_port(listening.port())
            }
            None => authority.host.is_loopback(),
        };
        by_listening
            || self
                .hosts
                .iter()
                .any(|entry| entry.host.is(&authority.host) && entry.port.is_none_or(is_port))
    }
}

/// `http://host:port`, as browsers send it.
#[derive(Debug, Clone)]
struct Origin<'a> {
    is_https: bool,
    authority: Authority<'a>,
}

impl<'a> Origin<'a> {
    fn parse(text: &'a str) -> Result<Self, &'static str> {
        let (is_https, authority) = match text.split_once("://") {
            Some(("http", authority)) => (false, authority),
            Some(("https", authority)) => (true, authority),
            _ => return Err("does not begin with `http://` or `https://`"),
        };
        Ok(Origin {
            is_https,
            authority: Authority::parse(authority)?,
        })
    }

    fn into_owned(self) -> Origin<'static> {
        Origin {
            is_https: self.is_https,
            authority: self.authority.into_owned(),
        }
    }

    fn default_port(&self) -> u16 {
        match self.is_https {
            true => 443,
            false => 80,
        }
    }

    fn is(&self, other: &Origin<'_>) -> bool {
        let port = |origin: &Origin<'_>| origin.authority.port.unwrap_or(origin.default_port());
        self.is_https == other.is_https
            && self.authority.host.is(&other.authority.host)
            && port(self) == port(other)
    }
}

/// The text of a header that may stand there once.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(Refusal::usage(format!("the request has `{name}` twice")));
    }
    first
        .map(|value| value.to_str())
        .transpose()
        .map_err(|_| Refusal::usage(format!("the `{name}` of the request is not text")))
}

/// The CORS headers for the browser of a page from elsewhere.
#[derive(Debug, Default)]
pub struct Welcome {
    /// The page's origin, if it is another one than the server's and allowed.
    origin: Option<HeaderValue>,
    asks_first: bool,
    asks_for_private: bool,
}

impl Welcome {
    /// Whether a browser asks before the request of such a page. It sends no token with that.
    pub(crate) fn is_preflight(&self) -> bool {
        self.origin.is_some() && self.asks_first
    }

    pub(crate) fn add_to(self, headers: &mut HeaderMap) {
        let asks_first = self.is_preflight();
        let Some(origin) = self.origin else {
            return;
        };
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        let told: &[(HeaderName, &'static str)] = match asks_first {
            true => &[
                (
                    header::ACCESS_CONTROL_ALLOW_METHODS,
                    "GET, HEAD, POST, PUT, PATCH, DELETE",
                ),
                (
                    header::ACCESS_CONTROL_ALLOW_HEADERS,
                    "Authorization, Content-Type, Accept, Last-Event-ID, Prefer, X-Request-Id, Traceparent, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name",
                ),
                (header::ACCESS_CONTROL_MAX_AGE, "600"),
            ],
            false => &[(
                header::ACCESS_CONTROL_EXPOSE_HEADERS,
                "Location, Retry-After, Preference-Applied, Content-Disposition, X-Request-Id, Mcp-Session-Id",
            )],
        };
        for (name, value) in told {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if asks_first && self.asks_for_private {
            headers.insert(ALLOW_PRIVATE_NETWORK, HeaderValue::from_static("true"));
        }
    }
}
