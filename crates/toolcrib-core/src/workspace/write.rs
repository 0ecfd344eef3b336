//! Writing files whole: [`Workspace::write_file`].
//!
//! The content goes into a new file beside the old one, to the disk, and then gets its name. So a reader sees the old content or the new
//! one, a killed writer leaves one or the other, and
//! another name of the old file (a hard link, perhaps outside of the workspace) keeps its content.
//!
//! A replaced file keeps its mode without the set-uid, set-gid and sticky bits, its
//! access control list and its `user.` attributes; its group, and as root its owner. Other attributes (security
//! labels, capabilities) are those of a new file.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::time::{Duration, SystemTime};

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Stat, Uid, XattrFlags, fchmod, fchown,
    fgetxattr, flistxattr, fsetxattr, linkat, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use uuid::Uuid;

use super::identity::{Identity, NotReplaceable, Old};
use super::open_name::{MissingDirs, OpenName};
use super::system::RawDir;
use super::{OPEN_DIR, Workspace, WorkspacePath};
use crate::model::error::{ErrorCode, ToolError};

/// What a file may replace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replaces {
    /// Nothing: the file must be new.
    Nothing,
    /// This file as it was, and no other.
    Just(Identity),
}

impl Workspace {
    /// Looks at the file that writing to a path would replace, if there is one.
    pub fn file_to_replace(
        &self,
        path: &WorkspacePath,
        missing: MissingDirs,
    ) -> Result<Option<Old>, ToolError> {
        // Looking makes no directories; a missing one means that there is no file.
        let spot = match self.follow_to_write(path, MissingDirs::Refuse) {
            Err(error)
                if missing == MissingDirs::Make && error.code() == ErrorCode::FileNotFound =>
            {
                return Ok(None);
            }
            found => found?,
        };
        let old = spot
            .old_file()
            .map_err(|error| not_replaceable(path, error))?;
        // The caller decides whether a new file may be made.
        if old.is_some() {
            self.check_may_write(&spot, path)?;
        }
        Ok(old)
    }

    /// Makes `bytes` the content of a file, at once and on the disk.
    ///
    /// On error the file is as it was, with one exception: when its directory cannot be synced,
    /// a replaced file has its new content, which is not known to be on the disk.
    pub fn write_file(
        &self,
        path: &WorkspacePath,
        bytes: &[u8],
        missing: MissingDirs,
        replaces: &Replaces,
    ) -> Result<(), ToolError> {
        let spot = self.spot_to_write(path, missing)?;
        let old = spot
            .old_file()
            .map_err(|error| not_replaceable(path, error))?;
        match (replaces, &old) {
            (Replaces::Nothing, None) => {}
            (Replaces::Nothing, Some(_)) => return Err(exists(path)),
            (Replaces::Just(approved), Some(old)) if *approved == old.identity => {}
            (Replaces::Just(_), _) => return Err(changed(path)),
        }
        let failed = |errno| path.fault("write", errno);
        sweep(&spot.dir);
        let temp = Temp::write(&spot.dir, bytes, old.as_ref(), None).map_err(failed)?;
        match replaces {
            Replaces::Nothing => {
                temp.name_new(&spot).map_err(|errno| match errno {
                    Errno::EXIST => exists(path),
                    errno => failed(errno),
                })?;
                spot.sync().map_err(|errno| {
                    // Or calling again would find it there and refuse.
                    let _ = unlinkat(&spot.dir, &spot.name, AtFlags::empty());
                    failed(errno)
                })
            }
            Replaces::Just(approved) => {
                // Writing took a while.
                let now = spot.look().map_err(failed)?;
                if !now.is_some_and(|stat| approved.looks_like(&stat)) {
                    return Err(changed(path));
                }
                temp.name_over(&spot).map_err(failed)?;
                spot.sync().map_err(failed)
            }
        }
    }
}

/// Someone approved something else than what is there now.
pub(super) fn changed(path: &WorkspacePath) -> ToolError {
    let message = format!("`{path}` changed since it was approved; call again");
    ToolError::new(ErrorCode::Conflict, message)
}

pub(super) fn exists(path: &WorkspacePath) -> ToolError {
    path.fault("write", Errno::EXIST)
}

pub(super) fn not_replaceable(path: &WorkspacePath, error: NotReplaceable) -> ToolError {
    match error {
        NotReplaceable::Errno(errno) => path.fault("write", errno),
        NotReplaceable::Directory => path.fault("write", Errno::ISDIR),
        NotReplaceable::Other => {
            let message =
                format!("cannot write `{path}`: it is a FIFO, a socket or a device, not a file");
            ToolError::new(ErrorCode::InvalidPath, message)
        }
    }
}

/// A new file without its name yet; removed when dropped unless it got it.
pub(super) struct Temp<'a> {
    dir: &'a OwnedFd,
    pub(super) name: String,
    is_named: bool,
}

impl<'a> Temp<'a> {
    /// Writes a file that is on the disk when this returns.
    pub(super) fn write(
        dir: &'a OwnedFd,
        bytes: &[u8],
        old: Option<&Old>,
        executable: Option<bool>,
    ) -> Result<Self, Errno> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // No one else reads what may have been closed to them until its mode is right.
        let mode = Mode::from_raw_mode(if old.is_some() { 0o600 } else { 0o666 });
        let name = temp_name();
        let mut file = File::from(openat(dir, &name, flags, mode)?);
        let temp = Temp {
            dir,
            name,
            is_named: false,
        };
        file.write_all(bytes).map_err(|error| number(&error))?;
        if let Some(old) = old {
            keep_attributes(&file, old)?;
        }
        if let Some(executable) = executable {
            let mode = file.metadata().map_err(|error| number(&error))?.mode() & 0o777;
            // Those who may read it may run it.
            let mode = match executable {
                true => mode | ((mode & 0o444) >> 2),
                false => mode & !0o111,
            };
            fchmod(&file, Mode::from_raw_mode(mode as _))?;
        }
        file.sync_all().map_err(|error| number(&error))?;
        Ok(temp)
    }

    /// Gives the file its name, which must be free.
    pub(super) fn name_new(mut self, spot: &OpenName) -> Result<(), Errno> {
        let (dir, to) = (self.dir, &spot.name);
        match renameat_with(dir, &self.name, dir, to, RenameFlags::NOREPLACE) {
            Ok(()) => {
                self.is_named = true;
                Ok(())
            }
            // Not every file system can; a second link refuses a name that is taken as well.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                linkat(dir, &self.name, dir, to, AtFlags::empty())
            }
            Err(errno) => Err(errno),
        }
    }

    /// Gives the file its name, whatever else has it.
    pub(super) fn name_over(mut self, spot: &OpenName) -> Result<(), Errno> {
        renameat(self.dir, &self.name, self.dir, &spot.name)?;
        self.is_named = true;
        Ok(())
    }

    /// Leaves what has the temporary name alone: another file has it by now.
    pub(super) fn keep(mut self) {
        self.is_named = true;
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if !self.is_named {
            // Should this fail, too, a later writer sweeps it up.
            let _ = unlinkat(self.dir, &self.name, AtFlags::empty());
        }
    }
}

fn number(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// Gives a new file what is kept of the old one.
fn keep_attributes(file: &File, old: &Old) -> Result<(), Errno> {
    let own = file.metadata().map_err(|error| number(&error))?;
    let Stat {
        st_uid,
        st_gid,
        st_mode,
        ..
    } = old.stat;
    let mut mode = st_mode & 0o777;
    if own.uid() != st_uid && rustix::process::geteuid().is_root() {
        fchown(file, Some(Uid::from_raw(st_uid)), None)?;
    }
    if own.gid() != st_gid && fchown(file, None, Some(Gid::from_raw(st_gid))).is_err() {
        // The group's rights were meant for another group: it gets those of everybody.
        mode = (mode & 0o707) | ((mode & 0o007) << 3);
    }
    fchmod(file, Mode::from_raw_mode(mode))?;
    if let Some(old) = &old.file {
        keep_extended(file, old)?;
    }
    Ok(())
}

fn keep_extended(file: &File, old: &File) -> Result<(), Errno> {
    /// The largest list and the largest value of Linux.
    const MAX: usize = 64 * 1024;
    let mut list = vec![0; MAX];
    let length = match flistxattr(old, &mut list[..]) {
        Ok(0) | Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(()),
        listed => listed?,
    };
    let mut value = vec![0; MAX];
    for name in list[..length].split(|byte| *byte == 0) {
        if name == b"system.posix_acl_access" || name.starts_with(b"user.") {
            let length = fgetxattr(old, name, &mut value[..])?;
            fsetxattr(file, name, &value[..length], XattrFlags::empty())?;
        }
    }
    Ok(())
}

const TEMP: (&str, &str) = (".toolcrib-", ".tmp");

/// After how long a file of a writer that is not done counts as one of a writer that died: no call
/// takes as long.
const STALE: Duration = Duration::from_secs(24 * 3600);

/// A new name for a file that has none yet: hidden, and telling when it was made.
pub(super) fn temp_name() -> String {
    format!("{}{}{}", TEMP.0, Uuid::now_v7().simple(), TEMP.1)
}

/// When a file with such a name was made; `None` for any other name.
fn temp_made(name: &str) -> Option<SystemTime> {
    let id = name.strip_prefix(TEMP.0)?.strip_suffix(TEMP.1)?;
    let id = Uuid::try_parse(id).ok().filter(|_| id.len() == 32)?;
    let (seconds, nanoseconds) = id.get_timestamp()?.to_unix();
    Some(SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds))
}

/// Removes what writers that were killed left in a directory. Only its first names are looked at,
/// so that this costs the same in a large one; whatever goes wrong, the next writer tries again.
pub(super) fn sweep(dir: impl AsFd) {
    let Ok(dir) = openat(dir, c".", OPEN_DIR, Mode::empty()) else {
        return;
    };
    let mut buffer = Vec::with_capacity(8 * 1024);
    let mut entries = RawDir::new(&dir, buffer.spare_capacity_mut());
    let mut stale = Vec::new();
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name().to_str().unwrap_or_default();
        let age = temp_made(name).and_then(|made| made.elapsed().ok());
        if age.is_some_and(|age| age > STALE) {
            stale.push(name.to_owned());
        }
        if entries.is_buffer_empty() {
            break;
        }
    }
    for name in stale {
        let found = statat(&dir, &name, AtFlags::SYMLINK_NOFOLLOW);
        if found.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile) {
            let _ = unlinkat(&dir, &name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_name_reports_when_it_was_made_and_others_do_not() {
        let made = temp_made(&temp_name()).unwrap();
        assert!(made.elapsed().unwrap_or_default() < Duration::from_secs(60));
        for other in [
            ".toolcrib-.tmp".to_owned(),
            ".toolcrib-x.tmp".to_owned(),
            format!(".toolcrib-{}.tmp", Uuid::now_v7()),
            format!(".toolcrib-{}.tmp", "0".repeat(32)),
            format!("{}x", temp_name()),
            format!("x{}", temp_name()),
        ] {
            assert_eq!(temp_made(&other), None, "{other}");
        }
    }
}
