//! Files that are written as things come: [`Workspace::new_log`].

use std::fs::File;

use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;

use super::open_name::MissingDirs;
use super::write::not_replaceable;
use super::{Workspace, WorkspacePath};
use crate::model::error::ToolError;

/// How often someone may put a file in the way of a new one before it is an error.
const TRIES: u32 = 8;

impl Workspace {
    /// Makes an empty file to write to piece by piece. It takes the place of a file of that name, which is removed and never
    /// written to: it may have another name, outside of the workspace. Missing directories are made; a protected name, and
    /// whatever is not a file, is refused.
    #[doc(hidden)]
    pub fn new_log(&self, path: &WorkspacePath) -> Result<File, ToolError> {
        let spot = self.spot_to_write(path, MissingDirs::Make)?;
        let flags = OFlags::WRONLY
            | OFlags::APPEND
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::CLOEXEC;
        for _ in 0..TRIES {
            match openat(&spot.dir, &spot.name, flags, Mode::from_raw_mode(0o666)) {
                Err(Errno::EXIST) => {}
                made => {
                    return made
                        .map(File::from)
                        .map_err(|errno| path.fault("write", errno));
                }
            }
            spot.old_file()
                .map_err(|error| not_replaceable(path, error))?;
            match unlinkat(&spot.dir, &spot.name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(path.fault("write", errno)),
            }
        }
        Err(path.fault("write", Errno::AGAIN))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::model::error::ErrorCode;

    fn new_log(root: &std::path::Path, name: &str) -> Result<File, ToolError> {
        let workspace = Workspace::open(root).unwrap();
        workspace.new_log(&workspace.path(name)?)
    }

    #[test]
    fn a_log_takes_the_place_of_a_file_and_leaves_its_other_names_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (log, other) = (dir.path().join("a.log"), dir.path().join("other"));
        std::fs::write(&other, "kept").unwrap();
        std::fs::hard_link(&other, &log).unwrap();
        let mut file = new_log(dir.path(), "a.log").unwrap();
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "");
        file.write_all(b"one ").unwrap();
        file.write_all(b"two").unwrap();
        assert_eq!(std::fs::read_to_string(&log).unwrap(), "one two");
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "kept");
    }

    #[test]
    fn missing_directories_are_made() {
        let dir = tempfile::tempdir().unwrap();
        new_log(dir.path(), "logs/today/a.log").unwrap();
        assert!(dir.path().join("logs/today/a.log").exists());
    }

    #[test]
    fn input_that_is_not_a_file_and_what_is_protected_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("a/.git/hooks")).unwrap();
        std::os::unix::fs::symlink(outside.path(), dir.path().join("out")).unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, Mode::RWXU).unwrap();
        let code = |name: &str| new_log(dir.path(), name).unwrap_err().code();
        assert_eq!(code("a"), ErrorCode::InvalidPath);
        assert_eq!(code("fifo"), ErrorCode::InvalidPath);
        assert_eq!(code("out/a.log"), ErrorCode::InvalidPath);
        assert_eq!(code("../a.log"), ErrorCode::InvalidPath);
        assert_eq!(code(".git/hooks/pre-commit"), ErrorCode::PermissionDenied);
        assert_eq!(code(".toolcrib/tools/x.yaml"), ErrorCode::PermissionDenied);
    }
}
