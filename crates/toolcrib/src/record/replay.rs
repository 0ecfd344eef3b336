//! Calls with an id of the caller's own: run once, answered as often as asked.
//!
//! The same id with the same tool and arguments gets the stored outcome, or waits for the call that
//! runs; with others it is `CONFLICT`. A call whose process died before its outcome was stored is
//! *not* run again: nobody knows how far it came. In a directory this holds across processes: a
//! claim is a file made with create-new and kept locked while the call runs.

mod disk;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::model::error::{ErrorCode, ToolError};
use crate::model::outcome::Outcome;
use disk::{DiskClaim, DiskReplay, Found};

/// How long outcomes are kept, unless configured.
pub const DEFAULT_KEEP: Duration = Duration::from_secs(24 * 60 * 60);
/// How many outcomes are kept in memory, and how many bytes of them (as JSON).
const MAX_IN_MEMORY: usize = 10_000;
const MAX_BYTES_IN_MEMORY: usize = 64 * 1024 * 1024;

/// The outcomes of calls with caller-given ids.
pub struct Replay {
    calls: Arc<Mutex<Calls>>,
    disk: Option<Arc<DiskReplay>>,
    keep: Duration,
}

#[derive(Default)]
struct Calls {
    by_id: HashMap<Arc<str>, Slot>,
    /// Oldest first, for forgetting.
    ages: VecDeque<(Arc<str>, Instant)>,
    bytes: usize,
}

struct Slot {
    digest: String,
    state: watch::Receiver<State>,
    bytes: usize,
}

#[derive(Clone)]
enum State {
    Running,
    Done(Arc<Outcome>),
    Lost,
}

/// The answer to a claim.
pub(crate) enum Claim {
    /// The call is ours to run.
    Fresh(Claimed),
    /// It ran before.
    Stored(Box<Outcome>),
}

/// The duty to run a call and store its outcome.
pub(crate) struct Claimed {
    id: Arc<str>,
    calls: Arc<Mutex<Calls>>,
    state: watch::Sender<State>,
    disk: Option<DiskClaim>,
    finished: bool,
}

impl Replay {
    /// Keeps outcomes in this process.
    pub fn in_memory() -> Self {
        Replay {
            calls: Arc::default(),
            disk: None,
            keep: DEFAULT_KEEP,
        }
    }

    /// Keeps outcomes in a directory that processes share. It is made when first needed.
    pub fn in_directory(path: PathBuf, keep: Duration) -> Self {
        Replay {
            calls: Arc::default(),
            disk: Some(Arc::new(DiskReplay::new(path, keep))),
            keep,
        }
    }

    pub(crate) async fn claim(&self, id: &Arc<str>, digest: &str) -> Result<Claim, ToolError> {
        let running = match self.claim_here(id, digest)? {
            Ok(claimed) => return self.claim_on_disk(claimed, digest).await,
            Err(running) => running,
        };
        wait_for(id, running).await
    }

    /// Ours to run (as far as this process knows), or somebody's whose state is returned.
    fn claim_here(
        &self,
        id: &Arc<str>,
        digest: &str,
    ) -> Result<Result<Claimed, watch::Receiver<State>>, ToolError> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.forget(self.keep);
        if let Some(slot) = calls.by_id.get(id) {
            if slot.digest != digest {
                return Err(conflict(id));
            }
            return Ok(Err(slot.state.clone()));
        }
        let (state, receiver) = watch::channel(State::Running);
        calls.by_id.insert(
            Arc::clone(id),
            Slot {
                digest: digest.to_owned(),
                state: receiver,
                bytes: 0,
            },
        );
        calls.ages.push_back((Arc::clone(id), Instant::now()));
        Ok(Ok(Claimed {
            id: Arc::clone(id),
            calls: Arc::clone(&self.calls),
            state,
            disk: None,
            finished: false,
        }))
    }

    async fn claim_on_disk(&self, mut claimed: Claimed, digest: &str) -> Result<Claim, ToolError> {
        let Some(disk) = &self.disk else {
            return Ok(Claim::Fresh(claimed));
        };
        let mut pause = Duration::from_millis(5);
        loop {
            let (store, id, wanted) =
                (Arc::clone(disk), Arc::clone(&claimed.id), digest.to_owned());
            let found = tokio::task::spawn_blocking(move || store.claim(&id, &wanted)).await;
            let found = found.unwrap_or_else(|error| Err(ToolError::failed(error.to_string())));
            match found {
                Ok(Found::Ours(claim)) => {
                    claimed.disk = Some(claim);
                    return Ok(Claim::Fresh(claimed));
                }
                Ok(Found::Done(outcome)) => {
                    claimed.settle(State::Done(Arc::new((*outcome).clone())));
                    claimed
                        .calls
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .remove(&claimed.id);
                    return Ok(Claim::Stored(outcome));
                }
                Ok(Found::Lost) => {
                    let error = lost(&claimed.id);
                    claimed.withdraw();
                    return Err(error);
                }
                // Another process runs it; its lock tells when it is done, and cannot be awaited.
                Ok(Found::Running) => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_millis(200));
                }
                Err(error) => {
                    // Nothing was claimed: another try may come.
                    claimed.withdraw();
                    return Err(error);
                }
            }
        }
    }
}

async fn wait_for(id: &str, mut state: watch::Receiver<State>) -> Result<Claim, ToolError> {
    loop {
        match &*state.borrow_and_update() {
            State::Running => {}
            State::Done(outcome) => return Ok(Claim::Stored(Box::new(Outcome::clone(outcome)))),
            State::Lost => return Err(lost(id)),
        }
        if state.changed().await.is_err() {
            return match &*state.borrow() {
                State::Done(outcome) => Ok(Claim::Stored(Box::new(Outcome::clone(outcome)))),
                State::Running | State::Lost => Err(lost(id)),
            };
        }
    }
}

impl Claimed {
    /// Stores the outcome and gives it to whoever waits.
    pub(crate) fn finish(mut self, outcome: &Outcome) {
        self.settle(State::Done(Arc::new(outcome.clone())));
        let on_disk = self.disk.take().is_some_and(|disk| disk.finish(outcome));
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if on_disk {
            calls.remove(&self.id);
        } else {
            calls.weigh(&self.id, json_length(outcome));
        }
    }

    fn settle(&mut self, state: State) {
        self.finished = true;
        self.state.send_replace(state);
    }

    /// Gives the claim up before anything ran.
    fn withdraw(mut self) {
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.id);
        self.settle(State::Lost);
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        if !self.finished {
            self.state.send_replace(State::Lost);
        }
    }
}

impl Calls {
    fn weigh(&mut self, id: &str, bytes: usize) {
        if let Some(slot) = self.by_id.get_mut(id) {
            slot.bytes = bytes;
            self.bytes += bytes;
        }
    }

    fn remove(&mut self, id: &str) {
        if let Some(slot) = self.by_id.remove(id) {
            self.bytes -= slot.bytes;
        }
        self.ages.retain(|(known, _)| **known != *id);
    }

    /// Forgets what is old, or the oldest when there is too much; what runs is kept.
    fn forget(&mut self, keep: Duration) {
        let mut looked_at = 0;
        while let Some((id, since)) = self.ages.front().cloned() {
            let fits = self.ages.len() < MAX_IN_MEMORY && self.bytes <= MAX_BYTES_IN_MEMORY;
            if (fits && since.elapsed() <= keep) || looked_at == self.ages.len() {
                return;
            }
            let runs = |slot: &Slot| matches!(*slot.state.borrow(), State::Running);
            if self.by_id.get(&id).is_some_and(runs) {
                self.ages.rotate_left(1);
                looked_at += 1;
            } else {
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

fn conflict(id: &str) -> ToolError {
    ToolError::new(
        ErrorCode::Conflict,
        format!("call `{id}` was made before with another tool or other arguments"),
    )
}

fn lost(id: &str) -> ToolError {
    ToolError::failed(format!(
        "call `{id}` was started before and did not finish; it may or may not have had an effect. Look, then call with a new id"
    ))
}

#[cfg(test)]
mod tests;
