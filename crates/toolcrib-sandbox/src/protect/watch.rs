//! Notices what was planted, from one look to the next.

use super::{names::walk, place::is_placeholder};
use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
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
    /// Protected names near the root, by inode and birth (a new file often gets the inode of one just removed).
    known: Vec<(PathBuf, u64, Changed)>,
    /// Directories near the root and when they last changed: where nothing changed, nothing was planted.
    directories: Vec<(PathBuf, Option<Changed>)>,
}

impl Watch {
    pub(super) fn look(root: &Path, watched: Vec<PathBuf>) -> Self {
        let mut known = Vec::new();
        let (directories, _) = walk(root, &mut |path, metadata| {
            if !is_placeholder(path, metadata) {
                known.push((path.to_owned(), metadata.ino(), born(metadata)));
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
        found.extend(new.map(|(path, ..)| path.clone()));
        *self = now;
        found.sort();
        found.dedup();
        found
    }
}

/// When a file last changed; of a directory, which changes with everything in it, when it was made.
fn born(metadata: &fs::Metadata) -> Changed {
    if !metadata.is_dir() {
        return (metadata.ctime(), metadata.ctime_nsec());
    }
    let born = metadata
        .created()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    born.map_or((0, 0), |since| {
        (since.as_secs() as i64, i64::from(since.subsec_nanos()))
    })
}

fn state(path: &Path) -> Option<State> {
    let metadata = path
        .symlink_metadata()
        .ok()
        .filter(|metadata| !is_placeholder(path, metadata))?;
    Some((
        metadata.ino(),
        metadata.ctime(),
        metadata.ctime_nsec(),
        metadata.len(),
    ))
}

/// When a directory last changed.
pub(super) fn changed(directory: &Path) -> Option<Changed> {
    let metadata = directory.symlink_metadata().ok()?;
    // Not the time of modification, which the command can set back.
    Some((metadata.ctime(), metadata.ctime_nsec()))
}
