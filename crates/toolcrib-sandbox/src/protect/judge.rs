//! The rules of [`find`](super::find) for one path: for programs that change files themselves instead of running commands that do.
//!
//! They are found as for a run ([`Finder::find_for`]), but nothing is made, and names are compared as a file system that folds
//! case would: a run reports such spellings afterwards, here they can be refused.

use super::{
    Cover,
    find::Finder,
    fold::{folded, protected},
    names::{GIT_FILES, NESTED_REPOSITORIES, is_repository, is_repository_with},
    table::{NAMES, ProtectedName},
};
use std::{
    collections::HashSet,
    ffi::OsStr,
    fs, io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::LazyLock,
};

/// The protected name that making, writing, moving or removing a path would change, if there is one: one that the path is,
/// that it lies beneath, or that lies beneath it.
///
/// `root` is the workspace, without links. `path` is relative to it and its directory is without links: where it leads must
/// have been found out before. Repositories *beneath* `path` are not searched for; see [`is_repository_name`](super::is_repository_name).
///
/// An error means that something in the workspace cannot be read, so there is no answer.
pub fn protected_name(root: &Path, path: &Path) -> io::Result<Option<PathBuf>> {
    if let Some(name) = by_spelling(path).or_else(|| last_piece(root, path)) {
        return Ok(Some(name));
    }
    let directory = OwnedFd::from(fs::File::open(root)?);
    let mut finder = Finder::new(root, &directory, &[]);
    finder.find_for(&root.join(path))?;
    let concerned = finder.into_found().covered.into_iter().find_map(|covered| {
        let name = covered.path.strip_prefix(root).ok()?;
        let writable = covered.cover == Cover::Pinned;
        let changes = begins_with(name, path) || (!writable && begins_with(path, name));
        changes.then(|| name.to_owned())
    });
    Ok(concerned)
}

/// A name in a path that would make the directory it is in a bare repository. Its `config` was written before, when it meant nothing.
fn last_piece(root: &Path, path: &Path) -> Option<PathBuf> {
    let piece = path.ancestors().find(|piece| {
        let (Some(name), Some(directory)) = (piece.file_name().and_then(folded), piece.parent())
        else {
            return false;
        };
        let directory = root.join(directory);
        is_repository_with(&directory, &name) && !is_repository(&directory)
    });
    piece.map(Path::to_owned)
}

/// A protected name in a path, there or not.
fn by_spelling(path: &Path) -> Option<PathBuf> {
    let names: Vec<String> = path
        .iter()
        .map(|name| folded(name).unwrap_or_default())
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let ends = names
        .iter()
        .enumerate()
        .filter(|(_, name)| **name == ".git")
        .find_map(|(at, _)| Some(at + 1 + in_repository(&names[at + 1..])?));
    let end = at_root(&names).or(ends)?;
    Some(path.iter().take(end).collect())
}

/// A protected name in a path below the root, as if a directory above it were the root.
pub(super) struct Below {
    /// That directory.
    pub(super) tree: PathBuf,
    pub(super) row: &'static ProtectedName,
    /// Whether the path is the name or lies in it; otherwise a part of the name is still to come.
    pub(super) is_whole: bool,
}

/// The protected names in a path below the root, outermost first.
pub(super) fn below(root: &Path, path: &Path) -> Vec<Below> {
    let Ok(relative) = path.strip_prefix(root) else {
        return Vec::new();
    };
    let names: Vec<String> = relative
        .iter()
        .map(|name| folded(name).unwrap_or_default())
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let of = |at: usize| {
        let names = &names[at..];
        let length = at_root(names)?;
        let both = names.get(..2).map(|both| both.join("/"));
        let is_both = |row: &&ProtectedName| {
            both.as_deref()
                .is_some_and(|both| row.name.eq_ignore_ascii_case(both))
        };
        let row = NAMES.iter().find(is_both);
        let row = row.or_else(|| protected(OsStr::new(names[0])))?;
        let rest = names[1..length].join("/");
        Some(Below {
            tree: root.join(relative.iter().take(at).collect::<PathBuf>()),
            row,
            is_whole: row.within.is_empty()
                || row
                    .within
                    .iter()
                    .any(|file| rest.eq_ignore_ascii_case(file)),
        })
    };
    (1..names.len()).filter_map(of).collect()
}

/// Whether a directory below the root may hold something protected by the names above it. Cheap: most directories do not.
pub(super) fn may_hold_protected(root: &Path, directory: &Path) -> bool {
    let relative = directory.strip_prefix(root).unwrap_or(Path::new(""));
    relative
        .iter()
        .skip(1)
        .any(|name| protected(name).is_some() || begins_protected(name))
}

/// Whether a name is the first of two that are protected together: `.github/hooks`.
pub(super) fn begins_protected(name: &OsStr) -> bool {
    static FIRST: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let rows = NAMES.iter().filter_map(|row| row.name.split_once('/'));
        rows.map(|(first, _)| first.to_lowercase()).collect()
    });
    folded(name).is_some_and(|name| FIRST.contains(&name))
}

/// How many names of a path in the root make a protected one. Repositories are besides.
fn at_root(names: &[&str]) -> Option<usize> {
    let (first, rest) = names.split_first()?;
    if let Some(second) = rest.first() {
        let both = format!("{first}/{second}");
        if NAMES.iter().any(|row| row.name.eq_ignore_ascii_case(&both)) {
            return Some(2);
        }
    }
    let row = protected(OsStr::new(first)).filter(|row| row.name != ".git")?;
    if row.within.is_empty() || rest.is_empty() {
        return Some(1);
    }
    let begins = |file: &&str| {
        file.split('/')
            .zip(rest)
            .all(|(one, other)| one.eq_ignore_ascii_case(other))
    };
    let file = row.within.iter().find(|file| begins(file))?;
    Some(1 + file.split('/').count().min(rest.len()))
}

/// How many names of a path in a repository make a protected one; none of them is the repository itself. Git writes the rest, and a
/// program that is not git has few reasons to.
fn in_repository(names: &[&str]) -> Option<usize> {
    let is_kept = |name: &&str| *name == "hooks" || GIT_FILES.iter().any(|(kept, _)| kept == name);
    match names {
        [] => Some(0),
        [
            "info" | "description" | "commit_editmsg" | "merge_msg" | "tag_editmsg",
            ..,
        ] => None,
        [first, rest @ ..] if NESTED_REPOSITORIES.contains(first) => match rest {
            [] => Some(1),
            // The names of submodules may have slashes in them.
            rest => Some(2 + rest.iter().position(is_kept)?),
        },
        [_, ..] => Some(1),
    }
}

/// Whether a path begins with another, name by name, on a file system that folds case.
fn begins_with(path: &Path, start: &Path) -> bool {
    let mut names = path.iter();
    start.iter().all(|expected| {
        names.next().is_some_and(|name| {
            name == expected || (folded(name).is_some() && folded(name) == folded(expected))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn judged(root: &Path, path: &str) -> Option<String> {
        let name = protected_name(root, Path::new(path)).expect("readable");
        name.map(|name| name.to_str().expect("text").to_owned())
    }

    fn workspace(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("it exists");
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
            fs::write(path, text).expect("a file");
        }
        (dir, root)
    }

    #[test]
    fn names_are_protected_before_they_exist_and_in_other_spellings() {
        let (_dir, root) = workspace(&[]);
        for (path, expected) in [
            (".toolcrib/rules.toml", Some(".toolcrib")),
            (".ToolCrib/Rules.yaml", Some(".ToolCrib")),
            (".GIT/hooks/pre-commit", Some(".GIT/hooks")),
            (".g\u{200c}it/config", Some(".g\u{200c}it/config")),
            (".git", Some(".git")),
            (".git/config.worktree", Some(".git/config.worktree")),
            ("sub/.git/HOOKS/x", Some("sub/.git/HOOKS")),
            (".git/MERGE_RR", Some(".git/MERGE_RR")),
            (".git/rr-cache/1/postimage", Some(".git/rr-cache")),
            (".git/index", Some(".git/index")),
            (".git/modules/a/b/config", Some(".git/modules/a/b/config")),
            (".git/worktrees", Some(".git/worktrees")),
            (".bashrc", Some(".bashrc")),
            (".vscode", Some(".vscode")),
            (".vscode/Tasks.json", Some(".vscode/Tasks.json")),
            (".idea/anything", Some(".idea")),
            (".git/info/exclude", Some(".git")),
            (".vscode/notes.md", Some(".vscode")),
            ("sub/.bashrc", None),
            ("src/main.rs", None),
            ("hooks/pre-commit", None),
            (".gitignore", None),
        ] {
            assert_eq!(judged(&root, path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn the_last_piece_of_a_repository_is_protected() {
        let (_dir, root) = workspace(&[
            ("a/objects/x", ""),
            ("a/refs/x", ""),
            ("b/HEAD", ""),
            ("b/refs/x", ""),
            ("c/HEAD", ""),
            ("d/objects", ""),
        ]);
        for (path, expected) in [
            ("a/HEAD", Some("a/HEAD")),
            ("a/head", Some("a/head")),
            ("a/config", None),
            ("b/objects/info/x", Some("b/objects")),
            ("b/objects", Some("b/objects")),
            ("c/commondir", Some("c/commondir")),
            ("c/objects/x", None),
            ("d/HEAD", None),
        ] {
            assert_eq!(judged(&root, path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn what_a_repository_runs_is_protected_wherever_it_keeps_it() {
        let (_dir, root) = workspace(&[
            (".git/config", "[core]\n\thooksPath = tools/hooks\n"),
            ("sub/.git/config", "[include] path = ../more\n"),
            ("split/.git", "gitdir: ../stores/split\n"),
            ("stores/split/HEAD", "ref: refs/heads/main\n"),
            ("stores/split/objects/x", ""),
            ("stores/split/refs/x", ""),
            ("dotfiles/rc", "alias ls=ls\n"),
            (".vscode/x", ""),
        ]);
        symlink("dotfiles/rc", root.join(".bashrc")).expect("a link");
        for (path, expected) in [
            ("tools/hooks/pre-commit", Some("tools")),
            ("tools", Some("tools")),
            ("tools/other", Some("tools")),
            (".vscode/notes.md", None),
            (".git/info/exclude", None),
            ("sub/more", Some("sub/more")),
            ("stores/split/hooks/pre-commit", Some("stores/split/hooks")),
            ("stores/split/config", Some("stores/split/config")),
            ("stores/split", Some("stores/split")),
            ("stores/split/objects/y", None),
            ("dotfiles/rc", Some("dotfiles/rc")),
            ("dotfiles", Some("dotfiles")),
            ("dotfiles/other", None),
        ] {
            assert_eq!(judged(&root, path).as_deref(), expected, "{path}");
        }
    }
}
