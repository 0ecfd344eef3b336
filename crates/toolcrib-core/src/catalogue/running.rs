//! The calls that run now: watching and cancelling them by id.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use tokio_util::sync::CancellationToken;

use super::Inner;
use crate::call::event::{EventLog, EventReader};
use crate::call::live::{Hooks, RunningCall};
use crate::model::ids::CallId;

/// The calls that run now, by id, in shards so that starting a call never waits for another.
pub(crate) struct Running {
    hasher: RandomState,
    shards: [Mutex<HashMap<CallId, Listed>>; 16],
    /// How many outermost calls there are, those included that wait for another with their id.
    outermost: AtomicUsize,
    /// How many wait until there are none, and where.
    idlers: AtomicUsize,
    idle: Notify,
    /// How often all calls were cancelled, and the notification for those that wait for another call with their id.
    era: AtomicU64,
    give_up: Notify,
    hooks: Arc<Hooks>,
}

#[derive(Clone)]
struct Listed {
    cancel: CancellationToken,
    events: Arc<EventLog>,
}

impl Default for Running {
    fn default() -> Self {
        Running {
            hasher: RandomState::new(),
            shards: Default::default(),
            outermost: AtomicUsize::new(0),
            idlers: AtomicUsize::new(0),
            idle: Notify::new(),
            era: AtomicU64::new(0),
            give_up: Notify::new(),
            hooks: Arc::default(),
        }
    }
}

impl Running {
    fn shard(&self, id: &CallId) -> MutexGuard<'_, HashMap<CallId, Listed>> {
        let index = self.hasher.hash_one(id) as usize % self.shards.len();
        lock(&self.shards[index])
    }

    pub(crate) fn hooks(&self) -> &Arc<Hooks> {
        &self.hooks
    }

    /// A number that is another one when all calls were cancelled since: so a call learns of it that no one could find yet.
    pub(crate) fn era(&self) -> u64 {
        self.era.load(Ordering::SeqCst)
    }

    /// Whether a call with this id runs.
    pub(crate) fn has(&self, id: &CallId) -> bool {
        self.shard(id).contains_key(id)
    }

    pub(crate) fn look(&self, id: &CallId) -> Option<RunningCall> {
        let call = self.shard(id).get(id).cloned()?;
        call.events.outermost().map(|live| live.look())
    }

    pub(crate) fn outermost(&self) -> Vec<RunningCall> {
        let of_shard = |shard| {
            let calls: Vec<Listed> = lock(shard).values().cloned().collect();
            calls
        };
        let calls = self.shards.iter().flat_map(of_shard);
        calls
            .filter_map(|call| Some(call.events.outermost()?.look()))
            .collect()
    }

    pub(crate) fn cancel_all(&self) -> usize {
        let count = self.outermost.load(Ordering::SeqCst);
        self.era.fetch_add(1, Ordering::SeqCst);
        self.give_up.notify_waiters();
        for shard in &self.shards {
            // Cancelling wakes others; not in the lock.
            let calls: Vec<CancellationToken> = lock(shard)
                .values()
                .map(|call| call.cancel.clone())
                .collect();
            calls.iter().for_each(CancellationToken::cancel);
        }
        count
    }

    /// Resolves at the next [`cancel_all`](Self::cancel_all).
    pub(crate) fn given_up(&self) -> Notified<'_> {
        self.give_up.notified()
    }

    pub(crate) async fn idle(&self) {
        /// Someone waits.
        struct Idler<'a>(&'a AtomicUsize);
        impl Drop for Idler<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        self.idlers.fetch_add(1, Ordering::SeqCst);
        let _idler = Idler(&self.idlers);
        loop {
            let mut idle = std::pin::pin!(self.idle.notified());
            idle.as_mut().enable();
            if self.outermost.load(Ordering::SeqCst) == 0 {
                return;
            }
            idle.await;
        }
    }

    pub(crate) fn enter(&self, id: &CallId, cancel: &CancellationToken, events: &Arc<EventLog>) {
        self.shard(id).insert(
            id.clone(),
            Listed {
                cancel: cancel.clone(),
                events: Arc::clone(events),
            },
        );
    }

    pub(crate) fn leave(&self, id: &CallId) {
        self.shard(id).remove(id);
    }

    pub(crate) fn cancel(&self, id: &CallId) -> bool {
        let call = self.shard(id).get(id).cloned();
        call.is_some_and(|call| {
            call.cancel.cancel();
            true
        })
    }

    pub(crate) fn events(&self, id: &CallId, after: u64) -> Option<EventReader> {
        let call = self.shard(id).get(id).cloned()?;
        Some(call.events.read_after(after))
    }
}

fn lock(shard: &Mutex<HashMap<CallId, Listed>>) -> MutexGuard<'_, HashMap<CallId, Listed>> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An outermost call, counted for as long as this is kept.
pub(crate) struct Counted(Arc<Inner>);

impl Counted {
    pub(crate) fn one(inner: &Arc<Inner>) -> Self {
        inner.running.outermost.fetch_add(1, Ordering::SeqCst);
        Counted(Arc::clone(inner))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let running = &self.0.running;
        let was = running.outermost.fetch_sub(1, Ordering::SeqCst);
        if was == 1 && running.idlers.load(Ordering::SeqCst) > 0 {
            running.idle.notify_waiters();
        }
    }
}
