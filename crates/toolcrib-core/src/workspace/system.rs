//! What the workspace asks of Linux and of no other system.

use std::ffi::{CStr, OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use rustix::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, Statx, StatxFlags, fstat, openat,
    openat2, readlinkat, statx,
};
use rustix::io::Errno;

pub use rustix::fs::RawDir;

use super::beneath::{Links, OpenedName};

/// Opens a directory or file to name it, not to read it.
pub const PLACE: OFlags = OFlags::PATH;

/// Device and inode.
pub fn file_id(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

pub(super) fn open_by_kernel(
    dir: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
    links: Links,
) -> Result<OwnedFd, Errno> {
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    if links == Links::Refuse {
        resolve |= ResolveFlags::NO_SYMLINKS;
    }
    openat2(dir, path, flags, Mode::empty(), resolve)
}

pub(super) fn open_without_following(
    dir: BorrowedFd<'_>,
    name: &[u8],
    flags: OFlags,
) -> Result<OpenedName, Errno> {
    match openat(dir, name, flags | OFlags::NOFOLLOW, Mode::empty()) {
        // With O_PATH the link itself is opened.
        Ok(fd) if flags.contains(OFlags::PATH) && kind(&fd)? == FileType::Symlink => read_link(&fd),
        Ok(fd) => Ok(OpenedName::Opened(fd)),
        // A link is ELOOP, or ENOTDIR when a directory was asked for.
        Err(error @ (Errno::LOOP | Errno::NOTDIR)) => {
            let how = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fd = openat(dir, name, how, Mode::empty())?;
            match kind(&fd)? {
                FileType::Symlink => read_link(&fd),
                // It was a link a moment ago.
                FileType::Directory => Err(Errno::AGAIN),
                _ if error == Errno::LOOP => Err(Errno::AGAIN),
                _ => Err(error),
            }
        }
        Err(other) => Err(other),
    }
}

/// The target of a link that was opened itself, so that it is the link that was found.
fn read_link(link: &OwnedFd) -> Result<OpenedName, Errno> {
    Ok(OpenedName::Link(
        readlinkat(link, c"", Vec::new())?.into_bytes(),
    ))
}

fn kind(fd: &OwnedFd) -> Result<FileType, Errno> {
    Ok(FileType::from_raw_mode(fstat(fd)?.st_mode))
}

/// Opens a path that stays beneath an open directory, links included; `NOSYS` or `PERM` where the kernel cannot.
pub fn open_beneath(dir: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    open_by_kernel(dir, path.as_bytes(), flags, Links::Follow)
}

/// Changes the mode of what is open, even if its descriptor only names it. A name could lead elsewhere by now.
pub fn set_mode(open: &OwnedFd, mode: Mode) -> Result<(), Errno> {
    rustix::fs::chmod(format!("/proc/self/fd/{}", open.as_raw_fd()), mode)
}

/// Makes a FIFO, a socket or a device like another.
pub fn make_node(
    dir: BorrowedFd<'_>,
    name: &OsStr,
    kind: FileType,
    mode: Mode,
    like: &Stat,
) -> Result<(), Errno> {
    rustix::fs::mknodat(dir, name, kind, mode, like.st_rdev)
}

/// Where an open directory or file is.
pub(super) fn path_of(fd: BorrowedFd<'_>) -> Result<PathBuf, Errno> {
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let path = readlinkat(CWD, link, Vec::new())?;
    Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
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
    let flags = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    let stat = statx(dir, name, AtFlags::SYMLINK_NOFOLLOW, flags)?;
    Ok(Look {
        mount: mount_in(&stat),
        mode: stat.stx_mode.into(),
        inode: stat.stx_ino,
        size: stat.stx_size,
        modified: (stat.stx_mtime.tv_sec, stat.stx_mtime.tv_nsec.into()),
    })
}

/// Which mount something open is in: its number where the kernel reports it, else the device.
pub(super) fn mount_of(fd: impl AsFd) -> Result<(u64, Option<u64>), Errno> {
    match statx(&fd, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID) {
        Ok(stat) => Ok(mount_in(&stat)),
        Err(Errno::NOSYS | Errno::PERM) => Ok((fstat(&fd)?.st_dev, None)),
        Err(errno) => Err(errno),
    }
}

/// Like [`mount_of`], but for a result of `statx` that is at hand.
fn mount_in(stat: &Statx) -> (u64, Option<u64>) {
    let device = u64::from(stat.stx_dev_major) << 32 | u64::from(stat.stx_dev_minor);
    let has_number = stat.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    (device, has_number.then_some(stat.stx_mnt_id))
}
