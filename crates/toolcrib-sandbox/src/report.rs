//! How a run ended and what stood around it.

use crate::{
    layer::{Layer, Missing},
    level::Level,
    protect::Planted,
};
use std::{fmt, path::PathBuf, time::Duration};

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
}

/// What ended the run before the command did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndedBy {
    /// The wall-clock limit.
    Time,
    /// The user who asked for the run.
    Cancelled,
    /// The limit of stdout or stderr.
    Output,
    /// The limit of memory: the kernel killed at least one process, even if the command went on without it.
    Memory,
    /// The limit of CPU time.
    Cpu,
    /// The limit of what the workspace may grow by.
    Growth,
    /// The patience with a command on a terminal that waits for an answer no one gives.
    Silence,
}

impl EndedBy {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Cancelled => "cancelled",
            Self::Output => "output",
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Growth => "growth",
            Self::Silence => "silence",
        }
    }
}

impl fmt::Display for EndedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a run was.
#[derive(Clone, Debug)]
pub struct Report {
    /// The level it ran at: always the one asked for.
    pub level: Level,
    /// How the command ended; a run that was ended counts as killed.
    pub status: Status,
    /// The limit or wish that ended it.
    pub ended_by: Option<EndedBy>,
    /// From the start of the command to the end of its last process.
    pub duration: Duration,
    /// CPU time in user mode, of all processes.
    pub user_time: Duration,
    /// CPU time in the kernel, of all processes.
    pub system_time: Duration,
    /// The most memory one process had, in bytes; 0 when the run was ended.
    pub max_rss: u64,
    /// The most memory the run had together, in bytes, where a cgroup counts it.
    pub peak_memory: Option<u64>,
    /// How often starting a process was refused for the limit.
    pub pids_refused: u64,
    /// Bytes of output that were passed on.
    pub stdout_bytes: u64,
    /// Bytes of errors that were passed on.
    pub stderr_bytes: u64,
    /// Layers that stood.
    pub layers: Vec<Layer>,
    /// Layers that would have stood if they could be had, and why they did not.
    pub not_enforced: Vec<Missing>,
    /// What the run made or changed, where nothing kept it from doing so, and other programs would run; also what was taken away
    /// since ([`crate::Keeper`]).
    pub planted: Vec<Planted>,
    /// Repositories that the run made, by where git keeps them.
    pub made: Vec<PathBuf>,
}

impl Report {
    /// Where the planted things are.
    pub fn planted_paths(&self) -> Vec<PathBuf> {
        self.planted
            .iter()
            .map(|planted| planted.path.clone())
            .collect()
    }

    /// The code a shell would show: the command's own, 128 and the signal, or 124 when time or patience ran out.
    pub fn exit_code(&self) -> i32 {
        match (self.ended_by, self.status) {
            (Some(EndedBy::Time | EndedBy::Silence), _) => 124,
            (_, Status::Exited(code)) => code,
            (_, Status::Signalled(signal)) => 128 + signal,
        }
    }
}
