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
//!
//! On other systems than Linux on x86-64 and AArch64 nothing is started yet: [`Sandbox::new`] refuses with [`SandboxError::NotHere`]
//! (`elsewhere.rs`). What reads files only, such as which names are protected, is the same on every Unix. `build.rs` sets the condition
//! `wall`.

#![cfg_attr(not(wall), allow(dead_code, reason = "only the wall uses it"))]

#[cfg(wall)]
mod arrivals;
#[cfg(wall)]
mod birth;
#[cfg(wall)]
mod cell;
#[cfg(wall)]
mod cgroup;
#[cfg(wall)]
mod child;
#[cfg(unix)]
mod command;
#[cfg(not(wall))]
mod elsewhere;
#[cfg(wall)]
mod engine;
mod error;
#[cfg(wall)]
mod growth;
#[cfg(unix)]
mod inherited;
#[cfg(wall)]
mod input;
#[cfg(wall)]
mod landlock;
mod layer;
mod level;
#[cfg(unix)]
mod memory;
#[cfg(unix)]
mod paths;
#[cfg(wall)]
mod plan;
#[cfg(unix)]
mod policy;
#[cfg(wall)]
mod prepared;
#[cfg(unix)]
mod protect;
#[cfg(not(unix))]
#[path = "protect/by_name.rs"]
mod protect;
#[cfg(wall)]
mod proxy;
#[cfg(wall)]
mod pty;
#[cfg(unix)]
mod report;
#[cfg(wall)]
mod run;
#[cfg(wall)]
mod sandbox;
#[cfg(wall)]
mod seccomp;
#[cfg(unix)]
mod stream;
#[cfg(wall)]
mod support;
#[cfg(unix)]
mod sys;
#[cfg(wall)]
mod temporary;
#[cfg(unix)]
mod terminal;
#[cfg(wall)]
mod user;
#[cfg(wall)]
mod watchdog;

#[cfg(unix)]
pub use command::{Command, Stdin};
#[cfg(all(unix, not(wall)))]
pub use elsewhere::{Prepared, TemporaryDirectory};
#[cfg(not(wall))]
pub use elsewhere::{Sandbox, Support};
pub use error::SandboxError;
#[cfg(unix)]
pub use inherited::inherited_sockets;
pub use layer::{Layer, Missing};
pub use level::Level;
#[cfg(unix)]
pub use memory::give_back_memory;
#[cfg(unix)]
pub use paths::{system as system_paths, toolchains, writable_refusal};
#[cfg(unix)]
pub use policy::{AbsentNames, Limits, Network, Policy, Replaced, User};
#[cfg(wall)]
pub use prepared::Prepared;
#[cfg(unix)]
#[doc(hidden)]
pub use protect::submodules_of_index;
#[cfg(unix)]
pub use protect::{
    GIT_KEYS, GitKeys, Keeper, Moment, Planted, Remedy, is_harmless_repository, protected_name,
    recover,
};
pub use protect::{PROTECTED_NAMES, ProtectedName, is_protected_name, is_repository_name};
#[cfg(unix)]
pub use report::{EndedBy, Report, Status};
#[cfg(wall)]
pub use sandbox::Sandbox;
#[cfg(unix)]
pub use stream::{Cancel, Stream};
#[cfg(wall)]
pub use support::Support;
#[cfg(wall)]
pub use temporary::TemporaryDirectory;
#[cfg(unix)]
pub use terminal::{Dialogue, Keyboard};
