//! Questions to people: put, answered, used; by threads, processes and clocks that jump.

mod calls;
mod crash;
mod edits;
mod flood;
mod processes;
mod questions;
mod scripts;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use toolcrib::approval::{
    ApprovalQueue, ApprovalRequest, Clock, Moment, QueueOptions, Queued, Status,
};

/// A home with a queue and a clock that the test sets.
pub(crate) struct Place {
    pub(crate) home: TempDir,
    pub(crate) clock: Arc<Mutex<Moment>>,
}

impl Place {
    pub(crate) fn new() -> Self {
        Place {
            home: TempDir::new().unwrap(),
            clock: Arc::new(Mutex::new(Moment {
                boot: "first".to_owned(),
                ms: 1_000_000,
            })),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.home.path().join("approvals")
    }

    pub(crate) fn options(&self) -> QueueOptions {
        let clock = Arc::clone(&self.clock);
        QueueOptions {
            clock: Clock::by(move || clock.lock().unwrap().clone()),
            ..QueueOptions::default()
        }
    }

    /// Its own queue, as another process would have it.
    pub(crate) fn queue(&self) -> ApprovalQueue {
        ApprovalQueue::at(self.path(), self.options())
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.clock.lock().unwrap().ms += u64::try_from(time.as_millis()).unwrap();
    }

    pub(crate) fn reboot(&self) {
        *self.clock.lock().unwrap() = Moment {
            boot: "second".to_owned(),
            ms: 1_000_001,
        };
    }

    /// The names of the files, without the lock.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut names = names_in(&self.path());
        names.retain(|name| name != ".lock");
        names
    }
}

/// A question about a call; another text is another call.
pub(crate) fn request(call: &str) -> ApprovalRequest {
    serde_json::from_value(json!({
        "id": "01940000-0000-7000-8000-000000000000", "stepId": "launch", "callId": "call-1", "tool": "launch",
        "args": {"what": call}, "reason": "it is loud", "effect": "launch it",
        "argsDigest": format!("digest of {call}"), "callDigest": call,
    }))
    .unwrap()
}

pub(crate) fn no_check(
    _: &ApprovalRequest,
    _: &toolcrib::approval::ApprovalResponse,
) -> Result<(), toolcrib::ToolError> {
    Ok(())
}

pub(crate) fn all(queue: &ApprovalQueue) -> Vec<Queued> {
    let listing = queue.list(None).unwrap();
    assert_eq!(listing.damaged, []);
    listing.requests
}

pub(crate) fn statuses(queue: &ApprovalQueue) -> Vec<Status> {
    all(queue).iter().map(|queued| queued.status).collect()
}

/// The entries of a directory, sorted; none where there is no directory.
fn names_in(path: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(path)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
