//! Calls with an id of the caller's own: run once, answered as often as asked.
//!
//! The same id from the same caller with the same tool and arguments gets the stored outcome, or waits
//! for the call that runs; anything else is `CONFLICT`: an id is its caller's own. A call whose process died before its outcome was stored is
//! *not* run again: no one knows how far it came. With a [`ClaimStore`] this holds across processes.
//!
//! Stored are outcomes of calls that reached their tool, and a person's "no". Other refusals free the id, since a tool may
//! be switched on and a rate limit passes.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::call::live::Live;
use crate::model::caller::Caller;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::ids::CallId;
use crate::model::outcome::Outcome;

/// How long outcomes are kept, unless configured.
pub const DEFAULT_KEEP: Duration = Duration::from_secs(24 * 60 * 60);
/// How many outcomes are kept in memory, and how many bytes of them (as JSON).
const MAX_IN_MEMORY: usize = 10_000;
const MAX_BYTES_IN_MEMORY: usize = 64 * 1024 * 1024;

/// The outcomes of calls with caller-given ids.
pub struct Replay {
    calls: Arc<Mutex<Calls>>,
    shared: Option<Arc<dyn ClaimStore>>,
    keep: Duration,
}

#[derive(Default)]
struct Calls {
    by_id: HashMap<CallId, Slot>,
    /// Oldest first, for forgetting, by the number of their slot.
    ages: BTreeMap<u64, (CallId, Instant)>,
    next: u64,
    bytes: usize,
}

struct Slot {
    claimant: Claimant,
    state: watch::Receiver<State>,
    bytes: usize,
    number: u64,
}

#[derive(Clone)]
enum State {
    Running,
    Done(Arc<Outcome>),
    /// It was begun and no one knows how it ended.
    Lost,
    /// It was not begun after all: waiting callers may try.
    GivenUp,
}

/// The caller that claims an id, and its call.
#[derive(Debug, Clone)]
pub struct Claimant {
    /// Of the caller, the tool and the arguments.
    pub digest: String,
    /// The caller.
    pub caller: Caller,
    /// The call as others see it, if it is an outermost one.
    pub live: Option<Arc<Live>>,
}

/// The status of the call with an id.
#[derive(Debug)]
pub enum ClaimState {
    /// It runs here.
    Running(Arc<Live>),
    /// It runs in another process.
    Elsewhere(Caller),
    /// It is over.
    Done(Caller, Box<Outcome>),
    /// It was begun, and no one knows how it ended.
    Lost(Caller),
}

/// Keeps claims and outcomes where other processes find them. Every method may block.
pub trait ClaimStore: Send + Sync + 'static {
    /// Claims an id, unless another process has it.
    fn claim(&self, id: &CallId, claimant: &Claimant) -> Result<ClaimAnswer, ToolError>;

    /// The status of the call with an id.
    fn standing(&self, id: &CallId) -> Result<Option<ClaimState>, ToolError>;
}

/// What a [`ClaimStore`] finds when an id is claimed.
pub enum ClaimAnswer {
    /// The call is ours to run.
    Ours(Box<dyn SharedClaim>),
    /// Another process runs it, or just gave it up: look again.
    Taken,
    /// It ran before.
    Done(Box<Outcome>),
    /// It was begun and did not finish.
    Lost,
}

/// A claim that this process holds. Dropped before it begins, it is given up; dropped after, the call is lost.
pub trait SharedClaim: Send {
    /// From here on the call may have had an effect.
    fn begin(&mut self);

    /// Gives the id free: the call did not reach its tool.
    fn give_up(self: Box<Self>);

    /// Stores the outcome and lets go; whether it is safe. If it is not, the call counts as lost for other processes, and is never run
    /// again.
    fn finish(self: Box<Self>, outcome: &Outcome) -> bool;
}

/// The answer to a claim.
#[doc(hidden)]
pub enum Claim {
    /// The call is ours to run.
    Fresh(Claimed),
    /// It ran before.
    Stored(Box<Outcome>),
}

/// The duty to run a call and store its outcome.
#[doc(hidden)]
pub struct Claimed {
    id: CallId,
    calls: Arc<Mutex<Calls>>,
    state: watch::Sender<State>,
    shared: Option<Box<dyn SharedClaim>>,
    phase: Phase,
}

#[derive(PartialEq)]
enum Phase {
    /// Not ours yet, as far as other processes go.
    Claiming,
    Running,
    Over,
}

impl Replay {
    /// Keeps outcomes in this process.
    pub fn in_memory() -> Self {
        Replay {
            calls: Arc::default(),
            shared: None,
            keep: DEFAULT_KEEP,
        }
    }

    /// Keeps outcomes where other processes find them.
    pub fn shared(store: impl ClaimStore, keep: Duration) -> Self {
        Replay {
            calls: Arc::default(),
            shared: Some(Arc::new(store)),
            keep,
        }
    }

    /// Whether a call with this id runs here, or was left in memory.
    #[doc(hidden)]
    pub fn knows(&self, id: &CallId) -> bool {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.by_id.contains_key(id)
    }

    /// The status of the call with an id. May read a file.
    #[doc(hidden)]
    pub fn standing(&self, id: &CallId) -> Result<Option<ClaimState>, ToolError> {
        let here = {
            let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            let slot = calls.by_id.get(id);
            slot.map(|slot| (slot.claimant.clone(), slot.state.borrow().clone()))
        };
        match here {
            // One that has not begun waits for another process; its file says more.
            Some((
                Claimant {
                    live: Some(live), ..
                },
                State::Running,
            )) if live.has_begun() => {
                return Ok(Some(ClaimState::Running(live)));
            }
            Some((claimant, State::Done(outcome))) => {
                let outcome = Box::new(Outcome::clone(&outcome));
                return Ok(Some(ClaimState::Done(claimant.caller, outcome)));
            }
            Some((claimant, State::Lost)) => return Ok(Some(ClaimState::Lost(claimant.caller))),
            Some((_, State::Running | State::GivenUp)) | None => {}
        }
        match &self.shared {
            Some(store) => store.standing(id),
            None => Ok(None),
        }
    }

    #[doc(hidden)]
    pub async fn claim(&self, id: &CallId, claimant: &Claimant) -> Result<Claim, ToolError> {
        loop {
            let running = match self.claim_here(id, claimant)? {
                Ok(claimed) => return self.claim_in_store(claimed, claimant).await,
                Err(running) => running,
            };
            if let Some(stored) = wait_for(id, running).await? {
                return Ok(Claim::Stored(stored));
            }
        }
    }

    /// Ours to run (as far as this process knows), or someone's whose state is returned.
    fn claim_here(
        &self,
        id: &CallId,
        claimant: &Claimant,
    ) -> Result<Result<Claimed, watch::Receiver<State>>, ToolError> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.forget(self.keep);
        if let Some(slot) = calls.by_id.get(id) {
            if slot.claimant.digest != claimant.digest {
                return Err(conflict(id));
            }
            return Ok(Err(slot.state.clone()));
        }
        let (state, receiver) = watch::channel(State::Running);
        let number = calls.next;
        calls.next += 1;
        calls.by_id.insert(
            id.clone(),
            Slot {
                claimant: claimant.clone(),
                state: receiver,
                bytes: 0,
                number,
            },
        );
        calls.ages.insert(number, (id.clone(), Instant::now()));
        Ok(Ok(Claimed {
            id: id.clone(),
            calls: Arc::clone(&self.calls),
            state,
            shared: None,
            phase: Phase::Claiming,
        }))
    }

    async fn claim_in_store(
        &self,
        mut claimed: Claimed,
        claimant: &Claimant,
    ) -> Result<Claim, ToolError> {
        let Some(store) = &self.shared else {
            claimed.phase = Phase::Running;
            return Ok(Claim::Fresh(claimed));
        };
        let mut pause = Duration::from_millis(5);
        loop {
            let (store, id, wanted) = (Arc::clone(store), claimed.id.clone(), claimant.clone());
            let found = tokio::task::spawn_blocking(move || store.claim(&id, &wanted)).await;
            match found.unwrap_or_else(|error| Err(ToolError::failed(error.to_string())))? {
                ClaimAnswer::Ours(mut claim) => {
                    claim.begin();
                    claimed.shared = Some(claim);
                    claimed.phase = Phase::Running;
                    return Ok(Claim::Fresh(claimed));
                }
                ClaimAnswer::Done(outcome) => {
                    claimed.settle(State::Done(Arc::new((*outcome).clone())));
                    claimed.forget();
                    return Ok(Claim::Stored(outcome));
                }
                ClaimAnswer::Lost => return Err(lost(&claimed.id)),
                // Another process has it; its lock shows when it is done, and cannot be awaited.
                ClaimAnswer::Taken => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_millis(200));
                }
            }
        }
    }
}

/// Waits for a call of this process; `None` when it was given up.
async fn wait_for(
    id: &CallId,
    mut state: watch::Receiver<State>,
) -> Result<Option<Box<Outcome>>, ToolError> {
    // The sender settles the state before it goes.
    let settled = state
        .wait_for(|state| !matches!(state, State::Running))
        .await;
    match settled.as_deref() {
        Ok(State::Done(outcome)) => Ok(Some(Box::new(Outcome::clone(outcome)))),
        Ok(State::GivenUp) => Ok(None),
        Ok(State::Lost | State::Running) | Err(_) => Err(lost(id)),
    }
}

impl Claimed {
    /// Stores the outcome and gives it to waiting callers.
    #[doc(hidden)]
    pub async fn finish(mut self, outcome: &Outcome) {
        self.settle(State::Done(Arc::new(outcome.clone())));
        let is_stored = match self.shared.take() {
            Some(claim) => {
                let outcome = outcome.clone();
                tokio::task::spawn_blocking(move || claim.finish(&outcome))
                    .await
                    .unwrap_or(false)
            }
            None => false,
        };
        if is_stored {
            self.forget();
        } else {
            let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.weigh(&self.id, json_length(outcome));
        }
    }

    /// Lets go of a call that did not reach its tool: the id is free again.
    #[doc(hidden)]
    pub fn give_up(mut self) {
        if let Some(claim) = self.shared.take() {
            claim.give_up();
        }
        self.phase = Phase::Claiming;
    }

    fn settle(&mut self, state: State) {
        self.phase = Phase::Over;
        self.state.send_replace(state);
    }

    fn forget(&self) {
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.id);
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        match self.phase {
            Phase::Claiming => {
                self.forget();
                self.settle(State::GivenUp);
            }
            Phase::Running => self.settle(State::Lost),
            Phase::Over => {}
        }
    }
}

impl Calls {
    fn weigh(&mut self, id: &CallId, bytes: usize) {
        if let Some(slot) = self.by_id.get_mut(id) {
            slot.bytes = bytes;
            self.bytes += bytes;
        }
    }

    fn remove(&mut self, id: &CallId) {
        if let Some(slot) = self.by_id.remove(id) {
            self.bytes -= slot.bytes;
            self.ages.remove(&slot.number);
        }
    }

    /// Forgets what is old, or the oldest when there is too much; what runs is kept.
    fn forget(&mut self, keep: Duration) {
        let mut from = 0;
        while let Some((number, (id, since))) = self.ages.range(from..).next() {
            let fits = self.ages.len() < MAX_IN_MEMORY && self.bytes <= MAX_BYTES_IN_MEMORY;
            if fits && since.elapsed() <= keep {
                return;
            }
            from = number + 1;
            let runs = |slot: &Slot| matches!(*slot.state.borrow(), State::Running);
            if !self.by_id.get(id).is_some_and(runs) {
                let id = id.clone();
                self.remove(&id);
            }
        }
    }
}

/// How long an outcome is as JSON.
fn json_length(outcome: &Outcome) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    let _ = serde_json::to_writer(&mut count, outcome);
    count.0
}

/// The error for an id that was used for another call.
#[doc(hidden)]
pub fn conflict(id: &CallId) -> ToolError {
    ToolError::new(
        ErrorCode::Conflict,
        format!(
            "call `{id}` was made before by another caller, with another tool or with other arguments"
        ),
    )
}

fn lost(id: &CallId) -> ToolError {
    ToolError::failed(format!(
        "call `{id}` was started before and did not finish, or its outcome could not be kept; it may or may not have had an effect. Look, then call with a new id"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::JsonObject;
    use crate::model::outcome::{Timing, ToolOutput};

    fn outcome(id: &str, value: &str) -> Outcome {
        let now = jiff::Timestamp::now();
        let zero = Duration::ZERO;
        Outcome {
            call_id: CallId::parse(id).unwrap(),
            called: None,
            tool: "t".to_owned(),
            origin: None,
            parameters: JsonObject::new(),
            result: Ok(ToolOutput::value(value)),
            timing: Timing {
                started_at: now,
                ended_at: now,
                queue: zero,
                execution: zero,
                total: zero,
            },
            approval: None,
            sandbox: None,
            warnings: Vec::new(),
            truncated: false,
            held: Vec::new(),
        }
    }

    fn by(caller: Caller, digest: &str) -> Claimant {
        Claimant {
            digest: digest.to_owned(),
            caller,
            live: None,
        }
    }

    async fn fresh(replay: &Replay, id: &str, digest: &str) -> Claimed {
        match replay
            .claim(&CallId::parse(id).unwrap(), &by(Caller::Library, digest))
            .await
            .unwrap()
        {
            Claim::Fresh(claimed) => claimed,
            Claim::Stored(outcome) => panic!("stored: {outcome:?}"),
        }
    }

    #[tokio::test]
    async fn memory_is_bounded_in_number_and_bytes() {
        let replay = Replay::in_memory();
        let long = "x".repeat(MAX_BYTES_IN_MEMORY / 4);
        for n in 0..8 {
            let id = format!("long-{n}");
            fresh(&replay, &id, "d")
                .await
                .finish(&outcome(&id, &long))
                .await;
        }
        for n in 0..MAX_IN_MEMORY + 10 {
            let id = format!("short-{n}");
            fresh(&replay, &id, "d")
                .await
                .finish(&outcome(&id, "x"))
                .await;
        }
        let calls = replay.calls.lock().unwrap();
        assert!(calls.by_id.len() <= MAX_IN_MEMORY && calls.ages.len() == calls.by_id.len());
        assert!(calls.bytes <= MAX_BYTES_IN_MEMORY + long.len());
    }
}
