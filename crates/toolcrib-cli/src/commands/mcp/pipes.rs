//! stdin and stdout for the protocol alone: [`take`].
//!
//! Clients give pipes, or pairs of sockets as Node does; both are read and written by the one thread there is, without handing bytes to
//! another. Files and terminals cannot be waited for like that and go through threads of the runtime.
//!
//! Not to wait is a property of an open file, which others may share: a shell that gave stdout and stderr the same pipe, or a process that
//! reads it after us. So pipes are opened again, and what we were given stays as it was.
//!
//! The invariant: after [`take`], file descriptor 1 is stderr and 0 is empty, so that whatever prints to stdout by mistake, here or in a
//! child, is read by a person and not by the client.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::pin::Pin;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::FileType;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, Interest};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// Where requests come from.
pub(super) type Input = Pin<Box<dyn AsyncRead>>;
/// Where answers go.
pub(super) type Answers = Pin<Box<dyn AsyncWrite>>;

/// Sees when no one reads answers any more, also while there are none to write.
pub(super) struct Reader(Option<(AsyncFd<OwnedFd>, Interest)>);

impl Reader {
    /// Of a pipe or a pair of sockets; of other files nothing can be seen.
    fn of(answers: &OwnedFd) -> io::Result<Self> {
        // The awaited event must report little else: a client that reads makes room, and no one is to be woken for that.
        let interest = match kind(answers)? {
            Kind::Pipe => Interest::ERROR,
            Kind::Socket => Interest::READABLE,
            Kind::Other => return Ok(Reader(None)),
        };
        #[expect(
            deprecated,
            reason = "its successor is unsafe for descriptors that may change; an `OwnedFd` does not"
        )]
        let watched = AsyncFd::with_interest(answers.try_clone()?, interest)?;
        Ok(Reader(Some((watched, interest))))
    }

    /// Resolves when it is gone.
    pub(super) async fn gone(self) {
        if let Some((watched, interest)) = self.0 {
            // Where that cannot be waited for, the next write reports it.
            while let Ok(mut ready) = watched.ready(interest).await {
                if is_hung_up(watched.get_ref()) {
                    return;
                }
                ready.clear_ready();
            }
        }
        std::future::pending::<()>().await;
    }
}

/// Whether no one is at the other end. A socket of which one direction was shut down is not.
fn is_hung_up(fd: &OwnedFd) -> bool {
    let mut polled = [PollFd::new(fd, PollFlags::empty())];
    let polls = rustix::event::poll(&mut polled, Some(&Timespec::default()));
    polls.is_ok()
        && polled[0]
            .revents()
            .intersects(PollFlags::HUP | PollFlags::ERR)
}

/// Takes stdin and stdout. Needs a runtime; to be called once.
pub(super) fn take() -> io::Result<(Input, Answers, Reader)> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let answers = io::stdout().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    rustix::stdio::dup2_stdout(io::stderr())?;
    let reads = Reader::of(&answers)?;
    Ok((reader(input)?, writer(answers)?, reads))
}

fn reader(fd: OwnedFd) -> io::Result<Input> {
    Ok(match kind(&fd)? {
        Kind::Pipe => {
            let opened = pipe::OpenOptions::new().open_receiver(again(&fd));
            // Someone else's pipe, or no /proc: then it has to be this one.
            Box::pin(opened.or_else(|_| pipe::Receiver::from_owned_fd(fd))?)
        }
        Kind::Socket => Box::pin(socket(fd)?),
        Kind::Other => Box::pin(tokio::fs::File::from_std(File::from(fd))),
    })
}

fn writer(fd: OwnedFd) -> io::Result<Answers> {
    Ok(match kind(&fd)? {
        Kind::Pipe => {
            let opened = pipe::OpenOptions::new().open_sender(again(&fd));
            Box::pin(opened.or_else(|_| pipe::Sender::from_owned_fd(fd))?)
        }
        Kind::Socket => Box::pin(socket(fd)?),
        Kind::Other => Box::pin(tokio::fs::File::from_std(File::from(fd))),
    })
}

/// Where the same pipe can be opened once more.
fn again(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

enum Kind {
    Pipe,
    Socket,
    Other,
}

fn kind(fd: &OwnedFd) -> io::Result<Kind> {
    let stat = rustix::fs::fstat(fd)?;
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo => Kind::Pipe,
        FileType::Socket => Kind::Socket,
        _ => Kind::Other,
    })
}

fn socket(fd: OwnedFd) -> io::Result<UnixStream> {
    let stream = StdStream::from(fd);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}
