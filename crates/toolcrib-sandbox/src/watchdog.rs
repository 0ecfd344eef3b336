//! Ends a run in time even if the reader of its output does not.
//!
//! A run's own loop passes output on by calling its caller, and is blocked while the caller is (a terminal that is
//! stopped, a pipe that no one reads). From its first output on a run is therefore also watched from here.

use crate::{
    birth::{self, Process},
    report::EndedBy,
    stream::Cancel,
};
use std::{
    io,
    os::fd::OwnedFd,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// How late it may be.
const TICK: Duration = Duration::from_millis(50);

/// One run that is watched, for as long as someone has this.
#[derive(Debug)]
pub(crate) struct Watched {
    deadline: Option<Instant>,
    cancel: Cancel,
    pidfd: OwnedFd,
    signal: i32,
    ended: AtomicBool,
}

impl Watched {
    /// What it was ended for, if it was.
    pub(crate) fn ended_by(&self) -> Option<EndedBy> {
        self.ended
            .load(Ordering::Relaxed)
            .then_some(if self.cancel.is_cancelled() {
                EndedBy::Cancelled
            } else {
                EndedBy::Time
            })
    }

    fn look(&self) {
        let late = self
            .deadline
            .is_some_and(|deadline| Instant::now() >= deadline);
        if late || self.cancel.is_cancelled() {
            self.ended.store(true, Ordering::Relaxed);
            birth::signal(&self.pidfd, self.signal);
        }
    }
}

/// Watches a process from now on.
pub(crate) fn watch(
    process: &Process,
    signal: i32,
    deadline: Option<Instant>,
    cancel: &Cancel,
) -> io::Result<Arc<Watched>> {
    let pidfd = process.pidfd.try_clone()?;
    let watched = Arc::new(Watched {
        deadline,
        cancel: cancel.clone(),
        pidfd,
        signal,
        ended: AtomicBool::new(false),
    });
    let list = List::get()?;
    lock(&list.runs).push(Arc::downgrade(&watched));
    list.more.notify_one();
    Ok(watched)
}

/// All runs that are watched, and the one thread that does.
#[derive(Debug, Default)]
struct List {
    runs: Mutex<Vec<Weak<Watched>>>,
    more: Condvar,
}

impl List {
    fn get() -> io::Result<&'static Self> {
        static LIST: OnceLock<List> = OnceLock::new();
        static STARTED: Mutex<bool> = Mutex::new(false);
        let list = LIST.get_or_init(Self::default);
        let mut started = lock(&STARTED);
        if !*started {
            thread::Builder::new()
                .name("toolcrib-watchdog".to_owned())
                .spawn(|| list.patrol())?;
            *started = true;
        }
        Ok(list)
    }

    fn patrol(&self) {
        let mut runs = lock(&self.runs);
        loop {
            runs.retain(|run| run.strong_count() > 0);
            runs.iter()
                .filter_map(Weak::upgrade)
                .for_each(|run| run.look());
            runs = if runs.is_empty() {
                self.more.wait(runs).unwrap_or_else(PoisonError::into_inner)
            } else {
                let waited = self.more.wait_timeout(runs, TICK);
                waited.unwrap_or_else(PoisonError::into_inner).0
            };
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
