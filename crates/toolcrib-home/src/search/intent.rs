//! Finds what people mean by some words: a more forgiving search than the four classes of S4, for models and for people at a terminal.
//!
//! Any word counts. Words are compared by their stems, so that `renaming` finds `rename`; words of a name count more than keywords, and
//! those more than a description; a word that many tools have counts less than one that few have; and words of everyday English that
//! mean the same (`folder`, `directory`) find each other. The result is a number for each tool, a pure function of the texts.

use std::collections::{HashMap, HashSet};

use super::Document;
use super::words::plain_words;
use crate::model::stem::{is_stop_word, stem};

/// What a word counts, by where a tool has it.
const NAME: f32 = 5.0;
const PHRASE: f32 = 7.0;
const KEYWORD: f32 = 4.0;
/// A word of a keyword of several words, which means something only beside the others.
const PART_OF_KEYWORD: f32 = 2.0;
const TITLE: f32 = 3.0;
const TAG: f32 = 2.0;
const FIRST_SENTENCE: f32 = 1.5;
const DESCRIPTION: f32 = 1.0;

/// What a match counts that is not of the word itself.
const SYNONYM: f32 = 0.75;
const BEGINNING: f32 = 0.6;
const MISSPELT: f32 = 0.5;

/// How much more the first word counts: it mostly says what is to be done, as in `unlink old logs`.
const FIRST_WORD: f32 = 1.3;

/// The words of a query that count.
const MAX_WORDS: usize = 16;

/// The least score, relative to the best, with which a tool is shown.
const SHOWN: f32 = 0.25;

/// Words that mean about the same where tools are concerned. A word may be in several groups.
const GROUPS: &[&[&str]] = &[
    &[
        "delete", "remove", "erase", "unlink", "destroy", "drop", "purge", "rm", "wipe", "discard",
        "rid",
    ],
    &["directory", "folder", "dir"],
    &["list", "show", "display", "enumerate", "ls"],
    &[
        "read", "open", "view", "show", "display", "see", "print", "cat", "content",
    ],
    &["write", "save", "store", "create", "put"],
    &["create", "make", "new", "add", "generate"],
    &[
        "edit", "change", "modify", "update", "replace", "alter", "adjust",
    ],
    &["move", "rename", "mv", "relocate"],
    &[
        "find", "search", "look", "locate", "lookup", "query", "seek",
    ],
    &[
        "run",
        "execute",
        "start",
        "launch",
        "evaluate",
        "invoke",
        "compute",
        "calculate",
    ],
    &["command", "shell", "bash", "terminal", "console", "process"],
    &["install", "add", "setup"],
    &["package", "dependency", "library", "module", "crate"],
    &["test", "check", "verify"],
    &[
        "format", "beautify", "prettify", "tidy", "indent", "style", "lint",
    ],
    &["code", "source", "program", "script"],
    &["web", "internet", "online", "www"],
    &["fetch", "download", "get", "retrieve", "load"],
    &["page", "url", "site", "website", "http", "link"],
    &["history", "log", "past"],
    &["diff", "difference", "compare", "changes", "change"],
    &["push", "upload", "publish", "send"],
    &["database", "db", "sql", "table"],
    &["repository", "repo", "git"],
    &["file", "document", "text"],
    &["mail", "email", "message"],
    &["picture", "image", "photo"],
    &["weather", "forecast", "temperature"],
    &["ticket", "issue", "bug"],
    &["person", "user", "people", "contact"],
    &["money", "payment", "pay", "invoice"],
    &["calendar", "event", "appointment", "meeting"],
];

/// A tool, read for this search.
#[derive(Debug, Default)]
pub struct ToolWords {
    /// What each stem counts.
    stems: HashMap<String, f32>,
    /// Names and keywords of several words, as stems.
    phrases: Vec<Vec<String>>,
}

impl ToolWords {
    /// Reads what a tool is found by.
    pub fn of(document: &Document) -> Self {
        let mut reading = ToolWords::default();
        let names = [&document.slug, &document.name];
        for name in names.into_iter().chain(&document.aliases) {
            let words = reading.note(name, NAME);
            if words.len() > 1 && !reading.phrases.contains(&words) {
                reading.phrases.push(words);
            }
        }
        for keyword in &document.keywords {
            let count = plain_words(keyword).len();
            let weight = if count > 1 { PART_OF_KEYWORD } else { KEYWORD };
            let words = reading.note(keyword, weight);
            if count > 1 {
                reading.phrases.push(words);
            }
        }
        reading.note(&document.title, TITLE);
        for tag in &document.tags {
            reading.note(tag, TAG);
        }
        let first = crate::model::text::first_sentence(&document.description);
        reading.note(first, FIRST_SENTENCE);
        reading.note(&document.description, DESCRIPTION);
        reading
    }

    fn note(&mut self, text: &str, weight: f32) -> Vec<String> {
        // Words that say nothing are left out of sentences; a name or keyword is what it is.
        let says = |word: &&String| weight > FIRST_SENTENCE || !is_stop_word(word);
        let words = plain_words(text);
        let stems: Vec<String> = words.iter().filter(says).map(|word| stem(word)).collect();
        for stem in &stems {
            let own = self.stems.entry(stem.clone()).or_default();
            *own = own.max(weight);
        }
        stems
    }
}

/// The words of a query.
#[derive(Debug)]
pub struct QueryWords(Vec<Word>);

#[derive(Debug)]
struct Word {
    stem: String,
    /// Stems of words that mean the same.
    others: Vec<String>,
}

impl QueryWords {
    /// Reads a query. Words that say nothing count only if there are no others.
    pub fn of(query: &str) -> Self {
        let all = plain_words(query);
        let telling = |word: &&String| !is_stop_word(word);
        let mut words: Vec<&String> = all.iter().filter(telling).collect();
        if words.is_empty() {
            words = all.iter().collect();
        }
        let mut wanted: Vec<Word> = Vec::new();
        for word in words.into_iter().take(MAX_WORDS) {
            let stem = stem(word);
            if wanted.iter().any(|word| word.stem == stem) {
                continue;
            }
            wanted.push(Word {
                others: synonyms(&stem),
                stem,
            });
        }
        QueryWords(wanted)
    }
}

fn synonyms(wanted: &str) -> Vec<String> {
    let mut others: Vec<String> = Vec::new();
    for group in GROUPS {
        let stems: Vec<String> = group.iter().map(|word| stem(word)).collect();
        if stems.iter().any(|stem| stem == wanted) {
            for other in stems {
                if other != wanted && !others.contains(&other) {
                    others.push(other);
                }
            }
        }
    }
    others
}

/// Scores tools: their places in `readings`, the best first, with their scores. Tools that fit much worse than the best are left out.
pub fn rank(wanted: &QueryWords, readings: &[&ToolWords]) -> Vec<(usize, f32)> {
    let count = readings.len() as f32;
    // How rare each word is: what only one tool has says most.
    let rarity: Vec<f32> = wanted
        .0
        .iter()
        .map(|word| {
            let having = readings
                .iter()
                .filter(|reading| reading.stems.contains_key(&word.stem))
                .count();
            (1.0 + count / (1.0 + having as f32)).ln().max(0.3)
        })
        .collect();
    let stems: HashSet<&str> = wanted.0.iter().map(|word| word.stem.as_str()).collect();
    let mut scores: Vec<(usize, f32)> = readings
        .iter()
        .enumerate()
        .filter_map(|(index, reading)| {
            let score = score(wanted, &rarity, &stems, reading);
            (score > 0.0).then_some((index, score))
        })
        .collect();
    scores.sort_by(|(a, score), (b, other)| other.total_cmp(score).then(a.cmp(b)));
    if let Some((_, best)) = scores.first().copied() {
        scores.retain(|(_, score)| *score >= best * SHOWN);
    }
    scores
}

fn score(wanted: &QueryWords, rarity: &[f32], stems: &HashSet<&str>, reading: &ToolWords) -> f32 {
    let (mut sum, mut found, mut possible) = (0.0, 0.0, 0.0);
    for (place, (word, rarity)) in wanted.0.iter().zip(rarity).enumerate() {
        possible += rarity;
        let weight = weight(word, reading);
        if weight > 0.0 {
            let more = if place == 0 { FIRST_WORD } else { 1.0 };
            sum += rarity * weight * more;
            found += rarity;
        }
    }
    for phrase in &reading.phrases {
        if phrase.iter().all(|stem| stems.contains(stem.as_str())) {
            sum += PHRASE;
        }
    }
    if possible == 0.0 {
        return 0.0;
    }
    // A tool that fits all of what is wanted is better than one that fits a part of it well.
    sum * (0.4 + 0.6 * found / possible)
}

/// What a word counts for a tool.
fn weight(word: &Word, reading: &ToolWords) -> f32 {
    let exact = reading.stems.get(&word.stem).copied().unwrap_or(0.0);
    let others = word.others.iter();
    let synonym = others
        .filter_map(|other| reading.stems.get(other))
        .fold(0.0_f32, |best, weight| best.max(SYNONYM * weight));
    let best = exact.max(synonym);
    if best > 0.0 || word.stem.chars().count() < 4 {
        return best;
    }
    let near = reading.stems.iter().filter_map(|(stem, weight)| {
        if stem.starts_with(&word.stem) {
            Some(BEGINNING * weight)
        } else if is_misspelt(&word.stem, stem) {
            Some(MISSPELT * weight)
        } else {
            None
        }
    });
    near.fold(0.0, f32::max)
}

/// Whether two words differ in one letter, or in two neighbours that changed places.
fn is_misspelt(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len() < 5 || b.len() < 5 || a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let start = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[start..], &b[start..]);
    match (a, b) {
        ([], _) | (_, []) => true,
        ([_, a @ ..], [_, b @ ..]) if a == b => true,
        ([_, a @ ..], b) if a == b => true,
        (a, [_, b @ ..]) if a == b => true,
        ([x, y, a @ ..], [v, w, b @ ..]) => x == w && y == v && a == b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_forgiven_in_long_words() {
        assert!(is_misspelt("direktory", "directory") && is_misspelt("brnach", "branch"));
        assert!(is_misspelt("comit", "commit"));
        assert!(!is_misspelt("push", "pull") && !is_misspelt("format", "forbid"));
    }

    fn reading(name: &str, description: &str, keywords: &[&str]) -> ToolWords {
        ToolWords::of(&Document {
            id: 0,
            slug: name.replace('_', "-"),
            name: name.to_owned(),
            aliases: Vec::new(),
            title: String::new(),
            description: description.to_owned(),
            tags: Vec::new(),
            keywords: keywords.iter().map(|word| (*word).to_owned()).collect(),
            tie: String::new(),
            modified: None,
        })
    }

    #[track_caller]
    fn order(query: &str, readings: &[ToolWords], expected: &[usize]) {
        let readings: Vec<&ToolWords> = readings.iter().collect();
        let ranked = rank(&QueryWords::of(query), &readings);
        let order: Vec<usize> = ranked.into_iter().map(|(index, _)| index).collect();
        assert_eq!(order, expected, "{query}");
    }

    #[test]
    fn names_come_before_keywords_and_keywords_before_descriptions() {
        let tools = [
            reading("notes", "Can rename things.", &[]),
            reading("shuffle", "Does something.", &["rename"]),
            reading("rename_it", "Does something.", &[]),
            reading("other", "Does nothing.", &[]),
        ];
        order("rename", &tools, &[2, 1, 0]);
        order("please renaming the stuff", &tools, &[2, 1, 0]);
        order("xyzzy", &tools, &[]);
        order("the", &tools, &[]);
    }
}
