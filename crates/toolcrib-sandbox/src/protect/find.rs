//! Finds what is to be covered, following what git, links and editors would follow.

use super::{
    Cover, Covered, fold,
    gitconfig::{self, UserSettings},
    names, placeholder,
    submodules::Submodules,
    table::NAMES,
    watch::Leaf,
};
use crate::{
    policy::{AbsentNames, Policy},
    sys,
};
use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    fs, io,
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    path::{Path, PathBuf},
};

/// The most names that are covered: each costs a mount.
const MOST_COVERED: usize = 1024;
/// How many links are followed from one to the next.
const LINKS: usize = 8;
/// How many links a path may lead through; the kernel's own bound.
const MOST_LINKS: usize = 40;

pub(super) struct Finder<'a> {
    root: &'a Path,
    lock: &'a OwnedFd,
    absent: Absent,
    covered: Vec<Covered>,
    /// The paths of `covered`.
    known: HashSet<PathBuf>,
    placeholders: Vec<PathBuf>,
    /// Whether all directories near the root were looked into.
    complete: bool,
    /// What the user's own settings have git run.
    settings: UserSettings,
    /// Repositories that runs made, in which nothing is covered.
    made: &'a [PathBuf],
    /// Protected names that do not exist.
    missing: Vec<Leaf>,
    /// Which program runs the names that are being searched for.
    why: &'static str,
    submodules: Submodules,
    /// Whether what cannot be covered is passed over: nothing is, after a run that was killed.
    is_afterwards: bool,
}

/// Paths to cover, and names that do not exist and cannot be covered.
pub(super) struct ProtectedPaths {
    /// What to mount, in this order.
    pub(super) covered: Vec<Covered>,
    /// Placeholders that were made, relative to the root.
    pub(super) placeholders: Vec<PathBuf>,
    /// Whether every repository near the root was found.
    pub(super) complete: bool,
    pub(super) missing: Vec<Leaf>,
    pub(super) settings: UserSettings,
    pub(super) submodules: Submodules,
}

/// What becomes of a protected name that is not there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Absent {
    /// A placeholder is made to lay a mount over.
    Made,
    /// Nothing is made; the watch gets the path.
    Left,
    /// It is covered like one that is there.
    Counts,
}

impl ProtectedPaths {
    /// Everything that is protected, there or not, except for what only has to stay where it is.
    pub(super) fn into_leaves(self, root: &Path) -> impl Iterator<Item = Leaf> {
        let covered = self
            .covered
            .into_iter()
            .filter(|covered| covered.cover != Cover::Pinned);
        let there = covered.map(|covered| Leaf {
            why: effect(&covered.path, root).to_owned(),
            path: covered.path,
            is_there: true,
        });
        self.missing.into_iter().chain(there)
    }
}

/// Which program runs a path of the root.
fn effect(path: &Path, root: &Path) -> &'static str {
    let first = path
        .strip_prefix(root)
        .ok()
        .and_then(|path| path.iter().next());
    let row = first.and_then(fold::protected);
    row.map_or("other programs run it", |row| row.effect)
}

impl<'a> Finder<'a> {
    pub(super) fn new(root: &'a Path, lock: &'a OwnedFd, made: &'a [PathBuf]) -> Self {
        Self {
            root,
            lock,
            absent: Absent::Left,
            covered: Vec::new(),
            known: HashSet::new(),
            placeholders: Vec::new(),
            complete: true,
            settings: UserSettings::of_this_user(),
            made,
            missing: Vec::new(),
            why: "",
            submodules: Submodules::default(),
            is_afterwards: false,
        }
    }

    /// To find what is to be looked at after a run, whatever the run did to keep it from being found.
    pub(super) fn afterwards(mut self) -> Self {
        self.is_afterwards = true;
        self
    }

    fn unless_afterwards(&self, result: io::Result<()>) -> io::Result<()> {
        if self.is_afterwards { Ok(()) } else { result }
    }

    pub(super) fn into_found(self) -> ProtectedPaths {
        ProtectedPaths {
            covered: self.covered,
            placeholders: self.placeholders,
            complete: self.complete,
            missing: self.missing,
            settings: self.settings,
            submodules: self.submodules,
        }
    }

    /// Finds what a policy protects. With `mounts` what is missing is made where the policy has it refused.
    pub(super) fn find(&mut self, policy: &Policy, mounts: bool) -> io::Result<()> {
        if policy.protect {
            if mounts && policy.absent == AbsentNames::Refuse {
                self.absent = Absent::Made;
            }
            for row in NAMES.iter().filter(|row| !row.name.starts_with('*')) {
                self.why = row.effect;
                let path = self.root.join(row.name);
                let is_there = match real(&path) {
                    Err(error) if !self.is_afterwards => return Err(error),
                    found => found.is_ok_and(|found| found.is_some()),
                };
                if self.absent == Absent::Left && !row.within.is_empty() && !is_there {
                    row.within
                        .iter()
                        .for_each(|file| self.miss(&path.join(file)));
                } else if row.name.contains('/') && !path.parent().is_some_and(Path::is_dir) {
                    // Its directory is not protected.
                    self.miss(&path);
                } else {
                    let found = self.name(row.name, &path, LINKS);
                    self.unless_afterwards(found)?;
                }
            }
            let (mut repositories, complete) = names::repositories(self.root);
            self.complete = complete;
            let mut gits = repositories.clone();
            gits.push(self.root.join(".git"));
            let updated = self.submodules.update(self.root, gits);
            if let Some(index) = updated.unclear.first()
                && !self.is_afterwards
            {
                let text = format!(
                    "`{}` cannot be read, or names more submodules than can be protected; remove it, then run `git reset`",
                    index.display()
                );
                return Err(io::Error::other(text));
            }
            repositories.extend(updated.there);
            // The directories above them are not pinned: a pinned one is a separate mount, across which nothing can be renamed,
            // and that would break builds. A repository moved away with its directory, and one put in its place, is reported.
            for git in repositories {
                let found = match git.file_name() == Some(OsStr::new(".git")) {
                    true => self.name(".git", &git, LINKS),
                    false => self
                        .repository(&git)
                        .and_then(|()| self.configured(&git, &git)),
                };
                self.unless_afterwards(found)?;
            }
            let found = self.users_paths();
            self.unless_afterwards(found)?;
            let found = self.enclosing();
            self.unless_afterwards(found)?;
        }
        if mounts {
            self.absent = Absent::Made;
        }
        self.why = "it is protected";
        for path in &policy.protected {
            let inside = self.settled(path)?.ok_or_else(|| {
                let text = format!("the protected path `{}` is not in it", path.display());
                io::Error::new(io::ErrorKind::InvalidInput, text)
            })?;
            self.links_to(path);
            self.pin_above(&inside);
            self.whole(&inside)?;
        }
        Ok(())
    }

    /// What the user's own settings have git run in the root, or wherever it runs.
    fn users_paths(&mut self) -> io::Result<()> {
        self.users_paths_in(self.root)?;
        let absolute = self.settings.absolute.clone();
        self.protect_all(absolute)
    }

    /// What the settings of a repository that the root is a part of have git run in the root.
    fn enclosing(&mut self) -> io::Result<()> {
        let above = self.root.ancestors().skip(1);
        let git = above
            .map(|above| above.join(".git"))
            .find(|git| git.exists());
        let Some(git) = git else { return Ok(()) };
        let directory = match git.is_dir() {
            true => Some(git.clone()),
            false => names::git_directory(&git),
        };
        match (directory, git.parent()) {
            (Some(directory), Some(tree)) => self.configured(&directory, tree),
            _ => Ok(()),
        }
    }

    /// What they have git run in a work tree.
    fn users_paths_in(&mut self, tree: &Path) -> io::Result<()> {
        let relative = self.settings.relative.iter().map(|path| tree.join(path));
        let words = self.settings.words.iter().map(|word| tree.join(word));
        let named = relative.chain(words.filter(|path| path.is_file()));
        let named: Vec<PathBuf> = named.collect();
        self.protect_all(named)
    }

    fn protect_all(&mut self, named: Vec<PathBuf>) -> io::Result<()> {
        self.why = "your git settings have git run it";
        for path in named {
            if let Some(inside) = self.settled(&path)?
                && inside != self.root
            {
                self.pin_above(&inside);
                self.whole(&inside)?;
            }
        }
        Ok(())
    }

    /// The protected names that concern one path: the names of the root, and those of the repositories it is in or is.
    /// Nothing is made: what is missing counts as covered.
    pub(super) fn find_for(&mut self, path: &Path) -> io::Result<()> {
        self.absent = Absent::Counts;
        for row in NAMES.iter().filter(|row| !row.name.starts_with(['*'])) {
            self.name_or_place(row.name, &self.root.join(row.name))?;
        }
        self.users_paths()?;
        let root = self.root;
        for directory in path.ancestors().take_while(|above| above.starts_with(root)) {
            if directory != root && directory != path {
                self.name_or_place(".git", &directory.join(".git"))?;
            }
            if names::is_repository(directory) {
                self.repository(directory)?;
                self.configured(directory, directory)?;
            }
        }
        Ok(())
    }

    /// A name in a directory that is there: itself, or its place if it is missing.
    fn name_or_place(&mut self, name: &str, path: &Path) -> io::Result<()> {
        match real(path)? {
            Some(_) => self.name(name, path, LINKS),
            None => {
                self.push(path, Cover::Placeholder);
                Ok(())
            }
        }
    }

    /// Too many names to cover are refused: rather no run than one whose next names are uncovered.
    fn bounded(&self) -> io::Result<()> {
        if self.covered.len() < MOST_COVERED || self.is_afterwards {
            return Ok(());
        }
        let text = format!(
            "more than {MOST_COVERED} names in it are to be protected; look for planted repositories"
        );
        Err(io::Error::other(text))
    }

    fn push(&mut self, path: &Path, cover: Cover) {
        if self.known.insert(path.to_owned()) {
            self.covered.push(Covered {
                path: path.to_owned(),
                cover,
            });
        }
    }

    /// A protected name of the root, or what a link of that name leads to.
    fn name(&mut self, name: &str, path: &Path, links: usize) -> io::Result<()> {
        self.bounded()?;
        let Some(metadata) = real(path)? else {
            return self.place_first_missing(path);
        };
        if metadata.is_symlink() {
            // The link stays where it is; what it leads to, if that can be written at all, is protected in its place.
            self.push(path, Cover::ReadOnly);
            let target = path.parent().unwrap_or(self.root).join(path.read_link()?);
            if name == ".git"
                && let (Ok(git), Some(tree)) = (path.canonicalize(), path.parent())
            {
                self.configured(&git, tree)?;
            }
            return match self.settled(&target)? {
                Some(inside) if links > 0 && inside != self.root => {
                    self.links_to(&target);
                    self.pin_above(&inside);
                    self.name(name, &inside, links - 1)
                }
                _ => Ok(()),
            };
        }
        if name == ".git" {
            return self.git(path);
        }
        let row = NAMES
            .iter()
            .find(|row| row.name == name && !row.within.is_empty());
        match row.filter(|_| metadata.is_dir()) {
            Some(row) => {
                self.push(path, Cover::Pinned);
                let files = row.within.iter();
                files
                    .map(|file| path.join(file))
                    .try_for_each(|file| self.whole(&file))
            }
            None => {
                self.push(path, Cover::ReadOnly);
                Ok(())
            }
        }
    }

    /// A `.git`: a directory, or a file that says where it is.
    fn git(&mut self, path: &Path) -> io::Result<()> {
        let Some(tree) = path.parent() else {
            return Ok(());
        };
        match real(path)? {
            Some(metadata) if metadata.is_dir() => {
                self.repository(path)?;
                self.configured(path, tree)
            }
            Some(_) => {
                let target = names::git_directory(path);
                let real = target
                    .as_ref()
                    .and_then(|target| target.canonicalize().ok());
                // A run made it with its repository, and may remove both.
                if real.as_ref().is_some_and(|real| self.made.contains(real)) {
                    return Ok(());
                }
                self.push(path, Cover::ReadOnly);
                if let Some(target) = target {
                    self.elsewhere(&target)?;
                }
                real.map_or(Ok(()), |git| self.configured(&git, tree))
            }
            None => Ok(()),
        }
    }

    /// What the configuration of a repository has git run or read in a work tree: hooks that a person keeps there (`core.hooksPath`),
    /// programs, and files that are a part of the configuration. The repository may be outside of the root.
    fn configured(&mut self, git: &Path, tree: &Path) -> io::Result<()> {
        if self.made.iter().any(|made| made == git) {
            return Ok(());
        }
        if tree != self.root {
            self.users_paths_in(tree)?;
        }
        self.why = "your repository's settings have git run it or read it";
        let common = names::common_directory(git).unwrap_or_else(|| git.to_owned());
        for config in [common.join("config"), git.join("config.worktree")] {
            for named in gitconfig::configured_paths(&config, tree) {
                if let Some(path) = self.settled(&named)?
                    // Not all there is.
                    && !tree.starts_with(&path)
                {
                    self.links_to(&named);
                    self.pin_above(&path);
                    self.whole(&path)?;
                }
            }
        }
        Ok(())
    }

    /// A repository that a file names, if it is in the root.
    fn elsewhere(&mut self, named: &Path) -> io::Result<()> {
        let Ok(target) = named.canonicalize() else {
            return Ok(());
        };
        if self.known.contains(&target)
            || !target.is_dir()
            || !target.starts_with(self.root)
            || target == self.root
        {
            return Ok(());
        }
        self.links_to(named);
        self.pin_above(&target);
        self.repository(&target)
    }

    /// Hooks, configuration, and the files that move its configuration elsewhere.
    fn repository(&mut self, git: &Path) -> io::Result<()> {
        self.bounded()?;
        if self.known.contains(git) || self.made.iter().any(|made| made == git) {
            return Ok(());
        }
        if git != self.root {
            self.push(git, Cover::Pinned);
        }
        self.why = "git runs what is in it as hooks";
        let hooks = git.join("hooks");
        if self.absent == Absent::Left && real(&hooks)?.is_none() {
            // Git makes it, too; and a directory that is there can be covered.
            match hooks
                .strip_prefix(self.root)
                .map(|hooks| placeholder::plain_directory(self.lock, hooks))
            {
                Ok(Err(error))
                    if error.kind() == io::ErrorKind::PermissionDenied
                        && !is_out_of_reach(&hooks, &error) =>
                {
                    return Err(closed(&hooks));
                }
                _ => {}
            }
        }
        self.whole(&hooks)?;
        for old in ["remotes", "branches", "lazygit.yml"] {
            if real(&git.join(old))?.is_some() {
                self.whole(&git.join(old))?;
            }
        }
        // Git reads these when they are there, so a directory would break it; a file that says what git assumes anyway
        // does not.
        for (name, text) in names::GIT_FILES {
            let path = git.join(name);
            match real(&path)? {
                Some(_) => self.whole(&path)?,
                None => {
                    let place = |root: &OwnedFd, path: &Path| placeholder::file(root, path, text);
                    self.made(&path, Cover::ReadOnly, place)?;
                }
            }
        }
        self.why = "your repository's settings have git run it or read it";
        // A worktree's part says where the rest is.
        if let Some(common) = names::common_directory(git) {
            self.elsewhere(&common)?;
        }
        for beneath in names::NESTED_REPOSITORIES {
            let directory = git.join(beneath);
            for module in
                names::modules(&directory, false).map_err(|error| unreadable(&directory, error))?
            {
                self.pin_above(&module);
                self.repository(&module)?;
            }
        }
        Ok(())
    }

    /// A path with all beneath, there or not; of a link also what it leads to.
    fn whole(&mut self, path: &Path) -> io::Result<()> {
        self.name("", path, LINKS)
    }

    /// Where a path really is, if that is in the root: its deepest directory that exists, resolved, and the rest as it is.
    fn settled(&self, path: &Path) -> io::Result<Option<PathBuf>> {
        let mut rest = Vec::new();
        let mut at = path;
        loop {
            let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
                return Ok(None);
            };
            rest.push(name);
            at = parent;
            if let Ok(real) = at.canonicalize() {
                let whole = rest.iter().rev().fold(real, |path, name| path.join(name));
                return Ok(whole.starts_with(self.root).then_some(whole));
            }
        }
    }

    /// Keeps the links on the way to a path as they are: a directory put in the place of one would make it mean another. The
    /// caller deals with the last name.
    fn links_to(&mut self, path: &Path) {
        let reversed =
            |path: &Path| -> Vec<OsString> { path.iter().rev().map(OsStr::to_owned).collect() };
        let mut left = path.parent().map(reversed).unwrap_or_default();
        let (mut at, mut followed) = (PathBuf::new(), 0);
        while let Some(name) = left.pop() {
            if name == ".." {
                at.pop();
                continue;
            }
            let next = at.join(name);
            let Ok(target) = next.read_link() else {
                at = next;
                continue;
            };
            if next.starts_with(self.root) {
                self.pin_above(&next);
                self.push(&next, Cover::ReadOnly);
            }
            followed += 1;
            if followed > MOST_LINKS {
                return;
            }
            left.extend(reversed(&target));
        }
    }

    /// Keeps the directories between the root and a path where they are, so that the path cannot come to mean another.
    fn pin_above(&mut self, path: &Path) {
        let above: Vec<&Path> = path
            .ancestors()
            .skip(1)
            .take_while(|above| above.starts_with(self.root) && *above != self.root)
            .filter(|above| above.is_dir())
            .collect();
        for path in above.into_iter().rev() {
            self.push(path, Cover::Pinned);
        }
    }

    /// An empty directory where a path begins to be missing: beneath it nothing can be made.
    fn place_first_missing(&mut self, path: &Path) -> io::Result<()> {
        if self.absent == Absent::Left {
            self.miss(path);
            return Ok(());
        }
        let above: Vec<&Path> = path
            .ancestors()
            .take_while(|above| *above != self.root)
            .collect();
        for path in above.into_iter().rev() {
            if real(path)?.is_none() {
                return self.made(path, Cover::Placeholder, placeholder::directory);
            }
        }
        Ok(())
    }

    /// Notes a path that must not come to be. (What comes to be in a repository is judged with it.)
    fn miss(&mut self, path: &Path) {
        if path.starts_with(self.root)
            && path != self.root
            && path.file_name() != Some(OsStr::new(".git"))
        {
            self.missing.push(Leaf {
                path: path.to_owned(),
                why: self.why.to_owned(),
                is_there: false,
            });
        }
    }

    fn made(
        &mut self,
        path: &Path,
        cover: Cover,
        make: impl FnOnce(&OwnedFd, &Path) -> io::Result<()>,
    ) -> io::Result<()> {
        let Ok(relative) = path.strip_prefix(self.root) else {
            return Ok(());
        };
        match self.absent {
            Absent::Made => {}
            // What a repository gets there is judged with the repository.
            Absent::Left => return Ok(()),
            Absent::Counts => {
                self.push(path, cover);
                return Ok(());
            }
        }
        match make(self.lock, relative) {
            Ok(()) => {
                self.placeholders.push(relative.to_owned());
                self.push(path, cover);
                Ok(())
            }
            Err(error) if is_out_of_reach(path, &error) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(closed(path)),
            Err(error) => Err(error),
        }
    }
}

/// The entry at a path, without following a link there; a placeholder left by another run counts as absent.
///
/// What cannot be looked at is an error: a run may have closed a directory to hide from the next one what it will open again.
fn real(path: &Path) -> io::Result<Option<fs::Metadata>> {
    match path.symlink_metadata() {
        Ok(metadata) if placeholder::is_placeholder(path, &metadata) => Ok(None),
        Ok(metadata) => Ok(Some(metadata)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(closed(path)),
        Err(error) => Err(error),
    }
}

/// The error for a directory that cannot be read.
fn unreadable(path: &Path, error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::PermissionDenied {
        closed(path)
    } else {
        error
    }
}

/// Why a protected name cannot be looked after.
fn closed(path: &Path) -> io::Error {
    let text = format!(
        "`{}` is to be protected and cannot be reached; open its directory to yourself (chmod u+rwx)",
        path.display()
    );
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

/// Whether this user cannot create anything in the directory of this path, even after changing its mode.
fn is_out_of_reach(path: &Path, error: &io::Error) -> bool {
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::NotADirectory => true,
        io::ErrorKind::PermissionDenied => {
            let owner = path
                .parent()
                .and_then(|parent| parent.symlink_metadata().ok());
            owner.is_some_and(|owner| owner.uid() != sys::uid())
        }
        _ => false,
    }
}
