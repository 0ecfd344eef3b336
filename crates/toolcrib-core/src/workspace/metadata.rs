//! What tools show of a file: [`Metadata`].

use jiff::Timestamp;
use rustix::fs::{FileType, Stat};

/// What kind of thing has a name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A FIFO, a socket or a device.
    Other,
}

impl EntryKind {
    /// The word in results (S2).
    pub fn as_str(self) -> &'static str {
        match self {
            EntryKind::File => "file",
            EntryKind::Directory => "directory",
            EntryKind::Symlink => "symlink",
            EntryKind::Other => "other",
        }
    }
}

/// What tools show of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metadata {
    /// What it is.
    pub kind: EntryKind,
    /// Its size in bytes.
    pub size: u64,
    /// When its content last changed.
    pub modified: Timestamp,
}

impl Metadata {
    #[doc(hidden)]
    pub fn of(stat: &Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Directory,
            FileType::Symlink => EntryKind::Symlink,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => EntryKind::Other,
        };
        let nanoseconds = i32::try_from(stat.st_mtime_nsec).unwrap_or(0);
        // File systems can hold years that calendars cannot.
        let modified = Timestamp::new(stat.st_mtime, nanoseconds).unwrap_or(if stat.st_mtime < 0 {
            Timestamp::MIN
        } else {
            Timestamp::MAX
        });
        Metadata {
            kind,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified,
        }
    }
}
