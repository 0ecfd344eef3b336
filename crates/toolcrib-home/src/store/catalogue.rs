//! The known state of the store: [`Catalogue`], and the changes that have not been reported yet.
//!
//! It holds, for each file, its stamp and what was read from it, so that a look need not read what has not changed. It does no reading
//! itself. What one file cannot say is worked out here and in `rivals`, the same in each process.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::StoreError;
use super::files::{self, BUNDLE_FILE, Flaw};
use super::record::{Changes, Damage, StoredBundle, StoredTool, ToolKey};
use super::shelf::{BundleFile, Content, KnownFile, Shelf, StampTrust};
use crate::model::ids::{BundleId, ToolId};
use crate::model::names::Slug;

/// Everything that is known.
#[derive(Debug, Default)]
pub(super) struct Catalogue {
    pub(super) shelves: BTreeMap<BundleId, Shelf>,
    pub(super) ids: HashMap<ToolId, Vec<BundleFile>>,
    tools: usize,
    pub(super) untold: Untold,
}

/// What has changed since someone asked.
#[derive(Debug, Default)]
pub(super) struct Untold {
    pub(super) bundles: BTreeSet<BundleId>,
    pub(super) tools: HashSet<ToolKey>,
    pub(super) damage: bool,
}

impl Catalogue {
    pub(super) fn shelves(&self) -> &BTreeMap<BundleId, Shelf> {
        &self.shelves
    }

    pub(super) fn shelf(&self, id: BundleId) -> Option<&Shelf> {
        self.shelves.get(&id)
    }

    /// How many tools there are in all bundles together, those that share an id, too.
    pub(super) fn tools_in_all(&self) -> usize {
        self.tools
    }

    pub(super) fn has_untold(&self) -> bool {
        !self.untold.bundles.is_empty() || !self.untold.tools.is_empty() || self.untold.damage
    }

    /// A bundle that can be used.
    pub(super) fn bundle(&self, id: BundleId) -> Result<Arc<StoredBundle>, StoreError> {
        let missing = StoreError::BundleNotFound { id };
        let shelf = self.shelves.get(&id).ok_or(missing)?;
        match (&shelf.view, shelf.flaw_of_bundle()) {
            (Some(view), _) => Ok(Arc::clone(view)),
            (None, Some(reason)) => Err(StoreError::Damaged {
                file: self.bundle_file(id, shelf),
                reason,
            }),
            (None, None) => Err(StoreError::BundleNotFound { id }),
        }
    }

    pub(super) fn bundles(&self) -> impl Iterator<Item = &Arc<StoredBundle>> {
        self.shelves
            .values()
            .filter_map(|shelf| shelf.view.as_ref())
    }

    /// One version of a tool, whatever state its bundle is in.
    pub(super) fn find(&self, key: &ToolKey) -> Option<&Arc<StoredTool>> {
        let name = files::file_name(&key.slug, &key.version);
        self.shelves.get(&key.bundle)?.files.get(&*name)?.tool()
    }

    /// The problem of the file that a version of a tool has or would have.
    pub(super) fn flaw_of(&self, key: &ToolKey) -> Option<StoreError> {
        let name = files::file_name(&key.slug, &key.version);
        let file = self.shelves.get(&key.bundle)?.files.get(&*name)?;
        let reason = self.reason(file)?;
        Some(StoreError::Damaged {
            file: path(key.bundle, &name),
            reason,
        })
    }

    /// The tools of a bundle that can be used.
    pub(super) fn tools_of(&self, id: BundleId) -> impl Iterator<Item = &Arc<StoredTool>> {
        let files = self.shelves.get(&id).map(|shelf| shelf.files.values());
        files.into_iter().flatten().filter_map(KnownFile::tool)
    }

    /// The bundle that is not in the bin and has the slug.
    pub(super) fn holder_of(&self, slug: &Slug) -> Option<BundleId> {
        self.bundles()
            .find(|view| view.bundle.soft_deleted_at.is_none() && view.bundle.slug == *slug)
            .map(|view| view.bundle.bundle_id)
    }

    /// Whether a tool other than the one at a place has the id, or a built-in one.
    pub(super) fn is_taken(&self, id: ToolId, except: impl Fn(&BundleFile) -> bool) -> bool {
        id.is_built_in()
            || self
                .ids
                .get(&id)
                .is_some_and(|places| places.iter().any(|place| !except(place)))
    }

    /// Notes what a look or a write has found in a file, or that it is gone. [`settle`](Self::settle) has to follow.
    pub(super) fn set_file(&mut self, id: BundleId, name: &Arc<str>, file: Option<KnownFile>) {
        let shelf = self.shelves.entry(id).or_default();
        let old = match file {
            Some(file) => {
                match &file.content {
                    Content::Tool(tool) => {
                        shelf.tools += 1;
                        self.tools += 1;
                        self.untold.tools.insert(tool.key.clone());
                        let places = self.ids.entry(tool.head.tool_id).or_default();
                        places.push((id, Arc::clone(name)));
                    }
                    Content::Flawed(_) => self.untold.damage = true,
                    Content::Bundle(_) => {}
                }
                shelf.files.insert(Arc::clone(name), file)
            }
            None => shelf.files.remove(&**name),
        };
        if &**name == BUNDLE_FILE {
            self.untold.bundles.insert(id);
        }
        let mut ids = Vec::new();
        if let Some(old) = old {
            match old.content {
                Content::Tool(tool) => {
                    shelf.tools -= usize::from(old.twin.is_none());
                    self.tools -= 1;
                    self.untold.damage |= old.twin.is_some();
                    ids.push(tool.head.tool_id);
                    if let Some(places) = self.ids.get_mut(&tool.head.tool_id) {
                        // The first one: the new content of the same file is behind it.
                        if let Some(at) = places.iter().position(|p| p.0 == id && p.1 == *name) {
                            places.remove(at);
                        }
                        if places.is_empty() {
                            self.ids.remove(&tool.head.tool_id);
                        }
                    }
                    self.untold.tools.insert(tool.key.clone());
                }
                Content::Flawed(_) => self.untold.damage = true,
                Content::Bundle(_) => {}
            }
        }
        if let Some(Content::Tool(tool)) = self.content(id, name) {
            ids.push(tool.head.tool_id);
        }
        for tool_id in ids {
            self.find_twins(tool_id);
        }
    }

    /// Notes how a file looks now that has the content it had.
    pub(super) fn touch(&mut self, id: BundleId, name: &str, stamp: StampTrust) {
        let shelf = self.shelves.get_mut(&id);
        if let Some(file) = shelf.and_then(|shelf| shelf.files.get_mut(name)) {
            file.stamp = stamp;
        }
    }

    /// Notes how a directory looks in which this process has written.
    pub(super) fn set_stamp(&mut self, id: BundleId, stamp: StampTrust) {
        if let Some(shelf) = self.shelves.get_mut(&id) {
            shelf.stamp = stamp;
        }
    }

    /// Notes how a directory looks, or what is wrong with it.
    pub(super) fn set_directory(&mut self, id: BundleId, found: Result<StampTrust, Flaw>) {
        let shelf = self.shelves.entry(id).or_default();
        let flaw = match found {
            Ok(stamp) => {
                shelf.stamp = stamp;
                None
            }
            Err(flaw) => {
                // What was known of it proves nothing any more: a glance has to open it again.
                shelf.stamp = StampTrust::No;
                Some(flaw)
            }
        };
        if shelf.flaw != flaw {
            shelf.flaw = flaw;
            self.untold.damage = true;
            self.untold.bundles.insert(id);
        }
    }

    /// Forgets a bundle with all that was in it.
    pub(super) fn remove_directory(&mut self, id: BundleId) {
        let Some(shelf) = self.shelves.get(&id) else {
            return;
        };
        let names: Vec<Arc<str>> = shelf.files.keys().cloned().collect();
        for name in names {
            self.set_file(id, &name, None);
        }
        if let Some(shelf) = self.shelves.remove(&id) {
            self.untold.damage |=
                shelf.flaw.is_some() || shelf.is_headless || shelf.clash.is_some();
            self.untold.bundles.insert(id);
        }
    }

    /// Works out what follows from what was noted for these bundles.
    pub(super) fn settle(&mut self, touched: impl IntoIterator<Item = BundleId>) {
        let mut slugs_changed = false;
        for id in touched {
            let Some(shelf) = self.shelves.get_mut(&id) else {
                slugs_changed = true;
                continue;
            };
            let is_headless = !shelf.files.is_empty() && !shelf.files.contains_key(BUNDLE_FILE);
            if is_headless != shelf.is_headless {
                shelf.is_headless = is_headless;
                self.untold.damage = true;
                self.untold.bundles.insert(id);
            }
            slugs_changed |= self.untold.bundles.contains(&id);
            self.renew_view(id);
        }
        if slugs_changed {
            self.find_clashes();
        }
    }

    /// The changes not reported yet, in their present state.
    pub(super) fn tell(&mut self) -> Changes {
        let untold = std::mem::take(&mut self.untold);
        let bundles = untold.bundles.into_iter();
        let tools = untold.tools.into_iter();
        Changes {
            bundles: bundles
                .map(|id| (id, self.shelves.get(&id).and_then(|s| s.view.clone())))
                .collect(),
            tools: tools
                .map(|key| {
                    let tool = self.find(&key).cloned();
                    (key, tool)
                })
                .collect(),
            damage: untold.damage,
        }
    }

    /// Everything that is wrong.
    pub(super) fn damage(&self) -> Vec<Damage> {
        let mut all = Vec::new();
        for (&id, shelf) in &self.shelves {
            if let Some(reason) = shelf.flaw_of_bundle() {
                all.push(Damage {
                    file: self.bundle_file(id, shelf),
                    bundle: id,
                    tool: None,
                    bundle_slug: shelf.likely_slug(),
                    reason,
                });
            }
            for (name, file) in &shelf.files {
                if &**name == BUNDLE_FILE {
                    continue;
                }
                if let Some(reason) = self.reason(file) {
                    all.push(Damage {
                        file: path(id, name),
                        bundle: id,
                        tool: match &file.content {
                            Content::Tool(tool) => {
                                Some((tool.key.slug.clone(), tool.key.version.clone()))
                            }
                            Content::Flawed(flaw) => flaw.tool.clone(),
                            Content::Bundle(_) => None,
                        },
                        bundle_slug: None,
                        reason,
                    });
                }
            }
        }
        all.sort_by(|a, b| a.file.cmp(&b.file));
        all
    }

    /// The problem of a bundle, if there is one.
    pub(super) fn flaw_of_bundle(&self, id: BundleId) -> Option<String> {
        self.shelves.get(&id)?.flaw_of_bundle()
    }

    pub(super) fn content(&self, id: BundleId, name: &str) -> Option<&Content> {
        Some(&self.shelves.get(&id)?.files.get(name)?.content)
    }

    /// Whether a file is damaged, whatever others are.
    pub(super) fn is_flawed(&self, id: BundleId, name: &str) -> bool {
        matches!(self.content(id, name), Some(Content::Flawed(_)))
    }

    fn reason(&self, file: &KnownFile) -> Option<String> {
        if let Content::Flawed(flaw) = &file.content {
            return Some(flaw.reason.clone());
        }
        let (bundle, name) = file.twin.as_ref()?;
        let slug = self.shelves.get(bundle)?.bundle().map(|b| b.slug.as_str());
        Some(match self.content(*bundle, name) {
            Some(Content::Tool(twin)) => format!(
                "`{}/{}@{}` has the same toolID, {}; it was copied",
                slug.unwrap_or("?"),
                twin.key.slug,
                twin.key.version,
                twin.head.tool_id
            ),
            _ => "another tool has the same toolID".to_owned(),
        })
    }

    /// Makes what is handed out of a bundle as it is now.
    pub(super) fn renew_view(&mut self, id: BundleId) {
        let Some(shelf) = self.shelves.get_mut(&id) else {
            return;
        };
        let is_usable = shelf.flaw.is_none() && shelf.clash.is_none();
        let tools = shelf.tools;
        let Some(bundle) = shelf.bundle().filter(|_| is_usable) else {
            shelf.view = None;
            return;
        };
        let is_same = |view: &Arc<StoredBundle>| view.tools == tools && view.bundle == *bundle;
        if !shelf.view.as_ref().is_some_and(is_same) {
            shelf.view = Some(Arc::new(StoredBundle {
                bundle: bundle.clone(),
                tools,
            }));
        }
    }

    /// The file to blame for what is wrong with a bundle.
    fn bundle_file(&self, id: BundleId, shelf: &Shelf) -> String {
        match shelf.flaw {
            Some(_) => format!("{}/{id}", files::DIRECTORY),
            None => path(id, BUNDLE_FILE),
        }
    }
}

/// A file of the store, relative to the home.
pub(super) fn path(id: BundleId, name: &str) -> String {
    format!("{}/{id}/{name}", files::DIRECTORY)
}
