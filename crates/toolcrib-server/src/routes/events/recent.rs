//! [`Recent`]: the events of calls that were made to be followed, for a while after they are over.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use toolcrib::{CallId, Caller, EventReader};

/// How many calls are remembered. Each holds 1 MiB of events at most.
const MAX_CALLS: usize = 32;

/// The latest calls that somebody followed or means to follow.
#[derive(Default)]
pub(crate) struct Recent(Mutex<VecDeque<Followed>>);

struct Followed {
    id: CallId,
    caller: Caller,
    events: EventReader,
}

impl Recent {
    /// Remembers a call, and forgets the oldest of too many.
    pub(crate) fn remember(&self, id: CallId, caller: Caller, events: EventReader) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A call id that is given again joins the call that has it; the newest has what is left of its events.
        calls.retain(|call| call.id != id || call.caller != caller);
        if calls.len() == MAX_CALLS {
            calls.pop_front();
        }
        calls.push_back(Followed { id, caller, events });
    }

    /// The events of a call of somebody, from the start.
    pub(crate) fn events(
        &self,
        id: &CallId,
        may_see: impl Fn(&Caller) -> bool,
    ) -> Option<EventReader> {
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = calls
            .iter()
            .rev()
            .find(|call| call.id == *id && may_see(&call.caller))?;
        Some(found.events.clone())
    }
}
