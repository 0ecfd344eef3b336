//! What the system says about files, in the words of the workspace: its errors, and what `stat` fills in.

use jiff::Timestamp;
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use super::{EntryKind, Metadata, WorkspacePath};
use crate::model::error::{ErrorCode, ToolError};

impl WorkspacePath {
    /// What an error of the system means for a caller who wanted to `verb` this path. The one
    /// place where error numbers become codes.
    ///
    /// `ENOTDIR` is `FILE_NOT_FOUND`: beneath a file there is nothing, as beneath a missing
    /// directory.
    #[doc(hidden)]
    pub fn fault(&self, verb: &str, errno: Errno) -> ToolError {
        let (code, why) = match errno {
            Errno::NOENT if self.as_str().starts_with('~') => (
                ErrorCode::FileNotFound,
                "there is no such file or directory; `~` is taken literally, give a path in the workspace",
            ),
            Errno::NOENT => (
                ErrorCode::FileNotFound,
                "there is no such file or directory; list the directory to see what is there",
            ),
            Errno::NOTDIR => (
                ErrorCode::FileNotFound,
                "a part of the path is not a directory; list the directory to see what is there",
            ),
            Errno::ACCESS | Errno::PERM => (ErrorCode::PermissionDenied, "permission denied"),
            Errno::XDEV => (
                ErrorCode::InvalidPath,
                "it leads outside the workspace, by `..` or an absolute link; give a path inside",
            ),
            Errno::LOOP => (
                ErrorCode::InvalidPath,
                "its symbolic links go in a circle, or are too many",
            ),
            Errno::NAMETOOLONG => (
                ErrorCode::InvalidPath,
                "the path or a name in it is too long",
            ),
            Errno::INVAL => (
                ErrorCode::InvalidPath,
                "the file system does not accept this name",
            ),
            Errno::EXIST => (
                ErrorCode::FileExists,
                "there is something of that name already; choose another name or overwrite on purpose",
            ),
            Errno::ISDIR => (ErrorCode::InvalidPath, "it is a directory; name a file"),
            Errno::NOSPC => (
                ErrorCode::ExecutionError,
                "the disk is full; free some space and try again",
            ),
            Errno::DQUOT => (
                ErrorCode::ExecutionError,
                "the disk quota is used up; free some space and try again",
            ),
            Errno::FBIG => (
                ErrorCode::FileTooLarge,
                "the file would be larger than the file system or a limit of the process allows",
            ),
            Errno::ROFS => (ErrorCode::PermissionDenied, "the file system is read-only"),
            Errno::NOTEMPTY => (
                ErrorCode::ExecutionError,
                "something was put into the directory meanwhile; look at it and try again",
            ),
            Errno::BUSY => (
                ErrorCode::ExecutionError,
                "the system is using it, for example as a mount point",
            ),
            // What opening a socket, or a device no one serves, comes to.
            Errno::NXIO | Errno::NODEV => (
                ErrorCode::InvalidPath,
                "it is a socket or a device, not a file",
            ),
            Errno::AGAIN => (
                ErrorCode::ExecutionError,
                "it changes all the time; try again",
            ),
            Errno::MFILE | Errno::NFILE => (
                ErrorCode::ExecutionError,
                "too many files are open; try again",
            ),
            Errno::IO => (
                ErrorCode::ExecutionError,
                "the disk reports an input/output error",
            ),
            // Numbers are many and systems add to them; their own words are the best there are.
            other => {
                return ToolError::failed(format!("cannot {verb} `{self}`: {other}"))
                    .caused_by(other);
            }
        };
        ToolError::new(code, format!("cannot {verb} `{self}`: {why}")).caused_by(errno)
    }
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
