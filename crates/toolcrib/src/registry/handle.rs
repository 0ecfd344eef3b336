//! Calls that run: watching and cancelling them by id, and handles to calls in the background.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::Registry;
use crate::model::call::CallRequest;
use crate::model::event::{EventLog, EventReader};
use crate::model::ids::CallId;
use crate::model::outcome::Outcome;

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
        let id = request.call_id.clone().unwrap_or_else(CallId::generate);
        let cancel = request.cancel.get_or_insert_default().clone();
        let events = Arc::new(EventLog::new(id.clone()));
        let begun = crate::pipeline::Begun {
            id: id.clone(),
            events: Arc::clone(&events),
        };
        let task =
            tokio::spawn(
                async move { crate::pipeline::run_begun(&registry.0, request, begun).await },
            );
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
    pub async fn outcome(self) -> Outcome {
        match self.task.await {
            Ok(outcome) => outcome,
            // The pipeline catches panics and nobody aborts the task.
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}
