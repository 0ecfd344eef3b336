//! Which files there are, and which of them a formatter's survey is about.
//!
//! Names come from a walk that leaves out what git ignores, hidden directories and other people's code; files are opened by the
//! workspace alone, later. What a survey prints is read for one thing: which of those names it mentions. A formatter that says more,
//! or says it otherwise in its next version, costs a look at a file too many and nothing else.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use ignore::WalkBuilder;

use crate::workspace::Workspace;

/// How many files are looked at.
const MAX_FILES: usize = 20_000;

/// How deep.
const MAX_DEPTH: usize = 64;

/// How many words and marks of a line a name may begin and end at.
const MAX_ENDS: usize = 12;

/// Directories that are never a project's own code.
const OTHERS: &[&str] = &["node_modules", "target", "venv", "__pycache__"];

/// The names of files beneath a directory.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// Relative to the workspace, sorted.
    pub(super) names: Vec<String>,
    /// Whether there are more than were looked at.
    pub(super) is_cut: bool,
}

/// The files beneath a directory of the workspace (relative, without links; `.` for the workspace itself). Blocks.
pub(super) fn files(workspace: &Workspace, directory: &str) -> Files {
    let mut found = Files::default();
    let top = match directory {
        "." => workspace.root().to_owned(),
        directory => workspace.root().join(directory),
    };
    let walk = WalkBuilder::new(top)
        .max_depth(Some(MAX_DEPTH))
        .follow_links(false)
        .same_file_system(true)
        .parents(false)
        .git_global(false)
        .git_exclude(false)
        .require_git(false)
        .filter_entry(|entry| {
            let is_others = || {
                let name = entry.file_name().to_str();
                name.is_some_and(|name| OTHERS.contains(&name))
            };
            // The directory itself is meant, whatever it is called.
            entry.depth() == 0
                || !(entry.file_type().is_some_and(|kind| kind.is_dir()) && is_others())
        })
        .build();
    for entry in walk.flatten() {
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        if found.names.len() >= MAX_FILES {
            found.is_cut = true;
            break;
        }
        let inside = entry.path().strip_prefix(workspace.root());
        if let Some(name) = inside.ok().and_then(Path::to_str) {
            found.names.push(name.to_owned());
        }
    }
    found.names.sort_unstable();
    found
}

/// Reads what a survey printed.
pub(super) struct Reader<'a> {
    /// The workspace on the host, without links and with a slash at its end.
    pub(super) host: &'a str,
    /// Where the formatter ran, relative to the workspace.
    pub(super) ran_in: &'a str,
    /// The names that count.
    pub(super) known: HashSet<&'a str>,
}

impl<'a> Reader<'a> {
    /// The names that are mentioned.
    pub(super) fn mentioned(&self, output: &str) -> BTreeSet<&'a str> {
        output
            .lines()
            .filter_map(|line| self.mentioned_in(line))
            .collect()
    }

    /// The name that a line is about: it begins at a word and ends with the line or before a colon.
    pub(super) fn mentioned_in(&self, line: &str) -> Option<&'a str> {
        let line = line.trim_end();
        let begins = std::iter::once(0).chain(line.match_indices(' ').map(|(at, _)| at + 1));
        for begin in begins.take(MAX_ENDS) {
            let rest = &line[begin..];
            let ends = std::iter::once(rest.len()).chain(rest.match_indices(':').map(|(at, _)| at));
            for end in ends.take(MAX_ENDS) {
                if let Some(name) = self.known(&rest[..end]) {
                    return Some(name);
                }
            }
        }
        None
    }

    fn known(&self, text: &str) -> Option<&'a str> {
        if let Some(name) = text.strip_prefix(self.host) {
            return self.known.get(name).copied();
        }
        let text = text.strip_prefix("./").unwrap_or(text);
        match self.ran_in {
            "." => self.known.get(text).copied(),
            ran_in => self.known.get(format!("{ran_in}/{text}").as_str()).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_what_every_formatter_prints() {
        let known = ["web/a b.ts", "web/-x.py", "web/src/main.rs"];
        let reader = Reader {
            host: "/w/",
            ran_in: "web",
            known: known.into_iter().collect(),
        };
        for (line, name) in [
            ("a b.ts", Some("web/a b.ts")),
            ("[error] a b.ts: SyntaxError: oh (1:9)", Some("web/a b.ts")),
            ("would reformat /w/web/-x.py", Some("web/-x.py")),
            ("Would reformat: -x.py", Some("web/-x.py")),
            (" --> ./-x.py:1:7", Some("web/-x.py")),
            (
                "error: cannot format /w/web/-x.py: Cannot parse: 1:6: x",
                Some("web/-x.py"),
            ),
            ("Formatting /w/web/src/main.rs", Some("web/src/main.rs")),
            ("/w/web/src/other.rs", None),
            ("/etc/passwd", None),
            ("", None),
            ("💥 : : :", None),
        ] {
            assert_eq!(reader.mentioned_in(line), name, "{line}");
        }
        assert_eq!(reader.mentioned("a b.ts\n-x.py\na b.ts\n").len(), 2);
    }

    #[test]
    fn what_git_ignores_and_what_is_hidden_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        for name in [
            "a.rs",
            "out/b.rs",
            ".hidden/c.rs",
            "node_modules/d.rs",
            "target/e.rs",
            "sub/f.rs",
        ] {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::fs::write(directory.path().join(".gitignore"), "out/\n").unwrap();
        std::os::unix::fs::symlink("/etc", directory.path().join("etc")).unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        assert_eq!(files(&workspace, ".").names, ["a.rs", "sub/f.rs"]);
        assert_eq!(files(&workspace, "sub").names, ["sub/f.rs"]);
        assert_eq!(files(&workspace, "target").names, ["target/e.rs"]);
    }
}
