//! Up to 2025-11-25: `initialize`, sessions, streams that a client can come back to.
//!
//! A connection that breaks takes no request back: from the moment that its answer is a stream, a request is processed by a separate task,
//! and its messages are kept for a client that comes back with `Last-Event-ID`. Before that no one could come back to it, and it ends with
//! its connection.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::super::answer::{Exchange, Sent};
use super::super::dispatch::{Expect, Taken};
use super::super::outbox::Outbox;
use super::super::params::Params;
use super::super::refusals::unsupported;
use super::super::session::Session;
use super::super::{Server, answer::Answer};
use super::accept::Takes;
use super::events::{EventLog, LogReader, parse_id};
use super::sessions::{STANDALONE, Using};
use super::{First, HttpAnswer, HttpBody, HttpRequest, Refused, empty, mirrored};
use crate::protocol::{LEGACY, MODERN, VERSIONS};
use crate::rpc::{Message, RpcError, code};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// How long what runs may go on when its session has ended.
const GRACE: Duration = Duration::from_secs(2);

impl Server {
    /// Answers one message.
    pub(super) async fn legacy(
        &self,
        request: &HttpRequest,
        message: Message<'_>,
    ) -> Result<HttpAnswer, Refused> {
        let id = match &message {
            Message::Request { id, .. } => Some(id.clone()),
            Message::Notification { .. } | Message::Response { .. } => None,
        };
        if !request.headers.contains_key(SESSION) {
            return match &message {
                Message::Request { method, .. } if method == "initialize" => {
                    self.initialized(request, message)
                }
                Message::Request { params, .. } => Err(without_session(request, *params).of(id)),
                Message::Notification { .. } | Message::Response { .. } => Err(no_session()),
            };
        }
        let using = self.session(request).map_err(|it| it.of(id.clone()))?;
        let Some(id) = id else {
            let outbox = &using.session.outbox;
            self.dispatch(&using.session, outbox, message, Expect::Legacy);
            return Ok(empty(StatusCode::ACCEPTED));
        };
        let takes = super::takes(&request.headers).map_err(|it| it.of(Some(id)))?;
        self.request_in(using, message, takes).await
    }

    /// Answers `initialize`, which begins a session.
    fn initialized(
        &self,
        request: &HttpRequest,
        message: Message<'_>,
    ) -> Result<HttpAnswer, Refused> {
        let takes = super::takes(&request.headers)?;
        let session = Session::new(Arc::clone(&request.principal), Arc::default());
        let outbox = Arc::clone(&session.outbox);
        let answer = match self.dispatch(&session, &outbox, message, Expect::Legacy) {
            Taken::Answer(answer) => answer,
            Taken::Nothing | Taken::Answering(_) => return Err(no_session()),
        };
        if answer.result.is_err() {
            return Ok(self.whole(StatusCode::BAD_REQUEST, &answer, takes));
        }
        let added = self.0.http.add(Arc::clone(&session)).map_err(|_| {
            let full = RpcError::new(
                code::INTERNAL_ERROR,
                "there are too many sessions; end some with DELETE, or come back later",
            );
            Refused::new(StatusCode::TOO_MANY_REQUESTS, full).of(answer.id.clone())
        })?;
        self.0.sessions.add(&session);
        let mut response = self.whole(StatusCode::OK, &answer, takes);
        if let Ok(id) = HeaderValue::from_str(&added.id.to_string()) {
            response.headers.insert(SESSION, id);
        }
        Ok(response)
    }

    /// Answers a request of a session.
    async fn request_in(
        &self,
        using: Using,
        message: Message<'_>,
        takes: Takes,
    ) -> Result<HttpAnswer, Refused> {
        let outbox = outbox_for(&using, takes);
        let answering = match self.dispatch(&using.session, &outbox, message, Expect::Legacy) {
            Taken::Nothing => return Ok(empty(StatusCode::ACCEPTED)),
            Taken::Answer(answer) => return Ok(self.told(&answer, takes)),
            Taken::Answering(answering) => answering,
        };
        if takes == Takes::Json {
            return Ok(match answering.await {
                Some(answer) => self.told(&answer, takes),
                None => empty(StatusCode::ACCEPTED),
            });
        }
        let mut exchange = answering.with_outbox(Arc::clone(&self.0), outbox);
        let first = match First::of(&mut exchange).await {
            First::Answer(answer) => return Ok(self.told(&answer, takes)),
            First::Nothing => return Ok(empty(StatusCode::ACCEPTED)),
            First::More(first) => first,
        };
        let log = using.stream();
        if let Some(first) = first {
            log.push(&first);
        }
        let reader = log.read(None, primes(using.version()));
        tokio::spawn(pump(exchange, log, using));
        let frames = stream::unfold(reader, async |mut reader: LogReader| {
            reader.next().await.map(|frame| (frame, reader))
        });
        Ok(super::stream_answer(HttpBody::Stream(frames.boxed())))
    }

    /// Errors of requests are answers like others in this era: a status would hide them from clients.
    fn told(&self, answer: &Answer, takes: Takes) -> HttpAnswer {
        let is_mismatch = |error: &RpcError| {
            matches!(
                error.code,
                code::HEADER_MISMATCH | code::UNSUPPORTED_VERSION
            )
        };
        let status = match &answer.result {
            Err(error) if is_mismatch(error) => StatusCode::BAD_REQUEST,
            Ok(_) | Err(_) => StatusCode::OK,
        };
        self.whole(status, answer, takes)
    }

    /// `GET`: the stream of a session that belongs to no request, or one that broke off.
    pub(super) fn listen_again(&self, request: &HttpRequest) -> Result<HttpAnswer, Refused> {
        check_version(&request.headers)?;
        if super::takes(&request.headers)? == Takes::Json {
            return Err(super::not_acceptable(
                "this is a stream; send `Accept: text/event-stream`",
            ));
        }
        let using = self.session(request)?;
        let last = mirrored::single(&request.headers, &LAST_EVENT).map_err(Refused::bad)?;
        let (number, after) = match last.filter(|last| !last.is_empty()) {
            None => (STANDALONE, None),
            Some(last) => {
                let place = parse_id(last).ok_or_else(|| {
                    Refused::bad(super::invalid("`Last-Event-ID` is not the id of an event"))
                })?;
                (place.0, Some(place.1))
            }
        };
        let log = using.stream_of(number).ok_or_else(|| {
            Refused::bad(super::invalid(
                "the stream of this `Last-Event-ID` is not kept any more",
            ))
        })?;
        let reader = log.read(after, primes(using.version()));
        let frames = match number == STANDALONE {
            true => stream::unfold(Standalone { reader, log, using }, Standalone::next).boxed(),
            false => stream::unfold((reader, using), async |(mut reader, using)| {
                let frame: Bytes = reader.next().await?;
                Some((frame, (reader, using)))
            })
            .boxed(),
        };
        Ok(super::stream_answer(HttpBody::Stream(frames)))
    }

    /// `DELETE`: ends a session.
    pub(super) fn end_session(&self, request: &HttpRequest) -> Result<HttpAnswer, Refused> {
        check_version(&request.headers)?;
        let using = self.session(request)?;
        self.0.http.remove(&using);
        Ok(empty(StatusCode::NO_CONTENT))
    }

    /// The session that a request names.
    fn session(&self, request: &HttpRequest) -> Result<Using, Refused> {
        let id = mirrored::single(&request.headers, &SESSION)
            .map_err(Refused::bad)?
            .ok_or_else(no_session)?;
        let using = self.0.http.enter(id, &request.principal);
        using.ok_or_else(|| {
            Refused::new(
                StatusCode::NOT_FOUND,
                super::invalid("there is no such session; begin another with `initialize`"),
            )
        })
    }
}

/// Where a request puts what comes before its answer: on its own stream; for a client that takes none, on that of the session, if
/// someone reads it, and else nowhere.
fn outbox_for(using: &Using, takes: Takes) -> Arc<Outbox> {
    if takes != Takes::Json {
        return Arc::default();
    }
    if using.standalone.is_read() {
        return Arc::clone(&using.session.outbox);
    }
    let nowhere: Arc<Outbox> = Arc::default();
    nowhere.close();
    nowhere
}

/// Whether a client of this version knows events without data, which tell it where to come back to. Older ones read them as JSON.
fn primes(version: &str) -> bool {
    version >= LEGACY
}

/// Processes a request until it is answered, even if no one listens. The session is in use until then.
async fn pump(mut exchange: Exchange, log: Arc<EventLog>, using: Using) {
    let ended = using.session.ended.clone();
    let mut pumping = std::pin::pin!(async {
        while let Some(sent) = exchange.next().await {
            match sent {
                Sent::Message(text) => log.push(&text),
                Sent::Answer(answer) => log.push(&answer.to_bytes(&exchange.server)),
            }
        }
    });
    // A session that ends takes its requests with it; they may put their things in order.
    if ended.run_until_cancelled(&mut pumping).await.is_none() {
        let _ = tokio::time::timeout(GRACE, pumping).await;
    }
    log.finish();
}

/// A connection that reads what belongs to no request.
struct Standalone {
    reader: LogReader,
    log: Arc<EventLog>,
    using: Using,
}

impl Standalone {
    async fn next(mut self) -> Option<(Bytes, Self)> {
        loop {
            let outbox = &self.using.session.outbox;
            tokio::select! {
                biased;
                frame = self.reader.next() => return frame.map(|frame| (frame, self)),
                message = std::future::poll_fn(|task| outbox.poll_next(task)) => {
                    self.log.push(&message?);
                }
            }
        }
    }
}

fn no_session() -> Refused {
    Refused::bad(super::invalid(
        "the header `Mcp-Session-Id` is missing: begin with `initialize`, whose answer has one; or speak 2026-07-28",
    ))
}

/// Why a request without a session is refused: it needs one, or it is of the newer era and its headers do not say so.
fn without_session(request: &HttpRequest, params: Option<&serde_json::value::RawValue>) -> Refused {
    let said = Params::read(params).ok().and_then(|params| {
        let version = params.meta?.version().ok()?;
        Some(version.into_owned())
    });
    let header = request.headers.contains_key(mirrored::VERSION);
    match said {
        Some(said) if said == MODERN || !VERSIONS.contains(&said.as_str()) => {
            Refused::bad(RpcError::new(
                code::HEADER_MISMATCH,
                match header {
                    true => "the header `mcp-protocol-version` and the body do not say the same",
                    false => "the header `mcp-protocol-version` is missing",
                },
            ))
        }
        Some(_) | None => no_session(),
    }
}

/// Refuses versions that have no sessions, and those that are none.
fn check_version(headers: &HeaderMap) -> Result<(), Refused> {
    match mirrored::single(headers, &mirrored::VERSION).map_err(Refused::bad)? {
        Some(MODERN) => Err(super::not_allowed(
            "since 2026-07-28 there are no sessions; `subscriptions/listen` reports changes",
        )),
        Some(version) if !VERSIONS.contains(&version) => Err(Refused::bad(unsupported(version))),
        Some(_) | None => Ok(()),
    }
}
