//! The wall on systems that have none yet: the names of the other files, and one refusal.
//!
//! Nothing is started without a wall either, not even at the level `none`: the end of the process tree is looked after by Linux, too.
//! What only a sandbox could give, such as [`Support`], is never made, so its methods are never called.

use crate::{error::SandboxError, layer::Layer, level::Level};

#[cfg(unix)]
pub use unix::{Prepared, TemporaryDirectory};

/// What there is none of.
#[derive(Clone, Copy, Debug)]
enum Nothing {}

/// Starts commands behind walls; on this system it cannot be made.
#[derive(Clone, Debug)]
pub struct Sandbox(Support);

/// What can be enforced here.
#[derive(Clone, Debug)]
pub struct Support(Nothing);

impl Sandbox {
    /// Refuses: there is no wall for this system yet.
    pub fn new() -> Result<Self, SandboxError> {
        Err(SandboxError::not_here())
    }

    /// Refuses, whatever the support.
    pub fn with_support(_: Support) -> Result<Self, SandboxError> {
        Err(SandboxError::not_here())
    }

    /// What can be enforced here.
    pub fn support(&self) -> &Support {
        &self.0
    }
}

impl Support {
    /// Layers without which a level is refused.
    pub fn required(level: Level) -> &'static [Layer] {
        Layer::required(level)
    }
}

#[cfg(unix)]
mod unix {
    use super::{Layer, Level, Nothing, Sandbox, Support};
    use crate::{
        command::Command,
        error::SandboxError,
        layer::Missing,
        policy::Policy,
        report::Report,
        stream::{Cancel, Stream},
    };
    use std::{
        ffi::OsStr,
        io,
        path::{Path, PathBuf},
    };

    impl Sandbox {
        /// Makes a policy ready.
        pub fn prepare(&self, _: &Policy) -> Result<Prepared, SandboxError> {
            match self.0.0 {}
        }
    }

    impl Support {
        /// Whether a layer can be had, and if not, why and what would help.
        pub fn check(&self, _: Layer) -> Result<(), Missing> {
            match self.0 {}
        }

        /// Whether a level can be had.
        pub fn level(&self, _: Level) -> Result<(), Missing> {
            match self.0 {}
        }

        /// Like this without a layer.
        #[must_use]
        pub fn without(self, _: Layer) -> Self {
            match self.0 {}
        }

        /// The version of Landlock, 0 for none.
        pub fn landlock_version(&self) -> i64 {
            match self.0 {}
        }
    }

    /// One policy, ready to run commands.
    #[derive(Debug)]
    pub struct Prepared(Nothing);

    impl Prepared {
        /// Sets one sandbox up ahead of its command.
        pub fn keep_ready(&self) -> Result<(), SandboxError> {
            match self.0 {}
        }

        /// Whether a sandbox is ready for the next command.
        pub fn is_ready(&self) -> bool {
            match self.0 {}
        }

        /// Runs a command.
        pub fn run(
            &self,
            _: &Command,
            _: &mut dyn FnMut(Stream, &[u8]),
            _: &Cancel,
        ) -> Result<Report, SandboxError> {
            match self.0 {}
        }

        /// The layers that stand around every run of this policy.
        pub fn layers(&self) -> Vec<Layer> {
            match self.0 {}
        }

        /// Layers that would stand if they could be had here.
        pub fn not_enforced(&self) -> Vec<Missing> {
            match self.0 {}
        }
    }

    /// A directory that goes with everything in it: only commands need one.
    #[derive(Debug)]
    pub struct TemporaryDirectory(Nothing);

    impl TemporaryDirectory {
        /// Refuses: there is no command to need it.
        pub fn create_in(_: &Path) -> io::Result<Self> {
            Err(io::Error::new(
                io::ErrorKind::Unsupported,
                SandboxError::not_here(),
            ))
        }

        /// Where it is.
        pub fn path(&self) -> &Path {
            match self.0 {}
        }

        /// Writes a new file in it.
        pub fn write(&self, _: impl AsRef<OsStr>, _: &[u8]) -> io::Result<PathBuf> {
            match self.0 {}
        }

        /// Leaves it where it is.
        pub fn keep(self) -> io::Result<PathBuf> {
            match self.0 {}
        }
    }
}
