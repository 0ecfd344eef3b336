//! The words of code: identifiers split at their seams, comments as they are, everything by its stem.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::model::stem::{is_stop_word, stem};

/// The longest word that counts.
const MAX_WORD: usize = 40;

/// What people write out and code shortens.
const SHORT: &[(&str, &[&str])] = &[
    ("address", &["addr"]),
    ("allocate", &["alloc"]),
    ("argument", &["arg", "args", "argv"]),
    ("array", &["arr"]),
    ("authentication", &["auth", "authenticate"]),
    ("boolean", &["bool"]),
    ("buffer", &["buf"]),
    ("capacity", &["cap"]),
    ("character", &["char", "chr", "chars"]),
    ("command", &["cmd"]),
    ("compare", &["cmp"]),
    ("config", &["cfg", "conf", "configuration", "configure"]),
    ("connection", &["conn"]),
    ("context", &["ctx", "cx"]),
    ("count", &["cnt"]),
    ("current", &["cur", "curr"]),
    ("database", &["db"]),
    ("destination", &["dst", "dest"]),
    ("directory", &["dir"]),
    ("document", &["doc"]),
    ("environment", &["env"]),
    ("equal", &["eq", "equality"]),
    ("error", &["err"]),
    ("execute", &["exec"]),
    ("expression", &["expr"]),
    ("function", &["fn", "func"]),
    ("identifier", &["ident", "id"]),
    ("index", &["idx", "indices", "indexes"]),
    ("information", &["info"]),
    ("initialize", &["init", "initial", "initialise"]),
    ("integer", &["int"]),
    ("iterator", &["iter", "iterate", "iteration"]),
    ("length", &["len", "long"]),
    ("library", &["lib"]),
    (
        "maximum",
        &["max", "maximal", "largest", "greatest", "longest"],
    ),
    ("memory", &["mem"]),
    ("message", &["msg"]),
    (
        "minimum",
        &["min", "minimal", "smallest", "shortest", "least"],
    ),
    ("mutable", &["mut", "mutably"]),
    ("number", &["num", "nr"]),
    ("object", &["obj"]),
    ("operation", &["op", "operator"]),
    ("option", &["opt", "optional"]),
    ("parameter", &["param"]),
    ("pointer", &["ptr"]),
    ("position", &["pos"]),
    ("previous", &["prev"]),
    ("random", &["rand", "rng"]),
    ("receive", &["recv"]),
    ("reference", &["ref"]),
    ("register", &["reg", "registry"]),
    ("request", &["req"]),
    ("response", &["resp", "res"]),
    ("sequence", &["seq"]),
    ("source", &["src"]),
    ("statistics", &["stats", "stat"]),
    ("string", &["str"]),
    ("synchronize", &["sync", "synchronous"]),
    ("temporary", &["tmp", "temp"]),
    ("uppercase", &["upper"]),
    ("lowercase", &["lower"]),
    ("utility", &["util", "utils"]),
    ("value", &["val"]),
    ("variable", &["var"]),
    ("vector", &["vec"]),
    ("version", &["ver"]),
];

/// Words of which one is often in a question and another in the code that answers it.
const ALIKE: &[&[&str]] = &[
    &[
        "create",
        "new",
        "construct",
        "make",
        "build",
        "generate",
        "initialize",
    ],
    &["return", "get", "fetch", "retrieve", "obtain"],
    &[
        "remove", "delete", "erase", "drop", "clear", "pop", "discard", "unset",
    ],
    &["insert", "add", "push", "append", "put", "extend"],
    &["set", "assign", "replace", "update", "change"],
    &["contain", "has", "include", "exist"],
    &["convert", "into", "transform", "cast", "from"],
    &["parse", "decode", "deserialize", "read"],
    &["encode", "serialize", "format", "write"],
    &["find", "search", "lookup", "locate", "get"],
    &["check", "validate", "verify", "is", "ensure"],
    &["start", "begin", "first", "front", "head"],
    &["end", "last", "finish", "back", "tail"],
    &["stop", "cancel", "abort", "shutdown", "close"],
    &["wait", "block", "sleep", "park"],
    &["empty", "blank", "none"],
    &["size", "length", "count", "number"],
    &["split", "divide", "separate", "chunk"],
    &["join", "concat", "merge", "combine", "concatenate"],
    &["run", "execute", "call", "invoke", "apply"],
    &["key", "entry"],
    &["copy", "clone", "duplicate"],
    &["key", "value", "entry"],
    &["send", "transmit", "write"],
    &["receive", "read"],
    &["retry", "again", "backoff", "repeat"],
    &["user", "account", "person"],
    &["login", "authentication", "signin", "credential"],
    &["print", "display", "show", "render", "format"],
    &["fail", "error", "panic"],
    &["slice", "bytes", "array"],
];

/// The stem of a word, written out if it is a usual abbreviation.
fn known(word: &str) -> String {
    static WRITTEN_OUT: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
        let pairs = SHORT
            .iter()
            .flat_map(|(long, short)| short.iter().map(|short| (stem(short), stem(long))));
        pairs.collect()
    });
    let stem = stem(word);
    WRITTEN_OUT.get(&stem).cloned().unwrap_or(stem)
}

/// Words that may stand for a word of a question.
pub(super) fn alike(word: &str) -> Vec<String> {
    let mut all = Vec::new();
    for group in ALIKE {
        let stems: Vec<String> = group.iter().map(|word| known(word)).collect();
        if stems.iter().any(|stem| stem == word) {
            all.extend(stems.into_iter().filter(|stem| stem != word));
        }
    }
    all.sort();
    all.dedup();
    all
}

/// Hands the stems of a text to `take`: `readHTTPHeader2` has `read`, `http` and `header`, and so has `read_http_header`.
pub(super) fn each(text: &str, mut take: impl FnMut(String)) {
    let mut word = String::new();
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    let mut finish = |word: &mut String| {
        if word.chars().nth(1).is_some()
            && word.len() <= MAX_WORD
            && !word.bytes().all(|byte| byte.is_ascii_digit())
        {
            take(known(word));
        }
        word.clear();
    };
    while let Some(c) = chars.next() {
        if !c.is_alphanumeric() {
            finish(&mut word);
        } else {
            let next_is_lower = chars.peek().is_some_and(|next| next.is_lowercase());
            let is_seam = c.is_uppercase()
                && (before.is_lowercase() || (before.is_uppercase() && next_is_lower))
                || c.is_numeric() != before.is_numeric() && before.is_alphanumeric();
            if is_seam {
                finish(&mut word);
            }
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    finish(&mut word);
}

/// The stems of a question, each once, without words that say nothing; all of them if there are no others.
pub(super) fn of_question(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for part in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
        let says_nothing = is_stop_word(&part.to_lowercase());
        each(part, |stem| all.push((stem, says_nothing)));
    }
    let has_others = all.iter().any(|(_, says_nothing)| !says_nothing);
    let mut words: Vec<String> = Vec::new();
    for (word, says_nothing) in all {
        if (has_others && says_nothing) || words.contains(&word) {
            continue;
        }
        words.push(word);
    }
    words.truncate(32);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_split_at_their_seams() {
        let words = |text: &str| {
            let mut words = Vec::new();
            each(text, |word| words.push(word));
            words
        };
        assert_eq!(words("readHTTPHeader2"), words("read_http_header"));
        assert_eq!(words("XMLHttpRequest"), words("xml http request"));
        assert_eq!(words("a 12 -- é"), Vec::<String>::new());
    }

    #[test]
    fn a_question_is_its_telling_words() {
        let words = of_question("Where is the HTTP header read?");
        assert_eq!(words, ["http", "head", "read"], "stems");
        assert!(!of_question("where is it").is_empty());
    }
}
