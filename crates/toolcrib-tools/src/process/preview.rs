//! What a command printed that was run before its call, to find out what the call would do.

use std::time::Duration;

use crate::sandbox::{Report, Stream};

/// How much a look may cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LookBounds {
    /// How long it may take.
    pub(crate) time: Duration,
    /// How many bytes of each stream are kept, from its start; the rest is read and let go.
    pub(crate) keep: usize,
}

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    /// Whether something was printed that is not kept.
    pub(crate) is_cut: bool,
    pub(crate) exit_code: i32,
    /// Whether it was ended, by time or by a limit, before it came to its end.
    pub(crate) is_ended: bool,
}

impl Looked {
    pub(super) fn take(&mut self, stream: Stream, bytes: &[u8], keep: usize) {
        let kept = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let room = bytes.len().min(keep.saturating_sub(kept.len()));
        kept.extend_from_slice(&bytes[..room]);
        self.is_cut |= room < bytes.len();
    }

    pub(super) fn end(mut self, report: &Report) -> Self {
        self.exit_code = report.exit_code();
        self.is_ended = report.ended_by.is_some();
        self
    }
}
