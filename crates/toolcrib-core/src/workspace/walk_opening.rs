//! Opening what a walk through the workspace proposes.
//!
//! A walk finds names; what is behind a name by the time it is opened may be something else. Here the open is the check as everywhere: no
//! link is followed, nothing is waited for, and what is not a regular file is not read.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, OFlags, fstat};
use rustix::io::Errno;

use super::beneath::Links;
use super::open_name::real_path;
use super::system::PLACE;
use super::{Workspace, WorkspacePath};
use crate::model::error::ToolError;

/// How files are opened for reading: a FIFO has no one waited for, a terminal does not become ours.
const OPEN_FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

impl Workspace {
    /// Opens the directory that holds the last name of a path, and returns that name. The path is relative, and no link on the way is
    /// followed: what is moved is what is there, wherever someone puts a link meanwhile.
    #[doc(hidden)]
    pub fn open_parent_exactly(&self, path: &Path) -> std::io::Result<(OwnedFd, OsString)> {
        let name = path.file_name().ok_or(std::io::ErrorKind::InvalidInput)?;
        let parent = match path.parent().map(|parent| parent.as_os_str().as_bytes()) {
            None | Some(b"") => b".".as_slice(),
            Some(parent) => parent,
        };
        let flags = PLACE | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = self
            .resolver
            .open(self.root.as_fd(), parent, flags, Links::Refuse)?;
        Ok((dir, name.to_owned()))
    }

    /// Opens a regular file beneath a directory that is open already; `None` if it is something else. No link is followed.
    #[doc(hidden)]
    pub fn open_file_below(&self, dir: BorrowedFd<'_>, path: &[u8]) -> Result<Option<File>, Errno> {
        let fd = self.resolver.open(dir, path, OPEN_FILE, Links::Refuse)?;
        let is_file = FileType::from_raw_mode(fstat(&fd)?.st_mode) == FileType::RegularFile;
        Ok(is_file.then(|| File::from(fd)))
    }

    /// Opens a directory to walk through, and says where it is: relative to the workspace, without links, empty for the workspace itself.
    #[doc(hidden)]
    pub fn open_tree(&self, path: &WorkspacePath) -> Result<(OwnedFd, PathBuf), ToolError> {
        let top = self.open_dir(path)?;
        let place = match real_path(self.root.as_fd()) {
            Ok(_) => self.place_of(top.as_fd(), path)?,
            // Without /proc links in the path stay in it.
            Err(_) => as_written(path),
        };
        Ok((top, place))
    }
}

impl Workspace {
    /// Where a path leads that goes through a link, relative to the workspace; `None` where no link is on the way, or no one can tell.
    /// A path that does not exist yet leads to where it would be made.
    pub(crate) fn led_to(&self, path: &WorkspacePath) -> Option<PathBuf> {
        let flags = PLACE | OFlags::CLOEXEC;
        let open = |links| {
            let text = path.as_str().as_bytes();
            self.resolver.open(self.root.as_fd(), text, flags, links)
        };
        let is_new = match open(Links::Refuse) {
            Err(Errno::LOOP) => match open(Links::Follow) {
                Ok(found) => return self.place_of(found.as_fd(), path).ok(),
                Err(errno) => errno == Errno::NOENT,
            },
            Err(errno) => errno == Errno::NOENT,
            Ok(_) => false,
        };
        if !is_new {
            return None;
        }
        let (parent, name) = self.open_parent(path).ok()?;
        let place = self.place_of(parent.as_fd(), path).ok()?.join(name);
        (place != as_written(path)).then_some(place)
    }
}

/// The names of a path, as far as its text shows.
#[doc(hidden)]
pub fn as_written(path: &WorkspacePath) -> PathBuf {
    let mut place = PathBuf::new();
    for component in Path::new(path.as_str()).components() {
        match component {
            Component::Normal(name) => place.push(name),
            Component::ParentDir => place.push(".."),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    place
}
