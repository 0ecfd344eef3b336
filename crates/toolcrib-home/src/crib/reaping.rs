//! The reaper, which S4 has in the background: here a process that opens a home or uses it for long does its work, at most once a day.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::storage::{DurableDir, StorageError};
use crate::store::Store;

const DIRECTORY: &str = "state";
const FILE: &str = "reaped.json";
const MAX_BYTES: u64 = 64 * 1024;
/// How long no one reaps again.
const PAUSE: SignedDuration = SignedDuration::from_hours(24);
const PAUSE_SECONDS: u64 = PAUSE.as_secs().unsigned_abs();

/// When it was done last, and what came of it.
#[derive(Debug, Serialize, Deserialize)]
struct Reaped {
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// Reaps a store when that is due: when its home is opened, and from then on once a day while the process uses it.
pub(super) struct Reaper {
    home: PathBuf,
    store: Store,
    begun: Instant,
    /// When this process looks again whether it is due, in seconds after `begun`.
    next: AtomicU64,
}

impl Reaper {
    pub(super) fn new(home: &Path, store: &Store) -> Self {
        Reaper {
            home: home.to_owned(),
            store: store.clone(),
            begun: Instant::now(),
            next: AtomicU64::new(PAUSE_SECONDS),
        }
    }

    /// Has a thread do it, if this process has not for a day: a caller of a tool waits for no other writer.
    pub(super) fn follow(self: &Arc<Self>) {
        if self.is_due(self.begun.elapsed().as_secs()) {
            let reaper = Arc::clone(self);
            // Without a thread it is done tomorrow.
            let _ = std::thread::Builder::new().spawn(move || reaper.reap_at_times());
        }
    }

    /// Whether it is this caller's turn, so many seconds after the beginning.
    fn is_due(&self, now: u64) -> bool {
        let next = self.next.load(Ordering::Relaxed);
        let later = now.saturating_add(PAUSE_SECONDS);
        now >= next
            && self
                .next
                .compare_exchange(next, later, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// Removes what has been in the bin for two days and is empty, if no one did so within a day. Where that fails, nothing else is
    /// affected; [`problem`] says so.
    ///
    /// The store reports the contents of the bin; it reads no more of a file than it may have. Where nothing is, nothing is written.
    pub(super) fn reap_at_times(&self) {
        if !self.store.has_bin() {
            return;
        }
        let now = Timestamp::now();
        let is_recent = |reaped: &Reaped| {
            let since = now.duration_since(reaped.at);
            // A clock that was put back must not keep it from being done.
            SignedDuration::ZERO <= since && since < PAUSE
        };
        if read(&self.home).is_ok_and(|reaped| reaped.as_ref().is_some_and(is_recent)) {
            return;
        }
        let problem = self.store.reap().err().map(|error| error.to_string());
        // Without it the next to open tries again.
        let _ = write(&self.home, &Reaped { at: now, problem });
    }
}

/// What went wrong the last time, if something did.
pub(super) fn problem(home: &Path) -> Option<String> {
    let why = match read(home) {
        Ok(reaped) => reaped?.problem?,
        Err(error) => error.to_string(),
    };
    Some(format!(
        "bundles that have been in the bin for two days could not be removed: {why}"
    ))
}

fn read(home: &Path) -> Result<Option<Reaped>, StorageError> {
    let Some(dir) = DurableDir::open(home.join(DIRECTORY))? else {
        return Ok(None);
    };
    let Some(bytes) = dir.read(FILE, MAX_BYTES)? else {
        return Ok(None);
    };
    // What makes no sense is written again.
    Ok(serde_json::from_slice(&bytes).ok())
}

fn write(home: &Path, reaped: &Reaped) -> Result<(), StorageError> {
    let dir = DurableDir::create(home.join(DIRECTORY))?;
    let lock = dir.lock()?;
    let bytes =
        serde_json::to_vec(reaped).map_err(|error| StorageError::io("write", FILE, error))?;
    dir.write(&lock, FILE, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ids::BundleId;
    use crate::model::names::Slug;
    use crate::store::{BundleDraft, StoreOptions};

    const DAY: u64 = PAUSE_SECONDS;

    fn store(home: &Path, now: Timestamp) -> Store {
        let options = StoreOptions {
            clock: Arc::new(move || now),
            ..StoreOptions::default()
        };
        Store::at(home, options)
    }

    /// A bundle that was put in the bin three days ago.
    fn binned(home: &Path) -> BundleId {
        let then = Timestamp::now() - SignedDuration::from_hours(72);
        let (store, id) = (store(home, then), BundleId::generate());
        let draft = BundleDraft {
            slug: Slug::parse("old").unwrap(),
            display_name: String::new(),
            description: String::new(),
            is_enabled: true,
        };
        store.put_bundle(id, draft).unwrap();
        store.delete_bundle(id).unwrap();
        id
    }

    #[test]
    fn a_process_that_stays_reaps_once_a_day() {
        let home = tempfile::tempdir().unwrap();
        let reaper = Reaper::new(home.path(), &store(home.path(), Timestamp::now()));
        let turns = [0, 1, DAY - 1, DAY, DAY + 1, 2 * DAY - 1, 2 * DAY, 9 * DAY];
        let due: Vec<u64> = turns
            .into_iter()
            .filter(|now| reaper.is_due(*now))
            .collect();
        assert_eq!(due, [DAY, 2 * DAY, 9 * DAY]);
    }

    #[test]
    fn what_comes_due_while_the_process_runs_is_reaped_and_not_again_within_a_day() {
        let home = tempfile::tempdir().unwrap();
        let reaper = Reaper::new(home.path(), &store(home.path(), Timestamp::now()));
        let place = |id: BundleId| home.path().join("bundles").join(id.to_string());
        let first = binned(home.path());
        reaper.reap_at_times();
        assert!(!place(first).exists());
        let second = binned(home.path());
        reaper.reap_at_times();
        assert!(place(second).exists());
    }

    #[test]
    fn who_uses_the_tools_has_a_thread_reap_when_it_is_due() {
        let home = tempfile::tempdir().unwrap();
        let old = binned(home.path());
        let place = home.path().join("bundles").join(old.to_string());
        let store = store(home.path(), Timestamp::now());
        let reaper = Arc::new(Reaper::new(home.path(), &store));
        reaper.follow();
        assert!(place.exists(), "not within the first day");
        reaper.next.store(0, Ordering::Relaxed);
        reaper.follow();
        let start = Instant::now();
        while place.exists() && start.elapsed().as_secs() < 20 {
            std::thread::yield_now();
        }
        assert!(!place.exists());
    }

    #[test]
    fn nothing_is_written_where_nothing_is_in_the_bin() {
        let home = tempfile::tempdir().unwrap();
        Reaper::new(home.path(), &store(home.path(), Timestamp::now())).reap_at_times();
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
    }
}
