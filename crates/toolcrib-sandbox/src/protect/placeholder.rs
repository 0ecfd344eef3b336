//! Placeholders: empty directories (and, inside of git's own, two tiny files) to lay a mount over.
//!
//! The workspace is hostile ground: another run may be swapping links in while we work. So every step starts from the
//! workspace's own descriptor, follows no link, and makes only what is new.

use super::names::read_small;
use crate::sys;
use std::{
    ffi::{CStr, CString, OsStr},
    fs, io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{
            ffi::OsStrExt,
            fs::{MetadataExt, OpenOptionsExt},
        },
    },
    path::{Component, Path},
};

/// A placeholder is recognised by its mode, even if the process that made it was killed: sticky, and not writable.
const MODE: u32 = 0o1555;
const STICKY: u32 = 0o1000;
const ANY_WRITE: u32 = 0o222;

/// Whether this is a placeholder, ours or one that a killed run has left. A directory with something in it is none,
/// whatever its mode.
pub(super) fn is_placeholder(path: &Path, metadata: &fs::Metadata) -> bool {
    looks_like_one(metadata.mode(), metadata.len())
        && if metadata.is_dir() {
            fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
        } else {
            read_small(path).is_some_and(|text| text.is_empty() || text == ".\n")
        }
}

fn looks_like_one(mode: u32, length: u64) -> bool {
    // As `libc` has them; their type differs between systems.
    const KIND: u32 = 0o170_000;
    const DIRECTORY: u32 = 0o040_000;
    const FILE: u32 = 0o100_000;
    let kind = mode & KIND;
    mode & (STICKY | ANY_WRITE) == STICKY && (kind == DIRECTORY || (kind == FILE && length <= 2))
}

/// Makes an empty directory; one that is there already is kept.
pub(super) fn directory(root: &OwnedFd, path: &Path) -> io::Result<()> {
    make_directory(root, path, MODE)
}

fn make_directory(root: &OwnedFd, path: &Path, mode: u32) -> io::Result<()> {
    let (parent, name) = parent(root, path)?;
    // SAFETY: a descriptor of ours and a name that ends with null.
    match sys::check(unsafe { libc::mkdirat(parent.as_raw_fd(), name.as_ptr(), mode as _) }.into())
    {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes an ordinary directory, which stays; one that is there already is kept.
pub(super) fn plain_directory(root: &OwnedFd, path: &Path) -> io::Result<()> {
    make_directory(root, path, 0o777)
}

/// Gives a file with several names its own content, with its mode, owner and times.
pub(super) fn separate(root: &OwnedFd, path: &Path) -> io::Result<()> {
    const MOST: u64 = 64 << 20;
    let (parent, name) = parent(root, path)?;
    let place = |name: &OsStr| {
        let parent = format!("/proc/self/fd/{}", parent.as_raw_fd());
        Path::new(&parent).join(name)
    };
    let old = place(OsStr::from_bytes(name.to_bytes()));
    let mut from = fs::File::options()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(&old)?;
    let metadata = from.metadata()?;
    if !metadata.is_file() || metadata.nlink() < 2 || metadata.len() > MOST {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let new = place(OsStr::new(&format!(".toolcrib-{}", std::process::id())));
    let mut copy = || {
        let mut to = fs::File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&new)?;
        io::copy(&mut from, &mut to)?;
        let _ = std::os::unix::fs::fchown(&to, Some(metadata.uid()), Some(metadata.gid()));
        to.set_permissions(metadata.permissions())?;
        to.set_times(
            fs::FileTimes::new()
                .set_accessed(metadata.accessed()?)
                .set_modified(metadata.modified()?),
        )?;
        fs::rename(&new, &old)
    };
    let copied = copy();
    if copied.is_err() {
        let _ = fs::remove_file(&new);
    }
    copied
}

/// Makes a tiny file; one that is there already is kept.
pub(super) fn file(root: &OwnedFd, path: &Path, text: &str) -> io::Result<()> {
    let (parent, name) = parent(root, path)?;
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: a descriptor of ours and a name that ends with null.
    let made = sys::own(
        unsafe { libc::openat(parent.as_raw_fd(), name.as_ptr(), flags, MODE & !0o111) }.into(),
    );
    match made {
        Ok(made) => sys::write(&made, text.as_bytes()).map(drop),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Takes a placeholder away, and nothing else: what a user has put in its place, or into it, stays.
#[cfg(wall)]
pub(super) fn remove(root: &OwnedFd, path: &Path) -> io::Result<()> {
    let (parent, name) = parent(root, path)?;
    // SAFETY: a descriptor of ours, a name that ends with null, and a structure of ours to write to.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        let flags = libc::AT_SYMLINK_NOFOLLOW;
        sys::check(libc::fstatat(parent.as_raw_fd(), name.as_ptr(), &mut stat, flags).into())?;
        // Another user's are another user's to remove: a run of theirs may need them.
        if !looks_like_one(stat.st_mode, stat.st_size as u64) || stat.st_uid != sys::uid() {
            return Ok(());
        }
        let directory = stat.st_mode & libc::S_IFMT == libc::S_IFDIR;
        let flags = if directory { libc::AT_REMOVEDIR } else { 0 };
        sys::check(libc::unlinkat(parent.as_raw_fd(), name.as_ptr(), flags).into()).map(drop)
    }
}

/// The directory a path lies in, reached from the root without following a link, and the last name.
fn parent(root: &OwnedFd, path: &Path) -> io::Result<(OwnedFd, CString)> {
    let mut names: Vec<CString> = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(c_name(name)?),
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        }
    }
    let last = names.pop().ok_or(io::ErrorKind::InvalidInput)?;
    let mut directory = root.try_clone()?;
    for name in names {
        directory = directory_in(&directory, &name)?;
    }
    Ok((directory, last))
}

/// Opens a directory beneath the root to name it, without following a link.
pub(super) fn open_directory(root: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let (parent, name) = parent(root, path)?;
    directory_in(&parent, &name)
}

fn directory_in(parent: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    let flags = sys::PLACE | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: a descriptor of ours and a name that ends with null.
    sys::own(unsafe { libc::openat(parent.as_raw_fd(), name.as_ptr(), flags) }.into())
}

fn c_name(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}
