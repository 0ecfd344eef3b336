//! The files that a pattern or a directory stands for: `sh ./*.sh`, `run-parts scripts`, `find scripts -exec sh {} \;`.
//!
//! What a program takes of them is not known, so all count, and one that was not there when the person was asked counts, too. Patterns
//! are taken wider than the shell takes them where they are more than `*` and `?`, and where a variable has a value that is not known.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::bind::at_home;
use crate::shell::{Part, Word};

/// How many levels of a directory are looked at.
const MAX_DEPTH: usize = 3;
/// How many levels are searched for a name.
const MAX_SEARCH: usize = 8;
/// Directories that no one means when they name one around them.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];
/// What makes a pattern of a text.
const SIGNS: [char; 3] = ['*', '?', '['];
/// Stands for a value that is not known.
const UNKNOWN: char = '\0';

/// Several files.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Many {
    /// Those that fit a pattern, from a directory.
    Fitting(PathBuf, String),
    /// Those whose names fit a pattern, wherever they are below a directory.
    Called(PathBuf, String),
    /// Those below a directory.
    Below(PathBuf),
}

impl Many {
    /// The files of the tree at `root` as they are now, in the order of the shell. Blocks.
    pub(super) fn files(&self, root: &Path, looks: &mut usize) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        match self {
            Many::Below(directory) => below(directory, MAX_DEPTH, looks, &mut found),
            Many::Called(directory, pattern) => {
                called(directory, pattern, MAX_SEARCH, root, looks, &mut found);
            }
            Many::Fitting(directory, pattern) => {
                let parts: Vec<&str> = pattern
                    .split('/')
                    .filter(|part| !matches!(*part, "" | "."))
                    .collect();
                fitting(directory, &parts, root, looks, &mut found);
            }
        }
        found
    }
}

/// What a word may stand for besides the path that it is.
#[derive(Debug, PartialEq)]
pub(super) enum Pattern {
    /// Paths.
    Path(String),
    /// Names of files that are anywhere.
    Name(String),
}

impl Pattern {
    /// The pattern that a word is for the shell; also one around a variable of which nothing is known here.
    pub(super) fn of(word: &Word) -> Option<Pattern> {
        if word.is_static() {
            return None;
        }
        let mut text = String::new();
        for (at, part) in word.parts.iter().enumerate() {
            let next = word.parts.get(at + 1);
            let begins_path = at == 0
                && next.is_none_or(
                    |next| matches!(next, Part::Text(text) | Part::Glob(text) if text.starts_with('/')),
                );
            match part {
                Part::Text(part) | Part::Glob(part) => text.push_str(part),
                Part::Variable(name) if begins_path && name == "PWD" => text.push('.'),
                Part::Variable(name) if begins_path && name == "HOME" => text.push('~'),
                Part::Dynamic(source)
                    if begins_path
                        && matches!(source.as_str(), "$PWD" | "${PWD}" | "$(pwd)" | "`pwd`") =>
                {
                    text.push('.');
                }
                Part::Variable(_) | Part::Dynamic(_) => text.push(UNKNOWN),
            }
        }
        let Some(at) = text.find(UNKNOWN) else {
            return Some(Pattern::Path(text));
        };
        // `scripts/$name` is somewhere in there.
        if let Some(slash) = text[..at].rfind('/')
            && text[..slash].contains(|c: char| !matches!(c, '.' | '/' | '~'))
        {
            return Some(Pattern::Path(format!("{}/**", &text[..slash])));
        }
        let last = text.trim_end_matches('/').rsplit('/').next()?;
        let is_known = last.contains(|c| c != UNKNOWN);
        is_known.then(|| Pattern::Name(last.replace(UNKNOWN, "*")))
    }

    /// The pattern in fixed text that a program may take for one of names: `find . -name 'x*'`.
    pub(super) fn within(text: &str) -> Option<Pattern> {
        let last = text.trim_end_matches('/').rsplit('/').next()?;
        let is_pattern = last.contains(SIGNS) && !last.contains(['{', '(', '\\']);
        let is_pattern = is_pattern && last.contains(char::is_alphanumeric);
        is_pattern.then(|| Pattern::Name(last.to_owned()))
    }

    /// The files that it may stand for, in a directory of the tree at `root`.
    pub(super) fn in_directory(&self, directory: &Path, root: &Path) -> Many {
        let text = match self {
            Pattern::Name(name) => return Many::Called(root.to_owned(), name.clone()),
            Pattern::Path(text) => text,
        };
        let path = at_home(text);
        let mut from = match path.is_absolute() {
            true => PathBuf::from("/"),
            false => directory.to_owned(),
        };
        // What comes before the first sign leads to one place.
        let text = path.to_string_lossy();
        let mut rest = text.trim_start_matches('/');
        while let Some((first, more)) = rest.split_once('/')
            && !is_pattern(first)
        {
            from.push(first);
            rest = more;
        }
        Many::Fitting(from.canonicalize().unwrap_or(from), rest.to_owned())
    }
}

fn is_pattern(part: &str) -> bool {
    part.contains(SIGNS) || part.contains(['{', '(', '\\'])
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

fn called(
    directory: &Path,
    pattern: &str,
    depth: usize,
    root: &Path,
    looks: &mut usize,
    found: &mut BTreeSet<PathBuf>,
) {
    for (path, is_directory) in entries(directory, looks) {
        let name = path.file_name().map(|name| name.to_string_lossy());
        let name = name.as_deref().unwrap_or_default();
        if !fits(pattern, name) {
            if is_directory && depth > 1 && !SKIPPED.contains(&name) {
                called(&path, pattern, depth - 1, root, looks, found);
            }
            continue;
        }
        match place(&path, is_directory) {
            Place::Directory(real) if real.starts_with(root) => {
                below(&real, MAX_DEPTH - 1, looks, found);
            }
            Place::Directory(_) => {}
            Place::File => {
                found.insert(path);
            }
        }
    }
}

fn fitting(
    directory: &Path,
    parts: &[&str],
    root: &Path,
    looks: &mut usize,
    found: &mut BTreeSet<PathBuf>,
) {
    let Some((first, rest)) = parts.split_first() else {
        return;
    };
    if first.contains("**") {
        if directory.starts_with(root) {
            below(directory, MAX_DEPTH, looks, found);
        }
    } else if !is_pattern(first) {
        let path = directory.join(first);
        let path = match path.canonicalize() {
            Ok(real) if !rest.is_empty() => real,
            Ok(_) | Err(_) => path,
        };
        match rest.is_empty() {
            true => found.extend(path.is_file().then_some(path)),
            false => fitting(&path, rest, root, looks, found),
        }
    } else {
        for (path, is_directory) in entries(directory, looks) {
            let name = path.file_name().map(|name| name.to_string_lossy());
            if !name.is_some_and(|name| fits(first, &name)) {
                continue;
            }
            match place(&path, is_directory) {
                // Nothing outside of the workspace counts, but a way may lead through it.
                Place::Directory(real) if !rest.is_empty() => {
                    if real.starts_with(root) || root.starts_with(&real) {
                        fitting(&real, rest, root, looks, found);
                    }
                }
                Place::Directory(real) if real.starts_with(root) => {
                    below(&real, MAX_DEPTH - 1, looks, found);
                }
                Place::Directory(_) => {}
                Place::File if rest.is_empty() && path.starts_with(root) => {
                    found.insert(path);
                }
                Place::File => {}
            }
        }
    }
}

/// A directory or a file at a path.
enum Place {
    /// A directory: where links lead.
    Directory(PathBuf),
    /// Anything else.
    File,
}

fn place(path: &Path, is_directory: bool) -> Place {
    if is_directory {
        return Place::Directory(path.to_owned());
    }
    match path.canonicalize() {
        Ok(real) if real.is_dir() => Place::Directory(real),
        Ok(_) | Err(_) => Place::File,
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

/// Whether a name fits a pattern of `*`, `?` and `[…]`, which stands for any one sign; a pattern with other signs is fitted by all. Upper and
/// lower case count as one: `nocaseglob`, `find -iname`.
fn fits(pattern: &str, name: &str) -> bool {
    if pattern.contains(['{', '(', '\\']) || ["[:", "[.", "[="].iter().any(|c| pattern.contains(c))
    {
        return true;
    }
    let pattern = signs(pattern);
    let name: Vec<char> = name.to_lowercase().chars().collect();
    // Where the last `*` was, and how much of the name it takes.
    let (mut at, mut done, mut star) = (0, 0, None);
    while done < name.len() {
        match pattern.get(at) {
            Some(Sign::Many) => {
                star = Some((at, done));
                at += 1;
            }
            Some(Sign::Any) => {
                at += 1;
                done += 1;
            }
            Some(Sign::One(sign)) if *sign == name[done] => {
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
    pattern[at..].iter().all(|sign| *sign == Sign::Many)
}

/// A sign of a pattern.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Sign {
    One(char),
    Any,
    Many,
}

fn signs(pattern: &str) -> Vec<Sign> {
    let pattern: Vec<char> = pattern.to_lowercase().chars().collect();
    let mut signs = Vec::with_capacity(pattern.len());
    let mut at = 0;
    while let Some(sign) = pattern.get(at) {
        at += 1;
        signs.push(match sign {
            '*' => Sign::Many,
            '?' => Sign::Any,
            '[' => {
                // `[]a]`, `[!]a]`: a bracket that comes first does not close.
                let first = at + usize::from(matches!(pattern.get(at), Some('!' | '^'))) + 1;
                let mut rest = pattern.iter().skip(first);
                match rest.position(|sign| *sign == ']') {
                    Some(end) => {
                        at = first + end + 1;
                        Sign::Any
                    }
                    None => Sign::One('['),
                }
            }
            sign => Sign::One(*sign),
        });
    }
    signs
}

#[cfg(test)]
mod tests {
    use super::{Pattern, fits};
    use crate::shell::{Part, Word};

    #[test]
    fn a_variable_leaves_what_is_known_around_it() {
        let text = |text: &str| Part::Text(text.to_owned());
        let glob = |text: &str| Part::Glob(text.to_owned());
        let variable = |name: &str| Part::Variable(name.to_owned());
        let path = |text: &str| Some(Pattern::Path(text.to_owned()));
        let name = |text: &str| Some(Pattern::Name(text.to_owned()));
        for (parts, expected) in [
            (vec![glob("a*")], path("a*")),
            (vec![variable("PWD"), text("/"), glob("a*")], path("./a*")),
            (
                vec![variable("HOME"), text("/b/"), glob("a*")],
                path("~/b/a*"),
            ),
            (vec![variable("PWDX"), text("/"), glob("a*")], name("a*")),
            (vec![variable("X"), text("/a.sh")], name("a.sh")),
            (vec![variable("X"), text(".sh")], name("*.sh")),
            (vec![variable("X"), glob("*")], name("**")),
            (vec![text("b/a"), variable("X")], path("b/**")),
            (vec![text("./"), variable("X")], None),
            (vec![variable("X")], None),
            (vec![text("a.sh")], None),
        ] {
            let word = Word {
                parts,
                splits: false,
            };
            assert_eq!(Pattern::of(&word), expected, "{word:?}");
        }
    }

    #[test]
    fn names_fit_patterns_as_in_a_shell() {
        for (pattern, name, expected) in [
            ("*.sh", "a.sh", true),
            ("*.sh", "a.sh.bak", false),
            ("a?c*", "abcd", true),
            ("a?c*", "ac", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxa", false),
            ("[ab].sh", "a.sh", true),
            ("[ab].sh", "z", false),
            ("[]a]*", "]x", true),
            ("[!]a]x", "bx", true),
            ("[ab", "[ab", true),
            ("[[:alpha:]]x", "ax", true),
            ("d?ploy", "déploy", true),
            ("DEP*", "deploy", true),
            ("@(a|b)", "b", true),
            ("*", "", true),
        ] {
            let fitted = fits(pattern, name);
            assert_eq!(fitted, expected, "{pattern} {name}");
        }
    }
}
