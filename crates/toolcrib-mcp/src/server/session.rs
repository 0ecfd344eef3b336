//! One conversation with one client: [`Session`].
//!
//! A pair of pipes has one, whichever era is spoken on it; over HTTP a legacy client has one from `initialize` to `DELETE`, and every
//! modern request gets a new one that ends with it. It knows what was agreed on, what runs, and what the client was asked.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio_util::sync::CancellationToken;

use super::context::{AskError, ClientLink};
use super::level::Level;
use super::outbox::{Kind, Outbox, lock};
use super::refusals::too_many;
use crate::protocol::{ClientCapabilities, Implementation};
use crate::rpc::{Id, RpcError, write_whole};

/// How many questions to the client are open at once.
const MAX_QUESTIONS: usize = 256;
/// How many subscriptions of a session are open at once. Each can be for everything there is; more than a few are a mistake.
const MAX_SUBSCRIPTIONS: usize = 64;
/// How many resources a session follows.
pub(crate) const MAX_FOLLOWED: usize = 4096;

/// What `initialize` agreed on.
pub(crate) struct Agreed {
    pub(crate) version: &'static str,
    pub(crate) client: Option<Arc<Implementation>>,
    pub(crate) capabilities: Arc<ClientCapabilities>,
}

/// One conversation with one client.
pub(crate) struct Session {
    /// The client.
    pub(crate) principal: Arc<str>,
    /// What belongs to no request: changes, messages of the log. On pipes everything goes here.
    pub(crate) outbox: Arc<Outbox>,
    /// Ended: what runs is cancelled, what is asked is given up.
    pub(crate) ended: CancellationToken,
    /// Parent of what ends subscriptions.
    pub(crate) listening: CancellationToken,
    places_to_listen: Arc<Semaphore>,
    agreed: OnceLock<Agreed>,
    ready: AtomicBool,
    level: AtomicU8,
    followed: Mutex<BTreeSet<String>>,
    running: Mutex<HashMap<Id, Running>>,
    serial: AtomicU64,
    questions: Mutex<Questions>,
    next_question: AtomicI64,
    seen: Mutex<Seen>,
}

/// A request that has no answer yet.
struct Running {
    serial: u64,
    cancelled: CancellationToken,
    way: Arc<ClientLink>,
}

#[derive(Default)]
struct Questions {
    open: HashMap<i64, oneshot::Sender<Result<Value, RpcError>>>,
    closed: bool,
}

/// What a modern client said of itself the last time: it says the same with every request.
#[derive(Default)]
struct Seen {
    capabilities: Option<(Box<str>, Arc<ClientCapabilities>)>,
    client: Option<(Box<str>, Arc<Implementation>)>,
}

impl Session {
    /// A session no one else knows of.
    pub(crate) fn new(principal: Arc<str>, outbox: Arc<Outbox>) -> Arc<Self> {
        Arc::new(Session {
            principal,
            outbox,
            ended: CancellationToken::new(),
            listening: CancellationToken::new(),
            places_to_listen: Arc::new(Semaphore::new(MAX_SUBSCRIPTIONS)),
            agreed: OnceLock::new(),
            ready: AtomicBool::new(false),
            level: AtomicU8::new(Level::Info as u8),
            followed: Mutex::default(),
            running: Mutex::default(),
            serial: AtomicU64::new(0),
            questions: Mutex::default(),
            next_question: AtomicI64::new(1),
            seen: Mutex::default(),
        })
    }

    /// What `initialize` agreed on, if it came.
    pub(crate) fn agreed(&self) -> Option<&Agreed> {
        self.agreed.get()
    }

    /// Begins; false if it has begun before.
    pub(crate) fn agree(&self, agreed: Agreed) -> bool {
        self.agreed.set(agreed).is_ok()
    }

    /// The client is ready for news.
    pub(crate) fn set_ready(&self) {
        if self.agreed.get().is_some() {
            self.ready.store(true, Ordering::Release);
        }
    }

    /// Whether the client is ready for news.
    pub(crate) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// The least severe messages of the log that a legacy client wants.
    pub(crate) fn level(&self) -> Level {
        Level::from_rank(self.level.load(Ordering::Relaxed))
    }

    pub(crate) fn set_level(&self, level: Level) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    /// Follows a resource; false if there are too many.
    pub(crate) fn follow(&self, uri: &str) -> bool {
        let mut followed = lock(&self.followed);
        if followed.len() >= MAX_FOLLOWED && !followed.contains(uri) {
            return false;
        }
        followed.insert(uri.to_owned());
        true
    }

    pub(crate) fn unfollow(&self, uri: &str) {
        lock(&self.followed).remove(uri);
    }

    pub(crate) fn follows(&self, uri: &str) -> bool {
        lock(&self.followed).contains(uri)
    }

    /// A place for one more subscription, held as long as it is open.
    pub(crate) fn place_to_listen(&self) -> Result<OwnedSemaphorePermit, RpcError> {
        let place = Arc::clone(&self.places_to_listen).try_acquire_owned();
        place.map_err(|_| {
            too_many(format!(
                "{MAX_SUBSCRIPTIONS} subscriptions are open, which is the most at once; end some with `notifications/cancelled`"
            ))
        })
    }

    /// Whether a request of this id has no answer yet.
    pub(crate) fn is_running(&self, id: &Id) -> bool {
        let running = lock(&self.running);
        !running.is_empty() && running.contains_key(id)
    }

    /// Notes a request that takes a while, so that it can be cancelled.
    pub(crate) fn track(&self, id: Id, cancelled: CancellationToken, way: Arc<ClientLink>) -> u64 {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        lock(&self.running).insert(
            id,
            Running {
                serial,
                cancelled,
                way,
            },
        );
        serial
    }

    /// Forgets a request that is answered.
    pub(crate) fn untrack(&self, id: &Id, serial: u64) {
        let mut running = lock(&self.running);
        if running.get(id).is_some_and(|it| it.serial == serial) {
            running.remove(id);
        }
    }

    /// The client takes a request back: it gets no answer. Unknown ids are ignored.
    pub(crate) fn withdraw(&self, id: &Id) {
        if let Some(running) = lock(&self.running).remove(id) {
            running.way.withdraw();
            running.cancelled.cancel();
        }
    }

    /// Cancels everything that runs; it is answered all the same.
    pub(crate) fn cancel_all(&self) {
        let tokens: Vec<_> = lock(&self.running)
            .values()
            .map(|it| it.cancelled.clone())
            .collect();
        for token in tokens {
            token.cancel();
        }
    }

    /// Begins a question to the client.
    pub(crate) fn question(&self) -> Result<Question<'_>, AskError> {
        let (sender, answer) = oneshot::channel();
        let id = self.next_question.fetch_add(1, Ordering::Relaxed);
        let mut questions = lock(&self.questions);
        if questions.closed || questions.open.len() >= MAX_QUESTIONS {
            return Err(AskError::Gone);
        }
        questions.open.insert(id, sender);
        Ok(Question {
            session: self,
            outbox: None,
            id,
            answer,
        })
    }

    /// The client answers a question. Answers that no one waits for are ignored.
    pub(crate) fn answered(&self, id: &Id, result: Result<Value, RpcError>) {
        let Id::Number(number) = id else { return };
        let sender = lock(&self.questions).open.remove(number);
        if let Some(sender) = sender {
            // The asker may be gone.
            let _ = sender.send(result);
        }
    }

    /// No answers can come any more: what is asked is given up.
    pub(crate) fn close_questions(&self) {
        let mut questions = lock(&self.questions);
        questions.closed = true;
        questions.open.clear();
    }

    /// Whether the client can be asked something at all.
    pub(crate) fn hears_answers(&self) -> bool {
        !lock(&self.questions).closed
    }

    /// Ends it: what runs is cancelled, what is asked is given up.
    pub(crate) fn end(&self) {
        self.close_questions();
        self.listening.cancel();
        self.cancel_all();
        self.ended.cancel();
    }

    /// What a modern client can do, read once as long as it says the same.
    pub(crate) fn capabilities(
        &self,
        text: &str,
    ) -> Result<Arc<ClientCapabilities>, serde_json::Error> {
        remembered(&mut lock(&self.seen).capabilities, text)
    }

    /// The identity of a modern client, read once for as long as it sends the same.
    pub(crate) fn client(&self, text: &str) -> Result<Arc<Implementation>, serde_json::Error> {
        remembered(&mut lock(&self.seen).client, text)
    }
}

fn remembered<T: serde::de::DeserializeOwned>(
    last: &mut Option<(Box<str>, Arc<T>)>,
    text: &str,
) -> Result<Arc<T>, serde_json::Error> {
    if let Some((before, value)) = last
        && **before == *text
    {
        return Ok(Arc::clone(value));
    }
    let value: Arc<T> = Arc::new(serde_json::from_str(text)?);
    *last = Some((text.into(), Arc::clone(&value)));
    Ok(value)
}

/// A question that waits for the client. Dropping it unanswered notifies the client that it is withdrawn.
pub(crate) struct Question<'a> {
    session: &'a Session,
    /// Where it was asked.
    outbox: Option<Arc<Outbox>>,
    /// Of the question.
    pub(crate) id: i64,
    answer: oneshot::Receiver<Result<Value, RpcError>>,
}

impl Question<'_> {
    /// Sends it, if there is a way to the client.
    pub(crate) fn send(&mut self, outbox: &Arc<Outbox>, text: Vec<u8>) -> Result<(), AskError> {
        if !outbox.push(Kind::Needed, text) {
            return Err(AskError::Gone);
        }
        self.outbox = Some(Arc::clone(outbox));
        Ok(())
    }

    /// The answer.
    pub(crate) async fn answer(&mut self) -> Result<Value, AskError> {
        match (&mut self.answer).await {
            Ok(result) => {
                self.outbox = None;
                result.map_err(AskError::Refused)
            }
            Err(_) => {
                self.outbox = None;
                Err(AskError::Gone)
            }
        }
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        lock(&self.session.questions).open.remove(&self.id);
        if let Some(outbox) = &self.outbox {
            let mut text =
                br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"#
                    .to_vec();
            write_whole(self.id, &mut text);
            text.extend_from_slice(br#","reason":"no answer in time"}}"#);
            outbox.push(Kind::Needed, text);
        }
    }
}

/// All that hear of changes.
#[derive(Default)]
pub(crate) struct Sessions {
    hearing: Mutex<Vec<std::sync::Weak<Session>>>,
}

impl Sessions {
    /// An entry receives changes as long as it lives.
    pub(crate) fn add(&self, session: &Arc<Session>) {
        let mut hearing = lock(&self.hearing);
        hearing.retain(|it| it.strong_count() > 0);
        hearing.push(Arc::downgrade(session));
    }

    /// All that hear of changes.
    pub(crate) fn hearing(&self) -> Vec<Arc<Session>> {
        lock(&self.hearing)
            .iter()
            .filter_map(std::sync::Weak::upgrade)
            .collect()
    }
}
