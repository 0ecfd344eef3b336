//! The files that a pattern or a directory stands for: `sh ./*.sh`, `run-parts scripts`, `find scripts -exec sh {} \;`.
//!
//! What a program takes of them is not known, so all count, and one that was not there when the person was asked counts, too. Patterns
//! are taken wider than the shell takes them where they are more than `*` and `?`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::{Part, Word};

/// How many levels of a directory are looked at.
const MAX_DEPTH: usize = 3;
/// Directories that no one means when they name one around them.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];

/// Several files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Many {
    /// Those that fit a pattern, from a directory.
    Fitting(PathBuf, String),
    /// Those below a directory.
    Below(PathBuf),
}

impl Many {
    /// The files as they are now, in the order of the shell. Blocks.
    pub(super) fn files(&self, looks: &mut usize) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        match self {
            Many::Below(directory) => below(directory, MAX_DEPTH, looks, &mut found),
            Many::Fitting(directory, pattern) => {
                let parts: Vec<&str> = pattern.split('/').collect();
                fitting(directory, &parts, looks, &mut found);
            }
        }
        found
    }
}

/// The pattern that a word is, if it is nothing else.
pub(super) fn pattern(word: &Word) -> Option<String> {
    if word.is_static() {
        return None;
    }
    let parts = word.parts.iter().map(|part| match part {
        Part::Text(text) | Part::Glob(text) => Some(text.as_str()),
        Part::Dynamic(_) | Part::Variable(_) => None,
    });
    parts.collect()
}

fn below(directory: &Path, depth: usize, looks: &mut usize, found: &mut BTreeSet<PathBuf>) {
    for (path, is_directory) in entries(directory, looks) {
        let name = path.file_name().and_then(|name| name.to_str());
        if !is_directory {
            found.insert(path);
        } else if depth > 1 && !name.is_some_and(|name| SKIPPED.contains(&name)) {
            below(&path, depth - 1, looks, found);
        }
    }
}

fn fitting(directory: &Path, parts: &[&str], looks: &mut usize, found: &mut BTreeSet<PathBuf>) {
    let Some((first, rest)) = parts.split_first() else {
        return;
    };
    if first.contains("**") {
        below(directory, MAX_DEPTH, looks, found);
    } else if !first.contains(['*', '?', '[', '{', '(', '\\']) {
        let path = directory.join(first);
        match rest.is_empty() {
            true => found.extend(path.is_file().then_some(path)),
            false => fitting(&path, rest, looks, found),
        }
    } else {
        for (path, is_directory) in entries(directory, looks) {
            let name = path.file_name().map(|name| name.to_string_lossy());
            if !name.is_some_and(|name| fits(first.as_bytes(), name.as_bytes())) {
                continue;
            }
            match rest.is_empty() {
                true if is_directory => below(&path, MAX_DEPTH - 1, looks, found),
                true => {
                    found.insert(path);
                }
                false => fitting(&path, rest, looks, found),
            }
        }
    }
}

/// The entries of a directory, and whether it is one itself. Nothing once that was too much.
fn entries(directory: &Path, looks: &mut usize) -> Vec<(PathBuf, bool)> {
    let left = super::named_files::MAX_LOOKS.saturating_sub(*looks);
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let entries: Vec<(PathBuf, bool)> = entries
        .take(left)
        .map(|entry| {
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            (entry.path(), is_directory)
        })
        .collect();
    *looks += entries.len();
    entries
}

/// Whether a name fits a pattern of `*` and `?`; one with other signs is fitted by all.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    if pattern.iter().any(|sign| b"[{(\\".contains(sign)) {
        return true;
    }
    // Where the last `*` was, and how much of the name it takes.
    let (mut at, mut done, mut star) = (0, 0, None);
    while done < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, done));
                at += 1;
            }
            Some(sign) if *sign == b'?' || *sign == name[done] => {
                at += 1;
                done += 1;
            }
            _ => match star {
                Some((star_at, taken)) => {
                    star = Some((star_at, taken + 1));
                    at = star_at + 1;
                    done = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|sign| *sign == b'*')
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn names_fit_patterns_as_in_a_shell() {
        for (pattern, name, expected) in [
            ("*.sh", "a.sh", true),
            ("*.sh", "a.sh.bak", false),
            ("a?c*", "abcd", true),
            ("a?c*", "ac", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxa", false),
            ("[ab].sh", "z", true),
            ("*", "", true),
        ] {
            let fitted = fits(pattern.as_bytes(), name.as_bytes());
            assert_eq!(fitted, expected, "{pattern} {name}");
        }
    }
}
