//! One run that is looked after: what it plants is taken away, and it is written down while it lasts.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::copying::Allowance;
use super::moving::{Copying, DirEntry, Moved, Replacement, remove_all};
use super::run_file::{self, RunFile};
use super::{HeldItem, HeldKind, HeldStore, RECORD, Taking, digits_if_not_text, path_of};
use crate::call::context::CallContext;
use crate::model::caller::Caller;
use crate::model::ids::CallId;
use crate::model::outcome::HeldNote;
use crate::sandbox::{Keeper, Level, Moment, Planted, Policy, Remedy, recover};
use crate::workspace::{Workspace, WorkspaceError};

/// Runs that are under way, in the home beneath `held`.
const RUNS: &str = "runs";
/// How many things of one run are held; more get a name beside their own that nothing runs.
const MOST_HELD: usize = 200;

/// A run that is looked after: the [`Keeper`] of its command.
pub struct HeldRun {
    store: HeldStore,
    workspace: Arc<Workspace>,
    about: About,
    /// How much may be copied because of it.
    allowance: Allowance,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The run's file, while the run lasts.
    file: Option<RunFile>,
    notes: Vec<HeldNote>,
    /// What could not be taken.
    left: Vec<PathBuf>,
    /// What could not be taken while the command ran, and where it was put instead.
    postponed: Vec<(Planted, Option<PathBuf>)>,
}

/// Whose run it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct About {
    workspace: String,
    /// Its path where that is not text, as hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workspace_bytes: Option<String>,
    tool: String,
    call: CallId,
    caller: Caller,
    question: String,
}

impl About {
    fn root(&self) -> PathBuf {
        path_of(&self.workspace, self.workspace_bytes.as_deref())
    }
}

impl HeldRun {
    /// Looks after a run for a call.
    pub(crate) fn new(
        store: &HeldStore,
        workspace: &Arc<Workspace>,
        cx: &CallContext,
    ) -> Arc<Self> {
        Self::of(
            store,
            workspace,
            cx.spec().name.as_str(),
            cx.call_id().clone(),
            cx.caller().clone(),
        )
    }

    /// Looks after a run that finds out what a call would do, or a person's own.
    #[doc(hidden)]
    pub fn before_a_call(store: &HeldStore, root: &Path) -> Result<Arc<Self>, WorkspaceError> {
        let workspace = Arc::new(Workspace::open(root)?);
        Ok(Self::of(
            store,
            &workspace,
            "sandbox",
            CallId::generate(),
            Caller::default(),
        ))
    }

    fn of(
        store: &HeldStore,
        workspace: &Arc<Workspace>,
        tool: &str,
        call: CallId,
        caller: Caller,
    ) -> Arc<Self> {
        Arc::new(HeldRun {
            store: store.clone(),
            workspace: Arc::clone(workspace),
            about: About {
                workspace: workspace.root().to_string_lossy().into_owned(),
                workspace_bytes: digits_if_not_text(workspace.root()),
                tool: tool.to_owned(),
                call,
                caller,
                question: Uuid::now_v7().to_string(),
            },
            allowance: Allowance::of_a_run(),
            state: Mutex::default(),
        })
    }

    /// To be called when the run is over, with the repositories that it made. Returns what was held, and the planted paths that were not.
    pub fn end(&self, made: &[PathBuf]) -> (Vec<HeldNote>, Vec<PathBuf>) {
        // Best effort: one that is not remembered is protected like the user's own.
        let _ = self.store.remember_made(made);
        let mut state = self.state();
        if let Some(file) = state.file.take() {
            self.store.0.idle.put(file);
        }
        (
            std::mem::take(&mut state.notes),
            std::mem::take(&mut state.left),
        )
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what is reported and not held, each path once: a run can make the same thing necessary again and again.
    fn report(&self, path: PathBuf) {
        let mut state = self.state();
        if !state.left.contains(&path) {
            state.left.push(path);
        }
    }

    fn deal_with(&self, planted: &Planted, aside: Option<&Path>, moment: Moment) {
        let Ok(relative) = planted.path.strip_prefix(self.workspace.root()) else {
            return;
        };
        let item = HeldItem {
            id: Uuid::now_v7().to_string(),
            path: relative.to_string_lossy().into_owned(),
            why: planted.why.clone(),
            kind: HeldKind::Taken,
            workspace: self.about.workspace.clone(),
            workspace_bytes: self.about.workspace_bytes.clone(),
            tool: self.about.tool.clone(),
            call: self.about.call.clone(),
            caller: self.about.caller.clone(),
            at: Timestamp::now(),
            question: self.about.question.clone(),
            refused: false,
            path_bytes: digits_if_not_text(relative),
            replaced_by: None,
            sealed: false,
        };
        // Each costs a few writes to the disk: a run that plants thousands must not hold us up.
        if self.state().notes.len() >= MOST_HELD && planted.remedy == Remedy::Take {
            return self.leave_aside(&item, &planted.path);
        }
        let held = match &planted.remedy {
            Remedy::Report => {
                self.report(planted.path.clone());
                return;
            }
            Remedy::Take => {
                let copying = match moment {
                    Moment::Running => Copying::Refused,
                    Moment::Ended => Copying::Allowed(&self.allowance),
                };
                let taking = match aside {
                    Some(aside) => Taking::From(aside, copying),
                    None => Taking::Whole(copying),
                };
                self.take(item.clone(), taking).map(Some)
            }
            Remedy::Replace(content) => {
                let replacement = Replacement {
                    content,
                    changed: planted.changed,
                    is_urgent: moment == Moment::Ended,
                };
                self.replace(item.clone(), &replacement)
            }
            Remedy::MakeDirectory => self.make_directory(item.clone()),
        };
        match held {
            Ok(Some(item)) => self.state().notes.push(HeldNote {
                id: item.id,
                path: item.path,
                why: item.why,
            }),
            Ok(None) => {}
            // It went away by itself.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // A remedy that rests on content is found again when the run has ended.
            Err(_) if moment == Moment::Running && planted.changed.is_some() => {}
            Err(error) if moment == Moment::Running => {
                // Nothing runs it under another name, and what is still written into it is not lost.
                let is_far = error.kind() == io::ErrorKind::CrossesDevices;
                let aside = is_far.then(|| self.rename_aside(&item).ok()).flatten();
                self.state().postponed.push((planted.clone(), aside));
            }
            Err(_) if aside.is_some() => {
                let path = aside.map(|aside| self.workspace.root().join(aside));
                path.into_iter().for_each(|path| self.report(path));
            }
            Err(_) => self.leave_aside(&item, &planted.path),
        }
    }

    fn take(&self, item: HeldItem, taking: Taking<'_>) -> io::Result<HeldItem> {
        self.store
            .take(&self.workspace, item, taking, &self.allowance)
    }

    fn replace(&self, item: HeldItem, text: &Replacement<'_>) -> io::Result<Option<HeldItem>> {
        let relative = item.relative();
        match self.take(item, Taking::Replacing(text)) {
            // What was there before is gone; there is nothing to hold.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                DirEntry::of(&self.workspace, &relative)?.write(text.content)?;
                self.report(self.workspace.root().join(relative));
                Ok(None)
            }
            held => held.map(Some),
        }
    }

    fn make_directory(&self, item: HeldItem) -> io::Result<Option<HeldItem>> {
        let relative = item.relative();
        let place = DirEntry::of(&self.workspace, &relative)?;
        let held = match place.make_directory()? {
            Moved::Yes => None,
            Moved::Occupied => {
                let taking = Taking::Whole(Copying::Allowed(&self.allowance));
                let held = self.take(item, taking)?;
                place.make_directory()?;
                Some(held)
            }
        };
        if held.is_none() {
            self.report(self.workspace.root().join(relative));
        }
        Ok(held)
    }

    /// Where the home cannot take something, it gets a name that nothing runs.
    fn leave_aside(&self, item: &HeldItem, path: &Path) {
        let left = match self.rename_aside(item) {
            Ok(aside) => self.workspace.root().join(aside),
            Err(_) => path.to_owned(),
        };
        self.report(left);
    }

    /// Gives something a name that nothing runs; returns its path from the workspace.
    fn rename_aside(&self, item: &HeldItem) -> io::Result<PathBuf> {
        let relative = item.relative();
        let short = item.id.rsplit('-').next().unwrap_or(&item.id);
        let name = DirEntry::of(&self.workspace, &relative)?.rename_aside(short)?;
        Ok(relative.with_file_name(name))
    }
}

impl fmt::Debug for HeldRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldRun")
            .field("about", &self.about)
            .finish_non_exhaustive()
    }
}

impl HeldStore {
    /// Deals with runs that were killed together with the process that looked after them. Returns what could not be dealt with.
    #[doc(hidden)]
    pub fn recover(&self) -> Vec<String> {
        let runs = self.0.path.join(RUNS);
        let entries = fs::read_dir(runs).into_iter().flatten().flatten();
        let is_run = |path: &PathBuf| {
            path.extension()
                .is_some_and(|ending| ending == run_file::ENDING)
        };
        let runs = entries.map(|entry| entry.path()).filter(is_run);
        // What cannot be dealt with now is tried again by the next one.
        let failed = runs.filter_map(|path| Some((self.recover_one(&path).err()?, path)));
        failed
            .map(|(error, path)| {
                format!(
                    "a command was killed, and what it left in its workspace could not be looked at: {error} (it is tried again; to forget it, remove `{}`)",
                    path.display()
                )
            })
            .collect()
    }

    fn recover_one(&self, path: &Path) -> io::Result<()> {
        // One that is locked is at work.
        let Some((_locked, text)) = run_file::left_behind(path)? else {
            return Ok(());
        };
        let end = text
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(text.len());
        let (head, rest) = text.split_at(end);
        if let Ok(about) = serde_json::from_slice::<About>(head) {
            let root = about.root();
            // It may be on a disk that is not there now: what the run left is not forgotten.
            let workspace = Workspace::open(&root).map_err(io::Error::other)?;
            self.resume(&workspace, &about.call)?;
            let policy = Policy::new(Level::Process, &root);
            let planted = recover(&policy, rest.trim_ascii_start())?;
            let run = HeldRun {
                store: self.clone(),
                workspace: Arc::new(workspace),
                about,
                allowance: Allowance::of_a_run(),
                state: Mutex::default(),
            };
            planted
                .iter()
                .for_each(|planted| run.deal_with(planted, None, Moment::Ended));
        }
        fs::remove_file(path)
    }

    /// Brings to an end what a killed process was taking, and clears away records of things that never arrived.
    fn resume(&self, workspace: &Workspace, call: &CallId) -> io::Result<()> {
        let Some(dir) = self.dir().map_err(io::Error::other)? else {
            return Ok(());
        };
        for id in dir.subdirs().map_err(io::Error::other)? {
            if Uuid::try_parse(&id).is_err() {
                continue;
            }
            let record = fs::read(self.0.path.join(&id).join(RECORD)).unwrap_or_default();
            let Ok(item) = serde_json::from_slice::<HeldItem>(&record) else {
                continue;
            };
            if item.call != *call {
                continue;
            }
            let place = DirEntry::of(workspace, &item.relative()).ok();
            if let Some(place) = place.filter(|_| item.kind == HeldKind::Replaced) {
                let home = DirEntry::in_home(&self.0.path.join(&id))?;
                place.resume_exchange(item.replaced_by.as_deref(), &id, &home)?;
            }
            let has_arrived = self.content(&id).symlink_metadata().is_ok();
            if !has_arrived {
                remove_all(&self.0.path.join(&id))?;
            }
        }
        Ok(())
    }
}

impl Keeper for HeldRun {
    fn begin(&self, baseline: &[u8]) -> io::Result<()> {
        let mut text = serde_json::to_vec(&self.about)?;
        text.push(b'\n');
        text.extend_from_slice(baseline);
        let file = self.store.0.idle.take(&self.store.0.path.join(RUNS))?;
        file.begin(&text)?;
        self.state().file = Some(file);
        Ok(())
    }

    fn planted(&self, planted: &[Planted], moment: Moment) {
        let postponed = match moment {
            Moment::Running => Vec::new(),
            Moment::Ended => std::mem::take(&mut self.state().postponed),
        };
        for (planted, aside) in &postponed {
            self.deal_with(planted, aside.as_deref(), moment);
        }
        for planted in planted {
            self.deal_with(planted, None, moment);
        }
    }
}

impl Drop for HeldRun {
    fn drop(&mut self) {
        // A run that never came to its end has planted nothing that was not looked at.
        if let Some(file) = self.state().file.take() {
            self.store.0.idle.put(file);
        }
    }
}
