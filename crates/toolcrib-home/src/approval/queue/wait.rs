//! Waiting processes: a file per process and question, locked for as long as a call there waits.
//!
//! The kernel frees the lock when the process dies, however it dies. A process that checks for waiting calls takes the lock *shared*, so
//! that two that check at once do not take each other for a waiter.

use std::collections::HashMap;
use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use jiff::Timestamp;
use uuid::Uuid;

use super::Inner;
use super::files::{Files, StoredAnswer, answer_name, index, wait_name};
use crate::storage::{DirLock, DurableDir, StorageError};
use toolcrib_core::approval::Moment;

/// The questions this process waits for.
#[derive(Debug, Default)]
pub(super) struct Waits(Mutex<Waited>);

#[derive(Debug, Default)]
struct Waited {
    by_id: HashMap<Uuid, Weak<Waiting>>,
    /// The directory, opened once for all waiting calls: a call that waits for minutes should not hold more files than it must.
    dir: Option<DurableDir>,
}

/// That this process waits for a question. When the last one who waits here goes, the question is withdrawn, unless it was
/// answered or someone waits elsewhere.
#[derive(Debug)]
pub(super) struct Waiting {
    id: Uuid,
    queue: Arc<Inner>,
    dir: DurableDir,
    name: String,
    file: File,
    /// When the question lapses: what has lapsed needs no withdrawal.
    ends: Moment,
}

impl Waits {
    /// Begins to wait, or joins those who wait here; whether it is the first. Under the directory's lock, so that no one
    /// withdraws the question meanwhile.
    pub(super) fn join(
        &self,
        queue: &Arc<Inner>,
        dir: &DurableDir,
        lock: &DirLock,
        id: Uuid,
        ends: &Moment,
    ) -> Result<(Arc<Waiting>, bool), StorageError> {
        let mut waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = waits.by_id.get(&id).and_then(Weak::upgrade) {
            return Ok((waiting, false));
        }
        let name = wait_name(id);
        dir.create_new(lock, &name, b"")?;
        let file = dir
            .open_file(&name)?
            .ok_or_else(|| StorageError::io("open", &name, rustix::io::Errno::NOENT))?;
        // A process that is just looking at it releases it at once.
        file.lock()
            .map_err(|error| StorageError::io("lock", &name, error))?;
        // Another one may have come in its place meanwhile.
        let shared = waits.dir.take().filter(|open| open.is_same(dir));
        let shared = waits
            .dir
            .insert(shared.unwrap_or_else(|| dir.clone()))
            .clone();
        let waiting = Arc::new(Waiting {
            id,
            queue: Arc::clone(queue),
            dir: shared,
            name,
            file,
            ends: ends.clone(),
        });
        waits.by_id.retain(|_, waiting| waiting.strong_count() > 0);
        waits.by_id.insert(id, Arc::downgrade(&waiting));
        Ok((waiting, true))
    }
}

impl Waiting {
    /// The directory of the question.
    pub(super) fn dir(&self) -> &DurableDir {
        &self.dir
    }
}

/// Whether someone waits for a question, in any process.
pub(super) fn is_awaited(dir: &DurableDir, files: &Files) -> bool {
    files.waits.iter().any(|name| is_held(dir, name))
}

/// Whether a process holds this file.
pub(super) fn is_held(dir: &DurableDir, name: &str) -> bool {
    match dir.open_file(name) {
        Ok(Some(file)) => match file.try_lock_shared() {
            Ok(()) => {
                let _ = file.unlock();
                false
            }
            Err(_) => true,
        },
        Ok(None) | Err(_) => false,
    }
}

impl Drop for Waiting {
    /// Blocks for as long as a write takes: the process may be about to end, and a question that no one waits for should not
    /// be put to a person.
    fn drop(&mut self) {
        let Ok(lock) = self.dir.lock() else { return };
        let others = index(&self.dir).map(|index| {
            let files = index.get(&self.id).cloned().unwrap_or_default();
            let mut others = files.waits.iter().filter(|name| **name != self.name);
            files.is_answered
                || files.request.is_none()
                || others.any(|name| is_held(&self.dir, name))
        });
        let now = self.queue.options.clock.now();
        if matches!(others, Ok(false)) && self.ends.remaining(&now).is_some() {
            let withdrawn = StoredAnswer {
                response: None,
                changed: Vec::new(),
                at: Timestamp::now(),
                ends: now.clone(),
                given: now,
            };
            let bytes = serde_json::to_vec_pretty(&withdrawn).unwrap_or_default();
            let _ = self.dir.create_new(&lock, &answer_name(self.id), &bytes);
        }
        let _ = self.dir.remove(&lock, &self.name);
        let _ = self.file.unlock();
        drop(lock);
        self.queue.changed.notify_waiters();
    }
}
