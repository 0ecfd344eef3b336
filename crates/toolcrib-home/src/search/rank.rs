//! How well one document matches a query, and which of two comes first: the definition that [`Index`](super::Index) has to agree with.
//!
//! Written to be read, not to be fast: nothing here knows of the index.

use std::cmp::Ordering;

use jiff::Timestamp;

use super::words::{self, MAX_QUERY_WORDS, Query, Sink, edits_allowed};
use super::{Class, Document};

/// How well a document matches a query; none if it does not.
pub fn class_of(document: &Document, query: &str) -> Option<Class> {
    let query = Query::of(query);
    if query.is_blank {
        return Some(Class::Prefix);
    }
    if query.words.is_empty() {
        return None;
    }
    let mut texts = Texts::default();
    words::read(document, &mut texts);
    let start = query.pieces.join(" ");
    let starts_a_field = texts.fields.iter().any(|field| field.starts_with(&start));
    let starts_a_name = |name: &String| name.starts_with(&query.squashed);
    if starts_a_field || texts.squashed.iter().any(starts_a_name) {
        return Some(Class::Prefix);
    }
    let of_words = query.words.iter().map(|word| class_of_word(&texts, word));
    // The worst of them; none if one does not match at all.
    of_words.collect::<Option<Vec<Class>>>()?.into_iter().max()
}

fn class_of_word(texts: &Texts, wanted: &str) -> Option<Class> {
    let any = |matches: &dyn Fn(&str) -> bool| texts.words.iter().any(|word| matches(word));
    let edits = edits_allowed(wanted);
    if any(&|word| word == wanted) {
        Some(Class::WholeWord)
    } else if any(&|word| {
        word.starts_with(wanted) || edits > 0 && strsim::osa_distance(word, wanted) <= edits
    }) {
        Some(Class::Fuzzy)
    } else {
        None
    }
}

/// The texts of a document as they are compared.
#[derive(Default)]
struct Texts {
    /// The first pieces of each field, joined by spaces.
    fields: Vec<String>,
    pieces: Vec<String>,
    words: Vec<String>,
    squashed: Vec<String>,
}

impl Sink for Texts {
    fn piece(&mut self, piece: &str) {
        self.words.push(piece.to_owned());
        self.pieces.push(piece.to_owned());
        debug_assert!(self.pieces.len() <= MAX_QUERY_WORDS);
    }

    fn word(&mut self, word: &str) {
        self.words.push(word.to_owned());
    }

    fn end_field(&mut self) {
        self.fields.push(std::mem::take(&mut self.pieces).join(" "));
    }

    fn squashed(&mut self, name: &str) {
        self.squashed.push(name.to_owned());
    }
}

/// Where a document is among those of its class: the newest first, those without a time last, then by slug, by `tie`, by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TieBreak<'a> {
    /// Last structural change.
    pub modified: Option<Timestamp>,
    /// The slug, by code points.
    pub slug: &'a str,
    /// Bundle, version and anything else that distinguishes documents.
    pub tie: &'a str,
    /// Which document it is.
    pub id: u64,
}

impl<'a> TieBreak<'a> {
    /// The place of a document.
    pub fn of(document: &'a Document) -> Self {
        TieBreak {
            modified: document.modified,
            slug: &document.slug,
            tie: &document.tie,
            id: document.id,
        }
    }
}

impl Ord for TieBreak<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .modified
            .cmp(&self.modified)
            .then_with(|| self.slug.cmp(other.slug))
            .then_with(|| self.tie.cmp(other.tie))
            .then_with(|| self.id.cmp(&other.id))
    }
}

impl PartialOrd for TieBreak<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(slug: &str, description: &str) -> Document {
        Document {
            id: 1,
            slug: slug.to_owned(),
            name: slug.replace('-', "_"),
            aliases: Vec::new(),
            title: String::new(),
            description: description.to_owned(),
            tags: vec!["files and more".to_owned()],
            keywords: Vec::new(),
            tie: String::new(),
            modified: None,
        }
    }

    #[test]
    fn each_class_is_where_it_should_be() {
        let tool = document("read-file", "Returns the contents of a document.");
        let cases = [
            ("read", Some(Class::Prefix)),
            ("read f", Some(Class::Prefix)),
            ("READ-FILE", Some(Class::Prefix)),
            ("+readfi", Some(Class::Prefix)),
            ("returns the con", Some(Class::Prefix)),
            ("files a", Some(Class::Prefix)),
            ("", Some(Class::Prefix)),
            ("file", Some(Class::Prefix)),
            ("contents", Some(Class::WholeWord)),
            ("document file", Some(Class::WholeWord)),
            ("docu", Some(Class::Fuzzy)),
            ("document cont", Some(Class::Fuzzy)),
            ("read fiel", Some(Class::Fuzzy)),
            ("contants", Some(Class::Fuzzy)),
            ("docmuent", Some(Class::Fuzzy)),
            ("contents dcoumetn", Some(Class::Fuzzy)),
            ("rea contents", Some(Class::Fuzzy)),
            ("teh", None),
            ("contents missing", None),
            ("!?", None),
        ];
        for (query, class) in cases {
            assert_eq!(class_of(&tool, query), class, "{query}");
        }
    }

    #[test]
    fn the_newest_comes_first_and_none_last() {
        let at = |second| Some(Timestamp::from_second(second).unwrap());
        let place = |modified, slug| TieBreak {
            modified,
            slug,
            tie: "",
            id: 0,
        };
        let sorted = [
            place(at(2), "z"),
            place(at(1), "a"),
            place(at(1), "b"),
            place(None, "Z"),
            place(None, "a"),
            place(None, "é"),
        ];
        assert!(sorted.is_sorted());
        assert!(sorted.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
