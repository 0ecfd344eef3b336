//! Follows a child process from system call to system call: to kill it at a chosen one, or to make
//! one fail.
//!
//! The child is this test binary again, running one test. That test stops itself right before and
//! right after what is to be followed ([`between_stops`]). The test harness runs it on a thread of
//! its own even when it is the only one, so it is that thread we follow; the main thread waits.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{self, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// A command that runs one test of this binary, by its full name.
pub(crate) fn test_in_child(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--nocapture", "--test-threads=1"]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// In the child: does what the parent is to follow.
pub(crate) fn between_stops<T>(operation: impl FnOnce() -> T) -> T {
    // To this thread; a signal to the process might stop another one first.
    signal::raise(Signal::SIGSTOP).unwrap();
    let result = operation();
    signal::raise(Signal::SIGSTOP).unwrap();
    result
}

/// A child that stands still between two system calls. Killed when dropped.
pub(crate) struct Followed {
    process: Pid,
    thread: Pid,
    is_over: bool,
}

/// Where a child stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stand {
    /// At the entry of a system call, which has not happened yet. The number, where we can tell.
    BeforeCall(Option<i64>),
    /// Behind the operation.
    Done,
}

impl Followed {
    /// Starts a child and lets it run up to its first stop.
    ///
    /// `None`, with a note, where one process may not follow another.
    pub(crate) fn start(command: &mut Command) -> Option<Self> {
        let id = command.spawn().unwrap().id();
        let process = Pid::from_raw(id.try_into().unwrap());
        let status = waitpid(process, Some(WaitPidFlag::WUNTRACED)).unwrap();
        assert_eq!(
            status,
            WaitStatus::Stopped(process, Signal::SIGSTOP),
            "the child did not get to its first stop"
        );
        let thread = test_thread(process);
        let followed = Followed {
            process,
            thread,
            is_over: false,
        };
        match ptrace::seize(
            thread,
            Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_EXITKILL,
        ) {
            Ok(()) => {}
            Err(error @ (Errno::EPERM | Errno::ENOSYS)) => {
                eprintln!(
                    "SKIPPED: this machine does not let a test follow its child with ptrace ({error})"
                );
                return None;
            }
            Err(error) => panic!("cannot follow the child: {error}"),
        }
        let status = wait(thread);
        assert!(matches!(status, WaitStatus::PtraceEvent(..)), "{status:?}");
        Some(followed)
    }

    /// Lets the child run to the entry of its next system call.
    pub(crate) fn next(&mut self) -> Stand {
        loop {
            match self.resume() {
                WaitStatus::PtraceSyscall(_) if self.is_at_entry() => {
                    return Stand::BeforeCall(self.call_number());
                }
                WaitStatus::PtraceSyscall(_) | WaitStatus::PtraceEvent(..) => {}
                WaitStatus::Stopped(_, Signal::SIGSTOP) => return Stand::Done,
                status => panic!("the child did not get to its second stop: {status:?}"),
            }
        }
    }

    /// Kills the child where it stands.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    /// Lets the child run to its end, and returns its exit status.
    pub(crate) fn finish(mut self) -> i32 {
        ptrace::detach(self.thread, None).unwrap();
        signal::kill(self.process, Signal::SIGCONT).unwrap();
        self.is_over = true;
        match wait(self.process) {
            WaitStatus::Exited(_, code) => code,
            status => panic!("the child did not get to its end: {status:?}"),
        }
    }

    fn resume(&mut self) -> WaitStatus {
        ptrace::syscall(self.thread, None).unwrap();
        wait(self.thread)
    }

    fn is_at_entry(&self) -> bool {
        ptrace::syscall_info(self.thread).unwrap().op == libc::PTRACE_SYSCALL_INFO_ENTRY
    }

    fn end(&mut self) {
        if !self.is_over {
            self.is_over = true;
            signal::kill(self.process, Signal::SIGKILL).unwrap();
            // First the thread, as its tracer, and then the process, as its parent.
            for pid in [self.thread, self.process] {
                while !matches!(
                    waitpid(pid, Some(WaitPidFlag::__WALL)),
                    Ok(WaitStatus::Signaled(..) | WaitStatus::Exited(..)) | Err(Errno::ECHILD)
                ) {}
            }
        }
    }
}

/// The thread that runs the test: the one that is not the main thread, if there is another.
fn test_thread(process: Pid) -> Pid {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let ids = threads.map(|entry| {
        entry
            .unwrap()
            .file_name()
            .to_str()
            .unwrap()
            .parse()
            .unwrap()
    });
    let others: Vec<i32> = ids.filter(|id| *id != process.as_raw()).collect();
    match others[..] {
        [] => process,
        [thread] => Pid::from_raw(thread),
        _ => panic!(
            "the child has {} threads more than expected",
            others.len() - 1
        ),
    }
}

/// Waits for a child or a thread of one that we follow.
fn wait(pid: Pid) -> WaitStatus {
    waitpid(pid, Some(WaitPidFlag::__WALL)).unwrap()
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(target_arch = "x86_64")]
impl Followed {
    fn call_number(&self) -> Option<i64> {
        Some(ptrace::getregs(self.thread).unwrap().orig_rax.cast_signed())
    }

    /// Makes the system call at whose entry the child stands fail instead of happening.
    pub(crate) fn fail_call(&mut self, error: Errno) {
        let mut registers = ptrace::getregs(self.thread).unwrap();
        registers.orig_rax = u64::MAX; // no such call
        ptrace::setregs(self.thread, registers).unwrap();
        let status = self.resume();
        assert!(
            matches!(status, WaitStatus::PtraceSyscall(_)) && !self.is_at_entry(),
            "{status:?}"
        );
        let mut registers = ptrace::getregs(self.thread).unwrap();
        registers.rax = (-i64::from(error as i32)).cast_unsigned();
        ptrace::setregs(self.thread, registers).unwrap();
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Followed {
    fn call_number(&self) -> Option<i64> {
        None
    }
}
