//! Tools: added, replaced, switched, removed.

use std::sync::Arc;

use jiff::Timestamp;

use super::files;
use super::record::{StoredTool, ToolHead, ToolKey};
use super::rewrite;
use super::shelf::Content;
use super::writing::{NoStore, Session};
use super::{Store, StoreError};
use crate::model::ids::ToolId;
use crate::spec::manifest::ToolManifest;
use crate::storage::{DurableDir, StorageError};

impl Store {
    /// Adds one version of a tool. Times are the store's, whatever the manifest says; its id is kept if no one has it.
    pub fn put_tool(&self, mut manifest: ToolManifest) -> Result<Arc<StoredTool>, StoreError> {
        let key = key_of(&manifest);
        self.write(key.bundle, NoStore::Refuse, |session| {
            let shelf = session.shelf(key.bundle)?;
            let bundle = session.bundle_to_change(&shelf, key.bundle)?;
            refuse_built_in(&manifest)?;
            match session.tool(&bundle, &shelf, &key) {
                Err(StoreError::ToolNotFound { .. }) => {}
                Ok(_) => return Err(taken(&bundle.slug, &key)),
                Err(error) => return Err(error),
            }
            session.refuse_more_than(1, 0)?;
            if self.known().is_taken(manifest.tool_id, |_| false) {
                manifest.tool_id = ToolId::generate();
            }
            let now = (self.inner.options.clock)();
            (manifest.created_at, manifest.modified_at) = (now, now);
            let tool = session.rendered(&key, files::render(&manifest)?)?;
            let name = files::file_name(&key.slug, &key.version);
            match shelf.create_new(&session.lock, &name, &tool.bytes) {
                Ok(()) => {}
                // Someone made it by hand, a moment ago.
                Err(StorageError::Exists { .. }) => return Err(taken(&bundle.slug, &key)),
                Err(error) => return Err(error.into()),
            }
            Ok(session.wrote_tool(&shelf, &name, tool))
        })
    }

    /// Replaces a version that is as `digest` says (SHA-256 of its file): `createdAt` and the id stay. `modifiedAt` is now, unless
    /// nothing but the switch is another; it never goes back, whatever the clock does.
    pub fn replace_tool(
        &self,
        mut manifest: ToolManifest,
        digest: &str,
    ) -> Result<Arc<StoredTool>, StoreError> {
        let key = key_of(&manifest);
        self.write(key.bundle, NoStore::Refuse, |session| {
            let shelf = session.shelf(key.bundle)?;
            let bundle = session.bundle_to_change(&shelf, key.bundle)?;
            refuse_built_in(&manifest)?;
            let old = session.tool(&bundle, &shelf, &key)?;
            if !old.digest().eq_ignore_ascii_case(digest) {
                return Err(StoreError::Changed {
                    bundle: bundle.slug,
                    slug: key.slug.clone(),
                    version: key.version.clone(),
                });
            }
            manifest.tool_id = old.head.tool_id;
            manifest.created_at = old.head.created_at;
            manifest.modified_at = old.head.modified_at;
            if !is_same_but_for_switch(&old, &manifest) {
                manifest.modified_at = later((self.inner.options.clock)(), &old.head);
            }
            let is_unknown = |field: &str| manifest.extra.contains_key(field);
            let bytes = rewrite::render(&manifest, &old.bytes, is_unknown)?;
            session.rewrite(&shelf, &key, bytes)
        })
    }

    /// Switches one version of a tool on or off; `modifiedAt` stays, and so does everything else in its file.
    pub fn set_tool_enabled(
        &self,
        key: &ToolKey,
        enabled: bool,
    ) -> Result<Arc<StoredTool>, StoreError> {
        self.write(key.bundle, NoStore::Refuse, |session| {
            let shelf = session.shelf(key.bundle)?;
            let bundle = session.bundle_to_change(&shelf, key.bundle)?;
            let old = session.tool(&bundle, &shelf, key)?;
            let bytes = rewrite::with_field(&old.bytes, "isEnabled", &enabled.to_string())?;
            session.rewrite(&shelf, key, bytes)
        })
    }

    /// Removes one version of a tool for good, also from a bundle that is off or in the bin.
    pub fn delete_tool(&self, key: &ToolKey) -> Result<(), StoreError> {
        self.write(key.bundle, NoStore::Refuse, |session| {
            let shelf = session.shelf(key.bundle)?;
            let bundle = session.bundle_on(Some(&shelf), key.bundle)?;
            session.tool(&bundle, &shelf, key)?;
            let name = files::file_name(&key.slug, &key.version);
            shelf.remove_whole(&session.lock, &name)?;
            session.removed(&shelf, key.bundle, &name);
            Ok(())
        })
    }
}

/// Which tool a manifest is of.
pub(super) fn key_of(manifest: &ToolManifest) -> ToolKey {
    ToolKey {
        bundle: manifest.bundle_id,
        slug: manifest.slug.clone(),
        version: manifest.version.clone(),
    }
}

pub(super) fn taken(bundle: &crate::model::names::Slug, key: &ToolKey) -> StoreError {
    StoreError::VersionTaken {
        bundle: bundle.clone(),
        slug: key.slug.clone(),
        version: key.version.clone(),
    }
}

/// Whether a version is replaced by itself. Switching is not a structural change.
pub(super) fn is_same_but_for_switch(old: &StoredTool, new: &ToolManifest) -> bool {
    old.manifest().is_ok_and(|mut old| {
        old.is_enabled = new.is_enabled;
        old == *new
    })
}

/// When a version was modified that is modified now: the clock may have been set back since the last time.
pub(super) fn later(now: Timestamp, old: &ToolHead) -> Timestamp {
    now.max(old.created_at).max(old.modified_at)
}

fn refuse_built_in(manifest: &ToolManifest) -> Result<(), StoreError> {
    if manifest.is_built_in {
        return Err(StoreError::Invalid(
            "`isBuiltIn` is true, but only the tools that are compiled in are built in; leave it out"
                .to_owned(),
        ));
    }
    Ok(())
}

impl Session<'_> {
    /// Refuses to have more tools than there may be, when `coming` come and `going` go.
    pub(super) fn refuse_more_than(&self, coming: usize, going: usize) -> Result<(), StoreError> {
        let limit = self.store.inner.options.max_tools;
        let there = self.store.known().tools_in_all().saturating_sub(going);
        if coming > 0 && there.saturating_add(coming) > limit {
            return Err(StoreError::Full { limit });
        }
        Ok(())
    }

    /// Reads what is about to be written: what could not be read afterwards is not written.
    pub(super) fn rendered(&self, key: &ToolKey, bytes: Vec<u8>) -> Result<StoredTool, StoreError> {
        let name = files::file_name(&key.slug, &key.version);
        files::read_tool(key.bundle, &name, bytes).map_err(|flaw| {
            StoreError::Invalid(format!(
                "the definition of `{}@{}` could not be read again: {}",
                key.slug, key.version, flaw.reason
            ))
        })
    }

    fn rewrite(
        &self,
        shelf: &DurableDir,
        key: &ToolKey,
        bytes: Vec<u8>,
    ) -> Result<Arc<StoredTool>, StoreError> {
        let tool = self.rendered(key, bytes)?;
        let name = files::file_name(&key.slug, &key.version);
        shelf.replace(&self.lock, &name, &tool.bytes)?;
        Ok(self.wrote_tool(shelf, &name, tool))
    }

    fn wrote_tool(&self, shelf: &DurableDir, name: &str, tool: StoredTool) -> Arc<StoredTool> {
        let tool = Arc::new(tool);
        let content = Content::Tool(Arc::clone(&tool));
        self.wrote(shelf, tool.key.bundle, name, content);
        tool
    }
}
