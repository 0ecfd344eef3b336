//! Calls that run: watching and cancelling them by id, and handles to calls in the background.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;

use super::Registry;
use crate::model::call::CallRequest;
use crate::model::event::{EventLog, EventReader};
use crate::model::ids::CallId;
use crate::model::outcome::Outcome;
use crate::pipeline::{self, Begun};

/// The calls that run now, by id, in shards so that starting a call never waits for another.
pub(crate) struct Running {
    hasher: RandomState,
    shards: [Mutex<HashMap<CallId, RunningCall>>; 16],
}

#[derive(Clone)]
struct RunningCall {
    cancel: CancellationToken,
    events: Arc<EventLog>,
}

impl Default for Running {
    fn default() -> Self {
        Running {
            hasher: RandomState::new(),
            shards: Default::default(),
        }
    }
}

impl Running {
    fn shard(&self, id: &CallId) -> std::sync::MutexGuard<'_, HashMap<CallId, RunningCall>> {
        let index = self.hasher.hash_one(id) as usize % self.shards.len();
        self.shards[index]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enter(&self, id: &CallId, cancel: &CancellationToken, events: &Arc<EventLog>) {
        self.shard(id).insert(
            id.clone(),
            RunningCall {
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

/// A call in the background (S3: `ExecuteAsync`). Dropping the handle leaves the call running.
#[derive(Debug)]
pub struct CallHandle {
    id: CallId,
    cancel: CancellationToken,
    events: Arc<EventLog>,
    task: JoinHandle<Outcome>,
}

impl CallHandle {
    pub(super) fn spawn(registry: Registry, mut request: CallRequest) -> Self {
        // Below the caller's token, if there is one: cancelling this call is not cancelling that.
        let cancel = request
            .cancel
            .take()
            .map_or_else(CancellationToken::new, |token| token.child_token());
        request.cancel = Some(cancel.clone());
        let begun = Begun::of(&registry.0, &request);
        let (id, events) = (begun.id.clone(), Arc::clone(&begun.events));
        let task =
            tokio::spawn(async move { pipeline::run_begun(&registry.0, request, begun).await });
        CallHandle {
            id,
            cancel,
            events,
            task,
        }
    }

    /// The id of the call.
    pub fn id(&self) -> &CallId {
        &self.id
    }

    /// Cancels the call.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// The events of the call, from the start.
    pub fn events(&self) -> EventReader {
        self.events.read_after(0)
    }

    /// Waits for the outcome.
    ///
    /// # Panics
    ///
    /// When the runtime the call runs on is shut down meanwhile.
    pub async fn outcome(self) -> Outcome {
        match self.task.await.map_err(JoinError::try_into_panic) {
            Ok(outcome) => outcome,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            Err(Err(_)) => panic!("the runtime of call `{}` was shut down", self.id),
        }
    }
}
