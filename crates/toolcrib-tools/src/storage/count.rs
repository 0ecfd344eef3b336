//! Whether someone has written since: [`Generation`], a number that writers of a directory count up in its lock file.
//!
//! A writer that counts makes the number odd when it has the lock and even when it gives it back. A reader that remembers an even number
//! and finds it again knows that nothing was written in the meantime, for the price of reading a few bytes, whatever the file system's
//! clock makes of two writes in one tick. The number matters to living processes only, so it is never synced; one that is lost or garbled
//! starts again somewhere else.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use uuid::Uuid;

/// How the number is written: twenty digits and a line feed, so that it never changes its length.
const BYTES: usize = 21;

/// What the lock file of a directory says about its writers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum Generation {
    /// No one has counted here: there is no lock file, or it is empty.
    Untouched,
    /// The number. An odd one: someone is writing, or died while he was.
    At(u64),
    /// There is a lock file that says something else.
    Unknown,
}

impl Generation {
    /// Reads the number in the directory at `path`. Creates nothing.
    #[doc(hidden)]
    pub fn read(lock_file: &Path) -> Self {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        match rustix::fs::open(lock_file, flags, Mode::empty()) {
            Ok(file) => Self::of(&File::from(file)),
            Err(Errno::NOENT) => Generation::Untouched,
            Err(_) => Generation::Unknown,
        }
    }

    /// Reads the number in an open lock file.
    pub(super) fn of(file: &File) -> Self {
        // One more, to see that there is no more.
        let mut bytes = [0; BYTES + 1];
        match file.read_at(&mut bytes, 0) {
            Ok(0) => Generation::Untouched,
            Ok(BYTES) if bytes[BYTES - 1] == b'\n' => std::str::from_utf8(&bytes[..BYTES - 1])
                .ok()
                .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
                .and_then(|digits| digits.parse().ok())
                .map_or(Generation::Unknown, Generation::At),
            Ok(_) | Err(_) => Generation::Unknown,
        }
    }

    /// Whether no one is writing, as far as the number shows.
    #[doc(hidden)]
    pub fn is_quiet(self) -> bool {
        match self {
            Generation::Untouched => true,
            Generation::At(number) => number % 2 == 0,
            Generation::Unknown => false,
        }
    }

    /// Whether one writer, and no more, has come and gone since the number was another.
    #[doc(hidden)]
    pub fn is_next_after(self, before: Generation) -> bool {
        match (before, self) {
            (Generation::At(before), Generation::At(now)) => {
                before % 2 == 0 && before.checked_add(2) == Some(now)
            }
            _ => false,
        }
    }

    /// The odd number of the next writer.
    pub(super) fn of_next_writer(self) -> u64 {
        match self {
            Generation::At(number) if number < u64::MAX - 4 => number + 1 + number % 2,
            // Never a number that someone may remember.
            Generation::At(_) | Generation::Untouched | Generation::Unknown => {
                (Uuid::now_v7().as_u128() as u64 >> 8) | 1
            }
        }
    }
}

/// Writes a number into an open lock file in which there was one, or nothing.
pub(super) fn write(file: &File, number: u64) -> io::Result<()> {
    file.write_all_at(format!("{number:020}\n").as_bytes(), 0)
}

/// Writes a number, and nothing else, into an open lock file in which there was this.
pub(super) fn write_over(file: &File, found: Generation, number: u64) -> io::Result<()> {
    write(file, number)?;
    match found {
        Generation::Unknown => file.set_len(BYTES as u64),
        Generation::At(_) | Generation::Untouched => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::DurableDir;

    fn place() -> (tempfile::TempDir, DurableDir, std::path::PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let dir = DurableDir::create(place.path()).unwrap();
        let file = place.path().join(".lock");
        (place, dir, file)
    }

    #[test]
    fn the_number_is_odd_while_a_writer_writes_and_another_even_one_after() {
        let (_place, dir, file) = place();
        assert_eq!(Generation::read(&file), Generation::Untouched);
        let lock = dir.lock_counted().unwrap();
        assert!(!Generation::read(&file).is_quiet());
        assert_eq!(lock.found(), Generation::Untouched);
        let after = lock.generation_after();
        drop(lock);
        assert_eq!(Generation::read(&file), after);
        assert!(after.is_quiet());
        let lock = dir.lock_counted().unwrap();
        assert_eq!(lock.found(), after);
        assert_ne!(lock.generation_after(), after);
    }

    #[test]
    fn a_lock_that_does_not_count_leaves_the_number_alone() {
        let (_place, dir, file) = place();
        drop(dir.lock().unwrap());
        assert_eq!(Generation::read(&file), Generation::Untouched);
        drop(dir.lock_counted().unwrap());
        let before = Generation::read(&file);
        drop(dir.lock().unwrap());
        assert_eq!(Generation::read(&file), before);
    }

    #[test]
    fn a_garbled_or_removed_number_starts_again_elsewhere() {
        let (_place, dir, file) = place();
        drop(dir.lock_counted().unwrap());
        let before = Generation::read(&file);
        for garbage in [
            "7\n".to_owned(),
            "x".repeat(BYTES),
            "0".repeat(100),
            format!("{}\n", "9".repeat(20)),
        ] {
            std::fs::write(&file, &garbage).unwrap();
            assert_eq!(Generation::read(&file), Generation::Unknown, "{garbage}");
            drop(dir.lock_counted().unwrap());
            let after = Generation::read(&file);
            assert!(after.is_quiet() && after != before, "{garbage}: {after:?}");
        }
        std::fs::remove_file(&file).unwrap();
        drop(dir.lock_counted().unwrap());
        assert!(![before, Generation::Untouched].contains(&Generation::read(&file)));
    }

    #[test]
    fn a_writer_that_died_leaves_an_odd_number_and_the_next_one_makes_it_even() {
        let (_place, dir, file) = place();
        drop(dir.lock_counted().unwrap());
        std::fs::write(&file, format!("{:020}\n", 41)).unwrap();
        assert!(!Generation::read(&file).is_quiet());
        drop(dir.lock_counted().unwrap());
        assert_eq!(Generation::read(&file), Generation::At(44));
    }
}
