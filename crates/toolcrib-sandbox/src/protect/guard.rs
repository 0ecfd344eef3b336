//! The protection of one workspace while runs of a policy use it: [`Guard`].

use super::{
    Cover, Covered, baseline,
    find::{Finder, ProtectedPaths},
    fold::protected,
    lock::Lock,
    makers::Makers,
    names, placeholder,
    planted::{Moment, Planted, Remedy},
    watch::{self, Changed, Findings, State, Watch, changed},
};
use crate::{
    policy::{AbsentNames, Policy},
    sys,
};
use std::{
    collections::BTreeSet,
    fs, io,
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

/// The protection of a workspace: what to cover, placeholders for as long as runs need them, and what there was before.
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
    watched: Mutex<Watched>,
    /// The makers of files in the root, where that can be known, once a run has asked for it.
    makers: OnceLock<Option<Makers>>,
    /// Whether it can be known: to root, of runs with their own process namespace.
    can_listen: bool,
}

/// The baseline, and the number of runs that compare with it.
#[derive(Debug, Default)]
struct Watched {
    watch: Watch,
    /// Runs under way. Files found in the meantime are theirs.
    runs: usize,
    /// Whether nothing was compared with it yet.
    is_fresh: bool,
    /// Repositories that runs made; where absent names are held they stay theirs.
    made: Vec<PathBuf>,
    holds: bool,
    /// Names in the root that were another program's when they were last looked at.
    accepted: Vec<(PathBuf, Option<State>)>,
    /// Whether a run made a repository that is to be covered for the next one.
    is_stale: bool,
}

/// Device, inode, and when it last changed: a new file often gets the inode of one just removed.
type Identity = (u64, u64, i64, i64);

impl Guard {
    /// Finds what to cover; with `mounts` makes what is missing if the policy has it so. What runs made before is not covered.
    /// `processes` says whether runs have their own process namespace.
    pub(crate) fn new(
        root: &Path,
        policy: &Policy,
        mounts: bool,
        processes: bool,
    ) -> io::Result<Self> {
        let directory = OwnedFd::from(fs::File::open(root)?);
        let lock = Lock::shared(&fs::metadata(root)?)?;
        let mut finder = Finder::new(root, &directory, &policy.made);
        let found = finder.find(policy, mounts);
        let ProtectedPaths {
            covered,
            placeholders,
            complete,
            missing,
            settings,
            submodules,
        } = finder.into_found();
        let mut guard = Self {
            root: root.to_owned(),
            directory,
            lock,
            covered,
            placeholders,
            complete,
            stamps: Mutex::default(),
            identities: Vec::new(),
            watched: Mutex::default(),
            makers: OnceLock::new(),
            can_listen: processes && policy.absent == AbsentNames::Hold && sys::uid() == 0,
        };
        // Only now, so that dropping the guard removes what was made before something failed.
        found?;
        if mounts {
            guard.separate()?;
        }
        guard.stamps = Mutex::new(guard.stamps());
        guard.identities = guard.identities();
        let unguarded = if mounts {
            Vec::new()
        } else {
            guard.unguarded()
        };
        let mut watch = Watch {
            root: guard.root.clone(),
            unguarded: unguarded
                .into_iter()
                .map(|path| (path.clone(), watch::state(&path)))
                .collect(),
            leaves: missing,
            settings,
            submodules,
            covered: guard.covered_in_root(mounts),
            ..Watch::default()
        };
        watch.take_in(&policy.made);
        guard.complete &= watch.complete;
        guard.watched = Mutex::new(Watched {
            watch,
            runs: 0,
            is_fresh: true,
            made: policy.made.clone(),
            holds: policy.absent == AbsentNames::Hold,
            accepted: Vec::new(),
            is_stale: false,
        });
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

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to look after a run; false if something has changed since the last one, and this guard is no longer the right one.
    pub(crate) fn begin(&self) -> bool {
        let mut watched = self.watched();
        // While others run, what is new may be theirs.
        if watched.is_stale {
            return false;
        }
        if watched.runs == 0 && !std::mem::take(&mut watched.is_fresh) {
            let Findings { planted, made } = watched.watch.look(Moment::Ended);
            if !planted.is_empty() || !made.is_empty() {
                return false;
            }
        }
        watched.runs += 1;
        true
    }

    /// Looks after a run that has begun; when this is dropped the run is over.
    pub(crate) fn looking(&self) -> Looking<'_> {
        Looking { guard: self }
    }

    /// Whether a file in the root certainly is another program's. A directory may hold what a run made.
    fn is_by_others(&self, planted: &Planted, makers: &Makers) -> bool {
        planted.remedy == Remedy::Take
            && planted.path.parent() == Some(&self.root)
            && planted
                .path
                .symlink_metadata()
                .is_ok_and(|metadata| metadata.is_file())
            && planted
                .path
                .file_name()
                .is_some_and(|name| makers.is_by_others(name))
    }

    /// Repositories that runs made and that still are there.
    pub(crate) fn made(&self) -> Vec<PathBuf> {
        let mut made = self.watched().made.clone();
        made.retain(|path| path.is_dir());
        made
    }

    /// Names in the root that are behind mounts.
    fn covered_in_root(&self, mounts: bool) -> BTreeSet<PathBuf> {
        let covered = self.covered.iter().filter(|covered| {
            mounts && covered.cover == Cover::ReadOnly && covered.path.parent() == Some(&self.root)
        });
        covered.map(|covered| covered.path.clone()).collect()
    }

    /// Gives files behind mounts that have a second name elsewhere their own content: a mount covers a name, and the other name could
    /// be written.
    fn separate(&self) -> io::Result<()> {
        const MOST: usize = 20_000;
        let covered = self
            .covered
            .iter()
            .filter(|covered| covered.cover == Cover::ReadOnly);
        let mut queue: Vec<PathBuf> = covered.map(|covered| covered.path.clone()).collect();
        let mut seen = 0;
        while let Some(path) = queue.pop() {
            let Ok(metadata) = path.symlink_metadata() else {
                continue;
            };
            seen += 1;
            if seen > MOST {
                let text = format!("more than {MOST} files are to be protected");
                return Err(io::Error::other(text));
            }
            if metadata.is_dir() {
                let entries = names::read_directory(&path).unwrap_or_default();
                queue.extend(entries.iter().map(|entry| path.join(entry.file_name())));
            } else if metadata.is_file() && metadata.nlink() > 1 {
                let Ok(relative) = path.strip_prefix(&self.root) else {
                    continue;
                };
                placeholder::separate(&self.directory, relative).map_err(|error| {
                    let text = format!(
                        "`{}` is protected and has a second name (a hard link), and cannot be separated from it: {error}",
                        path.display()
                    );
                    io::Error::new(error.kind(), text)
                })?;
            }
        }
        Ok(())
    }

    /// Names that nothing keeps from being changed, with the files in those that are directories.
    fn unguarded(&self) -> Vec<PathBuf> {
        let covered = self
            .covered
            .iter()
            .filter(|covered| covered.cover == Cover::ReadOnly);
        let names: Vec<PathBuf> = covered.map(|covered| covered.path.clone()).collect();
        let beneath = names.iter().flat_map(|name| names::entries(name));
        let mut unguarded: Vec<PathBuf> = beneath.collect();
        unguarded.extend(names);
        unguarded
    }
}

/// A run that is looked after.
#[derive(Debug)]
pub(crate) struct Looking<'a> {
    guard: &'a Guard,
}

impl Looking<'_> {
    /// What there is to compare with, to be written down.
    pub(crate) fn baseline(&self) -> Vec<u8> {
        let covered = self
            .guard
            .covered
            .iter()
            .filter(|covered| covered.cover == Cover::ReadOnly);
        let covered = covered.map(|covered| covered.path.as_path());
        baseline::written(&self.guard.watched().watch, covered)
    }

    /// Begins to listen to who makes what, if that can be known. A process that ends soon must not: closing what listens takes the kernel
    /// some 10 ms.
    pub(crate) fn listen(&self) {
        let listen = || Makers::listen(&self.guard.root).ok();
        self.guard
            .makers
            .get_or_init(|| self.guard.can_listen.then(listen).flatten());
    }

    fn makers(&self) -> Option<&Makers> {
        self.guard.makers.get()?.as_ref()
    }

    /// Is ready to be read when something was made in the root.
    pub(crate) fn ear(&self) -> Option<&OwnedFd> {
        self.makers().map(Makers::descriptor)
    }

    /// Notes who made it.
    pub(crate) fn hear(&self) {
        self.makers().into_iter().for_each(Makers::hear);
    }

    /// What was changed or newly made since the last look.
    ///
    /// Where mounts protect the names and placeholders the absent ones, this finds only what is allowed (a repository cloned into a
    /// subdirectory), what a case-folding copy of the workspace would take for a protected name, and changes the host made itself.
    pub(crate) fn look(&self, moment: Moment) -> Findings {
        let mut watched = self.guard.watched();
        let mut findings = watched.watch.look(moment);
        if let Some(makers) = self.makers() {
            makers.hear();
            let others = findings
                .planted
                .extract_if(.., |planted| self.guard.is_by_others(planted, makers));
            let others = others.map(|planted| (planted.path.clone(), watch::state(&planted.path)));
            let others: Vec<_> = others.collect();
            watched.accepted.extend(others);
            if moment == Moment::Ended {
                // A run may have written what was another program's.
                for (path, then) in std::mem::take(&mut watched.accepted) {
                    let name = path.file_name().unwrap_or_default();
                    let now = watch::state(&path);
                    // A second name says nothing about this one.
                    if now.is_some() && (now != then || !makers.is_by_others(name)) {
                        let why = protected(name).map_or("other programs run it", |row| row.effect);
                        findings.planted.push(Planted::new(path, why, Remedy::Take));
                    }
                }
                findings.settle();
            }
        }
        if watched.holds {
            watched.made.extend(findings.made.iter().cloned());
        } else if !findings.made.is_empty() {
            watched.is_stale = true;
            let why = "git runs programs that a repository names";
            let made = findings.made.iter().cloned();
            findings
                .planted
                .extend(made.map(|path| Planted::new(path, why, Remedy::Report)));
            findings.settle();
        }
        findings
    }
}

impl Drop for Looking<'_> {
    fn drop(&mut self) {
        let mut watched = self.guard.watched();
        watched.runs = watched.runs.saturating_sub(1);
    }
}

impl Drop for Guard {
    /// Removes the placeholders unless another run needs them; the last one does.
    fn drop(&mut self) {
        if !self.lock.is_the_last() {
            return;
        }
        for path in self.placeholders.iter().rev() {
            let _ = placeholder::remove(&self.directory, path);
        }
    }
}
