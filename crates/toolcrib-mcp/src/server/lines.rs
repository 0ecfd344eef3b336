//! Lines of a byte stream, read in big pieces and handed out in place: [`Lines`].
//!
//! The invariant: a line over the limit is skipped to its end without being held.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};

/// How much is read at once, as much as a pipe holds.
const PIECE: usize = 64 * 1024;

/// A stream of lines.
pub(crate) struct Lines {
    /// The longest line.
    pub(crate) max: usize,
    buffer: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// How far it is known that there is no end of the line.
    searched: usize,
    /// How far the buffer is filled.
    end: usize,
    skipping: bool,
}

/// One line.
pub(crate) enum Line<'a> {
    /// Without its end.
    Text(&'a [u8]),
    /// It is being skipped.
    TooLong,
}

impl Lines {
    pub(crate) fn new(max: usize) -> Self {
        Lines {
            max,
            buffer: vec![0; PIECE],
            start: 0,
            searched: 0,
            end: 0,
            skipping: false,
        }
    }

    /// Whether a whole line waits.
    pub(crate) fn has_line(&mut self) -> bool {
        self.find_end().is_some()
    }

    fn find_end(&mut self) -> Option<usize> {
        let from = self.searched.max(self.start);
        let found = memchr::memchr(b'\n', &self.buffer[from..self.end]).map(|at| from + at);
        self.searched = found.unwrap_or(self.end);
        found
    }

    /// The next line that is not blank.
    pub(crate) fn next_line(&mut self) -> Option<Line<'_>> {
        loop {
            let Some(end) = self.find_end() else {
                let unfinished = self.end - self.start;
                if unfinished == 0 || self.skipping {
                    self.start = 0;
                    self.end = 0;
                    self.searched = 0;
                } else if unfinished > self.max {
                    self.skipping = true;
                    return Some(Line::TooLong);
                }
                return None;
            };
            let (start, skipped) = (self.start, self.skipping);
            self.start = end + 1;
            self.skipping = false;
            if skipped {
                continue;
            }
            if end - start > self.max {
                return Some(Line::TooLong);
            }
            let line = self.buffer[start..end].trim_ascii();
            if !line.is_empty() {
                // Said again because a borrow that may be returned lives as long as the loop.
                return Some(Line::Text(self.buffer[start..end].trim_ascii()));
            }
        }
    }

    /// What was read of a line that has no end, when no more comes.
    pub(crate) fn rest(&mut self) -> Option<&[u8]> {
        let rest = self.buffer[self.start..self.end].trim_ascii();
        if self.skipping || rest.is_empty() {
            return None;
        }
        let (start, end) = (self.start, self.end);
        self.start = self.end;
        Some(self.buffer[start..end].trim_ascii())
    }

    /// Reads once; to be called when no whole line waits. 0 is the end of the stream.
    pub(crate) fn poll_read(
        &mut self,
        reader: Pin<&mut impl AsyncRead>,
        task: &mut Context<'_>,
    ) -> Poll<std::io::Result<usize>> {
        self.make_room();
        let mut space = ReadBuf::new(&mut self.buffer[self.end..]);
        match reader.poll_read(task, &mut space) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) => {
                let read = space.filled().len();
                self.end += read;
                Poll::Ready(Ok(read))
            }
        }
    }

    /// Moves what is unfinished to the front; grows for a long line, and shrinks after it.
    fn make_room(&mut self) {
        let unfinished = self.end - self.start;
        if unfinished == 0 && self.buffer.len() > PIECE {
            self.buffer = vec![0; PIECE];
        } else if self.start > 0 && (self.buffer.len() - self.end < PIECE / 2) {
            self.buffer.copy_within(self.start..self.end, 0);
        } else if self.start > 0 {
            return;
        }
        if self.start > 0 || unfinished == 0 {
            self.searched = self.searched.saturating_sub(self.start).min(unfinished);
            self.start = 0;
            self.end = unfinished;
        }
        if self.end == self.buffer.len() {
            let more = (self.buffer.len() * 2).min(self.max + PIECE);
            self.buffer.resize(more.max(self.end + 1), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    /// A stream in arbitrary pieces.
    struct Endless(usize);

    impl AsyncRead for Endless {
        fn poll_read(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            space: &mut ReadBuf<'_>,
        ) -> Poll<std::io::Result<()>> {
            let count = space.remaining().min(self.0);
            space.put_slice(&vec![b'x'; count]);
            self.0 -= count;
            Poll::Ready(Ok(()))
        }
    }

    #[test]
    fn a_line_without_end_is_said_once_and_never_held() {
        let mut lines = Lines::new(1024 * 1024);
        let mut stream = Endless(64 * 1024 * 1024);
        let (mut said, mut most) = (0, 0);
        loop {
            while let Some(line) = lines.next_line() {
                assert!(matches!(line, Line::TooLong));
                said += 1;
            }
            let mut task = Context::from_waker(Waker::noop());
            match lines.poll_read(Pin::new(&mut stream), &mut task) {
                Poll::Ready(Ok(0)) => break,
                Poll::Ready(Ok(_)) => most = most.max(lines.buffer.len()),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(said, 1);
        assert!(most <= 1024 * 1024 + PIECE, "{most}");
        assert_eq!(lines.buffer.len(), PIECE);
        assert!(lines.rest().is_none());
    }
}
