//! Opening a path that cannot leave a directory.
//!
//! Linux 5.6 has a call for this, `openat2` with `RESOLVE_BENEATH`: the kernel refuses `..`,
//! absolute links and magic links that lead out, while it opens. Older kernels and strict system
//! call filters lack it; there the path is walked by hand, one name at a time, with the same
//! result. Either way the open is the check: nothing is looked at first and opened later, so there
//! is no moment in which a link could be put in place of a directory.
//!
//! Making the path canonical and comparing prefixes would be simpler, and loses that race.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::system::{PLACE, open_by_kernel, open_without_following};

/// The kernel's own limit of symbolic links in one path.
pub(super) const MAX_LINKS: usize = 40;

/// How deep a path walked by hand may go: every level holds a file descriptor until the end.
const MAX_LEVELS: usize = 256;

/// How often an open that lost a race against a rename is tried again.
const ATTEMPTS: usize = 128;

/// How often the kernel is asked before the path is walked by hand instead. It gives up on `..`
/// whenever anything is renamed anywhere on the machine, so that a busy machine could keep it from
/// ever answering; the walk only minds what changes on its own way.
const KERNEL_ATTEMPTS: usize = 16;

/// Resolves paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resolver {
    /// The kernel, with `openat2`.
    Kernel,
    /// This module, name by name.
    ByHand,
}

/// What happens to symbolic links on the way and at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// They are followed as long as they stay beneath the directory.
    Follow,
    /// The first one ends the walk with `ELOOP`.
    Refuse,
}

impl Resolver {
    /// Finds out whether the kernel can do it here.
    pub(super) fn detect(dir: BorrowedFd<'_>) -> Resolver {
        match open_by_kernel(dir, b".", PLACE | OFlags::CLOEXEC, Links::Follow) {
            // EPERM is what the system call filters of older container runtimes answer.
            Err(Errno::NOSYS | Errno::PERM) => Resolver::ByHand,
            Ok(_) | Err(_) => Resolver::Kernel,
        }
    }

    /// Opens `path` beneath `dir`. Leaving the directory is `EXDEV`.
    ///
    /// Does not create files: `flags` must not hold `O_CREAT`.
    pub(super) fn open(
        self,
        dir: BorrowedFd<'_>,
        path: &[u8],
        flags: OFlags,
        links: Links,
    ) -> Result<OwnedFd, Errno> {
        if self == Resolver::Kernel {
            match until_settled(KERNEL_ATTEMPTS, || open_by_kernel(dir, path, flags, links)) {
                Err(Errno::AGAIN) => {}
                opened => return opened,
            }
        }
        until_settled(ATTEMPTS, || open_by_hand(dir, path, flags, links))
    }
}

/// Opens again as long as a directory was renamed while `..` was resolved, or a link while it was
/// read, and `EAGAIN` when that never ends.
fn until_settled(
    attempts: usize,
    open: impl Fn() -> Result<OwnedFd, Errno>,
) -> Result<OwnedFd, Errno> {
    for _ in 0..attempts {
        match open() {
            Err(Errno::AGAIN | Errno::INTR) => {}
            opened => return opened,
        }
    }
    Err(Errno::AGAIN)
}

/// Walks the path without ever letting the kernel follow a link or resolve `..`: links are read
/// and their names walked too, and `..` goes back to the directory we came from, which stays the
/// same directory wherever someone moves things meanwhile.
fn open_by_hand(
    root: BorrowedFd<'_>,
    path: &[u8],
    mut flags: OFlags,
    links: Links,
) -> Result<OwnedFd, Errno> {
    if path.starts_with(b"/") {
        return Err(Errno::XDEV);
    }
    flags |= asked_by_slash(path);
    let mut left: Vec<Vec<u8>> = names(path).collect();
    let mut dirs: Vec<OwnedFd> = Vec::new();
    let mut followed = 0;
    while let Some(name) = left.pop() {
        if name == b".." {
            dirs.pop().ok_or(Errno::XDEV)?;
        }
        let is_last = left.is_empty();
        let stays = matches!(name.as_slice(), b"." | b"..");
        if stays && !is_last {
            continue;
        }
        let here = dirs.last().map_or(root, AsFd::as_fd);
        let name = if stays { b"." } else { name.as_slice() };
        let how = if is_last { flags } else { STEP };
        match open_without_following(here, name, how)? {
            OpenedName::Link(_) if links == Links::Refuse || followed == MAX_LINKS => {
                return Err(Errno::LOOP);
            }
            OpenedName::Link(target) if target.starts_with(b"/") => return Err(Errno::XDEV),
            OpenedName::Link(target) => {
                followed += 1;
                if is_last {
                    flags |= asked_by_slash(&target);
                }
                left.extend(names(&target));
            }
            OpenedName::Opened(fd) if is_last => return Ok(fd),
            OpenedName::Opened(_) if dirs.len() == MAX_LEVELS => return Err(Errno::NAMETOOLONG),
            OpenedName::Opened(fd) => dirs.push(fd),
        }
    }
    // The path has no name at all.
    Err(Errno::NOENT)
}

/// How the directories on the way are opened.
const STEP: OFlags = PLACE.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The names of a path, last one first.
fn names(path: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let names = path.split(|byte| *byte == b'/').rev();
    names.filter(|name| !name.is_empty()).map(<[u8]>::to_vec)
}

/// A slash at the end says that a directory is meant.
fn asked_by_slash(path: &[u8]) -> OFlags {
    if path.ends_with(b"/") {
        OFlags::DIRECTORY
    } else {
        OFlags::empty()
    }
}

/// What a name was, opened without following it.
pub(super) enum OpenedName {
    Opened(OwnedFd),
    Link(Vec<u8>),
}
