//! [`CallLogReader`]: reads the log backwards, in bounded memory.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use super::file::LogName;
use super::line::MAX_LINE_BYTES;
use super::page::CallPosition;
use crate::model::ids::CallId;
use crate::storage::{DurableDir, StorageError};
use toolcrib_core::record::CallRecord;

/// How much is read at a time.
const CHUNK_BYTES: usize = 256 * 1024;

/// Reads what [`CallLog`](super::CallLog)s have written. Creates nothing, and takes no lock.
#[derive(Debug, Clone)]
pub struct CallLogReader {
    path: PathBuf,
}

/// What [`CallLogReader::latest`] found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LatestCalls {
    /// The records, newest first.
    pub records: Vec<CallRecord>,
    /// Lines passed over on the way because a crash or a hand has damaged them.
    pub unreadable: u64,
}

/// How much a log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallLogSize {
    /// How many files there are.
    pub files: u64,
    /// How long they are together.
    pub bytes: u64,
}

impl CallLogReader {
    /// A reader of the log in a directory, which need not be there yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        CallLogReader { path: path.into() }
    }

    /// The newest `count` records that `is_wanted` accepts, in the order they were written.
    pub fn latest(
        &self,
        count: usize,
        mut is_wanted: impl FnMut(&CallRecord) -> bool,
    ) -> Result<LatestCalls, StorageError> {
        let mut found = LatestCalls::default();
        if count == 0 {
            return Ok(found);
        }
        let mut over = Over::default();
        self.read_backwards(None, |line| {
            match line.parse() {
                Some(record) if over.replaces(&record) => {}
                Some(record) if is_wanted(&record) => found.records.push(record),
                Some(_) => {}
                None => found.unreadable += u64::from(line.is_complete),
            }
            found.records.len() < count
        })?;
        Ok(found)
    }

    /// The record of a call; the newest, if a caller used the id twice.
    pub fn find(&self, call_id: &str) -> Result<Option<CallRecord>, StorageError> {
        // As it is in the line: looking for text is much cheaper than parsing every record.
        let needle = serde_json::Value::from(call_id).to_string();
        let mut found = None;
        self.read_backwards(None, |line| {
            if line.text.contains(&needle) {
                found = line
                    .parse()
                    .filter(|record| record.call_id.to_string() == call_id);
            }
            found.is_none()
        })?;
        Ok(found)
    }

    /// Like [`find`](Self::find), but looks only at so many bytes at the end of the log.
    pub fn find_lately(
        &self,
        call_id: &str,
        bytes: usize,
    ) -> Result<Option<CallRecord>, StorageError> {
        let needle = serde_json::Value::from(call_id).to_string();
        let (mut found, mut left) = (None, bytes);
        self.read_backwards(None, |line| {
            if line.text.contains(&needle) {
                found = line
                    .parse()
                    .filter(|record| record.call_id.as_str() == call_id);
            }
            left = left.saturating_sub(line.text.len() + 1);
            found.is_none() && left > 0
        })?;
        Ok(found)
    }

    /// How much there is.
    pub fn size(&self) -> Result<CallLogSize, StorageError> {
        let mut size = CallLogSize::default();
        let Some(dir) = DurableDir::open(&self.path)? else {
            return Ok(size);
        };
        for name in LogName::list(&dir)?.iter().map(LogName::to_string) {
            if let Some(file) = dir.open_file(&name)? {
                let found = file.metadata();
                let found = found.map_err(|e| StorageError::io("read", &name, e))?;
                size.files += 1;
                size.bytes += found.len();
            }
        }
        Ok(size)
    }

    /// Goes through all lines, last written first, until `visit` returns false; with a position, through those before it.
    pub(super) fn read_backwards(
        &self,
        before: Option<&CallPosition>,
        mut visit: impl FnMut(Line<'_>) -> bool,
    ) -> Result<(), StorageError> {
        let Some(dir) = DurableDir::open(&self.path)? else {
            return Ok(());
        };
        let names = LogName::list(&dir)?;
        let names = names.iter().rev();
        for name in names.skip_while(|name| before.is_some_and(|before| **name > before.file)) {
            let shown = name.to_string();
            let failed = |e| StorageError::io("read", &shown, e);
            // Gone since we listed it: the size limit took it.
            let Some(file) = dir.open_file(&shown)? else {
                continue;
            };
            let within = before.filter(|before| before.file == *name);
            let end = within.map_or(u64::MAX, |before| before.offset);
            let mut lines = LinesBackwards::new(file, end).map_err(failed)?;
            while let Some(mut line) = lines.next_line().map_err(failed)? {
                line.file = Some(name);
                if !visit(line) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// The calls of other programs whose ends were read, which replace what was recorded when they were judged: the log is read backwards.
#[derive(Debug, Default)]
pub(super) struct Over(HashSet<CallId>);

impl Over {
    /// Whether a record is one that a later one, read before, replaces.
    pub(super) fn replaces(&mut self, record: &CallRecord) -> bool {
        match &record.hook {
            Some(note) if note.over => {
                self.0.insert(record.call_id.clone());
                false
            }
            Some(_) => self.0.contains(&record.call_id),
            None => false,
        }
    }
}

/// A line that is not empty.
pub(super) struct Line<'a> {
    /// Without its line feed; empty when it is not text or over the limit.
    pub(super) text: &'a str,
    /// Whether it has its line feed. One that has not is torn, or just being written.
    pub(super) is_complete: bool,
    /// Where it starts.
    file: Option<&'a LogName>,
    offset: u64,
}

impl Line<'_> {
    /// The place before it.
    pub(super) fn position(&self) -> Option<CallPosition> {
        Some(CallPosition {
            file: self.file?.clone(),
            offset: self.offset,
        })
    }

    pub(super) fn parse(&self) -> Option<CallRecord> {
        serde_json::from_str(self.text).ok()
    }
}

/// The lines of a file from its end to its start.
struct LinesBackwards {
    file: File,
    /// Where in the file `buffer` starts.
    position: u64,
    buffer: Vec<u8>,
    /// How much of the buffer is still to come.
    end: usize,
    /// Whether what comes next is the rest of a line that is over the limit.
    is_too_long: bool,
    /// Whether a line feed ended what comes next.
    is_complete: bool,
}

impl LinesBackwards {
    /// Of what comes before `end`.
    fn new(file: File, end: u64) -> io::Result<Self> {
        let position = file.metadata()?.len().min(end);
        Ok(LinesBackwards {
            file,
            position,
            buffer: Vec::new(),
            end: 0,
            is_too_long: false,
            is_complete: false,
        })
    }

    fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            let feed = self.buffer[..self.end].iter().rposition(|b| *b == b'\n');
            let start = match feed {
                Some(feed) => feed + 1,
                None if self.position == 0 && self.end == 0 => return Ok(None),
                None if self.position == 0 => 0,
                None => {
                    self.read_more()?;
                    continue;
                }
            };
            let (end, is_complete, is_too_long) = (self.end, self.is_complete, self.is_too_long);
            self.end = start.saturating_sub(1);
            self.is_complete = true;
            self.is_too_long = false;
            if start < end || is_too_long {
                let bytes = if is_too_long {
                    &[]
                } else {
                    &self.buffer[start..end]
                };
                return Ok(Some(Line {
                    text: str::from_utf8(bytes).unwrap_or_default(),
                    is_complete,
                    file: None,
                    offset: self.position + start as u64,
                }));
            }
        }
    }

    /// Puts the bytes before the buffer in front of it.
    fn read_more(&mut self) -> io::Result<()> {
        if self.end > MAX_LINE_BYTES {
            self.is_too_long = true;
            self.end = 0;
        }
        let wanted = self.position.min(CHUNK_BYTES as u64);
        let mut buffer = vec![0; wanted as usize];
        self.file
            .read_exact_at(&mut buffer, self.position - wanted)?;
        buffer.extend_from_slice(&self.buffer[..self.end]);
        self.position -= wanted;
        self.end = buffer.len();
        self.buffer = buffer;
        Ok(())
    }
}
