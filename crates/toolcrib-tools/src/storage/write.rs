//! Writing: everything that changes a [`DurableDir`] under its lock.

use std::fs::File;
use std::io::Write as _;

use rustix::fs::{AtFlags, FileType, OFlags, RenameFlags};
use rustix::io::Errno;

use super::dir::{DirHandle, DurableDir, make_private};
use super::error::StorageError;
use super::lock::DirLock;
use super::name::{check_name, is_temp, temp_name};

impl DurableDir {
    /// Makes `bytes` the content of a file, whether there was one or not.
    ///
    /// On success the content survives a power failure. On error the file is as it was, with one
    /// exception: if the directory's `fsync` fails, the new content is in place but not known to
    /// be on the disk. A retry writes everything again; it never takes a second `fsync` for proof.
    pub fn write(&self, lock: &DirLock, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
        let temp = self.write_temp(lock, name, bytes)?;
        temp.rename_to(name)
            .map_err(|e| StorageError::io("write", name, e))?;
        self.handle()
            .sync()
            .map_err(|e| StorageError::io("write", name, e))
    }

    /// Makes a new file; [`StorageError::Exists`] if there is something of that name already.
    ///
    /// On error there is no such file.
    pub fn create_new(&self, lock: &DirLock, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
        let temp = self.write_temp(lock, name, bytes)?;
        temp.rename_to_new(name).map_err(|error| match error {
            Errno::EXIST => StorageError::Exists {
                name: name.to_owned(),
            },
            error => StorageError::io("create", name, error),
        })?;
        self.handle().sync().map_err(|error| {
            // Or a retry would find it there and refuse.
            let _ = rustix::fs::unlinkat(self.handle().file(), name, AtFlags::empty());
            StorageError::io("create", name, error)
        })
    }

    /// Makes `bytes` the content of a file that is there. On error it is as it was, also when the directory's `fsync` fails, if only
    /// the file system can exchange two files.
    #[doc(hidden)]
    pub fn replace(&self, lock: &DirLock, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
        let failed = |e: std::io::Error| StorageError::io("write", name, e);
        let temp = self.write_temp(lock, name, bytes)?;
        let exchange = || {
            let dir = self.handle().file();
            rustix::fs::renameat_with(dir, &temp.name, dir, name, RenameFlags::EXCHANGE)
        };
        match exchange() {
            Ok(()) => self.handle().sync().map_err(|error| {
                // The temporary file has the old content until it is dropped.
                let _ = exchange();
                failed(error)
            }),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                temp.rename_to(name).map_err(|e| failed(e.into()))?;
                self.handle().sync().map_err(failed)
            }
            Err(error) => Err(failed(error.into())),
        }
    }

    /// Removes a file for good. Returns whether there was one. On error it is there still, also when the directory's `fsync` fails.
    #[doc(hidden)]
    pub fn remove_whole(&self, lock: &DirLock, name: &str) -> Result<bool, StorageError> {
        self.assert_guarded_by(lock);
        check_name(name)?;
        let dir = self.handle().file();
        let aside = temp_name();
        match rustix::fs::renameat(dir, name, dir, &aside) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(false),
            Err(error) => return Err(StorageError::io("remove", name, error)),
        }
        self.handle().sync().map_err(|error| {
            let _ = rustix::fs::renameat(dir, &aside, dir, name);
            StorageError::io("remove", name, error)
        })?;
        // Should this fail, `sweep` gets it.
        let _ = rustix::fs::unlinkat(dir, &aside, AtFlags::empty());
        Ok(true)
    }

    /// Removes a file. Returns whether there was one.
    pub fn remove(&self, lock: &DirLock, name: &str) -> Result<bool, StorageError> {
        self.assert_guarded_by(lock);
        check_name(name)?;
        let removed = match rustix::fs::unlinkat(self.handle().file(), name, AtFlags::empty()) {
            Ok(()) => true,
            Err(Errno::NOENT) => false,
            Err(error) => return Err(StorageError::io("remove", name, error)),
        };
        // Also when it was gone: a first attempt may have failed right here.
        self.handle()
            .sync()
            .map_err(|e| StorageError::io("remove", name, e))?;
        Ok(removed)
    }

    /// Gives a file another name, whatever had that before. No `fsync`: a crash may bring the old name back.
    #[doc(hidden)]
    pub fn rename(&self, lock: &DirLock, from: &str, to: &str) -> Result<(), StorageError> {
        self.assert_guarded_by(lock);
        check_name(from)?;
        check_name(to)?;
        let dir = self.handle().file();
        rustix::fs::renameat(dir, from, dir, to).map_err(|e| StorageError::io("rename", from, e))
    }

    /// Moves whatever is there under a name into another directory, as `wanted` or, where that is taken, with a number. Returns its new
    /// name.
    pub(crate) fn move_to(
        &self,
        lock: &DirLock,
        name: &str,
        to: &DurableDir,
        wanted: &str,
    ) -> Result<String, StorageError> {
        self.assert_guarded_by(lock);
        check_name(name)?;
        self.rename_to(name, to, wanted)
    }

    /// Moves something without a lock, for what no lock guards: that lock's own file, and what is in the place of a directory.
    pub(super) fn rename_to(
        &self,
        name: &str,
        to: &DurableDir,
        wanted: &str,
    ) -> Result<String, StorageError> {
        check_name(wanted)?;
        let failed = |e: std::io::Error| StorageError::io("move", name, e);
        let (from, into) = (self.handle().file(), to.handle().file());
        for number in 1.. {
            let new = match number {
                1 => wanted.to_owned(),
                number => format!("{wanted}.{number}"),
            };
            match rustix::fs::renameat_with(from, name, into, &new, RenameFlags::NOREPLACE) {
                Ok(()) => {
                    let synced = to.handle().sync().and_then(|()| self.handle().sync());
                    return match synced {
                        Ok(()) => Ok(new),
                        Err(error) => {
                            let _ = rustix::fs::renameat(into, &new, from, name);
                            Err(failed(error))
                        }
                    };
                }
                Err(Errno::EXIST) if number < 1000 => {}
                // Not every file system can refuse; then look.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP)
                    if to.stamp_of(&new)?.is_none() =>
                {
                    rustix::fs::renameat(from, name, into, &new).map_err(|e| failed(e.into()))?;
                    to.handle().sync().map_err(failed)?;
                    self.handle().sync().map_err(failed)?;
                    return Ok(new);
                }
                Err(error) => return Err(failed(error.into())),
            }
        }
        unreachable!("the numbers end in an error")
    }

    /// Removes the temporary files of writers that died, and returns how many there were.
    ///
    /// Writers hold the lock, so whatever is found under it is no one's. Files that are not of
    /// our own making are left alone.
    pub fn sweep(&self, lock: &DirLock) -> Result<usize, StorageError> {
        self.assert_guarded_by(lock);
        let stale = self.entries(FileType::RegularFile, is_temp)?;
        for name in &stale {
            match rustix::fs::unlinkat(self.handle().file(), name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => return Err(StorageError::io("remove", name, error)),
            }
        }
        Ok(stale.len())
    }

    /// Writes a temporary file that is on the disk when this returns.
    fn write_temp(
        &self,
        lock: &DirLock,
        name: &str,
        bytes: &[u8],
    ) -> Result<TempFile<'_>, StorageError> {
        self.assert_guarded_by(lock);
        check_name(name)?;
        let failed = |e: std::io::Error| StorageError::io("write", name, e);
        let (temp, mut file) = TempFile::create(self.handle()).map_err(|e| failed(e.into()))?;
        make_private(&file).map_err(failed)?;
        file.write_all(bytes).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        Ok(temp)
    }
}

/// A temporary file, removed when dropped unless it got its name.
struct TempFile<'a> {
    dir: &'a DirHandle,
    name: String,
    is_renamed: bool,
}

impl<'a> TempFile<'a> {
    fn create(dir: &'a DirHandle) -> Result<(Self, File), Errno> {
        let name = temp_name();
        let file = dir.open_at(&name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
        Ok((
            TempFile {
                dir,
                name,
                is_renamed: false,
            },
            file,
        ))
    }

    fn rename_to(mut self, name: &str) -> Result<(), Errno> {
        rustix::fs::renameat(self.dir.file(), &self.name, self.dir.file(), name)?;
        self.is_renamed = true;
        Ok(())
    }

    fn rename_to_new(mut self, name: &str) -> Result<(), Errno> {
        let (from, to) = (self.dir.file(), self.dir.file());
        match rustix::fs::renameat_with(from, &self.name, to, name, RenameFlags::NOREPLACE) {
            Ok(()) => {
                self.is_renamed = true;
                Ok(())
            }
            // Not every file system can; a second link refuses an existing name as well.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                rustix::fs::linkat(from, &self.name, to, name, AtFlags::empty())
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        if !self.is_renamed {
            // Should this fail, too, `sweep` gets it.
            let _ = rustix::fs::unlinkat(self.dir.file(), &self.name, AtFlags::empty());
        }
    }
}
