//! One request as it is watched: [`Watch`], from its head to the end of its answer.

use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use futures_util::stream::Stream;
use http::{HeaderValue, Method, Response};
use jiff::Timestamp;
use toolcrib::CallId;

use super::Shared;
use super::access::Line;
use super::figures::StreamOpen;
use super::traces::{RequestSpan, SpanContext};
use crate::api::{Body, Peer, RequestId};
use crate::auth::Principal;

/// A request that is being answered. Dropped before its end, it was aborted: its client went away.
pub struct Watch(Option<Box<Watching>>);

struct Watching {
    shared: Arc<Shared>,
    began: Instant,
    began_at: Timestamp,
    method: Method,
    path: String,
    id: String,
    peer: Peer,
    /// The route's place among the figures, and its id.
    route: Option<(usize, &'static str)>,
    principal: Principal,
    note: CallNote,
    status: Option<u16>,
    bytes: u64,
}

/// Where a handler notes the call that a request makes or asks about. Cloning is cheap.
#[derive(Clone, Default)]
pub struct CallNote(Arc<Noted>);

#[derive(Default)]
struct Noted {
    call: OnceLock<CallId>,
    /// The request's span, if it is traced.
    span: Option<(Mutex<SpanContext>, Arc<OnceLock<super::Tracer>>)>,
    /// The span that the call belongs to, where that is not the request's.
    caller: OnceLock<SpanContext>,
}

impl Noted {
    fn span(&self) -> Option<SpanContext> {
        let (span, _) = self.span.as_ref()?;
        Some(*span.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl std::fmt::Debug for CallNote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CallNote").field(&self.0.call.get()).finish()
    }
}

impl CallNote {
    /// Notes a call that the request only asks about: for the log. Its span stays where it is, or comes to be.
    pub fn about(&self, id: &CallId) {
        let _ = self.0.call.set(id.clone());
    }

    /// Notes the call that the request makes, best before it begins. The first one stays.
    pub fn call(&self, id: &CallId) {
        if self.0.call.set(id.clone()).is_err() {
            return;
        }
        if let Some((_, tracer)) = &self.0.span
            && let Some(tracer) = tracer.get()
            && let Some(span) = self.0.caller.get().copied().or_else(|| self.0.span())
        {
            tracer.belongs(id, span);
        }
    }

    /// The body says what the request is part of (`_meta.traceparent` of MCP). A request whose headers say nothing becomes part of that, its
    /// call with it; where they name another trace, the call alone does.
    pub fn is_part_of(&self, traceparent: &str) {
        let Some((span, _)) = &self.0.span else {
            return;
        };
        let Some(caller) = SpanContext::of_another(traceparent) else {
            return;
        };
        let mut span = span.lock().unwrap_or_else(PoisonError::into_inner);
        if span.is_first() {
            *span = span.below(&caller);
        } else if !span.is_of_the_trace_of(&caller) {
            let _ = self.0.caller.set(caller);
        }
    }
}

impl Watch {
    pub(super) fn begin(
        shared: &Arc<Shared>,
        parts: &http::request::Parts,
        peer: &Peer,
        id: &RequestId,
    ) -> Self {
        shared.figures.began();
        let span = shared.tracer.get().map(|_| {
            let span = SpanContext::of_request(&parts.headers);
            (Mutex::new(span), Arc::clone(&shared.tracer))
        });
        Watch(Some(Box::new(Watching {
            shared: Arc::clone(shared),
            began: Instant::now(),
            began_at: Timestamp::now(),
            method: parts.method.clone(),
            // No one else reads them, and most of the cost of watching is copies.
            path: match shared.access {
                Some(_) => parts.uri.path().to_owned(),
                None => String::new(),
            },
            id: match (&shared.access, &span) {
                (None, None) => String::new(),
                _ => id.0.clone(),
            },
            peer: peer.clone(),
            route: None,
            principal: Principal::Nobody,
            note: CallNote(Arc::new(Noted {
                call: OnceLock::new(),
                span,
                caller: OnceLock::new(),
            })),
            status: None,
            bytes: 0,
        })))
    }

    /// The request is for this route (by the id of its documentation) and comes from this principal.
    pub fn routed(&mut self, route: &'static str, principal: &Principal) {
        if let Some(watching) = &mut self.0 {
            watching.route = watching.shared.figures.route(route).map(|at| (at, route));
            watching.principal = principal.clone();
        }
    }

    /// The request comes from this principal, and is for no route.
    pub fn by(&mut self, principal: &Principal) {
        if let Some(watching) = &mut self.0 {
            watching.principal = principal.clone();
        }
    }

    /// Where the handler may note a call.
    pub fn note(&self) -> CallNote {
        let watching = self.0.as_ref();
        watching.map_or_else(CallNote::default, |watching| watching.note.clone())
    }

    /// Notes the call that the request makes.
    pub fn call(&self, id: &CallId) {
        self.note().call(id);
    }

    /// Follows an answer to its end: a whole one ends here, a stream when it is read to its end or dropped. A traced request's answer
    /// says which trace it is part of.
    pub fn answered(mut self, response: Response<Body>) -> Response<Body> {
        let (mut parts, body) = response.into_parts();
        if let Some(watching) = &mut self.0 {
            watching.status = Some(parts.status.as_u16());
            if let Some(span) = watching.note.0.span()
                && let Ok(value) = HeaderValue::from_str(&span.traceparent())
            {
                parts.headers.insert("traceresponse", value);
            }
        }
        let body = match body {
            Body::Whole(bytes) => {
                let size = bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
                self.done(parts.status.as_u16(), size);
                Body::Whole(bytes)
            }
            Body::Stream(pieces) => Body::stream(Followed {
                pieces,
                _open: self
                    .0
                    .as_ref()
                    .map(|it| StreamOpen::new(&it.shared.figures)),
                watch: self,
            }),
        };
        Response::from_parts(parts, body)
    }

    /// The answer is over.
    pub fn done(mut self, status: u16, bytes: u64) {
        if let Some(mut watching) = self.0.take() {
            watching.status = Some(status);
            watching.bytes = bytes;
            watching.end(Ended::Whole);
        }
    }

    fn finished(&mut self) {
        if let Some(watching) = self.0.take() {
            watching.end(Ended::Whole);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(watching) = self.0.take() {
            watching.end(Ended::Aborted);
        }
    }
}

/// How a request came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// All of the answer was made and taken.
    Whole,
    /// Its client went away before.
    Aborted,
}

impl Watching {
    fn end(self: Box<Self>, ended: Ended) {
        let shared = Arc::clone(&self.shared);
        let duration = self.began.elapsed();
        let route = self.route.map(|(at, _)| at);
        shared.figures.ended(route, self.status, ended, duration);
        if let Some(tracer) = shared.tracer.get()
            && let Some(context) = self.note.0.span()
        {
            tracer.request(RequestSpan {
                context,
                began_at: self.began_at,
                duration,
                method: self.method.clone(),
                route: route.and_then(|at| shared.figures.path_of(at)),
                status: self.status,
                ended,
                request_id: self.id.clone(),
                principal: self.principal.clone(),
            });
        }
        if let Some(access) = &shared.access {
            access.write(Line {
                at: self.began_at,
                peer: self.peer,
                principal: self.principal,
                method: self.method,
                path: self.path,
                route: self.route.map(|(_, id)| id),
                status: self.status,
                ended,
                duration,
                bytes: self.bytes,
                request_id: self.id,
                call_id: self.note.0.call.get().cloned(),
            });
        }
    }
}

/// A stream that reports its end to its watch.
struct Followed {
    pieces: futures_util::stream::BoxStream<'static, Bytes>,
    _open: Option<StreamOpen>,
    watch: Watch,
}

impl Stream for Followed {
    type Item = Bytes;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let piece = self.pieces.as_mut().poll_next(cx);
        match &piece {
            Poll::Ready(Some(piece)) => {
                if let Some(watching) = &mut self.watch.0 {
                    watching.bytes += piece.len() as u64;
                }
            }
            Poll::Ready(None) => self.watch.finished(),
            Poll::Pending => {}
        }
        piece
    }
}
