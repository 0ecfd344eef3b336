//! What `connect` wrote where, so that `--undo` knows what was there before: `connections.json` of the home.
//!
//! It is a help and no authority: the client's file says what is connected.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib::storage::{DurableDir, StorageError};
use toolcrib::{ErrorCode, ToolError};

const NAME: &str = "connections.json";
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// One entry that was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    /// The client's file, links followed.
    pub(super) file: PathBuf,
    /// What the entry is called.
    pub(super) name: String,
    /// What was written.
    pub(super) entry: Value,
    /// The file as it was.
    #[serde(default)]
    pub(super) backup: Option<PathBuf>,
    /// Whether there was no file.
    #[serde(default)]
    pub(super) created: bool,
    /// What was there by that name.
    #[serde(default)]
    pub(super) previous: Option<Value>,
    /// Whether there were servers before.
    #[serde(default)]
    pub(super) had_table: bool,
}

impl Record {
    fn is_about(&self, file: &Path, name: &str) -> bool {
        self.file == file && self.name == name
    }
}

/// The records of a home.
pub(super) struct Records {
    home: PathBuf,
}

impl Records {
    pub(super) fn of_home(home: &Path) -> Self {
        Records {
            home: home.to_owned(),
        }
    }

    /// What was written there by that name. What cannot be read is not known.
    pub(super) fn find(&self, file: &Path, name: &str) -> Option<Record> {
        let all = self.read().ok()?;
        all.into_iter().find(|record| record.is_about(file, name))
    }

    /// Whether this very entry was written there.
    pub(super) fn has(&self, file: &Path, name: &str, entry: &Value) -> bool {
        let target = file.canonicalize().unwrap_or_else(|_| file.to_owned());
        self.find(&target, name)
            .is_some_and(|record| record.entry == *entry)
    }

    /// Notes what was written. Where our own entry is replaced, what was before that is what `--undo` goes back to.
    pub(super) fn note(&self, mut record: Record) -> Result<(), ToolError> {
        self.change(|all| {
            let known = all
                .iter()
                .position(|known| known.is_about(&record.file, &record.name));
            if let Some(at) = known {
                let known = all.remove(at);
                if record.previous.as_ref() == Some(&known.entry) {
                    record = Record {
                        entry: record.entry.clone(),
                        ..known
                    };
                }
            }
            all.push(record.clone());
        })
    }

    pub(super) fn forget(&self, file: &Path, name: &str) -> Result<(), ToolError> {
        if self.find(file, name).is_none() {
            return Ok(());
        }
        self.change(|all| all.retain(|record| !record.is_about(file, name)))
    }

    fn read(&self) -> Result<Vec<Record>, StorageError> {
        let Some(dir) = DurableDir::open(&self.home)? else {
            return Ok(Vec::new());
        };
        let bytes = dir.read_own(NAME, MAX_BYTES)?.unwrap_or_default();
        // One that is damaged is as good as none.
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Record>)) -> Result<(), ToolError> {
        let work = || -> Result<(), StorageError> {
            let dir = DurableDir::create(&self.home)?;
            let lock = dir.lock()?;
            let mut all = self.read().unwrap_or_default();
            change(&mut all);
            let text = serde_json::to_vec_pretty(&all).unwrap_or_default();
            dir.write(&lock, NAME, &text)
        };
        work().map_err(|error| {
            let message =
                format!("the client's file is written, but not noted for --undo: {error}");
            ToolError::new(ErrorCode::StorageError, message)
        })
    }
}
