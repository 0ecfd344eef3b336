//! Calls that go on while no one waits for them: [`Pending`].
//!
//! A call that waits for a person longer than its client would is left behind here, and the same request made again finds it: no second
//! question, no second run. What came of it is handed over once, within ten minutes; after that the same request is a new call. A call
//! that ended without a person's answer is forgotten at once, so that the next one asks again.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::watch;
use toolcrib::{CallId, ErrorCode, Outcome, Registry};

use super::client_approver::Asking;
use crate::routes::calls::{GoesOn, Leave};

/// How long an outcome is kept for clients that ask.
const KEPT: Duration = Duration::from_secs(10 * 60);
/// How many outcomes are kept; each may be as large as an output may be.
const MAX_KEPT: usize = 64;

/// A call of a request that waits for it. Without the request it is cancelled, and ends as a cancelled call does, its processes with it.
pub(super) type Own = GoesOn<Asker>;

/// What a call of a waiting request is cancelled by.
pub(super) struct Asker {
    pub(super) registry: Registry,
    pub(super) asking: Arc<Asking>,
}

impl Leave for Asker {
    /// A call without an id has not begun: nothing has to be ended.
    fn leave(&self) -> bool {
        let id = self.asking.call_id();
        id.is_some_and(|id| {
            self.registry.cancel(id);
            true
        })
    }
}

/// A call that no one waits for, or several do.
pub(super) struct Detached {
    request: String,
    registry: Registry,
    id: CallId,
    pub(super) asking: Arc<Asking>,
    outcome: watch::Receiver<Option<Arc<Outcome>>>,
    followers: AtomicUsize,
}

impl Detached {
    /// Which requests it is for.
    pub(super) fn request(&self) -> &str {
        &self.request
    }

    /// The call.
    pub(super) fn id(&self) -> &CallId {
        &self.id
    }

    /// Waits for it, as one of those who do.
    pub(super) fn attach(self: &Arc<Self>) -> Attached {
        self.followers.fetch_add(1, Ordering::SeqCst);
        let mut outcome = self.outcome.clone();
        let call = Box::pin(async move {
            let outcome = outcome.wait_for(Option::is_some).await;
            outcome.ok().and_then(|outcome| outcome.clone())
        });
        Attached {
            detached: Arc::clone(self),
            call,
            leaves: false,
        }
    }

    fn is_over(&self) -> bool {
        self.outcome.borrow().is_some()
    }
}

/// Someone who waits for a call in the background. When the last one goes without having said so, the call is cancelled.
pub(super) struct Attached {
    pub(super) detached: Arc<Detached>,
    call: BoxFuture<'static, Option<Arc<Outcome>>>,
    leaves: bool,
}

impl Attached {
    /// Goes, and leaves the call as it is.
    pub(super) fn leave(mut self) -> Arc<Detached> {
        self.leaves = true;
        Arc::clone(&self.detached)
    }
}

impl Future for Attached {
    /// `None` if the call is gone without an outcome, which would be a bug.
    type Output = Option<Arc<Outcome>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.call.as_mut().poll(cx)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let others = self.detached.followers.fetch_sub(1, Ordering::SeqCst) - 1;
        if others == 0 && !self.leaves && !self.detached.is_over() {
            self.detached.registry.cancel(&self.detached.id);
        }
    }
}

/// The calls in the background of one server.
#[derive(Default)]
pub(super) struct Pending {
    calls: Mutex<Vec<Arc<Detached>>>,
    count: AtomicUsize,
}

impl Pending {
    /// Whether there are none: then no request has to be compared with them.
    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// The call of an equal request that goes on, or has ended and not been asked for. What has ended is handed over by this, once.
    pub(super) fn of(&self, request: &str) -> Option<Arc<Detached>> {
        self.find(|call| call.request == request)
    }

    /// The call with this id, in the same way.
    pub(super) fn call(&self, id: &str) -> Option<Arc<Detached>> {
        self.find(|call| call.id.as_str() == id)
    }

    /// The call with this id, if it has not ended.
    pub(super) fn running(&self, id: &str) -> Option<Arc<Detached>> {
        let calls = self.lock();
        let mut running = calls.iter().filter(|call| !call.is_over());
        running.find(|call| call.id.as_str() == id).cloned()
    }

    fn find(&self, is_meant: impl Fn(&Detached) -> bool) -> Option<Arc<Detached>> {
        let mut calls = self.lock();
        let at = calls.iter().position(|call| is_meant(call))?;
        if !calls[at].is_over() {
            return Some(Arc::clone(&calls[at]));
        }
        let over = calls.remove(at);
        self.count.store(calls.len(), Ordering::Release);
        Some(over)
    }

    /// Forgets a call: its outcome was handed over to those who waited, or no one came for it.
    pub(super) fn forget(&self, call: &Arc<Detached>) {
        let mut calls = self.lock();
        calls.retain(|one| !Arc::ptr_eq(one, call));
        self.count.store(calls.len(), Ordering::Release);
    }

    /// Lets a call go on without the client that asked for it. `None` if there is nothing to go on with.
    pub(super) fn detach(self: &Arc<Self>, mut own: Own, request: String) -> Option<Arc<Detached>> {
        let call = own.take()?;
        let asker = &own.on_leave;
        let id = asker.asking.call_id()?.clone();
        let (sender, outcome) = watch::channel(None);
        let detached = Arc::new(Detached {
            request,
            registry: asker.registry.clone(),
            id,
            asking: Arc::clone(&asker.asking),
            outcome,
            followers: AtomicUsize::new(0),
        });
        let mut calls = self.lock();
        calls.push(Arc::clone(&detached));
        self.count.store(calls.len(), Ordering::Release);
        drop(calls);
        let (pending, kept) = (Arc::downgrade(self), Arc::downgrade(&detached));
        tokio::spawn(async move {
            let outcome = call.await;
            let is_kept = is_worth_keeping(&outcome);
            sender.send_replace(Some(Arc::new(outcome)));
            let forget = || {
                if let (Some(pending), Some(call)) = (pending.upgrade(), kept.upgrade()) {
                    pending.forget(&call);
                }
            };
            if is_kept {
                if let Some(pending) = pending.upgrade() {
                    pending.make_room();
                }
                tokio::time::sleep(KEPT).await;
            }
            forget();
        });
        Some(detached)
    }

    /// Forgets the oldest outcomes, if there are too many.
    fn make_room(&self) {
        let mut calls = self.lock();
        let over = calls.iter().filter(|call| call.is_over()).count();
        let mut excess = over.saturating_sub(MAX_KEPT);
        calls.retain(|call| {
            let goes = excess > 0 && call.is_over();
            excess -= usize::from(goes);
            !goes
        });
        self.count.store(calls.len(), Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Detached>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a client that repeats the request wants the result: the tool ran, or a person said no. Where no one answered, they are asked
/// again.
fn is_worth_keeping(outcome: &Outcome) -> bool {
    !matches!(
        outcome.error().map(toolcrib::ToolError::code),
        Some(
            ErrorCode::ApprovalExpired
                | ErrorCode::ApprovalUnavailable
                | ErrorCode::RateLimited
                | ErrorCode::Cancelled
        )
    )
}
