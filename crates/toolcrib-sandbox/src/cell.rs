//! A sandbox that is set up and has a process in it: init, waiting for its command or for the command's end.

use crate::{
    birth::{self, Process},
    cgroup::Slot,
    child::Descriptors,
    pty::Terminal,
    stream::{Cancel, Stream},
    sys,
    watchdog::{self, Watched},
};
use std::{
    fs, io,
    net::TcpListener,
    os::fd::{AsRawFd, OwnedFd},
    sync::Arc,
    time::{Duration, Instant},
};

/// The capacity of output pipes: room for a command to go on while we pass on what it said.
const CAPACITY: i32 = 256 << 10;

/// Room for one write of a command; see [`crate::arrivals`].
const ONE_WRITE: i32 = 4096;

/// How long an init without a pid namespace has to end what it started.
const PATIENCE: Duration = Duration::from_millis(300);

/// The pipes of a run. The command's ends close once it exists.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    /// A terminal has one output only.
    pub(crate) stderr: Option<OwnedFd>,
    pub(crate) report: OwnedFd,
    pub(crate) command: OwnedFd,
    /// The command's end of its terminal, if it has one.
    terminal: Option<OwnedFd>,
    narrow: [Option<OwnedFd>; 2],
    theirs: [OwnedFd; 5],
}

impl Pipes {
    /// `user`: who the command will be, if not us; it may open its own pipes again by `/dev/stdout`.
    pub(crate) fn new(user: Option<(u32, u32)>) -> io::Result<Self> {
        let (their_stdin, stdin) = sys::pipe()?;
        sys::nonblocking(&stdin)?;
        let (stdout, their_stdout) = sys::pipe()?;
        let (stderr, their_stderr) = sys::pipe()?;
        let (report, their_report) = sys::pipe()?;
        let (their_command, command) = sys::pipe()?;
        for (fd, theirs) in [(&stdout, &their_stdout), (&stderr, &their_stderr)] {
            sys::nonblocking(fd)?;
            // Best effort, all it is for is the order of what is said.
            // SAFETY: numbers only.
            unsafe {
                libc::fcntl(fd.as_raw_fd(), libc::F_SETPIPE_SZ, ONE_WRITE);
                libc::fcntl(theirs.as_raw_fd(), libc::F_SETFL, libc::O_DIRECT);
            }
        }
        sys::nonblocking(&report)?;
        if let Some((uid, gid)) = user {
            for fd in [&their_stdin, &their_stdout, &their_stderr] {
                // SAFETY: numbers only.
                sys::check(unsafe { libc::fchown(fd.as_raw_fd(), uid, gid) }.into())?;
            }
        }
        let theirs = [
            sys::high(&their_stdin)?,
            sys::high(&their_stdout)?,
            sys::high(&their_stderr)?,
            sys::high(&their_report)?,
            sys::high(&their_command)?,
        ];
        Ok(Self {
            stdin,
            stdout,
            stderr: Some(stderr),
            report,
            command,
            terminal: None,
            narrow: [Some(their_stdout), Some(their_stderr)],
            theirs,
        })
    }

    /// A cell with a terminal for input and output.
    pub(crate) fn with_terminal(user: Option<(u32, u32)>) -> io::Result<Self> {
        let Terminal { ours, theirs } = Terminal::open()?;
        if let Some((uid, gid)) = user {
            // SAFETY: numbers only.
            sys::check(unsafe { libc::fchown(theirs.as_raw_fd(), uid, gid) }.into())?;
        }
        let (report, their_report) = sys::pipe()?;
        let (their_command, command) = sys::pipe()?;
        sys::nonblocking(&report)?;
        Ok(Self {
            stdin: ours.try_clone()?,
            stdout: ours,
            stderr: None,
            report,
            command,
            theirs: [
                sys::high(&theirs)?,
                sys::high(&theirs)?,
                sys::high(&theirs)?,
                sys::high(&their_report)?,
                sys::high(&their_command)?,
            ],
            narrow: [None, None],
            // Kept open: a command that closes its terminal for a while must not look like one that has ended.
            terminal: Some(theirs),
        })
    }

    pub(crate) fn descriptors(&self) -> Descriptors {
        self.theirs.each_ref().map(AsRawFd::as_raw_fd)
    }
}

/// A sandbox with init in it. Dropping it ends every process in it.
#[derive(Debug)]
pub(crate) struct Cell {
    process: Process,
    pub(crate) stdin: Option<OwnedFd>,
    pub(crate) stdout: Option<OwnedFd>,
    pub(crate) stderr: Option<OwnedFd>,
    pub(crate) report: OwnedFd,
    pub(crate) command: Option<OwnedFd>,
    /// The command's end of its terminal, if it has one.
    pub(crate) terminal: Option<OwnedFd>,
    /// The command's ends of stdout and stderr while these take one write at a time.
    narrow: [Option<OwnedFd>; 2],
    pub(crate) slot: Option<Slot>,
    namespace: bool,
    reaped: bool,
    /// Where the command will find its proxy, until someone serves it.
    listener: Option<TcpListener>,
    namespaces: Vec<OwnedFd>,
}

impl Cell {
    pub(crate) fn new(process: Process, pipes: Pipes, slot: Option<Slot>, namespace: bool) -> Self {
        let Pipes {
            stdin,
            stdout,
            stderr,
            report,
            command,
            terminal,
            narrow,
            theirs,
        } = pipes;
        drop(theirs);
        // Kept open so that the kernel need not take the mounts apart while someone waits for the end of the run. Where
        // they cannot be opened it does.
        let own = |kind: &str| {
            fs::File::open(format!("/proc/{}/ns/{kind}", process.pid))
                .ok()
                .map(OwnedFd::from)
        };
        let namespaces = if namespace {
            ["mnt", "net"].into_iter().filter_map(own).collect()
        } else {
            Vec::new()
        };
        Self {
            process,
            stdin: Some(stdin),
            stdout: Some(stdout),
            stderr,
            report,
            command: Some(command),
            terminal,
            narrow,
            slot,
            namespace,
            reaped: false,
            listener: None,
            namespaces,
        }
    }

    /// Keeps the way to the proxy until there is a command.
    pub(crate) fn keep(&mut self, listener: TcpListener) {
        self.listener = Some(listener);
    }

    pub(crate) fn take_listener(&mut self) -> Option<TcpListener> {
        self.listener.take()
    }

    /// Takes the namespaces, to be let go when there is time.
    pub(crate) fn namespaces(&mut self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.namespaces)
    }

    /// Gives an output room for many writes, which may then be read as one.
    pub(crate) fn widen(&mut self, stream: Stream) {
        let Some(theirs) = self.narrow[stream as usize].take() else {
            return;
        };
        // Best effort: an unprivileged user's share of pipe memory may be used up. A flag that a program has set stays.
        // SAFETY: numbers only.
        unsafe {
            let flags = libc::fcntl(theirs.as_raw_fd(), libc::F_GETFL);
            if flags >= 0 {
                libc::fcntl(theirs.as_raw_fd(), libc::F_SETFL, flags & !libc::O_DIRECT);
            }
            libc::fcntl(theirs.as_raw_fd(), libc::F_SETPIPE_SZ, CAPACITY);
        }
    }

    /// Readable when init has ended.
    pub(crate) fn ended(&self) -> &OwnedFd {
        &self.process.pidfd
    }

    /// Has the run ended in time even while its own loop is blocked.
    pub(crate) fn watch(
        &self,
        deadline: Option<Instant>,
        cancel: &Cancel,
    ) -> io::Result<Arc<Watched>> {
        let signal = if self.namespace {
            libc::SIGKILL
        } else {
            libc::SIGTERM
        };
        watchdog::watch(&self.process, signal, deadline, cancel)
    }

    /// Ends every process. With a pid namespace the kernel does it; else init is asked to, and has until the time returned.
    pub(crate) fn kill(&self) -> Option<Instant> {
        if self.namespace {
            self.process.signal(libc::SIGKILL);
            None
        } else {
            self.process.signal(libc::SIGTERM);
            Some(Instant::now() + PATIENCE)
        }
    }

    /// Without a pid namespace, when init has not done it: kills all processes that can be found.
    pub(crate) fn kill_harder(&self) {
        for pid in self.descendants() {
            // SAFETY: numbers only. A pid may have been reused within microseconds, which is why this is the last resort.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        if let Some(slot) = &self.slot {
            slot.kill();
        }
        self.process.signal(libc::SIGKILL);
    }

    /// Waits for the end of init, which has been asked to end or has ended, and returns what the run has used.
    pub(crate) fn reap(&mut self) -> Option<libc::rusage> {
        if self.reaped {
            return None;
        }
        if !self.namespace {
            let mut ended = [sys::awaits(Some(self.ended()), libc::POLLIN)];
            sys::poll(&mut ended, PATIENCE.as_millis() as i32);
            if ended[0].revents == 0 {
                self.kill_harder();
            }
            // What a command that killed its init has left behind is still in its cgroup.
            if let Some(slot) = &self.slot {
                slot.kill();
            }
        }
        self.reaped = true;
        birth::wait(&self.process)
    }

    /// All processes of the run, init first, as the host counts them.
    pub(crate) fn descendants(&self) -> Vec<i32> {
        if let Some(slot) = &self.slot {
            return slot.pids();
        }
        let mut found = vec![self.process.pid];
        let mut at = 0;
        while let Some(pid) = found.get(at).copied() {
            at += 1;
            for task in fs::read_dir(format!("/proc/{pid}/task"))
                .into_iter()
                .flatten()
                .flatten()
            {
                let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
                found.extend(
                    children
                        .split_whitespace()
                        .filter_map(|pid| pid.parse::<i32>().ok()),
                );
            }
        }
        found
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        if !self.reaped {
            self.kill();
            self.reap();
        }
    }
}
