//! Whole bundles in one step, as imports bring them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::bundles::refuse_own_slug;
use super::files::{self, BUNDLE_FILE};
use super::record::{StoredBundle, StoredTool, ToolKey};
use super::shelf::Content;
use super::tools::{is_same_but_for_switch, key_of, later, taken};
use super::writing::{NoStore, Session};
use super::{Install, Store, StoreError};
use crate::model::ids::{BundleId, ToolId};
use crate::model::names::{Slug, Version};
use crate::spec::manifest::{Bundle, ToolManifest};
use crate::storage::DurableDir;

impl Store {
    /// Adds a whole bundle in one step, as imports do: all of it or nothing. A crash at any moment leaves the old bundle or the new one.
    ///
    /// The times are the store's; a bundle or a version that was there keeps its `createdAt` and its id, and one that stays as it is its
    /// `modifiedAt`, too. The ids of tools are kept where no one else has them, and the switches of single tools as they are here. Nothing that
    /// is installed is built in or in the bin.
    pub fn install(
        &self,
        bundle: Bundle,
        tools: Vec<ToolManifest>,
        how: Install,
    ) -> Result<Arc<StoredBundle>, StoreError> {
        let id = bundle.bundle_id;
        refuse_own_slug(&bundle.slug)?;
        self.write(id, NoStore::Create, |session| {
            let old = session.installed(id, how)?;
            session.refuse_taken(&bundle.slug, id)?;
            let old_tools = match &old {
                Some(old) => session.replaceable(old)?,
                None => Vec::new(),
            };
            session.refuse_more_than(tools.len(), old_tools.len())?;
            let (bundle, tools) = session.prepare(bundle, tools, old.as_ref(), &old_tools)?;
            let new = self.build(session, &bundle, &tools)?;
            match &old {
                Some(_) => new.exchange(&id.to_string())?,
                None => new.place(&id.to_string())?,
            }
            let bundle = Content::Bundle(Box::new(bundle));
            let files = tools.into_iter().map(|tool| {
                let name = files::file_name(&tool.key.slug, &tool.key.version);
                (name, Content::Tool(Arc::new(tool)))
            });
            session.wrote_all(id, files.chain([(BUNDLE_FILE.to_owned(), bundle)]));
            self.known().bundle(id)
        })
    }

    /// Writes all files into a directory without a name.
    fn build<'a>(
        &self,
        session: &'a Session<'_>,
        bundle: &Bundle,
        tools: &[StoredTool],
    ) -> Result<crate::storage::NewDir<'a>, StoreError> {
        let new = session.dir.new_dir(&session.lock)?;
        new.add(BUNDLE_FILE, &files::render(bundle)?)?;
        for tool in tools {
            let name = files::file_name(&tool.key.slug, &tool.key.version);
            new.add(&name, &tool.bytes)?;
        }
        Ok(new)
    }
}

impl Session<'_> {
    /// The bundle that is to be replaced, if there is one.
    fn installed(&self, id: BundleId, how: Install) -> Result<Option<Bundle>, StoreError> {
        match (self.bundle(id), how) {
            (Err(error @ StoreError::BundleNotFound { .. }), Install::UpdateOf(_)) => Err(error),
            (Err(StoreError::BundleNotFound { .. }), _) => Ok(None),
            (Err(error), _) => Err(error),
            (Ok(old), _) if old.soft_deleted_at.is_some() => {
                Err(StoreError::BundleDeleted { slug: old.slug })
            }
            (Ok(old), Install::New) => Err(StoreError::BundleTaken { id, slug: old.slug }),
            (Ok(old), Install::Update) => Ok(Some(old)),
            (Ok(old), Install::UpdateOf(shown)) => {
                self.refuse_changed(id, shown)?;
                Ok(Some(old))
            }
        }
    }

    /// The tools of a bundle that is replaced as a whole. Refuses where that would destroy what is not the store's, or cannot be read.
    fn replaceable(&self, old: &Bundle) -> Result<Vec<Arc<StoredTool>>, StoreError> {
        let id = old.bundle_id;
        let shelf = self.shelf(id)?;
        let foreign = self.refresh_all(&shelf, id)?;
        // Sweeps what dead writers left, which would look foreign.
        if let Some(name) = foreign
            && (shelf.sweep(&self.lock)? == 0 || has_foreign(&shelf)?)
        {
            return Err(StoreError::Invalid(format!(
                "the directory of the bundle `{}` has a file that is not the store's, `{}`; move it away first",
                old.slug,
                crate::model::text::shorten(&name, 64),
            )));
        }
        let known = self.store.known();
        if let Some(damage) = known
            .damage()
            .into_iter()
            .find(|damage| damage.bundle == id)
        {
            return Err(StoreError::Damaged {
                file: damage.file,
                reason: damage.reason,
            });
        }
        Ok(known.tools_of(id).cloned().collect())
    }

    /// Looks at every file of a bundle, for edits by hand; returns a name that is not the store's, if there is one.
    pub(super) fn refresh_all(
        &self,
        shelf: &DurableDir,
        id: BundleId,
    ) -> Result<Option<String>, StoreError> {
        // Also those that were there, and are gone.
        let mut names: BTreeSet<String> = {
            let known = self.store.known();
            let files = known
                .shelf(id)
                .into_iter()
                .flat_map(|shelf| shelf.files.keys());
            files.map(ToString::to_string).collect()
        };
        let mut foreign = None;
        shelf.visit_entries(|name, _| match std::str::from_utf8(name) {
            Ok(name) if files::is_ours(name) => {
                names.insert(name.to_owned());
            }
            _ => foreign = Some(String::from_utf8_lossy(name).into_owned()),
        })?;
        for name in &names {
            self.refresh(shelf, id, name)?;
        }
        Ok(foreign)
    }

    /// The record to write, with its ids and times.
    fn prepare(
        &self,
        mut bundle: Bundle,
        mut tools: Vec<ToolManifest>,
        old: Option<&Bundle>,
        old_tools: &[Arc<StoredTool>],
    ) -> Result<(Bundle, Vec<StoredTool>), StoreError> {
        let id = bundle.bundle_id;
        let now = (self.store.inner.options.clock)();
        bundle.is_built_in = false;
        bundle.soft_deleted_at = None;
        bundle.created_at = old.map_or(now, |old| old.created_at);
        bundle.modified_at = old.map_or(now, |old| now.max(old.created_at).max(old.modified_at));
        keep_switches(
            &mut tools,
            old_tools
                .iter()
                .map(|old| (&old.key.slug, &old.key.version, old.head.is_enabled)),
        );

        // Which version of a tool has its name goes by what was changed last: all at one time would make that another one than where it comes from.
        let mut order: Vec<Timestamp> = tools.iter().map(|manifest| manifest.modified_at).collect();
        order.sort_unstable();
        order.dedup();
        let arrival = |was: Timestamp| {
            let later = order.binary_search(&was).unwrap_or_default();
            let later = SignedDuration::from_nanos(i64::try_from(later).unwrap_or_default());
            now.checked_add(later).unwrap_or(now)
        };
        let mut keys: HashSet<ToolKey> = HashSet::new();
        let mut given: HashSet<ToolId> = HashSet::new();
        let mut prepared = Vec::with_capacity(tools.len());
        for mut manifest in tools {
            manifest.bundle_id = id;
            manifest.is_built_in = false;
            let key = key_of(&manifest);
            if !keys.insert(key.clone()) {
                return Err(taken(&bundle.slug, &key));
            }
            if !given.insert(manifest.tool_id) {
                return Err(StoreError::IdTaken {
                    id: manifest.tool_id,
                });
            }
            let before = old_tools.iter().find(|old| old.key == key);
            match before {
                Some(before) => {
                    manifest.tool_id = before.head.tool_id;
                    manifest.created_at = before.head.created_at;
                    manifest.modified_at = before.head.modified_at;
                    if !is_same_but_for_switch(before, &manifest) {
                        manifest.modified_at = later(now, &before.head);
                    }
                }
                None => {
                    // Also when it is that of another version that was here: one id, one version.
                    if self.store.known().is_taken(manifest.tool_id, |_| false) {
                        manifest.tool_id = ToolId::generate();
                    }
                    manifest.created_at = now;
                    manifest.modified_at = arrival(manifest.modified_at);
                }
            }
            prepared.push(self.rendered(&key, files::render(&manifest)?)?);
        }
        Ok((bundle, prepared))
    }
}

/// Leaves the switches of single tools as the user set them, whatever the incoming bundle says: a version that is here keeps
/// its own, and a new version of a tool whose versions are all off arrives off.
pub(super) fn keep_switches<'a>(
    tools: &mut [ToolManifest],
    here: impl Iterator<Item = (&'a Slug, &'a Version, bool)>,
) {
    let mut versions: HashMap<&Slug, Vec<(&Version, bool)>> = HashMap::new();
    for (slug, version, is_on) in here {
        versions.entry(slug).or_default().push((version, is_on));
    }
    for tool in tools {
        let Some(here) = versions.get(&tool.slug) else {
            continue;
        };
        let same = here.iter().find(|(version, _)| **version == tool.version);
        tool.is_enabled = match same {
            Some((_, is_on)) => *is_on,
            None => tool.is_enabled && here.iter().any(|(_, is_on)| *is_on),
        };
    }
}

/// Whether a directory has files that the store does not read.
fn has_foreign(shelf: &DurableDir) -> Result<bool, StoreError> {
    let mut found = false;
    shelf.visit_entries(|name, _| {
        found |= !std::str::from_utf8(name).is_ok_and(files::is_ours);
    })?;
    Ok(found)
}
