//! Finds out which run is the last to use a workspace's placeholders.
//!
//! The lock is a file of ours and not the workspace itself: there, the command could hold it, or wait for it.

use crate::sys;
use std::{
    env, fs, io,
    os::{
        fd::AsRawFd,
        unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// How long to wait for another process that removes placeholders; that takes microseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// A share in a workspace's placeholders.
#[derive(Debug)]
pub(super) struct Lock {
    file: fs::File,
}

impl Lock {
    /// Takes a share in the placeholders of the workspace that this is.
    pub(super) fn shared(workspace: &fs::Metadata) -> io::Result<Self> {
        let path = directory()?.join(format!("{:x}-{:x}.lock", workspace.dev(), workspace.ino()));
        let flags = libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let file = fs::File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(flags)
            .open(path)?;
        let deadline = Instant::now() + PATIENCE;
        while let Err(error) = flock(&file, libc::LOCK_SH) {
            if error.kind() != io::ErrorKind::WouldBlock || Instant::now() >= deadline {
                return Err(error);
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(Self { file })
    }

    /// Whether no other process has a share; if so, none gets one until this is dropped.
    pub(super) fn is_the_last(&self) -> bool {
        flock(&self.file, libc::LOCK_EX).is_ok()
    }
}

fn flock(file: &fs::File, how: i32) -> io::Result<()> {
    // SAFETY: takes a descriptor of ours.
    sys::check(unsafe { libc::flock(file.as_raw_fd(), how | libc::LOCK_NB) }.into()).map(drop)
}

/// A directory that is ours alone: the same one whatever the environment says, as long as it can be had.
fn directory() -> io::Result<PathBuf> {
    let runtime = env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let home = env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    make(Path::new("/tmp"))
        .or_else(|error| runtime.map_or(Err(error), |base| make(&base)))
        .or_else(|error| home.map_or(Err(error), |base| make(&base)))
}

fn make(base: &Path) -> io::Result<PathBuf> {
    let path = base.join(format!("toolcrib-locks-{}", sys::uid()));
    match fs::DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let metadata = path.symlink_metadata()?;
    if !metadata.is_dir() || metadata.uid() != sys::uid() || metadata.mode() & 0o022 != 0 {
        let text = format!("`{}` is not a directory of ours alone", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    Ok(path)
}
