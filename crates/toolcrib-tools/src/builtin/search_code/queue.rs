//! The entries still to be searched, shared by the threads of a search.
//!
//! Files come before directories: a directory is held open only while files of it wait, so that no more are open than there are threads.
//! What was found last comes first, in order of names, so that a search goes through the tree about in the order of the result and soon
//! knows which paths it only has to count.

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::fd::OwnedFd;

use super::super::tree::{Level, Names};

/// How many files a thread takes at a time.
pub(super) const BATCH: usize = 16;

/// A directory of the tree.
pub(super) struct QueuedDir {
    /// Relative to the workspace, with a slash at the end; empty for the workspace itself.
    pub(super) path: Vec<u8>,
    /// How many directories deep.
    pub(super) depth: usize,
    /// What holds in it.
    pub(super) level: Option<Arc<Level>>,
}

/// Files of a directory that is open.
pub(super) struct Files {
    pub(super) directory: OwnedFd,
    pub(super) place: Arc<QueuedDir>,
    pub(super) names: Names,
}

/// Something to do.
pub(super) enum Job {
    /// Search some files.
    Search(Arc<Files>, Range<usize>),
    /// Look into a directory: the one it is in, and its path with a slash at the end.
    Enter(Arc<QueuedDir>, Vec<u8>),
}

/// The remaining work, and the number of workers.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Files, and the first that no one has taken.
    files: Vec<(Arc<Files>, usize)>,
    /// Directories in a directory, and the first that no one has taken.
    directories: Vec<(Arc<QueuedDir>, Names, usize)>,
    /// How many threads are doing something, which may turn out to be more.
    working: usize,
    waiting: usize,
    is_over: bool,
}

/// A thread at work on a queue. Should it panic, no one waits for it.
pub(super) struct Working<'a>(&'a Queue);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

impl Queue {
    /// Joins the work; a worker asks for jobs until there are none.
    pub(super) fn join(&self) -> Working<'_> {
        self.state().working += 1;
        Working(self)
    }

    /// Adds directories of a directory.
    pub(super) fn add_directories(&self, place: Arc<QueuedDir>, names: Names) {
        let mut state = self.state();
        state.directories.push((place, names, 0));
        self.wake(&state);
    }

    /// Adds files of a directory, from one of them on.
    pub(super) fn add_files(&self, files: Arc<Files>, first: usize) {
        let mut state = self.state();
        state.files.push((files, first));
        self.wake(&state);
    }

    fn wake(&self, state: &State) {
        if state.waiting > 0 {
            self.changed.notify_all();
        }
    }

    /// Whether there is something that another thread could do.
    pub(super) fn has_work(&self) -> bool {
        let state = self.state();
        !state.files.is_empty() || !state.directories.is_empty()
    }

    /// Ends the work, whatever is left.
    pub(super) fn end(&self) {
        self.state().is_over = true;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Working<'_> {
    /// The next thing to do; waits while others may find some. `None` when everything is done.
    pub(super) fn next(&self) -> Option<Job> {
        let queue = self.0;
        let mut state = queue.state();
        loop {
            if state.is_over {
                return None;
            }
            if let Some(job) = state.take() {
                return Some(job);
            }
            state.working -= 1;
            if state.working == 0 {
                state.is_over = true;
                queue.changed.notify_all();
                return None;
            }
            state.waiting += 1;
            state = queue
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
            state.working += 1;
        }
    }
}

impl State {
    fn take(&mut self) -> Option<Job> {
        if let Some((files, next)) = self.files.last_mut() {
            let first = *next;
            *next = files.names.len().min(first + BATCH);
            let batch = first..*next;
            let files = Arc::clone(files);
            if batch.end == files.names.len() {
                self.files.pop();
            }
            return Some(Job::Search(files, batch));
        }
        while let Some((place, names, next)) = self.directories.last_mut() {
            let Some(name) = names.get(*next) else {
                self.directories.pop();
                continue;
            };
            let path = [&place.path, name, b"/"].concat();
            *next += 1;
            return Some(Job::Enter(Arc::clone(place), path));
        }
        None
    }
}
