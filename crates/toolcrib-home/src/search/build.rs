//! Making a [`Segment`], of documents or of what a merge has gathered.

use super::Document;
use super::dictionary::{Dictionary, Interner, Postings};
use super::edit_distance::ByLength;
use super::rank::TieBreak;
use super::segment::{FieldStart, Fields, Rows, Segment};
use super::words::{self, Sink};

impl Segment {
    /// Of documents with different ids.
    pub(super) fn of(documents: &[Document]) -> Segment {
        let mut in_order: Vec<&Document> = documents.iter().collect();
        in_order.sort_unstable_by(|one, other| TieBreak::of(one).cmp(&TieBreak::of(other)));
        let mut rows = Rows::default();
        let mut reader = Reader::default();
        for document in in_order {
            rows.push(&TieBreak::of(document));
            words::read(document, &mut reader);
            reader.end_document();
        }
        let (words, squashed, fields) = reader.finish();
        Segment::assemble(rows, words, squashed, fields)
    }

    /// Of documents in the order of their places, with the words that they have.
    pub(super) fn assemble(
        rows: Rows,
        words: Dictionary,
        squashed: Dictionary,
        fields: Fields,
    ) -> Segment {
        let documents = rows.len() as u32;
        let postings = Postings::gather(words.len(), |take| {
            for document in 0..documents {
                for word in fields.all_words(document) {
                    take(document, *word);
                }
            }
        });
        let squashed_postings = Postings::gather(squashed.len(), |take| {
            for document in 0..documents {
                for name in fields.squashed(document) {
                    take(document, *name);
                }
            }
        });
        let mut by_id: Vec<u32> = (0..documents).collect();
        by_id.sort_unstable_by_key(|document| rows.id(*document));
        Segment {
            by_length: ByLength::of(words.iter()),
            starts: starts(&fields, documents),
            by_id,
            rows,
            fields,
            words,
            postings,
            squashed,
            squashed_postings,
        }
    }
}

/// The fields in the order of their words; of a document's fields with the same words, one.
fn starts(fields: &Fields, documents: u32) -> Vec<FieldStart> {
    // The first two words settle most comparisons.
    let mut starts: Vec<(u64, FieldStart)> = Vec::with_capacity(fields.ends.len());
    for document in 0..documents {
        let of_document = fields.of(document);
        // The last field is not one: the other words.
        for field in of_document.start..of_document.end.saturating_sub(1) {
            let range = fields.words_of(field);
            let at = |number: usize| {
                let word = fields.words[range.clone()].get(number);
                word.map_or(0, |word| u64::from(*word) + 1)
            };
            if !range.is_empty() {
                let start = FieldStart {
                    document,
                    start: range.start as u32,
                    len: range.len() as u32,
                };
                starts.push((at(0) << 32 | at(1), start));
            }
        }
    }
    let words = |field: &FieldStart| {
        let start = field.start as usize;
        &fields.words[start..start + field.len as usize]
    };
    starts.sort_unstable_by(|(first, one), (second, other)| {
        first
            .cmp(second)
            .then_with(|| words(one).cmp(words(other)))
            .then_with(|| one.document.cmp(&other.document))
    });
    starts.dedup_by(|(first, one), (second, other)| {
        first == second && one.document == other.document && words(one) == words(other)
    });
    let mut starts: Vec<FieldStart> = starts.into_iter().map(|(_, start)| start).collect();
    starts.shrink_to_fit();
    starts
}

/// Reads documents into numbers.
#[derive(Default)]
struct Reader {
    words: Interner,
    squashed: Interner,
    fields: Fields,
    /// The other words of the document at hand.
    others: Vec<u32>,
}

impl Sink for Reader {
    fn piece(&mut self, piece: &str) {
        let number = self.words.number(piece);
        self.fields.words.push(number);
    }

    fn word(&mut self, word: &str) {
        let number = self.words.number(word);
        self.others.push(number);
    }

    fn end_field(&mut self) {
        self.fields.ends.push(self.fields.words.len() as u32);
    }

    fn squashed(&mut self, name: &str) {
        let number = self.squashed.number(name);
        self.fields.squashed.push(number);
    }
}

impl Reader {
    fn end_document(&mut self) {
        self.fields.words.append(&mut self.others);
        self.end_field();
        let fields = &mut self.fields;
        fields.document_ends.push(fields.ends.len() as u32);
        fields.squashed_ends.push(fields.squashed.len() as u32);
    }

    fn finish(mut self) -> (Dictionary, Dictionary, Fields) {
        let (words, renumbered) = self.words.finish();
        for word in &mut self.fields.words {
            *word = renumbered[*word as usize];
        }
        let (squashed, renumbered) = self.squashed.finish();
        for name in &mut self.fields.squashed {
            *name = renumbered[*name as usize];
        }
        self.fields.words.shrink_to_fit();
        self.fields.ends.shrink_to_fit();
        (words, squashed, self.fields)
    }
}
