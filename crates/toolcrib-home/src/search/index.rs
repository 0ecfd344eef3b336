//! The index: [`Index`], a few segments and which of their documents are dead.
//!
//! What there is at one moment is a [`State`] behind an atomic pointer: who searches never waits. Writers take turns. A change makes its own segment and
//! marks what it replaces as dead; segments are merged so that there are few of them, tiny ones at once, larger ones by a thread that lives as long as there
//! is something to merge. Invariant: every document that was put in and not taken out is alive in exactly one part.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;

use super::bits::Bits;
use super::classes::{Matches, Prepared};
use super::merge::{self, Size};
use super::position::Position;
use super::rank::TieBreak;
use super::segment::Segment;
use super::words::Query;
use super::{Class, Document, Hit, Page};

/// Parts with fewer documents than this are merged by the next change; that takes less time than a change may.
const TINY: usize = 16;
/// Parts with more words than this are not tiny however few their documents.
const TINY_WORDS: usize = 1024;

/// An index of documents. Cloning shares it.
#[derive(Clone, Default)]
pub struct Index(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: ArcSwap<State>,
    writer: Mutex<Writer>,
}

#[derive(Default)]
struct State {
    parts: Vec<Part>,
}

#[derive(Clone)]
struct Part {
    segment: Arc<Segment>,
    dead: Option<Arc<Bits>>,
    alive: usize,
}

/// What only who changes the index knows.
#[derive(Default)]
struct Writer {
    /// What a thread is merging.
    merging: Vec<Part>,
}

impl Index {
    /// Takes documents out and puts others in; one that is put in with a known id replaces the old one. Of two that are put in with one id the last counts.
    pub fn apply(&self, gone: &[u64], come: Vec<Document>) {
        let segment = segment_of(come);
        let come = segment.iter().flat_map(|segment| {
            let documents = 0..segment.len() as u32;
            documents.map(|document| segment.rows.id(document))
        });
        let mut writer = self.0.write();
        let mut parts = self.0.state.load().parts.clone();
        let gone: Vec<u64> = gone.iter().copied().chain(come).collect();
        for part in &mut parts {
            part.bury(&gone);
        }
        parts.extend(segment.map(Part::new));
        parts.retain(|part| part.alive > 0);
        merge_tiny(&mut parts, &writer.merging);
        self.0.state.store(Arc::new(State { parts }));
        self.0.merge_soon(&mut writer);
    }

    /// The best hits after `after` that `is_wanted`, at most `limit` and at least one. An empty query finds everything, newest first.
    pub fn search(
        &self,
        query: &str,
        after: Option<&Position>,
        limit: usize,
        mut is_wanted: impl FnMut(u64) -> bool,
    ) -> Page {
        let state = self.0.state.load_full();
        let query = Query::of(query);
        let prepared = Prepared::new(&query);
        let limit = limit.max(1);
        let mut page = Page::default();
        let mut last: Option<(Class, TieBreak<'_>)> = None;
        let mut matches: Vec<Matches<'_>> = state
            .parts
            .iter()
            .map(|part| Matches::new(&part.segment, part.dead.as_deref(), &prepared))
            .collect();
        for class in Class::ALL {
            let found: Vec<Bits> = matches
                .iter_mut()
                .map(|part| part.of_class(class))
                .collect();
            let begin = match after {
                Some(after) if after.class > class => continue,
                Some(after) if after.class == class => Some(after.place()),
                _ => None,
            };
            let mut hits = Merged::new(&state.parts, &found, begin);
            while let Some(place) = hits.next() {
                if !is_wanted(place.id) {
                    continue;
                }
                if page.hits.len() == limit {
                    page.next = last.map(|(class, place)| Position::new(&query, class, &place));
                    return page;
                }
                page.hits.push(Hit {
                    id: place.id,
                    class,
                });
                last = Some((class, place));
            }
        }
        page
    }

    /// How many documents there are.
    pub fn len(&self) -> usize {
        let state = self.0.state.load();
        state.parts.iter().map(|part| part.alive).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How much there is, for those who measure.
    pub fn size(&self) -> IndexSize {
        let state = self.0.state.load();
        IndexSize {
            segments: state.parts.len(),
            bytes: state.parts.iter().map(|part| part.segment.bytes()).sum(),
            is_merging: !self.0.write().merging.is_empty(),
        }
    }
}

/// How much of an [`Index`] there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexSize {
    /// The segments.
    pub segments: usize,
    /// The memory that they take, about.
    pub bytes: usize,
    /// Whether some of them are being merged.
    pub is_merging: bool,
}

/// The documents of some parts in the order of their places.
struct Merged<'a, 'f> {
    parts: &'a [Part],
    found: &'f [Bits],
    heads: BinaryHeap<Reverse<(TieBreak<'a>, usize, u32)>>,
}

impl<'a, 'f> Merged<'a, 'f> {
    /// Those that are found, from after `begin` on.
    fn new(parts: &'a [Part], found: &'f [Bits], begin: Option<TieBreak<'_>>) -> Self {
        let mut merged = Merged {
            parts,
            found,
            heads: BinaryHeap::new(),
        };
        for (at, part) in parts.iter().enumerate() {
            let from = begin.map_or(0, |place| part.segment.first_after(&place));
            merged.push(at, from);
        }
        merged
    }

    fn push(&mut self, at: usize, from: u32) {
        if let Some(document) = self.found[at].next(from) {
            let place = self.parts[at].segment.rows.place(document);
            self.heads.push(Reverse((place, at, document)));
        }
    }

    fn next(&mut self) -> Option<TieBreak<'a>> {
        let Reverse((place, at, document)) = self.heads.pop()?;
        self.push(at, document + 1);
        Some(place)
    }
}

/// A segment of documents, of those with one id the last; none if there are none.
fn segment_of(mut documents: Vec<Document>) -> Option<Segment> {
    if documents.len() > 1 {
        let numbered = documents.iter().enumerate();
        let last: HashMap<u64, usize> = numbered.map(|(at, document)| (document.id, at)).collect();
        let mut at = 0;
        documents.retain(|document| {
            at += 1;
            last.get(&document.id) == Some(&(at - 1))
        });
    }
    (!documents.is_empty()).then(|| Segment::of(&documents))
}

/// Merges tiny parts that are due, except for those that someone merges already.
fn merge_tiny(parts: &mut Vec<Part>, merging: &[Part]) {
    loop {
        let tiny: Vec<usize> = (0..parts.len())
            .filter(|at| parts[*at].is_tiny() && !parts[*at].is_among(merging))
            .collect();
        let sizes: Vec<Size> = tiny.iter().map(|at| parts[*at].size()).collect();
        let Some(due) = merge::due(&sizes) else {
            return;
        };
        let due: Vec<usize> = due.into_iter().map(|at| tiny[at]).collect();
        let sources: Vec<Part> = due.iter().map(|at| parts[*at].clone()).collect();
        parts.retain(|part| !part.is_among(&sources));
        parts.push(merged(&sources));
    }
}

fn merged(sources: &[Part]) -> Part {
    let parts: Vec<_> = sources
        .iter()
        .map(|part| (&*part.segment, part.dead.as_deref()))
        .collect();
    Part::new(merge::merge(&parts))
}

impl Part {
    fn new(segment: Segment) -> Self {
        Part {
            alive: segment.len(),
            segment: Arc::new(segment),
            dead: None,
        }
    }

    fn size(&self) -> Size {
        Size {
            all: self.segment.len(),
            alive: self.alive,
        }
    }

    fn is_tiny(&self) -> bool {
        self.segment.len() < TINY && self.segment.fields.words.len() < TINY_WORDS
    }

    fn is_among(&self, parts: &[Part]) -> bool {
        parts
            .iter()
            .any(|part| Arc::ptr_eq(&part.segment, &self.segment))
    }

    fn is_dead(&self, document: u32) -> bool {
        self.dead
            .as_ref()
            .is_some_and(|dead| dead.contains(document))
    }

    /// Marks documents as dead.
    fn bury(&mut self, ids: &[u64]) {
        for id in ids {
            if let Some(document) = self.segment.find(*id)
                && !self.is_dead(document)
            {
                let dead = self
                    .dead
                    .get_or_insert_with(|| Arc::new(Bits::none(self.segment.len())));
                // The first one copies what searches may be looking at.
                Arc::make_mut(dead).insert(document);
                self.alive -= 1;
            }
        }
    }
}

impl Inner {
    fn write(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a thread merge what is due, if none is at it.
    fn merge_soon(self: &Arc<Self>, writer: &mut Writer) {
        if !writer.merging.is_empty() {
            return;
        }
        writer.merging = self.due();
        if writer.merging.is_empty() {
            return;
        }
        let inner = Arc::clone(self);
        let sources = writer.merging.clone();
        let merging = move || {
            let mut sources = sources;
            while !sources.is_empty() {
                sources = inner.merge(&sources);
            }
        };
        let thread = std::thread::Builder::new().name("toolcrib-search".to_owned());
        if thread.spawn(merging).is_err() {
            // Searches are slower with more segments, and right all the same; the next change tries again.
            writer.merging.clear();
        }
    }

    /// The parts that should become one.
    fn due(&self) -> Vec<Part> {
        let state = self.state.load();
        let sizes: Vec<Size> = state.parts.iter().map(Part::size).collect();
        let due = merge::due(&sizes).unwrap_or_default();
        due.into_iter().map(|at| state.parts[at].clone()).collect()
    }

    /// Puts one part in the place of some, and says which are next.
    fn merge(&self, sources: &[Part]) -> Vec<Part> {
        let mut one = merged(sources);
        let mut writer = self.write();
        let mut parts = self.state.load().parts.clone();
        // What died meanwhile is dead in the new part as well.
        for source in sources {
            let now = parts
                .iter()
                .find(|part| Arc::ptr_eq(&part.segment, &source.segment));
            let mut died = match now {
                Some(part) => part.dead.as_deref().cloned(),
                None => Some(Bits::all(source.segment.len())),
            };
            if let (Some(died), Some(dead)) = (&mut died, &source.dead) {
                died.take_out(dead);
            }
            let rows = &source.segment.rows;
            let ids: Vec<u64> = died
                .iter()
                .flat_map(Bits::iter)
                .map(|document| rows.id(document))
                .collect();
            one.bury(&ids);
        }
        parts.retain(|part| !part.is_among(sources));
        if one.alive > 0 {
            parts.push(one);
        }
        self.state.store(Arc::new(State { parts }));
        writer.merging = self.due();
        writer.merging.clone()
    }
}
