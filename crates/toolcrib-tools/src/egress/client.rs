//! The client: from a request to an answer within its limits, hop by hop.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, Uri, Version, header};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;
use tokio_rustls::client::TlsStream;
use url::Url;

use super::body;
use super::counted::Counted;
use super::dial::{Connector, Way, within};
use super::guard::Guard;
use super::hosts::{AllowedHosts, HostVerdict, Reach};
use super::pool::{Pool, Speaking};
use super::redirect;
use super::request::{Redirected, Request, Response};
use super::resolve::{Dial, Dialled, Resolve, System, Tcp};
use super::scripted::Answerer;
use super::stream::{Streamed, StreamedBody};
use super::tls::Tls;
use crate::model::exchange::Noted;
use crate::target::EgressError;
use crate::target::Target;

/// The longest head of an answer, and the most headers in it.
pub(super) const MAX_HEAD: usize = 64 * 1024;
pub(super) const MAX_HEADERS: usize = 100;

/// The most hops that are followed.
const MAX_REDIRECTS: u8 = 5;

/// How much of the body of a redirection is read so that its connection can be kept.
const MAX_REDIRECTION: u64 = 64 * 1024;

/// How long a connection for someone else's bytes may take.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// The longest time that is waited for anything.
const MAX_TIME: Duration = Duration::from_secs(24 * 3600);

/// What we say we are, unless a caller says otherwise.
const USER_AGENT: HeaderValue =
    HeaderValue::from_static(concat!("toolcrib/", env!("CARGO_PKG_VERSION")));

/// How the way out is set up.
#[derive(Clone, Default)]
pub struct EgressOptions {
    /// The setting `allowedHosts`.
    pub allowed_hosts: AllowedHosts,
    /// Names that may have addresses of a private network (the setting `network.privateHosts`).
    pub private_hosts: AllowedHosts,
    /// A proxy that every request goes through (the setting `network.proxy`); the environment's are ignored. It resolves the names: only
    /// literal addresses are judged before it gets them.
    pub proxy: Option<Url>,
    /// Certificates to trust besides the system's, as PEM (the setting `network.certificates`).
    pub certificates: Vec<u8>,
    /// The resolver; the system's by default.
    pub resolver: Option<Arc<dyn Resolve>>,
    /// The dialer; TCP by default.
    pub dialler: Option<Arc<dyn Dial>>,
    /// Answers every request in the place of the network: nothing is sent, and every host counts as listed.
    pub answerer: Option<Arc<dyn Answerer>>,
}

impl EgressOptions {
    /// Reads the address of a proxy: `http://host:port`, and nothing else.
    pub fn parse_proxy(text: &str) -> Result<Url, String> {
        let (url, target) = Target::parse(text).map_err(|error| error.to_string())?;
        if target.https {
            return Err("must be a proxy that is spoken to by `http`".to_owned());
        }
        if url.path() != "/" || url.query().is_some() {
            return Err(
                "must be a proxy like `http://proxy.example.com:3128`, without a path".to_owned(),
            );
        }
        Ok(url)
    }
}

/// The way out. Cloning is cheap; clones share connections.
#[derive(Clone)]
pub struct Egress(Arc<Inner>);

struct Inner {
    connector: Connector,
    tls: Tls,
    certificates: Vec<u8>,
    pool: Pool,
    answerer: Option<Arc<dyn Answerer>>,
}

impl fmt::Debug for Egress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Egress")
            .field("allowed_hosts", &self.0.connector.guard.allowed)
            .finish_non_exhaustive()
    }
}

/// An answer as it came, before anybody looked at its body.
struct Answer {
    status: StatusCode,
    headers: http::HeaderMap,
    body: Incoming,
    speaking: Speaking,
}

impl Egress {
    /// Sets the way out up.
    pub fn new(options: EgressOptions) -> Result<Self, EgressError> {
        let proxy = match options.proxy {
            Some(url) => {
                let checked = EgressOptions::parse_proxy(url.as_str()).map_err(|problem| {
                    EgressError::BadRequest(format!("the setting `network.proxy` {problem}"))
                })?;
                Some(Target::parse(checked.as_str())?.1)
            }
            None => None,
        };
        Ok(Egress(Arc::new(Inner {
            connector: Connector {
                guard: Guard {
                    allowed: options.allowed_hosts,
                    private: options.private_hosts,
                },
                resolver: options
                    .resolver
                    .unwrap_or_else(|| Arc::new(System::default())),
                dialler: options.dialler.unwrap_or_else(|| Arc::new(Tcp)),
                proxy,
            },
            tls: Tls::configured(&options.certificates)?,
            certificates: options.certificates,
            pool: Pool::default(),
            answerer: options.answerer,
        })))
    }

    /// The setting `allowedHosts`.
    pub fn allowed_hosts(&self) -> &AllowedHosts {
        &self.0.connector.guard.allowed
    }

    /// Certificates to trust besides the system's, as PEM: for programs that speak TLS themselves.
    pub(crate) fn certificates(&self) -> &[u8] {
        &self.0.certificates
    }

    /// What can be said about a target without asking anybody for its addresses.
    pub fn standing(&self, target: &Target) -> HostVerdict {
        match &self.0.answerer {
            Some(_) => HostVerdict::Listed,
            None => self.0.connector.guard.standing(target),
        }
    }

    /// Sends a request and takes the whole answer. Redirections are followed hop by hop, each judged like the first.
    pub async fn send(&self, mut request: Request) -> Result<Response, EgressError> {
        request.check()?;
        if let Some(answerer) = &self.0.answerer {
            request.log.leaves(request.size(&request.url));
            let answer = answerer.answer(&request);
            let answer = answer.ok_or_else(|| {
                EgressError::BadRequest("the test has no answer left for this request".to_owned())
            })?;
            return answer.into_response(&request);
        }
        let deadline = Instant::now() + request.timeout.min(MAX_TIME);
        let max_redirects = request.max_redirects.min(MAX_REDIRECTS);
        let mut hops = 0;
        let mut redirected = Redirected::No;
        let (mut url, mut target) = Target::of(&request.url)?;
        loop {
            let admitted = self.0.connector.guard.admit(&target, &request.reach);
            admitted.map_err(|error| match hops {
                0 => error,
                _ => redirect::led_to(&url, error),
            })?;
            let size = request.size(&url);
            if let Some(left) = request.max_sent.as_mut() {
                *left = left
                    .checked_sub(size)
                    .ok_or_else(|| too_much(&target, hops))?;
            }
            request.log.leaves(size);
            let noted =
                request
                    .log
                    .begin(request.method.as_str(), url.as_str(), target.to_string());
            hops += 1;
            let exchange = self.exchange(&request, &url, &target, deadline, &noted);
            let answer = within(deadline, &target, exchange)
                .await
                .and_then(|answer| answer)
                .map_err(|error| match hops {
                    1 => error,
                    _ => error.after_an_answer(),
                })?;
            let (status, headers) = (answer.status, answer.headers);
            if max_redirects > 0
                && let Some(location) = redirect::location(status, &headers)
            {
                let location = location?;
                if hops > max_redirects {
                    return Err(EgressError::Upstream(format!(
                        "`{target}` redirects once more after {max_redirects} redirections"
                    )));
                }
                let from = target;
                (url, target) = redirect::follow(&mut request, &from, status, location)?;
                redirected = match from == target {
                    true => redirected.max(Redirected::WithinOrigin),
                    false => Redirected::Elsewhere,
                };
                let before = noted.bytes_received();
                let most = MAX_REDIRECTION.min(request.max_received);
                let drained = Box::pin(body::read(answer.body, most, &from, &noted));
                if let Ok(Ok(_)) = within(deadline, &from, drained).await {
                    self.0.pool.put(from, answer.speaking);
                }
                let came = noted.bytes_received().saturating_sub(before);
                request.max_received = request.max_received.saturating_sub(came);
                continue;
            }
            let read = self.read(answer.body, &headers, &request, &target, deadline, &noted);
            let body = within(deadline, &target, read).await??;
            self.0.pool.put(target, answer.speaking);
            return Ok(Response {
                status,
                headers: without_packing(headers),
                url,
                body,
                redirected,
            });
        }
    }

    /// Sends a request and takes the answer as it comes: for events, and for texts that are written while they are read.
    ///
    /// The time of the request is for the head; how long the body may take is the caller's to say, who ends the exchange by dropping it.
    /// No redirection is followed: an answer that goes on for as long as it likes is not taken from someone else.
    pub async fn stream(&self, mut request: Request) -> Result<Streamed, EgressError> {
        request
            .headers
            .entry(header::ACCEPT_ENCODING)
            .or_insert(HeaderValue::from_static("identity"));
        request.check()?;
        let deadline = Instant::now() + request.timeout.min(MAX_TIME);
        let (url, target) = Target::of(&request.url)?;
        self.0.connector.guard.admit(&target, &request.reach)?;
        let size = request.size(&url);
        if request.max_sent.is_some_and(|most| size > most) {
            return Err(too_much(&target, 0));
        }
        request.log.leaves(size);
        let noted = request
            .log
            .begin(request.method.as_str(), url.as_str(), target.to_string());
        let exchange = self.exchange(&request, &url, &target, deadline, &noted);
        let answer = within(deadline, &target, exchange).await??;
        if request.method != Method::HEAD && !body::packings(&answer.headers)?.is_empty() {
            return Err(EgressError::Upstream(format!(
                "`{target}` packed its answer, which was not asked for"
            )));
        }
        Ok(Streamed {
            status: answer.status,
            headers: answer.headers,
            body: StreamedBody::new(
                answer.body,
                target,
                noted,
                request.max_received,
                (self.0.pool.clone(), answer.speaking),
            ),
        })
    }

    /// Lets a target pass that is within reach and that nothing speaks against before its addresses are known.
    pub(crate) fn admit(&self, target: &Target, reach: &Reach) -> Result<(), EgressError> {
        self.0.connector.guard.admit(target, reach)
    }

    /// Opens a connection for someone else's bytes, judged like any other: what the sandbox's proxy needs.
    pub(crate) async fn connect(
        &self,
        target: &Target,
        reach: &Reach,
    ) -> Result<Box<dyn Dialled>, EgressError> {
        let connector = &self.0.connector;
        connector.guard.admit(target, reach)?;
        let deadline = Instant::now() + CONNECT_TIME;
        let opened = connector.open(target, reach, false, deadline).await?;
        Ok(opened.stream)
    }

    /// Encrypts a connection for another protocol than HTTP, by the name that TLS has for it.
    pub(super) async fn encrypt_as<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        target: &Target,
        protocol: &[u8],
    ) -> Result<TlsStream<S>, EgressError> {
        self.0.tls.encrypt(stream, target, Some(protocol)).await
    }

    /// One request and the head of its answer, on a kept connection or a new one.
    async fn exchange(
        &self,
        request: &Request,
        url: &Url,
        target: &Target,
        deadline: Instant,
        noted: &Noted,
    ) -> Result<Answer, EgressError> {
        let way = self.0.connector.way_to(target);
        let mut message = message(request, url, target, way, noted)?;
        loop {
            let kept = self.0.pool.take(target, |address| {
                address.is_none_or(|address| {
                    let guard = &self.0.connector.guard;
                    guard.judge_address(target, &request.reach, address).is_ok()
                })
            });
            let is_new = kept.is_none();
            let mut speaking = match kept {
                Some(speaking) => speaking,
                // Rare, and large: it would be a part of every request that is under way.
                None => Box::pin(self.open(request, target, deadline)).await?,
            };
            let mut failed = match speaking.sender.try_send_request(message).await {
                Ok(answer) => {
                    let (head, body) = answer.into_parts();
                    noted.answered(head.status.as_u16());
                    if head.status == StatusCode::SWITCHING_PROTOCOLS {
                        return Err(EgressError::Upstream(format!(
                            "`{target}` changed the protocol without being asked"
                        )));
                    }
                    return Ok(Answer {
                        status: head.status,
                        headers: head.headers,
                        body,
                        speaking,
                    });
                }
                Err(failed) => failed,
            };
            match failed.take_message() {
                // The server closed the kept connection; nothing of this request was sent on it.
                Some(unsent) if !is_new => message = unsent,
                Some(_) => {
                    return Err(EgressError::unsent(format!(
                        "`{target}` closed the connection before the request was sent"
                    )));
                }
                None => return Err(body::broken(failed.error(), target)),
            }
        }
    }

    async fn open(
        &self,
        request: &Request,
        target: &Target,
        deadline: Instant,
    ) -> Result<Speaking, EgressError> {
        let connector = &self.0.connector;
        let opened = connector
            .open(target, &request.reach, !target.https, deadline)
            .await?;
        let stream = match target.https {
            true => Box::new(self.0.tls.encrypt(opened.stream, target, None).await?),
            false => opened.stream,
        };
        let handshake = http1::Builder::new()
            .max_buf_size(MAX_HEAD)
            .max_header_size(MAX_HEAD)
            .max_headers(MAX_HEADERS)
            .handshake(TokioIo::new(stream))
            .await;
        let (sender, connection) = handshake.map_err(|error| body::broken(&error, target))?;
        // Ends when the sender is dropped, or the server closes; errors reach the caller that waits for an answer.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(Speaking {
            sender,
            address: opened.address,
        })
    }

    async fn read(
        &self,
        body: Incoming,
        headers: &http::HeaderMap,
        request: &Request,
        target: &Target,
        deadline: Instant,
        noted: &Noted,
    ) -> Result<Bytes, EgressError> {
        let packings = match request.method {
            Method::HEAD => Vec::new(),
            _ => body::packings(headers)?,
        };
        let packed = body::read(body, request.max_received, target, noted).await?;
        body::unpack(packings, packed, request.max_received, deadline).await
    }
}

/// The refusal of a request beyond the number that may be sent; `hops`: how many were made before.
fn too_much(target: &Target, hops: u8) -> EgressError {
    EgressError::BadRequest(match hops {
        0 => format!("the request to `{target}` is more than may still be sent"),
        _ => format!(
            "a redirection to `{target}` was not followed: sending the request once more is more than may still be sent (`limits.maxSentBytes`)"
        ),
    })
}

/// The request as it goes over the wire.
fn message(
    request: &Request,
    url: &Url,
    target: &Target,
    way: Way,
    noted: &Noted,
) -> Result<http::Request<Counted>, EgressError> {
    let bad = |what: &str| {
        EgressError::BadUrl(format!(
            "{what} of the URL cannot be sent as it is; percent-encode it"
        ))
    };
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let uri = match way {
        Way::Proxy if !target.https => Uri::builder()
            .scheme("http")
            .authority(target.authority())
            .path_and_query(path)
            .build(),
        Way::Proxy | Way::Direct => Uri::builder().path_and_query(path).build(),
    };
    let mut message = http::Request::new(Counted::new(request.body.clone(), noted));
    *message.method_mut() = request.method.clone();
    *message.uri_mut() = uri.map_err(|_| bad("the path"))?;
    *message.version_mut() = Version::HTTP_11;
    let host = HeaderValue::try_from(target.authority()).map_err(|_| bad("the host"))?;
    let headers = message.headers_mut();
    headers.reserve(request.headers.len() + 4);
    // First, as servers expect it.
    headers.insert(header::HOST, host);
    headers.extend(request.headers.clone());
    headers.entry(header::USER_AGENT).or_insert(USER_AGENT);
    headers
        .entry(header::ACCEPT)
        .or_insert(HeaderValue::from_static("*/*"));
    // A server may wait for a body that was not declared empty.
    let expects_a_body = matches!(request.method, Method::POST | Method::PUT | Method::PATCH);
    if expects_a_body && request.body.is_empty() {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    // A part of something packed cannot be unpacked.
    if !headers.contains_key(header::RANGE) {
        headers
            .entry(header::ACCEPT_ENCODING)
            .or_insert(HeaderValue::from_static(body::ACCEPTED));
    }
    Ok(message)
}

/// The headers without what was true of the body only as it came.
fn without_packing(mut headers: http::HeaderMap) -> http::HeaderMap {
    if headers.remove(header::CONTENT_ENCODING).is_some() {
        headers.remove(header::CONTENT_LENGTH);
    }
    headers
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::testing::{NameTable, RecordingDialler, Reply, ScriptedServer};

    fn hosts(entries: &[&str]) -> AllowedHosts {
        AllowedHosts::parse(entries.iter().copied()).unwrap()
    }

    #[tokio::test]
    async fn a_body_counts_as_sent_when_there_was_a_connection_for_it() {
        let server = ScriptedServer::start(|_| Reply::ok("x"));
        let (url, host) = (server.url("/"), server.host());
        let egress = Egress::new(EgressOptions {
            allowed_hosts: hosts(&[&host]),
            ..EgressOptions::default()
        })
        .unwrap();
        let mut request = Request::get(url.parse().unwrap());
        request.method = Method::POST;
        request.body = "hello".into();
        let sent = |request: &Request| request.log.exchanges().last().map(|last| last.sent);
        egress.send(request.clone()).await.unwrap();
        assert_eq!(sent(&request), Some(5));
        drop(server);
        request.log = super::super::ExchangeLog::default();
        let egress = Egress::new(EgressOptions {
            allowed_hosts: hosts(&[&host]),
            ..EgressOptions::default()
        })
        .unwrap();
        assert!(egress.send(request.clone()).await.is_err());
        assert_eq!(sent(&request), Some(0));
    }

    #[tokio::test]
    async fn a_connection_for_someone_else_is_judged_like_any_other() {
        let server = ScriptedServer::start(|_| Reply::ok("hello").close());
        let names = NameTable::new()
            .name("a.test", &["93.184.216.34"])
            .name("b.test", &["93.184.216.34", "127.0.0.1"]);
        let dialler = RecordingDialler::to(server.address());
        let egress = Egress::new(EgressOptions {
            resolver: Some(Arc::new(names)),
            dialler: Some(Arc::new(dialler.clone())),
            ..EgressOptions::default()
        })
        .unwrap();
        let reach = Reach::Only(hosts(&["a.test", "b.test", "127.0.0.1:9999"]));
        for url in [
            "http://b.test/",
            "http://c.test/",
            "http://127.0.0.1:9999/",
            "http://a.test:81/",
        ] {
            let (_, target) = Target::parse(url).unwrap();
            let result = egress.connect(&target, &reach).await;
            assert!(matches!(result, Err(EgressError::Refused(_))), "{url}");
        }
        let (_, target) = Target::parse("https://a.test/").unwrap();
        let mut stream = egress.connect(&target, &reach).await.unwrap();
        assert_eq!(dialler.dialled(), ["93.184.216.34:443".parse().unwrap()]);
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with("hello"), "{answer}");
    }
}
