//! Walking a whole tree by open directories: what scanning and removing share.
//!
//! Every directory is opened from the one above it, links not followed, so that the walk never
//! leaves the tree it started in. Only the deepest [`MAX_OPEN`] directories are held open, however
//! deep the tree is; on the way back a directory is opened again as `..`, and only if it is the very
//! same one the walk continues. Mount points are not entered: what is behind them is another
//! tree.

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, statat};
use rustix::io::Errno;

use super::OPEN_DIR;
use super::open_name::OpenName;
use super::system::{RawDir, file_id, mount_of};

/// How many directories are held open.
const MAX_OPEN: usize = 64;

/// Something on the walk.
pub(super) struct Visit<'a> {
    /// The directory it is in.
    pub(super) dir: BorrowedFd<'a>,
    pub(super) name: &'a CStr,
    /// Relative to the directory of the spot that the walk started at.
    pub(super) path: &'a [u8],
    pub(super) what: What,
}

impl Visit<'_> {
    /// Whether this makes the directory it is in a repository: a `.git`, or the `HEAD` of one that has none.
    pub(super) fn makes_repository(&self) -> bool {
        let name = OsStr::from_bytes(self.name.to_bytes());
        let has = |name: &CStr| statat(self.dir, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
        toolcrib_sandbox::is_repository_name(name)
            || (name == "HEAD" && ((has(c"objects") && has(c"refs")) || has(c"commondir")))
    }
}

/// The entries to visit.
#[derive(Clone, Copy)]
pub(super) enum What {
    /// Anything but a directory.
    Leaf,
    /// A directory, before what is in it.
    Enter,
    /// A directory, after what is in it.
    Leave,
}

/// Why a walk ended early, and where.
#[derive(Debug)]
pub(super) struct Stopped {
    pub(super) path: Vec<u8>,
    pub(super) why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    Errno(Errno),
    /// Another file system, or a part of one, is mounted here.
    MountPoint,
    /// A repository is here, which is protected.
    Repository,
    /// The walk is no longer wanted.
    Cancelled,
    /// The visitor has seen enough.
    Enough,
}

impl From<Errno> for Why {
    fn from(errno: Errno) -> Self {
        Why::Errno(errno)
    }
}

/// Walks everything at a spot, which must be a directory: names in byte order, directories before and
/// after what is in them.
pub(super) fn walk(
    spot: &OpenName,
    visit: &mut dyn FnMut(Visit<'_>) -> Result<(), Why>,
) -> Result<(), Stopped> {
    let mut walk = Walk {
        top: spot.dir.as_fd(),
        levels: Vec::new(),
        path: Vec::new(),
        buffer: Vec::with_capacity(32 * 1024),
        visit,
    };
    let name = CString::new(spot.name.as_bytes()).unwrap_or_default();
    walk.run(name).map_err(|why| Stopped {
        path: std::mem::take(&mut walk.path),
        why,
    })
}

struct Walk<'a> {
    top: BorrowedFd<'a>,
    levels: Vec<Level>,
    path: Vec<u8>,
    buffer: Vec<u8>,
    visit: &'a mut dyn FnMut(Visit<'_>) -> Result<(), Why>,
}

/// A directory that the walk is in.
struct Level {
    name: CString,
    /// Closed while the walk is far below.
    fd: Option<OwnedFd>,
    device_and_inode: (u64, u64),
    /// Entries still to visit, last one first.
    left: Vec<(CString, FileType)>,
}

impl Walk<'_> {
    fn run(&mut self, top: CString) -> Result<(), Why> {
        self.enter(top)?;
        while let Some(level) = self.levels.last_mut() {
            match level.left.pop() {
                Some((name, FileType::Directory)) => self.enter(name)?,
                Some((name, _)) => self.leaf(&name)?,
                None => self.leave()?,
            }
        }
        Ok(())
    }

    fn enter(&mut self, name: CString) -> Result<(), Why> {
        self.push(&name);
        let flags = OPEN_DIR | OFlags::NOFOLLOW;
        let here = here(&self.levels, self.top);
        let fd = openat(here, &name, flags, Mode::empty())?;
        if mount_of(&fd)? != mount_of(here)? {
            return Err(Why::MountPoint);
        }
        let stat = fstat(&fd)?;
        self.report(&name, What::Enter)?;
        let left = self.names(fd.as_fd())?;
        if let Some(far) = self.levels.len().checked_sub(MAX_OPEN) {
            self.levels[far].fd = None;
        }
        self.levels.push(Level {
            name,
            fd: Some(fd),
            device_and_inode: file_id(&stat),
            left,
        });
        Ok(())
    }

    fn leaf(&mut self, name: &CStr) -> Result<(), Why> {
        self.push(name);
        self.report(name, What::Leaf)?;
        self.pop(name);
        Ok(())
    }

    fn leave(&mut self) -> Result<(), Why> {
        let Some(left) = self.levels.pop() else {
            return Ok(());
        };
        if let (Some(above), Some(fd)) = (self.levels.last_mut(), &left.fd)
            && above.fd.is_none()
        {
            let again = openat(fd, c"..", OPEN_DIR, Mode::empty())?;
            let stat = fstat(&again)?;
            if file_id(&stat) != above.device_and_inode {
                // Someone moved what we are in.
                return Err(Why::Errno(Errno::AGAIN));
            }
            above.fd = Some(again);
        }
        self.report(&left.name, What::Leave)?;
        self.pop(&left.name);
        Ok(())
    }

    fn report(&mut self, name: &CStr, what: What) -> Result<(), Why> {
        (self.visit)(Visit {
            dir: here(&self.levels, self.top),
            name,
            path: &self.path,
            what,
        })
    }

    fn push(&mut self, name: &CStr) {
        if !self.path.is_empty() {
            self.path.push(b'/');
        }
        self.path.extend(name.to_bytes());
    }

    fn pop(&mut self, name: &CStr) {
        let length = self.path.len() - name.to_bytes().len();
        self.path.truncate(length.saturating_sub(1));
    }

    /// The contents of a directory, last one first.
    fn names(&mut self, dir: BorrowedFd<'_>) -> Result<Vec<(CString, FileType)>, Errno> {
        let mut names = Vec::new();
        let mut entries = RawDir::new(dir, self.buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                // Not every file system says.
                FileType::Unknown => match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(Errno::NOENT) => continue,
                    Err(errno) => return Err(errno),
                },
                kind => kind,
            };
            names.push((name.to_owned(), kind));
        }
        names.sort_unstable_by(|(a, _), (b, _)| b.cmp(a));
        Ok(names)
    }
}

/// The directory that the walk is in.
fn here<'a>(levels: &'a [Level], top: BorrowedFd<'a>) -> BorrowedFd<'a> {
    let open = levels.last().and_then(|level| level.fd.as_ref());
    open.map_or(top, AsFd::as_fd)
}
