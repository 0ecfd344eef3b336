//! Claims as files, so that processes agree on who runs a call.
//!
//! `<digest of the id>.json` holds two lines: the claim (the id, the digest of what is called, the caller)
//! and, once the call is over, its outcome. The file is locked while the call runs; the kernel drops
//! the lock when the process dies. A claim without outcome and without lock is a call that was lost, or whose outcome took too much room;
//! an empty file is one that was given up.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use toolcrib_core::record::replay::{
    ClaimAnswer, ClaimState, ClaimStore, Claimant, Replay, SharedClaim, conflict,
};

use crate::model::caller::Caller;
use crate::model::digest::Digester;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::ids::CallId;
use crate::model::outcome::Outcome;
use crate::storage::{DirLock, DurableDir};

/// The largest stored outcome that is read back.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// How often claims that are too old are looked for, at most: a server lives for weeks.
const SWEEP_EVERY: Duration = Duration::from_secs(3600);
/// How much there may be of outcomes together. The oldest are let go of when there is more; their claims stay, so that none of these
/// calls is run again.
const MAX_KEPT: u64 = 1024 * 1024 * 1024;
/// An outcome this short is let go of only after the longer ones: few calls that print much leave everybody else's alone.
const SHORT: u64 = 64 * 1024;
/// The longest claim: an id, a digest, a caller and what JSON puts around them.
const MAX_HEADER: u64 = 4096;

struct DiskReplay {
    path: PathBuf,
    keep: Duration,
    /// When this process last removed what is too old.
    swept: Mutex<Option<Instant>>,
    /// How much there may be of outcomes together.
    room: u64,
    /// How much this process has written since it last looked how much there is.
    written: Arc<AtomicU64>,
}

/// A claim held by this process, locked.
struct DiskClaim {
    file: File,
    path: PathBuf,
    phase: Phase,
    written: Arc<AtomicU64>,
}

#[derive(PartialEq)]
enum Phase {
    /// The call has not begun: dropping the claim gives it up.
    Made,
    /// The call runs: dropping the claim loses it.
    Begun,
}

#[derive(Serialize, Deserialize)]
struct Header {
    id: String,
    digest: String,
    /// Not in claims of earlier versions, which have no owner.
    #[serde(default)]
    caller: Option<Caller>,
}

/// Keeps outcomes in a directory that processes share. It is made when first needed.
pub fn in_directory(path: PathBuf, keep: Duration) -> Replay {
    Replay::shared(DiskReplay::new(path, keep), keep)
}

impl DiskReplay {
    fn new(path: PathBuf, keep: Duration) -> Self {
        DiskReplay {
            path,
            keep,
            swept: Mutex::default(),
            room: MAX_KEPT,
            written: Arc::default(),
        }
    }

    #[cfg(test)]
    fn with_room(mut self, room: u64) -> Self {
        self.room = room;
        self
    }

    /// Whether a claim is older than it is kept. What runs is never too old: its lock says so.
    fn is_expired(&self, path: &Path) -> bool {
        let age = fs::symlink_metadata(path)
            .and_then(|found| found.modified())
            .ok();
        let age = age.and_then(|age| SystemTime::now().duration_since(age).ok());
        age.is_some_and(|age| age > self.keep)
            && open(path).is_ok_and(|file| file.try_lock().is_ok())
    }

    /// Sweeps at the first claim of the process, and then from time to time. Under the lock.
    fn sweep_now_and_then(&self) {
        let mut swept = self.swept.lock().unwrap_or_else(PoisonError::into_inner);
        if swept.is_none_or(|at| at.elapsed() >= SWEEP_EVERY.min(self.keep)) {
            self.sweep();
            self.make_room();
            *swept = Some(Instant::now());
        }
    }

    /// Removes claims that are too old, under the lock.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let path = entry.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
                && self.is_expired(&path)
            {
                let _ = fs::remove_file(path);
            }
        }
    }
}

impl ClaimStore for DiskReplay {
    fn claim(&self, id: &CallId, claimant: &Claimant) -> Result<ClaimAnswer, ToolError> {
        // The lock is held while a claim is made or looked at, never while a call runs.
        let dir = DurableDir::create(&self.path)?;
        let lock = dir.lock()?;
        self.sweep_now_and_then();
        if self.written.load(Ordering::Relaxed) > self.room / 16 {
            self.make_room();
        }
        let name = file_name(id);
        let path = self.path.join(&name);
        let unreadable = |error: io::Error| unusable(id, error);
        if self.is_expired(&path) {
            remove(&path).map_err(unreadable)?;
        }
        match open(&path) {
            Ok(file) => match look_at(file, &path).map_err(unreadable)? {
                (Some(header), _)
                    if header.id != id.as_str() || header.digest != claimant.digest =>
                {
                    Err(conflict(id))
                }
                (_, found) => Ok(found),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let header = Header {
                    id: id.to_string(),
                    digest: claimant.digest.clone(),
                    caller: Some(claimant.caller.clone()),
                };
                make(&dir, &lock, &name, &path, &header, &self.written)
            }
            Err(error) => Err(unreadable(error)),
        }
    }

    // A claim of an earlier version, whose caller is unknown, is none.
    fn standing(&self, id: &CallId) -> Result<Option<ClaimState>, ToolError> {
        let Some(dir) = DurableDir::open(&self.path)? else {
            return Ok(None);
        };
        let path = self.path.join(file_name(id));
        // A missing file needs no lock: lookups of calls that were never stored delay no one.
        if matches!(fs::symlink_metadata(&path), Err(error) if error.kind() == io::ErrorKind::NotFound)
        {
            return Ok(None);
        }
        // A claimant locks its file under the lock of the directory: they must not find it locked by us.
        let _lock = dir.lock()?;
        let file = match open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(id, error)),
        };
        let (header, found) = look_at(file, &path).map_err(|error| unusable(id, error))?;
        let Some(Header {
            id: own,
            caller: Some(caller),
            ..
        }) = header
        else {
            return Ok(None);
        };
        if own != id.as_str() {
            return Ok(None);
        }
        Ok(match found {
            ClaimAnswer::Taken => Some(ClaimState::Elsewhere(caller)),
            ClaimAnswer::Done(outcome) => Some(ClaimState::Done(caller, outcome)),
            ClaimAnswer::Lost => Some(ClaimState::Lost(caller)),
            ClaimAnswer::Ours(_) => None,
        })
    }
}

impl DiskReplay {
    /// Lets go of outcomes until the others fit, under the lock: long ones first, the oldest of them first. What runs stays.
    fn make_room(&self) {
        self.written.store(0, Ordering::Relaxed);
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let mut kept: Vec<(bool, SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let found = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                let is_short = found.len() <= SHORT;
                Some((is_short, found.modified().ok()?, found.len(), entry.path()))
            })
            .filter(|(.., path)| {
                path.extension()
                    .is_some_and(|extension| extension == "json")
            })
            .collect();
        let mut total: u64 = kept.iter().map(|(_, _, length, _)| length).sum();
        if total <= self.room {
            return;
        }
        kept.sort();
        for (_, since, length, path) in kept {
            if total <= self.room {
                return;
            }
            let left = shorten(&path, since).unwrap_or(length);
            total -= length.saturating_sub(left);
        }
    }
}

/// Leaves the claim without its outcome, and as old as it was; how long it is then.
fn shorten(path: &Path, since: SystemTime) -> io::Result<u64> {
    let file = open(path)?;
    file.try_lock()?;
    let mut header = Vec::new();
    BufReader::new((&file).take(MAX_HEADER)).read_until(b'\n', &mut header)?;
    let left = header.len() as u64;
    file.set_len(left)?;
    file.set_modified(since)?;
    Ok(left)
}

fn file_name(id: &CallId) -> String {
    let digest = Digester::default().text(id.as_str()).finish();
    format!("{}.json", &digest[..32])
}

fn unusable(id: &CallId, error: io::Error) -> ToolError {
    let message = format!("cannot keep account of call `{id}`: {error}");
    ToolError::new(ErrorCode::StorageError, message).caused_by(error)
}

/// Neither a link nor a FIFO in the place of a claim leads anywhere.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

fn make(
    dir: &DurableDir,
    lock: &DirLock,
    name: &str,
    path: &Path,
    header: &Header,
    written: &Arc<AtomicU64>,
) -> Result<ClaimAnswer, ToolError> {
    let line = serde_json::to_string(header).unwrap_or_default() + "\n";
    if line.len() as u64 > MAX_HEADER {
        let message = format!(
            "call `{}` cannot be kept: its caller's name is too long",
            header.id
        );
        return Err(ToolError::new(ErrorCode::Usage, message));
    }
    dir.create_new(lock, name, line.as_bytes())?;
    let locked = open(path).and_then(|mut file| {
        file.try_lock()?;
        file.seek(io::SeekFrom::End(0))?;
        Ok(file)
    });
    match locked {
        Ok(file) => Ok(ClaimAnswer::Ours(Box::new(DiskClaim {
            file,
            path: path.to_owned(),
            phase: Phase::Made,
            written: Arc::clone(written),
        }))),
        Err(error) => {
            // A claim that no one holds must not block the id for a day.
            dir.remove(lock, name)?;
            let message = format!("cannot keep account of call `{}`: {error}", header.id);
            Err(ToolError::new(ErrorCode::StorageError, message).caused_by(error))
        }
    }
}

/// Removes a claim, unless who gave it up was quicker: that needs no lock of the directory.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What a claim says, if it can be read, and the status of its call. In the lock of the directory.
fn look_at(file: File, path: &Path) -> io::Result<(Option<Header>, ClaimAnswer)> {
    // Locked first, so that an outcome is there whole or not at all.
    let is_free = file.try_lock_shared().is_ok();
    let mut reader = BufReader::new(file.take(MAX_BYTES));
    let mut header = Vec::new();
    reader
        .by_ref()
        .take(MAX_HEADER)
        .read_until(b'\n', &mut header)?;
    if header.is_empty() {
        if is_free {
            remove(path)?;
        }
        return Ok((None, ClaimAnswer::Taken));
    }
    let Ok(header) = serde_json::from_slice::<Header>(&header) else {
        return Ok((None, ClaimAnswer::Lost));
    };
    let found = match is_free {
        false => ClaimAnswer::Taken,
        true => match serde_json::from_reader(reader) {
            Ok(outcome) => ClaimAnswer::Done(Box::new(outcome)),
            Err(_) => ClaimAnswer::Lost,
        },
    };
    Ok((Some(header), found))
}

impl SharedClaim for DiskClaim {
    fn begin(&mut self) {
        self.phase = Phase::Begun;
    }

    fn give_up(mut self: Box<Self>) {
        self.phase = Phase::Made;
    }

    fn finish(mut self: Box<Self>, outcome: &Outcome) -> bool {
        let line = serde_json::to_vec(outcome).map_err(io::Error::from);
        let written = line.and_then(|mut line| {
            line.push(b'\n');
            if line.len() as u64 > MAX_BYTES {
                return Err(io::Error::other("the outcome is too long to be read back"));
            }
            self.written.fetch_add(line.len() as u64, Ordering::Relaxed);
            self.file.write_all(&line)?;
            self.file.sync_all()
        });
        written.is_ok()
    }
}

impl Drop for DiskClaim {
    fn drop(&mut self) {
        if self.phase == Phase::Made {
            // Emptied first: who has it open already must not take it for a call that was lost.
            let _ = self.file.set_len(0);
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests;
