//! The protected names, which are in `names.toml`: who reads each, when, and where that is written down.
//!
//! A name belongs here if some program runs it, or takes commands from it, without the user asking for that file: a shell, a
//! debugger or an interpreter that starts in the directory, an editor that opens it, git, an agent that works in it. A file that
//! runs only because the user starts it (`Makefile`, `package.json`, `.cargo/config.toml`) does not.

use std::sync::LazyLock;

/// A name in the root of a workspace that other programs run or take commands from.
#[derive(Debug)]
pub struct ProtectedName {
    /// The name, or a path of two names; one that begins with `*` means every name with that ending.
    pub name: &'static str,
    /// The entries of a directory of that name that count; empty if all of it does.
    pub within: &'static [&'static str],
    /// The program, and what it does with it: a sentence about "it".
    pub effect: &'static str,
    /// Where the program's documentation or source code says so.
    pub source: &'static str,
}

const TABLE: &str = include_str!("names.toml");

/// Every protected name. Those of git repositories are besides, except for `.git` itself.
pub static NAMES: LazyLock<Vec<ProtectedName>> = LazyLock::new(|| {
    let rows = rows(TABLE, "protected").flat_map(|row| {
        let within: &[&str] = row.words("within").collect::<Vec<_>>().leak();
        row.words("names").map(move |name| ProtectedName {
            name,
            within,
            effect: row.value("effect"),
            source: row.value("source"),
        })
    });
    rows.collect()
});

/// A table of a file whose lines are `key = "value"`.
#[derive(Clone, Copy)]
pub(super) struct Row(&'static str);

/// The tables of this name.
pub(super) fn rows(text: &'static str, name: &str) -> impl Iterator<Item = Row> {
    let head = format!("[[{name}]]\n");
    let parts: Vec<&'static str> = text.split(head.as_str()).skip(1).collect();
    parts.into_iter().map(Row)
}

impl Row {
    pub(super) fn value(self, key: &str) -> &'static str {
        let mut lines = self.0.lines();
        let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
        value.unwrap_or_default().trim_end_matches('"')
    }

    pub(super) fn words(self, key: &str) -> impl Iterator<Item = &'static str> {
        self.value(key).split(' ').filter(|word| !word.is_empty())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Every line of a file is one that is read, and every table has these keys.
    pub(in crate::protect) fn check(text: &str, head: &str, required: &[&str], optional: &[&str]) {
        let is_read = |line: &str| {
            let mut keys = required.iter().chain(optional);
            let value = keys.find_map(|key| line.strip_prefix(key)?.strip_prefix(" = \""));
            let value = value.and_then(|value| value.strip_suffix('"'));
            value.is_some_and(|value| !value.is_empty() && !value.contains(['"', '\\']))
        };
        let head = format!("[[{head}]]");
        for line in text.lines() {
            let is_known = line.is_empty() || line.starts_with('#') || line == head;
            assert!(is_known || is_read(line), "{line}");
        }
        for key in required {
            let start = format!("{key} = ");
            let lines = text.lines().filter(|line| line.starts_with(&start)).count();
            assert_eq!(lines, text.matches(&format!("{head}\n")).count(), "{key}");
        }
    }

    #[test]
    fn every_line_of_the_table_is_one_that_is_read() {
        check(
            TABLE,
            "protected",
            &["names", "effect", "source"],
            &["within"],
        );
    }
}
