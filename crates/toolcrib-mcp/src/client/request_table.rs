//! The part that pipes and HTTP share: which request waits for which answer, and how a received message is handled.
//!
//! Everything here is bounded by what the owner asked for: one entry for each request that someone waits for, a few questions of the
//! server under way, and nothing else that a server could make grow.

mod hear;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::error::ClientError;
use super::http::Http;
use super::options::ClientOptions;
use super::server_message::{ListedTool, Progress, ServerNotice, ServerSide};
use super::server_requests::Questions;
use super::stdio::Pipes;
use super::streams::Listening;
use crate::protocol::{Era, MODERN, meta};
use crate::rpc::RpcError;
pub(super) use hear::{Hearing, cut, tamed};

/// As long as the connection lasts.
pub(super) const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
/// How much is kept of a line that is not a message.
const MAX_ODD: usize = 100;

/// How messages reach the server.
pub(super) enum Wire {
    Pipes(Pipes),
    Http(Box<Http>),
}

/// One connection.
pub(super) struct Talk {
    pub(super) options: ClientOptions,
    pub(super) wire: Wire,
    pub(super) questions: Questions,
    pub(super) listening: Listening,
    /// Ends everything that runs for this connection.
    pub(super) stop: CancellationToken,
    told: mpsc::Sender<ServerNotice>,
    waiting: Mutex<Waiting>,
    next_id: AtomicI64,
    agreed: Mutex<Agreed>,
    /// Tools changed, and there was no room to say so.
    change_untold: AtomicBool,
    /// The beginning of the first line that was no message.
    odd: OnceLock<String>,
}

#[derive(Default)]
struct Waiting {
    by_id: HashMap<i64, Waiter>,
    /// Why nothing can be asked any more.
    gone: Option<String>,
}

struct Waiter {
    answer: oneshot::Sender<Answer>,
    signs: Arc<Signs>,
}

type Answer = Result<Box<RawValue>, RpcError>;

#[derive(Clone)]
struct Agreed {
    era: Era,
    server: ServerSide,
}

/// When something last came from the server about one request.
pub(super) struct Signs {
    last: Mutex<Instant>,
    progress: Option<mpsc::Sender<Progress>>,
    /// The key of the call, if it is one.
    pub(super) key: Option<u64>,
}

impl Signs {
    fn seen(&self) {
        *lock(&self.last) = Instant::now();
    }

    fn last(&self) -> Instant {
        *lock(&self.last)
    }
}

/// A request as it goes out.
pub(super) struct Sent {
    pub(super) id: i64,
    pub(super) method: &'static str,
    /// What `Mcp-Name` says.
    pub(super) name: Option<String>,
    /// Headers that a tool wants its parameters in.
    pub(super) mirrored: Vec<(::http::HeaderName, ::http::HeaderValue)>,
    pub(super) text: Bytes,
    pub(super) signs: Arc<Signs>,
}

/// A request that is to be made.
pub(super) struct Ask {
    pub(super) method: &'static str,
    pub(super) params: Map<String, Value>,
    pub(super) name: Option<String>,
    pub(super) mirrored: Vec<(::http::HeaderName, ::http::HeaderValue)>,
    pub(super) wait: Wait,
}

impl Ask {
    pub(super) fn new(method: &'static str, params: Map<String, Value>, wait: Wait) -> Self {
        Ask {
            method,
            params,
            name: None,
            mirrored: Vec::new(),
            wait,
        }
    }
}

/// How long an answer is waited for.
pub(super) struct Wait {
    pub(super) idle: Duration,
    pub(super) total: Duration,
    pub(super) cancel: CancellationToken,
    pub(super) progress: Option<mpsc::Sender<Progress>>,
    pub(super) key: Option<u64>,
    /// Whether the server is notified that nothing waits any more.
    pub(super) giving_up: GivingUp,
}

/// What a server hears of a request that no one waits for any more.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GivingUp {
    /// It is cancelled.
    Told,
    /// Nothing: the beginning cannot be cancelled.
    Silent,
}

impl Wait {
    /// For something that is not a call.
    pub(super) fn within(total: Duration, giving_up: GivingUp) -> Self {
        Wait {
            idle: total,
            total,
            cancel: CancellationToken::new(),
            progress: None,
            key: None,
            giving_up,
        }
    }
}

impl Talk {
    pub(super) fn new(
        options: ClientOptions,
        told: mpsc::Sender<ServerNotice>,
        wire: Wire,
    ) -> Arc<Self> {
        let era = options.era.unwrap_or(Era::Modern);
        Arc::new(Talk {
            options,
            wire,
            told,
            questions: Questions::default(),
            listening: Listening::default(),
            stop: CancellationToken::new(),
            waiting: Mutex::default(),
            next_id: AtomicI64::new(1),
            agreed: Mutex::new(Agreed {
                era,
                server: ServerSide::default(),
            }),
            change_untold: AtomicBool::new(false),
            odd: OnceLock::new(),
        })
    }

    /// Keeps the beginning of the first line that is not a message.
    pub(super) fn note_odd(&self, line: &[u8]) {
        self.odd.get_or_init(|| {
            let start = &line[..line.len().min(4 * MAX_ODD)];
            let text = String::from_utf8_lossy(start);
            let text: String = text.chars().filter(|c| !c.is_control()).collect();
            cut(text, MAX_ODD)
        });
    }

    /// The beginning of the first line that was no message, if there was one.
    pub(super) fn odd_line(&self) -> Option<&str> {
        self.odd.get().map(String::as_str)
    }

    pub(super) fn era(&self) -> Era {
        lock(&self.agreed).era
    }

    pub(super) fn server(&self) -> ServerSide {
        lock(&self.agreed).server.clone()
    }

    pub(super) fn agree(&self, era: Era, server: ServerSide) {
        *lock(&self.agreed) = Agreed { era, server };
    }

    /// Asks and waits, at most as long as is said.
    pub(super) async fn ask(self: &Arc<Self>, ask: Ask) -> Result<Box<RawValue>, ClientError> {
        let Ask {
            method,
            mut params,
            name,
            mirrored,
            wait,
        } = ask;
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let signs = Arc::new(Signs {
            last: Mutex::new(Instant::now()),
            progress: wait.progress,
            key: wait.key,
        });
        let (answer, mut answered) = oneshot::channel();
        self.enlist(id, answer, &signs)?;
        let mut under_way = UnderWay {
            talk: self,
            id,
            giving_up: wait.giving_up,
        };
        if wait.key.is_some() {
            let own = params.entry("_meta").or_insert_with(|| json!({}));
            own["progressToken"] = json!(id);
        }
        let text = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let sent = Sent {
            id,
            method,
            name,
            mirrored,
            text: Bytes::from(text.to_string()),
            signs: signs.clone(),
        };
        let carried = self.carry(&sent);
        tokio::pin!(carried);
        let mut is_carried = false;
        let total = Instant::now() + wait.total.min(FOR_EVER);
        loop {
            let idle = signs.last() + wait.idle.min(FOR_EVER);
            tokio::select! {
                biased;
                answer = &mut answered => {
                    under_way.giving_up = GivingUp::Silent;
                    return match answer {
                        Ok(answer) => answer.map_err(ClientError::Rpc),
                        Err(_) => Err(self.gone()),
                    };
                }
                result = &mut carried, if !is_carried => {
                    is_carried = true;
                    if let Err(error) = result {
                        under_way.giving_up = GivingUp::Silent;
                        return Err(error);
                    }
                }
                () = wait.cancel.cancelled() => return Err(ClientError::Cancelled),
                () = sleep_until(idle.min(total)) => {
                    if total <= Instant::now() {
                        return Err(ClientError::TimedOut(wait.total));
                    }
                    if signs.last() + wait.idle.min(FOR_EVER) <= Instant::now() {
                        return Err(ClientError::TimedOut(wait.idle));
                    }
                }
            }
        }
    }

    async fn carry(self: &Arc<Self>, sent: &Sent) -> Result<(), ClientError> {
        match &self.wire {
            Wire::Pipes(pipes) => pipes.carry(&sent.text).await,
            // Large, and a part of every request that is under way.
            Wire::Http(http) => Box::pin(http.carry(self, sent)).await,
        }
    }

    /// Sends the server a notification or an answer. Never waits for long: a message that cannot be sent is dropped.
    pub(super) async fn tell(self: &Arc<Self>, message: &Value) {
        let text = Bytes::from(message.to_string());
        match &self.wire {
            Wire::Pipes(pipes) => {
                let _ = pipes.carry(&text).await;
            }
            Wire::Http(http) => http.tell(self, text).await,
        }
    }

    /// Keeps what calls of these tools need to know of them.
    pub(super) fn remember(&self, tools: &[ListedTool]) {
        match &self.wire {
            Wire::Pipes(_) => {}
            Wire::Http(http) => http.remember(tools),
        }
    }

    /// Params with what the era wants of every request.
    pub(super) fn with_meta(&self, params: Map<String, Value>) -> Map<String, Value> {
        match self.era() {
            Era::Modern => self.with_modern_meta(params),
            Era::Legacy(_) => params,
        }
    }

    /// Like [`with_meta`](Self::with_meta), but always for the newest era, before the server is known to speak it.
    pub(super) fn with_modern_meta(&self, mut params: Map<String, Value>) -> Map<String, Value> {
        let own = params.entry("_meta").or_insert_with(|| json!({}));
        own[meta::PROTOCOL_VERSION] = json!(MODERN);
        own[meta::CLIENT_INFO] = json!(self.options.info);
        own[meta::CLIENT_CAPABILITIES] = json!(self.options.capabilities);
        params
    }

    fn enlist(
        &self,
        id: i64,
        answer: oneshot::Sender<Answer>,
        signs: &Arc<Signs>,
    ) -> Result<(), ClientError> {
        let mut waiting = lock(&self.waiting);
        if let Some(why) = &waiting.gone {
            return Err(ClientError::Gone(why.clone()));
        }
        let signs = signs.clone();
        waiting.by_id.insert(id, Waiter { answer, signs });
        Ok(())
    }

    /// Whether an answer to this request is still waited for.
    pub(super) fn is_waiting(&self, id: i64) -> bool {
        lock(&self.waiting).by_id.contains_key(&id)
    }

    fn gone(&self) -> ClientError {
        let why = lock(&self.waiting).gone.clone();
        ClientError::Gone(why.unwrap_or_else(|| "the connection is closed".to_owned()))
    }

    /// Notes that nothing can be asked any more. Returns whether that is new.
    fn end(&self, why: &str) -> bool {
        let mut waiting = lock(&self.waiting);
        if waiting.gone.is_some() {
            return false;
        }
        waiting.gone = Some(why.to_owned());
        // A waiting caller sees that its answer cannot come any more.
        waiting.by_id.clear();
        drop(waiting);
        self.questions.end();
        true
    }

    /// The server is gone: waiting callers are notified, and so is the owner.
    pub(super) async fn lost(&self, why: String) {
        if self.end(&why) {
            tokio::select! {
                _ = self.told.send(ServerNotice::Closed(why)) => {}
                () = self.stop.cancelled() => {}
            }
        }
    }

    pub(super) async fn close(self: &Arc<Self>) {
        if self.end("the connection is closed") {
            match &self.wire {
                Wire::Pipes(pipes) => pipes.close().await,
                Wire::Http(http) => http.close(self).await,
            }
        }
        self.stop.cancel();
    }
}

/// A request that someone waits for. If it is dropped before it is answered, nothing waits, and the server is notified.
struct UnderWay<'a> {
    talk: &'a Arc<Talk>,
    id: i64,
    giving_up: GivingUp,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let was_waited_for = lock(&self.talk.waiting).by_id.remove(&self.id).is_some();
        if !was_waited_for || self.giving_up == GivingUp::Silent {
            return;
        }
        let cancelled = json!({
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": { "requestId": self.id, "reason": "nothing waits for it any more" },
        });
        match &self.talk.wire {
            Wire::Pipes(pipes) => pipes.try_carry(Bytes::from(cancelled.to_string())),
            Wire::Http(http) => http.cancelled(self.talk, cancelled),
        }
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
