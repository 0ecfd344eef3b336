//! The file that says that a run is under way, and what there was before: for the next process, if this one is killed.
//!
//! It is locked for as long as its process lives, and used for one run after the other: making, renaming and removing a file for each
//! takes 35 µs, writing to an open one 2. Its first bytes say whether a run is under way.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FlockOperation, OFlags};
use uuid::Uuid;

use super::moving::private_directory;

/// The ending of the name.
pub(super) const ENDING: &str = "run";

/// How long a file may be.
const MAX_BYTES: u64 = 16 << 20;

/// The most files that are kept for later runs.
const MOST_IDLE: usize = 8;

/// `O_NOFOLLOW` and `O_CLOEXEC`.
const NOFOLLOW: i32 = (OFlags::NOFOLLOW.bits() | OFlags::CLOEXEC.bits()) as i32;

/// What a file begins with: `R` while a run is under way, and how many bytes there are about it.
const HEAD: usize = 12;
const IDLE: &[u8] = b"I";

/// The file of a run. Removed when dropped.
#[derive(Debug)]
pub(super) struct RunFile {
    path: PathBuf,
    file: File,
}

impl RunFile {
    fn create(runs: &Path) -> io::Result<Self> {
        let id = Uuid::now_v7().simple().to_string();
        let temporary = runs.join(format!("{id}.new"));
        let mut options = File::options();
        options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(NOFOLLOW);
        let file = match options.open(&temporary) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                private_directory(runs)?;
                options.open(&temporary)?
            }
            created => created?,
        };
        // Before it has a name that others look for.
        rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let path = runs.join(format!("{id}.{ENDING}"));
        fs::rename(&temporary, &path)?;
        Ok(RunFile { path, file })
    }

    /// Says that a run is under way.
    pub(super) fn begin(&self, text: &[u8]) -> io::Result<()> {
        self.file.write_all_at(text, HEAD as u64)?;
        let head = format!("R{:>10}\n", text.len());
        self.file.write_all_at(head.as_bytes(), 0)
    }

    fn is_there(&self) -> bool {
        self.file
            .metadata()
            .is_ok_and(|metadata| metadata.nlink() > 0)
    }
}

impl Drop for RunFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Files of runs that have ended.
#[derive(Debug, Default)]
pub(super) struct IdleFiles(Mutex<Vec<RunFile>>);

impl IdleFiles {
    /// A file for a run, in this directory.
    pub(super) fn take(&self, runs: &Path) -> io::Result<RunFile> {
        let idle = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle.filter(RunFile::is_there) {
            Some(file) => Ok(file),
            None => RunFile::create(runs),
        }
    }

    /// Takes back the file of a run that has ended.
    pub(super) fn put(&self, file: RunFile) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE && file.file.write_all_at(IDLE, 0).is_ok() {
            idle.push(file);
        }
    }
}

/// What a killed process left behind, with the lock on its file; none if the process lives, or no run was under way, and then the file is
/// removed.
pub(super) fn left_behind(path: &Path) -> io::Result<Option<(File, Vec<u8>)>> {
    let file = File::options()
        .read(true)
        .custom_flags(NOFOLLOW)
        .open(path)?;
    if rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err()
        || file.metadata()?.nlink() == 0
    {
        return Ok(None);
    }
    let mut text = Vec::new();
    (&file).take(MAX_BYTES).read_to_end(&mut text)?;
    let head = text.get(..HEAD).and_then(|head| head.strip_prefix(b"R"));
    let length = head
        .and_then(|head| std::str::from_utf8(head).ok()?.trim().parse().ok())
        .and_then(|length: usize| HEAD.checked_add(length));
    match length.and_then(|end| text.get(HEAD..end)) {
        Some(about) => Ok(Some((file, about.to_vec()))),
        None => {
            fs::remove_file(path)?;
            Ok(None)
        }
    }
}
