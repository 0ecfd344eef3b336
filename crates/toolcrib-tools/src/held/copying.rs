//! Copies what is held where it cannot be moved, and gives it a content that no name elsewhere shares.
//!
//! A file with many names is copied once, holes stay holes, and all that one run causes to be copied is bounded: otherwise a few bytes in
//! a workspace could fill the disk of the home.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, SeekFrom, Stat, Timespec, Timestamps, Uid,
};
use rustix::io::Errno;
use uuid::Uuid;

use super::moving::{entries, pin, set_mode, temporary};
use crate::workspace::{file_id, make_node};

/// How deep a tree is copied.
pub(super) const MAX_DEPTH: usize = 256;
/// How much one run may cause to be copied, in bytes.
const MAX_COPIED: u64 = 64 << 20;
/// How many files with several names are remembered; each takes a descriptor.
const MAX_SHARED: usize = 128;

/// How many bytes may still be copied.
#[derive(Debug)]
pub(super) struct Allowance(AtomicU64);

impl Allowance {
    /// What one run gets.
    pub(super) fn of_a_run() -> Self {
        Allowance(AtomicU64::new(MAX_COPIED))
    }

    /// For what a person asked for.
    pub(super) fn unbounded() -> Self {
        Allowance(AtomicU64::new(u64::MAX))
    }

    fn spend(&self, bytes: u64) -> Result<(), Errno> {
        let spend = |left: u64| left.checked_sub(bytes);
        let spent = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend);
        spent.map(drop).map_err(|_| Errno::FBIG)
    }
}

/// Device and inode.
type Identity = (u64, u64);

fn identity(stat: &Stat) -> Identity {
    file_id(stat)
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NONBLOCK);

/// Copies entries of directories; files that are one file stay one.
pub(super) struct Copier<'a> {
    allowance: &'a Allowance,
    /// The copies of files that have several names.
    made: BTreeMap<Identity, OwnedFd>,
}

impl<'a> Copier<'a> {
    pub(super) fn new(allowance: &'a Allowance) -> Self {
        Copier {
            allowance,
            made: BTreeMap::new(),
        }
    }

    /// Copies an entry with all beneath: content, modes, times, owners where that is allowed.
    pub(super) fn copy(
        &mut self,
        from: BorrowedFd<'_>,
        name: &OsStr,
        to: BorrowedFd<'_>,
        new: &OsStr,
        depth: usize,
    ) -> Result<(), Errno> {
        if depth == 0 {
            return Err(Errno::NAMETOOLONG);
        }
        let stat = rustix::fs::statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
        match kind(&stat) {
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(from, name, Vec::new())?;
                rustix::fs::symlinkat(target, to, new)?;
            }
            FileType::Directory => {
                rustix::fs::mkdirat(to, new, Mode::RWXU)?;
                let inside = open_closed(from, name, READ | OFlags::DIRECTORY)?;
                let made = rustix::fs::openat(to, new, READ | OFlags::DIRECTORY, Mode::empty())?;
                for entry in entries(&inside)? {
                    self.copy(inside.as_fd(), &entry, made.as_fd(), &entry, depth - 1)?;
                }
            }
            FileType::RegularFile => {
                if let Some(made) = self.made.get(&identity(&stat)) {
                    let made = format!("/proc/self/fd/{}", made.as_raw_fd());
                    return rustix::fs::linkat(CWD, made, to, new, AtFlags::SYMLINK_FOLLOW);
                }
                let file = open_closed(from, name, READ)?;
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
                let mode = Mode::from_raw_mode(0o600);
                let made = rustix::fs::openat(to, new, flags | OFlags::CLOEXEC, mode)?;
                self.copy_content(&File::from(file), &File::from(made))?;
                if stat.st_nlink > 1 && self.made.len() < MAX_SHARED {
                    self.made.insert(identity(&stat), pin(to, new)?);
                }
            }
            kind => {
                let mode = Mode::from_raw_mode(stat.st_mode);
                make_node(to, new, kind, mode, &stat)?;
            }
        }
        make_like(to, new, &stat)
    }

    /// Copies what is in a file, and leaves its holes out.
    fn copy_content(&self, from: &File, to: &File) -> Result<(), Errno> {
        let as_errno = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
        let length = rustix::fs::fstat(from)?.st_size as u64;
        let mut at = 0;
        while at < length {
            let start = match rustix::fs::seek(from, SeekFrom::Data(at)) {
                // A hole to its end.
                Err(Errno::NXIO) => break,
                // A file system without holes.
                Err(Errno::INVAL) => at,
                start => start?,
            };
            let end = match rustix::fs::seek(from, SeekFrom::Hole(start)) {
                Err(Errno::INVAL) => length,
                end => end?.min(length),
            };
            let bytes = end.saturating_sub(start);
            self.allowance.spend(bytes)?;
            for file in [from, to] {
                rustix::fs::seek(file, SeekFrom::Start(start))?;
            }
            let copied = io::copy(&mut from.take(bytes), &mut &*to).map_err(as_errno)?;
            // It was made shorter meanwhile.
            if copied == 0 {
                break;
            }
            at = start + copied;
        }
        rustix::fs::ftruncate(to, length)
    }
}

/// Opens something to read it, even if a command has closed it to its owner.
fn open_closed(dir: BorrowedFd<'_>, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    match rustix::fs::openat(dir, name, flags, Mode::empty()) {
        Err(Errno::ACCESS) => {}
        opened => return opened,
    }
    let closed = pin(dir, name)?;
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&closed)?.st_mode);
    set_mode(&closed, mode | Mode::RWXU)?;
    let opened = rustix::fs::openat(dir, name, flags, Mode::empty());
    set_mode(&closed, mode)?;
    opened
}

/// Gives something the owner, the mode and the times of another thing.
fn make_like(dir: BorrowedFd<'_>, name: &OsStr, stat: &Stat) -> Result<(), Errno> {
    let (uid, gid) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
    let nofollow = AtFlags::SYMLINK_NOFOLLOW;
    let _ = rustix::fs::chownat(dir, name, Some(uid), Some(gid), nofollow);
    if kind(stat) != FileType::Symlink {
        set_mode(&pin(dir, name)?, Mode::from_raw_mode(stat.st_mode))?;
    }
    let time = |seconds, nanoseconds| Timespec {
        tv_sec: seconds,
        tv_nsec: nanoseconds,
    };
    let times = Timestamps {
        last_access: time(stat.st_atime as _, stat.st_atime_nsec as _),
        last_modification: time(stat.st_mtime as _, stat.st_mtime_nsec as _),
    };
    rustix::fs::utimensat(dir, name, &times, nofollow)
}

/// Gives files that have a name elsewhere their own content: by that name they could be changed after a person has looked. Returns
/// whether that is done for all of them; what cannot be read, or is more than may be copied, stays as it is.
pub(super) fn separate(path: &Path, allowance: &Allowance) -> io::Result<bool> {
    let parent = File::open(path.parent().unwrap_or(Path::new("/")))?;
    let name = path.file_name().unwrap_or_default();
    // How many names of a file are in the tree, and how many it has.
    let mut names = BTreeMap::<Identity, _>::new();
    let count = &mut |_: BorrowedFd<'_>, _: &OsStr, stat: &Stat| {
        let (found, _) = names.entry(identity(stat)).or_insert((0, stat.st_nlink));
        *found += 1;
        true
    };
    let is_seen = each_shared(parent.as_fd(), name, MAX_DEPTH, count);
    names.retain(|_, (found, links)| found < links);
    if names.is_empty() {
        return Ok(is_seen);
    }
    let mut copier = Copier::new(allowance);
    let replace = &mut |dir: BorrowedFd<'_>, name: &OsStr, stat: &Stat| {
        if !names.contains_key(&identity(stat)) {
            return true;
        }
        let new = OsString::from(temporary(&Uuid::now_v7().to_string()));
        let copied = copier.copy(dir, name, dir, &new, MAX_DEPTH);
        let replaced = copied.and_then(|()| rustix::fs::renameat(dir, &new, dir, name));
        if replaced.is_err() {
            let _ = rustix::fs::unlinkat(dir, &new, AtFlags::empty());
        }
        replaced.is_ok()
    };
    let is_done = each_shared(parent.as_fd(), name, MAX_DEPTH, replace);
    Ok(is_seen && is_done)
}

/// The action on a file, and whether it succeeded.
type Visit<'a> = &'a mut dyn FnMut(BorrowedFd<'_>, &OsStr, &Stat) -> bool;

/// Visits the files with several names in a tree. Returns whether all of it was seen and every visit succeeded.
fn each_shared(dir: BorrowedFd<'_>, name: &OsStr, depth: usize, visit: Visit<'_>) -> bool {
    let Ok(stat) = rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) else {
        return false;
    };
    match kind(&stat) {
        FileType::RegularFile if stat.st_nlink > 1 => visit(dir, name, &stat),
        FileType::Directory if depth == 0 => false,
        FileType::Directory => {
            let open = rustix::fs::openat(dir, name, READ | OFlags::DIRECTORY, Mode::empty());
            let Ok(inside) = open else { return false };
            let Ok(names) = entries(&inside) else {
                return false;
            };
            let mut is_all = true;
            for name in names {
                is_all &= each_shared(inside.as_fd(), &name, depth - 1, visit);
            }
            is_all
        }
        _ => true,
    }
}
