//! [`Recent`]: the events of calls that were made to be followed, for a while after they are over.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use toolcrib::registry::RunningCall;
use toolcrib::{CallId, EventReader};

/// How many calls are remembered. Each holds 1 MiB of events at most. Of too many, the oldest of the caller with the most is forgotten: one
/// client's calls do not push out another's.
const MAX_CALLS: usize = 64;

/// The latest calls that someone followed or means to follow.
#[derive(Default)]
pub(crate) struct Recent(Mutex<VecDeque<Followed>>);

struct Followed {
    call: RunningCall,
    events: EventReader,
    is_over: Arc<AtomicBool>,
}

/// Says that a call is over when it is dropped.
pub(crate) struct Ending(Arc<AtomicBool>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Recent {
    /// Remembers a call, and forgets one of too many. Notified when its record is written.
    #[must_use]
    pub(crate) fn remember(&self, call: RunningCall, events: EventReader) -> Ending {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut calls = self.lock();
        // A call id that is given again joins the call that has it; the newest has what is left of its events.
        calls.retain(|other| {
            (&other.call.call_id, &other.call.caller) != (&call.call_id, &call.caller)
        });
        calls.push_back(Followed {
            call,
            events,
            is_over: Arc::clone(&is_over),
        });
        if calls.len() > MAX_CALLS {
            forget_one(&mut calls);
        }
        Ending(is_over)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Followed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call that is not over, as it was when it came: for the moment before it is listed among those that run.
    pub(crate) fn begun(&self, id: &CallId) -> Option<RunningCall> {
        let calls = self.lock();
        let mut found = calls.iter().rev().filter(|known| known.call.call_id == *id);
        let found = found.find(|known| !known.is_over.load(Ordering::Acquire))?;
        Some(found.call.clone())
    }

    /// The events of a call that someone may see, from the start.
    pub(crate) fn events(
        &self,
        id: &CallId,
        may_see: impl Fn(&RunningCall) -> bool,
    ) -> Option<EventReader> {
        let calls = self.lock();
        let found = calls
            .iter()
            .rev()
            .find(|known| known.call.call_id == *id && may_see(&known.call))?;
        Some(found.events.clone())
    }
}

/// Forgets the oldest call of the caller who has the most.
fn forget_one(calls: &mut VecDeque<Followed>) {
    let share = |of: &Followed| {
        let own = calls
            .iter()
            .filter(|call| call.call.caller == of.call.caller);
        own.count()
    };
    let most = calls.iter().map(share).max();
    let oldest = calls.iter().position(|call| Some(share(call)) == most);
    if let Some(oldest) = oldest {
        calls.remove(oldest);
    }
}

/// A call as it comes, but for the id that it gets.
pub(crate) fn call_as_it_comes(
    request: &toolcrib::CallRequest,
) -> impl FnOnce(CallId) -> RunningCall + use<> {
    let tool = request.tool.chars().take(128).collect();
    let caller = request.caller.clone();
    move |call_id| RunningCall {
        call_id,
        tool,
        origin: None,
        caller,
        since: Timestamp::now(),
        approval: None,
    }
}
