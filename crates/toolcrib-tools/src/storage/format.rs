//! The format of the home that a directory is in, judged under the lock before anything is written.
//!
//! Opening a home judges it more strictly (`toolcrib_home::format`). This is for processes that run for long: a newer version may
//! have changed the home since a server opened it.

use std::io::{ErrorKind, Read as _};

use rustix::fs::OFlags;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::dir::DurableDir;
use super::error::StorageError;

/// The format that this version writes, and the newest that it knows.
pub const FORMAT: u64 = 1;

/// Where a directory that has a lock finds the file: it is the home itself, or one or two below it.
const PLACES: [&str; 3] = ["format.json", "../format.json", "../../format.json"];
/// It is two fields; later versions may add some.
const MAX_BYTES: u64 = 64 * 1024;

/// What `format.json` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HomeFormat {
    /// The format.
    pub format: u64,
    /// The program and version that gave the home this format.
    pub written_by: String,
}

impl HomeFormat {
    /// Whether this version must not write.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        self.format > FORMAT
    }
}

impl DurableDir {
    /// Refuses to write below a home that a newer version has changed. A file that says nothing of ours is not the home's.
    pub(super) fn refuse_newer_format(&self) -> Result<(), StorageError> {
        for place in PLACES {
            let file = match self.lock_home().open_at(place, OFlags::RDONLY) {
                Ok(file) => file,
                // There is none, or it is someone else's.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP | Errno::NXIO) => {
                    continue;
                }
                Err(error) => return Err(StorageError::io("read", "format.json", error)),
            };
            let mut text = Vec::new();
            match file.take(MAX_BYTES).read_to_end(&mut text) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::IsADirectory => continue,
                Err(error) => return Err(StorageError::io("read", "format.json", error)),
            }
            match serde_json::from_slice::<HomeFormat>(&text).ok() {
                Some(found) if found.is_newer() && found.written_by.starts_with("toolcrib ") => {
                    return Err(StorageError::NewerHome(found));
                }
                Some(_) => return Ok(()),
                None => {}
            }
        }
        Ok(())
    }
}
