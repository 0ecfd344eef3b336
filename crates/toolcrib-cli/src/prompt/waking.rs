//! What a terminal waits for besides keys, as Linux has it: [`Wake`], and the end of a program.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{EventfdFlags, eventfd};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// Ends whatever the terminal is doing. Once it was called it stays so.
#[derive(Debug)]
pub(crate) struct Wake(OwnedFd);

impl Wake {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Wake(eventfd(
            0,
            EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK,
        )?))
    }

    /// Readable once it was called.
    pub(super) fn descriptor(&self) -> &OwnedFd {
        &self.0
    }

    pub(crate) fn wake(&self) {
        // It can only fail when it was called 2^64 times.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

/// Is ready to be read when the program has ended.
pub(super) fn end_of(program: Pid) -> io::Result<OwnedFd> {
    Ok(pidfd_open(program, PidfdFlags::empty())?)
}
