//! Names in the workspace that other programs run later, kept from being written or planted.
//!
//! An agent's command that may write the workspace could write `.git/hooks/pre-commit` or `.envrc`, and the person's own
//! shell, editor or git would run it, outside of any wall. So these names are mounted over, read-only, in the run's own
//! mount namespace: a mount point can be neither written, renamed nor removed.
//!
//! A mount needs something to be mounted on. For a name that is absent an empty directory is made in the workspace and
//! removed after the run: git does not see empty directories, `rmdir` can never remove anything of the user's, and no
//! shell, editor or git runs a directory. Two runs in one workspace share them (a lock says who is last). [`Guard`] owns them.
//!
//! What this cannot do: where the host itself replaces such a file (`git config`) during a run, the new file is not
//! covered until the next run; [`Guard::planted`] reports what was changed.

mod find;
mod judge;
mod lock;
mod names;
mod place;
mod watch;

pub use judge::{is_repository_name, protected_name};
pub use names::{PROTECTED_NAMES, is_protected_name};

use crate::policy::Policy;
use find::Finder;
use lock::Lock;
use std::{
    fs, io,
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};
use watch::{Changed, Watch, changed};

/// How a name is covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cover {
    /// Read-only, with all beneath.
    ReadOnly,
    /// Writable, but it stays where it is: what is protected lies beneath.
    Pinned,
    /// Read-only and empty: it was not there.
    Placeholder,
}

/// A name to cover, in the order of mounting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Covered {
    pub(crate) path: PathBuf,
    pub(crate) cover: Cover,
}

/// Placeholders in a workspace for as long as runs need them.
#[derive(Debug)]
pub(crate) struct Guard {
    root: PathBuf,
    directory: OwnedFd,
    lock: Lock,
    covered: Vec<Covered>,
    placeholders: Vec<PathBuf>,
    complete: bool,
    /// What was covered, by when its directory changed and by what it was.
    stamps: Mutex<Vec<Option<Changed>>>,
    identities: Vec<Option<Identity>>,
    seen: Mutex<Watch>,
}

/// Device, inode, and when it last changed: a new file often gets the inode of one just removed.
type Identity = (u64, u64, i64, i64);

impl Guard {
    /// Finds what to cover; with `mounts` makes what is missing.
    pub(crate) fn new(root: &Path, policy: &Policy, mounts: bool) -> io::Result<Self> {
        let directory = OwnedFd::from(fs::File::open(root)?);
        let lock = Lock::shared(&fs::metadata(root)?)?;
        let mut finder = Finder::new(root, &directory, mounts);
        let found = finder.find(policy);
        let (covered, placeholders, complete) = finder.into_found();
        let mut guard = Self {
            root: root.to_owned(),
            directory,
            lock,
            covered,
            placeholders,
            complete,
            stamps: Mutex::default(),
            identities: Vec::new(),
            seen: Mutex::default(),
        };
        // Only now, so that dropping the guard removes what was made before something failed.
        found?;
        guard.stamps = Mutex::new(guard.stamps());
        guard.identities = guard.identities();
        let watched = if mounts { Vec::new() } else { guard.watched() };
        guard.seen = Mutex::new(Watch::look(&guard.root, watched));
        Ok(guard)
    }

    /// What to mount, in this order.
    pub(crate) fn covered(&self) -> &[Covered] {
        &self.covered
    }

    /// Whether every repository near the root was found.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether every covered name is still what it was. A mount does not follow a file that the host replaces.
    pub(crate) fn is_current(&self) -> bool {
        let mut stamps = self.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.stamps();
        // While no directory of a covered name changed, no name in it was replaced: a few questions instead of many.
        if *stamps == now {
            return true;
        }
        let same = self.identities == self.identities();
        if same {
            *stamps = now;
        }
        same
    }

    fn identities(&self) -> Vec<Option<Identity>> {
        let identity = |path: &Path| {
            let metadata = path.symlink_metadata().ok()?;
            Some((
                metadata.dev(),
                metadata.ino(),
                metadata.ctime(),
                metadata.ctime_nsec(),
            ))
        };
        let covered = self
            .covered
            .iter()
            .filter(|covered| covered.cover != Cover::Pinned);
        covered.map(|covered| identity(&covered.path)).collect()
    }

    fn stamps(&self) -> Vec<Option<Changed>> {
        let mut parents: Vec<&Path> = self
            .covered
            .iter()
            .filter_map(|covered| covered.path.parent())
            .collect();
        parents.dedup();
        parents.into_iter().map(changed).collect()
    }

    /// Protected names that were changed or newly made since this was last asked: what a person should look at.
    ///
    /// Where mounts protect the names this finds only what is allowed (a repository cloned into a subdirectory), what a
    /// case-folding copy of the workspace would take for a protected name, and changes the host made itself.
    pub(crate) fn planted(&self) -> Vec<PathBuf> {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .changes(&self.root)
    }

    /// Names that nothing keeps from being changed, with the files in those that are directories.
    fn watched(&self) -> Vec<PathBuf> {
        let covered = self
            .covered
            .iter()
            .filter(|covered| covered.cover == Cover::ReadOnly);
        let root = PROTECTED_NAMES.iter().filter(|name| **name != ".git");
        let names: Vec<PathBuf> = covered
            .map(|covered| covered.path.clone())
            .chain(root.map(|name| self.root.join(name)))
            .collect();
        let beneath = names.iter().flat_map(|name| names::entries(name));
        let mut watched: Vec<PathBuf> = beneath.collect();
        watched.extend(names);
        watched
    }
}

impl Drop for Guard {
    /// Removes the placeholders unless another run needs them; the last one does.
    fn drop(&mut self) {
        if !self.lock.is_the_last() {
            return;
        }
        for path in self.placeholders.iter().rev() {
            let _ = place::remove(&self.directory, path);
        }
    }
}
