//! A temporary directory on the host, for where a run cannot have a `/tmp` of its own.
//!
//! Its name says which process made it; what a killed process left behind is removed by the next one.

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

const PREFIX: &str = "toolcrib-run-";

/// A directory that goes with its owner.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
}

impl Directory {
    pub(crate) fn new() -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let base = std::env::temp_dir().canonicalize()?;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("{PREFIX}{}-{number}", std::process::id()));
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
    let entries = std::env::temp_dir()
        .canonicalize()
        .and_then(fs::read_dir)
        .into_iter()
        .flatten()
        .flatten();
    for entry in entries {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX))
            .and_then(|rest| rest.split('-').next());
        if let Some(owner) = owner.filter(|owner| owner.parse::<u32>().is_ok())
            && !Path::new("/proc").join(owner).exists()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
