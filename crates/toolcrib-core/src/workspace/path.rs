//! [`WorkspacePath`]: the text of a path argument.

use std::fmt;
use std::path::{Component, Path, PathBuf};

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
}

/// The path fit for a message: control characters shown, long ones shortened.
impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::shorten(&self.0, 256))
    }
}

/// A path without `..`, as its text has it, whatever links lead elsewhere.
pub(crate) fn without_parents(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
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
