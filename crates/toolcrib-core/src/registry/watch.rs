//! Calls as others see them: what runs now, the status of a call, and a hook for everything that happens.

use std::sync::Arc;

pub use crate::call::live::{EventSubscription, RunningCall};

use super::Registry;
use crate::call::event::{Event, EventReader};
use crate::model::caller::Caller;
use crate::model::error::ToolError;
use crate::model::ids::CallId;
use crate::model::outcome::Outcome;
use crate::pipeline;
use crate::record::replay::ClaimState;

/// The status of a call.
#[derive(Debug, Clone)]
pub enum CallState {
    /// It runs or waits, in this process.
    Running(RunningCall),
    /// It runs in another process that shares the home.
    Elsewhere(Caller),
    /// It is over, and its outcome was kept. With the caller.
    Done(Caller, Box<Outcome>),
    /// It was begun, and no one knows how it ended: its process died, or the waiting caller went away.
    Lost(Caller),
}

impl CallState {
    /// The caller.
    pub fn caller(&self) -> &Caller {
        match self {
            CallState::Running(call) => &call.caller,
            CallState::Elsewhere(caller) | CallState::Done(caller, _) | CallState::Lost(caller) => {
                caller
            }
        }
    }
}

impl Registry {
    /// The outermost calls that run or wait now, oldest first.
    pub fn running(&self) -> Vec<RunningCall> {
        let mut calls = self.0.running.outermost();
        calls.sort_by(|a, b| {
            let by_age = a.since.cmp(&b.since);
            by_age.then_with(|| a.call_id.as_str().cmp(b.call_id.as_str()))
        });
        calls
    }

    /// The outermost call with this id that runs or waits in this process. Reads no file, and waits for no one.
    pub fn running_call(&self, id: &CallId) -> Option<RunningCall> {
        self.0.running.look(id)
    }

    /// The status of a call, from this process and the home: running, or over with an outcome if that was kept (it is for ids
    /// that callers gave, [`CallRequest::keep_outcome`](crate::call::request::CallRequest::keep_outcome) included). Calls that left nothing but a
    /// record are in the call log. Says so to everybody: whose call it is comes with the answer.
    ///
    /// May read a file.
    pub fn call_state(&self, id: &CallId) -> Result<Option<CallState>, ToolError> {
        if let Some(call) = self.running_call(id) {
            return Ok(Some(CallState::Running(call)));
        }
        let standing = self.0.policy.replay.standing(id)?;
        Ok(standing.map(|standing| match standing {
            ClaimState::Running(live) => CallState::Running(live.look()),
            ClaimState::Elsewhere(caller) => CallState::Elsewhere(caller),
            ClaimState::Done(caller, mut outcome) => {
                pipeline::mask_stored(&self.0, &mut outcome);
                CallState::Done(caller, outcome)
            }
            ClaimState::Lost(caller) => CallState::Lost(caller),
        }))
    }

    /// Calls a function for every event of every outermost call, except output and progress, for as long as the subscription is
    /// kept. Of calls inside others it hears when they ask a person: the event has their id then, and the call is the outermost one.
    /// A call that is refused for its id, or answered with the outcome that was kept, has no events here.
    ///
    /// Events of one call come in order. The call waits for the function: it must not block, and must not read the call's events.
    pub fn on_event(
        &self,
        hook: impl Fn(&RunningCall, &Event) + Send + Sync + 'static,
    ) -> EventSubscription {
        self.0.running.hooks().add(Arc::new(hook))
    }

    /// Waits until every call that has finished so far is written to the record: what is acknowledged after this survives the death
    /// of the process, though not a power failure. Where a record could not be written, that is the recorder's to say; no one
    /// waits for it.
    pub async fn recorded(&self) {
        self.0.policy.recorder.written().await;
    }

    /// Cancels a running call; false when no such call runs here.
    pub fn cancel(&self, id: &CallId) -> bool {
        self.0.running.cancel(id)
    }

    /// Cancels every call that runs or waits here, and says how many outermost ones those are. Calls that come later are not
    /// touched: who wants none takes none.
    pub fn cancel_all(&self) -> usize {
        self.0.running.cancel_all()
    }

    /// Waits until no call runs or waits here, and what they leave is kept: outcomes, and the records in the recorder's hands.
    pub async fn idle(&self) {
        self.0.running.idle().await;
    }

    /// The events of a running call from `after` on (0: from the start).
    pub fn events(&self, id: &CallId, after: u64) -> Option<EventReader> {
        self.0.running.events(id, after)
    }
}
