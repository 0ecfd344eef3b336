//! Notes which branch a branch follows, in `.git/config`: the one thing about git that is not left to git.
//!
//! Programs behind the wall cannot write that file, since it names programs that run outside of it. So the section is appended here,
//! made of two names that were read before, with git's own lock file, in the workspace. A person was informed of that before.

use std::fs::File;
use std::io::{Read as _, Write as _};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use super::repository::Repository;
use crate::model::error::{ErrorCode, ToolError};
use crate::workspace::Workspace;

/// The longest file of settings.
const MAX_BYTES: u64 = 1 << 20;

/// Notes that a branch follows the one of the same name of a remote. Blocks.
pub(super) fn set(
    workspace: &Workspace,
    repository: &Repository,
    remote: &str,
    branch: &str,
) -> Result<(), ToolError> {
    let failed = |error: std::io::Error| {
        ToolError::failed("`.git/config` cannot be written").caused_by(error)
    };
    let place = repository.common_dir.join("config");
    let path = place.strip_prefix(workspace.root()).ok();
    let path = path.and_then(|path| path.to_str());
    let path =
        path.ok_or_else(|| ToolError::failed("`.git/config` has a name that is not a text"))?;
    let path = workspace.path(path)?;
    let (directory, name) = workspace.open_parent(&path)?;
    let stat = rustix::fs::statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|error| failed(error.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(ToolError::failed("`.git/config` is not a regular file"));
    }
    let open = |name: &std::ffi::OsStr, flags: OFlags, mode: Mode| {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        rustix::fs::openat(&directory, name, flags, mode).map(File::from)
    };
    let lock = std::ffi::OsStr::new("config.lock");
    let mode = Mode::from_raw_mode(stat.st_mode & 0o777);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    let mut new = match open(lock, flags, mode) {
        Ok(file) => file,
        Err(rustix::io::Errno::EXIST) => {
            let message = "another git is changing `.git/config`; try again, or remove `.git/config.lock` if none is";
            return Err(ToolError::new(ErrorCode::Conflict, message));
        }
        Err(error) => return Err(failed(error.into())),
    };
    let mut write = || -> std::io::Result<()> {
        let old = open(&name, OFlags::RDONLY, Mode::empty())?;
        let mut text = Vec::new();
        old.take(MAX_BYTES + 1).read_to_end(&mut text)?;
        if text.len() as u64 > MAX_BYTES {
            return Err(std::io::Error::other("the file is over 1 MB"));
        }
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        text.extend_from_slice(section(remote, branch).as_bytes());
        new.write_all(&text)?;
        new.sync_all()?;
        rustix::fs::renameat(&directory, lock, &directory, &name)?;
        Ok(())
    };
    write().map_err(|error| {
        let _ = rustix::fs::unlinkat(&directory, lock, AtFlags::empty());
        failed(error)
    })
}

/// The section, as git writes it. Names of branches have no line breaks or backslashes in them, and may have quotes.
fn section(remote: &str, branch: &str) -> String {
    let quoted = branch.replace('"', "\\\"");
    format!("[branch \"{quoted}\"]\n\tremote = {remote}\n\tmerge = \"refs/heads/{quoted}\"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_within_its_quotes() {
        assert_eq!(
            section("origin", "a\"]#;b"),
            "[branch \"a\\\"]#;b\"]\n\tremote = origin\n\tmerge = \"refs/heads/a\\\"]#;b\"\n"
        );
    }
}
