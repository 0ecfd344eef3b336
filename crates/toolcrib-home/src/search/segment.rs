//! A part of the index that never changes: [`Segment`].
//!
//! Its documents are numbered in the order of their places, so that a set of numbers is already in the order of results. Words are numbered in the order of
//! their texts, so that the words with one start, and the fields with one start, lie side by side.

use std::ops::Range;

use jiff::Timestamp;

use super::bits::Bits;
use super::dictionary::{Dictionary, Postings};
use super::edit_distance::{ByLength, Near};
use super::rank::TieBreak;

/// Documents and their words.
pub(super) struct Segment {
    pub(super) rows: Rows,
    /// The documents by their ids.
    pub(super) by_id: Vec<u32>,
    pub(super) fields: Fields,
    pub(super) words: Dictionary,
    pub(super) by_length: ByLength,
    pub(super) postings: Postings,
    /// Every field that has words, in the order of its words.
    pub(super) starts: Vec<FieldStart>,
    /// Names without separators.
    pub(super) squashed: Dictionary,
    pub(super) squashed_postings: Postings,
}

/// What decides about the places of documents.
#[derive(Default)]
pub(super) struct Rows {
    rows: Vec<Row>,
    texts: String,
}

struct Row {
    modified: Option<Timestamp>,
    id: u64,
    slug_end: u32,
    tie_end: u32,
}

impl Rows {
    pub(super) fn push(&mut self, place: &TieBreak<'_>) {
        self.texts.push_str(place.slug);
        let slug_end = self.texts.len() as u32;
        self.texts.push_str(place.tie);
        self.rows.push(Row {
            modified: place.modified,
            id: place.id,
            slug_end,
            tie_end: self.texts.len() as u32,
        });
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn id(&self, document: u32) -> u64 {
        self.rows[document as usize].id
    }

    pub(super) fn place(&self, document: u32) -> TieBreak<'_> {
        let at = document as usize;
        let start = if at == 0 {
            0
        } else {
            self.rows[at - 1].tie_end
        };
        let row = &self.rows[at];
        let (slug_end, tie_end) = (row.slug_end as usize, row.tie_end as usize);
        TieBreak {
            modified: row.modified,
            slug: &self.texts[start as usize..slug_end],
            tie: &self.texts[slug_end..tie_end],
            id: row.id,
        }
    }
}

/// The words of each document: those that its fields start with, field by field, then the others. Segments are merged by it.
#[derive(Default)]
pub(super) struct Fields {
    pub(super) words: Vec<u32>,
    /// Where each field ends, the other words of a document being its last one.
    pub(super) ends: Vec<u32>,
    /// Where the fields of each document end.
    pub(super) document_ends: Vec<u32>,
    /// The squashed names.
    pub(super) squashed: Vec<u32>,
    /// Where those of each document end.
    pub(super) squashed_ends: Vec<u32>,
}

impl Fields {
    /// Which fields are those of a document.
    pub(super) fn of(&self, document: u32) -> Range<usize> {
        range(&self.document_ends, document as usize)
    }

    /// Which words are those of a field.
    pub(super) fn words_of(&self, field: usize) -> Range<usize> {
        range(&self.ends, field)
    }

    /// All words of a document.
    pub(super) fn all_words(&self, document: u32) -> &[u32] {
        let fields = self.of(document);
        if fields.is_empty() {
            return &[];
        }
        let (first, last) = (self.words_of(fields.start), self.words_of(fields.end - 1));
        &self.words[first.start..last.end]
    }

    pub(super) fn squashed(&self, document: u32) -> &[u32] {
        &self.squashed[range(&self.squashed_ends, document as usize)]
    }

    /// How many bytes it takes.
    fn bytes(&self) -> usize {
        let lists = [
            &self.words,
            &self.ends,
            &self.document_ends,
            &self.squashed,
            &self.squashed_ends,
        ];
        lists.iter().map(|list| list.capacity() * 4).sum()
    }
}

fn range(ends: &[u32], at: usize) -> Range<usize> {
    let start = if at == 0 { 0 } else { ends[at - 1] };
    start as usize..ends[at] as usize
}

/// A field of a document.
pub(super) struct FieldStart {
    pub(super) document: u32,
    /// Where its words are among those of all fields.
    pub(super) start: u32,
    pub(super) len: u32,
}

impl Segment {
    /// How many documents it has, the dead ones too.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The number of the document with an id.
    pub(super) fn find(&self, id: u64) -> Option<u32> {
        let at = self
            .by_id
            .binary_search_by_key(&id, |document| self.rows.id(*document));
        at.ok().map(|at| self.by_id[at])
    }

    /// The first document whose place is after one.
    pub(super) fn first_after(&self, place: &TieBreak<'_>) -> u32 {
        let (mut from, mut to) = (0, self.rows.len() as u32);
        while from < to {
            let middle = from + (to - from) / 2;
            if self.rows.place(middle) <= *place {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        from
    }

    /// Adds the documents that have a word.
    pub(super) fn add_with_word(&self, word: &str, set: &mut Bits) {
        if let Some(number) = self.words.find(word) {
            self.postings.add_to(set, number..number + 1);
        }
    }

    /// Adds the documents that have a word which starts so.
    pub(super) fn add_with_word_start(&self, start: &str, set: &mut Bits) {
        self.postings.add_to(set, self.words.starting_with(start));
    }

    /// Adds the documents that have a word near to another.
    pub(super) fn add_with_near_word(&self, near: &Near, set: &mut Bits) {
        let text = |number| self.words.get(number);
        self.by_length.near(near, text, |number| {
            self.postings.add_to(set, number..number + 1);
        });
    }

    /// Whether a document has a word near to another.
    pub(super) fn has_near_word(&self, document: u32, near: &Near) -> bool {
        let mut words = self.fields.all_words(document).iter();
        words.any(|word| near.matches(self.words.get(*word)))
    }

    /// Adds the documents that have a field which starts with these pieces, the last of which may go on.
    pub(super) fn add_with_field_start(&self, pieces: &[String], set: &mut Bits) {
        let Some((last, whole)) = pieces.split_last() else {
            return;
        };
        let found: Option<Vec<u32>> = whole.iter().map(|piece| self.words.find(piece)).collect();
        let Some(mut key) = found else {
            return;
        };
        let last = self.words.starting_with(last);
        if last.is_empty() {
            return;
        }
        key.push(last.start);
        let from = self.first_field_not_before(&key);
        if let Some(word) = key.last_mut() {
            *word = last.end;
        }
        let to = self.first_field_not_before(&key);
        for field in &self.starts[from..to] {
            set.insert(field.document);
        }
    }

    fn first_field_not_before(&self, key: &[u32]) -> usize {
        self.starts.partition_point(|field| {
            let start = field.start as usize;
            self.fields.words[start..start + field.len as usize] < *key
        })
    }

    /// Adds the documents that have a name which starts so without separators.
    pub(super) fn add_with_squashed_start(&self, start: &str, set: &mut Bits) {
        self.squashed_postings
            .add_to(set, self.squashed.starting_with(start));
    }

    /// How many bytes it takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.rows.rows.capacity() * size_of::<Row>()
            + self.rows.texts.capacity()
            + self.by_id.capacity() * 4
            + self.fields.bytes()
            + self.words.bytes()
            + self.by_length.bytes()
            + self.postings.bytes()
            + self.starts.capacity() * size_of::<FieldStart>()
            + self.squashed.bytes()
            + self.squashed_postings.bytes()
    }
}
