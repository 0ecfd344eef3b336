//! Bundles and tools on disk: [`Store`], S4's flat files.
//!
//! ```text
//! bundles/.lock                         one writer at a time, in all processes
//! bundles/<bundleID>/bundle.json        a Bundle
//! bundles/<bundleID>/<derived>.json     a ToolManifest; the name is a digest of slug and version, never the slug
//! ```
//!
//! The store keeps what it is given and keeps it whole: ids, times, uniqueness, the bin, damage. It does not know what a tool does;
//! whether a definition can run is checked by whoever puts it (`source`), and never written back.
//!
//! The invariant: within a bundle there is one record of a slug and version, whatever number of processes write at once and wherever they
//! are killed; and a file that cannot be read costs nothing but its own record.

pub mod archive;
mod error;
mod record;

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;

pub use error::StoreError;
pub use record::{BundleDraft, Changes, Damage, StoredBundle, StoredTool, ToolHead, ToolKey};

use crate::model::ids::BundleId;
use crate::model::manifest::{Bundle, ToolManifest};

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

/// What is to be done where a bundle that is installed is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Install {
    /// Nothing: it is refused.
    New,
    /// The one that is there is replaced as a whole, in one step.
    Update,
}

/// The store of a home. Cloning is cheap and shares everything. Nothing is created until there is something to write.
#[derive(Clone)]
pub struct Store {
    _home: PathBuf,
    _options: StoreOptions,
}

#[expect(unused_variables, reason = "the bodies come next")]
impl Store {
    /// The store in a home.
    pub fn at(home: impl Into<PathBuf>, options: StoreOptions) -> Self {
        Store {
            _home: home.into(),
            _options: options,
        }
    }

    /// What has changed since the last time somebody asked this, by this process or another; at first that is everything.
    pub fn changes(&self, look: Look) -> Result<Changes, StoreError> {
        todo!()
    }

    /// Whether [`changes`](Self::changes) with [`Look::Glance`] would find nothing. Costs one small read.
    pub fn is_current(&self) -> bool {
        todo!()
    }

    /// What cannot be read, as of the last look.
    pub fn damage(&self) -> Vec<Damage> {
        todo!()
    }

    /// A bundle, also one that is off or in the bin.
    pub fn bundle(&self, id: BundleId) -> Result<Arc<StoredBundle>, StoreError> {
        todo!()
    }

    /// All bundles, those in the bin too, by slug.
    pub fn bundles(&self) -> Vec<Arc<StoredBundle>> {
        todo!()
    }

    /// One version of a tool.
    pub fn tool(&self, key: &ToolKey) -> Result<Arc<StoredTool>, StoreError> {
        todo!()
    }

    /// The tools of a bundle, by slug, the newest version of each first.
    pub fn tools(&self, bundle: BundleId) -> Vec<Arc<StoredTool>> {
        todo!()
    }

    /// Makes a bundle, or replaces what it says about itself.
    pub fn put_bundle(&self, id: BundleId, draft: BundleDraft) -> Result<Put, StoreError> {
        todo!()
    }

    /// Switches a bundle on or off, which is no structural change: `modifiedAt` stays.
    pub fn set_bundle_enabled(&self, id: BundleId, enabled: bool) -> Result<Bundle, StoreError> {
        todo!()
    }

    /// Puts a bundle in the bin, with all that is in it.
    pub fn delete_bundle(&self, id: BundleId) -> Result<Bundle, StoreError> {
        todo!()
    }

    /// Takes a bundle out of the bin.
    pub fn restore_bundle(&self, id: BundleId) -> Result<Bundle, StoreError> {
        todo!()
    }

    /// Adds one version of a tool. Times are the store's, whatever the manifest says.
    pub fn put_tool(&self, manifest: ToolManifest) -> Result<Arc<StoredTool>, StoreError> {
        todo!()
    }

    /// Replaces a version that is as `digest` says (SHA-256 of its file): `createdAt` and the id stay, `modifiedAt` is now.
    pub fn replace_tool(
        &self,
        manifest: ToolManifest,
        digest: &str,
    ) -> Result<Arc<StoredTool>, StoreError> {
        todo!()
    }

    /// Switches one version of a tool on or off; `modifiedAt` stays.
    pub fn set_tool_enabled(
        &self,
        key: &ToolKey,
        enabled: bool,
    ) -> Result<Arc<StoredTool>, StoreError> {
        todo!()
    }

    /// Removes one version of a tool for good.
    pub fn delete_tool(&self, key: &ToolKey) -> Result<(), StoreError> {
        todo!()
    }

    /// Adds a whole bundle in one step, as imports do: all of it or nothing.
    pub fn install(
        &self,
        bundle: Bundle,
        tools: Vec<ToolManifest>,
        how: Install,
    ) -> Result<Arc<StoredBundle>, StoreError> {
        todo!()
    }

    /// Removes bundles that were put in the bin two days ago and are empty, and what dead writers left. Returns the bundles.
    pub fn reap(&self) -> Result<Vec<BundleId>, StoreError> {
        todo!()
    }

    /// Moves a file that cannot be read out of the way, into `damaged/` of the home. Returns where it is now.
    pub fn set_aside(&self, damage: &Damage) -> Result<PathBuf, StoreError> {
        todo!()
    }
}
