//! [`Scratch`]: the throw-away workspace of one test.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::workspace::{Workspace, WorkspaceError};

/// A tree that is deeper than this is left alone: no test means it.
const MAX_DEPTH: usize = 64;
/// How many names are looked at.
const MAX_NAMES: usize = 2000;

/// An empty directory that no one else uses, and that is gone afterwards.
#[derive(Debug)]
pub(super) struct Scratch {
    /// For us only; the workspace is inside, so that what a test does to the mode of its workspace lets no one else in.
    outer: TempDir,
    root: PathBuf,
}

impl Scratch {
    /// Makes one, in the directory for temporary files.
    pub(super) fn new() -> io::Result<Self> {
        let outer = tempfile::Builder::new()
            .prefix("toolcrib-test-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir()?;
        let root = outer.path().join("workspace");
        fs::create_dir(&root)?;
        Ok(Scratch { outer, root })
    }

    /// Where it is.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// A place beside the workspace, which nothing in it reaches.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.outer.path().join(name)
    }

    /// Opens it as a workspace.
    pub(super) fn workspace(&self) -> Result<Workspace, WorkspaceError> {
        Workspace::open(&self.root)
    }

    /// The files in it, relative and sorted; links are named, not followed.
    pub(super) fn files(&self) -> Vec<String> {
        let (mut found, mut left) = (Vec::new(), MAX_NAMES);
        list(&self.root, "", 0, &mut left, &mut found);
        found.sort();
        found
    }

    /// Removes it with everything in it. The error names what is left.
    pub(super) fn remove(self) -> Result<(), String> {
        let path = self.outer.path().to_owned();
        let Err(first) = fs::remove_dir_all(&path) else {
            return Ok(());
        };
        // A program may have made directories that their owner cannot change.
        make_removable(&path, 0);
        match fs::remove_dir_all(&path) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(_) => Err(format!("`{}` cannot be removed: {first}", path.display())),
        }
    }
}

fn list(directory: &Path, prefix: &str, depth: usize, left: &mut usize, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        if *left == 0 || depth > MAX_DEPTH {
            return;
        }
        *left -= 1;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = format!("{prefix}{name}");
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                list(&entry.path(), &format!("{path}/"), depth + 1, left, found);
            }
            Ok(_) => found.push(path),
            Err(_) => {}
        }
    }
}

fn make_removable(directory: &Path, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    let _ = fs::set_permissions(directory, Permissions::from_mode(0o700));
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        // Of the entry itself: a link is not a directory, wherever it leads.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            make_removable(&entry.path(), depth + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_test_made_is_listed_and_removed_whatever_its_mode() {
        let kept = tempfile::tempdir().unwrap();
        fs::write(kept.path().join("kept"), "").unwrap();
        let scratch = Scratch::new().unwrap();
        let root = scratch.root.clone();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "").unwrap();
        std::os::unix::fs::symlink(kept.path(), root.join("link")).unwrap();
        assert_eq!(scratch.files(), ["a/b/file", "link"]);
        fs::set_permissions(root.join("a/b"), Permissions::from_mode(0o000)).unwrap();
        fs::set_permissions(root.join("a"), Permissions::from_mode(0o000)).unwrap();
        scratch.remove().unwrap();
        assert!(!root.exists());
        assert!(kept.path().join("kept").exists());
    }
}
