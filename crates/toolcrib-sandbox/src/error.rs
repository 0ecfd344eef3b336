//! What can go wrong before and while a command is started.

use crate::{layer::Missing, level::Level};
use std::{io, path::PathBuf};

/// Why a command was not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The level asks for a layer that this kernel or this user cannot have. Nothing was run.
    #[error("isolation `{level}` cannot be enforced here: {missing}")]
    Unavailable {
        /// The level that was asked for.
        level: Level,
        /// The missing layer.
        missing: Missing,
    },
    /// There is no wall for this system, and without one no command is started. Nothing was run.
    #[error(
        "not on this system yet ({system}): commands are started on Linux only, on x86-64 and AArch64"
    )]
    NotHere {
        /// The system.
        system: &'static str,
    },
    /// The policy or the command makes no sense. Nothing was run.
    #[error("{0}")]
    Invalid(String),
    /// There is no such program. Nothing was run.
    #[error("cannot find the program `{name}`{hint}")]
    NoProgram {
        /// As it was given.
        name: String,
        /// Where it was looked for, or what to do.
        hint: String,
    },
    /// A path of the policy cannot be used. Nothing was run.
    #[error("cannot use {role} `{}`: {source}", path.display())]
    Path {
        /// What the path is for.
        role: &'static str,
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A step of setting up failed; the command was not started.
    #[error("cannot set the sandbox up: {step}: {source}")]
    Setup {
        /// What was being done.
        step: String,
        /// What the system said.
        source: io::Error,
    },
    /// The kernel refused to start the program.
    #[error("cannot start `{program}`: {source}")]
    Start {
        /// The program's path.
        program: String,
        /// What the system said.
        source: io::Error,
    },
}

impl SandboxError {
    /// The refusal of a system without a wall.
    #[cfg(not(wall))]
    pub(crate) fn not_here() -> Self {
        Self::NotHere {
            system: std::env::consts::OS,
        }
    }

    pub(crate) fn setup(step: impl Into<String>, source: io::Error) -> Self {
        Self::Setup {
            step: step.into(),
            source,
        }
    }
}
