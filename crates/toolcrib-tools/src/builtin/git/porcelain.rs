//! `git status --porcelain=v2 --branch -z`, read.
//!
//! Every entry is a line that ends in NUL, so that no name of a file can be taken for something else; a renamed one has its old
//! name after another NUL. An entry that is cut off at the end is left out.

use schemars::JsonSchema;
use serde::Serialize;

/// What git says of a tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    /// The commit; `None` before the first.
    pub(super) head: Option<String>,
    /// The branch; `None` when the head is detached.
    pub(super) branch: Option<String>,
    pub(super) upstream: Option<String>,
    pub(super) ahead: Option<u64>,
    pub(super) behind: Option<u64>,
    pub(super) entries: Vec<Entry>,
    pub(super) counts: Counts,
}

/// How many entries there are of a kind; one may be of two.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Counts {
    /// Staged
    #[schemars(with = "i64")]
    pub(super) staged: usize,
    /// Changed and not staged
    #[schemars(with = "i64")]
    pub(super) unstaged: usize,
    /// Not known to git
    #[schemars(with = "i64")]
    pub(super) untracked: usize,
    /// In conflict
    #[schemars(with = "i64")]
    pub(super) conflicts: usize,
}

/// A path that is not as it is in the commit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: Vec<u8>,
    /// What it was called before.
    pub(super) old_path: Option<Vec<u8>>,
    /// The index compared with the commit.
    pub(super) staged: Option<&'static str>,
    /// The tree compared with the index.
    pub(super) unstaged: Option<&'static str>,
    /// How two sides contradict each other.
    pub(super) conflict: Option<&'static str>,
}

impl Status {
    /// Reads the output, and keeps so many entries; all are counted.
    pub(super) fn read(output: &[u8], most: usize) -> Self {
        let mut status = Status::default();
        // What comes after the last NUL was cut off.
        let end = output.iter().rposition(|byte| *byte == 0).unwrap_or(0);
        let mut lines = output[..end].split(|byte| *byte == 0);
        while let Some(line) = lines.next() {
            match line.split_first() {
                Some((b'#', header)) => status.header(&String::from_utf8_lossy(header)),
                Some((kind, rest)) => {
                    let old_path = match kind {
                        b'2' => match lines.next() {
                            Some(old) => Some(old.to_vec()),
                            None => break,
                        },
                        _ => None,
                    };
                    if let Some(entry) = entry(*kind, rest, old_path) {
                        status.count(&entry);
                        if status.entries.len() < most {
                            status.entries.push(entry);
                        }
                    }
                }
                None => {}
            }
        }
        status
    }

    fn header(&mut self, header: &str) {
        let Some((key, value)) = header.trim_start().split_once(' ') else {
            return;
        };
        match key {
            "branch.oid" if value != "(initial)" => self.head = Some(value.to_owned()),
            "branch.head" if value != "(detached)" => self.branch = Some(value.to_owned()),
            "branch.upstream" => self.upstream = Some(value.to_owned()),
            "branch.ab" => {
                if let Some((ahead, behind)) = value.split_once(' ') {
                    self.ahead = ahead.trim_start_matches('+').parse().ok();
                    self.behind = behind.trim_start_matches('-').parse().ok();
                }
            }
            _ => {}
        }
    }

    fn count(&mut self, entry: &Entry) {
        let counts = &mut self.counts;
        if entry.conflict.is_some() {
            counts.conflicts += 1;
        } else if entry.unstaged == Some("untracked") {
            counts.untracked += 1;
        } else {
            counts.staged += usize::from(entry.staged.is_some());
            counts.unstaged += usize::from(entry.unstaged.is_some());
        }
    }
}

fn entry(kind: u8, rest: &[u8], old_path: Option<Vec<u8>>) -> Option<Entry> {
    let rest = rest.strip_prefix(b" ")?;
    // Fields before the path, the two letters included.
    let fields = match kind {
        b'1' => 7,
        b'2' => 8,
        b'u' => 9,
        b'?' => {
            return Some(Entry {
                path: rest.to_vec(),
                old_path: None,
                staged: None,
                unstaged: Some("untracked"),
                conflict: None,
            });
        }
        _ => return None,
    };
    let mut parts = rest.splitn(fields + 1, |byte| *byte == b' ');
    let letters = parts.next()?;
    let path = parts.nth(fields - 1)?.to_vec();
    let [index, tree] = letters else { return None };
    if kind == b'u' {
        return Some(Entry {
            path,
            old_path: None,
            staged: None,
            unstaged: None,
            conflict: Some(conflict(*index, *tree)),
        });
    }
    Some(Entry {
        path,
        old_path,
        staged: in_words(*index),
        unstaged: in_words(*tree),
        conflict: None,
    })
}

/// What a letter of git's means; `None` for what did not change.
pub(super) fn in_words(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'M' => "modified",
        b'T' => "typeChanged",
        b'A' => "added",
        b'D' => "deleted",
        b'R' => "renamed",
        b'C' => "copied",
        b'U' => "unmerged",
        _ => return None,
    })
}

fn conflict(ours: u8, theirs: u8) -> &'static str {
    match (ours, theirs) {
        (b'D', b'D') => "bothDeleted",
        (b'A', b'U') => "addedByUs",
        (b'U', b'D') => "deletedByThem",
        (b'U', b'A') => "addedByThem",
        (b'D', b'U') => "deletedByUs",
        (b'A', b'A') => "bothAdded",
        _ => "bothModified",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OID: &str = "568b12b1764ecfb10c4d141c9e291d69820209af";

    fn output() -> Vec<u8> {
        format!(
            "# branch.oid {OID}\0# branch.head main\0# branch.upstream origin/main\0# branch.ab +2 -1\0\
             1 MM N... 100644 100644 100644 {OID} {OID} a b.txt\0\
             2 R. N... 100644 100644 100644 {OID} {OID} R100 new\nname\0old\0\
             u UU N... 100644 100644 100644 100644 {OID} {OID} {OID} both\0\
             ? --output=x\0"
        )
        .into_bytes()
    }

    #[test]
    fn every_kind_of_entry_is_read() {
        let status = Status::read(&output(), 10);
        assert_eq!(status.head.as_deref(), Some(OID));
        assert_eq!(status.branch.as_deref(), Some("main"));
        assert_eq!(status.upstream.as_deref(), Some("origin/main"));
        assert_eq!((status.ahead, status.behind), (Some(2), Some(1)));
        let entry = |path: &str| Entry {
            path: path.as_bytes().to_vec(),
            old_path: None,
            staged: None,
            unstaged: None,
            conflict: None,
        };
        assert_eq!(
            status.entries,
            [
                Entry {
                    staged: Some("modified"),
                    unstaged: Some("modified"),
                    ..entry("a b.txt")
                },
                Entry {
                    staged: Some("renamed"),
                    old_path: Some(b"old".to_vec()),
                    ..entry("new\nname")
                },
                Entry {
                    conflict: Some("bothModified"),
                    ..entry("both")
                },
                Entry {
                    unstaged: Some("untracked"),
                    ..entry("--output=x")
                },
            ]
        );
        let counts = Counts {
            staged: 2,
            unstaged: 1,
            untracked: 1,
            conflicts: 1,
        };
        assert_eq!(status.counts, counts);
    }

    #[test]
    fn output_that_ends_anywhere_is_read_up_to_there() {
        let output = output();
        let whole = Status::read(&output, 10).entries.len();
        for end in 0..output.len() {
            assert!(Status::read(&output[..end], 10).entries.len() <= whole);
        }
        assert_eq!(Status::read(&output, 2).entries.len(), 2);
        assert_eq!(Status::read(&output, 2).counts.conflicts, 1);
        assert_eq!(
            Status::read(b"garbage\0\0# \x001 x\0u\0", 9),
            Status::default()
        );
    }

    #[test]
    fn a_new_repository_and_a_detached_head_have_their_own_words() {
        let status = Status::read(b"# branch.oid (initial)\0# branch.head main\0", 10);
        assert_eq!(
            (status.head, status.branch.as_deref()),
            (None, Some("main"))
        );
        let status = Status::read(b"# branch.oid abc\0# branch.head (detached)\0", 10);
        assert_eq!((status.head.as_deref(), status.branch), (Some("abc"), None));
    }
}
