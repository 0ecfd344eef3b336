//! `search_code` with `mode: "meaning"` on real code: the crates in cargo's registry.
//!
//! For some functions with a doc comment, the comment is taken out of the code and its first sentence is the question. Found is a function if
//! a place within it is among the first ten. Beside it stand searches for text: the sentence as it is, and the lines that have most of its words,
//! which is the best that a person gets out of a list of matches. `cargo bench -p toolcrib --bench meaning`; without a registry it says `SKIPPED`.

#![expect(clippy::unwrap_used, reason = "a benchmark may fail")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib::workspace::Workspace;
use toolcrib::{CallRequest, RegisterBuiltins as _, Registry};

/// How many lines of code are searched, and how many questions are asked.
const LINES: usize = 100_000;
const QUESTIONS: usize = 150;
const TEST_LINES: usize = 3_000;

/// One in so many functions with a comment is asked for.
const ONE_IN: usize = 12;

/// A question, and the function that it is about.
struct Question {
    text: String,
    path: String,
    line: u64,
    last: u64,
}

#[derive(Default)]
struct Score {
    found: usize,
    reciprocal: f64,
    times: Vec<Duration>,
}

impl Score {
    fn note(&mut self, place: Option<usize>, took: Duration) {
        self.times.push(took);
        if let Some(place) = place.filter(|place| *place < 10) {
            self.found += 1;
            self.reciprocal += 1.0 / (place + 1) as f64;
        }
    }

    fn print(&mut self, name: &str) -> f64 {
        self.times.sort();
        let count = self.times.len().max(1);
        let recall = self.found as f64 / count as f64;
        let p95 = self
            .times
            .get(count * 95 / 100)
            .copied()
            .unwrap_or_default();
        println!(
            "{name:<24} recall in 10 {recall:.3}   mean reciprocal rank {:.3}   p95 {p95:?}",
            self.reciprocal / count as f64
        );
        recall
    }
}

fn main() {
    // `cargo test --benches` runs this too: once through is enough to see that it works.
    let is_test = !std::env::args().any(|word| word == "--bench");
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let registry = home.and_then(|home| fs::read_dir(home.join("registry/src")).ok()?.next()?.ok());
    let Some(registry) = registry else {
        println!("SKIPPED: there is no registry of cargo here");
        return;
    };
    let work = tempfile::tempdir().unwrap();
    let lines = if is_test { TEST_LINES } else { LINES };
    let (copied, mut questions) = copy(&registry.path(), work.path(), lines);
    questions.truncate(QUESTIONS);
    println!("{copied} lines, {} questions", questions.len());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let registry = Registry::builder()
        .workspace(Workspace::open(work.path()).unwrap())
        .build();
    registry.register_builtins().unwrap();
    let ask = |arguments: Value| -> (Vec<Value>, Duration) {
        let call = json!({"name": "search_code", "arguments": arguments});
        let start = Instant::now();
        let outcome = runtime.block_on(registry.execute(CallRequest::from_json(call).unwrap()));
        let took = start.elapsed();
        let value = outcome.value().cloned().unwrap_or_default();
        (
            value["matches"].as_array().cloned().unwrap_or_default(),
            took,
        )
    };
    let (_, first) = ask(json!({"query": "anything", "mode": "meaning"}));
    println!("the first question, which makes the index: {first:?}");
    let (mut meaning, mut literal, mut words) =
        (Score::default(), Score::default(), Score::default());
    for question in &questions {
        let is_it = |found: &Value| {
            let line = found["line"].as_u64().unwrap_or_default();
            let last = found["lastLine"].as_u64().unwrap_or(line);
            found["path"] == question.path.as_str()
                && line <= question.last
                && question.line <= last
        };
        let (found, took) = ask(json!({"query": question.text, "mode": "meaning"}));
        meaning.note(found.iter().position(is_it), took);
        let (found, took) =
            ask(json!({"query": question.text, "caseSensitive": false, "maxResults": 10}));
        literal.note(found.iter().position(is_it), took);
        let telling: Vec<String> = question
            .text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| word.len() > 3)
            .map(str::to_lowercase)
            .collect();
        let pattern = telling.join("|");
        let (mut found, took) = ask(
            json!({"query": pattern, "regex": true, "caseSensitive": false, "maxResults": 1000}),
        );
        let count = |found: &Value| {
            let text = found["text"].as_str().unwrap_or_default().to_lowercase();
            telling
                .iter()
                .filter(|word| text.contains(word.as_str()))
                .count()
        };
        found.sort_by_key(|found| std::cmp::Reverse(count(found)));
        words.note(found.iter().position(is_it), took);
    }
    let recall = meaning.print("meaning");
    let literal = literal.print("text, the sentence");
    let words = words.print("text, lines by words");
    let p95 = meaning
        .times
        .get(meaning.times.len() * 95 / 100)
        .copied()
        .unwrap_or_default();
    if !is_test {
        assert!(
            recall >= 2.0 * literal.max(words),
            "less than twice the recall of a search for text"
        );
        assert!(p95 <= Duration::from_millis(100), "{p95:?} is over 100 ms");
    }
}

/// Copies crates until there are enough lines, and takes the comments out that become questions.
fn copy(registry: &Path, to: &Path, enough: usize) -> (usize, Vec<Question>) {
    let mut crates: Vec<PathBuf> = fs::read_dir(registry)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    crates.sort();
    let (mut lines, mut documented, mut questions) = (0, 0, Vec::new());
    for source in crates {
        let mut left = vec![source.join("src")];
        while let Some(directory) = left.pop() {
            let mut entries: Vec<PathBuf> = fs::read_dir(directory)
                .map(|entries| {
                    entries
                        .filter_map(|entry| Some(entry.ok()?.path()))
                        .collect()
                })
                .unwrap_or_default();
            entries.sort();
            for path in entries {
                if path.is_dir() {
                    left.push(path);
                    continue;
                }
                let is_rust = path.extension().is_some_and(|extension| extension == "rs");
                // Bindings and tables that programs wrote.
                let Some(text) = fs::read_to_string(&path)
                    .ok()
                    .filter(|text| is_rust && text.len() < 200_000)
                else {
                    continue;
                };
                let name = path.strip_prefix(registry).unwrap();
                let kept = without_some_comments(
                    &text,
                    &mut documented,
                    name.to_str().unwrap(),
                    &mut questions,
                );
                lines += kept.len();
                let path = to.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, kept.join("\n")).unwrap();
            }
        }
        if lines >= enough {
            break;
        }
    }
    (lines, questions)
}

fn without_some_comments<'t>(
    text: &'t str,
    documented: &mut usize,
    path: &str,
    questions: &mut Vec<Question>,
) -> Vec<&'t str> {
    let mut kept: Vec<&str> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        if is_function(line) {
            let is_above = |line: &&&str| {
                let line = line.trim();
                line.starts_with("///") || line.starts_with("#[")
            };
            let above = kept.iter().rev().take_while(is_above).count();
            let start = kept.len() - above;
            let comment: Vec<&str> = kept[start..]
                .iter()
                .filter_map(|line| line.trim().strip_prefix("///"))
                .collect();
            let comment = comment.join(" ").replace(['`', '[', ']'], "");
            let sentence = comment
                .split(". ")
                .next()
                .unwrap_or_default()
                .split("  ")
                .next()
                .unwrap_or_default();
            let words = sentence.split_whitespace().count();
            if (5..=30).contains(&words) {
                *documented += 1;
                if documented.is_multiple_of(ONE_IN) {
                    let others: Vec<&str> = kept
                        .drain(start..)
                        .filter(|line| !line.trim().starts_with("///"))
                        .collect();
                    kept.extend(others);
                    let indent = line.len() - line.trim_start().len();
                    let body = lines[at + 1..].iter().take_while(|line| {
                        line.trim().is_empty() || line.len() - line.trim_start().len() > indent
                    });
                    let first = kept.len() as u64 + 1;
                    questions.push(Question {
                        text: sentence.trim().to_owned(),
                        path: path.to_owned(),
                        line: first,
                        last: first + body.count() as u64,
                    });
                }
            }
        }
        kept.push(line);
    }
    kept
}

fn is_function(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.strip_prefix("pub ").unwrap_or(line);
    let rest = rest.strip_prefix("const ").unwrap_or(rest);
    let rest = rest.strip_prefix("async ").unwrap_or(rest);
    let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
    rest.starts_with("fn ")
}
