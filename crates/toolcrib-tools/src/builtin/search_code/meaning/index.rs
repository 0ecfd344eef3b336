//! The index: for each piece of each file the words it has and what they count. In memory, changed file by file; pure.
//!
//! A search scores every piece. That is quicker than it sounds (a hundred thousand lines are some ten thousand pieces), and it leaves nothing
//! that could disagree with the files: no lists to keep in order when a file changes.

use std::collections::{BTreeMap, HashMap};

use super::pieces::{self, Piece};
use super::words;

/// What a word counts, by where it is. A comment has many words: a name says the same in fewer.
const NAME: f32 = 8.0;
const COMMENT: f32 = 1.0;
const SIGNATURE: f32 = 3.0;
const BODY: f32 = 1.0;
const PATH: f32 = 1.5;
const AROUND: f32 = 2.0;

/// How soon a word that is there many times counts no more.
const SATURATION: f32 = 5.0;
/// How much a long piece is held against it.
const LENGTH: f32 = 0.7;

/// What a word counts that may stand for one of the question.
const ALIKE: f32 = 0.5;

/// What comes after definitions: other code, and code of tests.
const NO_DEFINITION: f32 = 0.6;
const TEST: f32 = 0.7;

/// The longest line that is shown.
const SHOWN: usize = 200;

/// Distinguishes a file from a later form of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) inode: u64,
    pub(super) size: u64,
    pub(super) modified: (i64, i64),
    pub(super) changed: (i64, i64),
}

/// A place that answers a question.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hit {
    pub(super) path: Vec<u8>,
    /// Where its comment begins.
    pub(super) first: usize,
    pub(super) line: usize,
    pub(super) last: usize,
    pub(super) name: String,
    pub(super) text: String,
    pub(super) score: f32,
}

#[derive(Debug, Default)]
pub(super) struct Index {
    /// The numbers of the stems.
    terms: HashMap<String, u32>,
    /// How many pieces have each stem.
    having: Vec<u32>,
    files: BTreeMap<Vec<u8>, File>,
    pieces: usize,
    words: f64,
    bytes: u64,
}

#[derive(Debug)]
struct File {
    stamp: Stamp,
    bytes: u64,
    is_test: bool,
    pieces: Vec<Record>,
}

#[derive(Debug)]
struct Record {
    first: usize,
    line: usize,
    last: usize,
    name: String,
    text: String,
    is_definition: bool,
    length: f32,
    /// Sorted by number.
    terms: Vec<(u32, f32)>,
}

impl Index {
    /// Whether a file is in the index as it is.
    pub(super) fn has(&self, path: &[u8], stamp: Stamp) -> bool {
        self.files.get(path).is_some_and(|file| file.stamp == stamp)
    }

    /// The bytes of the files that are in the index.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes a file in, in place of an earlier form of it.
    pub(super) fn put(&mut self, path: &[u8], stamp: Stamp, text: &str) {
        self.remove(path);
        let shown = String::from_utf8_lossy(path).into_owned();
        let is_test = shown.split(['/', '.', '_', '-']).any(|part| {
            matches!(
                part,
                "test"
                    | "tests"
                    | "spec"
                    | "bench"
                    | "benches"
                    | "example"
                    | "examples"
                    | "testdata"
                    | "fixtures"
            )
        });
        let mut around: Vec<(usize, String)> = Vec::new();
        let records: Vec<Record> = pieces::of(text)
            .into_iter()
            .map(|piece| {
                let indent = piece
                    .body
                    .first()
                    .map_or(0, |line| line.len() - line.trim_start().len());
                around.retain(|(outer, _)| *outer < indent);
                let outer = around
                    .last()
                    .map_or(String::new(), |(_, name)| name.clone());
                if piece.is_definition {
                    around.push((indent, piece.name.to_owned()));
                }
                self.record(&piece, &shown, &outer)
            })
            .collect();
        for record in &records {
            self.pieces += 1;
            self.words += f64::from(record.length);
            for (term, _) in &record.terms {
                self.having[*term as usize] += 1;
            }
        }
        self.bytes += text.len() as u64;
        let file = File {
            stamp,
            bytes: text.len() as u64,
            is_test,
            pieces: records,
        };
        self.files.insert(path.to_vec(), file);
    }

    /// Forgets a file.
    pub(super) fn remove(&mut self, path: &[u8]) {
        let Some(file) = self.files.remove(path) else {
            return;
        };
        self.bytes -= file.bytes;
        for record in file.pieces {
            self.pieces -= 1;
            self.words -= f64::from(record.length);
            for (term, _) in record.terms {
                self.having[term as usize] -= 1;
            }
        }
        // Words that nothing has any more would pile up.
        if self.files.is_empty() {
            *self = Index::default();
        }
    }

    /// Forgets the files that are not wanted.
    pub(super) fn retain(&mut self, is_wanted: impl Fn(&[u8]) -> bool) {
        let gone: Vec<Vec<u8>> = self
            .files
            .keys()
            .filter(|path| !is_wanted(path))
            .cloned()
            .collect();
        gone.iter().for_each(|path| self.remove(path));
    }

    fn record(&mut self, piece: &Piece<'_>, path: &str, outer: &str) -> Record {
        let mut weights: HashMap<u32, f32> = HashMap::new();
        let mut length = 0.0;
        let mut note = |text: &str, weight: f32| {
            words::each(text, |word| {
                let next = u32::try_from(self.having.len()).unwrap_or(u32::MAX);
                let term = *self.terms.entry(word).or_insert_with(|| {
                    self.having.push(0);
                    next
                });
                *weights.entry(term).or_default() += weight;
                length += 1.0;
            });
        };
        note(piece.name, NAME);
        note(outer, AROUND);
        note(path, PATH);
        piece.comment.iter().for_each(|line| note(line, COMMENT));
        if let Some((first, rest)) = piece.body.split_first() {
            note(first, if piece.is_definition { SIGNATURE } else { BODY });
            rest.iter().for_each(|line| note(line, BODY));
        }
        let mut terms: Vec<(u32, f32)> = weights.into_iter().collect();
        terms.sort_unstable_by_key(|(term, _)| *term);
        let text = piece
            .body
            .iter()
            .find(|line| !line.trim().is_empty())
            .or(piece.comment.first());
        let text = text.map_or("", |line| line.trim());
        Record {
            first: piece.first,
            line: piece.line,
            last: piece.last,
            name: piece.name.to_owned(),
            text: crate::model::text::shorten(text, SHOWN),
            is_definition: piece.is_definition,
            length,
            terms,
        }
    }

    /// The pieces that answer a question best, of the wanted files. Of the pieces of one definition the best one is given.
    pub(super) fn search(
        &self,
        question: &[String],
        limit: usize,
        is_wanted: impl Fn(&[u8]) -> bool,
    ) -> Vec<Hit> {
        let count = self.pieces as f32;
        let rarity = |term: u32| {
            let having = self.having[term as usize] as f32;
            (1.0 + (count - having + 0.5) / (having + 0.5)).ln()
        };
        // Each word of the question with the words that may stand for it, and what each counts.
        let wanted: Vec<(f32, Vec<(u32, f32)>)> = question
            .iter()
            .filter_map(|word| {
                let own = self.terms.get(word).map(|term| (*term, 1.0));
                let others = words::alike(word);
                let others = others
                    .iter()
                    .filter_map(|word| Some((*self.terms.get(word)?, ALIKE)));
                let terms: Vec<(u32, f32)> = own.into_iter().chain(others).collect();
                let rarest = terms
                    .iter()
                    .map(|(term, weight)| weight * rarity(*term))
                    .fold(0.0, f32::max);
                // A word that no file has is missing everywhere: it cannot make one place better than another.
                (!terms.is_empty()).then_some((rarest, terms))
            })
            .collect();
        let possible: f32 = wanted.iter().map(|(rarity, _)| rarity).sum();
        if possible <= 0.0 {
            return Vec::new();
        }
        let average = (self.words / self.pieces.max(1) as f64).max(1.0) as f32;
        let mut best: Vec<(f32, &Vec<u8>, &Record)> = Vec::new();
        for (path, file) in &self.files {
            if !is_wanted(path) {
                continue;
            }
            for record in &file.pieces {
                let (mut score, mut found) = (0.0, 0.0);
                let norm = SATURATION * (1.0 - LENGTH + LENGTH * record.length / average);
                for (rarity, terms) in &wanted {
                    let best = terms.iter().filter_map(|(term, share)| {
                        let at = record
                            .terms
                            .binary_search_by_key(term, |(term, _)| *term)
                            .ok()?;
                        let weight = record.terms[at].1;
                        Some(share * weight / (weight + norm))
                    });
                    let best = best.fold(0.0, f32::max);
                    if best > 0.0 {
                        score += rarity * best;
                        found += rarity;
                    }
                }
                if score > 0.0 {
                    score *= 0.5 + 0.5 * found / possible;
                    score *= if record.is_definition {
                        1.0
                    } else {
                        NO_DEFINITION
                    };
                    score *= if file.is_test { TEST } else { 1.0 };
                    best.push((score, path, record));
                }
            }
        }
        let order = |a: &(f32, &Vec<u8>, &Record), b: &(f32, &Vec<u8>, &Record)| {
            b.0.total_cmp(&a.0)
                .then_with(|| a.1.cmp(b.1))
                .then_with(|| a.2.line.cmp(&b.2.line))
        };
        if best.len() > limit {
            best.select_nth_unstable_by(limit, order);
            best.truncate(limit);
        }
        best.sort_unstable_by(order);
        let hits = best.into_iter().map(|(score, path, record)| Hit {
            path: path.clone(),
            first: record.first,
            line: record.line,
            last: record.last,
            name: record.name.clone(),
            text: record.text.clone(),
            score,
        });
        hits.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp {
        inode: 1,
        size: 1,
        modified: (0, 0),
        changed: (0, 0),
    };

    fn index(files: &[(&str, &str)]) -> Index {
        let mut index = Index::default();
        for (path, text) in files {
            index.put(path.as_bytes(), STAMP, text);
        }
        index
    }

    fn found(index: &Index, question: &str) -> Vec<(String, usize)> {
        let hits = index.search(&words::of_question(question), 10, |_| true);
        hits.into_iter()
            .map(|hit| (String::from_utf8(hit.path).unwrap(), hit.line))
            .collect()
    }

    const PARSER: &str = "/// Splits a line into words.\nfn tokenize(line: &str) -> Vec<&str> {\n    line.split(' ').collect()\n}\n";
    const USER: &str = "fn main() {\n    let all = tokenize(\"a b\");\n    tokenize(\"c\");\n}\n";

    #[test]
    fn a_definition_comes_before_its_uses() {
        let index = index(&[("a.rs", USER), ("z.rs", PARSER)]);
        assert_eq!(found(&index, "tokenize")[0], ("z.rs".to_owned(), 2));
        assert_eq!(
            found(&index, "where are lines split into words?")[0],
            ("z.rs".to_owned(), 2)
        );
        assert_eq!(found(&index, "xyzzy"), []);
    }

    #[test]
    fn an_index_that_was_changed_is_the_one_that_would_be_made() {
        let mut changed = index(&[("a.rs", USER), ("b.rs", USER), ("c.rs", PARSER)]);
        changed.put(b"b.rs", STAMP, PARSER);
        changed.remove(b"a.rs");
        changed.retain(|path| path != b"c.rs");
        let made = index(&[("b.rs", PARSER)]);
        assert_eq!(found(&changed, "split words"), found(&made, "split words"));
        assert_eq!((changed.pieces, changed.bytes), (made.pieces, made.bytes));
        changed.remove(b"b.rs");
        assert!(changed.terms.is_empty());
    }
}
