//! Names in the workspace that other programs run later, kept from being written or planted.
//!
//! An agent's command that may write the workspace could write `.git/hooks/pre-commit` or `.envrc`, and the person's own
//! shell, editor or git would run it, outside of any wall. So these names are mounted over, read-only, in the run's own
//! mount namespace: a mount point can be neither written, renamed nor removed.
//!
//! A mount needs something to be mounted on, and what is absent has nothing. The policy says what happens then
//! ([`AbsentNames`](crate::AbsentNames)):
//!
//! - *Hold*: nothing is put into the workspace. What a run makes there is noticed ([`watch`]) while it lasts and when it has ended, and
//!   the run's [`Keeper`] takes it away. A repository that a run makes stays, without what would run programs in it.
//! - *Refuse*: an empty directory is made in the workspace, to lay a mount over, and removed after the run: git does not see empty
//!   directories, `rmdir` can never remove anything of the user's, and no shell, editor or git runs a directory. Two runs in one
//!   workspace share them (a lock says who is last). `Guard` owns them.
//!
//! What this cannot do: where the host itself replaces such a file (`git config`) during a run, the new file is not
//! covered until the next run; it is reported.

mod baseline;
mod find;
mod fold;
mod gitconfig;
#[cfg(wall)]
mod guard;
mod judge;
#[cfg(wall)]
mod lock;
#[cfg(wall)]
mod makers;
mod names;
mod placeholder;
mod planted;
mod repository;
mod submodules;
mod table;
mod watch;

pub use baseline::recover;
pub use fold::{is_protected_name, is_repository_name};
pub use gitconfig::{GIT_KEYS, GitKeys};
#[cfg(wall)]
pub(crate) use guard::{Guard, Looking};
pub use judge::protected_name;
pub use planted::{Keeper, Moment, Planted, Remedy};
pub use repository::is_harmless_repository;
#[doc(hidden)]
pub use submodules::submodules_of_index;
pub use table::{NAMES as PROTECTED_NAMES, ProtectedName};

use std::path::PathBuf;

/// How a name is covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cover {
    /// Read-only, with all beneath.
    ReadOnly,
    /// Writable, but it stays where it is: what is protected lies beneath.
    Pinned,
    /// Read-only and empty: it was not there.
    Placeholder,
}

/// A name to cover, in the order of mounting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Covered {
    pub(crate) path: PathBuf,
    pub(crate) cover: Cover,
}
