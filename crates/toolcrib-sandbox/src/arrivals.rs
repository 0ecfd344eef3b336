//! Which of a command's outputs said something first.
//!
//! Two pipes have no order between them, and `poll` says only that both can be read. An epoll keeps its list of what is ready
//! in the order in which it became so. At first a pipe takes one write only, so that the next one to the same output waits
//! until we have read this one: what is read is then in the very order in which it was written. A command that talks much
//! gets wide pipes before long ([`STRICT_BYTES`]), and what it writes to one output while we read is read as one.

use crate::{stream::Stream, sys};
use std::{
    io,
    os::fd::{AsRawFd, OwnedFd},
};

/// How much of an output is read write by write.
pub(crate) const STRICT_BYTES: u64 = 32 << 10;

/// How many writes are.
pub(crate) const STRICT_WRITES: u64 = 256;

/// The outputs of one run.
#[derive(Debug)]
pub(crate) struct Arrivals {
    epoll: OwnedFd,
}

impl Arrivals {
    pub(crate) fn of(stdout: Option<&OwnedFd>, stderr: Option<&OwnedFd>) -> io::Result<Self> {
        // SAFETY: numbers only.
        let epoll = sys::own(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }.into())?;
        let arrivals = Self { epoll };
        for (stream, fd) in [(Stream::Stdout, stdout), (Stream::Stderr, stderr)] {
            if let Some(fd) = fd {
                arrivals.control(libc::EPOLL_CTL_ADD, stream, fd)?;
            }
        }
        Ok(arrivals)
    }

    /// Readable when one of the outputs is.
    pub(crate) fn any(&self) -> &OwnedFd {
        &self.epoll
    }

    /// The outputs to which something was written since they were last named, in that order.
    pub(crate) fn take(&self) -> impl Iterator<Item = Stream> + use<> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 2];
        // SAFETY: room for two events.
        let count = unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), 2, 0) };
        events
            .into_iter()
            .take(usize::try_from(count).unwrap_or(0))
            .map(|event| {
                if event.u64 == Stream::Stdout as u64 {
                    Stream::Stdout
                } else {
                    Stream::Stderr
                }
            })
    }

    /// Looks at an output again after it was read: there may be more in it than one read gives.
    pub(crate) fn again(&self, stream: Stream, fd: &OwnedFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, stream, fd)
    }

    fn control(&self, change: i32, stream: Stream, fd: &OwnedFd) -> io::Result<()> {
        let mut event = libc::epoll_event {
            // At each write, not for as long as there is something: else an output would keep its place in the order of
            // what came before.
            events: (libc::EPOLLIN | libc::EPOLLET) as u32,
            u64: stream as u64,
        };
        // SAFETY: the event is ours.
        let answer =
            unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), change, fd.as_raw_fd(), &mut event) };
        sys::check(answer.into()).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Stream::{Stderr, Stdout};

    #[test]
    fn what_said_something_first_is_named_first_again_and_again() {
        let (stdout, to_stdout) = sys::pipe().unwrap();
        let (stderr, to_stderr) = sys::pipe().unwrap();
        let arrivals = Arrivals::of(Some(&stdout), Some(&stderr)).unwrap();
        assert_eq!(arrivals.take().count(), 0);
        let read = |stream: Stream| {
            let fd = if stream == Stdout { &stdout } else { &stderr };
            sys::read(fd, &mut [0; 16]).unwrap();
            arrivals.again(stream, fd).unwrap();
        };
        for order in [
            [Stderr, Stdout],
            [Stdout, Stderr],
            [Stdout, Stderr],
            [Stderr, Stdout],
        ] {
            for stream in order {
                let to = if stream == Stdout {
                    &to_stdout
                } else {
                    &to_stderr
                };
                sys::write(to, b"x").unwrap();
            }
            let said: Vec<Stream> = arrivals.take().collect();
            assert_eq!(said, order);
            said.into_iter().for_each(read);
        }
        // The end of an output is an arrival too.
        drop(to_stderr);
        assert_eq!(arrivals.take().collect::<Vec<_>>(), [Stderr]);
    }
}
