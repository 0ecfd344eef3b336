//! Why a directory cannot be the workspace: [`WorkspaceError`].

use std::io;
use std::path::PathBuf;

/// Why a directory cannot be the workspace. For the operator, who named it.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// Nothing is there.
    #[error("the workspace `{}` does not exist; create it or name another directory", .root.display())]
    Missing {
        /// The directory as given.
        root: PathBuf,
    },
    /// Something else is there.
    #[error("the workspace `{}` is not a directory; name a directory", .root.display())]
    NotADirectory {
        /// The directory as given.
        root: PathBuf,
    },
    /// It cannot be opened.
    #[error("the workspace `{}` cannot be opened", .root.display())]
    Unusable {
        /// The directory as given.
        root: PathBuf,
        /// Why not.
        source: io::Error,
    },
}
