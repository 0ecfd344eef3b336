//! Which repositories runs made: these can be changed and removed by later runs, too.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::HeldStore;
use crate::sandbox::is_harmless_repository;
use crate::storage::{DurableDir, StorageError};

const FILE: &str = "made.json";
/// How many are remembered; the oldest are forgotten, and protected like all others.
const MOST: usize = 1000;
const MAX_BYTES: u64 = 4 << 20;

/// A repository that a run made, by what it is and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Made {
    /// As hexadecimal digits: not every path is text.
    #[serde(with = "digits")]
    path: PathBuf,
    device: u64,
    inode: u64,
    born: u128,
}

mod digits {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    use std::path::{Path, PathBuf};

    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&super::super::digits(path.as_os_str().as_bytes()))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        let text = String::deserialize(from)?;
        let bytes = super::super::from_digits(&text);
        // Written by an earlier version.
        Ok(bytes.map_or_else(
            || PathBuf::from(text),
            |bytes| OsString::from_vec(bytes).into(),
        ))
    }
}

impl Made {
    fn at(path: &Path) -> Option<Self> {
        let metadata = path.symlink_metadata().ok().filter(fs::Metadata::is_dir)?;
        let born = metadata.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Made {
            path: path.to_owned(),
            device: metadata.dev(),
            inode: metadata.ino(),
            born: born.as_nanos(),
        })
    }
}

impl HeldStore {
    /// The repositories in a workspace that runs made and that still run nothing. One in which the user has set up a hook since is
    /// the user's.
    #[doc(hidden)]
    pub fn made_in(&self, root: &Path) -> Vec<PathBuf> {
        let made = self.read_made().unwrap_or_default();
        let here = made.into_iter().filter(|made| made.path.starts_with(root));
        here.filter(|made| Made::at(&made.path).as_ref() == Some(made))
            .map(|made| made.path)
            .filter(|path| is_harmless_repository(path))
            .collect()
    }

    fn read_made(&self) -> Result<Vec<Made>, StorageError> {
        let Some(dir) = self.dir()? else {
            return Ok(Vec::new());
        };
        let bytes = dir.read(FILE, MAX_BYTES)?;
        Ok(bytes
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default())
    }

    /// Remembers repositories that a run made.
    pub(super) fn remember_made(&self, made: &[PathBuf]) -> Result<(), StorageError> {
        let new: Vec<Made> = made.iter().filter_map(|path| Made::at(path)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let dir = DurableDir::create(&self.0.path)?;
        let lock = dir.lock()?;
        let mut all = self.read_made()?;
        all.retain(|old| !new.iter().any(|new| new.path == old.path) && old.path.is_dir());
        all.extend(new);
        all.drain(..all.len().saturating_sub(MOST));
        dir.write(&lock, FILE, &serde_json::to_vec(&all).unwrap_or_default())
    }
}
