//! Finding a tool by whatever a caller typed.

use std::sync::Arc;

use super::group::Group;
use super::snapshot::folded_hash;
use super::{Entry, Inner, Snapshot, not_found};
use crate::model::error::ToolError;
use crate::model::ids::ToolId;
use crate::model::reference::{BundleRef, ToolRef, ToolRefError};
use crate::model::text;

impl Inner {
    /// The entry a reference points at, its tool made: the pipeline gets the tool of a call from here.
    pub(crate) fn find(&self, reference: &str) -> Result<Arc<Entry>, ToolError> {
        let tools = self.tools.load();
        let entry = tools
            .find(reference)
            .map_err(|error| self.why_absent(&tools, reference, error))?;
        entry.make();
        Ok(entry)
    }

    /// Like [`find`](Self::find), but without a reason when there is no such tool, which makes it as cheap as a lookup.
    pub(crate) fn look_up(&self, reference: &str) -> Option<Arc<Entry>> {
        let tools = self.tools.load();
        let entry = tools.look_up(reference).ok().flatten().cloned()?;
        entry.make();
        Some(entry)
    }

    /// Adds to an error why the tool is not there, if the keeper of the tools knows.
    fn why_absent(&self, tools: &Snapshot, reference: &str, error: ToolError) -> ToolError {
        let (Some(follower), Ok(parsed)) = (self.follower.get(), reference.parse::<ToolRef>())
        else {
            return error;
        };
        let is_of_bundle = |entry: &Arc<Entry>| match &parsed {
            ToolRef::InBundle { bundle, .. } => match bundle {
                BundleRef::Slug(wanted) => entry.head().bundle == *wanted,
                BundleRef::Id(wanted) => entry.bundle_id() == Some(*wanted),
            },
            ToolRef::Name(_) | ToolRef::Slug(_) | ToolRef::Id(_) => false,
        };
        let bundle_has_tools = tools.all().any(is_of_bundle);
        let Some(why) = follower.why_absent(&parsed, bundle_has_tools) else {
            return error;
        };
        let shown = text::shorten(reference, 80);
        not_found(format!("tool not found: `{shown}`: {why}")).with_detail("reason", why)
    }
}

impl Snapshot {
    /// The entry a reference points at; the error suggests near names. Makes nothing.
    pub(super) fn find(&self, reference: &str) -> Result<Arc<Entry>, ToolError> {
        let found = self.look_up(reference).map_err(|error| {
            let shown = text::shorten(reference, 80);
            // What a list shows is the name for models; a reference has the slug.
            let meant = reference.replace('_', "-");
            if meant != reference && matches!(self.look_up(&meant), Ok(Some(_))) {
                let message = format!(
                    "tool not found: `{shown}`; did you mean `{}`?",
                    text::shorten(&meant, 80)
                );
                return not_found(message).with_detail("near", [meant]);
            }
            not_found(format!(
                "tool not found: `{shown}` is not a tool reference: {error}"
            ))
        })?;
        found.cloned().ok_or_else(|| self.near(reference))
    }

    /// The entry a reference points at, if there is one.
    pub(super) fn look_up(&self, reference: &str) -> Result<Option<&Arc<Entry>>, ToolRefError> {
        // An id means exactly one tool, whatever others are called.
        if let Ok(id) = ToolId::parse(reference) {
            return Ok(self.resolve(&ToolRef::Id(id)));
        }
        // Most calls come from models, which use the published name.
        if let Some(entry) = self.names.get(reference) {
            return Ok(Some(entry));
        }
        Ok(self.resolve(&reference.parse()?))
    }

    fn resolve(&self, reference: &ToolRef) -> Option<&Arc<Entry>> {
        match reference {
            ToolRef::Name(name) => self
                .names
                .get(name)
                // `read-file` is what people read in URLs; let them type it.
                .or_else(|| self.foremost(self.by_slug.get(name.as_str())?)),
            ToolRef::Slug(slug) => match self.by_slug.get(slug) {
                Some(group) => self.foremost(group),
                None => self.by_folded_slug(slug.as_str()),
            },
            ToolRef::InBundle {
                bundle: BundleRef::Slug(bundle),
                slug,
                version: Some(version),
            } => self.with_reference((bundle.clone(), slug.clone(), version.clone())),
            ToolRef::InBundle {
                bundle,
                slug,
                version,
            } => {
                let is_wanted = |entry: &&Arc<Entry>| {
                    let of_bundle = match bundle {
                        BundleRef::Slug(wanted) => entry.head().bundle == *wanted,
                        BundleRef::Id(wanted) => entry.bundle_id() == Some(*wanted),
                    };
                    let version = version.as_ref();
                    of_bundle && version.is_none_or(|wanted| entry.head().version == *wanted)
                };
                self.by_slug.get(slug)?.iter().find(is_wanted)
            }
            ToolRef::Id(id) => self.by_id.get(id)?.iter().next(),
        }
    }

    /// Of several tools with one slug: the first by rank that has its name, or else the first.
    fn foremost<'a>(&self, group: &'a Group) -> Option<&'a Arc<Entry>> {
        let mut named = group.iter().filter(|entry| !self.is_shadowed(entry));
        named.next().or_else(|| group.iter().next())
    }

    /// S4 writes `+readfile`: a slug without its dashes is enough when only one tool answers to it.
    fn by_folded_slug(&self, slug: &str) -> Option<&Arc<Entry>> {
        let wanted = text::fold(slug);
        let group = self.by_folded_slug.get(&folded_hash(&wanted))?;
        let mut found = group.iter().filter(|entry| {
            !self.is_shadowed(entry) && text::fold(entry.head().slug.as_str()) == wanted
        });
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
            .published()
            .flat_map(|entry| {
                let head = entry.head();
                let spellings = std::iter::once(&head.name).chain(&head.aliases);
                spellings.map(|spelling| (spelling.as_str(), head.name.as_str()))
            })
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
