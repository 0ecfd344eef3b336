//! What the new process does between its birth and its exec: a list of steps, prepared by the parent.
//!
//! The child shares the parent's memory (`CLONE_VM`) while the parent's thread is suspended (`CLONE_VFORK`), so starting
//! costs the same from a process of any size. The price is the invariant of this file: **nothing here allocates, locks,
//! panics or calls into the standard library**; every step is a handful of raw system calls on data that is ready.
//!
//! A step that fails ends the child: what a run reports as enforced is what its steps did, not what was planned.

mod apply;
mod privileges;
mod step;

pub(crate) use step::{Beneath, Op, Rule, Step};

use std::{
    ffi::{c_char, c_int, c_void},
    os::fd::RawFd,
    ptr::null,
    sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::SeqCst},
};

/// Descriptors of the child, in the order of their numbers there: 0 to 4.
pub(crate) type Descriptors = [RawFd; 5];

/// What parent and child share.
#[derive(Debug)]
pub(crate) struct Birth<'a> {
    /// The `cgroup.procs` of the cgroups to enter.
    pub(crate) cgroups: &'a [RawFd],
    pub(crate) steps: &'a [Step],
    /// Detached mounts that the parent has made for this child.
    pub(crate) trees: &'a [RawFd],
    /// A socket to send a descriptor through; -1 for none.
    pub(crate) channel: RawFd,
    pub(crate) descriptors: Descriptors,
    /// The init program, open.
    pub(crate) init: RawFd,
    /// Whether a pid namespace does the killing; else init does.
    pub(crate) namespace: bool,
    /// The pid of the parent, to notice that it died meanwhile.
    pub(crate) parent: i32,
    /// Stop before the exec: a probe.
    pub(crate) probe: bool,
    /// Out: how far the child got.
    pub(crate) progress: &'a Progress,
    pub(crate) slots: [RawFd; SLOTS],
}

/// How far a child got. Atomic, since two processes have it in memory at once: plain fields would be the child's alone as
/// far as the compiler knows, and a store right before the exec would be left out.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Steps done.
    pub(crate) done: AtomicUsize,
    /// The error that ended the child, if one did.
    pub(crate) errno: AtomicI32,
    /// Everything was done, and the exec comes next.
    pub(crate) ready: AtomicBool,
}

/// Mounts that a child can hold at once.
pub(crate) const SLOTS: usize = 256;

/// The way of every error in this file: the errno.
type Done = Result<(), c_int>;

fn errno() -> c_int {
    // SAFETY: the thread's own errno, shared with the parent's thread, which is suspended.
    unsafe { *libc::__errno_location() }
}

fn ok(answer: impl Into<i64>) -> Result<i64, c_int> {
    let answer = answer.into();
    if answer < 0 { Err(errno()) } else { Ok(answer) }
}

/// Runs in the child, on its own stack.
pub(crate) extern "C" fn born(birth: *mut c_void) -> c_int {
    let birth = birth.cast::<Birth<'_>>();
    // SAFETY: the parent passes its `Birth`, which outlives this call since the parent waits for our exec or exit.
    let birth = unsafe { &mut *birth };
    if let Err(errno) = live(birth) {
        birth.progress.errno.store(errno, SeqCst);
    }
    // SAFETY: leaves without running anything of the parent's.
    unsafe { libc::_exit(125) }
}

fn live(birth: &mut Birth<'_>) -> Done {
    default_signals();
    // SAFETY: numbers and constant strings. The umask is the command's again before the exec.
    let (stat, umask) = unsafe {
        libc::setsid();
        (
            libc::open(
                c"/proc/self/stat".as_ptr(),
                libc::O_RDONLY | libc::O_CLOEXEC,
            ),
            libc::umask(0),
        )
    };
    // Without a pid namespace init has to find what it started; where it will be, it may not open this any more.
    let children = if birth.namespace {
        -1
    } else {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC;
        // SAFETY: a constant string.
        ok(unsafe { libc::open(c"/proc/thread-self/children".as_ptr(), flags) })? as c_int
    };
    for procs in birth.cgroups {
        // SAFETY: one byte of a constant. "0" is the writer itself.
        ok(unsafe { libc::write(*procs, c"0".as_ptr().cast(), 1) } as i64)?;
    }
    for step in birth.steps {
        match &step.op {
            Op::AttachTree { tree, target } => {
                apply::attach(*birth.trees.get(*tree).ok_or(libc::ENOSPC)?, target)?;
            }
            Op::Listen => apply::listen(birth.channel)?,
            Op::Landlock { ruleset, rules } => {
                privileges::landlock(ruleset, rules, birth.descriptors[0])?;
            }
            op => apply::apply(op, &mut birth.slots)?,
        }
        birth.progress.done.fetch_add(1, SeqCst);
    }
    die_with_parent(birth, stat)?;
    // SAFETY: number only.
    unsafe { libc::umask(umask) };
    if birth.probe {
        birth.progress.ready.store(true, SeqCst);
        // SAFETY: as in `born`.
        unsafe { libc::_exit(0) }
    }
    for (number, fd) in birth.descriptors.into_iter().enumerate() {
        // SAFETY: numbers only; the sources are all above 9 (`sys::high`), so that none is overwritten.
        ok(unsafe { libc::dup2(fd, number as c_int) })?;
    }
    let mut first = birth.descriptors.len() as u32;
    if children >= 0 {
        // SAFETY: numbers only.
        ok(unsafe { libc::dup2(children, first as c_int) })?;
        first += 1;
    }
    let init = birth.init as u32;
    // SAFETY: numbers only. Everything but the five and the init program is closed, also what the caller forgot to mark.
    unsafe {
        ok(libc::syscall(libc::SYS_close_range, first, init - 1, 0))?;
        ok(libc::syscall(libc::SYS_close_range, init + 1, u32::MAX, 0))?;
    }
    let mode = if birth.namespace { c"n" } else { c"t" };
    let arguments = [c"toolcrib-init".as_ptr(), mode.as_ptr(), null()];
    let environment = [null::<c_char>()];
    birth.progress.ready.store(true, SeqCst);
    // SAFETY: the lists end with null; the program is a sealed memory file of ours.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_execveat,
            birth.init,
            c"".as_ptr(),
            arguments.as_ptr(),
            environment.as_ptr(),
            libc::AT_EMPTY_PATH,
        )
    };
    birth.progress.ready.store(false, SeqCst);
    ok(answer).map(drop)
}

/// Signals do again what they do by default, and are let in. Handlers are forgotten already (`CLONE_CLEAR_SIGHAND`), but what
/// the parent ignores (SIGPIPE, in every Rust program) would stay ignored. Init blocks them again.
fn default_signals() {
    let default = [0u64; 4];
    let none = 0u64;
    let size = size_of_val(&none);
    // SAFETY: the kernel's action is four words, all zero for the default; its set of signals is eight bytes.
    unsafe {
        for signal in 1..=64 {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                &raw const default,
                null::<c_void>(),
                size,
            );
        }
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const none,
            null::<c_void>(),
            size,
        );
    }
}

/// Asks for a signal at the parent's death, then makes sure that it has not died before.
///
/// Last of all, since a change of uid clears it. `stat` is the host's view of us: a parent outside of our pid namespace has
/// no number in it. Setting first and looking afterwards leaves no gap: the kernel changes our parent before it looks for
/// the wish.
fn die_with_parent(birth: &Birth<'_>, stat: c_int) -> Done {
    let signal = if birth.namespace {
        libc::SIGKILL
    } else {
        libc::SIGTERM
    };
    let mut text = [0u8; 512];
    // SAFETY: numbers; a buffer with its length. Without a pid namespace init collects orphans.
    let length = unsafe {
        ok(libc::prctl(libc::PR_SET_PDEATHSIG, signal, 0, 0, 0))?;
        if !birth.namespace {
            ok(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))?;
        }
        if stat < 0 {
            return Ok(());
        }
        ok(libc::read(stat, text.as_mut_ptr().cast(), text.len()) as i64)?
    };
    let text = text.get(..length as usize).unwrap_or(&[]);
    // "pid (name) state ppid …": the name may hold anything, so count from the last parenthesis.
    let after = text
        .iter()
        .rposition(|&byte| byte == b')')
        .map_or(0, |at| at + 4);
    let mut parent = 0i32;
    for byte in text.get(after..).unwrap_or(&[]) {
        if !byte.is_ascii_digit() {
            break;
        }
        parent = parent.wrapping_mul(10).wrapping_add(i32::from(byte - b'0'));
    }
    if parent == birth.parent {
        Ok(())
    } else {
        Err(libc::ESRCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_whose_parent_is_another_does_not_start() {
        let progress = Progress::default();
        let mut birth = Birth {
            cgroups: &[],
            steps: &[],
            trees: &[],
            channel: -1,
            descriptors: [-1; 5],
            init: -1,
            namespace: true,
            // SAFETY: asks for a number.
            parent: unsafe { libc::getppid() },
            probe: true,
            progress: &progress,
            slots: [-1; SLOTS],
        };
        let mut ask = |parent: i32| {
            birth.parent += parent;
            // SAFETY: constant strings and numbers; the wish is taken back, since it is this test's own thread that made it.
            unsafe {
                let stat = libc::open(c"/proc/self/stat".as_ptr(), libc::O_RDONLY);
                let answer = die_with_parent(&birth, stat);
                libc::prctl(libc::PR_SET_PDEATHSIG, 0, 0, 0, 0);
                libc::close(stat);
                answer
            }
        };
        assert_eq!(ask(0), Ok(()));
        assert_eq!(
            ask(1),
            Err(libc::ESRCH),
            "it died meanwhile, and another took us over"
        );
    }
}
