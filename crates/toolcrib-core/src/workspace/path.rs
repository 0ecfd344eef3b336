//! [`WorkspacePath`]: the text of a path argument, and what goes wrong with it.

use std::fmt;
use std::path::Path;

use rustix::io::Errno;

use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;

/// A path relative to the workspace, as the caller wrote it: not empty, no NUL, at most
/// [`MAX_BYTES`](Self::MAX_BYTES). Made by [`Workspace::path`](super::Workspace::path); where it leads shows when it is
/// opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspacePath(String);

impl WorkspacePath {
    /// The longest path, as on Linux.
    pub const MAX_BYTES: usize = 4096;

    /// Reads the text of a path; an absolute one must be beneath one of the `roots`, which are
    /// different spellings of the same directory.
    pub(super) fn parse(text: &str, roots: &[&Path]) -> Result<Self, ToolError> {
        let invalid = |message| Err(ToolError::new(ErrorCode::InvalidPath, message));
        if text.is_empty() {
            return invalid("the path is empty; use `.` for the workspace itself");
        }
        if text.len() > Self::MAX_BYTES {
            return invalid("the path is longer than 4096 bytes; no file can be reached by it");
        }
        if text.contains('\0') {
            return invalid("the path holds a NUL character; give a path without it");
        }
        if !text.starts_with('/') {
            return Ok(WorkspacePath(text.to_owned()));
        }
        match roots.iter().find_map(|root| strip_root(text, root)) {
            Some(relative) => Ok(WorkspacePath(relative)),
            // The host's directories are private, so the path is not repeated.
            None => invalid(
                "the absolute path is not beneath the workspace; give a path relative to it",
            ),
        }
    }

    /// The path as the caller wrote it, relative.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A path without its last name, and that name. Slashes at the end do not count.
    pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
        let end = path.iter().rposition(|byte| *byte != b'/');
        let path = &path[..end.map_or(0, |last| last + 1)];
        match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&path[..=slash], &path[slash + 1..]),
            None => (b".", path),
        }
    }

    /// What an error of the system means for a caller who wanted to `verb` this path. The one
    /// place where error numbers become codes.
    ///
    /// `ENOTDIR` is `FILE_NOT_FOUND`: beneath a file there is nothing, as beneath a missing
    /// directory.
    #[doc(hidden)]
    pub fn fault(&self, verb: &str, errno: Errno) -> ToolError {
        let (code, why) = match errno {
            Errno::NOENT if self.0.starts_with('~') => (
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

/// The path fit for a message: control characters shown, long ones shortened.
impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::shorten(&self.0, 256))
    }
}

/// The rest of an absolute path after the root, name by name: `/ws-evil` is not beneath `/ws`.
fn strip_root(text: &str, root: &Path) -> Option<String> {
    let rest = Path::new(text).strip_prefix(root).ok()?.to_str()?;
    Some(match rest {
        "" => ".".to_owned(),
        // `strip_prefix` drops the last slash, which says that a directory is meant.
        rest if text.ends_with('/') => format!("{rest}/"),
        rest => rest.to_owned(),
    })
}
