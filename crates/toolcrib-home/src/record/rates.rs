//! How often tools were called in the last minute, by all processes of a home: [`SharedRates`].
//!
//! `state/rates.json` has a row for each tool with a limit that was called within a minute. It is locked, read and written in place for each
//! such call, without waiting for the disk: after a crash it may be lost, which lets a tool be called again a minute too early.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use toolcrib_core::approval::{Clock, Moment};
use toolcrib_core::limits::{Bucket, RateStore};

use crate::spec::ToolSpec;

/// A row that is older says nothing any more: its tool may be called as often as one that was never called.
const MINUTE: Duration = Duration::from_secs(60);
/// The most that is read: a row has some hundred bytes, and a home some thousand tools.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Calls per minute, counted in a file that processes share. It is made when first needed.
pub(crate) struct SharedRates {
    path: PathBuf,
    /// Tools of a workspace are other tools than those of the same name in another.
    workspace: String,
    clock: Clock,
}

#[derive(Serialize, Deserialize)]
struct Row {
    #[serde(flatten)]
    bucket: Bucket,
    at: Moment,
}

impl SharedRates {
    /// The file `rates.json` in a directory, for calls in this workspace.
    pub(crate) fn in_directory(state: PathBuf, workspace: Option<&std::path::Path>) -> Self {
        SharedRates {
            path: state.join("rates.json"),
            workspace: workspace.map_or_else(String::new, |path| path.display().to_string()),
            clock: Clock::default(),
        }
    }

    fn open(&self) -> std::io::Result<File> {
        let open = || {
            OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
                .open(&self.path)
        };
        match (open(), self.path.parent()) {
            (Err(error), Some(state)) if error.kind() == std::io::ErrorKind::NotFound => {
                fs::create_dir_all(state)?;
                open()
            }
            (opened, _) => opened,
        }
    }

    fn key(&self, tool: &ToolSpec) -> String {
        match tool.bundle.as_str() {
            "local" => format!("{} in {}", tool.reference(), self.workspace),
            _ => tool.reference(),
        }
    }
}

impl RateStore for SharedRates {
    fn count(&self, tool: &ToolSpec, per_minute: u32) -> std::io::Result<Result<(), Duration>> {
        let mut file = self.open()?;
        file.lock()?;
        let mut text = Vec::new();
        (&file).take(MAX_BYTES).read_to_end(&mut text)?;
        // One that a crash tore counts as none.
        let mut rows: BTreeMap<String, Row> = serde_json::from_slice(&text).unwrap_or_default();
        let now = self.clock.now();
        let age = |row: &Row| row.at.elapsed(&now).filter(|age| *age < MINUTE);
        rows.retain(|_, row| age(row).is_some());
        let key = self.key(tool);
        let (mut bucket, since) = match rows.get(&key) {
            Some(row) => (row.bucket, age(row).unwrap_or_default()),
            None => (Bucket::full(per_minute), Duration::ZERO),
        };
        let taken = bucket.take(per_minute, since);
        rows.insert(key, Row { bucket, at: now });
        let text = serde_json::to_vec(&rows)?;
        file.rewind()?;
        file.write_all(&text)?;
        file.set_len(text.len() as u64)?;
        Ok(taken)
    }
}
