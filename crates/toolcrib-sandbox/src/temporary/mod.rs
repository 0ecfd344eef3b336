//! Temporary directories on the host, for where a run cannot have its own `/tmp`, and for what several runs share.
//!
//! A directory's name says which process made it; what a killed process left behind is removed by the next one of the same
//! user, here or in another place where it makes one. Everything is done through open directories, never through paths that a
//! run could have changed.

mod clear;

use crate::{cgroup::owner, sys};
use std::{
    collections::HashMap,
    ffi::{CString, OsStr},
    fs, io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{
            ffi::OsStrExt,
            fs::{MetadataExt, OpenOptionsExt},
        },
    },
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How often a process looks for what others left behind in one place.
const SWEEP: Duration = Duration::from_secs(60);

/// Between the owner and the random part of a name.
const MARK: &str = ".tmp-";

/// A directory of mode 0700, with a name that cannot be guessed, that goes with everything in it when this is dropped.
#[derive(Debug)]
pub struct TemporaryDirectory {
    base: OwnedFd,
    name: CString,
    directory: OwnedFd,
    path: PathBuf,
    kept: bool,
}

impl TemporaryDirectory {
    /// Makes one beneath `base`, and clears away what processes that are gone left there.
    pub fn create_in(base: &Path) -> io::Result<Self> {
        let base_path = base.canonicalize()?;
        let base = open_directory(&base_path)?;
        sweep_now_and_then(&base_path, &base);
        let owner = owner::Owner::current()?;
        let name = format!("{owner}{MARK}{}", random()?);
        let path = base_path.join(&name);
        let name = CString::new(name)?;
        // SAFETY: the name ends with null. An existing name is an error: no one can have guessed it.
        sys::check(unsafe { libc::mkdirat(base.as_raw_fd(), name.as_ptr(), 0o700) }.into())?;
        let directory = open_at(&base, &name)?;
        Ok(Self {
            base,
            name,
            directory,
            path,
            kept: false,
        })
    }

    /// Makes one where the system keeps temporary files.
    pub(crate) fn create() -> io::Result<Self> {
        Self::create_in(&std::env::temp_dir())
    }

    /// Where it is; no link leads through it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a new file in it that only its owner can read, and returns its path.
    pub fn write(&self, name: impl AsRef<OsStr>, bytes: &[u8]) -> io::Result<PathBuf> {
        let name = name.as_ref();
        if name.as_bytes().contains(&b'/') || name == "." || name == ".." || name.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a file of a temporary directory has a plain name",
            ));
        }
        let c_name = sys::c_path(Path::new(name))?;
        let flags =
            libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        // SAFETY: the name ends with null.
        let file = sys::own(
            unsafe { libc::openat(self.directory.as_raw_fd(), c_name.as_ptr(), flags, 0o600) }
                .into(),
        )?;
        io::Write::write_all(&mut fs::File::from(file), bytes)?;
        Ok(self.path.join(name))
    }

    /// Leaves it where it is, under another name, so that no later process takes it for something left behind.
    pub fn keep(mut self) -> io::Result<PathBuf> {
        let name = format!("toolcrib-kept-{}", random()?);
        let path = self.path.with_file_name(&name);
        let name = CString::new(name)?;
        let base = self.base.as_raw_fd();
        // SAFETY: both names end with null.
        let answer = unsafe { libc::renameat(base, self.name.as_ptr(), base, name.as_ptr()) };
        sys::check(answer.into())?;
        self.kept = true;
        Ok(path)
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        if !self.kept {
            // What cannot be removed now is left for the next process.
            let _ = remove(&self.base, &self.name, &self.directory);
        }
    }
}

/// Removes directories beneath the system's temporary directory whose owner is gone.
pub(crate) fn sweep() {
    if let Ok(base) = std::env::temp_dir().canonicalize()
        && let Ok(open) = open_directory(&base)
    {
        sweep_now_and_then(&base, &open);
    }
}

fn sweep_now_and_then(path: &Path, base: &OwnedFd) {
    static LAST: Mutex<Option<HashMap<PathBuf, Instant>>> = Mutex::new(None);
    {
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        let last = last.get_or_insert_default();
        if last.get(path).is_some_and(|last| last.elapsed() < SWEEP) {
            return;
        }
        last.insert(path.to_owned(), Instant::now());
    }
    sweep_here(path, base);
}

fn sweep_here(path: &Path, base: &OwnedFd) {
    let Ok(here) = owner::own_namespace() else {
        return;
    };
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.split_once(MARK))
            .and_then(|(owner, _)| owner::Owner::parse(owner));
        if !owner.is_some_and(|owner| owner.is_dead(here)) {
            continue;
        }
        let Ok(name) = CString::new(name.as_bytes()) else {
            continue;
        };
        // A link, or what someone else put there under such a name, is not ours.
        let Ok(directory) = open_at(base, &name) else {
            continue;
        };
        let file = fs::File::from(directory);
        if file
            .metadata()
            .is_ok_and(|metadata| metadata.uid() == sys::uid())
        {
            let _ = remove(base, &name, &file.into());
        }
    }
}

/// Empties a directory and takes its name away, if that still is its name.
fn remove(base: &OwnedFd, name: &CString, directory: &OwnedFd) -> io::Result<()> {
    clear::clear(directory)?;
    let identity = |fd: &OwnedFd| {
        let metadata = fs::File::from(fd.try_clone()?).metadata()?;
        io::Result::Ok((metadata.dev(), metadata.ino()))
    };
    if identity(&open_at(base, name)?)? == identity(directory)? {
        clear::remove_directory(base, name)?;
    }
    Ok(())
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = libc::O_DIRECTORY | libc::O_CLOEXEC;
    let file = fs::File::options()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    Ok(file.into())
}

/// Opens a directory in another one; a link is none. Not for reading, which its mode may forbid.
fn open_at(base: &OwnedFd, name: &CString) -> io::Result<OwnedFd> {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the name ends with null.
    sys::own(unsafe { libc::openat(base.as_raw_fd(), name.as_ptr(), flags) }.into())
}

/// 128 bits that no one can guess, as text.
fn random() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    // SAFETY: the buffer is ours and as long as we say. So few bytes come whole.
    sys::check(unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) } as i64)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn base() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn a_directory_is_private_and_goes_with_its_owner() {
        let base = base();
        let one = TemporaryDirectory::create_in(base.path()).unwrap();
        let other = TemporaryDirectory::create_in(base.path()).unwrap();
        assert_ne!(one.path(), other.path());
        let mode = fs::metadata(one.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o700);
        let file = one.write("a.txt", b"text").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"text");
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o7777,
            0o600
        );
        drop((one, other));
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_is_written_in_it_and_nowhere_else() {
        let base = base();
        let directory = TemporaryDirectory::create_in(base.path()).unwrap();
        symlink(base.path().join("outside"), directory.path().join("link")).unwrap();
        for name in ["../x", "a/b", "..", ".", "", "link", "nul\0"] {
            assert!(directory.write(name, b"x").is_err(), "{name}");
        }
        directory.write("once", b"x").unwrap();
        assert!(directory.write("once", b"y").is_err());
        assert!(!base.path().join("outside").exists());
    }

    #[test]
    fn what_was_moved_away_is_emptied_and_what_took_its_place_stays() {
        let base = base();
        let directory = TemporaryDirectory::create_in(base.path()).unwrap();
        directory.write("secret", b"x").unwrap();
        let moved = base.path().join("moved");
        fs::rename(directory.path(), &moved).unwrap();
        let path = directory.path().to_owned();
        fs::create_dir(&path).unwrap();
        drop(directory);
        assert_eq!(fs::read_dir(&moved).unwrap().count(), 0);
        assert!(path.exists());
    }

    #[test]
    fn a_kept_directory_stays_and_is_not_taken_for_something_left_behind() {
        let base = base();
        let directory = TemporaryDirectory::create_in(base.path()).unwrap();
        directory.write("a", b"x").unwrap();
        let path = directory.keep().unwrap();
        assert_eq!(fs::read(path.join("a")).unwrap(), b"x");
        sweep_here(base.path(), &open_directory(base.path()).unwrap());
        assert!(path.exists());
    }

    #[test]
    fn only_what_the_dead_left_behind_is_swept() {
        let base = base();
        let outside = tempfile::tempdir().unwrap();
        let living = TemporaryDirectory::create_in(base.path()).unwrap();
        let living_name = living
            .path()
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        // The same process with another start time is one that is gone.
        let mut fields: Vec<String> = living_name.splitn(4, '-').map(str::to_owned).collect();
        fields[2] = "1".to_owned();
        let dead = base.path().join(fields.join("-"));
        fs::create_dir_all(dead.join("sub")).unwrap();
        fs::write(dead.join("sub/file"), "x").unwrap();
        fields[3].push_str("-link");
        let link = base.path().join(fields.join("-"));
        symlink(outside.path(), &link).unwrap();
        fs::write(outside.path().join("file"), "x").unwrap();
        let foreign = base.path().join("toolcrib-notes.tmp-1");
        fs::create_dir(&foreign).unwrap();
        sweep_here(base.path(), &open_directory(base.path()).unwrap());
        assert!(!dead.exists());
        assert!(living.path().exists() && foreign.exists());
        assert!(outside.path().join("file").exists() && link.symlink_metadata().is_ok());
    }
}
