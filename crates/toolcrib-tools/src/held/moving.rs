//! Moving things between a workspace and the home, byte for byte, without following a link.
//!
//! The workspace is hostile ground: whatever is in it may be exchanged at any moment. So every step starts from an open
//! directory and names one entry of it. `copying.rs` copies where something cannot be moved, or must not be shared.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, RenameFlags, Stat, Uid};
use rustix::io::Errno;
use uuid::Uuid;

use super::CONTENT;
use super::copying::{Allowance, Copier, MAX_DEPTH};
use crate::model::digest;
use crate::workspace::{PLACE, Workspace};

/// How long a name may be, in bytes.
const MAX_NAME: usize = 255;
/// How much of a file is compared.
const MAX_COMPARED: u64 = 4 << 20;

/// A name in an open directory.
pub(super) struct DirEntry {
    dir: OwnedFd,
    name: OsString,
}

/// A replacement.
pub(super) struct Replacement<'a> {
    pub(super) content: &'a [u8],
    /// When what it was made of last changed, where that is known.
    pub(super) changed: Option<(i64, i64)>,
    /// Whether it must not wait.
    pub(super) is_urgent: bool,
}

/// Whether something may be moved by copying it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Copying<'a> {
    Allowed(&'a Allowance),
    Refused,
}

/// Whether something was moved.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Moved {
    Yes,
    /// Something is there already.
    Occupied,
}

impl DirEntry {
    /// A path of a workspace whose directory is there.
    pub(super) fn of(workspace: &Workspace, path: &Path) -> io::Result<Self> {
        let (dir, name) = workspace.open_parent_exactly(path)?;
        Ok(DirEntry { dir, name })
    }

    /// A path of a workspace; the directories on its way are made.
    pub(super) fn made(workspace: &Workspace, path: &Path) -> io::Result<Self> {
        let above: Vec<&Path> = path.ancestors().skip(1).collect();
        for directory in above
            .into_iter()
            .rev()
            .filter(|path| !path.as_os_str().is_empty())
        {
            let place = Self::of(workspace, directory)?;
            match rustix::fs::mkdirat(&place.dir, &place.name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Self::of(workspace, path)
    }

    /// Where the content of something held is.
    pub(super) fn in_home(directory: &Path) -> io::Result<Self> {
        let flags = PLACE | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(DirEntry {
            dir: rustix::fs::openat(CWD, directory, flags, Mode::empty())?,
            name: CONTENT.into(),
        })
    }

    fn sibling(&self, name: impl Into<OsString>) -> io::Result<Self> {
        Ok(DirEntry {
            dir: self.dir.try_clone()?,
            name: name.into(),
        })
    }

    /// Moves what is here to another place where nothing is. Where that is on another disk it is copied and removed, if that may be: what a
    /// program writes into an open file would be lost.
    pub(super) fn move_to(&self, to: &DirEntry, copying: Copying<'_>) -> io::Result<Moved> {
        let rename = || {
            rustix::fs::renameat_with(
                &self.dir,
                &self.name,
                &to.dir,
                &to.name,
                RenameFlags::NOREPLACE,
            )
        };
        let error = match opened(&[&self.dir, &to.dir], rename) {
            Ok(()) => return Ok(Moved::Yes),
            Err(Errno::EXIST) => return Ok(Moved::Occupied),
            Err(error) => error,
        };
        let allowance = match (error, copying) {
            // A directory that is read-only cannot be moved to another one: its `..` would change.
            (Errno::XDEV | Errno::INVAL | Errno::ACCESS, Copying::Allowed(allowance)) => allowance,
            (error, _) => return Err(error.into()),
        };
        // Under another name until it is whole.
        let part = to.sibling(temporary(&Uuid::now_v7().to_string()))?;
        let mut copier = Copier::new(allowance);
        let copied = copier.copy(
            self.dir.as_fd(),
            &self.name,
            part.dir.as_fd(),
            &part.name,
            MAX_DEPTH,
        );
        let placed = copied.and_then(|()| {
            rustix::fs::renameat_with(
                &part.dir,
                &part.name,
                &to.dir,
                &to.name,
                RenameFlags::NOREPLACE,
            )
        });
        if let Err(error) = placed {
            let _ = remove(part.dir.as_fd(), &part.name, MAX_DEPTH);
            return match error {
                Errno::EXIST => Ok(Moved::Occupied),
                error => Err(error.into()),
            };
        }
        let removed = opened(&[&self.dir], || {
            remove(self.dir.as_fd(), &self.name, MAX_DEPTH)
        });
        if let Err(error) = removed {
            // It is still where it was; of a directory a part may be gone, and the copy stays.
            if !self.is_directory() {
                let _ = remove(to.dir.as_fd(), &to.name, MAX_DEPTH);
            }
            return Err(error.into());
        }
        Ok(Moved::Yes)
    }

    /// Puts a copy in the place of what is here; the original is then beside it, under the name given.
    pub(super) fn replace_by_copy(&self, name: &str, allowance: &Allowance) -> io::Result<()> {
        let copy = self.sibling(name)?;
        Copier::new(allowance).copy(
            self.dir.as_fd(),
            &self.name,
            copy.dir.as_fd(),
            &copy.name,
            MAX_DEPTH,
        )?;
        rustix::fs::renameat_with(
            &self.dir,
            &self.name,
            &copy.dir,
            &copy.name,
            RenameFlags::EXCHANGE,
        )?;
        Ok(())
    }

    fn is_directory(&self) -> bool {
        rustix::fs::statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
    }

    /// Moves what is here over whatever file is at another place.
    pub(super) fn move_over(&self, to: &DirEntry) -> io::Result<Moved> {
        let rename = || rustix::fs::renameat(&self.dir, &self.name, &to.dir, &to.name);
        match opened(&[&self.dir, &to.dir], rename) {
            Err(Errno::XDEV) => {}
            moved => return Ok(moved.map(|()| Moved::Yes)?),
        }
        let beside = to.sibling(temporary(&Uuid::now_v7().to_string()))?;
        self.move_to(&beside, Copying::Allowed(&Allowance::unbounded()))?;
        rustix::fs::renameat(&beside.dir, &beside.name, &to.dir, &to.name)?;
        Ok(Moved::Yes)
    }

    /// Puts a file with this content in the place of what is here, which goes to `to`; at no moment is nothing here. While this works git
    /// changes nothing: it takes a file of that name, with the ending `lock`, for another git at work.
    ///
    /// Where another git is at work, or what is here has changed since the time given, that is an error, unless the run has ended.
    pub(super) fn exchange(
        &self,
        replacement: &Replacement<'_>,
        id: &str,
        to: &DirEntry,
        allowance: &Allowance,
    ) -> io::Result<()> {
        Opened::of(&self.dir).run(|| self.exchange_here(replacement, id, to, allowance))
    }

    fn exchange_here(
        &self,
        replacement: &Replacement<'_>,
        id: &str,
        to: &DirEntry,
        allowance: &Allowance,
    ) -> io::Result<()> {
        let before = rustix::fs::statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        // Whole before it gets a name that means something to git.
        let mut beside = self.sibling(temporary(id))?;
        beside.write_like(replacement.content, &before)?;
        let lock = self.lock()?;
        match rustix::fs::renameat_with(
            &beside.dir,
            &beside.name,
            &lock.dir,
            &lock.name,
            RenameFlags::NOREPLACE,
        ) {
            Ok(()) => beside = lock,
            Err(Errno::EXIST) if replacement.is_urgent => {}
            Err(error) => {
                let _ = rustix::fs::unlinkat(&beside.dir, &beside.name, AtFlags::empty());
                return Err(error.into());
            }
        }
        let now = rustix::fs::statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        let changed = (now.st_ctime as i64, now.st_ctime_nsec as i64);
        if !replacement.is_urgent && replacement.changed.is_some_and(|then| then != changed) {
            let _ = rustix::fs::unlinkat(&beside.dir, &beside.name, AtFlags::empty());
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let exchanged = rustix::fs::renameat_with(
            &beside.dir,
            &beside.name,
            &self.dir,
            &self.name,
            RenameFlags::EXCHANGE,
        );
        if let Err(error) = exchanged {
            let _ = rustix::fs::unlinkat(&beside.dir, &beside.name, AtFlags::empty());
            return Err(error.into());
        }
        let copying = match replacement.is_urgent {
            true => Copying::Allowed(allowance),
            false => Copying::Refused,
        };
        match beside.move_to(to, copying) {
            Ok(Moved::Yes) => Ok(()),
            moved => {
                // It must not stay under a name of ours.
                let _ = rustix::fs::renameat(&beside.dir, &beside.name, &self.dir, &self.name);
                moved?;
                Err(io::ErrorKind::AlreadyExists.into())
            }
        }
    }

    /// Brings an exchange to its end that was cut short: what was here goes to `to` if the replacement is here already; if it is not, it
    /// goes away.
    pub(super) fn resume_exchange(
        &self,
        replaced_by: Option<&str>,
        id: &str,
        to: &DirEntry,
    ) -> io::Result<()> {
        let is_replacement = |place: &DirEntry| place.digest().as_deref() == replaced_by;
        let mine = self.sibling(temporary(id))?;
        let lock = self.lock()?;
        for beside in [&mine, &lock] {
            let is_there = beside.digest().is_some();
            if is_there && is_replacement(self) && !is_replacement(beside) {
                // It may have been copied already.
                let copying = Copying::Allowed(&Allowance::unbounded());
                if beside.move_to(to, copying)? == Moved::Occupied && beside.digest() == to.digest()
                {
                    rustix::fs::unlinkat(&beside.dir, &beside.name, AtFlags::empty())?;
                }
                return Ok(());
            }
            // Whatever has a name of ours is ours; a lock only if it is the replacement.
            if is_there && (beside.name == mine.name || is_replacement(beside)) {
                rustix::fs::unlinkat(&beside.dir, &beside.name, AtFlags::empty())?;
            }
        }
        Ok(())
    }

    /// The file that keeps git from changing this one.
    fn lock(&self) -> io::Result<Self> {
        let mut lock = self.name.clone();
        lock.push(".lock");
        self.sibling(lock)
    }

    /// Makes a file where nothing is.
    pub(super) fn write(&self, content: &[u8]) -> io::Result<()> {
        Opened::of(&self.dir).run(|| {
            let mut file = self.create(Mode::from_raw_mode(0o644))?;
            file.write_all(content)
        })
    }

    fn create(&self, mode: Mode) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.dir, &self.name, flags, mode)?.into())
    }

    /// Makes a file with the owner and mode of another one.
    fn write_like(&self, content: &[u8], like: &Stat) -> io::Result<()> {
        let mut file = self.create(Mode::from_raw_mode(0o600))?;
        file.write_all(content)?;
        let is_file = FileType::from_raw_mode(like.st_mode) == FileType::RegularFile;
        let mode = if is_file { like.st_mode & 0o777 } else { 0o644 };
        let _ = rustix::fs::fchown(
            &file,
            Some(Uid::from_raw(like.st_uid)),
            Some(Gid::from_raw(like.st_gid)),
        );
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode | 0o600))?;
        Ok(())
    }

    /// Makes a directory here, or opens the one that is here to its owner again. Returns whether something else is in the way.
    pub(super) fn make_directory(&self) -> io::Result<Moved> {
        let flags = PLACE | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let make = || rustix::fs::mkdirat(&self.dir, &self.name, Mode::from_raw_mode(0o755));
        match opened(&[&self.dir], make) {
            Ok(()) => return Ok(Moved::Yes),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let made = match rustix::fs::openat(&self.dir, &self.name, flags, Mode::empty()) {
            Ok(made) => made,
            Err(Errno::NOTDIR | Errno::LOOP) => return Ok(Moved::Occupied),
            Err(error) => return Err(error.into()),
        };
        set_mode(&made, Mode::from_raw_mode(0o755))?;
        Ok(Moved::Yes)
    }

    /// Gives what is here a name beside it that no program looks for.
    pub(super) fn rename_aside(&self, id: &str) -> io::Result<OsString> {
        let ending = format!(".held-{id}");
        let bytes = self.name.as_bytes();
        let kept = bytes.len().min(MAX_NAME - ending.len());
        let mut name = OsStr::from_bytes(&bytes[..kept]).to_owned();
        name.push(ending);
        opened(&[&self.dir], || {
            rustix::fs::renameat_with(
                &self.dir,
                &self.name,
                &self.dir,
                &name,
                RenameFlags::NOREPLACE,
            )
        })?;
        Ok(name)
    }

    /// A digest of the file that is here; none if there is none, and of a long one of its beginning.
    pub(super) fn digest(&self) -> Option<String> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.dir, &self.name, flags, Mode::empty()).ok()?;
        let mut bytes = Vec::new();
        File::from(file)
            .take(MAX_COMPARED)
            .read_to_end(&mut bytes)
            .ok()?;
        Some(digest::of_bytes(&bytes))
    }
}

/// Does something in directories; where that is refused, once more with those open to their owner, if that is us. A command can close a
/// directory to keep what it planted in it.
fn opened<T>(dirs: &[&OwnedFd], work: impl Fn() -> Result<T, Errno>) -> Result<T, Errno> {
    match work() {
        Err(Errno::ACCESS) => {}
        done => return done,
    }
    let _open: Vec<Opened<'_>> = dirs.iter().map(|dir| Opened::of(dir)).collect();
    work()
}

/// A directory that is open to its owner for as long as this lives.
struct Opened<'d> {
    dir: &'d OwnedFd,
    /// Its own mode, if that is another one.
    mode: Option<Mode>,
}

impl<'d> Opened<'d> {
    fn of(dir: &'d OwnedFd) -> Self {
        let closed = rustix::fs::fstat(dir).ok().filter(|stat| {
            Uid::from_raw(stat.st_uid) == rustix::process::geteuid()
                && stat.st_mode & 0o300 != 0o300
        });
        let mode = closed.map(|stat| Mode::from_raw_mode(stat.st_mode));
        let this = Opened { dir, mode };
        if let Some(mode) = mode {
            let _ = set_mode(this.dir, mode | Mode::RWXU);
        }
        this
    }

    fn run<T>(self, work: impl FnOnce() -> T) -> T {
        work()
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        if let Some(mode) = self.mode {
            let _ = set_mode(self.dir, mode);
        }
    }
}

/// Changes the mode of what is open, even if its descriptor only names it. A name could lead elsewhere by now.
pub(super) fn set_mode(open: &OwnedFd, mode: Mode) -> Result<(), Errno> {
    crate::workspace::set_mode(open, mode)
}

/// Opens an entry of a directory to name it, whatever it is.
pub(super) fn pin(dir: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = PLACE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, Mode::empty())
}

/// Opens a directory to read it; one that is closed is opened to its owner first.
fn open_up(dir: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let named = rustix::fs::openat(dir, name, flags | PLACE, Mode::empty())?;
    let _ = set_mode(&named, Mode::RWXU);
    rustix::fs::openat(&named, ".", flags | OFlags::RDONLY, Mode::empty())
}

/// A name for what is on its way.
pub(super) fn temporary(id: &str) -> String {
    format!(".toolcrib-{id}")
}

pub(super) fn entries(dir: &OwnedFd) -> Result<Vec<OsString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name != "." && name != ".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

fn remove(from: BorrowedFd<'_>, name: &OsStr, depth: usize) -> Result<(), Errno> {
    match rustix::fs::unlinkat(from, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) if depth > 0 => {}
        removed => return removed,
    }
    let inside = open_up(from, name)?;
    for entry in entries(&inside)? {
        remove(inside.as_fd(), &entry, depth - 1)?;
    }
    rustix::fs::unlinkat(from, name, AtFlags::REMOVEDIR)
}

/// Removes something of the home with all beneath, however deep it is: directories are moved up before they are looked into. A command
/// that still runs may have one of them open, and put links into it.
pub(super) fn remove_all(path: &Path) -> io::Result<()> {
    let top = File::open(path.parent().unwrap_or(Path::new("/")))?;
    let is_gone = |removed: Result<(), Errno>| match removed {
        Ok(()) | Err(Errno::NOENT) => Ok(true),
        Err(Errno::ISDIR | Errno::PERM) => Ok(false),
        Err(error) => Err(error),
    };
    let name = path.file_name().unwrap_or_default();
    if is_gone(rustix::fs::unlinkat(&top, name, AtFlags::empty()))? {
        return Ok(());
    }
    let mut queue = vec![name.to_owned()];
    while let Some(name) = queue.pop() {
        let directory = open_up(top.as_fd(), &name)?;
        for entry in entries(&directory)? {
            if is_gone(rustix::fs::unlinkat(&directory, &entry, AtFlags::empty()))? {
                continue;
            }
            // A directory that is closed to its owner cannot be moved.
            open_up(directory.as_fd(), &entry)?;
            let up = OsString::from(temporary(&Uuid::now_v7().to_string()));
            rustix::fs::renameat(&directory, &entry, &top, &up)?;
            queue.push(up);
        }
        rustix::fs::unlinkat(&top, &name, AtFlags::REMOVEDIR)?;
    }
    Ok(())
}

/// The beginning of a file, if it is text.
pub(super) fn beginning(path: &Path, most: usize) -> Option<String> {
    let mut bytes = Vec::new();
    // What was a file may be a link or a pipe by now.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path);
    file.ok()?.take(most as u64).read_to_end(&mut bytes).ok()?;
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Some(text),
        // Cut inside a character.
        Err(error) if error.utf8_error().error_len().is_none() => {
            let whole = error.utf8_error().valid_up_to();
            String::from_utf8(error.into_bytes().get(..whole)?.to_vec()).ok()
        }
        _ => None,
    }
}

/// Makes a directory of the home, for its owner only.
pub(super) fn private_directory(path: &Path) -> io::Result<()> {
    match fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
    {
        Ok(()) => {}
        Err(error) => return Err(error),
    }
    // A strict umask has taken bits away that we need ourselves.
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}
