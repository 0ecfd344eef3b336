//! Streamable HTTP: one endpoint, both eras. The owner of the listener checks callers, `Host` and `Origin`.
//!
//! Which era a request is of is said by its `MCP-Protocol-Version` and by nothing else: a body that says otherwise is refused, so that
//! proxies that read headers read the truth. Most requests are answered with one JSON object and cost no task, no
//! channel and no stream; those that have something to tell before their result, or take a moment, become a stream.

mod accept;
mod events;
mod legacy;
mod mirrored;
mod modern;
mod sessions;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

use super::Server;
use super::answer::{Answer, Exchange, Sent};
use super::refusals::unsupported;
use crate::protocol::{MODERN, VERSIONS};
use crate::rpc::{self, Id, Message, RpcError, code};
use accept::Takes;
pub(crate) use sessions::HttpSessions;

/// How long a request may take before its answer becomes a stream.
const MOMENT: Duration = Duration::from_millis(250);

const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// A request to the endpoint.
#[derive(Debug)]
pub struct HttpRequest {
    /// `POST`, and up to 2025-11-25 `GET` and `DELETE`.
    pub method: Method,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its whole body.
    pub body: Bytes,
    /// The asking principal; a session belongs to the one that began it.
    pub principal: Arc<str>,
}

/// The answer of the endpoint.
pub struct HttpAnswer {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: HttpBody,
}

/// The body of an answer.
pub enum HttpBody {
    /// Known as a whole.
    Whole(Bytes),
    /// Server-sent events. Dropping it is what the protocol makes of a client that goes.
    Stream(BoxStream<'static, Bytes>),
}

impl Server {
    /// Answers one HTTP request. There is always an answer.
    pub async fn answer_http(&self, request: HttpRequest) -> HttpAnswer {
        let answered = match request.method {
            Method::POST => self.post(&request).await,
            Method::GET => self.listen_again(&request),
            Method::DELETE => self.end_session(&request),
            _ => Err(not_allowed("this address takes POST, GET and DELETE")),
        };
        answered.unwrap_or_else(|refused| refused.into_answer())
    }

    /// Ends the sessions of those who are gone; what runs in them is cancelled.
    pub fn end_sessions(&self, is_gone: impl Fn(&str) -> bool) {
        self.0.http.remove_of(is_gone);
    }

    async fn post(&self, request: &HttpRequest) -> Result<HttpAnswer, Refused> {
        if !accept::is_json(&request.headers) {
            return Err(Refused::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                invalid("send one message as `Content-Type: application/json`"),
            ));
        }
        let message = rpc::read(&request.body).map_err(|malformed| Refused {
            status: StatusCode::BAD_REQUEST,
            id: malformed.id.map(Box::new),
            error: Box::new(malformed.error),
        })?;
        let id = || match &message {
            Message::Request { id, .. } => Some(id.clone()),
            Message::Notification { .. } | Message::Response { .. } => None,
        };
        let version = mirrored::single(&request.headers, &mirrored::VERSION)
            .map_err(|error| Refused::bad(error).of(id()))?;
        match version {
            Some(MODERN) => self.modern(request, message).await,
            None => self.legacy(request, message).await,
            Some(version) if VERSIONS.contains(&version) => self.legacy(request, message).await,
            // What the body says decides which of two errors it is.
            Some(_) if matches!(message, Message::Request { .. }) => {
                self.modern(request, message).await
            }
            Some(version) => Err(Refused::bad(unsupported(version))),
        }
    }
}

/// The first thing that comes of a request.
enum First {
    /// Its answer, and nothing before it.
    Answer(Answer),
    /// Nothing: its client took it back.
    Nothing,
    /// A message on the way; or nothing for a moment.
    More(Option<Bytes>),
}

impl First {
    async fn of(exchange: &mut Exchange) -> Self {
        let first = tokio::select! {
            biased;
            first = exchange.next() => first,
            () = tokio::time::sleep(MOMENT) => return First::More(None),
        };
        match first {
            Some(Sent::Answer(answer)) => First::Answer(answer),
            Some(Sent::Message(text)) => First::More(Some(text)),
            None => First::Nothing,
        }
    }
}

impl Server {
    /// An answer that is known as a whole, in the form that its client takes.
    fn whole(&self, status: StatusCode, answer: &Answer, takes: Takes) -> HttpAnswer {
        let text = answer.to_bytes(&self.0);
        match takes {
            Takes::Either | Takes::Json => json_answer(status, text),
            Takes::Events if status != StatusCode::OK => json_answer(status, text),
            Takes::Events => stream_answer(HttpBody::Whole(events::event(&text))),
        }
    }
}

fn json_answer(status: StatusCode, text: Bytes) -> HttpAnswer {
    let mut headers = HeaderMap::with_capacity(4);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    HttpAnswer {
        status,
        headers,
        body: HttpBody::Whole(text),
    }
}

fn stream_answer(body: HttpBody) -> HttpAnswer {
    let mut headers = HeaderMap::with_capacity(8);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies that collect answers would hold events back.
    headers.insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    HttpAnswer {
        status: StatusCode::OK,
        headers,
        body,
    }
}

/// An answer without a body.
fn empty(status: StatusCode) -> HttpAnswer {
    HttpAnswer {
        status,
        headers: HeaderMap::new(),
        body: HttpBody::Whole(Bytes::new()),
    }
}

/// A request that is not carried out.
struct Refused {
    status: StatusCode,
    id: Option<Box<Id>>,
    error: Box<RpcError>,
}

impl Refused {
    fn new(status: StatusCode, error: RpcError) -> Self {
        Refused {
            status,
            id: None,
            error: Box::new(error),
        }
    }

    fn bad(error: RpcError) -> Self {
        Refused::new(StatusCode::BAD_REQUEST, error)
    }

    /// Sets the id of the request.
    fn of(mut self, id: Option<Id>) -> Self {
        self.id = id.map(Box::new);
        self
    }

    fn into_answer(self) -> HttpAnswer {
        let mut text = Vec::with_capacity(256);
        rpc::write_error(self.id.as_deref(), &self.error, &mut text);
        let mut answer = json_answer(self.status, text.into());
        match self.status {
            StatusCode::METHOD_NOT_ALLOWED => {
                let allow = HeaderValue::from_static("DELETE, GET, POST");
                answer.headers.insert(ALLOW, allow);
            }
            StatusCode::TOO_MANY_REQUESTS => {
                let second = HeaderValue::from_static("1");
                answer.headers.insert(RETRY_AFTER, second);
            }
            _ => {}
        }
        answer
    }
}

fn invalid(message: &str) -> RpcError {
    RpcError::new(code::INVALID_REQUEST, message)
}

fn not_allowed(message: &str) -> Refused {
    Refused::new(StatusCode::METHOD_NOT_ALLOWED, invalid(message))
}

fn not_acceptable(message: &str) -> Refused {
    Refused::new(StatusCode::NOT_ACCEPTABLE, invalid(message))
}

/// What a client takes as the answer to a request.
fn takes(headers: &HeaderMap) -> Result<Takes, Refused> {
    Takes::of(headers).ok_or_else(|| {
        not_acceptable("send `Accept: application/json, text/event-stream`, or one of the two")
    })
}
