//! The files of the counts: how they grow, how they are folded, how they are read.
//!
//! Appending takes a shared lock of `usage.jsonl` itself, without waiting for it; folding takes an exclusive one for the moment in
//! which it gives the file another name (`usage.<number>.jsonl`), so that no one appends to a file that was read already. `usage.json`
//! says up to which number files are folded in: if a process dies between writing that and removing the numbered file, nothing is counted twice.

use std::fs::{File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::counts::Counts;
use crate::format;
use crate::storage::{DirLock, DurableDir, Stamp, Stamps, StorageError, set_aside};

/// Where the lines are.
pub(super) const LINES: &str = "usage.jsonl";
/// Where they are folded into.
pub(super) const FOLDED: &str = "usage.json";
/// The directory of the home.
const STATE: &str = "state";
/// What cannot be done with a file whose content is damaged.
const UNDERSTAND: &str = "understand";

/// Lines of this size are folded, or of a quarter of what they are folded into, if that is more.
const FOLD_BYTES: u64 = 64 * 1024;
/// Lines that no one can fold are not made longer than this.
const MAX_LINES_BYTES: u64 = 8 * 1024 * 1024;
/// The most that is kept.
const MAX_FOLDED_BYTES: usize = 16 * 1024 * 1024;
/// How often a file that is just being folded is tried again.
const MAX_ATTEMPTS: u32 = 50;

/// The contents of `usage.json`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Folded {
    /// The number of the last file whose lines are in here.
    folded: u64,
    counts: Counts,
}

/// What the files say.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) counts: Counts,
    /// Lines that say nothing.
    pub(super) damaged_lines: usize,
    /// Problems of the files themselves, with the name of each.
    pub(super) problems: Vec<(String, String)>,
}

/// The files of a home.
#[derive(Debug)]
pub(super) struct UsageFiles {
    home: PathBuf,
    state: PathBuf,
}

/// Counts that could not be appended, and why.
pub(super) struct Unwritten {
    pub(super) counts: Counts,
    pub(super) why: String,
}

impl UsageFiles {
    pub(super) fn at(home: &Path) -> Self {
        UsageFiles {
            home: home.to_owned(),
            state: home.join(STATE),
        }
    }

    /// Appends counts. Returns whether the lines are to be folded.
    pub(super) fn append(&self, counts: &Counts) -> Result<bool, Unwritten> {
        let failed = |why: &dyn ToString| Unwritten {
            counts: counts.clone(),
            why: why.to_string(),
        };
        // Lines are appended without the lock, which would refuse.
        format::check(&self.home).map_err(|error| failed(&error))?;
        let file = self.open_lines().map_err(|error| failed(&error))?;
        let size = file.metadata().map_err(|error| failed(&error))?.len();
        if size > MAX_LINES_BYTES {
            return Err(failed(&format!(
                "`{LINES}` is over {MAX_LINES_BYTES} bytes"
            )));
        }
        let lines = counts.lines();
        let bytes: Vec<u8> = lines.iter().flat_map(|(_, line)| line).copied().collect();
        let written = write_once(&file, &bytes).map_err(|error| failed(&error))?;
        if written < bytes.len() {
            // A full disk takes a part. Its whole entries count.
            let mut end = 0;
            let mut rest = Counts::default();
            for (counts, line) in &lines {
                end += line.len();
                if end > written {
                    rest.merge(counts);
                }
            }
            return Err(Unwritten {
                counts: rest,
                why: format!("cannot append to `{LINES}`: the disk is full"),
            });
        }
        Ok(self.is_long(size + written as u64))
    }

    fn is_long(&self, size: u64) -> bool {
        let folded =
            || std::fs::metadata(self.state.join(FOLDED)).map_or(0, |metadata| metadata.len());
        size > FOLD_BYTES && size > folded() / 4
    }

    /// Opens the lines so that no one folds them meanwhile.
    fn open_lines(&self) -> Result<File, StorageError> {
        let dir = match DurableDir::open(&self.state)? {
            Some(dir) => dir,
            None => {
                let dir = DurableDir::create(&self.state)?;
                // The first call of a home that the library opened; the command line does it for every verb.
                format::stamp(&self.home)?;
                dir
            }
        };
        let failed = |error: io::Error| StorageError::io("append to", LINES, error);
        for _ in 0..MAX_ATTEMPTS {
            let file = dir.open_to_append(LINES)?;
            match file.try_lock_shared() {
                Ok(()) if is_current(&dir, &file)? => return Ok(file),
                // It got another name, or will within a moment, unless the process that gives it one was stopped there.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        Err(failed(io::Error::other(
            "it is being folded by another process",
        )))
    }

    /// Adds the lines to `usage.json`, if no one is at it already. Where a file cannot be read, all stay as they are.
    pub(super) fn fold(&self, now: Timestamp) -> Result<(), StorageError> {
        let Some(dir) = DurableDir::open_in_home(&self.home, STATE)? else {
            return Ok(());
        };
        match dir.try_lock()? {
            Some(lock) => self.fold_under(&dir, &lock, now, |_, error| Err(error)),
            None => Ok(()),
        }
    }

    /// Adds the lines to `usage.json`. Files that are damaged are set aside first; returns those, with where they are now. One that cannot
    /// be read for another reason is not: it may be fine.
    pub(super) fn mend(&self, now: Timestamp) -> Result<Vec<(String, PathBuf)>, StorageError> {
        let Some(dir) = DurableDir::open_in_home(&self.home, STATE)? else {
            return Ok(Vec::new());
        };
        let lock = dir.lock()?;
        let mut moved = Vec::new();
        self.fold_under(&dir, &lock, now, |name, error| {
            if !is_damage(&error) {
                return Err(error);
            }
            let place = set_aside(&self.home, &dir, &lock, name, now)?;
            moved.push((format!("{STATE}/{name}"), place));
            Ok(())
        })?;
        Ok(moved)
    }

    /// `unreadable` says whether to go on without a file.
    fn fold_under(
        &self,
        dir: &DurableDir,
        lock: &DirLock,
        now: Timestamp,
        mut unreadable: impl FnMut(&str, StorageError) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let mut folded = match read_folded(dir) {
            Ok(folded) => folded,
            Err(error) => {
                unreadable(FOLDED, error)?;
                Folded::default()
            }
        };
        let before = folded.folded;
        let mut numbers = numbered(dir)?;
        let next = numbers.last().copied().unwrap_or(0).max(before) + 1;
        match dir.open_file(LINES) {
            Ok(Some(file)) => {
                if file.try_lock().is_ok() && is_current(dir, &file)? {
                    dir.rename(lock, LINES, &numbered_name(next))?;
                    numbers.push(next);
                }
            }
            Ok(None) => {}
            Err(error) => unreadable(LINES, error)?,
        }
        let fresh: Vec<u64> = numbers.iter().copied().filter(|n| *n > before).collect();
        if let Some(last) = fresh.last() {
            for number in &fresh {
                let name = numbered_name(*number);
                match dir.read(&name, MAX_LINES_BYTES * 2) {
                    Ok(bytes) => {
                        folded.counts.add_lines(&bytes.unwrap_or_default());
                    }
                    Err(error) => unreadable(&name, error)?,
                }
            }
            folded.folded = *last;
            folded.counts.forget(now);
            dir.write(lock, FOLDED, &to_bytes(&mut folded)?)?;
        }
        for number in numbers {
            dir.remove(lock, &numbered_name(number))?;
        }
        Ok(())
    }

    /// What all files say together.
    pub(super) fn read(&self) -> Read {
        let mut read = Read::default();
        for _ in 0..4 {
            let before = self.stamps().each();
            read = self.read_once();
            // Or else someone has folded meanwhile, and a part may be there twice, or not at all.
            if self.stamps().each() == before {
                break;
            }
        }
        read
    }

    fn read_once(&self) -> Read {
        let mut read = Read::default();
        let dir = match DurableDir::open_in_home(&self.home, STATE) {
            Ok(Some(dir)) => dir,
            Ok(None) => return read,
            Err(error) => {
                read.problems.push((STATE.to_owned(), error.to_string()));
                return read;
            }
        };
        let mut trouble = |name: &str, why: String| {
            read.problems.push((format!("{STATE}/{name}"), why));
        };
        let folded = read_folded(&dir).unwrap_or_else(|error| {
            trouble(FOLDED, error.to_string());
            Folded::default()
        });
        read.counts = folded.counts;
        let numbers = numbered(&dir).unwrap_or_default();
        let fresh = numbers.into_iter().filter(|n| *n > folded.folded);
        let names = fresh.map(numbered_name).chain([LINES.to_owned()]);
        for name in names {
            match dir.read(&name, MAX_LINES_BYTES * 2) {
                Ok(bytes) => {
                    read.damaged_lines += read.counts.add_lines(&bytes.unwrap_or_default());
                }
                Err(error) => trouble(&name, error.to_string()),
            }
        }
        read
    }

    /// Detects changes with two system calls.
    pub(super) fn stamps(&self) -> Stamps<2> {
        Stamps::new([FOLDED, LINES].map(|name| Stamp::of_entry(&self.state.join(name))))
    }
}

/// Whether an open file is still the one that has the name of the lines.
fn is_current(dir: &DurableDir, file: &File) -> Result<bool, StorageError> {
    let failed = |error: io::Error| StorageError::io("read", LINES, error);
    let ours = file.metadata().map_err(failed)?;
    let Some(there) = dir.open_file(LINES)? else {
        return Ok(false);
    };
    let there = there.metadata().map_err(failed)?;
    Ok(there.ino() == ours.ino() && there.dev() == ours.dev())
}

/// Hands all bytes to the system in one go; a part of them goes in where the disk is full.
fn write_once(mut file: &File, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match file.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// The numbers of the files that were given one, in order.
fn numbered(dir: &DurableDir) -> Result<Vec<u64>, StorageError> {
    let number = |name: &String| {
        let number = name.strip_prefix("usage.")?.strip_suffix(".jsonl")?;
        let number: u64 = number.parse().ok()?;
        (numbered_name(number) == *name && number < u64::MAX / 2).then_some(number)
    };
    let mut numbers: Vec<u64> = dir.list()?.iter().filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

fn numbered_name(number: u64) -> String {
    format!("usage.{number}.jsonl")
}

/// What was folded.
fn read_folded(dir: &DurableDir) -> Result<Folded, StorageError> {
    let senseless = |error: io::Error| StorageError::io(UNDERSTAND, FOLDED, error);
    let Some(bytes) = dir.read(FOLDED, MAX_FOLDED_BYTES as u64 * 2)? else {
        return Ok(Folded::default());
    };
    let folded: Folded = serde_json::from_slice(&bytes)
        .map_err(|error| senseless(io::Error::new(io::ErrorKind::InvalidData, error)))?;
    match folded.folded < u64::MAX / 2 {
        true => Ok(folded),
        false => Err(senseless(io::Error::new(
            io::ErrorKind::InvalidData,
            "`folded` is not the number of a file",
        ))),
    }
}

/// Whether a file will never be read as it is; everything else may pass, as want of descriptors does.
pub(super) fn is_damage(error: &StorageError) -> bool {
    let is_senseless = matches!(error, StorageError::Io { doing, .. } if *doing == UNDERSTAND);
    is_senseless || error.is_damage()
}

/// As the file has it. Where that is too much, only the tools that were called last are kept.
fn to_bytes(folded: &mut Folded) -> Result<Vec<u8>, StorageError> {
    loop {
        let bytes = serde_json::to_vec(folded)
            .map_err(|error| StorageError::io("write", FOLDED, io::Error::from(error)))?;
        if bytes.len() <= MAX_FOLDED_BYTES || folded.counts.is_empty() {
            return Ok(bytes);
        }
        folded.counts.keep_latest(folded.counts.len() / 2);
    }
}
