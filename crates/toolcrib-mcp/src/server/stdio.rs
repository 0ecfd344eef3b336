//! One client on a pair of pipes: one message a line.
//!
//! The invariant: whatever runs, the client is read from, so that it can take requests back, answer questions and end things. Requests
//! beyond those that may run are parked, and refused when too many are. Only a client that does not read is at last not read from; what
//! it has to do then, reading, depends on nothing of ours.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll};
use std::time::Duration;

use futures_util::Stream;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::Server;
use super::answer::{Answer, Answering};
use super::dispatch::Taken;
use super::lines::{Line, Lines};
use super::outbox::Outbox;
use super::output::Output;
use super::parked::Parked;
use super::refusals::too_many;
use super::session::Session;
use crate::rpc::{RpcError, code};

/// How a pair of pipes is served.
#[derive(Debug, Clone)]
pub struct StdioOptions {
    /// The principal at the other end; see [`Context::principal`](super::Context::principal).
    pub principal: Arc<str>,
    /// The longest line. A longer one is answered with an error and skipped, without being held.
    pub max_line: usize,
    /// How many requests are worked at at once, subscriptions aside; some more wait, and what is beyond that is refused.
    pub max_in_flight: usize,
    /// Ends it early: no more is read, what runs is cancelled and answered.
    pub stopping: CancellationToken,
}

impl StdioOptions {
    /// For this client, with everything else as it is by default.
    pub fn new(principal: impl Into<Arc<str>>) -> Self {
        StdioOptions {
            principal: principal.into(),
            max_line: 8 * 1024 * 1024,
            max_in_flight: 1024,
            stopping: CancellationToken::new(),
        }
    }
}

impl Server {
    /// Serves one client until its input ends and every request is answered.
    pub async fn serve_stdio<R, W>(
        &self,
        reader: R,
        writer: W,
        options: StdioOptions,
    ) -> std::io::Result<()>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let outbox: Arc<Outbox> = Arc::default();
        let session = Session::new(Arc::clone(&options.principal), Arc::clone(&outbox));
        self.0.sessions.add(&session);
        let mut stopping = Box::pin(options.stopping.clone().cancelled_owned());
        let mut pipes = Pipes {
            server: self.clone(),
            session,
            outbox,
            reader,
            writer,
            input: Lines::new(options.max_line),
            output: Output::default(),
            running: FuturesUnordered::new(),
            listening: FuturesUnordered::new(),
            parked: Parked::default(),
            max_in_flight: options.max_in_flight.max(1),
            ended: false,
        };
        let served = poll_fn(|task| {
            if !pipes.ended && stopping.as_mut().poll(task).is_ready() {
                pipes.session.end();
                pipes.ended = true;
            }
            pipes.poll(task)
        })
        .await;
        pipes.session.end();
        // What runs has heard that it is cancelled. It may put its things in order, but no one waits for it for long.
        if !pipes.running.is_empty() {
            let _ = tokio::time::timeout(GRACE, poll_fn(|task| pipes.abandon(task))).await;
        }
        match served {
            // A client that does not read its answers any more has no use for the rest.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}

/// How long what runs may go on when its client is gone.
const GRACE: Duration = Duration::from_secs(2);
/// Bytes that wait to be read by the client beyond which no more requests are begun.
const MAX_UNREAD: usize = 4 * 1024 * 1024;
/// Unread bytes beyond which nothing is read: immediate answers add to them.
const MAX_UNREAD_AT_ALL: usize = 2 * MAX_UNREAD;

/// One client on two pipes.
struct Pipes<R, W> {
    server: Server,
    session: Arc<Session>,
    outbox: Arc<Outbox>,
    reader: R,
    writer: W,
    input: Lines,
    output: Output,
    running: FuturesUnordered<Answering>,
    /// Subscriptions; the session bounds them.
    listening: FuturesUnordered<Answering>,
    parked: Parked,
    max_in_flight: usize,
    /// No more input comes.
    ended: bool,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Pipes<R, W> {
    /// Goes on with everything as far as it goes: one read, all its messages, all that is ready, one write.
    fn poll(&mut self, task: &mut Task<'_>) -> Poll<std::io::Result<()>> {
        self.outbox.register(task);
        loop {
            let mut moved = self.take_lines(task);
            moved |= self.read(task)?;
            moved |= self.collect(task);
            moved |= self.unpark(task);
            self.output.fill(&self.outbox);
            moved |= self.output.write(Pin::new(&mut self.writer), task)?;
            if !moved {
                return if self.is_done() {
                    Poll::Ready(Ok(()))
                } else {
                    Poll::Pending
                };
            }
        }
    }

    fn is_done(&self) -> bool {
        self.ended
            && self.running.is_empty()
            && self.listening.is_empty()
            && self.parked.is_empty()
            && self.output.is_empty()
    }

    /// Whether one more request may begin.
    fn may_begin(&self) -> bool {
        self.running.len() < self.max_in_flight && self.output.waiting() < MAX_UNREAD
    }

    /// Whether there is room for whatever the client sends.
    fn has_room(&self) -> bool {
        let unread = self.output.waiting();
        unread < MAX_UNREAD || (unread < MAX_UNREAD_AT_ALL && !self.parked.is_full())
    }

    /// Reads what there is, once.
    fn read(&mut self, task: &mut Task<'_>) -> std::io::Result<bool> {
        if self.ended || !self.has_room() || self.input.has_line() {
            return Ok(false);
        }
        match self.input.poll_read(Pin::new(&mut self.reader), task) {
            Poll::Pending => Ok(false),
            Poll::Ready(Ok(0)) => {
                self.take_line_at_end(task);
                self.ended = true;
                // No one can answer us or take anything back any more; what runs is answered.
                self.session.close_questions();
                self.session.listening.cancel();
                Ok(true)
            }
            Poll::Ready(Ok(_)) => {
                self.take_lines(task);
                Ok(true)
            }
            Poll::Ready(Err(error)) => Err(error),
        }
    }

    /// Takes the whole lines that were read, as long as there is room.
    fn take_lines(&mut self, task: &mut Task<'_>) -> bool {
        let mut moved = false;
        while !self.ended && self.has_room() {
            let Some(line) = self.input.next_line() else {
                break;
            };
            moved = true;
            let (taken, size) = match line {
                Line::Text(text) => (
                    self.server.dispatch_text(&self.session, &self.outbox, text),
                    text.len(),
                ),
                Line::TooLong => (Taken::Answer(too_long(self.input.max)), 0),
            };
            self.settle(taken, size, task);
        }
        moved
    }

    /// A last line without an end is a line.
    fn take_line_at_end(&mut self, task: &mut Task<'_>) {
        if let Some(text) = self.input.rest() {
            let size = text.len();
            let taken = self.server.dispatch_text(&self.session, &self.outbox, text);
            self.settle(taken, size, task);
        }
    }

    /// Does what is to be done about a message of so many bytes.
    fn settle(&mut self, taken: Taken, size: usize, task: &mut Task<'_>) {
        match taken {
            Taken::Nothing => self.parked.heard(),
            Taken::Answer(answer) => self.output.answer(&self.server, &self.outbox, &answer),
            Taken::Answering(mut answering) if answering.is_listening() => {
                // Polled later; the next line may be about it.
                answering.track();
                self.listening.push(answering);
            }
            Taken::Answering(answering) if self.parked.is_empty() && self.may_begin() => {
                self.begin(answering, task);
            }
            Taken::Answering(answering) => {
                if let Err(refused) = self.parked.push(answering, size) {
                    let answer = Answer::error(Some(refused), too_busy());
                    self.output.answer(&self.server, &self.outbox, &answer);
                }
            }
        }
    }

    /// Lets a request begin.
    fn begin(&mut self, mut answering: Answering, task: &mut Task<'_>) {
        match Pin::new(&mut answering).poll(task) {
            Poll::Ready(Some(answer)) => self.output.answer(&self.server, &self.outbox, &answer),
            Poll::Ready(None) => {}
            Poll::Pending => self.running.push(answering),
        }
    }

    /// Lets requests begin that waited, as long as there is room for them. What was taken back meanwhile does not.
    fn unpark(&mut self, task: &mut Task<'_>) -> bool {
        let mut moved = false;
        while self.may_begin()
            && let Some(answering) = self.parked.pop()
        {
            moved = true;
            if answering.is_withdrawn() {
                continue;
            }
            if answering.cancelled.is_cancelled() {
                let answer = Answer::error(Some(answering.id.clone()), stopped());
                self.output.answer(&self.server, &self.outbox, &answer);
                continue;
            }
            self.begin(answering, task);
        }
        moved
    }

    /// Lets what runs come to its end, for no one.
    fn abandon(&mut self, task: &mut Task<'_>) -> Poll<()> {
        loop {
            match Pin::new(&mut self.running).poll_next(task) {
                Poll::Ready(Some(_)) => {}
                Poll::Ready(None) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Writes down the answers that are ready.
    fn collect(&mut self, task: &mut Task<'_>) -> bool {
        let mut moved = false;
        for set in [&mut self.running, &mut self.listening] {
            while let Poll::Ready(Some(answer)) = Pin::new(&mut *set).poll_next(task) {
                moved = true;
                if let Some(answer) = answer {
                    self.output.answer(&self.server, &self.outbox, &answer);
                }
            }
        }
        moved
    }
}

fn too_busy() -> RpcError {
    too_many(
        "too many requests are not answered yet: wait for answers, or take some back with `notifications/cancelled`",
    )
}

fn stopped() -> RpcError {
    RpcError::new(
        code::INTERNAL_ERROR,
        "the server stopped before this request began",
    )
}

fn too_long(max: usize) -> Answer {
    Answer::error(
        None,
        RpcError::new(
            code::INVALID_REQUEST,
            format!("a line of more than {max} bytes was skipped"),
        ),
    )
}
