//! Bundles and the tools in them, for front ends: those of Toolcrib's own (`core`, `local`, `user`, `global`) and those of the store, as one list.
//!
//! Whatever is changed here is in the registry when the method returns.

use std::sync::Arc;

use super::Crib;
use crate::definition::Problem;
use crate::model::error::ToolError;
use crate::model::ids::BundleId;
use crate::model::manifest::{Bundle, ToolManifest};
use crate::registry::Entry;
use crate::store::{BundleDraft, Put, Store, StoredTool};

/// What kind of bundle it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BundleKind {
    /// `core`: compiled in; only its switch can be changed.
    BuiltIn,
    /// `local`, `user`, `global`: files; only its switch can be changed here.
    Files,
    /// A bundle of the store.
    Store,
}

/// A bundle as lists show it.
#[derive(Debug, Clone, PartialEq)]
pub struct BundleView {
    /// What it says about itself. Bundles of Toolcrib's own have times of the epoch.
    pub bundle: Bundle,
    /// What kind it is.
    pub kind: BundleKind,
    /// How many tools it has, each version counted.
    pub tools: usize,
    /// What is wrong with it, if something is.
    pub problem: Option<String>,
}

#[expect(unused_variables, reason = "the bodies come next")]
impl Crib {
    /// The store of this home. Changes made through it reach the registry at the next look; the methods here are faster.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Every bundle: Toolcrib's own first, then those of the store by slug, those that are off or in the bin too.
    pub fn bundles(&self) -> Vec<BundleView> {
        todo!()
    }

    /// A bundle by slug or id; the error suggests near names.
    pub fn bundle(&self, reference: &str) -> Result<BundleView, ToolError> {
        todo!()
    }

    /// The entries of a bundle's tools, each version, those that are shadowed, off or cannot run too; by slug.
    pub fn bundle_tools(&self, id: BundleId) -> Vec<Arc<Entry>> {
        todo!()
    }

    /// Makes a bundle, or replaces what it says about itself.
    pub fn put_bundle(&self, id: BundleId, draft: BundleDraft) -> Result<Put, ToolError> {
        todo!()
    }

    /// Switches a bundle on or off, for good. Toolcrib's own, too.
    pub fn set_bundle_enabled(
        &self,
        reference: &str,
        enabled: bool,
    ) -> Result<BundleView, ToolError> {
        todo!()
    }

    /// Puts a bundle in the bin.
    pub fn delete_bundle(&self, reference: &str) -> Result<Bundle, ToolError> {
        todo!()
    }

    /// Takes a bundle out of the bin.
    pub fn restore_bundle(&self, reference: &str) -> Result<Bundle, ToolError> {
        todo!()
    }

    /// Everything that is wrong or doubtful about a definition, as `toolcrib check` would say it.
    pub fn check_manifest(&self, manifest: &ToolManifest) -> Vec<Problem> {
        todo!()
    }

    /// Adds one version of a tool to a bundle of the store, if its definition is in order.
    pub fn put_tool(&self, manifest: ToolManifest) -> Result<Arc<StoredTool>, ToolError> {
        todo!()
    }

    /// Replaces a version that is as `digest` says, if its new definition is in order.
    pub fn replace_tool(
        &self,
        manifest: ToolManifest,
        digest: &str,
    ) -> Result<Arc<StoredTool>, ToolError> {
        todo!()
    }

    /// Removes one version of a stored tool for good. `bundle/slug` without a version is refused where there are several.
    pub fn delete_tool(&self, reference: &str) -> Result<(), ToolError> {
        todo!()
    }

    /// The record of a tool of the store; none for others.
    pub fn record_of(&self, entry: &Entry) -> Option<Arc<StoredTool>> {
        todo!()
    }
}
