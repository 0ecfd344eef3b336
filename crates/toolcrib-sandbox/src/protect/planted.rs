//! Something that a run made and that other programs would run, and what is to be done about it.

use std::path::PathBuf;

/// Something that a run made, or turned into something that other programs run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planted {
    /// Where it is.
    pub path: PathBuf,
    /// The program that runs it: a sentence about "it".
    pub why: String,
    /// What takes the danger away.
    pub remedy: Remedy,
    /// When it last changed, in seconds and nanoseconds, where the remedy rests on its content.
    pub changed: Option<(i64, i64)>,
}

/// What takes the danger away from something that a run made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// Nothing is to be done, but a person should know of it.
    Report,
    /// The path is to be taken away, with all beneath.
    Take,
    /// This content is to be put in the place of what is there now, if anything is.
    Replace(Vec<u8>),
    /// An empty directory is to be made, which was there before.
    MakeDirectory,
}

impl Planted {
    pub(super) fn new(path: PathBuf, why: impl Into<String>, remedy: Remedy) -> Self {
        Self {
            path,
            why: why.into(),
            remedy,
            changed: None,
        }
    }
}

/// Looks after what a run plants: keeps it where nothing runs it, and says what it kept.
///
/// Given with a command ([`crate::Command::keeper`]). What it does not take away stays, and is reported.
pub trait Keeper: Send + Sync {
    /// Called before the command starts, with the state to compare with afterwards ([`crate::recover`]). A keeper that saves it can deal
    /// with a run that was killed together with this process. An error refuses the run.
    fn begin(&self, baseline: &[u8]) -> std::io::Result<()>;

    /// Called while the command runs, about every 50 ms if something was found, and when it has ended.
    fn planted(&self, planted: &[Planted], moment: Moment);
}

/// When a workspace is looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Moment {
    /// The command is running.
    Running,
    /// Its last process is gone.
    #[default]
    Ended,
}
