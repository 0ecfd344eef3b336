//! Pooled cgroups: one [`Slot`] bounds a run's memory and processes as a whole, counts its CPU time and kills its tree.
//!
//! [`Cgroups::discover`] finds out by trying what the kernel lets this process enforce, on cgroup v1, v2 or a mix of both.
//! A slot is a set of empty cgroups (one per hierarchy in use) with every file the run needs already open; the child
//! is born in [`Slot::birthplace`], writes `0` to [`Slot::task_fds`] and is in (or, slower, only writes to
//! [`Slot::procs_fds`]). Making cgroups costs a fifth of a process spawn, so slots are pooled and
//! go back when a run's tree is dead.
//!
//! Layout: `<own cgroup>/toolcrib-<pid>-<start time>-<pid namespace>/slot-<n>` in each hierarchy. The name says who owns
//! the directory, so that a later process can sweep what a killed one left behind ([`owner`]).
//!
//! Invariant: a slot handed out is empty, has exactly the limits asked for, and holds little memory of earlier runs.

mod discover;
mod files;
mod group;
mod kill;
mod limits;
pub(crate) mod owner;
mod parse;
mod pool;
mod slot;
mod tree;

#[cfg(test)]
mod kernel_tests;

use std::{fmt, io, sync::Arc};

use discover::Controllers;
use pool::Pool;
pub(crate) use slot::Slot;

/// The generation of a cgroup hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V1,
    V2,
}

/// Why cgroups cannot do something here, in words, with what to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    pub(crate) reason: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Missing {}

/// What a slot bounds, summed over all its processes; `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CgroupLimits {
    /// Bytes, page cache and tmpfs included. Swap is not given on top.
    pub(crate) memory: Option<u64>,
    /// Processes and threads.
    pub(crate) pids: Option<u64>,
}

/// What cgroups can enforce for this process, and the slots that do.
///
/// Belongs to the process that called [`discover`](Self::discover): after a `fork` that outlives its parent (a daemon
/// detaching itself), discover again, or the sweep of another process takes the slots for a dead owner's.
#[derive(Debug)]
pub(crate) struct Cgroups {
    memory: Result<Version, Missing>,
    pids: Result<Version, Missing>,
    cpu_time: Result<Version, Missing>,
    kill: Result<(), Missing>,
    pool: Arc<Pool>,
}

impl Cgroups {
    /// Tries what the kernel allows by making a cgroup and removing it, and sweeps what dead owners left.
    ///
    /// Never fails: an unavailable limit is [`Missing`] with its reason.
    pub(crate) fn discover() -> Self {
        let Controllers {
            trees,
            memory,
            pids,
            cpu_time,
            kill,
        } = discover::discover();
        // v2 first: one write to `cgroup.kill` there also empties the v1 directories of the same owner.
        for version in [Version::V2, Version::V1] {
            trees
                .iter()
                .filter(|tree| tree.version == version)
                .for_each(|tree| owner::sweep(&tree.base));
        }
        Self {
            memory,
            pids,
            cpu_time,
            kill,
            pool: Arc::new(Pool::new(trees)),
        }
    }

    /// Which generation limits memory.
    pub(crate) fn memory(&self) -> Result<Version, Missing> {
        self.memory.clone()
    }

    /// Which generation limits the number of processes.
    pub(crate) fn pids(&self) -> Result<Version, Missing> {
        self.pids.clone()
    }

    /// Which generation accounts for CPU time.
    pub(crate) fn cpu_time(&self) -> Result<Version, Missing> {
        self.cpu_time.clone()
    }

    /// Whether the kernel kills a whole slot at once (`cgroup.kill`), leaving no race with a process that forks.
    pub(crate) fn kill(&self) -> Result<(), Missing> {
        self.kill.clone()
    }

    /// Takes an empty slot with these limits, from the pool or made now.
    ///
    /// # Errors
    /// `Unsupported` when a limit is asked for that cgroups cannot enforce here (a limit is never dropped silently), or
    /// when there are no cgroups at all; else what the kernel said.
    pub(crate) fn take(&self, limits: &CgroupLimits) -> io::Result<Slot> {
        let unsupported = |missing: Missing| io::Error::new(io::ErrorKind::Unsupported, missing);
        if limits.memory.is_some() {
            self.memory().map_err(unsupported)?;
        }
        if limits.pids.is_some() {
            self.pids().map_err(unsupported)?;
        }
        if self.pool.is_useless() {
            self.kill().map_err(unsupported)?;
        }
        Pool::take(&self.pool, limits)
    }

    /// Removes the directories of all idle slots; those still out are removed as they come back.
    ///
    /// Call it before a normal exit where this value is a static, which is never dropped.
    pub(crate) fn close(&self) {
        self.pool.close();
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_cannot_be_enforced_is_an_error_with_the_reason() {
        let missing = Missing {
            reason: "no cgroups here; try elsewhere".to_owned(),
        };
        let nothing = Cgroups {
            memory: Err(missing.clone()),
            pids: Err(missing.clone()),
            cpu_time: Err(missing.clone()),
            kill: Err(missing),
            pool: Arc::new(Pool::new(Vec::new())),
        };
        let (memory, pids) = (Some(1 << 20), Some(4));
        for limits in [
            CgroupLimits { memory, pids: None },
            CgroupLimits { memory: None, pids },
            CgroupLimits::default(),
        ] {
            let error = nothing.take(&limits).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::Unsupported);
            assert_eq!(error.to_string(), "no cgroups here; try elsewhere");
        }
    }

    #[test]
    fn it_can_be_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Cgroups>();
        shared::<Slot>();
    }
}
