//! A slot: the cgroups of one run, out of the pool for as long as the run lasts.

use std::{os::fd::RawFd, sync::Arc, time::Duration};

use super::{
    group::{Group, Readings},
    pool::Pool,
};

/// The cgroups of one run. Dropping it ends what still runs in it and gives it back.
///
/// Processes dead but unreaped do not delay the drop, but the slot is not used again before they are reaped.
#[derive(Debug)]
pub(crate) struct Slot {
    /// `None` only while being dropped.
    group: Option<Group>,
    pool: Arc<Pool>,
    start: Readings,
}

impl Slot {
    pub(super) fn new(mut group: Group, pool: Arc<Pool>) -> Self {
        let start = group.begin();
        Self {
            group: Some(group),
            pool,
            start,
        }
    }

    fn group(&self) -> &Group {
        self.group
            .as_ref()
            .expect("a slot keeps its group until it is dropped")
    }

    /// The files to which the child writes `0` to enter: all of them, while it has one thread and before it gives up root.
    ///
    /// Write-only and close-on-exec. A child born in [`birthplace`](Self::birthplace) writes to
    /// [`task_fds`](Self::task_fds) instead.
    pub(crate) fn procs_fds(&self) -> &[RawFd] {
        self.group().entry_fds()
    }

    /// The v2 directory to pass to `clone3` with `CLONE_INTO_CGROUP`, if v2 is in use.
    ///
    /// Worth it: the write to v2's `cgroup.procs` stalls 5 to 20 ms for an RCU grace period unless another process moved
    /// within the last few milliseconds (which hides the stall from benchmarks); being born there costs 0.02 to 0.1 ms.
    pub(crate) fn birthplace(&self) -> Option<RawFd> {
        self.group().birthplace()
    }

    /// The files to which a child born in [`birthplace`](Self::birthplace) still writes `0`: those of v1.
    pub(crate) fn task_fds(&self) -> &[RawFd] {
        // v2 comes first; see `discover`.
        let unified = usize::from(self.birthplace().is_some());
        &self.group().entry_fds()[unified..]
    }

    /// CPU time used by this run so far, by all its processes, living or dead.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        self.group()
            .cpu_time()
            .map(|now| now.saturating_sub(self.start.cpu))
    }

    /// How many processes of this run the kernel killed for lack of memory, in the slot or (rarely) the whole machine.
    pub(crate) fn oom_kills(&self) -> u64 {
        self.group()
            .oom_kills()
            .saturating_sub(self.start.oom_kills)
    }

    /// How many times a process of this run could not fork because of the limit on processes.
    pub(crate) fn pids_refused(&self) -> u64 {
        self.group()
            .pids_refused()
            .saturating_sub(self.start.pids_refused)
    }

    /// The most memory this run held at once, in bytes; `None` where the kernel cannot reset it between runs.
    ///
    /// Includes what earlier runs left charged to the slot: at most an eighth of the limit, and 32 MiB.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        self.group().peak_memory()
    }

    /// Ends every process of the run, including those in their own sessions. They may still be dying when this returns.
    pub(crate) fn kill(&self) {
        self.group().kill();
    }

    /// The processes of the run.
    pub(crate) fn pids(&self) -> Vec<i32> {
        self.group().members()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(group) = self.group.take() {
            self.pool.give_back(group);
        }
    }
}
