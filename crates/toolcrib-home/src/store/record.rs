//! What the store hands out: [`StoredBundle`], [`StoredTool`], [`Damage`], [`Changes`].

use std::sync::Arc;

use jiff::Timestamp;

use crate::model::ids::{BundleId, ToolId};
use crate::model::names::{Slug, Version, WireName};
use crate::spec::manifest::{Bundle, ManifestError, ToolKind, ToolManifest};

/// Which version of which tool of which bundle.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolKey {
    /// The bundle.
    pub bundle: BundleId,
    /// The tool.
    pub slug: Slug,
    /// Its version.
    pub version: Version,
}

/// What a caller says about a bundle; the rest is the store's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleDraft {
    /// The name for people and URLs.
    pub slug: Slug,
    /// The name for lists.
    pub display_name: String,
    /// Its contents.
    pub description: String,
    /// The switch.
    pub is_enabled: bool,
}

/// A bundle as it is on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredBundle {
    /// What its file says.
    pub bundle: Bundle,
    /// How many tools it has, each version counted.
    pub tools: usize,
}

/// What lists need of a tool: everything but schemas and implementation.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolHead {
    /// Its id.
    pub tool_id: ToolId,
    /// The name for models, when it is not derived from the slug.
    pub name: Option<WireName>,
    /// The name for lists.
    pub display_name: String,
    /// What it does.
    pub description: String,
    /// How it is implemented.
    pub kind: ToolKind,
    /// The switch.
    pub is_enabled: bool,
    /// Categories and security tags.
    pub tags: Vec<String>,
    /// First insertion.
    pub created_at: Timestamp,
    /// Last structural change.
    pub modified_at: Timestamp,
}

/// One version of a tool as it is on disk. The rest of its file is read when it is needed.
#[derive(Debug)]
pub struct StoredTool {
    /// Which one it is.
    pub key: ToolKey,
    /// What lists need.
    pub head: ToolHead,
    /// Its file.
    pub bytes: Arc<[u8]>,
}

impl StoredTool {
    /// All of it. Costs a reading of its JSON.
    pub fn manifest(&self) -> Result<ToolManifest, ManifestError> {
        let mut manifest = ToolManifest::from_json(&self.bytes)?;
        // A file written by hand need not name one.
        manifest.tool_id = self.head.tool_id;
        Ok(manifest)
    }

    /// SHA-256 of its file, in hex.
    pub fn digest(&self) -> String {
        use sha2::Digest as _;
        crate::model::names::hex(&sha2::Sha256::digest(&self.bytes))
    }
}

/// A file of the store that cannot be used. Nothing but its own record is affected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The file, relative to the home: `bundles/018f…/3a7b….json`.
    pub file: String,
    /// Its bundle.
    pub bundle: BundleId,
    /// Whose record it is, where that can still be read.
    pub tool: Option<(Slug, Version)>,
    /// What the bundle is called, of a bundle's own file that is damaged, where that can still be read.
    pub bundle_slug: Option<Slug>,
    /// The problem.
    pub reason: String,
}

/// What has changed: the new state of each, or that it is gone.
#[derive(Debug, Default)]
pub struct Changes {
    /// Bundles that came, changed or went. The tools of one that went are in `tools`, too. One whose file is damaged or missing counts
    /// as gone, but its tools stay: they are off, for the reason that [`Store::bundle_damage`](super::Store::bundle_damage) gives.
    /// That a bundle has more or fewer tools is not a change of the bundle.
    pub bundles: Vec<(BundleId, Option<Arc<StoredBundle>>)>,
    /// Tools that came, changed or went, in no order.
    pub tools: Vec<(ToolKey, Option<Arc<StoredTool>>)>,
    /// Whether other files are damaged than before.
    pub damage: bool,
}

impl Changes {
    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.bundles.is_empty() && self.tools.is_empty() && !self.damage
    }
}
