//! An answer in the making ([`Answering`]) and made ([`Answer`]).
//!
//! Results come written from the host; what an era adds is spliced in as text.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll};

use bytes::Bytes;
use futures_util::Stream;
use futures_util::future::BoxFuture;

use super::context::ClientLink;
use super::listen::Listening;
use super::outbox::Outbox;
use super::session::Session;
use super::{CacheScope, Caching, Capable, Inner, Reply};
use crate::protocol::{ClientCapabilities, Era};
use crate::rpc::{Id, RpcError, code, write_error, write_id, write_text};

/// Whether results of a method say how long they stay true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// They do.
    ForAWhile,
    /// They do, but this one depends on input that is not part of the question.
    NotThisTime,
    /// They do not.
    Never,
}

/// What a request is answered with.
pub(crate) struct Answer {
    pub(crate) id: Option<Id>,
    pub(crate) result: Result<Outcome, RpcError>,
}

/// A result.
pub(crate) enum Outcome {
    /// Written already, as it goes out.
    Text(Bytes),
    /// Of a subscription that the server ended, written already.
    Ended(Bytes),
    /// From a host.
    Reply {
        era: Era,
        keeps: Keeps,
        reply: Reply,
    },
}

impl Answer {
    /// A request without a result.
    pub(crate) fn error(id: Option<Id>, error: RpcError) -> Self {
        Answer {
            id,
            result: Err(error),
        }
    }

    /// A result that is written.
    pub(crate) fn text(id: Id, text: impl Into<Bytes>) -> Self {
        Answer {
            id: Some(id),
            result: Ok(Outcome::Text(text.into())),
        }
    }

    /// Writes the whole message, without the end of the line.
    pub(crate) fn write(&self, server: &Inner, out: &mut Vec<u8>) {
        let outcome = match &self.result {
            Ok(outcome) => outcome,
            Err(error) => return write_error(self.id.as_ref(), error, out),
        };
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        if let Some(id) = &self.id {
            write_id(id, out);
        }
        out.extend_from_slice(b",\"result\":");
        match outcome {
            Outcome::Text(text) | Outcome::Ended(text) => out.extend_from_slice(text),
            Outcome::Reply { era, keeps, reply } => write_reply(server, *era, *keeps, reply, out),
        }
        out.push(b'}');
    }

    /// The whole message as a separate text.
    pub(crate) fn to_bytes(&self, server: &Inner) -> Bytes {
        let mut out = Vec::new();
        self.write(server, &mut out);
        out.into()
    }
}

fn write_reply(server: &Inner, era: Era, keeps: Keeps, reply: &Reply, out: &mut Vec<u8>) {
    match reply {
        Reply::Complete { body, caching } => {
            let start = out.len();
            if era.is_modern() {
                write_modern(server, keeps, *caching, body, out);
            } else {
                out.extend_from_slice(body);
            }
            in_one_line(&mut out[start..]);
        }
        Reply::InputRequired { requests, state } => {
            out.extend_from_slice(b"{\"resultType\":\"input_required\"");
            if !requests.is_empty() {
                out.extend_from_slice(b",\"inputRequests\":");
                // Values that are in memory can be written to memory.
                let _ = serde_json::to_writer(&mut *out, requests);
            }
            if let Some(state) = state {
                out.extend_from_slice(b",\"requestState\":");
                write_text(state, out);
            }
            out.extend_from_slice(b",\"_meta\":{");
            out.extend_from_slice(&server.texts.server_info_member);
            out.extend_from_slice(b"}}");
        }
    }
}

/// Takes the ends of lines out of a JSON text. They can only be whitespace between its parts: in a string they are escaped.
fn in_one_line(text: &mut [u8]) {
    let mut from = 0;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', &text[from..]) {
        from += at;
        text[from] = b' ';
    }
}

/// Splices what a modern result has into one that is written. A `_meta` of the host's is its first member, by contract.
fn write_modern(
    server: &Inner,
    keeps: Keeps,
    caching: Option<Caching>,
    body: &[u8],
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(b"{\"resultType\":\"complete\",");
    let caching = match keeps {
        Keeps::Never => None,
        Keeps::NotThisTime => Some(Caching::NONE),
        Keeps::ForAWhile => Some(caching.unwrap_or(Caching::NONE)),
    };
    if let Some(caching) = caching {
        out.extend_from_slice(b"\"ttlMs\":");
        let _ = serde_json::to_writer(&mut *out, &caching.ttl_ms);
        out.extend_from_slice(match caching.scope {
            CacheScope::Public => b",\"cacheScope\":\"public\",".as_slice(),
            CacheScope::Private => b",\"cacheScope\":\"private\",".as_slice(),
        });
    }
    out.extend_from_slice(b"\"_meta\":{");
    out.extend_from_slice(&server.texts.server_info_member);
    if let Some(rest) = body.strip_prefix(b"{\"_meta\":{") {
        if !rest.starts_with(b"}") {
            out.push(b',');
        }
        out.extend_from_slice(rest);
    } else {
        out.push(b'}');
        let rest = body.get(1..).unwrap_or(b"}");
        if rest != b"}" {
            out.push(b',');
        }
        out.extend_from_slice(rest);
    }
}

/// The source of an answer.
pub(crate) enum Work {
    /// The host.
    Host(BoxFuture<'static, Result<Reply, RpcError>>),
    /// Nobody: a subscription is answered when it ends.
    Listening(Listening),
    /// It is done.
    Done,
}

/// An answer in the making. Resolves to `None` if the client took the request back. Dropping it cancels the request.
pub(crate) struct Answering {
    pub(crate) id: Id,
    pub(crate) era: Era,
    pub(crate) keeps: Keeps,
    pub(crate) work: Work,
    pub(crate) session: Arc<Session>,
    pub(crate) way: Arc<ClientLink>,
    pub(crate) capabilities: Arc<ClientCapabilities>,
    pub(crate) cancelled: tokio_util::sync::CancellationToken,
    pub(crate) tracked: Option<u64>,
}

impl Answering {
    /// Whether it is a subscription, which ends only when someone ends it.
    pub(crate) fn is_listening(&self) -> bool {
        matches!(self.work, Work::Listening(_))
    }

    /// Whether the client took it back.
    pub(crate) fn is_withdrawn(&self) -> bool {
        self.way.is_withdrawn()
    }

    /// All that goes to the client for this request: what comes in its outbox, then the answer. Ends without an answer if the request was
    /// taken back.
    pub(crate) fn with_outbox(self, server: Arc<Inner>, outbox: Arc<Outbox>) -> Exchange {
        Exchange {
            server,
            outbox,
            answering: Some(self),
            last: None,
        }
    }

    /// Notes it as running before it is polled, so that it can be taken back, and its id is taken.
    pub(crate) fn track(&mut self) {
        if self.tracked.is_none() {
            self.tracked = Some(self.session.track(
                self.id.clone(),
                self.cancelled.clone(),
                Arc::clone(&self.way),
            ));
        }
    }

    fn poll_work(&mut self, task: &mut Task<'_>) -> Poll<Result<Outcome, RpcError>> {
        let polled = match &mut self.work {
            // A host that panics has lost this answer and no other.
            Work::Host(work) => {
                match std::panic::catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(task))) {
                    Ok(Poll::Pending) => return Poll::Pending,
                    Ok(Poll::Ready(result)) => result,
                    Err(_) => Err(panicked()),
                }
            }
            Work::Listening(listening) => {
                return match Pin::new(listening).poll(task) {
                    Poll::Pending => Poll::Pending,
                    Poll::Ready(text) => Poll::Ready(Ok(Outcome::Ended(text))),
                };
            }
            Work::Done => return Poll::Pending,
        };
        Poll::Ready(
            polled
                .and_then(|reply| self.allowed(reply))
                .map_err(|error| in_words_of(self.era, error)),
        )
    }

    /// A result that this client may be given.
    fn allowed(&self, reply: Reply) -> Result<Outcome, RpcError> {
        if let Reply::InputRequired { requests, .. } = &reply {
            if !self.era.is_modern() {
                return Err(RpcError::new(
                    code::INTERNAL_ERROR,
                    "the server asked for input in a way that this version does not have",
                ));
            }
            for request in requests.values() {
                self.capabilities.must_allow(request)?;
            }
        }
        Ok(Outcome::Reply {
            era: self.era,
            keeps: self.keeps,
            reply,
        })
    }
}

/// The error of a host that panicked.
pub(crate) fn panicked() -> RpcError {
    RpcError::new(
        code::INTERNAL_ERROR,
        "the server failed at this request; the connection goes on",
    )
}

/// A modern client does not get codes that only older versions have.
fn in_words_of(era: Era, mut error: RpcError) -> RpcError {
    if era.is_modern() && error.code == code::RESOURCE_NOT_FOUND {
        error.code = code::INVALID_PARAMS;
    }
    error
}

impl Future for Answering {
    type Output = Option<Answer>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        match this.poll_work(task) {
            Poll::Pending => {
                // Most answers are there at once; only the others can be taken back.
                this.track();
                if this.is_listening() && this.way.is_withdrawn() {
                    return Poll::Ready(None);
                }
                Poll::Pending
            }
            Poll::Ready(result) => {
                this.way.finish();
                this.work = Work::Done;
                if let Some(serial) = this.tracked.take() {
                    this.session.untrack(&this.id, serial);
                }
                if this.way.is_withdrawn() {
                    return Poll::Ready(None);
                }
                Poll::Ready(Some(Answer {
                    id: Some(this.id.clone()),
                    result,
                }))
            }
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        if matches!(self.work, Work::Done) {
            return;
        }
        self.way.finish();
        if let Some(serial) = self.tracked.take() {
            self.session.untrack(&self.id, serial);
        }
        self.cancelled.cancel();
    }
}

/// One message of an [`Exchange`].
pub(crate) enum Sent {
    /// On the way: news, questions, changes.
    Message(Bytes),
    /// The last: the answer.
    Answer(Answer),
}

/// The messages of one request, the answer last.
pub(crate) struct Exchange {
    /// By which answers are written.
    pub(crate) server: Arc<Inner>,
    outbox: Arc<Outbox>,
    answering: Option<Answering>,
    last: Option<Answer>,
}

impl Stream for Exchange {
    type Item = Sent;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Option<Sent>> {
        let this = &mut *self;
        if let Some(answering) = &mut this.answering
            && let Poll::Ready(answer) = Pin::new(answering).poll(task)
        {
            this.answering = None;
            this.last = answer;
            // What the request told before its end goes before its answer; later news do not come.
        }
        match this.outbox.poll_next(task) {
            Poll::Ready(Some(text)) => Poll::Ready(Some(Sent::Message(text))),
            Poll::Ready(None) | Poll::Pending if this.answering.is_none() => {
                Poll::Ready(this.last.take().map(Sent::Answer))
            }
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}
