//! Tools of the store: records become entries of the registry, and follow what is on disk.
//!
//! ```text
//! text      where things stand in a record   reading   what a record says, by its kind
//! workshop  from a record to a tool          tool      a tool of the store at work
//! check     everything that is wrong         entries   which records are registered, and how
//! absence   why a tool is not there
//! ```
//!
//! A record is registered by its head; its tool is made when it is first needed. Only what changed is registered anew, so that a store of
//! any size costs nothing while nothing happens in it.
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
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::flags::Flags;
use crate::model::reference::ToolRef;
use crate::registry::Registry;
use crate::store::{Look, Store, StoreError};
use entries::Entries;

pub(crate) use check::{Checked, check, refusal};
pub(crate) use reading::command_of;
pub(crate) use workshop::Workshop;

/// How much longer than a thorough look took nobody takes another: it has a twentieth of the time.
const PACE: u32 = 20;
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The tools of a store in a registry.
pub(crate) struct StoredTools {
    store: Store,
    workshop: Arc<Workshop>,
    entries: Mutex<Entries>,
    begun: Instant,
    /// When to look thoroughly again, in nanoseconds after `begun`.
    next_look: AtomicU64,
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
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings a registry up to date, however long it takes; says whether something changed.
    pub(crate) fn refresh(&self, registry: &Registry, look: Look) -> bool {
        self.take(registry, &mut self.entries(), look)
    }

    /// Brings a registry up to date if something has changed, or it is time to see whether somebody edited a file; unless somebody
    /// else does already.
    pub(crate) fn follow(&self, registry: &Registry) {
        let now = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let is_due = now >= self.next_look.load(Ordering::Relaxed);
        if !is_due && self.store.is_current() {
            return;
        }
        let mut entries = match self.entries.try_lock() {
            Ok(entries) => entries,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        let look = match is_due {
            true => Look::Thorough,
            false => Look::Glance,
        };
        self.take(registry, &mut entries, look);
    }

    fn take(&self, registry: &Registry, entries: &mut Entries, look: Look) -> bool {
        let start = Instant::now();
        // Under the lock: what is handed out once must be registered in the order in which it happened.
        let changes = self.store.changes(look);
        if look == Look::Thorough {
            let pause = (start.elapsed() * PACE).min(LONGEST_PAUSE);
            let next = (Instant::now() + pause).duration_since(self.begun);
            let next = u64::try_from(next.as_nanos()).unwrap_or(u64::MAX);
            self.next_look.store(next, Ordering::Relaxed);
        }
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

    /// Makes tools anew that build on others than they did, after tools of files or of the program changed.
    pub(crate) fn relink(&self, registry: &Registry) {
        self.entries().relink(registry, &self.workshop);
    }

    /// Switches tools off as the user's flags say; without flags nobody can tell, and all are off.
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

    /// What is wrong with the store as a whole, for everybody who opens it.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let entries = self.entries();
        let mut warnings: Vec<String> = entries.trouble.iter().cloned().collect();
        warnings.extend(entries.too_many());
        warnings
    }
}

fn unreadable(error: &StoreError) -> String {
    format!("the bundles of the store are not loaded: {error}; `toolcrib doctor` says more")
}
