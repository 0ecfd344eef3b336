//! A listing as a tree, for people and models.

use std::fmt::Write as _;

use super::reason;
use super::walk::Listing;
use crate::model::text::{size, visible_line};
use crate::workspace::{EntryKind, Metadata};

/// Draws a listing of a directory.
pub(super) fn draw(path: &str, listing: &Listing) -> String {
    let mut entries: Vec<(Vec<&[u8]>, &Metadata)> = listing
        .entries
        .iter()
        .map(|(name, metadata)| (name.split(|byte| *byte == b'/').collect(), metadata))
        .collect();
    // The content of a directory comes right after it, before `directory.txt`.
    entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    let mut text = format!("{}/\n", visible_line(path.trim_end_matches('/')));
    let mut is_last = last_ones(&entries);
    for (parts, metadata) in &entries {
        let depth = parts.len();
        let last = is_last.next().unwrap_or_default();
        for level in 1..depth {
            text.push_str(if last.get(level - 1) == Some(&true) {
                "    "
            } else {
                "│   "
            });
        }
        text.push_str(if last.get(depth - 1) == Some(&true) {
            "└── "
        } else {
            "├── "
        });
        let name = String::from_utf8_lossy(parts.last().copied().unwrap_or_default());
        let name = visible_line(&name);
        let _ = match metadata.kind {
            EntryKind::Directory => writeln!(text, "{name}/"),
            EntryKind::File => writeln!(text, "{name}  {}", size(metadata.size)),
            EntryKind::Symlink => writeln!(text, "{name}  (link)"),
            EntryKind::Other => writeln!(text, "{name}  (neither a file nor a directory)"),
        };
    }
    let _ = writeln!(text, "\n{}", counted(&entries));
    if listing.truncated {
        text.push_str(
            "There is more than is listed; list a directory beneath it, or fewer levels.\n",
        );
    }
    for (name, errno) in &listing.skipped {
        let name = String::from_utf8_lossy(name);
        let _ = writeln!(
            text,
            "[not looked into: {}: {}]",
            visible_line(&name),
            reason(*errno)
        );
    }
    text
}

/// For each entry, whether it and each directory above it is the last of its directory.
fn last_ones(entries: &[(Vec<&[u8]>, &Metadata)]) -> impl Iterator<Item = Vec<bool>> + use<> {
    let mut all: Vec<Vec<bool>> = Vec::with_capacity(entries.len());
    // What comes after, from the end: the depths at which something follows.
    let mut follows: Vec<bool> = Vec::new();
    for (parts, _) in entries.iter().rev() {
        let depth = parts.len();
        // Nothing deeper follows within this one's directory any more.
        follows.resize(depth, false);
        all.push(follows.iter().map(|follows| !follows).collect());
        if let Some(own) = follows.last_mut() {
            *own = true;
        }
    }
    all.reverse();
    all.into_iter()
}

fn counted(entries: &[(Vec<&[u8]>, &Metadata)]) -> String {
    let directories = entries
        .iter()
        .filter(|(_, metadata)| metadata.kind == EntryKind::Directory)
        .count();
    let files = entries.len() - directories;
    let count = |count: usize, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    };
    format!(
        "{}, {}",
        count(files, "file", "files"),
        count(directories, "directory", "directories")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    #[test]
    fn a_tree_has_branches_sizes_and_a_count() {
        let entry = |name: &str, kind: EntryKind, size: u64| {
            let modified = Timestamp::UNIX_EPOCH;
            (
                name.as_bytes().to_vec(),
                Metadata {
                    kind,
                    size,
                    modified,
                },
            )
        };
        let listing = Listing {
            entries: vec![
                entry("a", EntryKind::Directory, 0),
                entry("a.txt", EntryKind::File, 2048),
                entry("a/b", EntryKind::Directory, 0),
                entry("a/b/c\n", EntryKind::File, 1),
                entry("a/d", EntryKind::Symlink, 0),
                entry("z", EntryKind::Directory, 0),
                entry("z/y", EntryKind::File, 0),
            ],
            ..Listing::default()
        };
        let expected = "src/\n├── a/\n│   ├── b/\n│   │   └── c\\n  1 byte\n│   └── d  (link)\n├── a.txt  2 KB\n└── z/\n    └── y  0 bytes\n\n4 files, 3 directories\n";
        assert_eq!(draw("src/", &listing), expected);
        let empty = Listing {
            truncated: true,
            ..Listing::default()
        };
        assert!(draw(".", &empty).starts_with("./\n\n0 files, 0 directories\nThere is more"));
    }
}
