//! A map in memory that does what a store should: [`Model`].

use std::collections::{BTreeMap, BTreeSet};

use toolcrib::store::{BundleDraft, ToolKey};
use toolcrib::{Bundle, BundleId, ErrorCode, ToolManifest};

use super::bin::Clock;
use super::key;
use super::view::View;

/// What there should be.
#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    pub(super) bundles: BTreeMap<BundleId, Bundle>,
    pub(super) tools: BTreeMap<ToolKey, ToolManifest>,
}

pub(super) type Expected = Result<(), ErrorCode>;

impl Model {
    pub(super) fn holder_of(&self, name: &str, except: BundleId) -> bool {
        let mut others = self.bundles.values();
        others.any(|other| {
            other.bundle_id != except
                && other.soft_deleted_at.is_none()
                && other.slug.as_str() == name
        })
    }

    pub(super) fn bundle(&mut self, id: BundleId) -> Result<&mut Bundle, ErrorCode> {
        self.bundles.get_mut(&id).ok_or(ErrorCode::BundleNotFound)
    }

    /// Whether something in a bundle can be changed.
    pub(super) fn writable(&mut self, id: BundleId) -> Expected {
        let bundle = self.bundle(id)?;
        if bundle.soft_deleted_at.is_some() || !bundle.is_enabled {
            return Err(ErrorCode::Conflict);
        }
        Ok(())
    }

    pub(super) fn tool(&mut self, key: &ToolKey) -> Result<&mut ToolManifest, ErrorCode> {
        self.bundle(key.bundle)?;
        self.tools.get_mut(key).ok_or(ErrorCode::ToolNotFound)
    }

    pub(super) fn put_bundle(
        &mut self,
        id: BundleId,
        draft: &BundleDraft,
        clock: &Clock,
    ) -> Result<bool, ErrorCode> {
        if draft.slug.as_str() == "core" {
            return Err(ErrorCode::ReadOnly);
        }
        let is_binned = |bundle: &Bundle| bundle.soft_deleted_at.is_some();
        if self.bundles.get(&id).is_some_and(is_binned) || self.holder_of(draft.slug.as_str(), id) {
            return Err(ErrorCode::Conflict);
        }
        let Some(old) = self.bundles.get_mut(&id) else {
            let new = bundle_of(id, draft, clock);
            self.bundles.insert(id, new);
            return Ok(true);
        };
        let is_other = (&old.slug, &old.display_name, &old.description)
            != (&draft.slug, &draft.display_name, &draft.description);
        if is_other {
            old.modified_at = clock.now().max(old.modified_at);
        }
        (old.slug, old.is_enabled) = (draft.slug.clone(), draft.is_enabled);
        old.display_name.clone_from(&draft.display_name);
        old.description.clone_from(&draft.description);
        Ok(false)
    }

    pub(super) fn view(&self) -> View {
        let bundles = self.bundles.iter();
        let tools = self.tools.iter();
        View {
            bundles: bundles
                .map(|(id, bundle)| (id.to_string(), serde_json::to_value(bundle).unwrap()))
                .collect(),
            tools: tools
                .map(|(key, tool)| (name_of(key), serde_json::to_value(tool).unwrap()))
                .collect(),
            damage: BTreeSet::new(),
        }
    }
}

/// When a version was modified that is replaced now. Switching is not a structural change.
pub(super) fn modified(new: &ToolManifest, old: &ToolManifest, clock: &Clock) -> jiff::Timestamp {
    let mut same = old.clone();
    (same.is_enabled, same.modified_at) = (new.is_enabled, new.modified_at);
    match same == *new {
        true => old.modified_at,
        false => clock.now().max(old.modified_at),
    }
}

pub(super) fn name_of(key: &ToolKey) -> String {
    format!("{}/{}@{}", key.bundle, key.slug, key.version)
}

pub(super) fn bundle_of(id: BundleId, draft: &BundleDraft, clock: &Clock) -> Bundle {
    serde_json::from_value(serde_json::json!({
        "schemaVersion": "1", "bundleID": id, "slug": draft.slug, "displayName": draft.display_name,
        "description": draft.description, "isEnabled": draft.is_enabled, "isBuiltIn": false,
        "createdAt": clock.now(), "modifiedAt": clock.now()
    }))
    .unwrap()
}

impl Model {
    pub(super) fn install(
        &mut self,
        mut new: Bundle,
        tools: Vec<ToolManifest>,
        is_new: bool,
        clock: &Clock,
    ) -> Expected {
        let id = new.bundle_id;
        if is_new && self.bundles.contains_key(&id) || self.holder_of(new.slug.as_str(), id) {
            return Err(ErrorCode::Conflict);
        }
        if let Some(old) = self.bundles.get(&id) {
            if old.soft_deleted_at.is_some() {
                return Err(ErrorCode::Conflict);
            }
            new.created_at = old.created_at;
            new.modified_at = clock.now().max(old.modified_at);
        }
        let old: BTreeMap<ToolKey, ToolManifest> = std::mem::take(&mut self.tools);
        self.tools = old
            .iter()
            .filter(|(key, _)| key.bundle != id)
            .map(|(key, tool)| (key.clone(), tool.clone()))
            .collect();
        for mut tool in tools {
            let key = key(id, tool.slug.as_str(), tool.version.as_str());
            (tool.created_at, tool.modified_at) = (clock.now(), clock.now());
            if let Some(old) = old.get(&key) {
                (tool.tool_id, tool.created_at) = (old.tool_id, old.created_at);
                tool.modified_at = modified(&tool, old, clock);
            }
            self.tools.insert(key, tool);
        }
        self.bundles.insert(id, new);
        Ok(())
    }
}
