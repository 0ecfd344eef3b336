//! What a caller of a run holds: which output a piece is of ([`Stream`]), and the wish to end it ([`Cancel`]).

use crate::sys;
use std::{io, os::fd::OwnedFd, sync::Arc};

/// Which output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Ends a run from elsewhere. Clones end the same runs.
#[derive(Clone, Debug)]
pub struct Cancel {
    event: Arc<OwnedFd>,
}

impl Cancel {
    /// A wish not yet made.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            event: Arc::new(sys::event()?),
        })
    }

    /// Readable once the wish was made.
    pub(crate) fn event(&self) -> &OwnedFd {
        &self.event
    }

    /// Whether the wish was made.
    pub(crate) fn is_cancelled(&self) -> bool {
        let mut ready = [sys::awaits(Some(&*self.event), libc::POLLIN)];
        sys::poll(&mut ready, 0);
        ready[0].revents != 0
    }

    /// Ends the run, now or as soon as it starts.
    pub fn cancel(&self) {
        sys::signal(&self.event);
    }
}
