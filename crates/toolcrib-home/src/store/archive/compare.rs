//! What one bundle has that another has not: [`compare`].
//!
//! Ids, times and what a home says about its own (whether the bundle is on, when it was imported) are not differences: two copies of one bundle
//! are the same. Whether one of its tools is on is the bundle's own word, and is compared.

use std::collections::BTreeMap;

use serde_json::Value;

use super::tool_reach::ToolReach;
use super::{Contents, IMPORTED_AT, STATE};
use crate::definition::Problem;
use crate::model::JsonObject;
use crate::model::diff;
use crate::model::names::{Slug, Version};
use crate::spec::manifest::{Bundle, ToolManifest};

/// Fields that do not count as differences.
const UNCOMPARED: [&str; 5] = ["bundleID", "toolID", "createdAt", "modifiedAt", "isBuiltIn"];
/// Those of a bundle alone.
const UNCOMPARED_OF_BUNDLES: [&str; 3] = ["isEnabled", "softDeletedAt", IMPORTED_AT];

/// What differs between two bundles, and what the tools of the new one would run and reach.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Fields of the bundle that differ; none without an old one.
    pub fields: Vec<FieldChange>,
    /// Every version of every tool of either, by slug and version.
    pub tools: Vec<ToolComparison>,
}

/// A field that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldChange {
    /// Its name.
    pub field: String,
    /// What it was; none if it was not there.
    pub old: Option<Value>,
    /// What it is; none if it is not there.
    pub new: Option<Value>,
}

/// One version of a tool in two bundles.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolComparison {
    /// The tool.
    pub slug: Slug,
    /// The version.
    pub version: Version,
    /// What becomes of it.
    pub change: ToolChange,
    /// What it runs and reaches: as of now, or as it did where it is removed.
    pub reach: ToolReach,
    /// What it reached before, where it is changed.
    pub before: Option<ToolReach>,
    /// Everything that is wrong or doubtful about it; with an error it cannot be called.
    pub problems: Vec<Problem>,
    /// The definition that `reach` is about.
    pub tool: ToolManifest,
}

/// What becomes of a tool.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolChange {
    /// The new bundle has it, the old one has not; or there is no old one.
    Added,
    /// The old bundle has it, the new one has not.
    Removed,
    /// Both have it, and it is not the same.
    Changed {
        /// The fields that differ.
        fields: Vec<FieldChange>,
        /// The differences as a unified diff of the JSON, bounded.
        diff: String,
    },
    /// Both have the same.
    Same,
}

impl Comparison {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        let same = |tool: &ToolComparison| tool.change == ToolChange::Same;
        self.fields.is_empty() && self.tools.iter().all(same)
    }
}

/// Compares a bundle with an older state of it, or with none. Problems of a definition are reported by `check`, which knows more than a
/// store.
pub fn compare(
    old: Option<&Contents>,
    new: &Contents,
    check: impl Fn(&ToolManifest) -> Vec<Problem>,
) -> Comparison {
    let mut pairs: BTreeMap<(&Slug, &Version), [Option<&ToolManifest>; 2]> = BTreeMap::new();
    for tool in old.iter().flat_map(|old| &old.tools) {
        pairs.entry((&tool.slug, &tool.version)).or_default()[0] = Some(tool);
    }
    for tool in &new.tools {
        pairs.entry((&tool.slug, &tool.version)).or_default()[1] = Some(tool);
    }
    let tools = pairs.into_values().filter_map(|pair| {
        let (tool, before, change) = match pair {
            [None, None] => return None,
            [None, Some(new)] => (new, None, ToolChange::Added),
            [Some(old), None] => (old, None, ToolChange::Removed),
            [Some(old), Some(new)] => match changed(old, new) {
                ToolChange::Same => (new, None, ToolChange::Same),
                change => (new, Some(ToolReach::of(old)), change),
            },
        };
        Some(ToolComparison {
            slug: tool.slug.clone(),
            version: tool.version.clone(),
            change,
            reach: ToolReach::of(tool),
            before,
            problems: check(tool),
            tool: tool.clone(),
        })
    });
    Comparison {
        tools: tools.collect(),
        fields: old.map_or_else(Vec::new, |old| {
            field_changes(&bundle_fields(&old.bundle), &bundle_fields(&new.bundle))
        }),
    }
}

fn changed(old: &ToolManifest, new: &ToolManifest) -> ToolChange {
    let (before, after) = (tool_fields(old), tool_fields(new));
    let fields = field_changes(&before, &after);
    if fields.is_empty() {
        return ToolChange::Same;
    }
    let text = |fields: &JsonObject| serde_json::to_string_pretty(fields).unwrap_or_default();
    let name = format!("{}@{}", new.slug, new.version);
    let diff = diff::unified(&name, &text(&before), &text(&after));
    ToolChange::Changed { fields, diff }
}

fn bundle_fields(bundle: &Bundle) -> JsonObject {
    let mut fields = object(serde_json::to_value(bundle));
    fields.retain(|name, _| !UNCOMPARED_OF_BUNDLES.contains(&name.as_str()));
    fields
}

fn tool_fields(tool: &ToolManifest) -> JsonObject {
    object(serde_json::to_value(tool))
}

fn object(value: serde_json::Result<Value>) -> JsonObject {
    let Ok(Value::Object(mut fields)) = value else {
        return JsonObject::new();
    };
    fields
        .retain(|name, _| !UNCOMPARED.contains(&name.as_str()) && !STATE.contains(&name.as_str()));
    fields
}

fn field_changes(old: &JsonObject, new: &JsonObject) -> Vec<FieldChange> {
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    let names = new.keys().chain(gone);
    names
        .filter(|name| old.get(*name) != new.get(*name))
        .map(|name| FieldChange {
            field: name.clone(),
            old: old.get(name).cloned(),
            new: new.get(name).cloned(),
        })
        .collect()
}
