//! Notices what was planted, from one look to the next.

use super::{names::walk, place::is_placeholder};
use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Seconds and nanoseconds of a directory's last change.
pub(super) type Changed = (i64, i64);

/// What a file looked like: inode, time of last change, length.
type State = (u64, i64, i64, u64);

/// What was there at the last look.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Protected names that nothing keeps from being changed.
    watched: Vec<(PathBuf, Option<State>)>,
    /// Protected names near the root, by inode.
    known: Vec<(PathBuf, u64)>,
    /// Directories near the root and when they last changed: where nothing changed, nothing was planted.
    directories: Vec<(PathBuf, Option<Changed>)>,
}

impl Watch {
    pub(super) fn look(root: &Path, watched: Vec<PathBuf>) -> Self {
        let mut known = Vec::new();
        let directories = walk(root, &mut |path, metadata| {
            if !is_placeholder(metadata) {
                known.push((path.to_owned(), metadata.ino()));
            }
        });
        Self {
            watched: watched
                .into_iter()
                .map(|path| (path.clone(), state(&path)))
                .collect(),
            known,
            directories: directories
                .into_iter()
                .map(|path| (path.clone(), changed(&path)))
                .collect(),
        }
    }

    /// What is new or different since the last look, which this is from now on.
    pub(super) fn changes(&mut self, root: &Path) -> Vec<PathBuf> {
        let touched = self
            .watched
            .iter()
            .filter(|(path, before)| state(path) != *before);
        let mut found: Vec<PathBuf> = touched.map(|(path, _)| path.clone()).collect();
        let quiet = self
            .directories
            .iter()
            .all(|(path, then)| changed(path) == *then);
        if quiet && found.is_empty() {
            return found;
        }
        let now = Self::look(root, self.watched.drain(..).map(|(path, _)| path).collect());
        let new = now.known.iter().filter(|name| !self.known.contains(name));
        found.extend(new.map(|(path, _)| path.clone()));
        *self = now;
        found.sort();
        found.dedup();
        found
    }
}

fn state(path: &Path) -> Option<State> {
    let metadata = path
        .symlink_metadata()
        .ok()
        .filter(|metadata| !is_placeholder(metadata))?;
    Some((
        metadata.ino(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.len(),
    ))
}

/// When a directory last changed.
pub(super) fn changed(directory: &Path) -> Option<Changed> {
    let metadata = directory.symlink_metadata().ok()?;
    Some((metadata.mtime(), metadata.mtime_nsec()))
}
