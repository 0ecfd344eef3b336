//! [`ApprovalQueue`]: questions and answers as files, so that anybody with the same home can answer.
//!
//! A question is *pending* until it is answered, withdrawn (its caller gave up), replaced (a file that the call runs changed) or expired.
//! An answer is a file made once: its creator has decided, and every later answer learns who did. An approval is *used* by a third file,
//! made once right before the tool runs, so that whatever dies whenever, a call runs at most once for an approval. `wait.rs` knows who
//! waits, `files.rs` what is where, `ticket.rs` how a question is put, `answer.rs` how it is answered and used, `list.rs` what there is,
//! `given.rs` serves calls about which no one can be asked, `standing.rs` shows questions that no call waits for.

mod answer;
mod error;
mod files;
mod list;
mod only_given;
mod standing;
mod sweep;
mod ticket;
mod wait;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::Notify;

pub use error::AnswerError;
pub(super) use list::one_named;
pub use list::{Answer, Damaged, Listing, Queued, Status};
pub use only_given::OnlyGiven;
pub use standing::StandingQuestions;
pub use ticket::{Look, Ticket};

use crate::storage::StorageError;
use sweep::Swept;
use toolcrib_core::approval::{ApprovalRequest, ApprovalResponse, Hold};
use toolcrib_core::approval::{Approver, NoAnswer};
use toolcrib_core::approval::{Clock, Moment};
use wait::Waits;

/// How often a question is looked at while it waits; answers of this process arrive at once.
const POLL: Duration = Duration::from_millis(50);

/// How a queue behaves.
#[derive(Debug, Clone)]
pub struct QueueOptions {
    /// How long a question waits for its answer, and an approval for its use.
    pub expires: Duration,
    /// How long a denial answers the same call again.
    pub remember_denial: Duration,
    /// How many questions may wait at once.
    pub max_pending: usize,
    /// How long what is over is kept.
    pub keep: Duration,
    /// The time it goes by.
    pub clock: Clock,
}

impl Default for QueueOptions {
    fn default() -> Self {
        QueueOptions {
            expires: Duration::from_secs(5 * 60),
            remember_denial: Duration::from_secs(60),
            max_pending: 100,
            keep: Duration::from_secs(24 * 3600),
            clock: Clock::default(),
        }
    }
}

/// A queue of questions in a directory. Cloning is cheap and shares everything; nothing is created before a question is put.
///
/// ```
/// use toolcrib::approval::{ApprovalQueue, ApprovalResponse, QueueOptions, Status};
/// use toolcrib::{CallRequest, FnTool, Registry};
///
/// # let home = tempfile::tempdir()?;
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// let queue = ApprovalQueue::at(home.path().join("approvals"), QueueOptions::default());
/// let registry = Registry::builder().approver(queue.clone()).build();
/// registry.register(FnTool::new("launch", "Launches", |(), _cx| async { Ok("gone") })?.always_ask())?;
/// let call = registry.execute_async(CallRequest::new("launch"));
///
/// // Another caller, perhaps in another process:
/// let pending = loop {
///     if let Some(pending) = queue.list(Some(Status::Pending))?.requests.pop() { break pending }
///     tokio::task::yield_now().await;
/// };
/// let digest = Some(pending.request.args_digest.as_str());
/// queue.answer(&pending.request.id, digest, ApprovalResponse::approve("Ada"), |_, _| Ok(()))?;
///
/// assert_eq!(call.outcome().await.value().unwrap(), "gone");
/// assert_eq!(queue.show(&pending.request.id)?.status, Status::Used);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ApprovalQueue(Arc<Inner>);

struct Inner {
    path: PathBuf,
    options: QueueOptions,
    waits: Waits,
    swept: Swept,
    /// Something was answered in this process.
    changed: Notify,
    hooks: Mutex<Vec<Weak<Hook>>>,
    standing: Option<Arc<dyn StandingQuestions>>,
}

type Hook = dyn Fn(&ApprovalRequest) + Send + Sync;

/// A listener for questions, for as long as this is kept.
pub struct Subscription(#[expect(dead_code, reason = "kept, not read")] Arc<Hook>);

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Subscription")
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalQueue")
            .field("path", &self.path)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl ApprovalQueue {
    /// The queue in a directory.
    pub fn at(path: impl Into<PathBuf>, options: QueueOptions) -> Self {
        Self::with(path.into(), options, None)
    }

    /// A queue that also shows questions which no call waits for.
    pub fn with_standing(
        path: impl Into<PathBuf>,
        options: QueueOptions,
        standing: Arc<dyn StandingQuestions>,
    ) -> Self {
        Self::with(path.into(), options, Some(standing))
    }

    fn with(
        path: PathBuf,
        options: QueueOptions,
        standing: Option<Arc<dyn StandingQuestions>>,
    ) -> Self {
        ApprovalQueue(Arc::new(Inner {
            path,
            options,
            waits: Waits::default(),
            swept: Swept::default(),
            changed: Notify::new(),
            hooks: Mutex::default(),
            standing,
        }))
    }

    /// Calls a function whenever a call of this process begins to wait for a question, for as long as the subscription is
    /// kept. It is called on a thread that may block, but the call waits for it: hand the question on, and answer it by
    /// [`answer`](Self::answer) like everybody else.
    #[must_use = "the subscription ends when it is dropped"]
    pub fn on_request(
        &self,
        hook: impl Fn(&ApprovalRequest) + Send + Sync + 'static,
    ) -> Subscription {
        let hook: Arc<Hook> = Arc::new(hook);
        let mut hooks = self.0.hooks.lock().unwrap_or_else(PoisonError::into_inner);
        hooks.retain(|hook| hook.strong_count() > 0);
        hooks.push(Arc::downgrade(&hook));
        Subscription(hook)
    }

    fn tell(&self, request: &ApprovalRequest) {
        let hooks: Vec<Arc<Hook>> = self
            .0
            .hooks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .filter_map(Weak::upgrade)
            .collect();
        for hook in hooks {
            hook(request);
        }
    }

    fn now(&self) -> Moment {
        self.0.options.clock.now()
    }

    /// Waits until a question is pending no more: answered by anybody, expired or withdrawn.
    pub async fn settled(&self, id: &str) -> Result<Queued, AnswerError> {
        loop {
            let changed = self.0.changed.notified();
            let (queue, wanted) = (self.clone(), id.to_owned());
            let shown = blocking(move || queue.show(&wanted)).await;
            let shown = shown.unwrap_or_else(|error| {
                let cause = std::io::Error::other(error);
                Err(StorageError::io("look at", "approvals", cause).into())
            })?;
            if shown.status != Status::Pending {
                return Ok(shown);
            }
            let _ = tokio::time::timeout(POLL, changed).await;
        }
    }

    /// Puts the question and waits; see [`Approver::decide`].
    async fn ask(&self, request: ApprovalRequest) -> Result<ApprovalResponse, NoAnswer> {
        let expires = self.0.options.expires;
        let patience = request.wait.map_or(expires, |wait| wait.min(expires));
        let until = self.now().after(patience);
        loop {
            let Some(left) = until.remaining(&self.now()) else {
                return Err(NoAnswer::Expired);
            };
            let (queue, mut put) = (self.clone(), request.clone());
            put.wait = Some(left);
            let mut ticket = blocking(move || queue.put(put))
                .await
                .map_err(NoAnswer::Storage)??;
            request.announce(ticket.id());
            let response = loop {
                let changed = self.0.changed.notified();
                let (back, look) = blocking(move || {
                    let look = ticket.look();
                    (ticket, look)
                })
                .await
                .map_err(NoAnswer::Storage)?;
                ticket = back;
                match look? {
                    Look::Answered(response) => break Some(response),
                    Look::Changed(files) => {
                        blocking(move || drop(ticket))
                            .await
                            .map_err(NoAnswer::Storage)?;
                        return Err(NoAnswer::Changed { files });
                    }
                    Look::Gone => break None,
                    Look::Pending => {}
                }
                if !ticket.is_own() && until.remaining(&self.now()).is_none() {
                    break None;
                }
                let _ = tokio::time::timeout(POLL, changed).await;
            };
            if let Some(mut response) = response {
                response.hold = Hold::of(ticket.id().to_owned(), ticket);
                return Ok(*response);
            }
            // Letting go of the ticket may write. A question of an identical call may have lapsed before this one's time is over:
            // then it is put again.
            blocking(move || drop(ticket))
                .await
                .map_err(NoAnswer::Storage)?;
        }
    }
}

impl Approver for ApprovalQueue {
    fn decide(
        &self,
        request: ApprovalRequest,
    ) -> BoxFuture<'_, Result<ApprovalResponse, NoAnswer>> {
        Box::pin(self.ask(request))
    }

    fn claim(&self, id: &str) -> BoxFuture<'_, Result<(), NoAnswer>> {
        let (queue, id) = (self.clone(), id.to_owned());
        Box::pin(async move {
            blocking(move || queue.claim_now(&id))
                .await
                .map_err(NoAnswer::Storage)?
        })
    }

    fn announces(&self) -> bool {
        true
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| format!("the approval queue stopped: {error}"))
}
