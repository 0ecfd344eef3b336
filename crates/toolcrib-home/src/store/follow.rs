//! Following other writers: when to look, and what those who are in a hurry do.
//!
//! A call looks before it takes a tool, and must not wait: not for a writer of this process, which has the disk to wait for; not for a writer of another one,
//! who has told no one yet that it is done; not for a look at all files, which gives way to it.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, TryLockError};
use std::time::{Duration, Instant, SystemTime};

use super::record::Changes;
use super::scan::How;
use super::{Look, Store, StoreError, unpoisoned};
use crate::storage::{DurableDir, Generation};

/// While someone writes: so much longer than the last look took no one looks again, and at least so long.
const PACE: u32 = 20;
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);
/// How many files a call reads itself.
const FEW: usize = 256;
/// How long a call waits for a look at all files to give way.
const PATIENCE: Duration = Duration::from_millis(50);
/// How often such a look gives way; the next time it goes on.
const GIVES_WAY: usize = 3;

/// What the lock file said, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    generation: Generation,
    /// A moment when it said so still.
    at: SystemTime,
}

impl Seen {
    /// What it says now.
    pub(super) fn now(lock_file: &Path) -> Self {
        Seen {
            // First: what comes in between is not from before.
            at: SystemTime::now(),
            generation: Generation::read(lock_file),
        }
    }

    /// What it says when this writer has gone, who keeps others out until then.
    pub(super) fn after(generation: Generation) -> Self {
        Seen {
            at: SystemTime::now(),
            generation,
        }
    }

    /// Only if no one was writing.
    pub(super) fn if_quiet(self) -> Option<Self> {
        self.generation.is_quiet().then_some(self)
    }

    /// How to look for what changed until the lock file said `now`.
    pub(super) fn since<'a>(seen: Option<Self>, now: Generation, how: How<'a>) -> How<'a> {
        How {
            is_one_session: seen.is_some_and(|seen| now.is_next_after(seen.generation)),
            quiet_at: seen.map(|seen| seen.at),
            ..how
        }
    }

    pub(super) fn is(self, generation: Generation) -> bool {
        self.generation == generation
    }
}

/// A writer at work, and until when no one looks at what it does.
#[derive(Debug)]
pub(super) struct Busy {
    generation: Generation,
    until: Instant,
}

/// What a long look does when someone in a hurry comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Yield {
    /// It begins again after them.
    Give,
    /// It goes on; they do without.
    Keep,
}

/// What someone in a hurry learns.
pub(crate) enum StoreNews {
    /// What has changed, as far as it is known.
    Changes(Changes),
    /// So much that it takes a while; nothing is reported.
    Much,
}

impl Store {
    /// What has changed, like [`changes`](Self::changes), for those who cannot wait. What a writer is just doing they miss, and see it when it is done.
    pub(crate) fn follow(&self, look: Look) -> Result<StoreNews, StoreError> {
        if let Some(looking) = self.looking_at_once() {
            let generation = Generation::read(&self.inner.lock_file);
            if look == Look::Thorough || !self.is_left_alone(generation) {
                let start = Instant::now();
                let how = How {
                    at_most: match look {
                        Look::Glance => FEW,
                        Look::Thorough => usize::MAX,
                    },
                    ..How::new(look)
                };
                if !self.look_if_need_be(&looking, how)? {
                    return Ok(StoreNews::Much);
                }
                self.leave_alone(start);
            }
        }
        Ok(StoreNews::Changes(self.told()))
    }

    /// Known changes, without a look.
    pub(crate) fn told(&self) -> Changes {
        let has_untold = self.known().has_untold();
        match has_untold {
            true => self.known_mut().tell(),
            false => Changes::default(),
        }
    }

    /// Whether a look at all files would be soon done.
    pub(crate) fn is_small(&self) -> bool {
        self.known().tools_in_all() <= FEW
    }

    /// Looks, however long it takes. [`told`](Self::told) says what it found.
    pub(crate) fn survey(&self, look: Look, way: Yield) -> Result<(), StoreError> {
        for time in 0.. {
            let looking = unpoisoned(self.inner.looking.lock());
            let gives_way = way == Yield::Give && time < GIVES_WAY;
            self.inner.gives_way.store(false, Ordering::Relaxed);
            self.inner.is_surveying.store(gives_way, Ordering::Release);
            let how = How {
                stop: gives_way.then_some(&self.inner.gives_way),
                ..How::new(look)
            };
            let is_done = self.look_if_need_be(&looking, how);
            self.inner.is_surveying.store(false, Ordering::Release);
            drop(looking);
            if is_done? {
                break;
            }
            // A caller in a hurry comes first.
            std::thread::yield_now();
        }
        Ok(())
    }

    /// The right to look, unless someone has it and keeps it for longer.
    fn looking_at_once(&self) -> Option<MutexGuard<'_, ()>> {
        let start = Instant::now();
        loop {
            match self.inner.looking.try_lock() {
                Ok(looking) => return Some(looking),
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
            let is_surveying = self.inner.is_surveying.load(Ordering::Acquire);
            if !is_surveying || start.elapsed() > PATIENCE {
                return None;
            }
            self.inner.gives_way.store(true, Ordering::Relaxed);
            std::thread::yield_now();
        }
    }

    /// Whether the lock file says what it said before the last look.
    pub(super) fn is_seen(&self) -> bool {
        let now = Seen::now(&self.inner.lock_file);
        let mut seen = unpoisoned(self.inner.seen.lock());
        match &mut *seen {
            Some(seen) if seen.is(now.generation) => {
                seen.at = seen.at.max(now.at);
                true
            }
            _ => false,
        }
    }

    /// Looks if there may be something new; says whether it was not given up. Only for those who have `looking`.
    pub(super) fn look_if_need_be(
        &self,
        _looking: &MutexGuard<'_, ()>,
        how: How<'_>,
    ) -> Result<bool, StoreError> {
        let mut now = Seen::now(&self.inner.lock_file);
        let mut dir = None;
        if !now.generation.is_quiet() {
            // A writer is at work, or was killed. If no one is, say so, or everybody would look each time until the next writer.
            dir = DurableDir::open(&self.inner.directory)?;
            if let Some(Ok(Some(lock))) = dir.as_ref().map(DurableDir::try_lock_counted) {
                drop(lock);
                now = Seen::now(&self.inner.lock_file);
            }
        }
        let seen = *unpoisoned(self.inner.seen.lock());
        let is_seen = now.generation.is_quiet() && seen.is_some_and(|s| s.is(now.generation));
        if how.look == Look::Glance && is_seen {
            return Ok(true);
        }
        if dir.is_none() {
            dir = DurableDir::open(&self.inner.directory)?;
        }
        if !self.look_now(dir.as_ref(), &Seen::since(seen, now.generation, how))? {
            return Ok(false);
        }
        // What was written during the look has another number.
        self.set_seen(now.if_quiet());
        Ok(true)
    }

    /// Whether a writer is at work that calls looked at a moment ago.
    fn is_left_alone(&self, generation: Generation) -> bool {
        let busy = unpoisoned(self.inner.busy.lock());
        busy.as_ref()
            .is_some_and(|busy| busy.generation == generation && Instant::now() < busy.until)
    }

    /// Notes that a look which began then has looked at what a writer does that is still at it.
    fn leave_alone(&self, start: Instant) {
        let generation = Generation::read(&self.inner.lock_file);
        *unpoisoned(self.inner.busy.lock()) = (!generation.is_quiet()).then(|| Busy {
            generation,
            until: Instant::now() + (start.elapsed() * PACE).max(SHORTEST_PAUSE),
        });
    }
}
