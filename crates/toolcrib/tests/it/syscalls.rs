//! Follows a child process from system call to system call: to kill it at a chosen one, or to make
//! one fail.
//!
//! The child is this test binary again, running one test. That test stops itself right before and
//! right after what is to be followed ([`between_stops`]). The test harness runs it on its own thread even when it is the only one, so it is that thread we follow; the main thread waits.

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

/// The calls that can change files, where calls can be distinguished. (Opening can make one, which is seen at the call that fills it.)
#[cfg(target_arch = "x86_64")]
const CHANGING: &[i64] = &[
    libc::SYS_write,
    libc::SYS_pwrite64,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_mkdir,
    libc::SYS_mkdirat,
    libc::SYS_link,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_mknodat,
    libc::SYS_ftruncate,
    libc::SYS_copy_file_range,
    libc::SYS_sendfile,
];
/// Others that have to do with files.
#[cfg(target_arch = "x86_64")]
const SHOWING: &[i64] = &[
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_fchown,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_chmod,
    libc::SYS_fsync,
    libc::SYS_flock,
    libc::SYS_getdents64,
    libc::SYS_close,
    libc::SYS_utimensat,
];
#[cfg(not(target_arch = "x86_64"))]
const CHANGING: &[i64] = &[];
#[cfg(not(target_arch = "x86_64"))]
const SHOWING: &[i64] = &[];

/// A child that is stopped between two system calls. Killed when dropped.
pub(crate) struct Followed {
    process: Pid,
    thread: Pid,
    is_over: bool,
}

/// Where a child is.
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
                crate::skipped(format_args!(
                    "this machine does not let a test follow its child with ptrace ({error})"
                ));
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

    /// Lets the child run to the entry of its next system call of a kind. Where calls cannot be distinguished, every one counts.
    pub(crate) fn next_of(&mut self, is_wanted: impl Fn(i64) -> bool) -> Stand {
        loop {
            match self.next() {
                Stand::BeforeCall(Some(call)) if !is_wanted(call) => {}
                stand => return stand,
            }
        }
    }

    /// Lets the child run to its nth call that can change or show files; false when it has not that many. Between two such calls nothing
    /// differs for those who come after.
    pub(crate) fn gets_to(&mut self, nth: usize) -> bool {
        let is_wanted = |call| CHANGING.contains(&call) || SHOWING.contains(&call);
        (0..nth).all(|_| self.next_of(is_wanted) != Stand::Done)
    }

    /// Lets the child run to its nth call that changes files; false when it has not that many.
    pub(crate) fn gets_to_change(&mut self, nth: usize) -> bool {
        let is_wanted = |call| CHANGING.contains(&call);
        (0..nth).all(|_| self.next_of(is_wanted) != Stand::Done)
    }

    /// Lets a child that is behind an operation run, not followed, to the start of its next one.
    pub(crate) fn go_on(&mut self) {
        loop {
            ptrace::cont(self.thread, None).unwrap();
            match wait(self.thread) {
                WaitStatus::Stopped(_, Signal::SIGSTOP) => return,
                WaitStatus::PtraceEvent(..) => {}
                status => panic!(
                    "the child did not get to its next operation, as it says above: {status:?}"
                ),
            }
        }
    }

    /// Kills the child where it is.
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

/// Whether a system call changes files or shows them, so that it matters that it failed or did not happen. Memory, signals and
/// waiting are left out: without memory a program ends, whatever it was doing.
#[cfg(target_arch = "x86_64")]
pub(crate) fn is_on_files(call: i64) -> bool {
    const OTHERS: &[i64] = &[
        libc::SYS_open,
        libc::SYS_openat,
        libc::SYS_openat2,
        libc::SYS_read,
        libc::SYS_pread64,
        libc::SYS_getdents64,
        libc::SYS_lseek,
        libc::SYS_stat,
        libc::SYS_lstat,
        libc::SYS_fstat,
        libc::SYS_newfstatat,
        libc::SYS_statx,
        libc::SYS_flock,
        libc::SYS_fcntl,
    ];
    is_change_of_files(call) || OTHERS.contains(&call)
}

/// Whether a system call can leave other files than there were, or brings them to the disk.
#[cfg(target_arch = "x86_64")]
pub(crate) fn is_change_of_files(call: i64) -> bool {
    const OTHERS: &[i64] = &[
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_pwrite64,
        libc::SYS_ftruncate,
        libc::SYS_fchmod,
        libc::SYS_fchmodat,
        libc::SYS_chmod,
        libc::SYS_fsync,
        libc::SYS_fdatasync,
        libc::SYS_mkdir,
        libc::SYS_mkdirat,
        libc::SYS_rmdir,
        libc::SYS_unlink,
        libc::SYS_unlinkat,
        libc::SYS_link,
        libc::SYS_linkat,
        libc::SYS_copy_file_range,
        libc::SYS_sendfile,
    ];
    is_rename(call) || OTHERS.contains(&call)
}

/// Whether a system call gives something another name.
#[cfg(target_arch = "x86_64")]
pub(crate) fn is_rename(call: i64) -> bool {
    [libc::SYS_rename, libc::SYS_renameat, libc::SYS_renameat2].contains(&call)
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn is_change_of_files(_call: i64) -> bool {
    true
}

#[cfg(target_arch = "x86_64")]
impl Followed {
    fn call_number(&self) -> Option<i64> {
        Some(ptrace::getregs(self.thread).unwrap().orig_rax.cast_signed())
    }

    /// Makes the system call at whose entry the child is fail instead of happening.
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
