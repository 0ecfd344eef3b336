//! The index finds what the definition of the rank says, in its order, whatever was put in and taken out before.

use std::collections::BTreeMap;

use jiff::Timestamp;
use proptest::collection::vec;
use proptest::prelude::*;
use toolcrib::search::{Class, Document, Hit, Index, Page, Position, TieBreak, class_of};

/// What the index has to say, by the definition alone.
fn expected(
    documents: &BTreeMap<u64, Document>,
    query: &str,
    is_wanted: impl Fn(u64) -> bool,
) -> Vec<Hit> {
    let mut ranked: Vec<(Class, TieBreak<'_>)> = documents
        .values()
        .filter(|document| is_wanted(document.id))
        .filter_map(|document| Some((class_of(document, query)?, TieBreak::of(document))))
        .collect();
    ranked.sort();
    let hits = ranked.into_iter();
    hits.map(|(class, place)| Hit {
        id: place.id,
        class,
    })
    .collect()
}

/// All pages of a query, one after the other, each position as the text that a client would send.
pub(crate) fn all_pages(
    index: &Index,
    query: &str,
    limit: usize,
    is_wanted: impl Fn(u64) -> bool,
) -> Vec<Hit> {
    let mut hits = Vec::new();
    let mut after = None;
    loop {
        let page = index.search(query, after.as_ref(), limit, &is_wanted);
        assert!(page.hits.len() <= limit);
        assert!(page.next.is_none() || page.hits.len() == limit);
        hits.extend(page.hits);
        let Some(next) = page.next else {
            return hits;
        };
        assert!(next.is_of(query));
        after = Some(Position::parse(next.as_str()).expect("a position of the index"));
    }
}

const VERBS: &[&str] = &[
    "get", "list", "create", "delete", "update", "search", "send", "read", "write", "convert",
];
const NOUNS: &[&str] = &[
    "file",
    "files",
    "message",
    "issue",
    "invoice",
    "weather",
    "directory",
    "customer",
    "branch",
    "repository",
    "document",
    "calendar",
];
const PRODUCTS: &[&str] = &["github", "Slack", "jira", "PostgreSQL", "S3", "v2", "2024"];
const SENTENCE: &[&str] = &[
    "Returns",
    "the",
    "contents",
    "of",
    "a",
    "and",
    "for",
    "given",
    "named",
    "from",
    "with",
    "today's",
    "forecast",
    "Message",
    "customers",
    "repository.",
    "write-ahead",
    "documents",
];

fn one_of(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    proptest::sample::select(words).prop_map(str::to_owned)
}

fn joined(
    words: impl Strategy<Value = String> + 'static,
    by: &'static str,
    max: usize,
) -> BoxedStrategy<String> {
    vec(words, 0..=max)
        .prop_map(move |words| words.join(by))
        .boxed()
}

pub(crate) fn realistic_name() -> BoxedStrategy<String> {
    let rest = joined(prop_oneof![one_of(NOUNS), one_of(PRODUCTS)], "-", 2);
    (one_of(VERBS), rest)
        .prop_map(|(verb, rest)| format!("{verb}-{rest}"))
        .boxed()
}

pub(crate) fn realistic_text() -> BoxedStrategy<String> {
    joined(prop_oneof![one_of(SENTENCE), one_of(NOUNS)], " ", 12)
}

/// Texts that try the edges: few letters, so that everything is near everything; marks, scripts without spaces, signs, long words.
fn odd_text() -> BoxedStrategy<String> {
    let word = prop_oneof![
        8 => "[ab]{1,9}",
        2 => "a{40,60}",
        2 => "[aàá\u{300}\u{301}eé]{1,9}",
        2 => "[天気予報をกำ가힣]{1,7}",
        1 => "[ßẞsSiıİI]{1,6}",
        1 => "[🔧👩\u{200d}\u{fe0f}a\u{ad}]{1,5}",
        1 => "[+_./@ -]{1,3}",
    ];
    (
        vec(word, 0..=5),
        proptest::sample::select(&[" ", "-", ""][..]),
    )
        .prop_map(|(words, by)| words.join(by))
        .boxed()
}

pub(crate) fn document(
    name: BoxedStrategy<String>,
    text: BoxedStrategy<String>,
    ids: std::ops::Range<u64>,
) -> impl Strategy<Value = Document> {
    let names = (name.clone(), name.clone(), vec(name, 0..2));
    let texts = (
        text.clone(),
        text.clone(),
        vec(text.clone(), 0..3),
        vec(text, 0..2),
    );
    // Few times and ties, so that they meet.
    let places = (ids, proptest::option::of(0..3i64), "[ab]?@v[12]");
    (names, texts, places).prop_map(|(names, texts, (id, second, tie))| Document {
        id,
        slug: names.0.clone(),
        name: if id % 2 == 0 {
            names.0.replace('-', "_")
        } else {
            names.1
        },
        aliases: names.2,
        title: texts.0,
        description: texts.1,
        tags: texts.2,
        keywords: texts.3,
        // No two share a place.
        tie: format!("{tie} {id}"),
        modified: second.map(|second| Timestamp::from_second(second).unwrap()),
    })
}

/// A query, mostly made of what is there: a start of a text, or a text with a letter more, less, or another.
pub(crate) fn query(text: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let edited = (
        text.clone(),
        any::<proptest::sample::Index>(),
        0..4u8,
        0..2u8,
    );
    let edited = edited.prop_map(|(text, at, edit, edits)| {
        let mut letters: Vec<char> = text.chars().collect();
        for number in 0..=edits {
            let at = at
                .index(letters.len() + 1)
                .saturating_sub(usize::from(number) * 3);
            match edit {
                0 => letters.insert(at, 'x'),
                1 if at < letters.len() => drop(letters.remove(at)),
                2 if at < letters.len() => letters[at] = 'a',
                3 if at + 1 < letters.len() => letters.swap(at, at + 1),
                _ => letters.truncate(at),
            }
        }
        letters.into_iter().collect()
    });
    // As people write names who leave the signs out.
    let squashed = text
        .clone()
        .prop_map(|text| format!("+{}", text.replace(['-', '_', ' '], "")));
    prop_oneof![3 => text, 3 => edited, 1 => squashed].boxed()
}

#[derive(Debug, Clone)]
enum Step {
    Change {
        gone: Vec<u64>,
        come: Vec<Document>,
    },
    Search {
        query: String,
        limit: usize,
        wanted: u64,
    },
}

fn steps(name: BoxedStrategy<String>, text: BoxedStrategy<String>) -> BoxedStrategy<Vec<Step>> {
    // Few ids, so that they meet.
    let document = document(name.clone(), text.clone(), 0..24);
    let change = (vec(0..24u64, 0..3), vec(document, 0..6))
        .prop_map(|(gone, come)| Step::Change { gone, come });
    // Short texts are the better queries: every word has to match.
    let query = prop_oneof![query(name), query(text), query("[a-z天]{0,2}".boxed())];
    let search = (
        query,
        1..9usize,
        prop_oneof![3 => Just(u64::MAX), 1 => any::<u64>()],
    )
        .prop_map(|(query, limit, wanted)| Step::Search {
            query,
            limit,
            wanted,
        });
    vec(prop_oneof![2 => change, 3 => search], 1..24).boxed()
}

fn follow(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let index = Index::default();
    let mut documents = BTreeMap::new();
    for step in steps {
        match step {
            Step::Change { gone, come } => {
                index.apply(&gone, come.clone());
                documents.retain(|id, _| !gone.contains(id));
                documents.extend(come.into_iter().map(|document| (document.id, document)));
                prop_assert_eq!(index.len(), documents.len());
            }
            Step::Search {
                query,
                limit,
                wanted,
            } => {
                let is_wanted = |id: u64| wanted >> id & 1 == 1;
                let hits = all_pages(&index, &query, limit, is_wanted);
                prop_assert_eq!(hits, expected(&documents, &query, is_wanted), "{:?}", query);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn realistic_tools_are_found_as_the_rank_says(steps in steps(realistic_name(), realistic_text())) {
        follow(steps)?;
    }

    #[test]
    fn odd_texts_are_found_as_the_rank_says(steps in steps(odd_text(), odd_text())) {
        follow(steps)?;
    }

    #[test]
    fn no_text_is_a_position_by_chance(text in "[A-Za-z0-9_-]{0,80}") {
        prop_assert_eq!(Position::parse(&text), None);
    }
}

/// A document that is found by the words of its slug.
fn tool(id: u64, slug: &str, second: i64) -> Document {
    Document {
        id,
        slug: slug.to_owned(),
        name: slug.replace('-', "_"),
        aliases: Vec::new(),
        title: String::new(),
        description: format!("Does what {} tools do.", slug.replace('-', " ")),
        tags: Vec::new(),
        keywords: Vec::new(),
        tie: format!("bundle@v1 {id}"),
        modified: Some(Timestamp::from_second(second).unwrap()),
    }
}

fn ids(page: &Page) -> Vec<u64> {
    page.hits.iter().map(|hit| hit.id).collect()
}

#[test]
fn pages_lose_and_repeat_nothing_that_stays_while_the_rest_changes() {
    let index = Index::default();
    let stays = |id: u64| !id.is_multiple_of(3);
    let slug = |id: u64| format!("{}-{id}", ["report", "daily-report"][id as usize % 2]);
    index.apply(
        &[],
        (0..600)
            .map(|id| tool(id, &slug(id), id as i64 % 7))
            .collect(),
    );
    let mut seen = Vec::new();
    let mut after = None;
    for round in 0.. {
        let page = index.search("report", after.as_ref(), 17, |_| true);
        seen.extend(
            page.hits
                .iter()
                .map(|hit| hit.id)
                .filter(|id| stays(*id) && *id < 600),
        );
        // The last hit goes, others are changed, and new ones come before and after it.
        let gone: Vec<u64> = page
            .hits
            .iter()
            .map(|hit| hit.id)
            .filter(|id| !stays(*id))
            .collect();
        let come =
            (0..5).map(|number| tool(1000 + round * 5 + number, "report", number as i64 * 2));
        index.apply(&gone, come.collect());
        let Some(next) = page.next else { break };
        after = Some(next);
    }
    let mut sorted = seen.clone();
    sorted.sort_unstable();
    let all: Vec<u64> = (0..600).filter(|id| stays(*id)).collect();
    assert_eq!(sorted, all, "each that stayed, once");
}

#[test]
fn what_is_changed_while_segments_are_merged_is_found_as_changed() {
    let index = Index::default();
    let mut documents = BTreeMap::new();
    for round in 0..400u64 {
        let come: Vec<Document> = (0..7)
            .map(|number| (round * 31 + number * 97) % 900)
            .map(|id| {
                tool(
                    id,
                    ["alpha-beta", "beta-gamma", "gamma-one"][(round % 3) as usize],
                    id as i64 % 5,
                )
            })
            .collect();
        let gone = [(round * 13) % 900];
        index.apply(&gone, come.clone());
        documents.retain(|id, _| !gone.contains(id));
        documents.extend(come.into_iter().map(|document| (document.id, document)));
        if round % 80 == 79 {
            for query in ["beta", "gamma o", "gmama", ""] {
                let hits = all_pages(&index, query, 100, |_| true);
                assert_eq!(
                    hits,
                    expected(&documents, query, |_| true),
                    "{query} in round {round}"
                );
            }
        }
    }
    assert!(index.size().segments < 40, "{:?}", index.size());
}

#[test]
fn a_change_is_visible_to_the_next_search() {
    let index = Index::default();
    index.apply(&[], vec![tool(1, "read-file", 1), tool(2, "write-file", 2)]);
    assert_eq!(ids(&index.search("+readfile", None, 10, |_| true)), [1]);
    assert_eq!(ids(&index.search("file", None, 10, |_| true)), [2, 1]);
    index.apply(&[], vec![tool(1, "read-file", 3)]);
    assert_eq!(ids(&index.search("file", None, 10, |_| true)), [1, 2]);
    index.apply(&[1], Vec::new());
    assert_eq!(ids(&index.search("file", None, 10, |_| true)), [2]);
    index.apply(&[2, 3], Vec::new());
    assert!(index.is_empty());
    assert_eq!(index.search("", None, 10, |_| true), Page::default());
}
