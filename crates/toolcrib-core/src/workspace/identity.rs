//! [`Identity`]: which file it was, so that what was approved is what is changed.

use std::fs::File;
use std::io::Read as _;

use rustix::fs::{Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::open_name::OpenName;
use super::system::file_id;
use super::{EntryKind, Metadata};
use crate::model::limits::MB;

/// Distinguishes a file from a replacement, and its content from a later one.
///
/// Content is identified by a digest up to [`Old::MAX_READ`]; of larger files their start, and size and
/// times, which say whether the rest was written to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    device: u64,
    inode: u64,
    kind: String,
    size: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
    changed: (i64, i64),
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

impl Identity {
    pub(super) fn of(stat: &Stat) -> Self {
        let nanoseconds = |value| i64::try_from(value).unwrap_or(0);
        let (device, inode) = file_id(stat);
        Identity {
            device,
            inode,
            kind: Metadata::of(stat).kind.as_str().to_owned(),
            size: Metadata::of(stat).size,
            modified: (stat.st_mtime, nanoseconds(stat.st_mtime_nsec)),
            changed: (stat.st_ctime, nanoseconds(stat.st_ctime_nsec)),
            sha256: None,
        }
    }

    pub(super) fn with_digest(mut self, digest: impl AsRef<[u8]>) -> Self {
        self.sha256 = Some(crate::model::names::hex(digest.as_ref()));
        self
    }

    /// Whether this is the same file, as far as can be determined without reading it.
    pub(super) fn looks_like(&self, stat: &Stat) -> bool {
        let seen = Identity {
            sha256: self.sha256.clone(),
            ..Identity::of(stat)
        };
        *self == seen
    }

    /// Whether this is the same file under another name, with the same content as far as its size and times show: renaming
    /// changes the time of its last change, and nothing else that counts here.
    pub(super) fn is_renamed_to(&self, stat: &Stat) -> bool {
        let seen = Identity {
            sha256: self.sha256.clone(),
            changed: self.changed,
            ..Identity::of(stat)
        };
        *self == seen
    }

    /// Whether this is the same file under a name that may have changed: renaming changes its times.
    pub(super) fn is_moved_from(&self, stat: &Stat) -> bool {
        (self.device, self.inode) == file_id(stat)
    }
}

/// A file that is to be replaced.
#[derive(Debug)]
pub struct Old {
    /// Which file it is.
    pub identity: Identity,
    /// Its size in bytes.
    pub size: u64,
    /// All of it, unless it is longer than [`MAX_READ`](Self::MAX_READ) or cannot be read.
    pub content: Option<Vec<u8>>,
    pub(super) stat: Stat,
    /// Open for reading, if that is allowed.
    pub(super) file: Option<File>,
}

impl Old {
    /// How much of a file is read to tell it from another, and to show what changes.
    pub const MAX_READ: u64 = MB;
}

impl OpenName {
    /// Looks at the regular file there; `None` if there is nothing, and an error word for what is
    /// something else.
    pub(super) fn old_file(&self) -> Result<Option<Old>, NotReplaceable> {
        let Some(stat) = self.look()? else {
            return Ok(None);
        };
        match Metadata::of(&stat).kind {
            EntryKind::File => {}
            EntryKind::Directory => return Err(NotReplaceable::Directory),
            // The caller has followed links; this link is new.
            EntryKind::Symlink => return Err(NotReplaceable::Errno(Errno::AGAIN)),
            EntryKind::Other => return Err(NotReplaceable::Other),
        }
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = match openat(&self.dir, &self.name, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            // It can be replaced all the same: that takes rights on the directory.
            Err(Errno::ACCESS) => return Ok(Some(Old::unread(stat))),
            Err(errno) => return Err(errno.into()),
        };
        let opened = fstat(&file)?;
        if Metadata::of(&opened).kind != EntryKind::File {
            return Err(NotReplaceable::Errno(Errno::AGAIN));
        }
        Ok(Some(Old::read(file, opened)?))
    }
}

impl Old {
    fn unread(stat: Stat) -> Self {
        Old {
            identity: Identity::of(&stat),
            size: Metadata::of(&stat).size,
            content: None,
            stat,
            file: None,
        }
    }

    fn read(mut file: File, stat: Stat) -> Result<Self, Errno> {
        let mut content = Vec::new();
        (&mut file)
            .take(Self::MAX_READ)
            .read_to_end(&mut content)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let unread = Old::unread(stat);
        Ok(Old {
            identity: unread.identity.with_digest(Sha256::digest(&content)),
            content: (unread.size <= Self::MAX_READ).then_some(content),
            file: Some(file),
            ..unread
        })
    }
}

/// Why there is no file to replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotReplaceable {
    Directory,
    /// A FIFO, a socket or a device.
    Other,
    Errno(Errno),
}

impl From<Errno> for NotReplaceable {
    fn from(errno: Errno) -> Self {
        NotReplaceable::Errno(errno)
    }
}
