//! What can go wrong with Toolcrib's own files: [`StorageError`].

use std::borrow::Cow;
use std::io;

use rustix::io::Errno;

use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;

use super::format::{FORMAT, HomeFormat};

/// Why a file or directory of Toolcrib's home could not be read or written.
///
/// The text names files by their last component only: it may go to a caller who need not know
/// where on this machine the home is.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The name is not one a file of ours can have.
    #[error("`{}` cannot be the name of a file: {why}", text::shorten(name, 64))]
    Name {
        /// The name.
        name: String,
        /// The problem.
        why: &'static str,
    },
    /// There is something already where a new file was to be made.
    #[error(
        "cannot create `{name}`: it exists already; choose another name or overwrite on purpose"
    )]
    Exists {
        /// The file.
        name: String,
    },
    /// What should be a file is something else.
    #[error("cannot use `{name}`: it is not a regular file; move it out of Toolcrib's home")]
    NotAFile {
        /// The link, directory or device.
        name: String,
    },
    /// The file is over the limit of what is asked of it.
    #[error(
        "cannot read `{name}`: it is over the {limit} byte limit; move it out of Toolcrib's home"
    )]
    TooLarge {
        /// The file.
        name: String,
        /// The most it may have.
        limit: u64,
    },
    /// A newer version has changed the home.
    #[error(
        "this home has format {}, written by {}, and this version knows formats up to {FORMAT}; use the newer version, or another home (`--home`)",
        .0.format, .0.written_by
    )]
    NewerHome(HomeFormat),
    /// The operating system refused.
    #[error("cannot {doing} `{name}`: {}", advice(cause))]
    Io {
        /// What was being done: a verb that is before the name.
        doing: &'static str,
        /// The file or directory.
        name: String,
        /// What the system said.
        #[source]
        cause: io::Error,
    },
}

impl StorageError {
    /// What went wrong, without what was being done to which file.
    #[doc(hidden)]
    pub fn why(&self) -> String {
        match self {
            StorageError::Io { cause, .. } => advice(cause).into_owned(),
            other => other.to_string(),
        }
    }

    /// Whether the system lacked something that it will have again: nothing is wrong with the file.
    #[doc(hidden)]
    pub fn is_want(&self) -> bool {
        let StorageError::Io { cause, .. } = self else {
            return false;
        };
        matches!(
            Errno::from_io_error(cause),
            Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::INTR | Errno::AGAIN)
        )
    }

    /// Whether there is something else where a directory was to be opened.
    #[doc(hidden)]
    pub fn is_not_a_directory(&self) -> bool {
        let StorageError::Io { cause, .. } = self else {
            return false;
        };
        cause.kind() == io::ErrorKind::NotADirectory
            || Errno::from_io_error(cause) == Some(Errno::LOOP)
    }

    /// Whether what is there can never be read as it is. Anything else may be temporary: the file is not set aside for it.
    #[doc(hidden)]
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            StorageError::NotAFile { .. } | StorageError::TooLarge { .. }
        )
    }

    #[doc(hidden)]
    pub fn io(doing: &'static str, name: &str, cause: impl Into<io::Error>) -> Self {
        StorageError::Io {
            doing,
            name: name.to_owned(),
            cause: cause.into(),
        }
    }
}

/// Says what an error of the system means here and what to try.
fn advice(cause: &io::Error) -> Cow<'static, str> {
    let advice = match Errno::from_io_error(cause) {
        Some(Errno::NOSPC) => "the disk is full; free some space and try again",
        Some(Errno::DQUOT) => "the disk quota is used up; free some space and try again",
        Some(Errno::ROFS) => {
            "the file system is read-only; make it writable or set TOOLCRIB_HOME to another directory"
        }
        Some(Errno::ACCESS | Errno::PERM) => {
            "permission denied; check owner and mode of Toolcrib's home"
        }
        Some(Errno::MFILE | Errno::NFILE) => {
            "too many files are open; close some or raise `ulimit -n`"
        }
        Some(Errno::IO) => "the disk reports an input/output error; check the disk, then try again",
        Some(Errno::NOENT) => "it is gone; it was removed or moved in the meantime",
        _ => return cause.to_string().into(),
    };
    advice.into()
}

impl From<StorageError> for ToolError {
    fn from(error: StorageError) -> Self {
        let refused = ToolError::new(ErrorCode::StorageError, error.to_string());
        let refused = match &error {
            StorageError::NewerHome(found) => refused
                .with_detail("reason", "newer-home")
                .with_detail("format", found.format)
                .with_detail("writtenBy", found.written_by.clone())
                .with_detail("known", FORMAT),
            StorageError::Name { .. }
            | StorageError::Exists { .. }
            | StorageError::NotAFile { .. }
            | StorageError::TooLarge { .. }
            | StorageError::Io { .. } => refused,
        };
        refused.caused_by(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_says_what_to_try() {
        for (errno, expected) in [
            (
                Errno::NOSPC,
                "cannot write `x.json`: the disk is full; free some space and try again",
            ),
            (
                Errno::ROFS,
                "cannot write `x.json`: the file system is read-only; make it writable or set TOOLCRIB_HOME to another directory",
            ),
            (
                Errno::NAMETOOLONG,
                "cannot write `x.json`: File name too long (os error 36)",
            ),
        ] {
            let error = ToolError::from(StorageError::io("write", "x.json", errno));
            assert_eq!(
                (error.code(), error.message()),
                (ErrorCode::StorageError, expected)
            );
        }
    }
}
