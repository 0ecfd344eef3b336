//! Directories that come and go as a whole: [`NewDir`].
//!
//! A directory of files is built under a temporary name and gets its own in one step; one that goes loses its name first. Whatever is
//! found under a temporary name is no one's, and [`DurableDir::sweep_dirs`] removes it.

use std::io::Write as _;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::dir::{DurableDir, make_private};
use super::error::StorageError;
use super::lock::DirLock;
use super::name::{check_name, is_temp, temp_name};

/// A directory that has no name yet. Dropped without one, it is removed.
#[derive(Debug)]
#[doc(hidden)]
pub struct NewDir<'a> {
    parent: &'a DurableDir,
    lock: &'a DirLock,
    dir: DurableDir,
    temp: String,
    is_placed: bool,
}

impl DurableDir {
    /// Begins a directory in this one.
    #[doc(hidden)]
    pub fn new_dir<'a>(&'a self, lock: &'a DirLock) -> Result<NewDir<'a>, StorageError> {
        self.assert_guarded_by(lock);
        let temp = temp_name();
        let failed = |e: Errno| StorageError::io("create", self.name(), e);
        rustix::fs::mkdirat(self.handle().file(), &temp, Mode::RWXU).map_err(failed)?;
        // A strict umask has taken bits away that we need ourselves.
        let opened = rustix::fs::chmodat(self.handle().file(), &temp, Mode::RWXU, AtFlags::empty())
            .map_err(failed)
            .and_then(|()| self.open_below(&temp)?.ok_or_else(|| failed(Errno::NOENT)));
        match opened {
            Ok(dir) => Ok(NewDir {
                parent: self,
                lock,
                dir,
                temp,
                is_placed: false,
            }),
            Err(error) => {
                let _ = rustix::fs::unlinkat(self.handle().file(), &temp, AtFlags::REMOVEDIR);
                Err(error)
            }
        }
    }

    /// Removes a directory with the files in it, if it has nothing in it but those of the names given. Returns whether it is gone.
    ///
    /// On error it is there still, also when the `fsync` fails.
    #[doc(hidden)]
    pub fn remove_dir(
        &self,
        lock: &DirLock,
        name: &str,
        files: &[&str],
    ) -> Result<bool, StorageError> {
        self.assert_guarded_by(lock);
        check_name(name)?;
        let failed = |e: std::io::Error| StorageError::io("remove", name, e);
        // First as it is: one that stays must not lose its name for a moment. Readers would miss it, and if we died then, the next
        // sweep would remove it with all that is in it.
        if !self.has_only(name, files)? {
            return Ok(false);
        }
        let dir = self.handle().file();
        let temp = temp_name();
        match rustix::fs::renameat(dir, name, dir, &temp) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(false),
            Err(error) => return Err(failed(error.into())),
        }
        let put_back = || {
            let _ = rustix::fs::renameat_with(dir, &temp, dir, name, RenameFlags::NOREPLACE);
        };
        // And again, now that no one can find it by its name and nothing more is added by hand.
        match self.has_only(&temp, files) {
            Ok(true) => {}
            Ok(false) => {
                put_back();
                return Ok(false);
            }
            Err(error) => {
                put_back();
                return Err(error);
            }
        }
        self.handle().sync().map_err(|error| {
            put_back();
            failed(error)
        })?;
        self.remove_temp_dir(&temp);
        Ok(true)
    }

    /// Removes the directories that writers who died left, and returns how many there were.
    #[doc(hidden)]
    pub fn sweep_dirs(&self, lock: &DirLock) -> Result<usize, StorageError> {
        self.assert_guarded_by(lock);
        let stale = self.entries(FileType::Directory, is_temp)?;
        for name in &stale {
            self.remove_temp_dir(name);
        }
        Ok(stale.len())
    }

    /// Calls `visit` with each name and type of what is in this directory, but not with `.` and `..`.
    #[doc(hidden)]
    pub fn visit_entries(
        &self,
        mut visit: impl FnMut(&[u8], FileType),
    ) -> Result<(), StorageError> {
        self.visit_inodes(|name, file_type, _| visit(name, file_type))
    }

    /// Like [`visit_entries`](Self::visit_entries), with the number of each inode as well.
    #[doc(hidden)]
    pub fn visit_inodes(
        &self,
        mut visit: impl FnMut(&[u8], FileType, u64),
    ) -> Result<(), StorageError> {
        let failed = |e| StorageError::io("list", self.name(), e);
        for entry in rustix::fs::Dir::read_from(self.handle().file()).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                visit(name, entry.file_type(), entry.ino());
            }
        }
        Ok(())
    }

    fn has_only(&self, temp: &str, files: &[&str]) -> Result<bool, StorageError> {
        let Some(dir) = self.open_below(temp)? else {
            return Ok(true);
        };
        let mut only = true;
        dir.visit_entries(|name, _| only &= files.iter().any(|file| file.as_bytes() == name))?;
        Ok(only)
    }

    /// Removes a directory without its own name. What cannot be removed stays for the next time.
    fn remove_temp_dir(&self, temp: &str) {
        if let Ok(Some(dir)) = self.open_below(temp) {
            let mut names = Vec::new();
            let _ = dir.visit_entries(|name, _| names.push(name.to_owned()));
            for name in names {
                let _ = rustix::fs::unlinkat(dir.handle().file(), &name[..], AtFlags::empty());
            }
        }
        let _ = rustix::fs::unlinkat(self.handle().file(), temp, AtFlags::REMOVEDIR);
    }
}

impl NewDir<'_> {
    /// Adds a file that is on the disk when this returns.
    #[doc(hidden)]
    pub fn add(&self, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
        check_name(name)?;
        let failed = |e: std::io::Error| StorageError::io("write", name, e);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let mut file = self
            .dir
            .handle()
            .open_at(name, flags)
            .map_err(|e| failed(e.into()))?;
        make_private(&file).map_err(failed)?;
        file.write_all(bytes).map_err(failed)?;
        file.sync_all().map_err(failed)
    }

    /// Gives the directory its name, which no one has; [`StorageError::Exists`] if someone does.
    ///
    /// On success it survives a power failure with all that is in it. On error there is no such directory.
    #[doc(hidden)]
    pub fn place(mut self, name: &str) -> Result<(), StorageError> {
        check_name(name)?;
        let failed = |e: std::io::Error| StorageError::io("create", name, e);
        self.dir.handle().sync().map_err(failed)?;
        let dir = self.parent.handle().file();
        let renamed =
            match rustix::fs::renameat_with(dir, &self.temp, dir, name, RenameFlags::NOREPLACE) {
                // Without the flag only an empty directory would be replaced.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                    rustix::fs::renameat(dir, &self.temp, dir, name)
                }
                result => result,
            };
        renamed.map_err(|error| match error {
            Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR => StorageError::Exists {
                name: name.to_owned(),
            },
            error => failed(error.into()),
        })?;
        self.parent.handle().sync().map_err(|error| {
            let _ = rustix::fs::renameat(dir, name, dir, &self.temp);
            failed(error)
        })?;
        self.is_placed = true;
        Ok(())
    }

    /// Takes the place of a directory in one step, and removes that one. On error the old one is in its place.
    #[doc(hidden)]
    pub fn exchange(self, name: &str) -> Result<(), StorageError> {
        check_name(name)?;
        let failed = |e: std::io::Error| StorageError::io("replace", name, e);
        self.dir.handle().sync().map_err(failed)?;
        let dir = self.parent.handle().file();
        let exchange =
            || rustix::fs::renameat_with(dir, &self.temp, dir, name, RenameFlags::EXCHANGE);
        exchange().map_err(|error| match error {
            Errno::INVAL | Errno::NOSYS | Errno::NOTSUP => failed(std::io::Error::new(
                std::io::ErrorKind::Unsupported,
                "this file system cannot exchange two directories in one step; keep Toolcrib's home on another one",
            )),
            error => failed(error.into()),
        })?;
        self.parent.handle().sync().map_err(|error| {
            let _ = exchange();
            failed(error)
        })
        // Whichever is without a name now is removed by `drop`.
    }
}

impl Drop for NewDir<'_> {
    fn drop(&mut self) {
        if !self.is_placed {
            self.parent.assert_guarded_by(self.lock);
            self.parent.remove_temp_dir(&self.temp);
        }
    }
}
