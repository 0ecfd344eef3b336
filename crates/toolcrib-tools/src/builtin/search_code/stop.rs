//! When a search ends before it is done: its time is up, or nothing waits for it any more.

use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use crate::call::context::CallContext;

const RUNNING: u8 = 0;
const TIMED_OUT: u8 = 1;
const CANCELLED: u8 = 2;

/// Whether a search goes on. Shared by its threads: one that sees a reason to stop stops all.
pub(super) struct Stop {
    cx: Option<CallContext>,
    deadline: Instant,
    state: AtomicU8,
}

impl Stop {
    /// A search for a call, up to a time that leaves some for the answer.
    pub(super) fn for_call(cx: CallContext) -> Self {
        let left = cx.remaining();
        Stop {
            deadline: Instant::now() + left.mul_f64(0.9),
            cx: Some(cx),
            state: AtomicU8::new(RUNNING),
        }
    }

    #[cfg(test)]
    pub(super) fn at(deadline: Instant) -> Self {
        Stop {
            cx: None,
            deadline,
            state: AtomicU8::new(RUNNING),
        }
    }

    /// Whether someone has seen that it is time to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.state.load(Ordering::Relaxed) != RUNNING
    }

    /// Looks whether it is time to stop.
    pub(super) fn is_due(&self) -> bool {
        if self.is_stopped() {
            return true;
        }
        let state = if self.cx.as_ref().is_some_and(CallContext::is_cancelled) {
            CANCELLED
        } else if Instant::now() >= self.deadline {
            TIMED_OUT
        } else {
            return false;
        };
        self.state.store(state, Ordering::Relaxed);
        true
    }

    pub(super) fn is_timed_out(&self) -> bool {
        self.state.load(Ordering::Relaxed) == TIMED_OUT
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.state.load(Ordering::Relaxed) == CANCELLED
    }
}

/// A file that stops being read when the search does.
pub(super) struct Stoppable<'a> {
    pub(super) file: &'a File,
    pub(super) stop: &'a Stop,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stop.is_due() {
            true => Err(io::Error::other("stopped")),
            false => self.file.read(buffer),
        }
    }
}
