//! What a program asks for, and how it is passed on.
//!
//! The parser is hyper's: one that refuses what two readers would read in two ways (two lengths, a length in HTTP/1.0 beside chunks,
//! bare CR, NUL), and nothing of what the client wrote as framing is passed on. A line that ends with a bare LF is read as a line, as RFC
//! 9112 lets a server do, and goes on with CR and LF: heads and bodies are written again, so that a request is one request on both sides. Every request has its own connection to its server: a server sees no request
//! of this client behind one that it read differently.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode, Uri, Version};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as _, Frame, Incoming};
use hyper_util::rt::TokioIo;
use url::Url;

use super::activity::Watched;
use super::tunnel::Tunnel;
use super::{Client, MAX_HEAD, MAX_HEADERS};
use crate::model::exchange::Noted;
use crate::target::EgressError;
use crate::target::HOP_BY_HOP;
use crate::target::Target;

/// Says with a refusal that it is ours, and not the server's.
const REFUSED: HeaderName = HeaderName::from_static("x-toolcrib-refused");

pub(super) type Body = UnsyncBoxBody<Bytes, hyper::Error>;

/// Why a request is answered here.
struct Refused {
    status: StatusCode,
    /// Whether no one may be reached, as opposed to no one being reached.
    forbidden: bool,
    message: String,
}

/// Answers a request: with what a server said, with the beginning of a tunnel, or with why not.
pub(super) async fn answer(client: &Arc<Client>, request: Request<Incoming>) -> Response<Body> {
    let answered = match *request.method() {
        Method::CONNECT => open_tunnel(client, request).await,
        _ => pass_on(client, request).await,
    };
    let mut response = answered.unwrap_or_else(|refused| refused.response());
    // Others wait for a place: one who has its answer makes room.
    if client.proxy.places.available_permits() == 0 && client.tunnel().is_none() {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(header::CONNECTION, close);
    }
    response
}

/// `CONNECT host:port`.
async fn open_tunnel(
    client: &Client,
    request: Request<Incoming>,
) -> Result<Response<Body>, Refused> {
    let uri = request.uri();
    let authority = match (uri.scheme(), uri.path_and_query(), uri.authority()) {
        (None, None, Some(authority)) if authority.port().is_some() => authority.as_str(),
        _ => return Err(bad("CONNECT wants `host:port`")),
    };
    let framed = [header::CONTENT_LENGTH, header::TRANSFER_ENCODING];
    if framed
        .iter()
        .any(|name| request.headers().contains_key(name))
    {
        return Err(bad("CONNECT has no body"));
    }
    let (url, target) = target("https", authority)?;
    check_host(request.headers(), "https", &target)?;
    let upstream = connect(client, &target).await?;
    let noted = client
        .proxy
        .log
        .begin(Method::CONNECT.as_str(), url.as_str(), target.to_string());
    noted.answered(StatusCode::OK.as_u16());
    let tunnel = Tunnel {
        upgrade: hyper::upgrade::on(request),
        upstream: Watched::new(upstream, &client.activity),
        target,
        noted,
    };
    *client.tunnel() = Some(tunnel);
    Ok(Response::new(text(String::new())))
}

/// `GET http://host/path`, and every other method.
async fn pass_on(client: &Client, request: Request<Incoming>) -> Result<Response<Body>, Refused> {
    let uri = request.uri();
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err(bad(
            "this is a proxy: it wants a whole URL (`GET http://host/path`), or CONNECT",
        ));
    };
    if scheme != "http" {
        return Err(bad(
            "only `http` is passed on by its URL; everything else goes through CONNECT",
        ));
    }
    let (url, target) = target("http", authority.as_str())?;
    check_host(request.headers(), "http", &target)?;
    check_framing(&request)?;
    let upstream = connect(client, &target).await?;
    let whole = Url::parse(&uri.to_string()).unwrap_or(url);
    let noted = client.proxy.log.begin(
        request.method().as_str(),
        whole.as_str(),
        target.to_string(),
    );
    let answered = exchange(client, request, &target, upstream, &noted).await;
    answered.map_err(|error| Refused {
        status: StatusCode::BAD_GATEWAY,
        forbidden: false,
        message: format!("`{}` did not answer as a server does: {error}", target),
    })
}

/// Sends the request over its own connection, and answers with what comes back, as it comes.
async fn exchange(
    client: &Client,
    request: Request<Incoming>,
    target: &Target,
    upstream: Box<dyn crate::egress::Dialled>,
    noted: &Noted,
) -> Result<Response<Body>, hyper::Error> {
    let io = TokioIo::new(Watched::new(upstream, &client.activity));
    let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
        .max_buf_size(2 * MAX_HEAD)
        .max_headers(MAX_HEADERS)
        .preserve_header_case(true)
        .handshake(io)
        .await?;
    client.drive(async move {
        // Errors are reported to the waiting reader of the answer or its body.
        let _ = connection.await;
    });
    let (mut head, body) = request.into_parts();
    let sent = noted.clone();
    head.uri = origin_form(&head.uri);
    head.version = Version::HTTP_11;
    strip(&mut head.headers);
    // Rewritten: as long as the body is, where that is known, and in chunks otherwise.
    let said = head.headers.remove(header::CONTENT_LENGTH);
    if let (Some(_), Some(length)) = (said, body.size_hint().exact()) {
        head.headers.insert(header::CONTENT_LENGTH, length.into());
    }
    // Answered here, when the body is asked for.
    head.headers.remove(header::EXPECT);
    if let Ok(host) = HeaderValue::try_from(target.authority()) {
        head.headers.insert(header::HOST, host);
    }
    head.headers
        .insert(header::CONNECTION, HeaderValue::from_static("close"));
    let body = body.map_frame(move |frame| {
        sent.sent(length(&frame));
        frame
    });
    let response = sender.send_request(Request::from_parts(head, body)).await?;
    noted.answered(response.status().as_u16());
    let received = noted.clone();
    let (mut head, body) = response.into_parts();
    strip(&mut head.headers);
    let body = body.map_frame(move |frame| {
        received.received(length(&frame));
        frame
    });
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() = head.status;
    *response.headers_mut() = head.headers;
    Ok(response)
}

async fn connect(
    client: &Client,
    target: &Target,
) -> Result<Box<dyn crate::egress::Dialled>, Refused> {
    let proxy = &client.proxy;
    let connected = proxy.egress.connect(target, &proxy.reach).await;
    connected.map_err(|error| {
        let (status, forbidden) = match &error {
            EgressError::Refused(_) => {
                proxy.note_refused(target.to_string());
                (StatusCode::FORBIDDEN, true)
            }
            EgressError::BadUrl(_) | EgressError::BadRequest(_) => (StatusCode::BAD_REQUEST, false),
            EgressError::Network { .. }
            | EgressError::Upstream(_)
            | EgressError::TooLong { .. } => (StatusCode::BAD_GATEWAY, false),
            EgressError::Timeout(_) => (StatusCode::GATEWAY_TIMEOUT, false),
        };
        Refused {
            status,
            forbidden,
            message: error.to_string(),
        }
    })
}

/// Reads who is meant. Only the authority is read, so that no path can change what it means.
fn target(scheme: &str, authority: &str) -> Result<(Url, Target), Refused> {
    if authority.contains('@') {
        return Err(bad("a host has no user name here"));
    }
    Target::parse(&format!("{scheme}://{authority}/")).map_err(|error| bad(&error.to_string()))
}

/// The header `Host`, where there is one, names whom the request is for.
fn check_host(headers: &HeaderMap, scheme: &str, meant: &Target) -> Result<(), Refused> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let Some(said) = hosts.next() else {
        return Ok(());
    };
    let said = said
        .to_str()
        .map_err(|_| bad("the header Host is not text"))?;
    if hosts.next().is_some() || target(scheme, said)?.1 != *meant {
        return Err(bad(
            "the header Host names another host than the request is for",
        ));
    }
    Ok(())
}

/// Refuses bodies that would have to be unpacked to be passed on.
fn check_framing(request: &Request<Incoming>) -> Result<(), Refused> {
    let mut codings = request.headers().get_all(header::TRANSFER_ENCODING).iter();
    let Some(coding) = codings.next() else {
        return Ok(());
    };
    if codings.next().is_some() || !coding.as_bytes().eq_ignore_ascii_case(b"chunked") {
        return Err(bad("the only Transfer-Encoding is `chunked`"));
    }
    Ok(())
}

/// Takes out what is for one connection only.
fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        // Not for a client to take away.
        .filter(|name| *name != header::HOST && *name != header::CONTENT_LENGTH)
        .collect();
    for name in &named {
        headers.remove(name);
    }
    for name in HOP_BY_HOP {
        headers.remove(*name);
    }
}

fn origin_form(uri: &Uri) -> Uri {
    let path = uri.path_and_query().cloned();
    path.map_or_else(Uri::default, Uri::from)
}

fn length(frame: &Frame<Bytes>) -> u64 {
    frame.data_ref().map_or(0, |data| data.len() as u64)
}

fn bad(message: &str) -> Refused {
    Refused {
        status: StatusCode::BAD_REQUEST,
        forbidden: false,
        message: message.to_owned(),
    }
}

fn text(text: String) -> Body {
    Full::new(Bytes::from(text))
        .map_err(|never| match never {})
        .boxed_unsync()
}

impl Refused {
    fn response(self) -> Response<Body> {
        let mut response = Response::new(text(format!("toolcrib: {}\n", self.message)));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
        );
        if self.forbidden {
            headers.insert(REFUSED, HeaderValue::from_static("host-not-allowed"));
        }
        response
    }
}
