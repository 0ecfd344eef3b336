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
    let groups = TABLE.split("[[protected]]\n").skip(1);
    let rows = groups.flat_map(|group| {
        let value = |key: &str| {
            let mut lines = group.lines();
            let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
            value.unwrap_or_default().trim_end_matches('"')
        };
        let words = |key: &str| value(key).split(' ').filter(|word| !word.is_empty());
        let within: &[&str] = words("within").collect::<Vec<_>>().leak();
        let (effect, source) = (value("effect"), value("source"));
        words("names").map(move |name| ProtectedName {
            name,
            within,
            effect,
            source,
        })
    });
    rows.collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_one_that_is_read() {
        let is_read = |line: &str| {
            let mut keys = ["names", "within", "effect", "source"].into_iter();
            let value = keys.find_map(|key| line.strip_prefix(key)?.strip_prefix(" = \""));
            let value = value.and_then(|value| value.strip_suffix('"'));
            value.is_some_and(|value| !value.is_empty() && !value.contains(['"', '\\']))
        };
        for line in TABLE.lines() {
            let is_known = line.is_empty() || line.starts_with('#') || line == "[[protected]]";
            assert!(is_known || is_read(line), "{line}");
        }
        for key in ["names", "effect", "source"] {
            let lines = TABLE.lines().filter(|line| line.starts_with(key)).count();
            assert_eq!(lines, TABLE.matches("[[protected]]\n").count(), "{key}");
        }
    }
}
