//! Empties a directory, whatever a command has made of it: links, closed and deep directories, names of any kind.
//!
//! Nothing outside is ever reached: names are removed from the open directory they are in, and links are not followed. A
//! directory in a directory is moved up before it is looked into, so that no depth costs memory or open files.

use crate::sys;
use std::{
    ffi::{CStr, CString},
    fs, io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    time::{Duration, Instant},
};

/// How long it may take, should something still be filling the directory; the sweep of a later process tries again.
const PATIENCE: Duration = Duration::from_secs(10);

/// Removes everything in a directory.
pub(super) fn clear(directory: &OwnedFd) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    let mut moved = 0;
    open_up(directory)?;
    // A directory that changes while it is read may omit entries, so it is read until it lists none.
    loop {
        let mut left = None;
        let mut progress = false;
        for name in names(directory)? {
            match remove(directory, &name, directory, &mut moved) {
                Ok(()) => progress = true,
                Err(error) => left = Some(error),
            }
            if Instant::now() > until {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
        match (progress, left) {
            (false, None) => return Ok(()),
            (false, Some(error)) => return Err(error),
            (true, _) => {}
        }
    }
}

/// Removes a name from a directory of the root; what is in it is removed if it is not a directory, and moved to the root if it
/// is.
fn remove(at: &OwnedFd, name: &CStr, root: &OwnedFd, moved: &mut u64) -> io::Result<()> {
    if unlink(at, name, 0).is_ok() {
        return Ok(());
    }
    let inner = super::open_at(at, &name.to_owned())?;
    open_up(&inner)?;
    for name in names(&inner)? {
        if unlink(&inner, &name, 0).is_ok() || remove_directory(&inner, &name).is_ok() {
            continue;
        }
        move_up(&inner, &name, root, moved)?;
    }
    remove_directory(at, name)
}

/// Moves a directory to the root, under a name that is free there.
fn move_up(from: &OwnedFd, name: &CStr, root: &OwnedFd, moved: &mut u64) -> io::Result<()> {
    // A directory can be moved only by who may write it: it says where it is.
    open_up(&super::open_at(from, &name.to_owned())?)?;
    loop {
        *moved += 1;
        let new = CString::new(format!("moved-{moved}"))?;
        // SAFETY: both names end with null.
        let answer = unsafe {
            libc::renameat2(
                from.as_raw_fd(),
                name.as_ptr(),
                root.as_raw_fd(),
                new.as_ptr(),
                libc::RENAME_NOREPLACE,
            )
        };
        match sys::check(answer.into()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            answer => return answer.map(drop),
        }
    }
}

pub(super) fn remove_directory(at: &OwnedFd, name: &CStr) -> io::Result<()> {
    unlink(at, name, libc::AT_REMOVEDIR)
}

fn unlink(at: &OwnedFd, name: &CStr, flags: i32) -> io::Result<()> {
    // SAFETY: the name ends with null.
    sys::check(unsafe { libc::unlinkat(at.as_raw_fd(), name.as_ptr(), flags) }.into()).map(drop)
}

/// Makes an open directory readable and writable for us: a command may have closed it to itself.
fn open_up(directory: &OwnedFd) -> io::Result<()> {
    let path = sys::c_path(&path_of(directory))?;
    // By its descriptor in /proc, since an `O_PATH` descriptor cannot be changed itself.
    // SAFETY: the path ends with null.
    sys::check(unsafe { libc::chmod(path.as_ptr(), 0o700) }.into()).map(drop)
}

fn names(directory: &OwnedFd) -> io::Result<impl Iterator<Item = CString>> {
    let entries = fs::read_dir(path_of(directory))?;
    Ok(entries
        .flatten()
        .filter_map(|entry| CString::new(entry.file_name().as_bytes()).ok()))
}

fn path_of(fd: &OwnedFd) -> std::path::PathBuf {
    format!("/proc/self/fd/{}", fd.as_raw_fd()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn open(path: &std::path::Path) -> OwnedFd {
        fs::File::open(path).unwrap().into()
    }

    #[test]
    fn links_are_removed_and_not_followed() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("file"), "x").unwrap();
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("sub")).unwrap();
        symlink(outside.path(), directory.path().join("to-directory")).unwrap();
        symlink(outside.path(), directory.path().join("sub/to-directory")).unwrap();
        symlink(
            outside.path().join("file"),
            directory.path().join("to-file"),
        )
        .unwrap();
        clear(&open(directory.path())).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        assert_eq!(fs::read(outside.path().join("file")).unwrap(), b"x");
    }

    #[test]
    fn closed_directories_and_odd_names_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let deep = directory.path().join("a/b/c");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("file"), "x").unwrap();
        fs::write(directory.path().join("moved-1"), "taken").unwrap();
        let odd = std::ffi::OsStr::from_bytes(b"-rf \xff\n*");
        fs::create_dir(directory.path().join(odd)).unwrap();
        for (path, mode) in [("a/b/c", 0o000), ("a/b", 0o555), ("a", 0o000), ("", 0o000)] {
            let path = directory.path().join(path);
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
        // As its creator could have it: open before it was closed.
        clear(
            &super::super::open_at(&open("/".as_ref()), &sys::c_path(directory.path()).unwrap())
                .unwrap(),
        )
        .unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn no_depth_is_too_deep() {
        let directory = tempfile::tempdir().unwrap();
        let mut at = open(directory.path());
        for _ in 0..1500 {
            let name = c"deeper";
            // SAFETY: a constant name.
            sys::check(unsafe { libc::mkdirat(at.as_raw_fd(), name.as_ptr(), 0o500) }.into())
                .unwrap();
            at = super::super::open_at(&at, &name.to_owned()).unwrap();
            open_up(&at).unwrap();
        }
        clear(&open(directory.path())).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
