//! The index against an oracle that shares nothing with it: its own words, its own nearness, a walk through all documents. With some hundreds of documents
//! at once, so that segments are merged in the background while they are searched.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use toolcrib::search::{Class, Document, Hit, Index};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use crate::search::{all_pages, document, query, realistic_name, realistic_text};

/// The words of a text in a script with spaces.
fn words(text: &str) -> Vec<String> {
    let text: String = text.nfc().collect();
    let text: String = text.to_uppercase().to_lowercase().nfc().collect();
    let is_sign = |c: char| !c.is_alphanumeric() && !is_combining_mark(c);
    text.split(is_sign)
        // A mark belongs to the letter before it; without one it is a sign.
        .map(|word| word.trim_start_matches(is_combining_mark))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// How many letters have to be put in, left out, changed or swapped with their neighbour; no letter twice.
fn edits(one: &str, other: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            table[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let changed = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut least = changed.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    least = least.min(table[i - 2][j - 2] + 1);
                }
                least
            };
        }
    }
    table[a.len()][b.len()]
}

/// A document as the oracle knows it.
struct Read {
    document: Document,
    /// The words of each text, the names first.
    texts: Vec<Vec<String>>,
    names: usize,
}

impl Read {
    fn of(document: Document) -> Self {
        let names = [&document.slug, &document.name]
            .into_iter()
            .chain(&document.aliases);
        let names: Vec<_> = names.map(|text| words(text)).collect();
        let others = [&document.title, &document.description].into_iter();
        let others = others.chain(&document.tags).chain(&document.keywords);
        Read {
            names: names.len(),
            texts: names
                .into_iter()
                .chain(others.map(|text| words(text)))
                .collect(),
            document,
        }
    }

    fn class(&self, query: &str) -> Option<Class> {
        let query = query.trim();
        let query = query.strip_prefix('+').unwrap_or(query);
        if query.trim().is_empty() {
            return Some(Class::Prefix);
        }
        let wanted = words(query);
        if wanted.is_empty() {
            return None;
        }
        let start = wanted.join(" ");
        let squashed = wanted.concat();
        let names = &self.texts[..self.names];
        if self
            .texts
            .iter()
            .any(|text| text.join(" ").starts_with(&start))
            || names
                .iter()
                .any(|name| name.concat().starts_with(&squashed))
        {
            return Some(Class::Prefix);
        }
        let mut worst = Class::WholeWord;
        for word in &wanted {
            let mut all = self.texts.iter().flatten();
            let allowed = [0, 0, 0, 0, 1, 1, 1, 1, 2][word.chars().count().min(8)];
            let class = if all.clone().any(|one| one == word) {
                Class::WholeWord
            } else if all
                .any(|one| one.starts_with(word) || allowed > 0 && edits(one, word) <= allowed)
            {
                Class::Fuzzy
            } else {
                return None;
            };
            worst = worst.max(class);
        }
        Some(worst)
    }
}

/// The best first: by class, then the newest, those without a time last, then by slug, bundle and version.
fn expected(documents: &BTreeMap<u64, Read>, query: &str) -> Vec<Hit> {
    let mut found: Vec<(Class, &Document)> = documents
        .values()
        .filter_map(|read| Some((read.class(query)?, &read.document)))
        .collect();
    found.sort_by(|(one, a), (other, b)| {
        let by_age = b.modified.cmp(&a.modified);
        one.cmp(other)
            .then(by_age)
            .then_with(|| a.slug.cmp(&b.slug))
            .then_with(|| a.tie.cmp(&b.tie))
    });
    let hits = found.into_iter();
    hits.map(|(class, document)| Hit {
        id: document.id,
        class,
    })
    .collect()
}

const SPELLINGS: &[&str] = &[
    "Café",
    "CAFE\u{301}",
    "cafe",
    "naïve",
    "Straße",
    "STRASSE",
    "ÜBER",
    "u\u{308}ber",
];

fn text() -> BoxedStrategy<String> {
    let spelling = proptest::sample::select(SPELLINGS).prop_map(str::to_owned);
    prop_oneof![4 => realistic_text(), 1 => spelling.clone(),
        1 => (realistic_text(), spelling).prop_map(|(text, more)| format!("{text} {more}"))]
    .boxed()
}

/// What happens between two searches.
#[derive(Debug, Clone)]
struct Round {
    gone: Vec<u64>,
    come: Vec<Document>,
    query: String,
    limit: usize,
}

fn rounds() -> impl Strategy<Value = Vec<Round>> {
    let document = document(realistic_name(), text(), 0..700).boxed();
    let short = proptest::sample::select(SPELLINGS).prop_map(str::to_owned);
    let query =
        prop_oneof![3 => query(realistic_name()), 2 => query(short.boxed()), 1 => "[a-z]{0,2}"];
    // Of many sizes, so that there are segments of many sizes.
    let come = prop_oneof![2 => vec(document.clone(), 0..4), 2 => vec(document.clone(), 17..60), 1 => vec(document, 60..120)];
    let round = (vec(0..700u64, 0..12), come, query, 20..200usize);
    let round = round.prop_map(|(gone, come, query, limit)| Round {
        gone,
        come,
        query,
        limit,
    });
    vec(round, 14..20)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn hundreds_of_tools_are_found_as_a_walk_through_them_finds_them(rounds in rounds()) {
        let index = Index::default();
        let mut documents: BTreeMap<u64, Read> = BTreeMap::new();
        for round in rounds {
            index.apply(&round.gone, round.come.clone());
            documents.retain(|id, _| !round.gone.contains(id));
            let come = round.come.into_iter().map(|document| (document.id, Read::of(document)));
            documents.extend(come);
            prop_assert_eq!(index.len(), documents.len());
            let hits = all_pages(&index, &round.query, round.limit, |_| true);
            prop_assert_eq!(hits, expected(&documents, &round.query), "{:?}", round.query);
        }
    }
}

#[test]
fn the_oracle_knows_its_letters() {
    assert_eq!(
        words("Read-FILE: CAFE\u{301}, Straße_2"),
        ["read", "file", "café", "strasse", "2"]
    );
    for (one, other, expected) in [
        ("file", "fiel", 1),
        ("file", "flies", 2),
        ("", "ab", 2),
        ("abc", "abc", 0),
        ("café", "cafe", 1),
    ] {
        assert_eq!(edits(one, other), expected, "{one} {other}");
    }
}
