//! [`OpenName`]: a name in an open directory, which creating, renaming and removing work on.
//!
//! The directory is open and beneath the workspace; whatever happens to the path that led there,
//! the name is looked up in this directory and in no other. Where that really is, after all links,
//! the kernel says (`/proc/self/fd`), and by that place it is judged whether the name is protected:
//! a link `x` to `.git/hooks` does not help, nor does another spelling.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, Stat, fsync, mkdirat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::beneath::{Links, MAX_LINKS};
use super::system::{PLACE, file_id, path_of};
use super::{InUse, OPEN_DIR, Reader, Workspace, WorkspacePath};
use crate::model::error::{ErrorCode, ToolError};

/// A name in an open directory of the workspace. There may be anything of that name, or nothing.
#[derive(Debug)]
pub(crate) struct OpenName {
    pub(super) dir: OwnedFd,
    pub(super) name: OsString,
    /// Where it is, relative to the workspace, its directory without links.
    pub(super) place: PathBuf,
    /// Where the links are that led here.
    via: Vec<PathBuf>,
    /// The path ends in a slash.
    pub(super) means_directory: bool,
}

/// What becomes of directories that are missing on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingDirs {
    /// They are an error.
    Refuse,
    /// They are made.
    Make,
}

/// How directories are opened that are only a place to work in.
const DIRECTORY: OFlags = PLACE.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Workspace {
    /// Finds the spot of a path. Its last name is not followed if it is a link. A protected name is
    /// refused.
    pub(crate) fn spot(&self, path: &WorkspacePath, verb: &str) -> Result<OpenName, ToolError> {
        let (dir, name) = self.open_parent(path)?;
        let place = self.place_of(dir.as_fd(), path)?.join(&name);
        self.check_unprotected(&place, path, verb)?;
        Ok(OpenName {
            dir,
            name,
            place,
            via: Vec::new(),
            means_directory: path.as_str().ends_with('/'),
        })
    }

    /// Finds the spot that writing to a path writes to. A protected name is refused.
    pub(super) fn spot_to_write(
        &self,
        path: &WorkspacePath,
        missing: MissingDirs,
    ) -> Result<OpenName, ToolError> {
        let spot = self.follow_to_write(path, missing)?;
        self.check_may_write(&spot, path)?;
        Ok(spot)
    }

    /// Refuses a spot if it, or a link that led there, is a protected name.
    pub(super) fn check_may_write(
        &self,
        spot: &OpenName,
        path: &WorkspacePath,
    ) -> Result<(), ToolError> {
        self.check_place(spot, path, "write")
    }

    /// Like [`check_may_write`](Self::check_may_write), for another verb than writing.
    pub(super) fn check_place(
        &self,
        spot: &OpenName,
        path: &WorkspacePath,
        verb: &str,
    ) -> Result<(), ToolError> {
        let mut places = spot.via.iter().chain([&spot.place]);
        places.try_for_each(|place| self.check_unprotected(place, path, verb))
    }

    /// Follows links of the last name as long as they stay in the workspace.
    pub(super) fn follow_to_write(
        &self,
        path: &WorkspacePath,
        missing: MissingDirs,
    ) -> Result<OpenName, ToolError> {
        let mut via = Vec::new();
        let mut text = path.as_str().as_bytes().to_vec();
        for _ in 0..=MAX_LINKS {
            let (parent, name) = WorkspacePath::split(&text);
            if !is_name(name) || text.ends_with(b"/") {
                return Err(path.fault("write", Errno::ISDIR));
            }
            let dir = self.directory_to_write_in(parent, path, missing)?;
            let name = OsStr::from_bytes(name).to_owned();
            let place = self.place_of(dir.as_fd(), path)?;
            match readlinkat(&dir, &name, Vec::new()) {
                Ok(target) => {
                    via.push(place.join(&name));
                    let target = target.into_bytes();
                    if target.starts_with(b"/") {
                        return Err(path.fault("write", Errno::XDEV));
                    }
                    text = place.into_os_string().into_vec();
                    text.push(b'/');
                    text.extend(target);
                    if text.starts_with(b"/") {
                        text.insert(0, b'.');
                    }
                }
                // It is something else, or nothing.
                Err(Errno::INVAL | Errno::NOENT) => {
                    return Ok(OpenName {
                        place: place.join(&name),
                        dir,
                        name,
                        via,
                        means_directory: false,
                    });
                }
                Err(errno) => return Err(path.fault("write", errno)),
            }
        }
        Err(path.fault("write", Errno::LOOP))
    }

    fn directory_to_write_in(
        &self,
        text: &[u8],
        path: &WorkspacePath,
        missing: MissingDirs,
    ) -> Result<OwnedFd, ToolError> {
        match (self.open_directory(text), missing) {
            (Ok(dir), _) => Ok(dir),
            (Err(Errno::NOENT), MissingDirs::Make) => self.make_directories(text, path),
            (Err(Errno::NOENT), MissingDirs::Refuse) => {
                let hint = if path.as_str().starts_with('~') {
                    "`~` is taken literally, give a path in the workspace"
                } else {
                    "set createDirs to make it"
                };
                let message =
                    format!("cannot write `{path}`: its directory does not exist; {hint}");
                Err(ToolError::new(ErrorCode::FileNotFound, message).caused_by(Errno::NOENT))
            }
            (Err(errno), _) => Err(path.fault("write", errno)),
        }
    }

    fn open_directory(&self, text: &[u8]) -> Result<OwnedFd, Errno> {
        self.resolver
            .open(self.root.as_fd(), text, DIRECTORY, Links::Follow)
    }

    /// Makes the directories of a path that are missing, one by one, each in the open directory
    /// before it.
    fn make_directories(&self, text: &[u8], path: &WorkspacePath) -> Result<OwnedFd, ToolError> {
        let failed = |errno| path.fault("make the directory of", errno);
        let mut at = b".".to_vec();
        let mut dir = self.open_directory(&at).map_err(failed)?;
        for name in text
            .split(|byte| *byte == b'/')
            .filter(|name| !name.is_empty())
        {
            at.push(b'/');
            at.extend(name);
            dir = match self.open_directory(&at) {
                Err(Errno::NOENT) if is_name(name) => {
                    let name = OsStr::from_bytes(name);
                    let place = self.place_of(dir.as_fd(), path)?.join(name);
                    self.check_unprotected(&place, path, "make the directory of")?;
                    match mkdirat(&dir, name, Mode::from_raw_mode(0o777)) {
                        // Someone else was faster, or it is a link that leads to nothing.
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(errno) => return Err(failed(errno)),
                    }
                    sync_directory(&dir).map_err(failed)?;
                    self.open_directory(&at).map_err(failed)?
                }
                opened => opened.map_err(failed)?,
            };
        }
        Ok(dir)
    }

    /// Where an open directory is, relative to the workspace and without links.
    pub(super) fn place_of(
        &self,
        dir: BorrowedFd<'_>,
        path: &WorkspacePath,
    ) -> Result<PathBuf, ToolError> {
        let (root, place) = (self.real_root()?, real_path(dir)?);
        match place.strip_prefix(&root) {
            Ok(place) => Ok(place.to_owned()),
            // Someone moved it out of the workspace since it was opened.
            Err(_) => Err(path.fault("open the directory of", Errno::XDEV)),
        }
    }

    fn real_root(&self) -> Result<PathBuf, ToolError> {
        real_path(self.root.as_fd())
    }

    /// Refuses something open that is, or lies in, Toolcrib's own data, whatever led there.
    pub(super) fn check_not_own_data(
        &self,
        opened: BorrowedFd<'_>,
        path: &WorkspacePath,
        reader: Reader,
    ) -> Result<(), ToolError> {
        let Some(own) = &self.own else { return Ok(()) };
        let is_meant = reader == Reader::Toolcrib && Path::new(path.as_str()).starts_with(own);
        if is_meant || !self.place_of(opened, path)?.starts_with(own) {
            return Ok(());
        }
        Err(ToolError::new(
            ErrorCode::PermissionDenied,
            format!(
                "cannot open `{path}`: Toolcrib stores its own data there, which tools may not read"
            ),
        ))
    }

    /// Which directory Toolcrib's own data is, if it lies in the workspace and is there: device and inode.
    #[doc(hidden)]
    pub fn own_data_identity(&self) -> Option<(u64, u64)> {
        let own = self.own.as_ref()?;
        let stat = statat(&self.root, own, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(file_id(&stat))
    }

    /// Refuses what would change a protected name.
    fn check_unprotected(
        &self,
        place: &Path,
        path: &WorkspacePath,
        verb: &str,
    ) -> Result<(), ToolError> {
        let denied = |why: String| {
            let message = format!("cannot {verb} `{path}`: {why}");
            ToolError::new(ErrorCode::PermissionDenied, message)
        };
        if let Some(own) = &self.own
            && (place.starts_with(own) || own.starts_with(place))
        {
            return Err(denied(
                "Toolcrib stores its own data there, which tools may not change".to_owned(),
            ));
        }
        let root = self.real_root()?;
        if InUse::holds(&root.join(place)) {
            let message = format!(
                "cannot {verb} `{path}`: an approved command is running it; try again when that has ended"
            );
            return Err(ToolError::new(ErrorCode::Conflict, message));
        }
        let found = toolcrib_sandbox::protected_name(&root, place);
        match found {
            Ok(None) => Ok(()),
            Ok(Some(name)) => {
                let name = name.to_string_lossy();
                Err(denied(protected(&name)).with_detail("protected", name))
            }
            // The cause names directories of the host.
            Err(error) => Err(denied(
                "something in the workspace cannot be inspected, so it is not known whether this is protected"
                    .to_owned(),
            )
            .caused_by(error)),
        }
    }
}

/// Why a protected name is left alone.
pub(super) fn protected(name: &str) -> String {
    format!(
        "`{}` is protected, because other programs run what it says; the person has to change it",
        crate::model::text::shorten(name, 256)
    )
}

impl OpenName {
    /// Looks at what is there, links not followed; nothing is `None`.
    pub(super) fn look(&self) -> Result<Option<Stat>, Errno> {
        match statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Puts the name's directory on the disk, with what was changed in it.
    pub(super) fn sync(&self) -> Result<(), Errno> {
        sync_directory(&self.dir)
    }
}

/// A directory that cannot be read cannot be synced either; what is in it is safe when the system
/// gets to it.
pub(super) fn sync_directory(dir: impl AsFd) -> Result<(), Errno> {
    match openat(dir, c".", OPEN_DIR, Mode::empty()) {
        Ok(dir) => match rustix::io::retry_on_intr(|| fsync(&dir)) {
            // Some file systems have nothing to sync.
            Err(Errno::INVAL) => Ok(()),
            synced => synced,
        },
        Err(Errno::ACCESS) => Ok(()),
        Err(errno) => Err(errno),
    }
}

fn is_name(name: &[u8]) -> bool {
    !matches!(name, b"" | b"." | b"..")
}

/// Where something open is, as the kernel knows it.
pub(super) fn real_path(fd: BorrowedFd<'_>) -> Result<PathBuf, ToolError> {
    match path_of(fd) {
        Ok(path) => Ok(path),
        Err(errno) => Err(ToolError::failed(
            "cannot find out where in the workspace this is; files can be changed only where /proc is mounted",
        )
        .caused_by(errno)),
    }
}
