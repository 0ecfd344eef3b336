//! What `find_tools` says there is to be found: [`Discovery`].

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{CALL, FIND};
use crate::registry::{Entry, Source};
use crate::results::READ_RESULT;

/// The most bundles and subjects that are named.
const MAX_BUNDLES: usize = 12;
const MAX_SUBJECTS: usize = 24;
/// The longest description, in characters.
const MAX_LENGTH: usize = 1000;

/// The tools that find and call others, and what they say of themselves.
#[derive(Debug, Clone, Copy)]
pub struct Discovery;

impl Discovery {
    /// The name of the tool that finds others.
    pub const FIND: &'static str = FIND;

    /// The names of all of them, that which finds first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        std::iter::once(FIND).chain(CALL.iter().map(|(_, name)| *name))
    }

    /// Describes `find_tools` by the tools that it can find: how many there are in which bundle, and what they are about. The same tools
    /// have the same description, whatever their order.
    pub fn description(tools: &[Arc<Entry>]) -> String {
        let mut bundles: BTreeMap<&str, usize> = BTreeMap::new();
        let mut subjects: HashMap<&str, usize> = HashMap::new();
        // It is always listed, and so not to be found.
        let is_listed = |entry: &Entry| {
            entry.source() == Source::BuiltIn && entry.head().name.as_str() == READ_RESULT
        };
        let tools: Vec<&Arc<Entry>> = tools.iter().filter(|entry| !is_listed(entry)).collect();
        for entry in &tools {
            let head = entry.head();
            *bundles.entry(head.bundle.as_str()).or_default() += 1;
            let words = head.slug.as_str().split(['-', '_', '.']);
            let words = words.chain(head.tags.iter().map(String::as_str));
            let mut seen: Vec<&str> = Vec::new();
            for word in words.filter(|word| is_subject(word)) {
                if !seen.contains(&word) {
                    seen.push(word);
                    *subjects.entry(word).or_default() += 1;
                }
            }
        }
        let mut said = format!(
            "Find tools by words: {} are not listed here but can be called. Each comes with its description, the schema of its \
             arguments and the name of the tool to call it with: call_read_tool, call_write_tool or call_tool.",
            tools.len()
        );
        let mut by_size: Vec<(&str, usize)> = bundles.into_iter().collect();
        by_size.sort_by(|(a, count), (b, other)| other.cmp(count).then_with(|| a.cmp(b)));
        let more = by_size.len().saturating_sub(MAX_BUNDLES);
        let named = by_size.iter().take(MAX_BUNDLES);
        let mut named: Vec<String> = named
            .map(|(slug, count)| format!("{slug} ({count})"))
            .collect();
        if more > 0 {
            named.push(format!("{more} more"));
        }
        if !named.is_empty() {
            said.push_str(&format!(" Bundles: {}.", named.join(", ")));
        }
        let mut subjects: Vec<(&str, usize)> = subjects.into_iter().collect();
        subjects.sort_by(|(a, count), (b, other)| other.cmp(count).then_with(|| a.cmp(b)));
        let mut length = said.chars().count() + " Subjects: .".len();
        let mut named = Vec::new();
        for (word, _) in subjects.into_iter().take(MAX_SUBJECTS) {
            length += word.chars().count() + ", ".len();
            if length > MAX_LENGTH {
                break;
            }
            named.push(word);
        }
        if !named.is_empty() {
            said.push_str(&format!(" Subjects: {}.", named.join(", ")));
        }
        said
    }
}

/// Whether a word says what a tool is about.
fn is_subject(word: &str) -> bool {
    const EMPTY: &[&str] = &[
        "the", "and", "for", "with", "from", "all", "get", "set", "run", "read", "write", "tool",
        "tools",
    ];
    let is_long_enough = word.chars().nth(2).is_some();
    let has_letters = word.chars().any(char::is_alphabetic);
    // Tags are free texts: a sentence in one is not said in our name.
    let is_word = word.chars().all(|c| c.is_alphanumeric() || c == '-');
    is_long_enough && word.len() <= 32 && has_letters && is_word && !EMPTY.contains(&word)
}
