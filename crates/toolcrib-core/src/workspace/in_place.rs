//! [`InPlace`]: a file that something else opens by itself, such as a database that is written where it is.
//!
//! It is named by its open directory and its last name, links followed: opening it there must not follow another one. Other files come to lie
//! beside it, so a place in which names are protected is refused, for reading too.

use std::ffi::{OsStr, OsString};

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, statat, unlinkat};
use rustix::io::Errno;

use super::open_name::{MissingDirs, OpenName};
use super::system::file_id;
use super::{EntryKind, Metadata, Workspace, WorkspacePath, wrong_kind};
use crate::model::error::{ErrorCode, ToolError};

/// A file, or the place for one, in an open directory.
#[derive(Debug)]
#[doc(hidden)]
pub struct InPlace {
    directory: OwnedFd,
    name: OsString,
    /// Device and inode of what was there.
    found: Option<(u64, u64)>,
}

impl Workspace {
    /// Finds a regular file, or the place for one, without opening it: closing a file drops the locks that this process has on it.
    #[doc(hidden)]
    pub fn in_place(&self, path: &WorkspacePath) -> Result<InPlace, ToolError> {
        let missing = match self.metadata(path) {
            Ok(_) => None,
            Err(error) if error.code() == ErrorCode::FileNotFound => Some(error),
            Err(error) => return Err(error),
        };
        let spot = match (self.follow_to_write(path, MissingDirs::Refuse), missing) {
            (Ok(spot), _) => spot,
            (Err(_), Some(missing)) => return Err(missing),
            (Err(error), None) => return Err(error),
        };
        self.check_place(&spot, path, "open")?;
        let OpenName { dir, name, .. } = &spot;
        let found = match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => match Metadata::of(&stat).kind {
                EntryKind::File => Some(file_id(&stat)),
                EntryKind::Directory => return Err(wrong_kind(path, "it is a directory")),
                EntryKind::Symlink => return Err(path.fault("open", Errno::AGAIN)),
                EntryKind::Other => {
                    return Err(wrong_kind(
                        path,
                        "it is a FIFO, a socket or a device, not a file",
                    ));
                }
            },
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(path.fault("open", errno)),
        };
        Ok(InPlace {
            directory: spot.dir,
            name: spot.name,
            found,
        })
    }
}

impl InPlace {
    /// Which file was there: device and inode.
    #[doc(hidden)]
    pub fn found(&self) -> Option<(u64, u64)> {
        self.found
    }

    /// Which file is there now.
    #[doc(hidden)]
    pub fn now(&self) -> Option<(u64, u64)> {
        let stat = statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(file_id(&stat))
    }

    /// The open directory, once more.
    #[doc(hidden)]
    pub fn directory(&self) -> std::io::Result<OwnedFd> {
        self.directory.try_clone()
    }

    /// The name in it.
    #[doc(hidden)]
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Removes a file that was not there before, if it is still empty.
    #[doc(hidden)]
    pub fn remove_if_empty_and_new(&self) {
        let stat = statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        if self.found.is_none()
            && let Ok(stat) = stat
            && Metadata::of(&stat).kind == EntryKind::File
            && stat.st_size == 0
        {
            // What cannot be removed stays, and is empty.
            let _ = unlinkat(&self.directory, &self.name, AtFlags::empty());
        }
    }
}
