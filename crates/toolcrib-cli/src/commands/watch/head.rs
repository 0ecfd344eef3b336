//! Which commit a project is at: [`Head`], by the few files of git that say so.
//!
//! `watch --trust` takes a change for its user's own edit only while this stays the same: a pull or a checkout brings the edits of
//! others. Git itself is not run, for a repository may say what it runs.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// No file that is read here is larger, but for packed references.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Where the HEAD of a directory's repository is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Head {
    /// There is no repository.
    None,
    /// What HEAD says, and what the branch it names is at.
    At(String),
    /// Git is at work, or its files cannot be read: no one can say whose a change is.
    Unknown,
}

impl Head {
    pub(super) fn of(directory: &Path) -> Self {
        let Some(git) = directory
            .ancestors()
            .map(|above| above.join(".git"))
            .find(|git| git.exists())
        else {
            return Head::None;
        };
        read_head(&git).map_or(Head::Unknown, Head::At)
    }
}

fn read_head(git: &Path) -> Option<String> {
    // A worktree has a file that names its directory.
    let own = match git.is_dir() {
        true => git.to_owned(),
        false => beside(git, text(git)?.strip_prefix("gitdir:")?.trim()),
    };
    // While git changes files it holds this lock; HEAD moves after them.
    if own.join("index.lock").exists() || own.join("HEAD.lock").exists() {
        return None;
    }
    let head = text(&own.join("HEAD"))?;
    let common = match text(&own.join("commondir")) {
        Some(path) => own.join(path.trim()),
        None => own.clone(),
    };
    let tables = text(&common.join("reftable/tables.list")).unwrap_or_default();
    let at = match head.trim().strip_prefix("ref:") {
        None => String::new(),
        Some(name) => branch(name.trim(), &own, &common).unwrap_or_default(),
    };
    Some(format!("{} {at} {tables}", head.trim()))
}

/// What a branch is at; none before its first commit.
fn branch(name: &str, own: &Path, common: &Path) -> Option<String> {
    let loose = [own, common]
        .into_iter()
        .find_map(|directory| text(&directory.join(name)));
    if let Some(loose) = loose {
        return Some(loose.trim().to_owned());
    }
    let packed = text(&common.join("packed-refs"))?;
    let line = packed
        .lines()
        .find(|line| line.split(' ').nth(1) == Some(name))?;
    Some(line.to_owned())
}

fn beside(file: &Path, path: &str) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(path)
}

fn text(file: &Path) -> Option<String> {
    let file = fs::File::open(file).ok()?;
    // A FIFO would make us wait.
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_moves_with_its_branch_and_not_with_files() {
        let directory = tempfile::tempdir().unwrap();
        let (root, git) = (directory.path(), directory.path().join(".git"));
        let write = |path: &str, text: &str| {
            let path = git.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("HEAD", "ref: refs/heads/main\n");
        let unborn = Head::of(root);
        assert!(matches!(unborn, Head::At(_)));
        write(
            "packed-refs",
            "# pack-refs\naaaa refs/heads/main\nbbbb refs/heads/other\n",
        );
        let packed = Head::of(&root.join("sub/dir"));
        assert_ne!(packed, unborn);
        write("index", "x");
        write("refs/heads/other", "cccc\n");
        assert_eq!(Head::of(root), packed);
        write("refs/heads/main", "dddd\n");
        let moved = Head::of(root);
        assert_ne!(moved, packed);
        write("HEAD", "dddd\n");
        assert_ne!(Head::of(root), moved, "detached");
        write("index.lock", "");
        assert_eq!(Head::of(root), Head::Unknown, "git is at work");
    }

    #[test]
    fn a_worktree_has_its_own_head() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for path in ["main/.git/worktrees/w", "main/.git/refs/heads", "w"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        fs::write(root.join("w/.git"), "gitdir: ../main/.git/worktrees/w\n").unwrap();
        let own = root.join("main/.git/worktrees/w");
        fs::write(own.join("HEAD"), "ref: refs/heads/w\n").unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(root.join("main/.git/refs/heads/w"), "aaaa\n").unwrap();
        let before = Head::of(&root.join("w"));
        assert!(
            matches!(&before, Head::At(at) if at.contains("aaaa")),
            "{before:?}"
        );
        fs::write(root.join("main/.git/refs/heads/w"), "bbbb\n").unwrap();
        assert_ne!(Head::of(&root.join("w")), before);
    }
}
