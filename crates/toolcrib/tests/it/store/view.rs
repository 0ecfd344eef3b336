//! What a store shows of itself: [`View`]. Making one checks what must be so at all times.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib::store::{Look, Store};

use super::{NOW, options};

/// Everything a store shows, to be compared as a whole.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct View {
    /// By id.
    pub(super) bundles: BTreeMap<String, Value>,
    /// By bundle id, slug and version.
    pub(super) tools: BTreeMap<String, Value>,
    /// The files.
    pub(super) damage: BTreeSet<String>,
}

impl View {
    /// What a store shows without looking again.
    pub(super) fn of(store: &Store) -> Self {
        let mut view = View::default();
        let mut slugs = BTreeSet::new();
        let mut ids = BTreeSet::new();
        for stored in store.bundles() {
            let bundle = &stored.bundle;
            let id = bundle.bundle_id;
            assert_eq!(*store.bundle(id).unwrap(), *stored);
            assert!(
                bundle.soft_deleted_at.is_some() || slugs.insert(bundle.slug.clone()),
                "two bundles are named `{}`",
                bundle.slug
            );
            let there = view
                .bundles
                .insert(id.to_string(), serde_json::to_value(bundle).unwrap());
            assert_eq!(there, None, "the bundle {id} is there twice");
            let tools = store.tools(id);
            assert_eq!(tools.len(), stored.tools, "how many tools {id} has");
            for tool in tools {
                assert_eq!(tool.key.bundle, id);
                assert_eq!(store.tool(&tool.key).unwrap().bytes, tool.bytes);
                let manifest = tool.manifest().unwrap();
                assert_eq!(manifest.bundle_id, id);
                assert_eq!(
                    (&manifest.slug, &manifest.version),
                    (&tool.key.slug, &tool.key.version)
                );
                assert_eq!(manifest.tool_id, tool.head.tool_id);
                assert_eq!(manifest.is_enabled, tool.head.is_enabled);
                assert!(
                    ids.insert(manifest.tool_id),
                    "two tools have the id {}",
                    manifest.tool_id
                );
                let name = format!("{id}/{}@{}", tool.key.slug, tool.key.version);
                let there = view
                    .tools
                    .insert(name.clone(), serde_json::to_value(manifest).unwrap());
                assert_eq!(there, None, "{name} is there twice");
            }
        }
        view.damage = store
            .damage()
            .into_iter()
            .map(|damage| damage.file)
            .collect();
        view
    }

    /// What a store that has just been started shows.
    pub(super) fn fresh(home: &Path) -> Self {
        let store = Store::at(home, options(NOW));
        let changes = store.changes(Look::Glance).unwrap();
        let view = View::of(&store);
        // The tools of an unreadable bundle are reported, too.
        let bundles = changes
            .bundles
            .iter()
            .filter(|(_, bundle)| bundle.is_some());
        let shown = |id: &toolcrib::BundleId| view.bundles.contains_key(&id.to_string());
        let tools = changes.tools.iter();
        let tools = tools.filter(|(key, tool)| tool.is_some() && shown(&key.bundle));
        assert_eq!(
            (bundles.count(), tools.count(), changes.damage),
            (
                view.bundles.len(),
                view.tools.len(),
                !view.damage.is_empty()
            ),
            "the first look shows everything"
        );
        view
    }

    /// What a running store shows after a glance.
    pub(super) fn at_a_glance(store: &Store) -> Self {
        store.changes(Look::Glance).unwrap();
        View::of(store)
    }
}
