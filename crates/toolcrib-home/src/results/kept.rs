//! Where whole results are kept: [`Results`], one file each in a directory of the home.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::READ_RESULT;
use crate::model::caller::Caller;
use crate::model::digest::Digester;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::ids::CallId;
use crate::model::limits::MB;
use crate::model::mask::Masker;
use crate::model::outcome::{Outcome, ToolOutput};
use crate::model::text;
use crate::registry::{Availability, Registry, WeakRegistry};
use crate::secret::SecretStore;
use crate::storage::{DirLock, DurableDir, Stamp, StorageError};
use crate::wire::{KeepResults, ReadOn};

/// The largest file that is read back. An output is 16 MB at most, unless the operator wants more.
const MAX_FILE: u64 = 256 * MB;

/// How results are shortened and kept: the settings `results.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultSettings {
    /// The most tokens of a result.
    pub max_tokens: u64,
    /// For how many hours the whole is kept.
    pub keep_hours: u64,
    /// How much is kept of all results together.
    pub max_bytes: u64,
}

/// The whole of results that a model got in part. Cheap to clone.
#[derive(Clone)]
pub struct Results(Arc<Shared>);

struct Shared {
    directory: PathBuf,
    settings: ResultSettings,
    secrets: SecretStore,
    /// Where `read_result` is looked for; set once it is there.
    registry: OnceLock<WeakRegistry>,
}

/// A kept result.
#[derive(Serialize, Deserialize)]
pub(super) struct Kept {
    call: String,
    caller: Caller,
    tool: String,
    pub(super) result: Result<ToolOutput, ToolError>,
}

impl std::fmt::Debug for Results {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Results")
            .field("settings", &self.0.settings)
            .finish_non_exhaustive()
    }
}

impl Results {
    /// Keeps results in this directory, which is made when it is first needed.
    pub fn at(directory: PathBuf, settings: ResultSettings, secrets: SecretStore) -> Self {
        Results(Arc::new(Shared {
            directory,
            settings,
            secrets,
            registry: OnceLock::new(),
        }))
    }

    pub(super) fn read_from(&self, registry: &Registry) {
        // Registered twice, the first counts: it is the same registry.
        let _ = self.0.registry.set(registry.downgrade());
    }

    pub(super) fn settings(&self) -> ResultSettings {
        self.0.settings
    }

    /// Why the rest of a result could not be read, if it could not.
    fn unreadable(&self) -> Option<String> {
        let registry = self.0.registry.get().and_then(WeakRegistry::upgrade);
        let entry = registry.and_then(|registry| registry.find(READ_RESULT).ok());
        match entry.map(|entry| entry.availability()) {
            Some(Availability::Ready) => None,
            Some(Availability::Disabled { .. } | Availability::Unavailable { .. }) | None => {
                Some(format!("`{READ_RESULT}` is switched off"))
            }
        }
    }

    fn store(&self, outcome: &Outcome, caller: &Caller) -> Result<(), ToolError> {
        let max = self.0.settings.max_bytes;
        let kept = KeptRef {
            call: outcome.call_id.as_str(),
            caller: caller.outermost(),
            tool: &outcome.tool,
            result: &outcome.result,
        };
        let bytes = serde_json::to_vec(&kept)
            .map_err(|error| ToolError::failed(format!("it cannot be written: {error}")))?;
        let length = bytes.len() as u64;
        if length > max.min(MAX_FILE) {
            let message = format!(
                "it has {}, and `results.maxBytes` is {}",
                text::size(length),
                text::size(max)
            );
            return Err(ToolError::new(ErrorCode::StorageError, message));
        }
        let dir = DurableDir::create(&self.0.directory)?;
        let lock = dir.lock()?;
        self.make_room(&dir, &lock, max - length)?;
        dir.write(&lock, &file_name(outcome.call_id.as_str()), &bytes)?;
        Ok(())
    }

    /// Removes what is too old, and of the rest the oldest until no more than this is left.
    fn make_room(&self, dir: &DurableDir, lock: &DirLock, room: u64) -> Result<(), StorageError> {
        dir.sweep(lock)?;
        let mut kept = Vec::new();
        for name in dir.list()? {
            let Some(stamp) = dir.stamp_of(&name)? else {
                continue;
            };
            if !name.ends_with(".json") {
                continue;
            }
            match age(&stamp) {
                Some(age) if age > self.keep_for() => {
                    dir.remove(lock, &name)?;
                }
                age => kept.push((age.unwrap_or_default(), stamp.size(), name)),
            }
        }
        let mut total: u64 = kept.iter().map(|(_, size, _)| size).sum();
        kept.sort();
        while total > room
            && let Some((_, size, name)) = kept.pop()
        {
            dir.remove(lock, &name)?;
            total -= size;
        }
        Ok(())
    }

    fn keep_for(&self) -> Duration {
        Duration::from_secs(self.0.settings.keep_hours.saturating_mul(3600))
    }

    /// The result of a call, for a caller that may read it. Of another caller's call no one learns that it was made.
    pub(super) fn find(&self, call: &str, caller: &Caller) -> Result<Kept, ToolError> {
        let gone = || {
            let message = format!(
                "no result of a call `{}` is kept for you; results that were not shortened are not kept, the others for {} hours",
                text::shorten(&text::visible_line(call), 80),
                self.0.settings.keep_hours
            );
            ToolError::new(ErrorCode::CallNotFound, message)
        };
        if CallId::parse(call).is_err() {
            return Err(gone());
        }
        let Some(dir) = DurableDir::open(&self.0.directory)? else {
            return Err(gone());
        };
        let name = file_name(call);
        let age = dir.stamp_of(&name)?.as_ref().and_then(age);
        if age.is_some_and(|age| age > self.keep_for()) {
            return Err(gone());
        }
        let bytes = dir.read(&name, MAX_FILE)?.ok_or_else(gone)?;
        let mut kept: Kept = serde_json::from_slice(&bytes).map_err(|error| {
            let message = format!("the result that is kept of this call is damaged: {error}");
            ToolError::new(ErrorCode::StorageError, message)
        })?;
        drop(bytes);
        let caller = caller.outermost();
        let is_operator = matches!(caller, Caller::Operator | Caller::Cli);
        if kept.call != call || !(is_operator || kept.caller == *caller) {
            return Err(gone());
        }
        mask(&self.0.secrets.masker(), &mut kept.result);
        Ok(kept)
    }
}

impl KeepResults for Results {
    fn max_tokens(&self) -> u64 {
        self.0.settings.max_tokens
    }

    fn keep(&self, outcome: &Outcome, caller: &Caller) -> ReadOn {
        if let Some(why) = self.unreadable() {
            return ReadOn::Lost(why);
        }
        match self.store(outcome, caller) {
            Ok(()) => ReadOn::Kept {
                hours: self.0.settings.keep_hours,
            },
            Err(error) => ReadOn::Lost(error.message().to_owned()),
        }
    }
}

/// A result that is about to be kept.
#[derive(Serialize)]
struct KeptRef<'a> {
    call: &'a str,
    caller: &'a Caller,
    tool: &'a str,
    result: &'a Result<ToolOutput, ToolError>,
}

/// How long ago a result was kept; none if that is in the future.
fn age(stamp: &Stamp) -> Option<Duration> {
    let since = Timestamp::now().duration_since(stamp.modified()?);
    Duration::try_from(since).ok()
}

fn file_name(call: &str) -> String {
    let digest = Digester::default().text(call).finish();
    format!("{}.json", &digest[..32])
}

fn mask(masker: &Masker, result: &mut Result<ToolOutput, ToolError>) {
    if masker.is_empty() {
        return;
    }
    match result {
        Ok(output) => {
            masker.mask_value(&mut output.value);
            if let Some(text) = &mut output.text {
                masker.mask_text(text);
            }
        }
        Err(error) => error.mask(masker),
    }
}
