//! Tools of the store: records become entries of the registry, and follow what is on disk.
//!
//! ```text
//! text      where things stand in a record   reading   what a record says, by its kind
//! workshop  from a record to a tool          tool      a tool of the store at work
//! check     everything that is wrong         entries   which records are registered, and how
//! absence   why a tool is not there
//! ```
//!
//! A record is registered by its head; its tool is made when it is first needed. Only changed tools are registered again, so that a store of
//! any size costs nothing while nothing happens in it. Edits by hand are found by a look at every file, which takes at most a
//! twentieth of the time; in a large store another thread does it.
//!
//! Records are read by the readers that files have: `manifest` for `http`, `definition` for `command` and `alias`, whose `impl`
//! is a YAML tool's fields as JSON. `go` and `rust` name a function that the program gave with `CribOptions::function`, `mcp` a
//! tool of an upstream server. Tools of an imported bundle ask before every call that no grant covers.
//!
//! The invariant: whatever is wrong with a record, a bundle or the whole store keeps nothing else from being loaded or called, and is never
//! written back.

mod absence;
mod check;
mod entries;
mod reading;
mod text;
mod tool;
mod workshop;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::flags::Flags;
use crate::model::reference::ToolRef;
use crate::registry::Registry;
use crate::store::{Changes, Look, Store, StoreError, StoreNews, Yield};
use entries::Entries;

pub use check::refusal_of;
pub(crate) use check::{Checked, check, refusal};
pub(crate) use reading::{command_of, definition_of};
pub(crate) use workshop::Workshop;

/// How much longer than a thorough look took no one takes another: it has a twentieth of the time.
const PACE: u32 = 20;
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How long a call waits for many files to be read.
const PATIENCE: Duration = Duration::from_millis(200);

/// The tools of a store in a registry.
pub(crate) struct StoredTools {
    store: Store,
    workshop: Arc<Workshop>,
    entries: Mutex<Entries>,
    begun: Instant,
    /// When to look thoroughly again, in nanoseconds after `begun`.
    next_look: AtomicU64,
    /// Whether a thread looks at all files.
    is_surveying: AtomicBool,
}

impl StoredTools {
    /// Says why a reference points at nothing, as far as the store knows.
    pub(crate) fn why_absent(&self, reference: &ToolRef, bundle_has_tools: bool) -> Option<String> {
        absence::why(&self.store, reference, bundle_has_tools)
    }

    /// `disabled` is the setting `disabledTools`, `max_tools` is `limits.maxTools`.
    pub(crate) fn new(
        store: &Store,
        workshop: Workshop,
        disabled: Vec<String>,
        max_tools: usize,
    ) -> Self {
        StoredTools {
            store: store.follower(),
            workshop: Arc::new(workshop),
            entries: Mutex::new(Entries::new(disabled, max_tools)),
            begun: Instant::now(),
            next_look: AtomicU64::new(0),
            is_surveying: AtomicBool::new(false),
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings a registry up to date, however long it takes; says whether something changed.
    pub(crate) fn refresh(&self, registry: &Registry, look: Look) -> bool {
        self.survey(registry, look, Yield::Keep)
    }

    /// Looks, however long it takes, and then registers what there is; says whether something changed. Not under the lock of the entries: calls
    /// go on with those meanwhile.
    fn survey(&self, registry: &Registry, look: Look, way: Yield) -> bool {
        let start = Instant::now();
        let surveyed = self.store.survey(look, way);
        if look == Look::Thorough {
            self.pause_after(start);
        }
        match surveyed {
            Ok(()) => self.catch_up(registry),
            Err(error) => {
                self.entries().trouble = Some(unreadable(&error));
                false
            }
        }
    }

    /// Registers what the store knows, as after a write of this process. There is nothing to look for: a writer has caught up with all others before
    /// it writes, and what they do after it is seen at the next look.
    pub(crate) fn register_known(&self, registry: &Registry) {
        let mut entries = self.entries();
        self.take(registry, &mut entries, Ok(self.store.told()));
    }

    /// Registers what the store knows, and what can be seen at a glance; says whether something changed. Waits for no writer.
    fn catch_up(&self, registry: &Registry) -> bool {
        let mut entries = self.entries();
        let changes = match self.store.follow(Look::Glance) {
            Ok(StoreNews::Changes(changes)) => Ok(changes),
            Ok(StoreNews::Much) => Ok(self.store.told()),
            Err(error) => Err(error),
        };
        self.take(registry, &mut entries, changes)
    }

    /// Brings a registry up to date if something has changed, or it is time to see whether someone edited a file; unless someone
    /// else does already. What takes long is done by another thread: looking at many files, for which no one waits, and reading them, for which
    /// a call waits a little. No one waits for a writer.
    pub(crate) fn follow(self: &Arc<Self>, registry: &Registry) {
        let mut look = Look::Glance;
        if self.since_begun(Instant::now()) >= self.next_look.load(Ordering::Relaxed) {
            match self.store.is_small() {
                true => look = Look::Thorough,
                false => self.survey_aside(registry),
            }
        }
        if look == Look::Glance && self.store.is_current() {
            return;
        }
        let mut entries = match self.entries.try_lock() {
            Ok(entries) => entries,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        let start = Instant::now();
        let followed = self.store.follow(look);
        if look == Look::Thorough {
            self.pause_after(start);
        }
        match followed {
            Ok(StoreNews::Changes(changes)) => {
                self.take(registry, &mut entries, Ok(changes));
            }
            Ok(StoreNews::Much) => {
                drop(entries);
                let (tools, registry) = (Arc::clone(self), registry.clone());
                let read = move || {
                    tools.survey(&registry, Look::Glance, Yield::Keep);
                };
                aside(read, PATIENCE);
            }
            Err(error) => {
                self.take(registry, &mut entries, Err(error));
            }
        }
    }

    /// Has another thread look at all files, if none does, and register what it finds.
    fn survey_aside(self: &Arc<Self>, registry: &Registry) {
        if self.is_surveying.swap(true, Ordering::AcqRel) {
            return;
        }
        let (tools, registry) = (Arc::clone(self), registry.clone());
        let survey = move || {
            tools.survey(&registry, Look::Thorough, Yield::Give);
            tools.is_surveying.store(false, Ordering::Release);
        };
        if !aside(survey, Duration::ZERO) {
            self.is_surveying.store(false, Ordering::Release);
        }
    }

    fn since_begun(&self, instant: Instant) -> u64 {
        let nanos = instant.saturating_duration_since(self.begun).as_nanos();
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }

    /// Has no one take a thorough look for a while after one that began then.
    fn pause_after(&self, start: Instant) {
        let pause = (start.elapsed() * PACE).min(LONGEST_PAUSE);
        let next = self.since_begun(Instant::now() + pause);
        self.next_look.store(next, Ordering::Relaxed);
    }

    /// Registers what has changed; says whether something has. Under the lock of the entries, and so is asking: what is handed out once must be
    /// registered in the order in which it happened.
    fn take(
        &self,
        registry: &Registry,
        entries: &mut Entries,
        changes: Result<Changes, StoreError>,
    ) -> bool {
        let changes = match changes {
            Ok(changes) => {
                entries.trouble = None;
                changes
            }
            Err(error) => {
                entries.trouble = Some(unreadable(&error));
                return false;
            }
        };
        if changes.is_empty() {
            return false;
        }
        entries.apply(registry, &self.store, &self.workshop, changes);
        entries.relink(registry, &self.workshop);
        true
    }

    /// Rebuilds tools whose dependencies changed, after tools of files or of the program changed.
    pub(crate) fn relink(&self, registry: &Registry) {
        self.entries().relink(registry, &self.workshop);
    }

    /// Switches tools off as the user's flags say; without flags no one can tell, and all are off.
    pub(super) fn switch(&self, flags: Option<&Flags>, workspace: Option<&Path>) {
        self.entries().switch(flags, workspace);
    }

    /// What a person should know: a store that cannot be read, records and bundles that are damaged, tools beyond the limit.
    pub(crate) fn problems(&self) -> Vec<String> {
        let entries = self.entries();
        let damage = self.store.damage();
        let damage = damage.iter().map(|damage| {
            let whose = match &damage.tool {
                Some((slug, version)) => format!(" (`{slug}@{version}`)"),
                None => String::new(),
            };
            format!(
                "`{}`{whose} is damaged: {}; `toolcrib doctor --fix` sets it aside",
                damage.file, damage.reason
            )
        });
        let mut problems: Vec<String> = entries.trouble.iter().cloned().collect();
        problems.extend(damage);
        problems.extend(entries.too_many());
        problems
    }

    /// Problems of the store as a whole, for everyone who opens it.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let entries = self.entries();
        let mut warnings: Vec<String> = entries.trouble.iter().cloned().collect();
        warnings.extend(entries.too_many());
        warnings
    }
}

/// Has another thread do something, and waits for it no longer than that; says whether there is such a thread.
fn aside(work: impl FnOnce() + Send + 'static, patience: Duration) -> bool {
    let (done, waiting) = mpsc::channel();
    let work = move || {
        work();
        // The waiting caller may be gone.
        let _ = done.send(());
    };
    let thread = std::thread::Builder::new().name("toolcrib-store".to_owned());
    let is_begun = thread.spawn(work).is_ok();
    if is_begun && !patience.is_zero() {
        let _ = waiting.recv_timeout(patience);
    }
    is_begun
}

fn unreadable(error: &StoreError) -> String {
    format!("the bundles of the store are not loaded: {error}; `toolcrib doctor` says more")
}
