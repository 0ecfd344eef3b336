//! Putting a damaged file out of the way: [`set_aside`].

use std::fs::File;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

use super::dir::DurableDir;
use super::error::StorageError;

/// The directory of a home that damaged files are moved to.
const DAMAGED: &str = "damaged";
/// How many files of one name can be set aside within a second.
const MAX_PER_SECOND: u32 = 1000;
/// The longest part of a name that stays of a file's own.
const MAX_NAME_BYTES: usize = 120;

/// Moves a file of a home, whatever it is, to `damaged/<time>-<name>`; returns where it is now. `file` is relative to the home.
///
/// The caller holds the lock of the directory the file is in. Nothing is overwritten and nothing is deleted. A link is moved
/// itself, not what it points to.
pub fn set_aside(home: &Path, file: &str, now: Timestamp) -> Result<PathBuf, StorageError> {
    let failed = |error: std::io::Error| StorageError::io("set aside", last_name(file), error);
    let directory = home.join(DAMAGED);
    DurableDir::create(&directory)?;
    let time = now.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ");
    let name = file.replace('/', "-");
    let name = &name[name.ceil_char_boundary(name.len().saturating_sub(MAX_NAME_BYTES))..];
    let from = home.join(file);
    for attempt in 0..MAX_PER_SECOND {
        let to = directory.join(match attempt {
            0 => format!("{time}-{name}"),
            again => format!("{time}.{again}-{name}"),
        });
        match rename_new(&from, &to) {
            Ok(()) => {
                for changed in [from.parent(), Some(directory.as_path())]
                    .into_iter()
                    .flatten()
                {
                    File::open(changed)
                        .and_then(|dir| dir.sync_all())
                        .map_err(failed)?;
                }
                return Ok(to);
            }
            Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(error.into())),
        }
    }
    Err(failed(Errno::EXIST.into()))
}

fn rename_new(from: &Path, to: &Path) -> Result<(), Errno> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system can. Nobody else makes names in this directory but others that set aside.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => match to.symlink_metadata() {
            Ok(_) => Err(Errno::EXIST),
            Err(_) => rustix::fs::rename(from, to),
        },
        result => result,
    }
}

fn last_name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_aside_keeps_its_bytes_and_overwrites_nothing() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("state")).unwrap();
        let now = Timestamp::from_second(1_794_829_473).unwrap();
        let mut places = Vec::new();
        for text in ["one", "two"] {
            std::fs::write(home.path().join("state/flags.json"), text).unwrap();
            places.push(set_aside(home.path(), "state/flags.json", now).unwrap());
        }
        assert_eq!(
            places,
            [
                home.path()
                    .join("damaged/20261116T114433Z-state-flags.json"),
                home.path()
                    .join("damaged/20261116T114433Z.1-state-flags.json"),
            ]
        );
        for (place, text) in places.iter().zip(["one", "two"]) {
            assert_eq!(std::fs::read_to_string(place).unwrap(), text);
        }
        assert!(!home.path().join("state/flags.json").exists());
    }

    #[test]
    fn a_link_is_moved_itself_and_a_file_that_is_gone_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("target");
        std::fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, home.path().join("link")).unwrap();
        let place = set_aside(home.path(), "link", Timestamp::UNIX_EPOCH).unwrap();
        assert!(place.symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept");
        assert!(set_aside(home.path(), "link", Timestamp::UNIX_EPOCH).is_err());
    }
}
