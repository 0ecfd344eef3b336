//! A temporary directory on the host, for where a run cannot have a `/tmp` of its own.
//!
//! Its name says which process made it; what a killed process left behind is removed by the next one of the same user.

use crate::{cgroup::owner, sys};
use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// A directory that goes with its owner.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
}

impl Directory {
    pub(crate) fn new() -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let base = std::env::temp_dir().canonicalize()?;
        let owner = owner::Owner::current()?;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("{owner}.run-{number}"));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // The standard library's removal does not follow links.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes directories whose owner is gone.
pub(crate) fn sweep() {
    let Ok(here) = owner::own_namespace() else {
        return;
    };
    for entry in std::env::temp_dir()
        .canonicalize()
        .and_then(fs::read_dir)
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.split_once(".run-"))
            .and_then(|(owner, _)| owner::Owner::parse(owner));
        let ours = entry
            .metadata()
            .is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == sys::uid());
        if ours && owner.is_some_and(|owner| owner.is_dead(here)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
