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

/// The file, in the home.
const FILE: &str = "format.json";
/// Where a directory that has a lock finds it: it is the home itself, or one or two below it.
const PLACES: [&str; 3] = [FILE, "../format.json", "../../format.json"];
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
    /// Refuses to write below a home that a newer version has changed.
    ///
    /// A file in this directory belongs to the home, whatever program it names. One further up may belong to another program, if this
    /// directory is the home and lies in a directory of that program.
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
                Some(found) if place != FILE && !found.written_by.starts_with("toolcrib ") => {}
                Some(found) if found.is_newer() => return Err(StorageError::NewerHome(found)),
                Some(_) => return Ok(()),
                None => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn lock(path: &Path) -> Result<(), StorageError> {
        DurableDir::create(path).unwrap().lock().map(drop)
    }

    #[test]
    fn a_newer_format_in_the_home_itself_refuses_whatever_program_it_names() {
        let home = tempfile::tempdir().unwrap();
        for written_by in ["toolcrib 9.1.0", "toolcrib-next 9.1.0", "", "another"] {
            let text = format!(r#"{{"format":2,"writtenBy":"{written_by}"}}"#);
            std::fs::write(home.path().join(FILE), text).unwrap();
            let refused = lock(home.path());
            assert!(
                matches!(&refused, Err(StorageError::NewerHome(found)) if found.written_by == written_by),
                "{written_by}: {refused:?}"
            );
        }
    }

    #[test]
    fn a_format_further_up_counts_if_toolcrib_wrote_it() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().join("home");
        let below = home.join("state/one");
        lock(&below).unwrap();
        // Of the directory that the home is in.
        let other = r#"{"format":7,"writtenBy":"another 1.0"}"#;
        std::fs::write(place.path().join(FILE), other).unwrap();
        lock(&home).unwrap();
        lock(&below).unwrap();
        let newer = r#"{"format":2,"writtenBy":"toolcrib 9.1.0"}"#;
        std::fs::write(home.join(FILE), newer).unwrap();
        for path in [&home, &home.join("state"), &below] {
            let refused = lock(path);
            assert!(
                matches!(refused, Err(StorageError::NewerHome(_))),
                "{path:?}"
            );
        }
    }
}
