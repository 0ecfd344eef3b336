//! The files of the log: which one is written, whole lines only, and when old ones go.
//!
//! Several processes append to one file without a lock. The kernel keeps their appends apart, but
//! three things can still go wrong, and each is noticed after the write and made good:
//! - A writer died or met a full disk within a line. The next writer finds its first line glued to the torn one, and writes it again.
//! - The file was removed (by someone's size limit, or by hand) between opening and writing. The
//!   lines are written again, to the file that is there now.
//! - The file has passed its size. The next lines go to the next part, and it does not matter
//!   which process makes that.

use std::fmt;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::PathBuf;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::writer::CallLogOptions;
use crate::storage::{DurableDir, StorageError};

/// The name of a file of the log. Ordered by age.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogName {
    /// `2026-11-15`.
    day: String,
    /// 0 for the first file of a day, which carries no number.
    part: u32,
}

impl LogName {
    pub(super) fn parse(name: &str) -> Option<Self> {
        let stem = name.strip_suffix(".jsonl")?;
        let (day, part) = match stem.split_once('.') {
            None => (stem, 0),
            Some((day, part)) => (day, part.parse().ok()?),
        };
        let parsed = LogName {
            day: day.parse::<Date>().ok()?.to_string(),
            part,
        };
        // One file, one spelling: no `.0`, no `20261115`.
        (parsed.to_string() == name).then_some(parsed)
    }

    fn first_of(now: Timestamp) -> Self {
        LogName {
            day: now.to_zoned(TimeZone::UTC).date().to_string(),
            part: 0,
        }
    }

    /// The files of the log that are there, oldest first.
    pub(super) fn list(dir: &DurableDir) -> Result<Vec<LogName>, StorageError> {
        let mut names: Vec<LogName> = dir
            .list()?
            .iter()
            .filter_map(|name| LogName::parse(name))
            .collect();
        names.sort_unstable();
        Ok(names)
    }
}

impl fmt::Display for LogName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            0 => write!(f, "{}.jsonl", self.day),
            part => write!(f, "{}.{part}.jsonl", self.day),
        }
    }
}

/// How often a line that did not get into the file whole is tried again.
const MAX_ATTEMPTS: u32 = 3;

/// Appends lines to the file of the day.
#[derive(Debug)]
pub(super) struct LogFiles {
    path: PathBuf,
    options: CallLogOptions,
    current: Option<CurrentFile>,
    /// What went wrong without costing a line.
    complaint: Option<StorageError>,
}

#[derive(Debug)]
struct CurrentFile {
    dir: DurableDir,
    name: String,
    file: File,
    /// The UTC day it was opened for, counted from 1970.
    day: i64,
    size: u64,
    /// Whether it ends within a line.
    is_torn: bool,
    is_synced: bool,
}

/// Lines that could not be written.
#[derive(Debug)]
pub(super) struct LostLines {
    pub(super) count: u64,
    pub(super) error: StorageError,
}

impl LogFiles {
    pub(super) fn new(path: PathBuf, options: CallLogOptions) -> Self {
        LogFiles {
            path,
            options,
            current: None,
            complaint: None,
        }
    }

    /// Appends the lines of `buffer`: a line feed, which is written only when the line before ours
    /// is torn, and then whole lines.
    pub(super) fn append(&mut self, buffer: &[u8], now: Timestamp) -> Result<(), LostLines> {
        let mut next = 1;
        let mut attempts = 0;
        while next < buffer.len() {
            match self.append_some(buffer, next, now) {
                Ok(reached) if reached > next => {
                    next = reached;
                    attempts = 0;
                }
                Ok(_) if attempts < MAX_ATTEMPTS => attempts += 1,
                result => {
                    let error = result.err().unwrap_or_else(|| self.stuck());
                    // Start over next time: the directory may be another one by then.
                    self.current = None;
                    let count = buffer[next..].iter().filter(|b| **b == b'\n').count() as u64;
                    return Err(LostLines { count, error });
                }
            }
        }
        Ok(())
    }

    fn stuck(&self) -> StorageError {
        let name = self
            .current
            .as_ref()
            .map_or("the call log", |current| &current.name);
        StorageError::io("append to", name, io::Error::from(io::ErrorKind::WriteZero))
    }

    /// Makes what was appended survive a power failure.
    pub(super) fn sync(&mut self) -> Result<(), StorageError> {
        self.current.as_mut().map_or(Ok(()), CurrentFile::sync)
    }

    /// What went wrong since the last time without costing a line.
    pub(super) fn take_complaint(&mut self) -> Option<StorageError> {
        self.complaint.take()
    }

    /// Appends the lines from `buffer[from]` on with one write, and returns where the first line
    /// starts that is not in the file after it.
    fn append_some(
        &mut self,
        buffer: &[u8],
        from: usize,
        now: Timestamp,
    ) -> Result<usize, StorageError> {
        let (current, is_fresh) = self.current(now)?;
        let start = if current.is_torn { from - 1 } else { from };
        let written = current.write(&buffer[start..])?;
        let end = start + written;
        let reached = buffer[..end]
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(from, |at| at + 1);
        current.is_torn = reached != end;

        let is_removed = current.update()?;
        if is_removed && !is_fresh {
            self.current = None;
            return Ok(from);
        }
        if start == from && reached > from && current.is_glued(written)? {
            let lines = &buffer[from..reached];
            let length = lines
                .iter()
                .position(|b| *b == b'\n')
                .map_or(0, |at| at + 1);
            self.append(&buffer[from - 1..from + length], now)
                .map_err(|lost| lost.error)?;
        }
        Ok(reached)
    }

    /// The file to append to, and whether it was opened just now.
    fn current(&mut self, now: Timestamp) -> Result<(&mut CurrentFile, bool), StorageError> {
        let day = now.as_second().div_euclid(24 * 60 * 60);
        let is_over =
            |file: &CurrentFile| file.day != day || file.size >= self.options.max_file_bytes;
        if let Some(mut old) = self.current.take_if(|file| is_over(file)) {
            // A later flush would not reach it any more.
            if let Err(error) = old.sync() {
                self.complaint = Some(error);
            }
        }
        let is_fresh = self.current.is_none();
        let current = match self.current.take() {
            Some(current) => current,
            None => self.open(day, now)?,
        };
        Ok((self.current.insert(current), is_fresh))
    }

    fn open(&mut self, day: i64, now: Timestamp) -> Result<CurrentFile, StorageError> {
        let dir = DurableDir::create(&self.path)?;
        let mut name = LogName::first_of(now);
        if let Some(last) = LogName::list(&dir)?
            .into_iter()
            .rfind(|other| other.day == name.day)
        {
            name = last;
        }
        let mut current = CurrentFile::open(&dir, &name, day)?;
        while current.size >= self.options.max_file_bytes && name.part < u32::MAX {
            name.part += 1;
            current = CurrentFile::open(&dir, &name, day)?;
        }
        if let Err(error) = remove_oldest(&dir, &name, self.options) {
            self.complaint = Some(error);
        }
        Ok(current)
    }
}

impl CurrentFile {
    fn open(dir: &DurableDir, name: &LogName, day: i64) -> Result<Self, StorageError> {
        let name = name.to_string();
        let file = dir.open_to_append(&name)?;
        let mut current = CurrentFile {
            dir: dir.clone(),
            name,
            file,
            day,
            size: 0,
            is_torn: false,
            is_synced: false,
        };
        current.update()?;
        current.is_torn = current.size > 0 && current.byte_before(current.size)? != b'\n';
        Ok(current)
    }

    /// Appends what the system takes at once.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, StorageError> {
        self.is_synced = false;
        loop {
            match self.file.write(bytes) {
                Ok(0) => return Err(self.failed(io::ErrorKind::WriteZero.into())),
                Ok(written) => return Ok(written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
    }

    /// Learns how large the file is by now, and whether someone removed it.
    fn update(&mut self) -> Result<bool, StorageError> {
        let metadata = self.file.metadata().map_err(|e| self.failed(e))?;
        self.size = metadata.len();
        Ok(metadata.nlink() == 0)
    }

    /// Whether the `written` bytes of the last write follow on something that is not a line.
    fn is_glued(&mut self, written: usize) -> Result<bool, StorageError> {
        let end = self.file.stream_position().map_err(|e| self.failed(e))?;
        match end.saturating_sub(written as u64) {
            0 => Ok(false),
            start => Ok(self.byte_before(start)? != b'\n'),
        }
    }

    fn byte_before(&self, offset: u64) -> Result<u8, StorageError> {
        let mut byte = [0];
        self.file
            .read_exact_at(&mut byte, offset - 1)
            .map_err(|e| self.failed(e))?;
        Ok(byte[0])
    }

    fn sync(&mut self) -> Result<(), StorageError> {
        if !self.is_synced {
            self.file.sync_data().map_err(|e| self.failed(e))?;
            self.dir.sync()?;
            self.is_synced = true;
        }
        Ok(())
    }

    fn failed(&self, cause: io::Error) -> StorageError {
        StorageError::io("append to", &self.name, cause)
    }
}

/// Removes the oldest files until `current` can grow to its full size within the limit.
fn remove_oldest(
    dir: &DurableDir,
    current: &LogName,
    options: CallLogOptions,
) -> Result<(), StorageError> {
    let mut others = Vec::new();
    for name in LogName::list(dir)? {
        if name != *current
            && let Some(file) = dir.open_file(&name.to_string())?
        {
            let size = file
                .metadata()
                .map_err(|e| StorageError::io("read", &name.to_string(), e))?
                .len();
            others.push((name, size));
        }
    }
    let room = options
        .max_total_bytes
        .saturating_sub(options.max_file_bytes);
    let mut total: u64 = others.iter().map(|(_, size)| size).sum();
    if total <= room {
        return Ok(());
    }
    // The holder of the lock is doing it already.
    let Some(lock) = dir.try_lock()? else {
        return Ok(());
    };
    for (name, size) in others {
        if total <= room {
            break;
        }
        dir.remove(&lock, &name.to_string())?;
        total -= size;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_one_spelling_and_sort_by_age() {
        let names = [
            "2026-11-14.jsonl",
            "2026-11-14.2.jsonl",
            "2026-11-14.10.jsonl",
            "2026-11-15.jsonl",
        ];
        let parsed = names.map(|name| LogName::parse(name).unwrap());
        assert!(parsed.is_sorted());
        assert_eq!(parsed.map(|name| name.to_string()), names);
        for other in [
            "x.jsonl",
            "2026-11-15",
            "2026-11-15.json",
            "2026-11-15.0.jsonl",
            "2026-11-15.01.jsonl",
            "2026-11-15.-1.jsonl",
            "2026-11-15.1.1.jsonl",
            "2026-02-30.jsonl",
            "20261115.jsonl",
        ] {
            assert_eq!(LogName::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_new_day_has_a_new_file_whichever_way_the_clock_goes() {
        let dir = tempfile::tempdir().unwrap();
        let mut files = LogFiles::new(dir.path().to_owned(), CallLogOptions::default());
        for now in [
            "2026-11-15T23:59:59.999Z",
            "2026-11-16T00:00:00Z",
            "2016-01-01T12:00:00Z",
            "2026-11-16T00:00:01Z",
        ] {
            files.append(b"\nline\n", now.parse().unwrap()).unwrap();
        }
        let read = |name| std::fs::read_to_string(dir.path().join(name)).unwrap();
        assert_eq!(read("2026-11-15.jsonl"), "line\n");
        assert_eq!(read("2026-11-16.jsonl"), "line\nline\n");
        assert_eq!(read("2016-01-01.jsonl"), "line\n");
    }

    #[test]
    fn the_file_being_written_stays_even_if_it_has_the_oldest_name() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("2026-11-15.jsonl"), "line\n".repeat(100)).unwrap();
        std::fs::write(dir.path().join("2030-01-01.jsonl"), "line\n".repeat(1000)).unwrap();
        let options = CallLogOptions {
            max_file_bytes: 1000,
            max_total_bytes: 2000,
        };
        let mut files = LogFiles::new(dir.path().to_owned(), options);
        files
            .append(b"\nnew\n", "2026-11-15T12:00:00Z".parse().unwrap())
            .unwrap();
        let names = LogName::list(&DurableDir::open(dir.path()).unwrap().unwrap()).unwrap();
        assert_eq!(names, [LogName::parse("2026-11-15.jsonl").unwrap()]);
    }
}
