//! Which names a file of ours can have, and how temporary files are distinguished from all others.

use uuid::Uuid;

use super::error::StorageError;

/// The file whose kernel lock guards a directory.
pub(super) const LOCK_NAME: &str = ".lock";

const TEMP_SUFFIX: &str = ".toolcrib-tmp";

/// The longest name of Linux file systems, in bytes.
const MAX_BYTES: usize = 255;

/// Refuses what is not a plain name of one component, and the names we use ourselves.
pub(super) fn check_name(name: &str) -> Result<(), StorageError> {
    let why = if name.is_empty() {
        "it is empty"
    } else if name.len() > MAX_BYTES {
        "it has more than 255 bytes"
    } else if name == "." || name == ".." {
        "it means a directory"
    } else if name.contains(['/', '\0']) {
        "it has a `/` or NUL in it"
    } else if name == LOCK_NAME || name.ends_with(TEMP_SUFFIX) {
        "it is reserved"
    } else {
        return Ok(());
    };
    Err(StorageError::Name {
        name: name.to_owned(),
        why,
    })
}

/// A new name for a temporary file: `.<32 hexadecimal digits>.toolcrib-tmp`.
///
/// It does not carry the name of the file it is for, which may be as long as names can be.
pub(super) fn temp_name() -> String {
    format!(".{}{TEMP_SUFFIX}", Uuid::now_v7().simple())
}

/// Whether a name was made by [`temp_name`].
#[doc(hidden)]
pub fn is_temp(name: &str) -> bool {
    let id = name
        .strip_prefix('.')
        .and_then(|rest| rest.strip_suffix(TEMP_SUFFIX));
    id.is_some_and(|id| {
        id.len() == 32 && id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_names_are_accepted() {
        for good in [
            "a",
            "x.json",
            ".hidden",
            "...",
            "-rf",
            "天気",
            &"x".repeat(255),
        ] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            "a/b",
            "/",
            "../x",
            "a\0",
            ".lock",
            "a.toolcrib-tmp",
            &"x".repeat(256),
        ] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn temporary_files_are_known_by_their_whole_name() {
        assert!(is_temp(&temp_name()));
        let id = "0".repeat(32);
        for other in [
            String::from(".toolcrib-tmp"),
            String::from("notes.toolcrib-tmp"),
            format!("{id}.toolcrib-tmp"),
            format!(".{id}.tmp"),
            format!(".{id}0.toolcrib-tmp"),
            format!(".{}.toolcrib-tmp", "g".repeat(32)),
        ] {
            assert!(!is_temp(&other), "{other}");
        }
    }
}
