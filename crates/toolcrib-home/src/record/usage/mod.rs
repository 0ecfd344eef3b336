//! How often each tool was called, and when last: [`UsageLog`], in `state/` of the home.
//!
//! ```text
//! state/usage.jsonl       what was called lately: {"tool":"core/read-file@v1","calls":3,"at":"…"}
//! state/usage.json        what all lines before added up to
//! ```
//!
//! A tool of the store goes by its id, so that its counts stay with it when its bundle is renamed; others go by their reference.
//!
//! A call counts when it reached its tool, whatever came of it ([`CallRecord::reached`]): one that was refused, by rules or by a
//! person or for its arguments, does not, nor does an outcome that was given again. Nothing of this is written into a tool's definition.
//!
//! The thread of the call log counts, so a call itself pays nothing for it. Lines are appended once a second at most, and when
//! someone flushes; without `fsync`, since a number that a power failure makes smaller harms no one. Trouble with the disk costs
//! counts, never a call. Several processes share the files and see each other's counts.

mod counts;
mod files;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::Serialize;

use self::counts::{Counts, Row};
use self::files::{Read, UsageFiles};
use crate::model::ids::ToolId;
use crate::model::names::{Slug, Version};
use crate::spec::ToolSpec;
use crate::storage::{Followed, StorageError};
use toolcrib_core::record::CallRecord;

/// How long counts wait for more of them.
const PACE: Duration = Duration::from_secs(1);
/// For how long it is not looked again whether other processes have counted something.
const GLANCE: Duration = Duration::from_millis(20);
/// How many tools wait at most where nothing can be written.
const MAX_WAITING: usize = 10_000;
/// The bundle whose tools are others in another workspace.
const LOCAL: &str = "local";

/// How much a tool was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// How many calls reached it, in all processes of this home.
    pub call_count: u64,
    /// When the last of them began.
    pub last_called_at: Option<Timestamp>,
}

/// Calls of one tool that are yet to be counted.
#[derive(Debug)]
pub(super) struct Calls {
    bundle: Slug,
    slug: Slug,
    version: Version,
    tool_id: Option<ToolId>,
    row: Row,
}

impl Calls {
    /// The call of a record, if it reached its tool.
    pub(super) fn of(record: &CallRecord) -> Option<Calls> {
        let row = Row {
            call_count: 1,
            last_called_at: record.start_time,
        };
        record.reached.then_some(Calls {
            bundle: record.bundle.clone()?,
            slug: record.slug.clone()?,
            version: record.version.clone()?,
            tool_id: record.tool_id,
            row,
        })
    }

    /// Adds the call of a record, if it is one of the same tool that counts; says whether it did.
    pub(super) fn add(&mut self, record: &CallRecord) -> bool {
        let is_same = record.reached
            && record.slug.as_ref() == Some(&self.slug)
            && record.bundle.as_ref() == Some(&self.bundle)
            && record.version.as_ref() == Some(&self.version)
            && record.tool_id == self.tool_id;
        if is_same {
            self.row.add(Row {
                call_count: 1,
                last_called_at: record.start_time,
            });
        }
        is_same
    }
}

/// Problems of the count files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageProblem {
    /// The file, relative to the home.
    pub file: String,
    /// The problem.
    pub reason: String,
}

/// The counts of a home. Nothing is created before the first call.
#[derive(Debug)]
pub struct UsageLog {
    files: UsageFiles,
    workspace: Option<String>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Counts that are in no file yet.
    waiting: Counts,
    /// When some were last appended, and what went wrong.
    appended: Option<Instant>,
    trouble: Option<String>,
    /// What the files say, as of when.
    known: Followed<Read, 2>,
    looked: Option<Instant>,
}

impl UsageLog {
    /// The counts of a home, for calls in a workspace.
    pub fn at(home: &Path, workspace: Option<&Path>) -> Self {
        UsageLog {
            files: UsageFiles::at(home),
            workspace: workspace.map(|path| path.to_string_lossy().into_owned()),
            state: Mutex::default(),
        }
    }

    /// How much a tool was used, by this process and others. `id` is that of a tool of the store, which is counted by it: such tools
    /// can be renamed, and others get their names.
    ///
    /// The files are read when they have changed, which is looked for 50 times a second at most.
    pub fn of(&self, spec: &ToolSpec, id: Option<ToolId>) -> Usage {
        let mut state = self.lock();
        self.refresh(&mut state);
        let (workspace, tool) = match id {
            Some(id) => (None, id.to_string()),
            None => (self.place(spec.bundle.as_str()), spec.reference()),
        };
        let kept = state.known.last();
        let kept = kept.map_or_else(Usage::default, |kept| kept.counts.get(workspace, &tool));
        let waiting = state.waiting.get(workspace, &tool);
        Usage {
            call_count: kept.call_count.saturating_add(waiting.call_count),
            last_called_at: kept.last_called_at.max(waiting.last_called_at),
        }
    }

    /// Problems of the files. Calls go on regardless; the counts that a file held are not there.
    pub fn problems(&self) -> Vec<UsageProblem> {
        let read = self.files.read();
        let files = read.problems.into_iter();
        let mut problems: Vec<UsageProblem> = files
            .map(|(file, reason)| UsageProblem { file, reason })
            .collect();
        if read.damaged_lines > 0 {
            problems.push(UsageProblem {
                file: format!("state/{}", files::LINES),
                reason: match read.damaged_lines {
                    1 => "a damaged line is passed over".to_owned(),
                    count => format!("{count} damaged lines are passed over"),
                },
            });
        }
        problems
    }

    /// What last went wrong with counting in this process.
    pub fn trouble(&self) -> Option<String> {
        self.lock().trouble.clone()
    }

    /// Puts everything into one file, leaving damaged lines out. Files that cannot be read are moved to `damaged/` of the home;
    /// returns those, with where they are now.
    pub fn mend(&self) -> Result<Vec<(String, PathBuf)>, StorageError> {
        let moved = self.files.mend(Timestamp::now());
        self.lock().known.forget();
        moved
    }

    /// Adds calls of one tool. For the thread of the call log.
    pub(super) fn add(&self, calls: &Calls) {
        let mut state = self.lock();
        if state.waiting.len() < MAX_WAITING {
            let Calls {
                bundle,
                slug,
                version,
                tool_id,
                row,
            } = calls;
            let (workspace, tool) = match tool_id {
                Some(id) => (None, id.to_string()),
                None => (
                    self.place(bundle.as_str()),
                    format!("{bundle}/{slug}@{version}"),
                ),
            };
            state.waiting.add(workspace, &tool, *row);
        }
    }

    /// Appends the waiting rows if that is due. Otherwise returns when it will be.
    pub(super) fn settle(&self, now_or_never: bool) -> Option<Duration> {
        let mut state = self.lock();
        if state.waiting.is_empty() {
            return None;
        }
        if !now_or_never
            && let Some(appended) = state.appended
            && let Some(left) = PACE
                .checked_sub(appended.elapsed())
                .filter(|left| !left.is_zero())
        {
            return Some(left);
        }
        state.appended = Some(Instant::now());
        // In the lock, or a reader in the meantime would see fewer than before. It is an append to a file, no more.
        let is_long = match self.files.append(&state.waiting) {
            Ok(is_long) => {
                state.waiting = Counts::default();
                state.trouble = None;
                is_long
            }
            Err(unwritten) => {
                state.waiting = unwritten.counts;
                state.trouble = Some(unwritten.why);
                false
            }
        };
        state.known.forget();
        drop(state);
        if is_long && let Err(error) = self.files.fold(Timestamp::now()) {
            self.lock().trouble = Some(error.to_string());
        }
        // After trouble the next call tries again.
        None
    }

    fn refresh(&self, state: &mut State) {
        let is_fresh = state.known.last().is_some()
            && state.looked.is_some_and(|looked| looked.elapsed() < GLANCE);
        if is_fresh {
            return;
        }
        let stamps = self.files.stamps();
        if state.known.current(&stamps).is_none() {
            state.known.set(stamps, self.files.read());
        }
        state.looked = Some(Instant::now());
    }

    fn place(&self, bundle: &str) -> Option<&str> {
        self.workspace.as_deref().filter(|_| bundle == LOCAL)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
