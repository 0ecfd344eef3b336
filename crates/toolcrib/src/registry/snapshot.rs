//! The tools at one moment: [`Snapshot`], a value that is changed as a copy and swapped whole.
//!
//! One name, one tool. A program's own tools (built-in or registered) hold their names against everything. Tools from files give
//! way: of two with one name the one whose source ranks first has it, and the other is *shadowed*: listed, reported, and still
//! reached as `bundle/slug`. Invariant: `by_name` and `shadowed` hold every tool once between them; `by_slug` holds them all.

use std::sync::Arc;

use rpds::HashTrieMapSync;

use super::{Entry, RegisterError, Source};
use crate::model::ids::ToolId;
use crate::model::names::{Slug, WireName};

#[derive(Clone, Default)]
pub(super) struct Snapshot {
    pub(super) by_name: HashTrieMapSync<WireName, Arc<Entry>>,
    pub(super) aliases: HashTrieMapSync<WireName, WireName>,
    pub(super) by_slug: HashTrieMapSync<Slug, Vec<Arc<Entry>>>,
    pub(super) by_id: HashTrieMapSync<ToolId, Arc<Entry>>,
    /// Tools whose name another one has, by their number.
    pub(super) shadowed: HashTrieMapSync<u64, Arc<Entry>>,
}

impl Snapshot {
    /// Adds a tool. One that gives way is always added, if need be without its name.
    pub(super) fn insert(&mut self, entry: Arc<Entry>) -> Result<(), RegisterError> {
        let mut in_the_way = self.holders(&entry);
        if entry.source().gives_way() {
            in_the_way.extend(self.same_reference(&entry));
            if in_the_way
                .iter()
                .any(|holder| holder.source() <= entry.source())
            {
                self.add_to_slugs(&entry);
                self.shadowed.insert_mut(entry.number(), entry);
                return Ok(());
            }
        } else {
            let firm = |holder: &&Arc<Entry>| !holder.source().gives_way();
            if let Some(holder) = in_the_way.iter().find(firm) {
                let name = self.clashing_name(&entry, holder);
                return Err(RegisterError::NameTaken { name });
            }
            if let Some(same) = self.same_reference(&entry) {
                return Err(RegisterError::ReferenceTaken {
                    reference: same.head().reference(),
                });
            }
        }
        if let Some(id) = entry.id() {
            if self.by_id.contains_key(&id) {
                return Err(RegisterError::IdTaken { id });
            }
            self.by_id.insert_mut(id, Arc::clone(&entry));
        }
        for weaker in in_the_way {
            self.take_name(&weaker);
            self.shadowed.insert_mut(weaker.number(), weaker);
        }
        let spec = &entry.head();
        for alias in &spec.aliases {
            self.aliases.insert_mut(alias.clone(), spec.name.clone());
        }
        self.add_to_slugs(&entry);
        self.by_name.insert_mut(spec.name.clone(), entry);
        Ok(())
    }

    /// All tools, in no order.
    pub(super) fn all(&self) -> Vec<Arc<Entry>> {
        let all = self.by_name.values().chain(self.shadowed.values());
        all.cloned().collect()
    }

    /// Removes a tool by its name. Those it shadowed come forward.
    pub(super) fn remove(&mut self, name: &str) -> Option<Arc<Entry>> {
        let entry = Arc::clone(self.by_name.get(name)?);
        self.drop_entry(&entry);
        self.bring_forward();
        Some(entry)
    }

    /// Removes every tool of some sources. Those they shadowed come forward.
    pub(super) fn remove_sources(&mut self, sources: &[Source]) {
        let gone: Vec<Arc<Entry>> = self
            .by_name
            .values()
            .chain(self.shadowed.values())
            .filter(|entry| sources.contains(&entry.source()))
            .cloned()
            .collect();
        for entry in &gone {
            self.drop_entry(entry);
        }
        self.bring_forward();
    }

    /// Who has the name of a shadowed tool, or else its reference.
    pub(super) fn shadower(&self, shadowed: &Entry) -> Option<Arc<Entry>> {
        let holder = self.holders(shadowed).into_iter().next();
        holder.or_else(|| self.same_reference(shadowed))
    }

    pub(super) fn is_shadowed(&self, entry: &Entry) -> bool {
        self.shadowed.contains_key(&entry.number())
    }

    /// The tools that one of an entry's names finds.
    fn holders(&self, entry: &Entry) -> Vec<Arc<Entry>> {
        let mut holders: Vec<Arc<Entry>> = Vec::new();
        for name in std::iter::once(&entry.head().name).chain(&entry.head().aliases) {
            if let Some(holder) = self.holder(name)
                && !holders.iter().any(|known| Arc::ptr_eq(known, holder))
            {
                holders.push(Arc::clone(holder));
            }
        }
        holders
    }

    fn holder(&self, name: &WireName) -> Option<&Arc<Entry>> {
        self.by_name
            .get(name)
            .or_else(|| self.by_name.get(self.aliases.get(name)?))
            // `read-file` finds the built-in `read_file` too: nothing else may take it.
            .or_else(|| {
                let mut of_slug = self.by_slug.get(name.as_str())?.iter();
                of_slug.rfind(|entry| entry.source() == Source::BuiltIn)
            })
    }

    /// The name of an entry that a holder has.
    fn clashing_name(&self, entry: &Entry, holder: &Arc<Entry>) -> String {
        let names = std::iter::once(&entry.head().name).chain(&entry.head().aliases);
        let held = names.filter(|name| {
            let found = self.holder(name);
            found.is_some_and(|found| Arc::ptr_eq(found, holder))
        });
        held.map(ToString::to_string).next().unwrap_or_default()
    }

    /// The tool that has an entry's `bundle/slug@version` and its name.
    fn same_reference(&self, entry: &Entry) -> Option<Arc<Entry>> {
        let of_slug = self.by_slug.get(&entry.head().slug)?;
        of_slug
            .iter()
            .filter(|other| !self.is_shadowed(other))
            .find(|other| {
                other.head().bundle == entry.head().bundle
                    && other.head().version == entry.head().version
            })
            .cloned()
    }

    fn add_to_slugs(&mut self, entry: &Arc<Entry>) {
        let slug = &entry.head().slug;
        let mut of_slug = self.by_slug.get(slug).cloned().unwrap_or_default();
        of_slug.push(Arc::clone(entry));
        self.by_slug.insert_mut(slug.clone(), of_slug);
    }

    /// Takes a tool's names and id away.
    fn take_name(&mut self, entry: &Arc<Entry>) {
        let spec = &entry.head();
        self.by_name.remove_mut(&spec.name);
        for alias in &spec.aliases {
            self.aliases.remove_mut(alias);
        }
        if let Some(id) = entry.id() {
            self.by_id.remove_mut(&id);
        }
    }

    pub(super) fn drop_entry(&mut self, entry: &Arc<Entry>) {
        if !self.shadowed.remove_mut(&entry.number()) {
            self.take_name(entry);
        }
        let slug = &entry.head().slug;
        let of_slug = self.by_slug.get(slug).cloned().unwrap_or_default();
        let rest: Vec<Arc<Entry>> = of_slug
            .into_iter()
            .filter(|other| !Arc::ptr_eq(other, entry))
            .collect();
        if rest.is_empty() {
            self.by_slug.remove_mut(slug);
        } else {
            self.by_slug.insert_mut(slug.clone(), rest);
        }
    }

    /// Gives shadowed tools the names that have become free.
    fn bring_forward(&mut self) {
        let mut waiting: Vec<Arc<Entry>> = self.shadowed.values().cloned().collect();
        waiting.sort_by_key(|entry| (entry.source(), entry.number()));
        for entry in &waiting {
            self.drop_entry(entry);
        }
        for entry in waiting {
            // Only tools that give way are ever shadowed, and those are always added.
            let _ = self.insert(entry);
        }
    }
}
