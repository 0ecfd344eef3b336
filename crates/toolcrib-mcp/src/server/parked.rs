//! Requests that have not begun, because enough of them run: [`Parked`].
//!
//! They are noted in the session, so that a client can take them back as it can those that run. The invariant: the waiting requests are
//! bounded in bytes, however many there are.

use std::collections::VecDeque;

use super::answer::Answering;
use crate::rpc::Id;

/// How many bytes of requests wait at most.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// What a request takes besides its text.
const OVERHEAD: usize = 256;

/// Requests in the order in which they came.
#[derive(Default)]
pub(crate) struct Parked {
    waiting: VecDeque<(Answering, usize)>,
    bytes: usize,
    /// Whether some may have been taken back since that was looked at.
    is_stale: bool,
}

impl Parked {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.bytes >= MAX_BYTES
    }

    /// Adds a request whose text has so many bytes. If there is no room, it is dropped and its id is the error.
    pub(crate) fn push(&mut self, mut request: Answering, size: usize) -> Result<(), Id> {
        if self.is_full() {
            self.forget_withdrawn();
        }
        if self.is_full() {
            return Err(request.id.clone());
        }
        request.track();
        let size = size + OVERHEAD;
        self.bytes += size;
        self.waiting.push_back((request, size));
        Ok(())
    }

    /// Takes the one that waits longest.
    pub(crate) fn pop(&mut self) -> Option<Answering> {
        let (request, size) = self.waiting.pop_front()?;
        self.bytes -= size;
        Some(request)
    }

    /// The client said something that may have been about one of these.
    pub(crate) fn heard(&mut self) {
        self.is_stale = true;
    }

    /// Makes room of those that the client took back.
    fn forget_withdrawn(&mut self) {
        if std::mem::take(&mut self.is_stale) {
            let bytes = &mut self.bytes;
            self.waiting.retain(|(request, size)| {
                let stays = !request.is_withdrawn();
                if !stays {
                    *bytes -= size;
                }
                stays
            });
        }
    }
}
