//! `git diff --raw --numstat [--patch] -z`, read: which files changed, by how many lines, and the patch.
//!
//! With `-z` the three parts come one after the other: entries that begin with a colon, entries of two numbers, an empty one, and
//! the patch. An entry that is cut off at the end is left out.

use schemars::JsonSchema;
use serde::Serialize;

use super::porcelain::in_words;
use super::repository::Repository;

/// The options that make git print what is read here, whatever anybody's settings say.
pub(super) const OPTIONS: &[&str] = &[
    "--raw",
    "--numstat",
    "-z",
    "--no-abbrev",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--find-renames",
    "--submodule=short",
    "--ignore-submodules=dirty",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--no-relative",
];

/// A file that changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) path: Vec<u8>,
    pub(super) old_path: Option<Vec<u8>>,
    pub(super) status: &'static str,
    /// Lines; `None` for a binary file.
    pub(super) lines: Option<(u64, u64)>,
}

// A file that changed, as results have it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileChange {
    /// Relative to the workspace
    path: String,
    /// What it was called before
    #[serde(skip_serializing_if = "Option::is_none")]
    old_path: Option<String>,
    /// added, modified, deleted, renamed, copied, typeChanged or unmerged
    status: &'static str,
    /// Lines that came
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    additions: Option<u64>,
    /// Lines that went
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    deletions: Option<u64>,
    /// True for a file without lines
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    binary: bool,
}

/// What changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) files: Vec<Change>,
    /// How many files changed, listed or not.
    pub(super) total: usize,
    pub(super) additions: u64,
    pub(super) deletions: u64,
    pub(super) patch: Vec<u8>,
}

impl Changes {
    /// Reads the output, and keeps so many files; all are counted.
    pub(super) fn read(output: &[u8], most: usize) -> Self {
        let mut changes = Changes::default();
        let mut rest = output;
        // Files of the first part, of which the second knows the lines, in the same order.
        let mut counted = 0;
        while let Some(entry) = take(&mut rest) {
            let entry = entry.strip_prefix(b"\n").unwrap_or(entry);
            if let Some(raw) = entry.strip_prefix(b":") {
                let Some(change) = change(raw, &mut rest) else {
                    break;
                };
                changes.total += 1;
                if changes.files.len() < most {
                    changes.files.push(change);
                }
            } else if entry.is_empty() {
                changes.patch = rest.to_vec();
                break;
            } else {
                let Some(lines) = lines(entry, &mut rest) else {
                    break;
                };
                if let Some((additions, deletions)) = lines {
                    changes.additions += additions;
                    changes.deletions += deletions;
                }
                if let Some(file) = changes.files.get_mut(counted) {
                    file.lines = lines;
                }
                counted += 1;
            }
        }
        changes
    }

    /// The files, as results have them.
    pub(super) fn listed(&self, repository: &Repository) -> Vec<FileChange> {
        let file = |change: &Change| FileChange {
            path: repository.in_workspace(&change.path),
            old_path: change
                .old_path
                .as_ref()
                .map(|old| repository.in_workspace(old)),
            status: change.status,
            additions: change.lines.map(|(additions, _)| additions),
            deletions: change.lines.map(|(_, deletions)| deletions),
            binary: change.lines.is_none(),
        };
        self.files.iter().map(file).collect()
    }

    /// `3 files (+12 −4)`.
    pub(super) fn in_words(&self) -> String {
        let files = match self.total {
            1 => "1 file".to_owned(),
            total => format!("{total} files"),
        };
        format!("{files} (+{} −{})", self.additions, self.deletions)
    }
}

/// What comes before the next NUL.
fn take<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().position(|byte| *byte == 0)?;
    let taken = &rest[..end];
    *rest = &rest[end + 1..];
    Some(taken)
}

/// `100644 100644 OID OID R100`, and one path or two.
fn change(raw: &[u8], rest: &mut &[u8]) -> Option<Change> {
    let letter = *raw.rsplit(|byte| *byte == b' ').next()?.first()?;
    let first = take(rest)?.to_vec();
    let (path, old_path) = match letter {
        b'R' | b'C' => (take(rest)?.to_vec(), Some(first)),
        _ => (first, None),
    };
    Some(Change {
        path,
        old_path,
        status: in_words(letter).unwrap_or("unknown"),
        lines: None,
    })
}

/// `12 TAB 4 TAB PATH`, or `12 TAB 4 TAB` and two paths: the lines, which a binary file has none of.
fn lines(entry: &[u8], rest: &mut &[u8]) -> Option<Option<(u64, u64)>> {
    let mut parts = entry.splitn(3, |byte| *byte == b'\t');
    let number = |part: Option<&[u8]>| Some(std::str::from_utf8(part?).ok()?.parse::<u64>().ok());
    let (additions, deletions) = (number(parts.next())?, number(parts.next())?);
    if parts.next()?.is_empty() {
        take(rest)?;
        take(rest)?;
    }
    Some(additions.zip(deletions))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &[u8] = b":100644 100644 7898 7898 R100\0a\0b\nx\0:000000 100644 0000 f2ad A\0c\0\
        :100644 100644 11 22 M\0image\x000\t0\t\0a\0b\nx\x001\t0\tc\0-\t-\timage\0\0diff --git a/a b/b\n";

    #[test]
    fn files_lines_and_patch_are_distinguished() {
        let changes = Changes::read(OUTPUT, 10);
        let change = |path: &str, status, lines| Change {
            path: path.as_bytes().to_vec(),
            old_path: None,
            status,
            lines,
        };
        assert_eq!(
            changes.files,
            [
                Change {
                    old_path: Some(b"a".to_vec()),
                    ..change("b\nx", "renamed", Some((0, 0)))
                },
                change("c", "added", Some((1, 0))),
                change("image", "modified", None),
            ]
        );
        assert_eq!(changes.patch, b"diff --git a/a b/b\n");
        assert_eq!(changes.in_words(), "3 files (+1 −0)");
        assert_eq!(Changes::read(OUTPUT, 1).total, 3);
        assert_eq!(Changes::read(b"", 1), Changes::default());
    }

    #[test]
    fn output_that_ends_anywhere_is_read_up_to_there() {
        for end in 0..OUTPUT.len() {
            assert!(Changes::read(&OUTPUT[..end], 10).total <= 3);
        }
        Changes::read(b":\0:\0\t\t\0\0\0x", 10);
    }
}
