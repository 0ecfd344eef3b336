//! Finding a tool by whatever a caller typed.

use std::sync::Arc;

use super::{Entry, Inner, Snapshot, not_found};
use crate::model::error::ToolError;
use crate::model::reference::{BundleRef, ToolRef};
use crate::model::text;

impl Inner {
    /// The entry a reference points at, its tool made: whoever judges a call gets its tool from here.
    pub(crate) fn find(&self, reference: &str) -> Result<Arc<Entry>, ToolError> {
        let entry = self.tools.load().find(reference)?;
        entry.make();
        Ok(entry)
    }
}

impl Snapshot {
    pub(super) fn find(&self, reference: &str) -> Result<Arc<Entry>, ToolError> {
        // Most calls come from models, which use the published name.
        if let Some(entry) = self.by_name.get(reference) {
            return Ok(Arc::clone(entry));
        }
        let parsed: ToolRef = match reference.parse() {
            Ok(parsed) => parsed,
            Err(error) => {
                let shown = text::shorten(reference, 80);
                return Err(not_found(format!(
                    "tool not found: `{shown}` is not a tool reference: {error}"
                )));
            }
        };
        self.resolve(&parsed)
            .cloned()
            .ok_or_else(|| self.near(reference))
    }

    fn resolve(&self, reference: &ToolRef) -> Option<&Arc<Entry>> {
        match reference {
            ToolRef::Name(name) => self
                .by_name
                .get(name)
                .or_else(|| self.by_name.get(self.aliases.get(name)?))
                // `read-file` is what people read in URLs; let them type it.
                .or_else(|| self.foremost(self.by_slug.get(name.as_str())?)),
            ToolRef::Slug(slug) => match self.by_slug.get(slug) {
                Some(entries) => self.foremost(entries),
                None => self.by_folded_slug(slug.as_str()),
            },
            ToolRef::InBundle {
                bundle,
                slug,
                version,
            } => {
                let wanted = |entry: &&Arc<Entry>| {
                    let of_bundle = match bundle {
                        BundleRef::Slug(wanted) => entry.head().bundle == *wanted,
                        // Bundles have ids once they are stored; none of these is.
                        BundleRef::Id(_) => false,
                    };
                    of_bundle
                        && version
                            .as_ref()
                            .is_none_or(|wanted| entry.head().version == *wanted)
                };
                let found = self.by_slug.get(slug)?.iter().rev().filter(wanted);
                found.min_by_key(|entry| self.is_shadowed(entry))
            }
            ToolRef::Id(id) => self.by_id.get(id),
        }
    }

    /// Of several tools with one slug: one that has its name, of the first source, the newest of that.
    fn foremost<'a>(&self, entries: &'a [Arc<Entry>]) -> Option<&'a Arc<Entry>> {
        let newest_first = entries.iter().rev();
        newest_first.min_by_key(|entry| (self.is_shadowed(entry), entry.source()))
    }

    /// S4 writes `+readfile`: a slug without its dashes is enough when only one tool answers to it.
    fn by_folded_slug(&self, slug: &str) -> Option<&Arc<Entry>> {
        let wanted = text::fold(slug);
        let mut found = self
            .by_name
            .values()
            .filter(|entry| text::fold(entry.head().slug.as_str()) == wanted);
        match (found.next(), found.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        }
    }

    fn near(&self, reference: &str) -> ToolError {
        let shown = text::shorten(reference, 80);
        let bare = reference.trim_start_matches('+');
        let bare = bare.rsplit_once('/').map_or(bare, |(_, slug)| slug);
        let bare = bare.split_once('@').map_or(bare, |(slug, _)| slug);
        // Suggest what is published, also when it is an alias that is near.
        let published: Vec<(&str, &str)> = self
            .by_name
            .keys()
            .map(|name| (name.as_str(), name.as_str()))
            .chain(
                self.aliases
                    .iter()
                    .map(|(alias, name)| (alias.as_str(), name.as_str())),
            )
            .collect();
        let mut near: Vec<&str> =
            text::nearest(bare, published.iter().map(|(spelling, _)| *spelling))
                .into_iter()
                .filter_map(|spelling| {
                    published
                        .iter()
                        .find(|(s, _)| *s == spelling)
                        .map(|(_, name)| *name)
                })
                .collect();
        near.dedup();
        if near.is_empty() {
            return not_found(format!("tool not found: `{shown}`"));
        }
        not_found(format!(
            "tool not found: `{shown}`; did you mean {}?",
            text::or_list(&near)
        ))
        .with_detail("near", near)
    }
}
