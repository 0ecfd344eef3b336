//! Removing what is over.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::ApprovalQueue;
use super::files::{
    Files, LoadError, StoredAnswer, StoredRequest, answer_name, claim_name, index, load,
};
use super::wait::is_held;
use crate::storage::{DirLock, DurableDir, StorageError};
use toolcrib_core::approval::Moment;

/// How often one process looks for what is over.
const EVERY: Duration = Duration::from_secs(60);

/// How much that is over is kept at most: every question costs a look at all names.
const MAX_KEPT: usize = 1000;

/// When this process last looked.
#[derive(Debug, Default)]
pub(super) struct Swept(Mutex<Option<Moment>>);

impl ApprovalQueue {
    /// Removes what has been over for long enough, from time to time. Under the lock. That something cannot be removed stops
    /// no question.
    pub(super) fn sweep_now_and_then(&self, dir: &DurableDir, lock: &DirLock) {
        let now = self.now();
        {
            let mut last = self
                .0
                .swept
                .0
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let recent = last.as_ref().and_then(|last| last.elapsed(&now));
            if recent.is_some_and(|since| since < EVERY) {
                return;
            }
            *last = Some(now.clone());
        }
        let _ = self.sweep(dir, lock, &now);
    }

    fn sweep(&self, dir: &DurableDir, lock: &DirLock, now: &Moment) -> Result<(), StorageError> {
        dir.sweep(lock)?;
        let index = index(dir)?;
        let mut over: Vec<(Uuid, &Files)> = Vec::new();
        for (id, files) in &index {
            for name in &files.waits {
                if !is_held(dir, name) {
                    dir.remove(lock, name)?;
                }
            }
            match self.over_for(dir, *id, files, now) {
                Some(since) if since > self.0.options.keep => remove(dir, lock, *id, files)?,
                Some(since) if since > self.0.options.remember_denial => over.push((*id, files)),
                Some(_) | None => {}
            }
        }
        let too_many = over.len().saturating_sub(MAX_KEPT);
        for (id, files) in over.into_iter().take(too_many) {
            remove(dir, lock, id, files)?;
        }
        Ok(())
    }

    /// How long a question has been over; `None` when it is not.
    fn over_for(
        &self,
        dir: &DurableDir,
        id: Uuid,
        files: &Files,
        now: &Moment,
    ) -> Option<Duration> {
        let Some(name) = &files.request else {
            // The rest of one that was removed.
            return Some(Duration::MAX);
        };
        // After a reboot only the wall clock can tell, by the time that is in the id; so for what is damaged.
        let by_wall = || Some(age(id));
        let stored = match load::<StoredRequest>(dir, name) {
            Ok(Some(stored)) => stored,
            Ok(None) => return None,
            Err(LoadError::Damaged(_)) => return by_wall(),
            Err(LoadError::Storage(_)) => return None,
        };
        if stored.ends.boot != now.boot {
            return by_wall();
        }
        let answer = match files
            .is_answered
            .then(|| load::<StoredAnswer>(dir, &answer_name(id)))
        {
            None => return stored.ends.elapsed(now),
            Some(Ok(Some(answer))) => answer,
            Some(Ok(None)) => return None,
            Some(Err(LoadError::Damaged(_))) => return by_wall(),
            Some(Err(LoadError::Storage(_))) => return None,
        };
        let approved = answer.response.is_some_and(|response| response.approved);
        if approved && !files.is_claimed {
            answer.ends.elapsed(now)
        } else {
            answer.given.elapsed(now)
        }
    }
}

/// How old an id is by the wall clock.
fn age(id: Uuid) -> Duration {
    let made = id.get_timestamp().map_or(0, |time| time.to_unix().0);
    let now = u64::try_from(Timestamp::now().as_second()).unwrap_or_default();
    Duration::from_secs(now.saturating_sub(made))
}

/// Removes the files of a question, its own first: without it nothing can be answered or claimed.
fn remove(dir: &DurableDir, lock: &DirLock, id: Uuid, files: &Files) -> Result<(), StorageError> {
    if let Some(name) = &files.request {
        dir.remove(lock, name)?;
    }
    if files.is_answered {
        dir.remove(lock, &answer_name(id))?;
    }
    if files.is_claimed {
        dir.remove(lock, &claim_name(id))?;
    }
    Ok(())
}
