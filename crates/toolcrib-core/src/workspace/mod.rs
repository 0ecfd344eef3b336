//! The workspace: the only directory tree that file tools may touch, and the only way to open a
//! path in it.
//!
//! A path is text until [`Workspace::path`] has looked at it; a [`WorkspacePath`] is text until it
//! is opened. Where it leads is decided by the open itself (`beneath.rs`), never by comparing
//! texts before, so nothing that happens in the tree meanwhile can lead out of it.
//!
//! Changing files works alike: the directory of the last name is opened, and everything after that is
//! done in this open directory (`open_name.rs`). What an approval was about is checked again by its
//! [`Identity`]. Names that other programs run, such as `.git/hooks`, are out of reach.
//!
//! What this does *not* keep out, because it is inside as far as the file system can tell:
//!
//! - a hard link in the workspace to a file that also has a name outside: it is read (written it never is: a new
//!   file takes its name);
//! - other file systems and bind mounts beneath the root: they are entered;
//! - what processes outside Toolcrib do to the tree, such as moving a directory out of it while
//!   it is being read.
//!
//! Opening a FIFO or a device to see that it is not a file has the side effects of opening it for
//! reading (a waiting writer wakes up). Names that are not UTF-8 can be listed, not opened:
//! arguments are JSON text.

mod beneath;
mod changes;
mod error;
mod from_system;
mod identity;
mod in_place;
mod in_use;
mod log;
mod metadata;
mod open_name;
mod own_data;
mod path;
mod remove;
mod rename;
mod runnable;
#[cfg_attr(target_os = "macos", path = "system_macos.rs")]
mod system;
mod tree;
mod walk_opening;
mod write;

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

pub use changes::FileChange;
pub use error::WorkspaceError;
pub use identity::{Identity, Old};
pub use in_place::InPlace;
pub use in_use::InUse;
pub use metadata::{EntryKind, Metadata};
pub use open_name::MissingDirs;
pub(crate) use own_data::OwnData;
pub use path::WorkspacePath;
pub(crate) use path::without_parents;
pub use remove::{MAX_COUNTED, Removable, Tally, Watch};
pub use rename::{Movable, Move};
pub use runnable::Runnable;
pub(crate) use runnable::{Stamp, stamp_of};
pub use walk_opening::as_written;
pub use write::Replaces;

use crate::model::error::{ErrorCode, ToolError};
use beneath::{Links, Resolver};
#[doc(hidden)]
pub use system::{PLACE, RawDir, file_id, make_node, open_beneath, set_mode};

/// A directory tree, held open, in which paths are resolved without ever leaving it.
pub struct Workspace {
    root: OwnedFd,
    resolver: Resolver,
    /// As the operator wrote it, made absolute, and without links: callers know it by either.
    given: PathBuf,
    canonical: PathBuf,
    /// Toolcrib's own data, if it lies in here: relative, without links.
    own: Option<PathBuf>,
    /// Toolcrib's own data, wherever it lies.
    home: Option<OwnData>,
}

impl Workspace {
    /// Opens a directory as a workspace.
    pub fn open(root: &Path) -> Result<Self, WorkspaceError> {
        Self::open_resolved_by(root, None)
    }

    /// Opens a workspace that resolves paths as on a kernel without `openat2`.
    #[doc(hidden)]
    #[cfg(any(test, feature = "testing"))]
    pub fn open_without_openat2(root: &Path) -> Result<Self, WorkspaceError> {
        Self::open_resolved_by(root, Some(Resolver::ByHand))
    }

    fn open_resolved_by(root: &Path, resolver: Option<Resolver>) -> Result<Self, WorkspaceError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => WorkspaceError::Missing {
                root: root.to_owned(),
            },
            io::ErrorKind::NotADirectory => WorkspaceError::NotADirectory {
                root: root.to_owned(),
            },
            _ => WorkspaceError::Unusable {
                root: root.to_owned(),
                source,
            },
        };
        let flags = PLACE | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = openat(CWD, root, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        Ok(Workspace {
            resolver: resolver.unwrap_or_else(|| Resolver::detect(fd.as_fd())),
            root: fd,
            given: std::path::absolute(root).map_err(failed)?,
            canonical: root.canonicalize().map_err(failed)?,
            own: None,
            home: None,
        })
    }

    /// Keeps tools from Toolcrib's own data, whether it lies in the workspace or elsewhere: they neither read nor change it.
    #[must_use]
    #[doc(hidden)]
    pub fn without(mut self, home: &Path) -> Self {
        let home = OwnData::of(home);
        let inside = home.path().strip_prefix(&self.canonical).ok();
        self.own = inside.map(Path::to_owned);
        self.home = Some(home);
        self
    }

    /// Where Toolcrib keeps its own data, if someone said so.
    #[doc(hidden)]
    pub fn home(&self) -> Option<&OwnData> {
        self.home.as_ref()
    }

    /// Where Toolcrib's own data is on the host, if it lies in the workspace.
    #[doc(hidden)]
    pub fn own_data(&self) -> Option<PathBuf> {
        self.own.as_ref().map(|own| self.canonical.join(own))
    }

    /// Where the workspace is on the host. For configuration and rules; results and messages of
    /// tools never show it.
    #[doc(hidden)]
    pub fn root(&self) -> &Path {
        &self.canonical
    }

    /// Whether the kernel resolves paths (`openat2`), or this crate does it step by step.
    pub fn uses_openat2(&self) -> bool {
        self.resolver == Resolver::Kernel
    }

    /// Reads the text of a path argument: relative to the workspace, or absolute and beneath it.
    ///
    /// The text is taken literally: no `~`, no percent-encoding, no environment variables. `..`
    /// stays in and is resolved when the path is opened.
    pub fn path(&self, text: &str) -> Result<WorkspacePath, ToolError> {
        WorkspacePath::parse(text, &[&self.canonical, &self.given])
    }

    /// Opens a regular file for reading. Never waits: a FIFO, a socket or a device is an error.
    pub fn open_file(&self, path: &WorkspacePath) -> Result<(File, Metadata), ToolError> {
        self.open_file_for(path, Reader::Tool)
    }

    /// As [`open_file`](Self::open_file), for a file of the project that Toolcrib itself goes by: someone's home may be the
    /// very directory that projects keep such files in.
    #[doc(hidden)]
    pub fn open_project_file(&self, path: &WorkspacePath) -> Result<(File, Metadata), ToolError> {
        self.open_file_for(path, Reader::Toolcrib)
    }

    fn open_file_for(
        &self,
        path: &WorkspacePath,
        reader: Reader,
    ) -> Result<(File, Metadata), ToolError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = self.open_beneath(path, flags, reader)?;
        let stat = fstat(&fd).map_err(|errno| path.fault("open", errno))?;
        let what = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => return Ok((File::from(fd), Metadata::of(&stat))),
            FileType::Directory => "it is a directory; list it with list_directory",
            FileType::Fifo => "it is a FIFO, not a file",
            FileType::Socket => "it is a socket, not a file",
            FileType::CharacterDevice | FileType::BlockDevice => "it is a device, not a file",
            FileType::Symlink | FileType::Unknown => "it is not a file",
        };
        Err(wrong_kind(path, what))
    }

    /// Opens a directory for listing.
    pub fn open_dir(&self, path: &WorkspacePath) -> Result<OwnedFd, ToolError> {
        self.open_dir_for(path, Reader::Tool)
    }

    /// As [`open_dir`](Self::open_dir), for what of a project Toolcrib itself goes by.
    #[doc(hidden)]
    pub fn open_project_dir(&self, path: &WorkspacePath) -> Result<OwnedFd, ToolError> {
        self.open_dir_for(path, Reader::Toolcrib)
    }

    fn open_dir_for(&self, path: &WorkspacePath, reader: Reader) -> Result<OwnedFd, ToolError> {
        self.open_beneath(path, OPEN_DIR, reader).map_err(|error| {
            // Only the words depend on this second look.
            match self.metadata(path).map(|metadata| metadata.kind) {
                Ok(EntryKind::File) => wrong_kind(path, "it is a file; read it with read_file"),
                Ok(EntryKind::Other) => wrong_kind(path, "it is not a directory"),
                Ok(EntryKind::Directory | EntryKind::Symlink) | Err(_) => error,
            }
        })
    }

    /// Opens a directory beneath one that is open already. No link is followed, so what a listing
    /// found as a directory is never entered as something else.
    #[doc(hidden)]
    pub fn open_dir_below(&self, dir: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
        self.resolver.open(dir, path, OPEN_DIR, Links::Refuse)
    }

    /// Opens the directory that holds, or would hold, the last name of the path, and returns that
    /// name: what creating, renaming and deleting work on. The last name itself is not looked at;
    /// it may be missing, or a link to anywhere.
    pub fn open_parent(&self, path: &WorkspacePath) -> Result<(OwnedFd, OsString), ToolError> {
        let trimmed = path.as_str().trim_end_matches('/');
        let (parent, name) = trimmed.rsplit_once('/').unwrap_or((".", trimmed));
        if matches!(name, "" | "." | "..") {
            let message = format!(
                "the path `{path}` does not end in a name; name a file or directory in the workspace"
            );
            return Err(ToolError::new(ErrorCode::InvalidPath, message));
        }
        let flags = PLACE | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = self
            .resolver
            .open(self.root.as_fd(), parent.as_bytes(), flags, Links::Follow)
            .map_err(|errno| path.fault("open the directory of", errno))?;
        Ok((fd, name.into()))
    }

    /// Where a directory is on the host, links followed: for starting programs in it.
    #[doc(hidden)]
    pub fn host_directory(&self, path: &WorkspacePath) -> Result<PathBuf, ToolError> {
        let fd = self.open_dir(path)?;
        open_name::real_path(fd.as_fd())
    }

    /// Looks at what the path leads to, links followed.
    pub fn metadata(&self, path: &WorkspacePath) -> Result<Metadata, ToolError> {
        let flags = PLACE | OFlags::CLOEXEC;
        let fd = self.open_beneath(path, flags, Reader::Tool)?;
        let stat = fstat(&fd).map_err(|errno| path.fault("look at", errno))?;
        Ok(Metadata::of(&stat))
    }

    fn open_beneath(
        &self,
        path: &WorkspacePath,
        flags: OFlags,
        reader: Reader,
    ) -> Result<OwnedFd, ToolError> {
        let fd = self
            .resolver
            .open(
                self.root.as_fd(),
                path.as_str().as_bytes(),
                flags,
                Links::Follow,
            )
            .map_err(|errno| path.fault("open", errno))?;
        self.check_not_own_data(fd.as_fd(), path, reader)?;
        Ok(fd)
    }
}

/// For whom something is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// A tool, which does not see Toolcrib's own data.
    Tool,
    /// Toolcrib: a name that lies in its own data as it is written is meant.
    Toolcrib,
}

const OPEN_DIR: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

fn wrong_kind(path: &WorkspacePath, what: &str) -> ToolError {
    ToolError::new(
        ErrorCode::InvalidPath,
        format!("cannot open `{path}`: {what}"),
    )
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace")
            .field("root", &self.root())
            .field("resolver", &self.resolver)
            .finish()
    }
}

#[cfg(test)]
mod tests;
