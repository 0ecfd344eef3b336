//! What a command reads, written to its pipe as there is room.

use crate::{sys, terminal::Keyboard};
use std::{
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd, RawFd},
};

/// What the command reads.
pub(crate) enum Input<'a> {
    /// This much more.
    Bytes(&'a [u8]),
    /// What our caller reads: one piece at a time, the next when this one is written.
    Caller {
        /// Where it comes from, if not from our own standard input.
        from: Option<&'a OwnedFd>,
        read: Vec<u8>,
        written: usize,
        ended: bool,
    },
    /// The input of a terminal, which never ends.
    Typed {
        waiting: Vec<u8>,
        keyboard: Option<&'a Keyboard>,
    },
}

impl Input<'_> {
    pub(crate) fn rest(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Caller { read, written, .. } => read.get(*written..).unwrap_or(&[]),
            Self::Typed { waiting, .. } => waiting,
        }
    }

    pub(crate) fn taken(&mut self, length: usize) {
        match self {
            Self::Bytes(bytes) => *bytes = bytes.get(length..).unwrap_or(&[]),
            Self::Caller { written, .. } => *written += length,
            Self::Typed { waiting, .. } => drop(waiting.drain(..length.min(waiting.len()))),
        }
    }

    pub(crate) fn ended(&self) -> bool {
        match self {
            Self::Bytes(_) => true,
            Self::Caller { ended, .. } => *ended,
            Self::Typed { .. } => false,
        }
    }

    /// Whether more is to come, and there is nothing to write until it does.
    pub(crate) fn is_hungry(&self) -> bool {
        !self.ended() && self.rest().is_empty()
    }

    /// Where more comes from.
    pub(crate) fn source(&self) -> Option<RawFd> {
        match self {
            Self::Bytes(_) => None,
            Self::Caller { from, .. } => {
                Some(from.map_or_else(|| io::stdin().as_raw_fd(), AsRawFd::as_raw_fd))
            }
            Self::Typed { keyboard, .. } => keyboard.map(|keyboard| keyboard.pressed().as_raw_fd()),
        }
    }

    /// Types something, after what is waiting to be typed.
    pub(crate) fn press(&mut self, bytes: &[u8]) {
        if let Self::Typed { waiting, .. } = self {
            waiting.extend_from_slice(bytes);
        }
    }

    /// Reads the next piece; called when there is one, since the caller's input may block.
    pub(crate) fn refill(&mut self) {
        if let Self::Typed { waiting, keyboard } = self {
            waiting.extend(keyboard.map(Keyboard::take).unwrap_or_default());
        }
        if let Self::Caller {
            from,
            read,
            written,
            ended,
        } = self
        {
            read.resize(64 << 10, 0);
            let stdin = io::stdin();
            let from = from.map_or_else(|| stdin.as_fd(), AsFd::as_fd);
            let length = match sys::read(&from, read) {
                Ok(length) => length,
                Err(_) => Some(0),
            };
            read.truncate(length.unwrap_or(0));
            *written = 0;
            // Nothing for now is not the end.
            *ended = length == Some(0);
        }
    }
}
