//! What a host knows of the request that it answers: [`Context`].

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Capable;
use super::level::Level;
use super::outbox::{Kind, Outbox, lock};
use super::session::Session;
use crate::protocol::{ClientCapabilities, Era, Implementation};
use crate::rpc::{RpcError, write_text, write_whole};

/// The client that asked, its request, and the way back to it while the answer is made. Cloning is cheap.
#[derive(Clone)]
pub struct Context {
    /// Which way of talking.
    pub era: Era,
    /// The asking principal, as the transport's owner named it: `mcp`, `operator`, `client:NAME`.
    pub principal: Arc<str>,
    /// What the program that asks calls itself. Its word alone.
    pub client: Option<Arc<Implementation>>,
    /// What it says it can do.
    pub capabilities: Arc<ClientCapabilities>,
    /// Cancelled when the client takes the request back, or goes.
    pub cancelled: CancellationToken,
    /// The span of the client's that the request is part of (`_meta.traceparent`), as W3C Trace Context writes it. Unchecked.
    pub traceparent: Option<Arc<str>>,
    /// Back to the client.
    pub(super) way: Arc<ClientLink>,
}

/// A client was asked something and there is no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AskError {
    /// The client did not say that it can be asked this, or the era has no such requests.
    #[error("the client cannot be asked that")]
    NotOffered,
    /// It did not answer in time. It was notified that the question is withdrawn.
    #[error("the client did not answer in time")]
    TimedOut,
    /// It went away, or there is no stream on which it could be asked.
    #[error("the client is gone")]
    Gone,
    /// It answered with an error.
    #[error(transparent)]
    Refused(#[from] RpcError),
}

/// The way back to the client while a request is answered.
pub(crate) struct ClientLink {
    outbox: Arc<Outbox>,
    session: Arc<Session>,
    /// What news are marked with, as JSON.
    progress_token: Option<Box<str>>,
    /// The least severe messages of the log that are wanted: of this request (modern) or of the session (`None`, legacy).
    level: LogLevels,
    told: Mutex<SentSoFar>,
    withdrawn: AtomicBool,
}

/// Which messages of a log a client wants.
#[derive(Clone, Copy)]
pub(crate) enum LogLevels {
    /// None at all.
    Nothing,
    /// From this level on.
    From(Level),
    /// As the session says at the time.
    AsSession,
}

/// The progress reported of a request so far.
#[derive(Default)]
struct SentSoFar {
    progress: Option<f64>,
    finished: bool,
}

impl ClientLink {
    pub(crate) fn new(
        outbox: Arc<Outbox>,
        session: Arc<Session>,
        progress_token: Option<Box<str>>,
        level: LogLevels,
    ) -> Arc<Self> {
        Arc::new(ClientLink {
            outbox,
            session,
            progress_token,
            level,
            told: Mutex::default(),
            withdrawn: AtomicBool::new(false),
        })
    }

    /// The client took the request back: it gets no answer.
    pub(crate) fn withdraw(&self) {
        self.withdrawn.store(true, Ordering::Release);
        self.finish();
    }

    /// Whether the client took the request back.
    pub(crate) fn is_withdrawn(&self) -> bool {
        self.withdrawn.load(Ordering::Acquire)
    }

    /// The request is answered or taken back: nothing more is reported of it.
    pub(crate) fn finish(&self) {
        lock(&self.told).finished = true;
    }
}

impl Context {
    /// A context without a client: its notifications go nowhere, no one can be asked. For a host's own tests.
    pub fn detached(era: Era, principal: impl Into<Arc<str>>) -> Self {
        let principal = principal.into();
        let outbox: Arc<Outbox> = Arc::default();
        let session = Session::new(Arc::clone(&principal), Arc::clone(&outbox));
        session.close_questions();
        Context {
            era,
            principal,
            client: None,
            capabilities: Arc::default(),
            cancelled: CancellationToken::new(),
            traceparent: None,
            way: ClientLink::new(outbox, session, None, LogLevels::Nothing),
        }
    }

    /// Whether the client wants progress notes of the request.
    pub fn wants_progress(&self) -> bool {
        self.way.progress_token.is_some()
    }

    /// Reports progress of the request, if that is wanted. Never blocks: of a client that does not read, the oldest news are dropped.
    ///
    /// A value that is not above the last one is not sent, as the protocol requires; nor is anything after the answer or the client's
    /// taking the request back.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let Some(token) = &self.way.progress_token else {
            return;
        };
        if !progress.is_finite() || self.cancelled.is_cancelled() {
            return;
        }
        let mut text =
            br#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"#
                .to_vec();
        text.extend_from_slice(token.as_bytes());
        text.extend_from_slice(b",\"progress\":");
        write_number(progress, &mut text);
        if let Some(total) = total.filter(|it| it.is_finite()) {
            text.extend_from_slice(b",\"total\":");
            write_number(total, &mut text);
        }
        // Messages came with 2025-03-26; older clients pass them over.
        if let Some(message) = message {
            text.extend_from_slice(b",\"message\":");
            write_text(message, &mut text);
        }
        text.extend_from_slice(b"}}");
        let mut told = lock(&self.way.told);
        if told.finished || told.progress.is_some_and(|last| progress <= last) {
            return;
        }
        told.progress = Some(progress);
        self.way.outbox.push(Kind::News, text);
    }

    /// Sends a log message, if the client wants messages of this level. A word that is not a level is sent as `info`.
    pub fn log(&self, level: &str, logger: Option<&str>, data: Value) {
        let level = Level::of(level).unwrap_or(Level::Info);
        let wanted = match self.way.level {
            LogLevels::Nothing => return,
            LogLevels::From(least) => least,
            LogLevels::AsSession => self.way.session.level(),
        };
        if level < wanted || self.cancelled.is_cancelled() {
            return;
        }
        let mut text =
            br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":""#.to_vec();
        text.extend_from_slice(level.word().as_bytes());
        text.push(b'"');
        if let Some(logger) = logger {
            text.extend_from_slice(b",\"logger\":");
            write_text(logger, &mut text);
        }
        text.extend_from_slice(b",\"data\":");
        // A value in memory.
        let _ = serde_json::to_writer(&mut text, &data);
        text.extend_from_slice(b"}}");
        let told = lock(&self.way.told);
        if !told.finished {
            self.way.outbox.push(Kind::News, text);
        }
    }

    /// Whether nothing comes from the client any more, answers included: its input has ended. It may still read.
    pub fn is_input_over(&self) -> bool {
        !self.way.session.hears_answers()
    }

    /// Asks the client (`elicitation/create`, `sampling/createMessage`, `roots/list`); up to 2025-11-25 only.
    ///
    /// Dropping the future, its running out of patience, and the client's taking the request back tell the client that the question is
    /// off.
    pub async fn ask(
        &self,
        method: &'static str,
        params: Value,
        patience: Duration,
    ) -> Result<Value, AskError> {
        if self.era.is_modern() || !self.capabilities.allow(method, Some(&params)) {
            return Err(AskError::NotOffered);
        }
        let mut question = self.way.session.question()?;
        let mut text = b"{\"jsonrpc\":\"2.0\",\"id\":".to_vec();
        write_whole(question.id, &mut text);
        text.extend_from_slice(b",\"method\":");
        write_text(method, &mut text);
        if !params.is_null() {
            text.extend_from_slice(b",\"params\":");
            // A value in memory.
            let _ = serde_json::to_writer(&mut text, &params);
        }
        text.push(b'}');
        if lock(&self.way.told).finished {
            return Err(AskError::Gone);
        }
        question.send(&self.way.outbox, text)?;
        let answer = tokio::time::timeout(patience, question.answer());
        match self.cancelled.run_until_cancelled(answer).await {
            Some(Ok(answer)) => answer,
            Some(Err(_)) => Err(AskError::TimedOut),
            None => Err(AskError::Gone),
        }
    }
}

/// A number; whole ones without a fraction, as people write them.
#[expect(
    clippy::cast_possible_truncation,
    reason = "only whole numbers that fit are cast"
)]
fn write_number(number: f64, out: &mut Vec<u8>) {
    if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 {
        write_whole(number as i64, out);
    } else {
        // Finite, as was checked.
        let _ = serde_json::to_writer(out, &number);
    }
}
