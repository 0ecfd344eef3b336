//! Words by their stems, for searches that find what people mean: English, light, and alike for both sides of a comparison.

/// Words that say nothing of what is wanted.
const STOP_WORDS: &[&str] = &[
    "a",
    "about",
    "after",
    "all",
    "am",
    "an",
    "and",
    "any",
    "are",
    "as",
    "at",
    "be",
    "been",
    "but",
    "by",
    "can",
    "could",
    "did",
    "do",
    "does",
    "for",
    "from",
    "had",
    "has",
    "have",
    "he",
    "help",
    "her",
    "here",
    "his",
    "how",
    "i",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "just",
    "let",
    "like",
    "me",
    "my",
    "need",
    "no",
    "not",
    "of",
    "on",
    "one",
    "or",
    "our",
    "out",
    "over",
    "please",
    "she",
    "should",
    "so",
    "some",
    "somehow",
    "someone",
    "something",
    "than",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "thing",
    "things",
    "this",
    "those",
    "to",
    "tool",
    "tools",
    "us",
    "use",
    "using",
    "via",
    "want",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "who",
    "will",
    "with",
    "would",
    "you",
    "your",
];

/// Whether a word, in lower case, says nothing of what is wanted.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(&word)
}

/// The stem of a word: without the endings of plurals, of verbs, and of nouns made of verbs. Both sides are stemmed alike, so that a stem need not be
/// a word.
pub fn stem(word: &str) -> String {
    if !word.is_ascii() || word.len() < 4 {
        return word.to_owned();
    }
    let mut stem = word.to_owned();
    if stem.ends_with("ies") && stem.len() > 4 {
        stem.truncate(stem.len() - 3);
        stem.push('y');
    } else if ["sses", "xes", "ches", "shes"]
        .iter()
        .any(|end| stem.ends_with(end))
    {
        stem.truncate(stem.len() - 2);
    } else if stem.ends_with('s') && !["ss", "us", "is"].iter().any(|end| stem.ends_with(end)) {
        stem.truncate(stem.len() - 1);
    }
    for end in ["ation", "ing", "ed", "ion", "er", "ment"] {
        let Some(rest) = stem.strip_suffix(end) else {
            continue;
        };
        let has_vowel = rest.contains(['a', 'e', 'i', 'o', 'u', 'y']);
        let is_noun = end != "ion" || rest.ends_with(['t', 's']);
        if rest.len() >= 3 && has_vowel && is_noun {
            let bytes = rest.as_bytes();
            let doubled = bytes.len() > 3 && bytes[bytes.len() - 1] == bytes[bytes.len() - 2];
            let keeps = rest.ends_with(['l', 's', 'z']);
            let cut = if doubled && !keeps { 1 } else { 0 };
            stem = rest[..rest.len() - cut].to_owned();
            break;
        }
    }
    if stem.len() > 3 && stem.ends_with('e') {
        stem.pop();
    }
    if stem.len() > 3 && stem.ends_with('y') {
        stem.pop();
        stem.push('i');
    }
    stem
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            &["file", "files"][..],
            &["rename", "renames", "renamed", "renaming"],
            &["run", "runs", "running", "runner"],
            &["delete", "deletes", "deleted", "deleting", "deletion"],
            &["install", "installing", "installation"],
            &["format", "formatting", "formatter"],
            &["commit", "commits", "committed"],
            &["repository", "repositories"],
            &["branch", "branches"],
            &["search", "searches", "searching"],
        ] {
            let stems: HashSet<String> = forms.iter().map(|word| stem(word)).collect();
            assert_eq!(stems.len(), 1, "{forms:?}: {stems:?}");
        }
        assert_ne!(stem("status"), stem("state"));
        assert_ne!(stem("news"), stem("ness"));
    }
}
