//! Commands on behalf of calls: behind the sandbox, streamed as they run, ended with the call.
//!
//! The one way a tool starts a program. What a command prints goes to the call's events (or to a `Sink`) as it comes and is
//! kept up to the call's limit, head and tail; when the call is cancelled or its time is up, every process is ended first and
//! what was printed so far is in the error's details. One task ends a run, whether its time is up, it is cancelled, its caller
//! goes away or the runtime ends. The pipeline waits for the processes for a bounded time, so that an outcome says "timeout"
//! after they are gone.
//!
//! A `Wall` says what a command may do, a `Run` what is run and how, a `Runner` does it; commands of one call share files
//! in its `CallTemp`.

mod capture;
mod dialogue;
mod egress_proxy;
mod ending;
mod inherit;
mod preview;
mod runner;
mod temp;
#[cfg(test)]
mod tests;
mod wall;

use std::path::PathBuf;
use std::time::Duration;

use crate::call::event::OutputStream;
use crate::egress::Egress;
use crate::held::HeldStore;
use crate::sandbox::{AbsentNames, Command, Sandbox};
pub(crate) use dialogue::Dialogue;
#[doc(hidden)]
pub use egress_proxy::WayOut;
pub(crate) use egress_proxy::no_egress;
pub(crate) use ending::{Finished, output_schema};
pub(crate) use inherit::inherited;
pub(crate) use preview::{LookBounds, Looked};
pub use runner::{Runner, machine};
pub(crate) use temp::CallTemp;
pub use wall::{Access, Reachable, Wall, leave_out_own_data, reaches_own_data};

/// The longest text one argument of a program can be, less its end (`MAX_ARG_STRLEN`).
pub(crate) const MAX_ARGUMENT: usize = 131_071;

/// What the operator sets about sandboxes.
#[derive(Debug, Clone, Default)]
pub struct SandboxOptions {
    /// What commands may read besides the workspace, programs and libraries (`readable`).
    pub readable: Vec<PathBuf>,
    /// Bytes of memory of all processes of a call (`sandbox.memoryMb`); 2 GB if not said.
    pub memory: Option<u64>,
    /// Processes and threads at once (`sandbox.maxProcesses`); 512 if not said.
    pub pids: Option<u32>,
    /// The way out of programs that may reach hosts. Without one they are refused.
    pub egress: Option<Egress>,
    /// What becomes of protected names that are not in the workspace (`sandbox.absentNames`).
    pub absent: AbsentNames,
    /// Where what commands plant is held. Without one it is reported and stays, so [`AbsentNames::Refuse`] is for workspaces that last.
    pub held: Option<HeldStore>,
    /// Another sandbox than the one that this machine has, for trying how things go where layers are missing.
    pub sandbox: Option<Sandbox>,
}

/// What programs of `shell` and `run_code` can reach (`sandbox.network`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NetworkAccess {
    /// Nothing.
    #[default]
    None,
    /// What the setting `allowedHosts` names, through the guarded way out.
    Listed,
    /// Whatever this machine reaches over IP.
    Full,
}

/// A command to run for a call, and how.
pub(crate) struct Run {
    /// What to start.
    pub(crate) command: Command,
    /// How long it may take, if less than the call has.
    pub(crate) timeout: Option<Duration>,
    /// How many bytes of each stream are kept, if less than the call's limit.
    pub(crate) keep: Option<u64>,
    /// Receives the output as it comes; the call's events by default.
    pub(crate) sink: Option<Sink>,
    /// Receives the bytes of stdout as they come. They are neither kept nor passed on as text then: for output that is read, not shown.
    pub(crate) bytes: Option<ByteSink>,
    /// Whether it runs to its end (or its timeout) even when the call is over: what cleans up.
    ///
    /// From the first poll of [`Runner::run`] on it does so also when that future is dropped; it ends with the runtime.
    pub(crate) outlives_call: bool,
    /// A terminal to run it on, with answers to its questions.
    pub(crate) dialogue: Option<Dialogue>,
}

/// Takes output as it comes.
pub(crate) type Sink = Box<dyn FnMut(OutputStream, &str) + Send>;

/// Takes bytes as they come.
pub(crate) type ByteSink = Box<dyn FnMut(&[u8]) + Send>;

impl Run {
    /// Runs a command for as long as its call lasts, output to the call's events.
    pub(crate) fn new(command: Command) -> Self {
        Run {
            command,
            timeout: None,
            keep: None,
            sink: None,
            bytes: None,
            outlives_call: false,
            dialogue: None,
        }
    }
}
