//! Brings a child into the world: the one place that calls `clone`.
//!
//! All births happen on one thread that lives as long as the [`Midwife`]: a child asks the kernel to be killed when its
//! parent dies, and for the kernel the parent is the *thread* that made it.

use crate::{
    child::{self, Birth, Descriptors, SLOTS, Step},
    sys,
};
use std::{
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    sync::mpsc,
    thread,
};

/// The init program; see `init/main.rs`.
static INIT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/init.elf"));

/// A child's stack. Its steps use little; Landlock and the parsing of `/proc` need a few kilobytes.
const STACK: usize = 64 << 10;

/// A process that exists, known by a descriptor: no pid is ever mistaken for another.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) pidfd: OwnedFd,
}

/// What a probe does.
#[derive(Debug)]
pub(crate) struct Outline<'a> {
    pub(crate) steps: &'a [Step],
    pub(crate) flags: i32,
}

/// What a child is to be.
#[derive(Debug)]
pub(crate) struct Order<'a> {
    pub(crate) steps: &'a [Step],
    pub(crate) flags: i32,
    pub(crate) cgroups: &'a [RawFd],
    pub(crate) trees: &'a [RawFd],
    pub(crate) channel: RawFd,
    pub(crate) descriptors: Descriptors,
    pub(crate) init: RawFd,
}

/// Why a child was not born: the step it got to, and the error.
#[derive(Debug)]
pub(crate) struct Failed {
    /// `None`: before or after all steps.
    pub(crate) step: Option<usize>,
    pub(crate) error: io::Error,
}

type Job = Box<dyn FnOnce() + Send>;

/// The thread on which children are born.
#[derive(Debug)]
pub(crate) struct Midwife {
    jobs: mpsc::Sender<Job>,
}

impl Midwife {
    pub(crate) fn new() -> io::Result<Self> {
        let (jobs, inbox) = mpsc::channel::<Job>();
        thread::Builder::new().name("toolcrib-sandbox".to_owned()).spawn(move || {
            for job in inbox {
                job();
            }
        })?;
        Ok(Self { jobs })
    }

    /// Runs a job on the thread, some time soon.
    pub(crate) fn send(&self, job: impl FnOnce() + Send + 'static) {
        // The thread ends only with us; a job that panicked would take it down, and then `call` says so.
        let _ = self.jobs.send(Box::new(job));
    }

    /// Runs a job on the thread and waits for its answer.
    pub(crate) fn call<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
        let (answer, waiting) = mpsc::sync_channel(1);
        self.send(move || {
            let _ = answer.send(job());
        });
        waiting.recv().map_err(|_| io::Error::other("the thread that starts sandboxes has ended"))
    }
}

/// The init program as a sealed file in memory.
pub(crate) fn init_program() -> io::Result<OwnedFd> {
    /// `MFD_EXEC`, which kernels before 6.3 do not know and do not need.
    const EXEC: u32 = 0x10;
    let make = |flags: u32| {
        // SAFETY: the name ends with null.
        sys::own(unsafe { libc::memfd_create(c"toolcrib-init".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING | flags) }.into())
    };
    let file = make(EXEC).or_else(|_| make(0))?;
    let mut rest = INIT;
    while !rest.is_empty() {
        let written = sys::write(&file, rest)?.unwrap_or(0);
        rest = rest.get(written..).unwrap_or(&[]);
    }
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_WRITE | libc::F_SEAL_SEAL;
    // SAFETY: numbers only.
    sys::check(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) }.into())?;
    // A file that is open for writing cannot be run.
    let path = std::path::PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    sys::high(&std::fs::File::open(path)?)
}

/// Makes a child that takes these steps and ends; for finding out whether it can.
pub(crate) fn probe(outline: &Outline<'_>) -> io::Result<()> {
    let order = Order {
        steps: outline.steps,
        flags: outline.flags,
        cgroups: &[],
        trees: &[],
        channel: -1,
        descriptors: [-1; 5],
        init: -1,
    };
    match clone(&order, true) {
        Ok(process) => {
            wait(&process);
            Ok(())
        }
        Err(failed) => Err(failed.error),
    }
}

/// Makes a child; it has done all its steps and become init when this returns.
pub(crate) fn give(order: &Order<'_>) -> Result<Process, Failed> {
    clone(order, false)
}

fn clone(order: &Order<'_>, probe: bool) -> Result<Process, Failed> {
    let mut birth = Birth {
        cgroups: order.cgroups,
        steps: order.steps,
        trees: order.trees,
        channel: order.channel,
        descriptors: order.descriptors,
        init: order.init,
        namespace: order.flags & libc::CLONE_NEWPID != 0,
        parent: std::process::id() as i32,
        probe,
        done: 0,
        errno: 0,
        ready: false,
        slots: [-1; SLOTS],
    };
    let mut stack = vec![0u128; STACK / size_of::<u128>()];
    let mut pidfd: RawFd = -1;
    // No exit signal: nobody's SIGCHLD handler or `wait` is disturbed by our children.
    let flags = order.flags | libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD;
    // SAFETY: signals are blocked so that no handler runs in the child, which shares our memory; the stack is aligned and
    // grows down from its end; `birth` and `stack` outlive the child's use of them, since `CLONE_VFORK` stops this thread
    // until the child execs or ends.
    let pid = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let top = stack.as_mut_ptr().add(stack.len());
        let pid = libc::clone(child::born, top.cast(), flags, (&raw mut birth).cast(), &raw mut pidfd);
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        if pid < 0 { Err(error) } else { Ok(pid) }
    };
    drop(stack);
    let pid = pid.map_err(|error| Failed { step: None, error })?;
    let process = Process { pid, pidfd: sys::own(pidfd.into()).map_err(|error| Failed { step: None, error })? };
    if birth.ready {
        return Ok(process);
    }
    wait(&process);
    let step = (birth.done < order.steps.len() && birth.errno != 0).then_some(birth.done);
    let error = if birth.errno == 0 { io::Error::other("it was killed") } else { io::Error::from_raw_os_error(birth.errno) };
    Err(Failed { step, error })
}

/// Waits for the end of a process and returns what it and everything it waited for has used.
pub(crate) fn wait(process: &Process) -> Option<libc::rusage> {
    // SAFETY: an all-zero structure is a valid one, and ours to write.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: our own child; the places are ours. `__WALL`: it has no exit signal.
        let answer = unsafe { libc::wait4(process.pid, std::ptr::null_mut(), libc::__WALL, &mut usage) };
        match sys::check(answer.into()) {
            Ok(_) => return Some(usage),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

impl Process {
    /// Sends a signal to exactly this process.
    pub(crate) fn signal(&self, signal: i32) {
        let nothing = std::ptr::null::<u8>();
        // SAFETY: a descriptor of ours and numbers.
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.pidfd.as_raw_fd(), signal, nothing, 0) };
    }
}
