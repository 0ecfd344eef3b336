//! The owner of a name that several tools want: [`Contest`], for the person who is asked whether tools may be added.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;

use super::Crib;
use crate::model::ids::BundleId;
use crate::model::names::{Slug, Version, WireName};
use crate::registry::Source;
use crate::spec::manifest::Bundle;
use crate::store::archive::IMPORTED_AT;

/// A tool that is about to be on offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its slug.
    pub slug: Slug,
    /// Its version.
    pub version: Version,
    /// The name for models, when it is not derived from the slug.
    pub name: Option<WireName>,
    /// When it was last changed; none for now.
    pub modified: Option<Timestamp>,
}

/// A name that a tool which is about to be on offer wants, and that another has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contest {
    /// The name.
    pub name: WireName,
    /// The one that comes: `bundle/slug@version`.
    pub tool: String,
    /// The one that has the name now.
    pub holder: String,
    /// Whether the one that comes would have it from then on.
    pub is_taken: bool,
}

impl Crib {
    /// Which names of tools of a bundle of the store others have, and who would have them once these tools are on; by name. Of several
    /// versions of one tool, the newest counts.
    pub fn contests(
        &self,
        bundle: &Bundle,
        candidates: impl IntoIterator<Item = Candidate>,
    ) -> Vec<Contest> {
        let mut foremost: BTreeMap<WireName, Candidate> = BTreeMap::new();
        let age = |one: &Candidate| (one.modified.is_some(), Reverse(one.modified));
        for candidate in candidates {
            let name = candidate.name.clone();
            let name = name.unwrap_or_else(|| WireName::derive(&candidate.slug));
            let is_first = |other: &Candidate| age(&candidate) < age(other);
            if foremost.get(&name).is_none_or(is_first) {
                foremost.insert(name, candidate);
            }
        }
        let imported = bundle.extra.contains_key(IMPORTED_AT);
        let contests = foremost.into_iter().filter_map(|(name, candidate)| {
            let holder = self.registry.holder(name.as_str())?;
            if holder.bundle_id() == Some(bundle.bundle_id) {
                return None;
            }
            let coming = (imported, age(&candidate));
            let is_taken = holder.source() == Source::Store
                && (holder.is_off_in_store()
                    || coming
                        < (
                            holder.is_imported(),
                            (holder.modified().is_some(), Reverse(holder.modified())),
                        ));
            Some(Contest {
                name,
                tool: format!("{}/{}@{}", bundle.slug, candidate.slug, candidate.version),
                holder: holder.head().reference(),
                is_taken,
            })
        });
        contests.collect()
    }

    /// The enabled tool that has a name now: `bundle/slug@version`.
    pub fn name_holder(&self, name: &WireName) -> Option<String> {
        let holder = self.registry.holder(name.as_str())?;
        (!holder.is_off()).then(|| holder.head().reference())
    }

    /// The enabled tools that have the names of a bundle's tools now, by name: `bundle/slug@version`.
    pub fn holders(&self, bundle: BundleId) -> BTreeMap<WireName, String> {
        let tools = self.store.tools(bundle);
        let names = tools.iter().map(|tool| {
            let name = tool.head.name.clone();
            name.unwrap_or_else(|| WireName::derive(&tool.key.slug))
        });
        let held = names.filter_map(|name| {
            let holder = self.name_holder(&name)?;
            Some((name, holder))
        });
        held.collect()
    }
}
