//! The tools at one moment: [`Snapshot`], a value that is changed as a copy and swapped whole.
//!
//! One name, one tool. A program's own tools (built-in or registered) hold their names against everything. All others give way: they are
//! ranked ([`Entry::rank`]), and going by rank each gets its names if all of them are free. One that does not is *shadowed*: listed,
//! reported, and still reached as `bundle/slug@version`.
//!
//! The invariant: who has which name depends on nothing but which tools there are, never on the order in which they came. A change
//! costs by what it changes: only tools that wait for a name which became free, or lose theirs to one that comes, are looked at.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, LazyLock};

use rpds::HashTrieMapSync;

use super::group::{Group, Ranked};
use super::{Entry, RegisterError, Source};
use crate::model::ids::{BundleId, ToolId};
use crate::model::names::{Slug, Version, WireName};
use crate::model::text;
use crate::spec::ToolSpec;

/// Tools by their number.
type Numbered = HashTrieMapSync<u64, Arc<Entry>>;

/// What only one tool can have.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Claim {
    /// A name for models, or another that finds the tool.
    Name(WireName),
    /// `bundle/slug@version`.
    Reference(Reference),
}

type Reference = (Slug, Slug, Version);

/// Tools that have no names and may get some, to be looked at by rank: when it is one's turn, all before it are settled.
type Open = BinaryHeap<Reverse<Ranked>>;

#[derive(Clone, Default)]
pub(super) struct Snapshot {
    /// The tool that has a name: a wire name, an alias or the slug of a built-in tool.
    pub(super) names: HashTrieMapSync<WireName, Arc<Entry>>,
    /// The tool that has a `bundle/slug@version`.
    references: HashTrieMapSync<Reference, Arc<Entry>>,
    /// Tools without names, by what they wait for.
    waiting: HashTrieMapSync<Claim, Group>,
    /// The tools that wait for a name, once each.
    pub(super) shadowed: Numbered,
    /// All tools, in several ways.
    pub(super) by_slug: HashTrieMapSync<Slug, Group>,
    pub(super) by_id: HashTrieMapSync<ToolId, Group>,
    /// By the hash of the slug without dashes: no text is kept for what hardly anybody asks.
    pub(super) by_folded_slug: HashTrieMapSync<u64, Group>,
    by_source: [Numbered; Source::ALL.len()],
    by_bundle: HashTrieMapSync<BundleId, Numbered>,
}

impl Snapshot {
    /// Adds a tool. One that gives way is always added, if need be without its name; others may clash.
    pub(super) fn insert(&mut self, entry: Arc<Entry>) -> Result<(), RegisterError> {
        if !entry.source().gives_way() {
            self.check_clash(&entry)?;
        }
        self.change(&[], &[entry]);
        Ok(())
    }

    /// Takes tools out and puts others in. Returns those that were there and are gone now.
    pub(super) fn change(&mut self, gone: &[Arc<Entry>], come: &[Arc<Entry>]) -> Vec<Arc<Entry>> {
        let mut open = Open::new();
        let gone: Vec<Arc<Entry>> = gone
            .iter()
            .filter(|entry| self.forget(entry))
            .cloned()
            .collect();
        // First those that only wait, so that none of them is next when a name becomes free.
        let (waiting, holding): (Vec<_>, Vec<_>) =
            gone.iter().partition(|entry| self.is_shadowed(entry));
        for entry in waiting.into_iter().chain(holding) {
            self.withdraw(entry, &mut open);
        }
        for entry in come {
            if self.learn(entry) {
                open.push(Reverse(Ranked(Arc::clone(entry))));
            }
        }
        let mut last = None;
        while let Some(Reverse(Ranked(entry))) = open.pop() {
            // Several names that became free may have called it.
            if last.replace(entry.number()) != Some(entry.number()) {
                self.settle(&entry, &mut open);
            }
        }
        gone
    }

    /// The tool that has a name as its own.
    pub(super) fn named(&self, name: &str) -> Option<&Arc<Entry>> {
        let holder = self.names.get(name)?;
        (holder.head().name.as_str() == name).then_some(holder)
    }

    /// All tools of some sources, in no order.
    pub(super) fn of_sources(&self, sources: &[Source]) -> Vec<Arc<Entry>> {
        let numbered = sources
            .iter()
            .map(|source| &self.by_source[*source as usize]);
        numbered.flat_map(Numbered::values).cloned().collect()
    }

    /// All tools of a bundle, in no order.
    pub(super) fn of_bundle(&self, bundle: BundleId) -> Vec<Arc<Entry>> {
        let of_bundle = self.by_bundle.get(&bundle);
        let entries = of_bundle.into_iter().flat_map(Numbered::values);
        entries.cloned().collect()
    }

    /// All tools, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.by_source.iter().flat_map(Numbered::values)
    }

    /// The tools that have their names, in no order.
    pub(super) fn published(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.all().filter(|entry| !self.is_shadowed(entry))
    }

    pub(super) fn is_shadowed(&self, entry: &Entry) -> bool {
        self.shadowed.contains_key(&entry.number())
    }

    /// The tool that has a name of a shadowed tool, or else its reference.
    pub(super) fn shadower(&self, shadowed: &Entry) -> Option<Arc<Entry>> {
        let claims = claims(shadowed);
        let mut holders = claims.iter().filter_map(|claim| self.holder(claim));
        // Of its names it may wait for some that a later tool has; that one is not in its way.
        holders
            .find(|holder| holder.rank(shadowed).is_lt())
            .cloned()
    }

    /// The tools with one `bundle/slug@version`, the one that has its names first.
    pub(super) fn with_reference(&self, reference: Reference) -> Option<&Arc<Entry>> {
        let holder = self.references.get(&reference);
        let behind = || {
            self.waiting
                .get(&Claim::Reference(reference))?
                .iter()
                .next()
        };
        holder.or_else(behind)
    }

    /// Why a tool that gives way to none cannot be added.
    fn check_clash(&self, entry: &Entry) -> Result<(), RegisterError> {
        let is_firm = |holder: &&Arc<Entry>| !holder.source().gives_way();
        let firm = |claim: &Claim| self.holder(claim).filter(is_firm).is_some();
        match claims(entry).into_iter().find(firm) {
            Some(Claim::Name(name)) => {
                let name = name.to_string();
                return Err(RegisterError::NameTaken { name });
            }
            Some(Claim::Reference(_)) => {
                let reference = entry.head().reference();
                return Err(RegisterError::ReferenceTaken { reference });
            }
            None => {}
        }
        let of_id = |id| self.by_id.get(&id).into_iter().flat_map(Group::iter);
        match entry
            .id()
            .filter(|id| of_id(*id).any(|entry| is_firm(&entry)))
        {
            Some(id) => Err(RegisterError::IdTaken { id }),
            None => Ok(()),
        }
    }

    fn holder(&self, claim: &Claim) -> Option<&Arc<Entry>> {
        match claim {
            Claim::Name(name) => self.names.get(name),
            Claim::Reference(reference) => self.references.get(reference),
        }
    }

    /// Adds a tool to what says which tools there are; false if it is there already.
    fn learn(&mut self, entry: &Arc<Entry>) -> bool {
        let of_source = &mut self.by_source[entry.source() as usize];
        if of_source.contains_key(&entry.number()) {
            return false;
        }
        of_source.insert_mut(entry.number(), Arc::clone(entry));
        join(&mut self.by_slug, &entry.head().slug, entry);
        join(&mut self.by_folded_slug, &folded(entry), entry);
        if let Some(id) = entry.id() {
            join(&mut self.by_id, &id, entry);
        }
        if let Some(bundle) = entry.bundle_id() {
            if self.by_bundle.get(&bundle).is_none() {
                self.by_bundle.insert_mut(bundle, Numbered::default());
            }
            if let Some(of_bundle) = self.by_bundle.get_mut(&bundle) {
                of_bundle.insert_mut(entry.number(), Arc::clone(entry));
            }
        }
        true
    }

    /// Takes a tool out of what says which tools there are; false if it is not there.
    fn forget(&mut self, entry: &Arc<Entry>) -> bool {
        if !self.by_source[entry.source() as usize].remove_mut(&entry.number()) {
            return false;
        }
        part(&mut self.by_slug, &entry.head().slug, entry);
        part(&mut self.by_folded_slug, &folded(entry), entry);
        if let Some(id) = entry.id() {
            part(&mut self.by_id, &id, entry);
        }
        if let Some(bundle) = entry.bundle_id()
            && let Some(of_bundle) = self.by_bundle.get_mut(&bundle)
        {
            of_bundle.remove_mut(&entry.number());
            if of_bundle.is_empty() {
                self.by_bundle.remove_mut(&bundle);
            }
        }
        true
    }

    /// Takes away what a tool has or waits for.
    fn withdraw(&mut self, entry: &Arc<Entry>, open: &mut Open) {
        if self.shadowed.remove_mut(&entry.number()) {
            for claim in claims(entry) {
                part(&mut self.waiting, &claim, entry);
            }
            return;
        }
        for claim in claims(entry) {
            self.release(&claim, entry, open);
        }
    }

    /// Lets the next tool have what one had.
    fn release(&mut self, claim: &Claim, holder: &Arc<Entry>, open: &mut Open) {
        match claim {
            Claim::Name(name) => self.names.remove_mut(name),
            Claim::Reference(reference) => self.references.remove_mut(reference),
        };
        self.call_next(claim, holder, open);
    }

    /// Has the next tool looked at that waits for something.
    fn call_next(&self, claim: &Claim, after: &Arc<Entry>, open: &mut Open) {
        // Those before it wait because of something else that they lack.
        let waiting = self.waiting.get(claim);
        if let Some(next) = waiting.and_then(|waiting| waiting.after(after)) {
            open.push(Reverse(Ranked(Arc::clone(next))));
        }
    }

    /// Gives a tool its names, if no tool before it has one of them.
    fn settle(&mut self, entry: &Arc<Entry>, open: &mut Open) {
        let claims = claims(entry);
        let holders = claims.iter().filter_map(|claim| self.holder(claim));
        let mut later: Vec<Arc<Entry>> = Vec::new();
        let mut is_blocked = false;
        for holder in holders {
            if holder.rank(entry).is_lt() {
                is_blocked = true;
            } else if !later.iter().any(|known| Arc::ptr_eq(known, holder)) {
                later.push(Arc::clone(holder));
            }
        }
        let waits = self.is_shadowed(entry);
        if is_blocked {
            if !waits {
                self.shadow(entry, &claims);
            }
            // Of what no one has now, someone behind it may make use.
            for claim in claims.iter().filter(|claim| self.holder(claim).is_none()) {
                self.call_next(claim, entry, open);
            }
            return;
        }
        if waits {
            self.shadowed.remove_mut(&entry.number());
            for claim in &claims {
                part(&mut self.waiting, claim, entry);
            }
        }
        for weaker in &later {
            let lost = self::claims(weaker);
            for claim in &lost {
                self.release(claim, weaker, open);
            }
            self.shadow(weaker, &lost);
        }
        for claim in claims {
            match claim {
                Claim::Name(name) => self.names.insert_mut(name, Arc::clone(entry)),
                Claim::Reference(reference) => {
                    self.references.insert_mut(reference, Arc::clone(entry));
                }
            }
        }
    }

    /// Whether nothing is left in it at all.
    #[cfg(test)]
    pub(super) fn is_blank(&self) -> bool {
        let shadowed = self.shadowed.is_empty() && self.waiting.is_empty();
        let named = self.names.is_empty() && self.references.is_empty();
        let by_slug = self.by_slug.is_empty() && self.by_folded_slug.is_empty();
        let listed = by_slug && self.by_id.is_empty();
        let sources = self.by_source.iter().all(Numbered::is_empty);
        shadowed && named && listed && sources && self.by_bundle.is_empty()
    }

    fn shadow(&mut self, entry: &Arc<Entry>, claims: &[Claim]) {
        self.shadowed.insert_mut(entry.number(), Arc::clone(entry));
        for claim in claims {
            join(&mut self.waiting, claim, entry);
        }
    }
}

/// The hash of a slug that has been folded. A lookup by it compares the slugs, too.
pub(super) fn folded_hash(slug: &str) -> u64 {
    // One for all snapshots of the process, and none that others could know: a thousand slugs of one hash cannot be made up.
    static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    HASHER.hash_one(slug)
}

fn folded(entry: &Entry) -> u64 {
    folded_hash(&text::fold(entry.head().slug.as_str()))
}

/// What a tool must have to have its name.
fn claims(entry: &Entry) -> Vec<Claim> {
    let head: &ToolSpec = entry.head();
    let mut claims = Vec::with_capacity(2 + head.aliases.len());
    claims.push(Claim::Name(head.name.clone()));
    let mut claim = |name: WireName| {
        let claim = Claim::Name(name);
        if !claims.contains(&claim) {
            claims.push(claim);
        }
    };
    head.aliases.iter().cloned().for_each(&mut claim);
    // `read-file` finds the built-in `read_file` too: nothing else may take it.
    if entry.source() == Source::BuiltIn
        && let Ok(slug) = WireName::parse(head.slug.as_str())
    {
        claim(slug);
    }
    let reference = (head.bundle.clone(), head.slug.clone(), head.version.clone());
    claims.push(Claim::Reference(reference));
    claims
}

fn join<K: Clone + Eq + std::hash::Hash>(
    groups: &mut HashTrieMapSync<K, Group>,
    key: &K,
    entry: &Arc<Entry>,
) {
    if groups.contains_key(key) {
        if let Some(group) = groups.get_mut(key) {
            group.insert(Arc::clone(entry));
        }
    } else {
        groups.insert_mut(key.clone(), Group::One(Arc::clone(entry)));
    }
}

fn part<K: Clone + Eq + std::hash::Hash>(
    groups: &mut HashTrieMapSync<K, Group>,
    key: &K,
    entry: &Arc<Entry>,
) {
    let is_last = groups.get_mut(key).is_some_and(|group| group.remove(entry));
    if is_last {
        groups.remove_mut(key);
    }
}
