//! Claims as files, so that processes agree on who runs a call.
//!
//! `<digest of the id>.json` holds two lines: the claim (the digest of tool and arguments) and, once
//! the call is over, its outcome. The file is locked while the call runs; the kernel drops the lock
//! when the process dies. A claim without outcome and without lock is a call that was lost.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::Once;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::model::digest::Digester;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::outcome::Outcome;

/// The largest stored outcome that is read back.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

pub(super) struct DiskReplay {
    path: PathBuf,
    keep: Duration,
    swept: Once,
}

/// A claim held by this process.
pub(super) struct DiskClaim {
    file: File,
}

pub(super) enum Found {
    Ours(DiskClaim),
    Running,
    Done(Box<Outcome>),
    Lost,
}

#[derive(Serialize, Deserialize)]
struct Header {
    id: String,
    digest: String,
}

impl DiskReplay {
    pub(super) fn new(path: PathBuf, keep: Duration) -> Self {
        DiskReplay {
            path,
            keep,
            swept: Once::new(),
        }
    }

    pub(super) fn claim(&self, id: &str, digest: &str) -> Result<Found, ToolError> {
        self.try_claim(id, digest).map_err(|error| {
            ToolError::new(
                ErrorCode::StorageError,
                format!("cannot keep account of call `{id}`: {error}"),
            )
            .caused_by(error)
        })?
    }

    fn try_claim(&self, id: &str, digest: &str) -> io::Result<Result<Found, ToolError>> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.path)?;
        // Held only while a claim is made or looked at, never while a call runs.
        let guard = options()
            .create(true)
            .truncate(false)
            .open(self.path.join(".lock"))?;
        guard.lock()?;
        self.swept.call_once(|| self.sweep());
        let path = self.path.join(format!(
            "{}.json",
            &Digester::default().text(id).finish()[..32]
        ));
        if let Ok(age) = path.metadata().and_then(|found| found.modified())
            && SystemTime::now()
                .duration_since(age)
                .is_ok_and(|age| age > self.keep)
        {
            fs::remove_file(&path)?;
        }
        match options().create_new(true).open(&path) {
            Ok(mut file) => {
                file.try_lock().map_err(io::Error::from)?;
                let header = Header {
                    id: id.to_owned(),
                    digest: digest.to_owned(),
                };
                let line = serde_json::to_string(&header)? + "\n";
                if let Err(error) = file
                    .write_all(line.as_bytes())
                    .and_then(|()| file.sync_all())
                {
                    // A claim that may be half written must not block the id for a day.
                    fs::remove_file(&path)?;
                    return Err(error);
                }
                File::open(&self.path)?.sync_all()?;
                Ok(Ok(Found::Ours(DiskClaim { file })))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let file = options().open(&path)?;
                look_at(file, id, digest)
            }
            Err(error) => Err(error),
        }
    }

    /// Removes claims that are older than they are kept, under the lock.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let is_claim = entry
                .path()
                .extension()
                .is_some_and(|extension| extension == "json");
            let age = entry.metadata().and_then(|found| found.modified()).ok();
            let old = age
                .and_then(|age| SystemTime::now().duration_since(age).ok())
                .is_some_and(|age| age > self.keep);
            if is_claim && old {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Neither a link nor a FIFO in the place of a file leads anywhere.
fn options() -> OpenOptions {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .mode(0o600)
        .custom_flags(flags.bits().cast_signed());
    options
}

fn look_at(file: File, id: &str, digest: &str) -> io::Result<Result<Found, ToolError>> {
    let mut text = String::new();
    (&file).take(MAX_BYTES).read_to_string(&mut text)?;
    let (header, outcome) = text.split_once('\n').unwrap_or((&text, ""));
    let Ok(header) = serde_json::from_str::<Header>(header) else {
        return Ok(Ok(Found::Lost));
    };
    if header.id != id || header.digest != digest {
        return Ok(Err(super::conflict(id)));
    }
    if file.try_lock_shared().is_err() {
        return Ok(Ok(Found::Running));
    }
    // Read again: the outcome may have come between reading and locking.
    if outcome.is_empty() {
        text.clear();
        use std::io::Seek as _;
        (&file).rewind()?;
        (&file).take(MAX_BYTES).read_to_string(&mut text)?;
    }
    let outcome = text.split_once('\n').map_or("", |(_, outcome)| outcome);
    Ok(Ok(match serde_json::from_str(outcome) {
        Ok(outcome) => Found::Done(Box::new(outcome)),
        Err(_) => Found::Lost,
    }))
}

impl DiskClaim {
    /// Writes the outcome and lets go; whether it is safe. If it is not, the call counts as lost for
    /// other processes, and is never run again.
    pub(super) fn finish(mut self, outcome: &Outcome) -> bool {
        let written = serde_json::to_vec(outcome)
            .map_err(io::Error::from)
            .and_then(|mut line| {
                line.push(b'\n');
                self.file.write_all(&line)?;
                self.file.sync_all()
            });
        let _ = self.file.unlock();
        written.is_ok()
    }
}
