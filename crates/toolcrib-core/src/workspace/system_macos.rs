//! What the workspace asks of macOS where Linux has its own calls (`system.rs`): compiled, and not run by any test yet.
//!
//! There is no `openat2`, so paths are resolved step by step; and no `O_PATH`, so a directory that may be entered but not read is refused.

use std::ffi::{CStr, OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, Dir, DirEntry, FileType, Mode, OFlags, Stat, fstat, getpath, openat, readlinkat,
    statat,
};
use rustix::io::Errno;

use super::beneath::{Links, OpenedName};

/// Opens a directory or file to name it. Nothing is read; a FIFO does not wait for a writer.
pub const PLACE: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

/// Device and inode.
pub fn file_id(stat: &Stat) -> (u64, u64) {
    (i64::from(stat.st_dev).cast_unsigned(), stat.st_ino)
}

/// There is no such call.
pub(super) fn open_by_kernel(
    _: BorrowedFd<'_>,
    _: &[u8],
    _: OFlags,
    _: Links,
) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// Opens a name; of a link it reads where that leads. What was exchanged in between is looked at again by the caller.
pub(super) fn open_without_following(
    dir: BorrowedFd<'_>,
    name: &[u8],
    flags: OFlags,
) -> Result<OpenedName, Errno> {
    match openat(dir, name, flags | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(fd) => Ok(OpenedName::Opened(fd)),
        // A link is ELOOP, or ENOTDIR when a directory was asked for.
        Err(error @ (Errno::LOOP | Errno::NOTDIR)) => {
            match readlinkat(dir, name, Vec::new()) {
                Ok(target) => Ok(OpenedName::Link(target.into_bytes())),
                // It was a link a moment ago, or never was one.
                Err(Errno::INVAL) if error == Errno::LOOP => Err(Errno::AGAIN),
                Err(Errno::INVAL) => Err(error),
                Err(other) => Err(other),
            }
        }
        Err(other) => Err(other),
    }
}

/// There is no such call.
pub fn open_beneath(_: BorrowedFd<'_>, _: &str, _: OFlags) -> Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}

/// Changes the mode of what is open.
pub fn set_mode(open: &OwnedFd, mode: Mode) -> Result<(), Errno> {
    rustix::fs::fchmod(open, mode)
}

/// There is no such call that begins at an open directory.
pub fn make_node(
    _: BorrowedFd<'_>,
    _: &OsStr,
    _: FileType,
    _: Mode,
    _: &Stat,
) -> Result<(), Errno> {
    Err(Errno::NOTSUP)
}

/// Where an open directory or file is.
pub(super) fn path_of(fd: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    Ok(PathBuf::from(OsString::from_vec(getpath(fd)?.into_bytes())))
}

/// The entries of a directory, `.` and `..` included; read with the C library, not into the buffer.
pub struct RawDir {
    entries: Option<Result<Dir, Errno>>,
    seen: usize,
}

impl RawDir {
    /// Of an open directory.
    pub fn new(dir: impl AsFd, _: &mut [MaybeUninit<u8>]) -> Self {
        RawDir {
            entries: Some(Dir::read_from(dir)),
            seen: 0,
        }
    }

    /// The next one.
    #[expect(
        clippy::should_implement_trait,
        reason = "as on Linux, where entries borrow"
    )]
    pub fn next(&mut self) -> Option<Result<DirEntry, Errno>> {
        self.seen += 1;
        match self.entries.take()? {
            Ok(mut dir) => {
                let entry = dir.next();
                self.entries = Some(Ok(dir));
                entry
            }
            Err(errno) => Some(Err(errno)),
        }
    }

    /// Whether it is time to look at others, for those that look at some only.
    pub fn is_buffer_empty(&self) -> bool {
        self.seen.is_multiple_of(256)
    }
}

/// What a removal compares.
pub(super) struct Look {
    pub(super) mount: (u64, Option<u64>),
    pub(super) mode: u64,
    pub(super) inode: u64,
    pub(super) size: u64,
    pub(super) modified: (i64, u64),
}

/// Looks at a name without following it.
pub(super) fn look(dir: BorrowedFd<'_>, name: &CStr) -> Result<Look, Errno> {
    let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(Look {
        mount: (file_id(&stat).0, None),
        mode: stat.st_mode.into(),
        inode: stat.st_ino,
        size: u64::try_from(stat.st_size).unwrap_or_default(),
        modified: (
            stat.st_mtime,
            u64::try_from(stat.st_mtime_nsec).unwrap_or_default(),
        ),
    })
}

/// The file system that something is on.
pub(super) fn mount_of(fd: impl AsFd) -> Result<(u64, Option<u64>), Errno> {
    Ok((file_id(&fstat(fd)?).0, None))
}
