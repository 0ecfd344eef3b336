//! Putting a file that cannot be used out of the way: [`set_aside`].

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::dir::DurableDir;
use super::error::StorageError;
use super::lock::DirLock;

/// The directory of a home that such files are moved to.
const DAMAGED: &str = "damaged";

/// Moves whatever a directory of the home has under a name to `damaged/<time>-<name>`; returns where it is now.
///
/// Nothing is overwritten and nothing is deleted. A link is moved itself, not what it points to.
#[doc(hidden)]
pub fn set_aside(
    home: &Path,
    from: &DurableDir,
    lock: &DirLock,
    name: &str,
    now: Timestamp,
) -> Result<PathBuf, StorageError> {
    let place = home.join(DAMAGED);
    // A moved file stays in the home.
    if fs::symlink_metadata(&place).is_ok_and(|found| !found.is_dir()) {
        return Err(StorageError::Io {
            doing: "move anything to",
            name: DAMAGED.to_owned(),
            cause: ErrorKind::NotADirectory.into(),
        });
    }
    let to = DurableDir::create(place)?;
    let time = now.strftime("%Y%m%dT%H%M%SZ");
    let moved = from.move_to(lock, name, &to, &format!("{time}-{name}"))?;
    Ok(home.join(DAMAGED).join(moved))
}

/// Moves what is where a home should have a directory or a lock file, and so makes locking impossible; `directory` is empty for the
/// home itself. Returns where it is now.
///
/// An entry in place of `damaged` itself gets another name beside it.
#[doc(hidden)]
pub fn set_aside_unguarded(
    home: &Path,
    directory: &str,
    name: &str,
    now: Timestamp,
) -> Result<PathBuf, StorageError> {
    let gone = || StorageError::io("move", name, rustix::io::Errno::NOENT);
    let from = DurableDir::open(home.join(directory))?.ok_or_else(gone)?;
    let time = now.strftime("%Y%m%dT%H%M%SZ");
    if directory.is_empty() && name == DAMAGED {
        let moved = from.rename_to(name, &from, &format!("{DAMAGED}-{time}"))?;
        return Ok(home.join(moved));
    }
    let to = DurableDir::create(home.join(DAMAGED))?;
    let wanted = format!("{time}-{}", name.trim_start_matches('.'));
    let moved = from.rename_to(name, &to, &wanted)?;
    Ok(home.join(DAMAGED).join(moved))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_set_aside_through_a_link() {
        let home = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let state = DurableDir::create(home.path().join("state")).unwrap();
        let lock = state.lock().unwrap();
        state.write(&lock, "flags.json", b"x").unwrap();
        std::os::unix::fs::symlink(outside.path(), home.path().join(DAMAGED)).unwrap();
        let now = Timestamp::from_second(1_794_829_473).unwrap();
        set_aside(home.path(), &state, &lock, "flags.json", now).unwrap_err();
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        assert!(home.path().join("state/flags.json").exists());
    }

    #[test]
    fn what_is_set_aside_keeps_its_bytes_and_overwrites_nothing() {
        let home = tempfile::tempdir().unwrap();
        let state = DurableDir::create(home.path().join("state")).unwrap();
        let lock = state.lock().unwrap();
        let now = Timestamp::from_second(1_794_829_473).unwrap();
        let mut places = Vec::new();
        for text in ["one", "two"] {
            state.write(&lock, "flags.json", text.as_bytes()).unwrap();
            places.push(set_aside(home.path(), &state, &lock, "flags.json", now).unwrap());
        }
        let first = home.path().join("damaged/20261116T114433Z-flags.json");
        assert_eq!(places[0], first);
        for (place, text) in places.iter().zip(["one", "two"]) {
            assert_eq!(fs::read_to_string(place).unwrap(), text);
        }
        assert!(set_aside(home.path(), &state, &lock, "flags.json", now).is_err());
    }

    #[test]
    fn a_link_is_moved_itself() {
        let home = tempfile::tempdir().unwrap();
        let state = DurableDir::create(home.path().join("state")).unwrap();
        let lock = state.lock().unwrap();
        let target = home.path().join("target");
        fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, home.path().join("state/link")).unwrap();
        let place = set_aside(home.path(), &state, &lock, "link", Timestamp::UNIX_EPOCH).unwrap();
        assert!(place.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
    }
}
