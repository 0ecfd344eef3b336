//! What a command reads, written to its pipe as there is room.

use crate::sys;
use std::io;

/// What the command reads.
pub(crate) enum Input<'a> {
    /// This much more.
    Bytes(&'a [u8]),
    /// What our caller reads: one piece at a time, the next when this one is written.
    Caller {
        read: Vec<u8>,
        written: usize,
        ended: bool,
    },
}

impl Input<'_> {
    pub(crate) fn rest(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Caller { read, written, .. } => read.get(*written..).unwrap_or(&[]),
        }
    }

    pub(crate) fn taken(&mut self, length: usize) {
        match self {
            Self::Bytes(bytes) => *bytes = bytes.get(length..).unwrap_or(&[]),
            Self::Caller { written, .. } => *written += length,
        }
    }

    pub(crate) fn ended(&self) -> bool {
        match self {
            Self::Bytes(_) => true,
            Self::Caller { ended, .. } => *ended,
        }
    }

    /// Whether the caller's input is to be read next.
    pub(crate) fn is_hungry(&self) -> bool {
        matches!(self, Self::Caller { ended: false, .. }) && self.rest().is_empty()
    }

    /// Reads the next piece; called when there is one, since the caller's input may block.
    pub(crate) fn refill(&mut self) {
        if let Self::Caller {
            read,
            written,
            ended,
        } = self
        {
            read.resize(64 << 10, 0);
            let length = match sys::read(&io::stdin(), read) {
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
