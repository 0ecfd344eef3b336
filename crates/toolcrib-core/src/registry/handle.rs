//! Handles to calls in the background.

use std::sync::Arc;

use tokio::task::{JoinError, JoinHandle};
use tokio_util::sync::CancellationToken;

use super::Registry;
use crate::call::event::{EventLog, EventReader};
use crate::call::request::CallRequest;
use crate::catalogue::Counted;
use crate::model::ids::CallId;
use crate::model::outcome::Outcome;
use crate::pipeline::{self, Begun};

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
        // From now on, not from when someone gets round to it: who waits for the last call waits for this one, too.
        let counted = Counted::one(&registry.0);
        let task = tokio::spawn(async move {
            let _counted = counted;
            pipeline::run_begun(&registry.0, request, begun).await
        });
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
        self.events_after(0)
    }

    /// The events of the call after a sequence number, as far as they are still held.
    pub fn events_after(&self, seq: u64) -> EventReader {
        self.events.read_after(seq)
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
