//! The reaper, which S4 has in the background: here whoever opens a home does its work, at most once a day.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::storage::{DurableDir, StorageError};
use crate::store::Store;

const DIRECTORY: &str = "state";
const FILE: &str = "reaped.json";
const MAX_BYTES: u64 = 64 * 1024;
/// How long nobody reaps again.
const PAUSE: SignedDuration = SignedDuration::from_hours(24);

/// When it was done last, and what came of it.
#[derive(Debug, Serialize, Deserialize)]
struct Reaped {
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// Removes what has been in the bin for two days and is empty, if nobody did so within a day. Where that fails, nothing else is affected;
/// [`problem`] says so.
pub(super) fn reap_at_times(home: &Path, store: &Store) {
    let is_binned = |path: &Path| {
        let bundle = std::fs::read(path.join("bundle.json")).unwrap_or_default();
        bundle.windows(FIELD.len()).any(|bytes| bytes == FIELD)
    };
    /// The field that a bundle in the bin has; what merely looks like it costs a look in vain.
    const FIELD: &[u8] = b"\"softDeletedAt\"";
    let Ok(bundles) = std::fs::read_dir(home.join("bundles")) else {
        return;
    };
    let now = Timestamp::now();
    let is_recent = |reaped: &Reaped| {
        let since = now.duration_since(reaped.at);
        // A clock that was put back must not keep it from being done.
        SignedDuration::ZERO <= since && since < PAUSE
    };
    if read(home).is_ok_and(|reaped| reaped.as_ref().is_some_and(is_recent)) {
        return;
    }
    let mut bundles = bundles.flatten();
    if !bundles.any(|bundle| is_binned(&bundle.path())) {
        return;
    }
    let problem = store.reap().err().map(|error| error.to_string());
    // Without it the next to open tries again.
    let _ = write(home, &Reaped { at: now, problem });
}

/// What went wrong the last time, if something did.
pub(super) fn problem(home: &Path) -> Option<String> {
    let why = match read(home) {
        Ok(reaped) => reaped?.problem?,
        Err(error) => error.to_string(),
    };
    Some(format!(
        "bundles that have been in the bin for two days could not be removed: {why}"
    ))
}

fn read(home: &Path) -> Result<Option<Reaped>, StorageError> {
    let Some(dir) = DurableDir::open(&home.join(DIRECTORY))? else {
        return Ok(None);
    };
    let Some(bytes) = dir.read(FILE, MAX_BYTES)? else {
        return Ok(None);
    };
    // What makes no sense is written anew.
    Ok(serde_json::from_slice(&bytes).ok())
}

fn write(home: &Path, reaped: &Reaped) -> Result<(), StorageError> {
    let dir = DurableDir::create(&home.join(DIRECTORY))?;
    let lock = dir.lock()?;
    let bytes =
        serde_json::to_vec(reaped).map_err(|error| StorageError::io("write", FILE, error))?;
    dir.write(&lock, FILE, &bytes)
}
