//! Every code of the table, shown by its own example.

use std::path::Path;

use toolcrib::definition::{CODES, Problem, code, read, render};
use toolcrib::manifest;

use crate::golden;

/// Codes of files rather than of texts; `toolcrib check` has them.
const OF_FILES: &[&str] = &[
    "unreadable",
    "yml-extension",
    "not-loaded",
    "shadowed",
    "unknown-tool",
    "tool-circle",
    "code-argument",
    "bad-argument",
    "provider-loss",
    "not-expressible",
    "argument-is-secret",
    "said-twice",
    "json-extension",
    "look-alike",
    "always-refused",
    "missing-place",
    "buffer-limit",
];

/// Codes of templates that only long or odd texts show; the tests of templates have them.
const RARE: &[&str] = &[
    "template-braces",
    "template-empty",
    "template-language",
    "template-option",
    "template-document",
    "template-too-long",
];

fn example(name: &str, text: Option<&str>) -> Option<Vec<u8>> {
    match (text, name) {
        (Some(text), _) => Some(text.as_bytes().to_vec()),
        (None, "file-too-large") => Some(vec![b'#'; 300_000]),
        (None, "not-utf8") => Some(b"description: Caf\xe9\n".to_vec()),
        (None, name) => {
            assert!(
                OF_FILES.contains(&name) || RARE.contains(&name),
                "`{name}` has no example"
            );
            None
        }
    }
}

#[test]
fn every_code_is_shown_by_its_example_and_nothing_else_is() {
    let (mut text, mut wrong) = (String::new(), Vec::new());
    for code in CODES.iter() {
        let Some(bytes) = example(code.name, code.example) else {
            continue;
        };
        // Examples of HTTP tools are JSON.
        let is_http = bytes.starts_with(b"{");
        let (problems, file) = match is_http {
            true => (manifest::read(&bytes, "tool").problems, "tool.json"),
            false => (read(&bytes, "tool").problems, "tool.yaml"),
        };
        let (of_this, others): (Vec<&Problem>, Vec<&Problem>) = problems
            .iter()
            .partition(|problem| problem.code == code.name);
        if of_this.is_empty() || !others.is_empty() {
            wrong.push(format!(
                "`{}`: {} times; others: {others:?}",
                code.name,
                of_this.len()
            ));
        } else if of_this[0].severity != code.severity {
            wrong.push(format!("`{}` is not {:?}", code.name, code.severity));
        }
        // The words of templates are reviewed where they are written.
        if !code.name.starts_with("template-") {
            for problem in of_this {
                text.push_str(&render(problem, file, &bytes, &|_, words| words.to_owned()));
                text.push('\n');
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    golden::assert_text("definition/problems.txt", &text);
}

#[test]
fn codes_are_named_once_and_have_words() {
    for (index, code) in CODES.iter().enumerate() {
        let twice = CODES[..index].iter().any(|other| other.name == code.name);
        assert!(!twice, "{}", code.name);
        for words in [code.meaning, code.remedy] {
            assert!(words.ends_with('.'), "{}: {words}", code.name);
        }
    }
}

/// Every code that the sources write is in the table, so that none is without an explanation.
#[test]
fn every_code_of_the_sources_can_be_explained() {
    let mut seen = 0;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../toolcrib-lang/src");
    let mut open = vec![
        sources.join("definition"),
        sources.join("template"),
        sources.join("manifest"),
    ];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            if entry.path().is_dir() {
                open.push(entry.path());
                continue;
            }
            let text = std::fs::read_to_string(entry.path()).unwrap();
            for start in [
                "Found::error(",
                "Found::warning(",
                "\"template-",
                "code: \"",
                "at_value(",
                "self.error(",
                "Err((",
            ] {
                for (at, _) in text.match_indices(start) {
                    let from = if start.starts_with('"') {
                        at
                    } else {
                        at + start.len()
                    };
                    let quoted = text[from..].trim_start();
                    let quoted = quoted.strip_prefix("at, ").unwrap_or(quoted);
                    let Some(quoted) = quoted.strip_prefix('"') else {
                        continue;
                    };
                    let name = quoted.split('"').next().unwrap();
                    let is_code = name
                        .chars()
                        .all(|c| c.is_ascii_lowercase() || c == '-' || c.is_ascii_digit());
                    if is_code && name.contains('-') {
                        seen += 1;
                        assert!(
                            code(name).is_some(),
                            "`{name}` in {:?} is not in the table",
                            entry.path()
                        );
                    }
                }
            }
        }
    }
    assert!(seen > 60, "only {seen} codes were found in the sources");
}
