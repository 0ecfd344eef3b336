//! Bundles and tools on disk: [`Store`], S4's flat files.
//!
//! ```text
//! bundles/.lock                         one writer at a time, in all processes
//! bundles/<bundleID>/bundle.json        a Bundle
//! bundles/<bundleID>/<derived>.json     a ToolManifest; the name is a digest of slug and version, never the slug
//! ```
//!
//! The store keeps what it is given and keeps it whole: ids, times, uniqueness, the bin, damage. It does not know what a tool does;
//! whether a definition can run is checked by the layer that saves it (`source`), and never written back.
//!
//! The invariant: within a bundle there is one record of a slug and version, whatever number of processes write at once and wherever they
//! are killed; and a file that cannot be read costs nothing but its own record.
//!
//! A writer counts up a number in the lock file (`storage::Generation`). For every other process "has something changed?" is
//! therefore one small read, and no call waits for a writer (`follow.rs`).

pub mod archive;
mod bundles;
mod catalogue;
mod damage;
mod error;
mod files;
mod follow;
mod head;
mod install;
mod reaper;
mod record;
mod rewrite;
mod rivals;
mod scan;
mod shelf;
#[cfg(test)]
mod tests;
mod tools;
mod whole_bundle;
mod writing;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LockResult, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use jiff::Timestamp;

pub use error::StoreError;
pub(crate) use follow::{StoreNews, Yield};
pub use record::{BundleDraft, Changes, Damage, StoredBundle, StoredTool, ToolHead, ToolKey};
pub use whole_bundle::{BundleDigest, WholeBundle};

use catalogue::Catalogue;
use follow::Seen;
use scan::How;

use crate::model::ids::BundleId;
use crate::spec::manifest::Bundle;
use crate::storage::DurableDir;

/// How a store is kept.
#[derive(Clone)]
pub struct StoreOptions {
    /// The most tools of all bundles together: the setting `limits.maxTools`.
    pub max_tools: usize,
    /// What time it is; a test may say otherwise.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions {
            max_tools: 100_000,
            clock: Arc::new(Timestamp::now),
        }
    }
}

/// How closely to look for what others changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// For what a `Store` of another process changed: one read of a few bytes, if nothing has.
    Glance,
    /// For edits by hand as well: every file is looked at.
    Thorough,
}

/// What became of a bundle that was put.
#[derive(Debug, Clone, PartialEq)]
pub enum Put {
    /// There was none.
    Created(Bundle),
    /// There was one; its `createdAt` stays.
    Replaced(Bundle),
}

/// How an import treats a bundle that exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Install {
    /// Nothing: it is refused.
    New,
    /// The one that is there is replaced as a whole, in one step, whatever is in it.
    Update,
    /// Replaced like `Update`, if it is still in the state that a person was shown ([`Store::whole`]).
    UpdateOf(BundleDigest),
}

/// The store of a home. Cloning is cheap and shares everything. Nothing is created until there is something to write.
///
/// Questions are answered from memory, as of the last look ([`changes`](Self::changes)) and with this process's own writes; the first
/// question looks, if no one has, and where that fails, a list is empty and `changes` says why. All methods block; those that write wait
/// for other writers and for the disk.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
    /// Whether this one receives changes, if there is a subscriber.
    is_follower: bool,
}

struct Inner {
    home: PathBuf,
    /// `bundles` in the home, and the lock file in it.
    directory: PathBuf,
    lock_file: PathBuf,
    options: StoreOptions,
    /// Held to look or write; `known` is changed only under it. Readers never wait for it. Taken after the
    /// lock of all writers, if that is taken.
    looking: Mutex<()>,
    known: RwLock<Catalogue>,
    /// What the lock file said before the last look; `None` if it has to be looked again.
    seen: Mutex<Option<Seen>>,
    /// What it said, and when, as calls last looked while someone was writing.
    busy: Mutex<Option<follow::Busy>>,
    /// Whether `looking` is held by a look that gives way, and whether it is to do so.
    is_surveying: AtomicBool,
    gives_way: AtomicBool,
    has_looked: AtomicBool,
    /// Whether a subscriber needs every change: then no one else gets any, since each is reported once.
    has_follower: AtomicBool,
}

impl Store {
    /// The store in a home.
    pub fn at(home: impl Into<PathBuf>, options: StoreOptions) -> Self {
        let home = home.into();
        let directory = home.join(files::DIRECTORY);
        Store {
            inner: Arc::new(Inner {
                lock_file: directory.join(".lock"),
                directory,
                home,
                options,
                looking: Mutex::default(),
                known: RwLock::default(),
                seen: Mutex::default(),
                busy: Mutex::default(),
                is_surveying: AtomicBool::new(false),
                gives_way: AtomicBool::new(false),
                has_looked: AtomicBool::new(false),
                has_follower: AtomicBool::new(false),
            }),
            is_follower: false,
        }
    }

    /// This store, for the subscriber that needs every change. From now on [`changes`](Self::changes) of all others is refused.
    pub(crate) fn follower(&self) -> Store {
        self.inner.has_follower.store(true, Ordering::Relaxed);
        Store {
            inner: Arc::clone(&self.inner),
            is_follower: true,
        }
    }

    /// What has changed since the last time someone asked this, by this process or another; at first that is everything. Of the store
    /// of a [`Crib`](crate::crib::Crib) only its registry receives changes, since each is reported once: for others it is an error.
    ///
    /// On error the known state does not change, and pending changes are reported the next time.
    pub fn changes(&self, look: Look) -> Result<Changes, StoreError> {
        if !self.is_follower && self.inner.has_follower.load(Ordering::Relaxed) {
            return Err(StoreError::Followed);
        }
        let looking = unpoisoned(self.inner.looking.lock());
        self.look_if_need_be(&looking, How::new(look))?;
        Ok(self.known_mut().tell())
    }

    /// Whether [`changes`](Self::changes) with [`Look::Glance`] would find nothing. Costs one small read, and never waits for a writer.
    pub fn is_current(&self) -> bool {
        self.is_seen() && !self.known().has_untold()
    }

    /// What cannot be read, as of the last look, by file.
    pub fn damage(&self) -> Vec<Damage> {
        self.looked()
            .map_or_else(|_| Vec::new(), |known| known.damage())
    }

    /// The problem of a bundle, if there is one: then its tools are there, but off.
    pub fn bundle_damage(&self, id: BundleId) -> Option<String> {
        self.looked().ok()?.flaw_of_bundle(id)
    }

    /// A bundle, also one that is off or in the bin.
    pub fn bundle(&self, id: BundleId) -> Result<Arc<StoredBundle>, StoreError> {
        self.looked()?.bundle(id)
    }

    /// All bundles, those in the bin too, by slug.
    pub fn bundles(&self) -> Vec<Arc<StoredBundle>> {
        let mut all: Vec<_> = match self.looked() {
            Ok(known) => known.bundles().cloned().collect(),
            Err(_) => Vec::new(),
        };
        all.sort_by(|a, b| {
            let key = |view: &StoredBundle| (view.bundle.slug.clone(), view.bundle.bundle_id);
            key(a).cmp(&key(b))
        });
        all
    }

    /// Whether a bundle is in the bin, as of the last look.
    pub(crate) fn has_bin(&self) -> bool {
        let is_binned = |known: &Catalogue| {
            let mut bundles = known.bundles();
            bundles.any(|view| view.bundle.soft_deleted_at.is_some())
        };
        self.looked().is_ok_and(|known| is_binned(&known))
    }

    /// One version of a tool, also of a bundle that is off, in the bin or damaged.
    pub fn tool(&self, key: &ToolKey) -> Result<Arc<StoredTool>, StoreError> {
        let known = self.looked()?;
        if let Some(tool) = known.find(key) {
            return Ok(Arc::clone(tool));
        }
        if let Some(damaged) = known.flaw_of(key) {
            return Err(damaged);
        }
        let bundle = known.bundle(key.bundle)?;
        Err(StoreError::ToolNotFound {
            bundle: bundle.bundle.slug.clone(),
            slug: key.slug.clone(),
            version: key.version.clone(),
        })
    }

    /// The tools of a bundle, by slug, the newest version of each first.
    pub fn tools(&self, bundle: BundleId) -> Vec<Arc<StoredTool>> {
        let mut all: Vec<_> = match self.looked() {
            Ok(known) => known.tools_of(bundle).cloned().collect(),
            Err(_) => Vec::new(),
        };
        all.sort_by(|a, b| {
            a.key
                .slug
                .cmp(&b.key.slug)
                .then_with(|| b.head.modified_at.cmp(&a.head.modified_at))
                .then_with(|| a.key.version.cmp(&b.key.version))
        });
        all
    }

    /// The known state, after a first look if there was none.
    fn looked(&self) -> Result<RwLockReadGuard<'_, Catalogue>, StoreError> {
        if !self.inner.has_looked.load(Ordering::Acquire) {
            let _looking = unpoisoned(self.inner.looking.lock());
            if !self.inner.has_looked.load(Ordering::Acquire) {
                let seen = Seen::now(&self.inner.lock_file);
                let dir = DurableDir::open(&self.inner.directory)?;
                self.look_now(dir.as_ref(), &How::new(Look::Glance))?;
                self.set_seen(seen.if_quiet());
            }
        }
        Ok(self.known())
    }

    /// Looks, unless that is given up; says whether. Only for those who have `looking`.
    fn look_now(&self, dir: Option<&DurableDir>, how: &How<'_>) -> Result<bool, StoreError> {
        let Some(findings) = scan::look(&self.known(), dir, how)? else {
            return Ok(false);
        };
        findings.apply(&mut self.known_mut());
        self.inner.has_looked.store(true, Ordering::Release);
        Ok(true)
    }

    fn known(&self) -> RwLockReadGuard<'_, Catalogue> {
        unpoisoned(self.inner.known.read())
    }

    fn known_mut(&self) -> RwLockWriteGuard<'_, Catalogue> {
        unpoisoned(self.inner.known.write())
    }

    fn set_seen(&self, seen: Option<Seen>) {
        *unpoisoned(self.inner.seen.lock()) = seen;
    }
}

/// A panic elsewhere leaves nothing half done here: what is known is changed in one go.
fn unpoisoned<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}
