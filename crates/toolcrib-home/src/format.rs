//! The format of a home: `format.json` says which one it has, and which Toolcrib gave it that.
//!
//! A home without the file has format 1, the first one. Unknown fields and the file itself are left alone once it is there: only the version
//! that changes a home to a new format writes it again. A newer format is refused before anything is written; verbs that only read
//! try, as most files of a home keep their shape. A home that becomes newer while it is open is refused at the next lock (`storage`)
//! and at the next call ([`FormatWatch`]).

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::model::error::{ErrorCode, ToolError};
use crate::storage::{DurableDir, Followed, Stamp, Stamps, StorageError};
pub use crate::storage::{FORMAT, HomeFormat};

/// The file's name.
const FILE: &str = "format.json";
/// It is two fields; later versions may add some.
const MAX_BYTES: u64 = 64 * 1024;

/// Why a home may not be written.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// A newer version has changed the home.
    #[error(transparent)]
    Newer(StorageError),
    /// The file cannot be read, so no one knows which format the home has.
    #[error(
        "cannot tell which format this home has: {0}; if no newer version used it, remove `{FILE}` from it"
    )]
    Unreadable(String),
}

impl From<FormatError> for ToolError {
    fn from(error: FormatError) -> Self {
        match error {
            FormatError::Newer(error) => error.into(),
            FormatError::Unreadable(_) => {
                ToolError::new(ErrorCode::StorageError, error.to_string())
                    .with_detail("reason", "unknown-format")
            }
        }
    }
}

/// What a home says about its format; `None` if nothing has said it yet.
pub fn read(home: &Path) -> Result<Option<HomeFormat>, FormatError> {
    let unreadable = |error: String| FormatError::Unreadable(error);
    let dir = match DurableDir::open(home) {
        Ok(Some(dir)) => dir,
        Ok(None) => return Ok(None),
        // The first write reports what is in the home's place.
        Err(error) if error.is_not_a_directory() => return Ok(None),
        Err(error) => return Err(unreadable(error.to_string())),
    };
    let bytes = dir
        .read(FILE, MAX_BYTES)
        .map_err(|error| unreadable(error.to_string()))?;
    bytes
        .map(|bytes| {
            serde_json::from_slice(&bytes)
                .map_err(|error| unreadable(format!("`{FILE}` is damaged: {error}")))
        })
        .transpose()
}

/// Refuses a home that this version may not write.
pub fn check(home: &Path) -> Result<(), FormatError> {
    match read(home)? {
        Some(found) if found.is_newer() => Err(FormatError::Newer(StorageError::NewerHome(found))),
        Some(_) | None => Ok(()),
    }
}

/// Refuses a home that became newer while it is open. A look costs one `stat`, as long as the file stays as it is.
#[derive(Debug)]
pub struct FormatWatch {
    home: PathBuf,
    file: PathBuf,
    /// The file as it was when it was last found to be no newer.
    known: Mutex<Followed<()>>,
}

impl FormatWatch {
    /// Of a home.
    pub fn at(home: &Path) -> Self {
        FormatWatch {
            home: home.to_owned(),
            file: home.join(FILE),
            known: Mutex::default(),
        }
    }

    /// [`check`] of the home as it is now.
    pub fn check(&self) -> Result<(), FormatError> {
        let now = Stamps::new([Stamp::of_entry(&self.file)]);
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known().current(&now).is_none() {
            check(&self.home)?;
            known().set(now, ());
        }
        Ok(())
    }
}

/// Writes the file into a home that is there and does not have it yet.
pub fn stamp(home: &Path) -> Result<(), StorageError> {
    let Some(dir) = DurableDir::open(home)? else {
        return Ok(());
    };
    if dir.open_file(FILE)?.is_some() {
        return Ok(());
    }
    let lock = dir.lock()?;
    // Another process may have been faster, also one of a newer version.
    if dir.open_file(FILE)?.is_some() {
        return Ok(());
    }
    let format = HomeFormat {
        format: FORMAT,
        written_by: concat!("toolcrib ", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    let mut text = serde_json::to_vec(&format).expect("two fields can be written");
    text.push(b'\n');
    dir.write(&lock, FILE, &text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(text: &str) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(FILE), text).unwrap();
        home
    }

    #[test]
    fn a_stamped_home_says_its_format_and_its_writer() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(read(home.path()).unwrap(), None);
        stamp(home.path()).unwrap();
        let found = read(home.path()).unwrap().unwrap();
        assert_eq!(found.format, FORMAT);
        assert_eq!(
            found.written_by,
            concat!("toolcrib ", env!("CARGO_PKG_VERSION"))
        );
        check(home.path()).unwrap();
    }

    #[test]
    fn a_home_that_is_not_there_is_not_made() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().join("home");
        check(&home).unwrap();
        stamp(&home).unwrap();
        assert!(!home.exists());
    }

    #[test]
    fn a_file_that_is_there_is_not_written_again() {
        let text = r#"{"format":1,"writtenBy":"toolcrib 0.0.9","more":true}"#;
        let home = home(text);
        stamp(home.path()).unwrap();
        check(home.path()).unwrap();
        assert_eq!(
            std::fs::read_to_string(home.path().join(FILE)).unwrap(),
            text
        );
    }

    #[test]
    fn a_newer_format_is_refused_with_its_reason() {
        let home = home(r#"{"format":2,"writtenBy":"toolcrib 9.1.0","steps":[]}"#);
        let refused = ToolError::from(check(home.path()).unwrap_err());
        assert_eq!(refused.code(), ErrorCode::StorageError);
        let details = refused.details().unwrap();
        assert_eq!(details["reason"], "newer-home");
        assert_eq!(
            (&details["format"], &details["writtenBy"], &details["known"]),
            (&2.into(), &"toolcrib 9.1.0".into(), &FORMAT.into())
        );
        // It stays as it is, too.
        stamp(home.path()).unwrap();
        assert!(check(home.path()).is_err());
    }

    #[test]
    fn a_home_that_becomes_newer_is_refused_from_then_on() {
        let home = tempfile::tempdir().unwrap();
        let watch = FormatWatch::at(home.path());
        watch.check().unwrap();
        stamp(home.path()).unwrap();
        watch.check().unwrap();
        let file = home.path().join(FILE);
        let own = std::fs::read_to_string(&file).unwrap();
        // As long as what was there, and maybe within the same tick of the clock.
        std::fs::write(&file, own.replace(r#":1,"#, r#":2,"#)).unwrap();
        for _ in 0..2 {
            assert!(matches!(watch.check(), Err(FormatError::Newer(_))));
        }
        std::fs::write(&file, "{").unwrap();
        assert!(matches!(watch.check(), Err(FormatError::Unreadable(_))));
        std::fs::write(&file, own).unwrap();
        watch.check().unwrap();
    }

    #[test]
    fn a_damaged_file_is_refused_and_says_what_to_do() {
        let home = home("{");
        let refused = ToolError::from(check(home.path()).unwrap_err());
        assert_eq!(refused.details().unwrap()["reason"], "unknown-format");
        assert!(refused.message().contains("remove `format.json`"));
    }
}
