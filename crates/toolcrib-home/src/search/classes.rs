//! The documents of one segment that match a query, class by class.

use super::Class;
use super::bits::Bits;
use super::edit_distance::Near;
use super::segment::Segment;
use super::words::Query;

/// So few documents are gone through word by word.
const FEW: usize = 24;

/// A query with what only has to be made once for all segments.
pub(super) struct Prepared<'a> {
    query: &'a Query,
    /// Each word with what is near to it.
    words: Vec<(&'a str, Option<Near>)>,
}

impl<'a> Prepared<'a> {
    pub(super) fn new(query: &'a Query) -> Self {
        let words = query.words.iter();
        let words = words.map(|word| (word.as_str(), Near::of(word)));
        Prepared {
            words: words.collect(),
            query,
        }
    }
}

/// What matches in one segment. Classes are asked for in their order, each at most once.
pub(super) struct Matches<'a> {
    segment: &'a Segment,
    prepared: &'a Prepared<'a>,
    /// Those that are dead or in a class that was asked for.
    done: Bits,
    /// For each word the documents that have a word which starts with it, once someone needed to know.
    starts: Vec<Bits>,
}

impl<'a> Matches<'a> {
    pub(super) fn new(
        segment: &'a Segment,
        dead: Option<&Bits>,
        prepared: &'a Prepared<'a>,
    ) -> Self {
        Matches {
            done: dead.map_or_else(|| Bits::none(segment.len()), Bits::clone),
            starts: Vec::new(),
            segment,
            prepared,
        }
    }

    /// The documents of a class.
    pub(super) fn of_class(&mut self, class: Class) -> Bits {
        let mut found = self.matching(class);
        found.take_out(&self.done);
        self.done.add(&found);
        found
    }

    /// The documents that match as well as a class asks for, or better.
    fn matching(&mut self, class: Class) -> Bits {
        let (segment, prepared) = (self.segment, self.prepared);
        let mut found = Bits::none(segment.len());
        if prepared.query.is_blank {
            return match class {
                Class::Prefix => Bits::all(segment.len()),
                Class::WholeWord | Class::Fuzzy => found,
            };
        }
        let words = &prepared.words;
        if words.is_empty() {
            return found;
        }
        match class {
            Class::Prefix => {
                segment.add_with_field_start(&prepared.query.pieces, &mut found);
                segment.add_with_squashed_start(&prepared.query.squashed, &mut found);
                found
            }
            Class::WholeWord => {
                let of_word = |at: usize| {
                    let mut set = Bits::none(segment.len());
                    segment.add_with_word(words[at].0, &mut set);
                    set
                };
                all_of((0..words.len()).map(of_word)).unwrap_or(found)
            }
            Class::Fuzzy => {
                self.find_starts();
                self.near()
            }
        }
    }

    /// The documents in which every word starts a word or is near one.
    fn near(&self) -> Bits {
        // Rare words first: where few documents are left, those are looked at instead of all words there are.
        let mut order: Vec<usize> = (0..self.starts.len()).collect();
        let words = &self.prepared.words;
        order.sort_by_cached_key(|at| (words[*at].1.is_some(), self.starts[*at].count()));
        let mut left: Option<Bits> = None;
        for at in order {
            let (starts, near) = (&self.starts[at], words[at].1.as_ref());
            let few = left.as_ref().map(|left| left.count());
            match (&mut left, near) {
                (Some(_), _) if few == Some(0) => break,
                (Some(left), None) => left.keep(starts),
                (Some(left), Some(near)) if few.is_some_and(|count| count <= FEW) => {
                    for document in left.clone().iter() {
                        if !starts.contains(document) && !self.segment.has_near_word(document, near)
                        {
                            left.remove(document);
                        }
                    }
                }
                (left, near) => {
                    let mut set = starts.clone();
                    if let Some(near) = near {
                        self.segment.add_with_near_word(near, &mut set);
                    }
                    match left {
                        Some(left) => left.keep(&set),
                        None => *left = Some(set),
                    }
                }
            }
        }
        left.unwrap_or_else(|| Bits::none(self.segment.len()))
    }

    fn find_starts(&mut self) {
        if self.starts.is_empty() {
            let of_word = |(word, _): &(&str, Option<Near>)| {
                let mut set = Bits::none(self.segment.len());
                self.segment.add_with_word_start(word, &mut set);
                set
            };
            self.starts = self.prepared.words.iter().map(of_word).collect();
        }
    }
}

/// The intersection of the sets; those after an empty intersection are not made.
fn all_of(mut sets: impl Iterator<Item = Bits>) -> Option<Bits> {
    let mut left = sets.next()?;
    while !left.is_empty() {
        let Some(set) = sets.next() else { break };
        left.keep(&set);
    }
    Some(left)
}
