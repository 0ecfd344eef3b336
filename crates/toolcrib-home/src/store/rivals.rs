//! Two files that claim the same: tools with one id, bundles with one slug. Stores never write that; people who copy files do.
//!
//! The oldest has it, in each process alike; the others are damage until it is gone.

use std::collections::HashMap;

use super::catalogue::Catalogue;
use super::shelf::{BundleFile, Content, Shelf};
use crate::model::ids::{BundleId, ToolId};
use crate::model::names::Slug;

impl Catalogue {
    /// Finds out which of the tools with an id may have it: the oldest.
    pub(super) fn find_twins(&mut self, id: ToolId) {
        let Some(places) = self.ids.get(&id) else {
            return;
        };
        let winner = if places.len() == 1 {
            places.first()
        } else {
            let age = |place: &BundleFile| match self.content(place.0, &place.1) {
                Some(Content::Tool(tool)) => Some(tool.head.created_at),
                _ => None,
            };
            places.iter().min_by(|a, b| (age(a), *a).cmp(&(age(b), *b)))
        };
        let winner = winner.cloned();
        for place in places.clone() {
            let Some(shelf) = self.shelves.get_mut(&place.0) else {
                continue;
            };
            let Some(file) = shelf.files.get_mut(&place.1) else {
                continue;
            };
            let twin = winner.clone().filter(|winner| *winner != place);
            if file.twin != twin {
                // Those with a twin do not count.
                shelf.tools += usize::from(file.twin.is_some());
                shelf.tools -= usize::from(twin.is_some());
                file.twin = twin;
                self.untold.damage = true;
                if let Content::Tool(tool) = &file.content {
                    self.untold.tools.insert(tool.key.clone());
                }
                self.renew_view(place.0);
            }
        }
    }

    /// Finds out which of the bundles with a slug may have it: the oldest of those that are not in the bin.
    pub(super) fn find_clashes(&mut self) {
        let mut holders: HashMap<&Slug, (jiff::Timestamp, BundleId)> = HashMap::new();
        let live = |shelf: &'_ Shelf| shelf.flaw.is_none();
        for (&id, shelf) in self.shelves.iter().filter(|(_, shelf)| live(shelf)) {
            if let Some(bundle) = shelf.bundle().filter(|b| b.soft_deleted_at.is_none()) {
                let this = (bundle.created_at, id);
                let holder = holders.entry(&bundle.slug).or_insert(this);
                *holder = this.min(*holder);
            }
        }
        let mut changed = Vec::new();
        for (&id, shelf) in &self.shelves {
            let clash = shelf
                .bundle()
                .filter(|bundle| bundle.soft_deleted_at.is_none())
                .and_then(|bundle| holders.get(&bundle.slug))
                .map(|holder| holder.1)
                .filter(|holder| *holder != id);
            if clash != shelf.clash {
                changed.push((id, clash));
            }
        }
        for (id, clash) in changed {
            if let Some(shelf) = self.shelves.get_mut(&id) {
                shelf.clash = clash;
                self.untold.damage = true;
                self.untold.bundles.insert(id);
                self.renew_view(id);
            }
        }
    }
}
