//! Names in the workspace that other programs run later, kept from being written or planted.
//!
//! An agent's command that may write the workspace could write `.git/hooks/pre-commit` or `.envrc`, and the person's own
//! shell, editor or git would run it, outside of any wall. So these names are mounted over, read-only, in the run's own
//! mount namespace: a mount point can be neither written, renamed nor removed.
//!
//! A mount needs something to be mounted on. For a name that is absent an empty directory is made in the workspace and
//! removed after the run: git does not see empty directories, `rmdir` can never remove anything of the user's, and no
//! shell, editor or git runs a directory. Two runs in one workspace share them (a lock on the workspace directory says
//! who is last). [`Guard`] owns them.
//!
//! What this cannot do: where the host itself replaces such a file (`git config`) during a run, the new file is not
//! covered until the next run; [`Guard::planted`] reports what was changed.

mod names;
mod place;
mod watch;

pub use names::PROTECTED_NAMES;

use crate::policy::Policy;
use names::{EDITOR_FILES, hooks_path, subdirectories};
use place::is_placeholder;
use std::{
    fs, io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::MetadataExt,
    },
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
    lock: OwnedFd,
    covered: Vec<Covered>,
    placeholders: Vec<PathBuf>,
    seen: Mutex<Watch>,
}

impl Guard {
    /// Finds what to cover; with `placeholders` makes what is missing.
    pub(crate) fn new(root: &Path, policy: &Policy, placeholders: bool) -> io::Result<Self> {
        let lock = OwnedFd::from(fs::File::open(root)?);
        // Shared: many runs at once. Whoever removes placeholders holds it alone for that moment.
        // SAFETY: takes a descriptor of ours.
        unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_SH) };
        let mut guard = Self {
            root: root.to_owned(),
            lock,
            covered: Vec::new(),
            placeholders: Vec::new(),
            seen: Mutex::default(),
        };
        if policy.protect {
            for name in PROTECTED_NAMES {
                guard.cover_root(name, placeholders)?;
            }
            for repository in names::repositories(root) {
                guard.cover_repository(&repository, placeholders)?;
            }
        }
        for path in &policy.protected {
            guard.cover_named(path, placeholders)?;
        }
        guard.seen = Mutex::new(Watch::look(&guard.root, guard.watched(placeholders)));
        Ok(guard)
    }

    /// Whether every covered name is still the same file or directory. A mount does not follow one that the host replaces.
    pub(crate) fn identities(&self) -> Vec<Option<(u64, u64)>> {
        let identity = |path: &Path| {
            path.symlink_metadata()
                .ok()
                .map(|metadata| (metadata.dev(), metadata.ino()))
        };
        self.covered
            .iter()
            .filter(|covered| covered.cover != Cover::Pinned)
            .map(|covered| identity(&covered.path))
            .collect()
    }

    /// When the directories of covered names last changed: as long as this is the same, so are [`Self::identities`].
    pub(crate) fn stamps(&self) -> Vec<Option<Changed>> {
        let mut parents: Vec<&Path> = self
            .covered
            .iter()
            .filter_map(|covered| covered.path.parent())
            .collect();
        parents.dedup();
        parents.into_iter().map(changed).collect()
    }

    /// What to mount, in this order.
    pub(crate) fn covered(&self) -> &[Covered] {
        &self.covered
    }

    fn cover_root(&mut self, name: &str, placeholders: bool) -> io::Result<()> {
        let path = self.root.join(name);
        let Some(metadata) = self.real(&path)? else {
            return self.place(path, placeholders);
        };
        if metadata.is_symlink() {
            // The link stays where it is; and what it leads to, if that can be written at all, is protected in its place.
            self.covered.push(Covered {
                path: path.clone(),
                cover: Cover::ReadOnly,
            });
            return match path.canonicalize() {
                Ok(target) if target.starts_with(&self.root) && target != self.root => {
                    self.pin_above(&target);
                    self.cover_existing(name, target, placeholders)
                }
                _ => Ok(()),
            };
        }
        self.cover_existing(name, path, placeholders)
    }

    /// Covers a path of the policy's own. Its directory is where it is now, whatever links led there.
    fn cover_named(&mut self, path: &Path, placeholders: bool) -> io::Result<()> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let path = parent.canonicalize()?.join(name);
        if !path.starts_with(&self.root) {
            let text = format!("the protected path `{}` is not in it", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        self.pin_above(&path);
        match self.real(&path)? {
            Some(_) => self.covered.push(Covered {
                path,
                cover: Cover::ReadOnly,
            }),
            None => self.place(path, placeholders)?,
        }
        Ok(())
    }

    /// Keeps the directories between the root and a path where they are, so that the path cannot come to mean another.
    fn pin_above(&mut self, path: &Path) {
        let above: Vec<&Path> = path
            .ancestors()
            .skip(1)
            .take_while(|above| above.starts_with(&self.root) && *above != self.root)
            .collect();
        for path in above.into_iter().rev() {
            if !self.covered.iter().any(|covered| covered.path == path) {
                self.covered.push(Covered {
                    path: path.to_owned(),
                    cover: Cover::Pinned,
                });
            }
        }
    }

    /// Covers what a protected name stands for.
    fn cover_existing(&mut self, name: &str, path: PathBuf, placeholders: bool) -> io::Result<()> {
        let Some(metadata) = self.real(&path)? else {
            return Ok(());
        };
        if name == ".git" && metadata.is_dir() {
            return self.cover_repository(&path, placeholders);
        }
        if let Some((_, files)) = EDITOR_FILES.iter().find(|(editor, _)| *editor == name)
            && metadata.is_dir()
        {
            self.covered.push(Covered {
                path: path.clone(),
                cover: Cover::Pinned,
            });
            for file in *files {
                let file = path.join(file);
                match self.real(&file)? {
                    Some(_) => self.covered.push(Covered {
                        path: file,
                        cover: Cover::ReadOnly,
                    }),
                    None => self.place(file, placeholders)?,
                }
            }
            return Ok(());
        }
        self.covered.push(Covered {
            path,
            cover: Cover::ReadOnly,
        });
        Ok(())
    }

    /// Hooks, configuration, and where git is told that its configuration lies elsewhere.
    fn cover_repository(&mut self, git: &Path, placeholders: bool) -> io::Result<()> {
        if self.covered.iter().any(|covered| covered.path == git) {
            return Ok(());
        }
        self.covered.push(Covered {
            path: git.to_owned(),
            cover: Cover::Pinned,
        });
        for name in ["hooks", "config", "config.worktree", "commondir"] {
            let path = git.join(name);
            match self.real(&path)? {
                Some(_) => self.covered.push(Covered {
                    path,
                    cover: Cover::ReadOnly,
                }),
                None if name == "hooks" => self.place(path, placeholders)?,
                // Git reads these when they are there, so a directory would break it; a file that says what git
                // assumes anyway does not.
                None if name == "commondir" => self.place_file(path, ".\n", placeholders)?,
                None if name == "config" => self.place_file(path, "", placeholders)?,
                None => {}
            }
        }
        // A person who keeps hooks in the work tree (`core.hooksPath`) runs them just the same.
        if let Some(hooks) = hooks_path(&git.join("config"), git)
            && hooks.starts_with(&self.root)
            && hooks != self.root
            && self.real(&hooks)?.is_some()
        {
            self.pin_above(&hooks);
            self.covered.push(Covered {
                path: hooks,
                cover: Cover::ReadOnly,
            });
        }
        for modules in
            subdirectories(&git.join("modules")).chain(subdirectories(&git.join("worktrees")))
        {
            for name in ["hooks", "config", "config.worktree"] {
                let path = modules.join(name);
                if self.real(&path)?.is_some() {
                    self.covered.push(Covered {
                        path,
                        cover: Cover::ReadOnly,
                    });
                }
            }
        }
        Ok(())
    }

    /// What is at a path, without following a link there; a placeholder that somebody left counts as nothing.
    fn real(&self, path: &Path) -> io::Result<Option<fs::Metadata>> {
        match path.symlink_metadata() {
            Ok(metadata) if is_placeholder(&metadata) => Ok(None),
            Ok(metadata) => Ok(Some(metadata)),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                Ok(None)
            }
            // A directory on the way that we may not look into, the command may not either: it has our rights.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn place(&mut self, path: PathBuf, wanted: bool) -> io::Result<()> {
        self.made(path, wanted, Cover::Placeholder, place::directory)
    }

    fn place_file(&mut self, path: PathBuf, text: &str, wanted: bool) -> io::Result<()> {
        self.made(path, wanted, Cover::ReadOnly, |root, path| {
            place::file(root, path, text)
        })
    }

    fn made(
        &mut self,
        path: PathBuf,
        wanted: bool,
        cover: Cover,
        make: impl FnOnce(&OwnedFd, &Path) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(relative) = path.strip_prefix(&self.root).ok().filter(|_| wanted) else {
            return Ok(());
        };
        match make(&self.lock, relative) {
            Ok(()) => {
                self.placeholders.push(relative.to_owned());
                self.covered.push(Covered { path, cover });
                Ok(())
            }
            Err(error) if unwritable(&error) => Ok(()),
            Err(error) => Err(error),
        }
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

    /// Names that nothing keeps from being changed.
    fn watched(&self, mounts: bool) -> Vec<PathBuf> {
        if mounts {
            return Vec::new();
        }
        let covered = self
            .covered
            .iter()
            .filter(|covered| covered.cover == Cover::ReadOnly);
        let root = PROTECTED_NAMES.iter().filter(|name| **name != ".git");
        covered
            .map(|covered| covered.path.clone())
            .chain(root.map(|name| self.root.join(name)))
            .collect()
    }
}

impl Drop for Guard {
    /// Removes the placeholders unless another run needs them; the last one does.
    fn drop(&mut self) {
        // SAFETY: takes a descriptor of ours.
        if unsafe { libc::flock(self.lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return;
        }
        for path in self.placeholders.iter().rev() {
            let _ = place::remove(&self.lock, path);
        }
    }
}

/// A place where nothing can be made: the command, which has no more rights than we, cannot plant anything there either.
fn unwritable(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::NotADirectory
    )
}
