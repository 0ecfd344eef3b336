//! A sandbox that is set up and has a process in it: init, waiting for its command or for the command's end.

use crate::{
    birth::{self, Process},
    cgroup::Slot,
    child::Descriptors,
    proxy::Relay,
    sys,
};
use std::{
    fs, io,
    os::fd::{AsRawFd, OwnedFd},
    time::{Duration, Instant},
};

/// The capacity of output pipes: room for a command to go on while we pass on what it said.
const CAPACITY: i32 = 256 << 10;

/// The pipes of a run. The command's ends close once it exists.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    pub(crate) report: OwnedFd,
    pub(crate) command: OwnedFd,
    theirs: [OwnedFd; 5],
}

impl Pipes {
    pub(crate) fn new() -> io::Result<Self> {
        let (their_stdin, stdin) = sys::pipe()?;
        sys::nonblocking(&stdin)?;
        let (stdout, their_stdout) = sys::pipe()?;
        let (stderr, their_stderr) = sys::pipe()?;
        let (report, their_report) = sys::pipe()?;
        let (their_command, command) = sys::pipe()?;
        for fd in [&stdout, &stderr] {
            sys::nonblocking(fd)?;
            // Best effort: an unprivileged user's share of pipe memory may be used up.
            // SAFETY: numbers only.
            unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETPIPE_SZ, CAPACITY) };
        }
        sys::nonblocking(&report)?;
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
            stderr,
            report,
            command,
            theirs,
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
    pub(crate) slot: Option<Slot>,
    namespace: bool,
    reaped: bool,
    relay: Option<Relay>,
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
            theirs,
        } = pipes;
        drop(theirs);
        // Kept open so that the kernel need not take the mounts apart while somebody waits for the end of the run. Where
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
            stderr: Some(stderr),
            report,
            command: Some(command),
            slot,
            namespace,
            reaped: false,
            relay: None,
            namespaces,
        }
    }

    /// Keeps a way to the proxy for as long as the cell.
    pub(crate) fn keep(&mut self, relay: Relay) {
        self.relay = Some(relay);
    }

    /// Takes the namespaces, to be let go when there is time.
    pub(crate) fn namespaces(&mut self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.namespaces)
    }

    /// Readable when init has ended.
    pub(crate) fn ended(&self) -> &OwnedFd {
        &self.process.pidfd
    }

    /// Ends every process. With a pid namespace the kernel does it; else init does, and if it cannot, the cgroup or a walk.
    pub(crate) fn kill(&self) {
        if self.namespace {
            self.process.signal(libc::SIGKILL);
        } else {
            self.process.signal(libc::SIGTERM);
        }
    }

    /// Waits for the end of init, killing harder if need be, and returns what the run has used.
    pub(crate) fn reap(&mut self) -> Option<libc::rusage> {
        if self.reaped {
            return None;
        }
        if !self.namespace {
            self.end_tree();
        }
        self.reaped = true;
        birth::wait(&self.process)
    }

    /// Without a pid namespace: gives init half a second, then kills what it has not.
    fn end_tree(&self) {
        let deadline = Instant::now() + Duration::from_millis(500);
        while Instant::now() < deadline {
            let mut ended = [sys::awaits(Some(self.ended()), libc::POLLIN)];
            sys::poll(&mut ended, 50);
            if ended[0].revents != 0 {
                return;
            }
        }
        for pid in self.descendants() {
            // SAFETY: numbers only. A pid may have been reused within microseconds, which is why this is the last resort.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        if let Some(slot) = &self.slot {
            slot.kill();
        }
        self.process.signal(libc::SIGKILL);
    }

    /// All processes of the run, as the host counts them.
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
        found.remove(0);
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
