//! [`DurableDir`]: opening, creating, reading and listing. Writing is in `write.rs`.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::error::StorageError;
use super::lock::DirLock;
use super::name::check_name;

const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);
const PRIVATE_DIR: Mode = Mode::RWXU;

/// A directory of Toolcrib's home.
///
/// ```
/// # let home = tempfile::tempdir()?;
/// use toolcrib::storage::DurableDir;
/// let dir = DurableDir::create(home.path().join("state"))?;
/// let lock = dir.lock()?;
/// dir.write(&lock, "flags.json", b"{}")?;
/// assert_eq!(dir.read("flags.json", 1024)?.as_deref(), Some(b"{}".as_slice()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct DurableDir {
    handle: Arc<DirHandle>,
    /// The directory whose lock file guards this one: itself, or one above.
    lock_home: Arc<DirHandle>,
    /// For messages: the last component of the path.
    name: Arc<str>,
}

/// An open directory and which one it is.
#[derive(Debug)]
pub(super) struct DirHandle {
    file: File,
    id: DirId,
}

/// Device and inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DirId(u64, u64);

impl DirHandle {
    fn new(file: File) -> io::Result<Arc<Self>> {
        let metadata = file.metadata()?;
        Ok(Arc::new(DirHandle {
            file,
            id: DirId(metadata.dev(), metadata.ino()),
        }))
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn id(&self) -> DirId {
        self.id
    }

    /// Opens an entry; follows no link and waits for no pipe. New files are for us only.
    pub(super) fn open_at(&self, name: &str, flags: OFlags) -> rustix::io::Result<File> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        rustix::fs::openat(&self.file, name, flags, PRIVATE_FILE).map(File::from)
    }

    /// Makes what happened to the entries survive a power failure.
    pub(super) fn sync(&self) -> io::Result<()> {
        sync_dir(&self.file)
    }
}

impl DurableDir {
    /// Opens a directory; creates it, and what is missing above it, when it is not there.
    ///
    /// New directories are for their owner only, whatever the umask. Existing ones keep their
    /// mode: someone chose it.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, StorageError> {
        let path = path.as_ref();
        if let Some(dir) = Self::open(path)? {
            return Ok(dir);
        }
        create_private(path).map_err(|e| StorageError::io("create", &last_component(path), e))?;
        Self::open(path)?
            .ok_or_else(|| StorageError::io("create", &last_component(path), Errno::NOENT))
    }

    /// Whether both are the same directory, and not one that took the place of the other.
    #[doc(hidden)]
    pub fn is_same(&self, other: &DurableDir) -> bool {
        self.handle.id() == other.handle.id()
    }

    /// Opens a directory if there is one. Creates nothing. A link that leads nowhere is something, and an error.
    pub fn open(path: impl AsRef<Path>) -> Result<Option<Self>, StorageError> {
        let path = path.as_ref();
        let name = last_component(path);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let is_link = |path: &Path| {
            let there = rustix::fs::lstat(path).map(|stat| stat.st_mode);
            there.is_ok_and(|mode| FileType::from_raw_mode(mode) == FileType::Symlink)
        };
        let file = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            // The user keeps the directory elsewhere: it may be unmounted rather than empty.
            Err(Errno::NOENT) if is_link(path) => {
                let kind = io::ErrorKind::NotADirectory;
                let error = io::Error::new(kind, "it is a link that leads nowhere");
                return Err(StorageError::io("open", &name, error));
            }
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(StorageError::io("open", &name, error)),
        };
        let handle = DirHandle::new(file).map_err(|e| StorageError::io("open", &name, e))?;
        Ok(Some(DurableDir {
            lock_home: Arc::clone(&handle),
            handle,
            name: name.into(),
        }))
    }

    /// Opens a directory of a home if there is one. Where the home itself is a file, there is none; the first write reports that.
    ///
    /// Something else in the directory's place is an error: no one can tell what it would say.
    #[doc(hidden)]
    pub fn open_in_home(home: &Path, name: &str) -> Result<Option<Self>, StorageError> {
        match Self::open(home.join(name)) {
            Err(error) if error.is_not_a_directory() && !home.is_dir() => Ok(None),
            opened => opened,
        }
    }

    /// Opens a directory in this one that shares its lock, if there is one. Creates nothing.
    pub fn subdir(&self, name: &str) -> Result<Option<Self>, StorageError> {
        check_name(name)?;
        self.open_below(name)
    }

    /// Opens a directory in this one, also one with a temporary name.
    pub(super) fn open_below(&self, name: &str) -> Result<Option<Self>, StorageError> {
        let file = match self
            .handle
            .open_at(name, OFlags::RDONLY | OFlags::DIRECTORY)
        {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(StorageError::io("open", name, error)),
        };
        let handle = DirHandle::new(file).map_err(|e| StorageError::io("open", name, e))?;
        Ok(Some(DurableDir {
            handle,
            lock_home: Arc::clone(&self.lock_home),
            name: name.into(),
        }))
    }

    /// Opens a directory in this one that shares its lock; creates it when it is not there.
    pub fn create_subdir(&self, lock: &DirLock, name: &str) -> Result<Self, StorageError> {
        self.assert_guarded_by(lock);
        if let Some(dir) = self.subdir(name)? {
            return Ok(dir);
        }
        let failed = |e: io::Error| StorageError::io("create", name, e);
        rustix::fs::mkdirat(self.handle.file(), name, PRIVATE_DIR).map_err(|e| failed(e.into()))?;
        rustix::fs::chmodat(self.handle.file(), name, PRIVATE_DIR, AtFlags::empty())
            .map_err(|e| failed(e.into()))?;
        self.handle.sync().map_err(failed)?;
        self.subdir(name)?
            .ok_or_else(|| failed(Errno::NOENT.into()))
    }

    /// Reads a file of at most `max_bytes`. `None` when there is none.
    pub fn read(&self, name: &str, max_bytes: u64) -> Result<Option<Vec<u8>>, StorageError> {
        self.read_if(name, max_bytes, |_| None)
    }

    /// Reads a file that others are believed by: one that belongs to another user (but root), or that others may write, is refused.
    pub fn read_own(&self, name: &str, max_bytes: u64) -> Result<Option<Vec<u8>>, StorageError> {
        self.read_if(name, max_bytes, |found| {
            if found.uid() != rustix::process::geteuid().as_raw() && found.uid() != 0 {
                Some("it belongs to another user, who may have written anything into it; remove it, or `chown` it if it is yours")
            } else if found.mode() & 0o022 != 0 {
                Some("others may write it; look at it, then `chmod go-w` it")
            } else {
                None
            }
        })
    }

    fn read_if(
        &self,
        name: &str,
        max_bytes: u64,
        problem: impl Fn(&std::fs::Metadata) -> Option<&'static str>,
    ) -> Result<Option<Vec<u8>>, StorageError> {
        let Some(file) = self.open_file(name)? else {
            return Ok(None);
        };
        let failed = |e| StorageError::io("read", name, e);
        let too_large = || StorageError::TooLarge {
            name: name.to_owned(),
            limit: max_bytes,
        };
        let found = file.metadata().map_err(failed)?;
        if let Some(problem) = problem(&found) {
            let refused = io::Error::new(io::ErrorKind::PermissionDenied, problem);
            return Err(failed(refused));
        }
        let size = found.len();
        if size > max_bytes {
            return Err(too_large());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        // One more than allowed, in case the file grows while we read.
        file.take(max_bytes.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        if bytes.len() as u64 > max_bytes {
            return Err(too_large());
        }
        Ok(Some(bytes))
    }

    /// Lists the files, sorted by name: regular files with names of ours, without the lock and
    /// without what a dead writer left.
    pub fn list(&self) -> Result<Vec<String>, StorageError> {
        self.entries(FileType::RegularFile, |name| check_name(name).is_ok())
    }

    /// Lists the directories, sorted by name.
    pub fn subdirs(&self) -> Result<Vec<String>, StorageError> {
        self.entries(FileType::Directory, |name| check_name(name).is_ok())
    }

    /// Opens a regular file for reading, if there is one.
    #[doc(hidden)]
    pub fn open_file(&self, name: &str) -> Result<Option<File>, StorageError> {
        check_name(name)?;
        match self.handle.open_at(name, OFlags::RDONLY) {
            Ok(file) => regular(file, name).map(Some),
            Err(Errno::NOENT) => Ok(None),
            // A symbolic link; a socket.
            Err(Errno::LOOP | Errno::NXIO) => Err(StorageError::NotAFile {
                name: name.to_owned(),
            }),
            Err(error) => Err(StorageError::io("read", name, error)),
        }
    }

    /// Opens a regular file for appending (and reading), creates it if need be.
    ///
    /// Without a lock, for the call log only: it has many writers at once, and whole lines.
    #[doc(hidden)]
    pub fn open_to_append(&self, name: &str) -> Result<File, StorageError> {
        check_name(name)?;
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE;
        let file = match self.handle.open_at(name, flags) {
            Ok(file) => regular(file, name)?,
            Err(Errno::LOOP | Errno::ISDIR | Errno::NXIO) => {
                return Err(StorageError::NotAFile {
                    name: name.to_owned(),
                });
            }
            Err(error) => return Err(StorageError::io("append to", name, error)),
        };
        make_private(&file).map_err(|e| StorageError::io("append to", name, e))?;
        Ok(file)
    }

    /// Makes files that were created or removed without a lock survive a power failure.
    #[doc(hidden)]
    pub fn sync(&self) -> Result<(), StorageError> {
        self.handle
            .sync()
            .map_err(|e| StorageError::io("sync", &self.name, e))
    }

    /// The entries of one type whose name is wanted, sorted.
    pub(super) fn entries(
        &self,
        wanted: FileType,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, StorageError> {
        let failed = |e| StorageError::io("list", &self.name, e);
        let mut names = Vec::new();
        for entry in Dir::read_from(self.handle.file()).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if !is_wanted(name) {
                continue;
            }
            let file_type = match entry.file_type() {
                // Some file systems do not say.
                FileType::Unknown => {
                    match rustix::fs::statat(self.handle.file(), name, AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                        Err(Errno::NOENT) => continue,
                        Err(error) => return Err(failed(error)),
                    }
                }
                known => known,
            };
            if file_type == wanted {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    pub(super) fn handle(&self) -> &DirHandle {
        &self.handle
    }

    pub(super) fn lock_home(&self) -> &DirHandle {
        &self.lock_home
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// Creates a directory and what is missing above it, for us only.
fn create_private(path: &Path) -> io::Result<()> {
    match rustix::fs::mkdir(path, PRIVATE_DIR) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Ok(()),
        Err(Errno::NOENT) => {
            let parent = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty())
                .ok_or(Errno::NOENT)?;
            create_private(parent)?;
            match rustix::fs::mkdir(path, PRIVATE_DIR) {
                Ok(()) => {}
                Err(Errno::EXIST) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Err(error) => return Err(error.into()),
    }
    // A strict umask has taken bits away that we need ourselves.
    rustix::fs::chmod(path, PRIVATE_DIR)?;
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    sync_dir(&File::open(parent)?)
}

/// Gives a file the mode 0600, which the umask may have prevented and a copy have lost.
pub(super) fn make_private(file: &File) -> io::Result<()> {
    if file.metadata()?.mode() & 0o7777 != 0o600 {
        rustix::fs::fchmod(file, PRIVATE_FILE)?;
    }
    Ok(())
}

fn sync_dir(dir: &File) -> io::Result<()> {
    match dir.sync_all() {
        // Some network file systems sync no directories; there is no better way.
        Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => Ok(()),
        result => result,
    }
}

fn regular(file: File, name: &str) -> Result<File, StorageError> {
    if file
        .metadata()
        .map_err(|e| StorageError::io("read", name, e))?
        .is_file()
    {
        Ok(file)
    } else {
        Err(StorageError::NotAFile {
            name: name.to_owned(),
        })
    }
}

fn last_component(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}
