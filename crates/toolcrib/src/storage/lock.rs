//! One writer at a time: [`DirLock`].

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;

use rustix::fs::{AtFlags, OFlags};

use super::dir::{DirId, DurableDir, make_private};
use super::error::StorageError;
use super::name::LOCK_NAME;

/// The right to write in a directory and the directories below that share its lock.
///
/// It excludes other processes and other threads alike, and ends when it is dropped or its process
/// dies: it is the kernel's lock on the file `.lock`, not the file's existence.
#[derive(Debug)]
pub struct DirLock {
    file: File,
    guarded: DirId,
}

impl Drop for DirLock {
    fn drop(&mut self) {
        // Closing the file would do, but for a program that is just being started elsewhere in this
        // process: until it has replaced its image, it has the file open, too.
        let _ = self.file.unlock();
    }
}

impl DurableDir {
    /// Waits for the right to write here.
    pub fn lock(&self) -> Result<DirLock, StorageError> {
        loop {
            let file = self.lock_file()?;
            match file.lock() {
                Ok(()) if self.is_current(&file)? => return Ok(self.locked(file)),
                Ok(()) => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(StorageError::io("lock", self.name(), error)),
            }
        }
    }

    /// Takes the right to write here if nobody has it.
    pub fn try_lock(&self) -> Result<Option<DirLock>, StorageError> {
        loop {
            let file = self.lock_file()?;
            match file.try_lock() {
                Ok(()) if self.is_current(&file)? => return Ok(Some(self.locked(file))),
                Ok(()) => continue,
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => {
                    return Err(StorageError::io("lock", self.name(), error));
                }
            }
        }
    }

    /// Panics if `lock` is the lock of another directory, which only a bug can bring about.
    pub(super) fn assert_guarded_by(&self, lock: &DirLock) {
        assert_eq!(
            lock.guarded,
            self.lock_home().id(),
            "`{}` is written under another directory's lock",
            self.name()
        );
    }

    fn locked(&self, file: File) -> DirLock {
        DirLock {
            file,
            guarded: self.lock_home().id(),
        }
    }

    /// Opens the lock file. Every time anew: threads that shared one would share the lock, too.
    fn lock_file(&self) -> Result<File, StorageError> {
        let flags = OFlags::RDWR | OFlags::CREATE;
        let file = self
            .lock_home()
            .open_at(LOCK_NAME, flags)
            .map_err(|e| StorageError::io("lock", self.name(), e))?;
        make_private(&file).map_err(|e| StorageError::io("lock", self.name(), e))?;
        Ok(file)
    }

    /// Whether `file` is still the lock file: while we waited, somebody may have removed it, and
    /// others would lock its successor.
    fn is_current(&self, file: &File) -> Result<bool, StorageError> {
        let ours = file
            .metadata()
            .map_err(|e| StorageError::io("lock", self.name(), e))?;
        match rustix::fs::statat(
            self.lock_home().file(),
            LOCK_NAME,
            AtFlags::SYMLINK_NOFOLLOW,
        ) {
            Ok(there) => Ok(there.st_ino == ours.ino()),
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(error) => Err(StorageError::io("lock", self.name(), error)),
        }
    }
}
