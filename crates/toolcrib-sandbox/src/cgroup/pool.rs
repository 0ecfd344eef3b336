//! Keeps empty slots for the next run, and removes those that are no longer fit or wanted.

use std::{
    io,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{CgroupLimits, files, group::Group, slot::Slot, tree, tree::Tree};

/// Idle slots kept at most. Each holds about ten open files, so this stays well below the usual 1024.
const IDLE_MAX: usize = 8;

/// The slots of this process.
#[derive(Debug)]
pub(super) struct Pool {
    trees: Vec<Tree>,
    idle: Mutex<Vec<Group>>,
    /// Directories that could not be removed yet: a process in them would not die.
    stuck: Mutex<Vec<PathBuf>>,
    is_closed: AtomicBool,
}

impl Pool {
    pub(super) fn new(trees: Vec<Tree>) -> Self {
        let (idle, stuck) = (Mutex::default(), Mutex::default());
        Self {
            trees,
            idle,
            stuck,
            is_closed: AtomicBool::new(false),
        }
    }

    /// Whether there is no hierarchy to make slots in.
    pub(super) fn is_useless(&self) -> bool {
        self.trees.is_empty()
    }

    /// Takes an idle slot, best one with these limits already, or makes one.
    pub(super) fn take(pool: &Arc<Self>, limits: &CgroupLimits) -> io::Result<Slot> {
        // One try only: a run with a tiny limit must not empty the pool of slots that are good for others.
        if let Some(mut group) = pool.pop(limits) {
            // A limit the group cannot take any more (v1 says EBUSY) is the group's fault, not the caller's.
            if group.is_roomy_for(limits) && group.limit(limits).is_ok() {
                return Ok(Slot::new(group, Arc::clone(pool)));
            }
            pool.discard(&group);
        }
        let mut group = pool.make()?;
        match group.limit(limits) {
            Ok(()) => Ok(Slot::new(group, Arc::clone(pool))),
            Err(error) => {
                pool.discard(&group);
                Err(error)
            }
        }
    }

    /// Takes back the group of a run, ending what still runs in it.
    pub(super) fn give_back(&self, group: Group) {
        if group.empty_out() && !group.was_killed() {
            let mut idle = lock(&self.idle);
            // Looked at under the lock, or `close` might have emptied the list just before.
            if !self.is_closed.load(Ordering::Acquire) && idle.len() < IDLE_MAX {
                idle.push(group);
                return;
            }
        }
        self.discard(&group);
        if self.is_closed.load(Ordering::Acquire) {
            self.trees.iter().for_each(Tree::leave);
        }
    }

    /// Removes everything not in use, now and from now on.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        let idle = std::mem::take(&mut *lock(&self.idle));
        idle.iter().for_each(|group| self.discard(group));
        self.retry_stuck();
        self.trees.iter().for_each(Tree::leave);
    }

    /// The last one given back with the right limits, else the last one: its memory is warm.
    ///
    /// Passes over those with a process init has yet to reap, which counts against the limit. Waiting for that when the
    /// slot came back would have been the alternative; some inits take half a second.
    fn pop(&self, limits: &CgroupLimits) -> Option<Group> {
        let mut idle = lock(&self.idle);
        let place = idle
            .iter()
            .rposition(|group| group.limits() == limits && group.is_empty());
        let place = place.or_else(|| idle.iter().rposition(Group::is_empty))?;
        Some(idle.remove(place))
    }

    fn make(&self) -> io::Result<Group> {
        self.retry_stuck();
        let name = tree::fresh_name("slot");
        let mut dirs = Vec::with_capacity(self.trees.len());
        let made = self
            .trees
            .iter()
            .try_for_each(|tree| tree.make(&name).map(|dir| dirs.push(dir)));
        let opened = made.and_then(|()| Group::open(dirs.clone(), &self.trees));
        if opened.is_err() {
            self.remove(&dirs);
        }
        opened
    }

    fn discard(&self, group: &Group) {
        self.remove(group.dirs());
    }

    fn remove(&self, dirs: &[PathBuf]) {
        let left = dirs
            .iter()
            .filter(|dir| files::remove(dir).is_err())
            .cloned();
        lock(&self.stuck).extend(left);
    }

    fn retry_stuck(&self) {
        lock(&self.stuck).retain(|dir| files::remove(dir).is_err());
    }
}

/// A panic elsewhere leaves these lists whole: nothing is done to them in steps.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
