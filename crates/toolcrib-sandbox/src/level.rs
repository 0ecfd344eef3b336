//! How strong a wall is: [`Level`].

use std::{fmt, str::FromStr};

/// How strong the wall is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// No wall; time, output and the end of the process tree are still looked after.
    None,
    /// Landlock, seccomp, no capabilities, limits; with pid and mount namespaces where they can be had.
    Process,
    /// All of that and every namespace, with its own root directory.
    Container,
}

impl Level {
    /// The name in policies and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Process => "process",
            Self::Container => "container",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::None, Self::Process, Self::Container]
            .into_iter()
            .find(|level| level.name() == text)
            .ok_or_else(|| {
                format!("`{text}` is not an isolation level; use none, process or container")
            })
    }
}
