//! Runs a command behind a wall the kernel enforces, and leaves no process behind.
//!
//! ```no_run
//! use toolcrib_sandbox::{Cancel, Command, Level, Policy, Sandbox};
//!
//! let sandbox = Sandbox::new()?;
//! let prepared = sandbox.prepare(&Policy::new(Level::Process, "/home/me/project"))?;
//! let command = Command::new("bash").args(["-c", "make test"]);
//! let report = prepared.run(&command, &mut |_, bytes| print!("{}", String::from_utf8_lossy(bytes)), &Cancel::new()?)?;
//! println!("{:?}, behind {:?}", report.status, report.layers);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Policy`] says what a command may do, a [`Sandbox`] what this machine can enforce. What a policy asks for and the
//! machine lacks is an error that names it, before anything is started; a level is never lowered. Optional layers that are missing are in
//! the [`Report`].
//!
//! How it works, in the order of a run: the parent prepares every string, rule and filter (`plan`); a child that shares
//! its memory makes nothing but system calls (`child`) and becomes a tiny init (`init/main.rs`); that starts the
//! command, and its end is the end of every process of the run.
//!
//! ```text
//! Policy --+                  parent                          child (shares the parent's memory, then execs)
//! Support -+> plan: steps --> clone3: CLONE_VM|VFORK, ------> steps: mounts, uid, capabilities, no_new_privs,
//!             (all data        namespaces, its cgroup                Landlock, limits, seccomp
//!              is ready)                                      init, from a memfd: process 1, dies with us
//! Command ------------------> control pipe -----------------> waits for its command, starts it
//! Report <------------------- output, time, CPU, growth <---- init reaps, reports, ends; the kernel ends the rest
//! ```
//!
//! The command is not process 1: that ignores signals it has no handler for, so `kill $$` in a script would do nothing. Init
//! makes the command an ordinary process. It is behind the same wall and has no secrets.

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
compile_error!(
    "toolcrib-sandbox enforces with Linux namespaces, Landlock and seccomp on x86_64 and aarch64; there is no wall for this system yet"
);

mod arrivals;
mod birth;
mod cell;
mod cgroup;
mod child;
mod command;
mod engine;
mod error;
mod growth;
mod inherited;
mod input;
mod landlock;
mod layer;
mod level;
mod memory;
mod paths;
mod plan;
mod policy;
mod prepared;
mod protect;
mod proxy;
mod report;
mod run;
mod sandbox;
mod seccomp;
mod stream;
mod support;
mod sys;
mod temporary;
mod terminal;
mod user;
mod watchdog;

pub use command::{Command, Stdin};
pub use error::SandboxError;
pub use inherited::inherited_sockets;
pub use layer::{Layer, Missing};
pub use level::Level;
pub use memory::give_back_memory;
pub use paths::{system as system_paths, toolchains};
#[doc(hidden)]
pub use plan::writable_refusal;
pub use policy::{AbsentNames, Limits, Network, Policy, Replaced, User};
pub use prepared::Prepared;
#[doc(hidden)]
pub use protect::submodules_of_index;
pub use protect::{
    GIT_KEYS, GitKeys, Keeper, Moment, PROTECTED_NAMES, Planted, ProtectedName, Remedy,
    is_harmless_repository, is_protected_name, is_repository_name, protected_name, recover,
};
pub use report::{EndedBy, Report, Status};
pub use sandbox::Sandbox;
pub use stream::{Cancel, Stream};
pub use support::Support;
pub use temporary::TemporaryDirectory;
pub use terminal::{Dialogue, Keyboard};
