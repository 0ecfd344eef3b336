//! One writer at a time: [`DirLock`].

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;

use rustix::fs::{AtFlags, OFlags};

use super::count::{self, Generation};
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
    counted: Option<Counted>,
}

/// The numbers of a writer that counts.
#[derive(Debug, Clone, Copy)]
struct Counted {
    found: Generation,
    /// Odd.
    now: u64,
}

impl DirLock {
    /// What the lock file said before this writer counted.
    #[doc(hidden)]
    pub fn found(&self) -> Generation {
        self.counted
            .map_or(Generation::Unknown, |counted| counted.found)
    }

    /// What the lock file says when this lock has been given back.
    #[doc(hidden)]
    pub fn generation_after(&self) -> Generation {
        self.counted
            .map_or(Generation::Unknown, |c| Generation::At(c.now + 1))
    }
}

impl Drop for DirLock {
    fn drop(&mut self) {
        if let Some(counted) = self.counted {
            // Should this fail, the number stays odd, and everybody looks until the next writer.
            let _ = count::write(&self.file, counted.now + 1);
        }
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
                Ok(()) if self.is_current(&file)? => return self.locked(file),
                Ok(()) => continue,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(StorageError::io("lock", self.name(), error)),
            }
        }
    }

    /// Takes the right to write here if no one has it.
    pub fn try_lock(&self) -> Result<Option<DirLock>, StorageError> {
        loop {
            let file = self.lock_file()?;
            match file.try_lock() {
                Ok(()) if self.is_current(&file)? => return self.locked(file).map(Some),
                Ok(()) => continue,
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => {
                    return Err(StorageError::io("lock", self.name(), error));
                }
            }
        }
    }

    /// Waits for the right to write here, and counts: who follows the number in the lock file sees that there was a writer.
    #[doc(hidden)]
    pub fn lock_counted(&self) -> Result<DirLock, StorageError> {
        self.counted(self.lock()?)
    }

    /// Like [`lock_counted`](Self::lock_counted), if no one has the right.
    #[doc(hidden)]
    pub fn try_lock_counted(&self) -> Result<Option<DirLock>, StorageError> {
        self.try_lock()?.map(|lock| self.counted(lock)).transpose()
    }

    fn counted(&self, mut lock: DirLock) -> Result<DirLock, StorageError> {
        let found = Generation::of(&lock.file);
        let now = found.of_next_writer();
        // Before anything else is written: a process that is not notified of a change does not look for it.
        count::write_over(&lock.file, found, now)
            .map_err(|e| StorageError::io("lock", self.name(), e))?;
        lock.counted = Some(Counted { found, now });
        Ok(lock)
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

    /// The lock, unless a newer version has changed the home since it was opened.
    fn locked(&self, file: File) -> Result<DirLock, StorageError> {
        let lock = DirLock {
            file,
            guarded: self.lock_home().id(),
            counted: None,
        };
        self.refuse_newer_format()?;
        Ok(lock)
    }

    /// Opens the lock file. Opened every time: threads that shared one would share the lock, too.
    fn lock_file(&self) -> Result<File, StorageError> {
        let flags = OFlags::RDWR | OFlags::CREATE;
        let file = self
            .lock_home()
            .open_at(LOCK_NAME, flags)
            .map_err(|e| StorageError::io("lock", self.name(), e))?;
        make_private(&file).map_err(|e| StorageError::io("lock", self.name(), e))?;
        Ok(file)
    }

    /// Whether `file` is still the lock file: while we waited, someone may have removed it, and
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
