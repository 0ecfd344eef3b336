//! Brings a child into the world: the one place that calls `clone`.
//!
//! All births happen on one thread that lives as long as the [`Midwife`]: a child asks the kernel to be killed when its
//! parent dies, and for the kernel the parent is the *thread* that made it.

mod clone;

use crate::{
    child::{Birth, Descriptors, Progress, SLOTS, Step},
    sys,
};
use std::{
    io,
    os::fd::{AsRawFd, OwnedFd, RawFd},
    sync::{atomic::Ordering::SeqCst, mpsc},
    thread,
};

/// The init program; see `init/main.rs`.
static INIT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/init.elf"));

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
    /// Where the child enters cgroups of version 1 itself.
    pub(crate) cgroups: &'a [RawFd],
    /// The cgroup of version 2 to be born in: moving there later would stop every fork on the machine for a moment.
    pub(crate) birthplace: Option<RawFd>,
    /// Where it is entered all the same where `clone3` is forbidden: Docker does that.
    pub(crate) all_cgroups: &'a [RawFd],
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
        thread::Builder::new()
            .name("toolcrib-sandbox".to_owned())
            .spawn(move || {
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
    pub(crate) fn call<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let (answer, waiting) = mpsc::sync_channel(1);
        self.send(move || {
            let _ = answer.send(job());
        });
        waiting
            .recv()
            .map_err(|_| io::Error::other("the thread that starts sandboxes has ended"))
    }
}

/// The init program as a sealed file in memory.
pub(crate) fn init_program() -> io::Result<OwnedFd> {
    /// `MFD_EXEC`, which kernels before 6.3 do not know and do not need.
    const EXEC: u32 = 0x10;
    let make = |flags: u32| {
        // SAFETY: the name ends with null.
        sys::own(
            unsafe {
                libc::memfd_create(
                    c"toolcrib-init".as_ptr(),
                    libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING | flags,
                )
            }
            .into(),
        )
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

/// Whether a child can be made at all, and become init.
pub(crate) fn probe_init(init: &OwnedFd) -> io::Result<()> {
    let failed = |failed: Failed| failed.error;
    let null = sys::high(
        &std::fs::File::options()
            .read(true)
            .write(true)
            .open("/dev/null")?,
    )?;
    let order = Order {
        steps: &[],
        flags: 0,
        cgroups: &[],
        birthplace: None,
        all_cgroups: &[],
        trees: &[],
        channel: -1,
        // It finds no command on any of them, and ends.
        descriptors: [null.as_raw_fd(); 5],
        init: init.as_raw_fd(),
    };
    let process = give(&order).map_err(failed)?;
    wait(&process);
    Ok(())
}

/// Makes a child that takes these steps and ends; for finding out whether it can.
pub(crate) fn probe(outline: &Outline<'_>) -> io::Result<()> {
    let order = Order {
        steps: outline.steps,
        flags: outline.flags,
        cgroups: &[],
        birthplace: None,
        all_cgroups: &[],
        trees: &[],
        channel: -1,
        descriptors: [-1; 5],
        init: -1,
    };
    match bear(&order, true) {
        Ok(process) => {
            wait(&process);
            Ok(())
        }
        Err(failed) => Err(failed.error),
    }
}

/// Makes a child; it has done all its steps and become init when this returns.
pub(crate) fn give(order: &Order<'_>) -> Result<Process, Failed> {
    bear(order, false)
}

fn bear(order: &Order<'_>, probe: bool) -> Result<Process, Failed> {
    let progress = Progress::default();
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
        progress: &progress,
        slots: [-1; SLOTS],
    };
    let mut born = clone::clone3(order, &mut birth);
    if born
        .as_ref()
        .is_err_and(|error| error.raw_os_error() == Some(libc::ENOSYS))
    {
        birth.cgroups = order.all_cgroups;
        born = clone::clone2(order, &mut birth);
    }
    let process = born.map_err(|error| Failed { step: None, error })?;
    if progress.ready.load(SeqCst) {
        return Ok(process);
    }
    wait(&process);
    let (done, errno) = (progress.done.load(SeqCst), progress.errno.load(SeqCst));
    let step = (done < order.steps.len() && errno != 0).then_some(done);
    let error = if errno == 0 {
        io::Error::other("it was killed")
    } else {
        io::Error::from_raw_os_error(errno)
    };
    Err(Failed { step, error })
}

/// Waits for the end of a process and returns what it and everything it waited for has used.
pub(crate) fn wait(process: &Process) -> Option<libc::rusage> {
    // SAFETY: an all-zero structure is a valid one, and ours to write.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: our own child; the places are ours. `__WALL`: it has no exit signal.
        let answer =
            unsafe { libc::wait4(process.pid, std::ptr::null_mut(), libc::__WALL, &mut usage) };
        match sys::check(answer.into()) {
            Ok(_) => return Some(usage),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

impl Process {
    /// Sends a signal to exactly this process.
    pub(crate) fn signal(&self, number: i32) {
        signal(&self.pidfd, number);
    }
}

/// Sends a signal to exactly the process that this descriptor stands for.
pub(crate) fn signal(pidfd: &OwnedFd, number: i32) {
    let nothing = std::ptr::null::<u8>();
    // SAFETY: a descriptor of ours and numbers.
    unsafe {
        libc::syscall(
            libc::SYS_pidfd_send_signal,
            pidfd.as_raw_fd(),
            number,
            nothing,
            0,
        )
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::Op;

    fn check_folded(path: &std::path::Path) -> io::Result<()> {
        let path = sys::c_path(path)?;
        let steps = [Step {
            layer: None,
            op: Op::CheckFolded { path },
        }];
        probe(&Outline {
            steps: &steps,
            flags: 0,
        })
    }

    #[test]
    fn another_spelling_that_is_not_covered_is_noticed() {
        let dir = tempfile::tempdir().expect("a directory");
        let uncovered = check_folded(dir.path()).expect_err("it can be written");
        assert_eq!(uncovered.raw_os_error(), Some(libc::EOPNOTSUPP));
        check_folded(&dir.path().join("nothing")).expect("nothing is there");
    }
}
