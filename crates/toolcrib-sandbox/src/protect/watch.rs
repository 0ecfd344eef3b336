//! Notices what a run planted, by comparing what there is with what there was.
//!
//! A look costs one system call for each directory near the root, for each repository a few more; only directories that have
//! changed are read again. What was there before is kept as a [`Watch`], which can be written down ([`Watch::written`]) and
//! compared with by another process.

use super::{
    fold::{is_repository_name, protected},
    gitconfig::{self, UserSettings},
    judge::{begins_protected, below},
    names::{self, Listing, Pieces, list, read_whole, reopen, walk},
    placeholder::is_placeholder,
    planted::{Moment, Planted, Remedy},
    repository::Repository,
    submodules::{Submodules, Updated},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

/// Inode, and seconds and nanoseconds of a last change.
pub(super) type Changed = (u64, i64, i64);

/// What a file looked like: inode, time of last change, length.
pub(super) type State = (u64, i64, i64, u64);

/// Inode, and when it was made or changed: a new file often gets the inode of one just removed.
pub(super) type Mark = (u64, i64, i64);

/// The directories that are looked into when a run starts.
const MOST_DIRECTORIES: usize = 2048;
/// The directories that a run may have made and that are looked into.
const MOST_NEW_DIRECTORIES: usize = 20_000;

/// What was there at the last look.
#[derive(Debug, Default)]
pub(super) struct Watch {
    pub(super) root: PathBuf,
    /// Protected names that nothing keeps from being changed.
    pub(super) unguarded: BTreeMap<PathBuf, Option<State>>,
    /// Paths that must not come to be.
    pub(super) leaves: Vec<Leaf>,
    /// The directories that leaves would be made in; empty if they were never looked at.
    pub(super) parents: BTreeMap<PathBuf, Option<Changed>>,
    /// Protected names, wherever they are.
    pub(super) names: BTreeMap<PathBuf, Mark>,
    pub(super) directories: BTreeMap<PathBuf, Directory>,
    /// By where git keeps them.
    pub(super) repositories: BTreeMap<PathBuf, Repository>,
    pub(super) submodules: Submodules,
    /// Names in the root that are behind mounts: a run changes none of them.
    pub(super) covered: BTreeSet<PathBuf>,
    pub(super) settings: UserSettings,
    /// The moment of the look that is taken.
    pub(super) moment: Moment,
    /// Whether all directories could be looked into.
    pub(super) complete: bool,
}

/// A path that must not come to be.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) path: PathBuf,
    pub(super) why: String,
    pub(super) is_there: bool,
}

/// A directory near the root.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Directory {
    /// None if it was never looked into.
    pub(super) changed: Option<Changed>,
    pub(super) pieces: Pieces,
}

/// What a look finds.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) planted: Vec<Planted>,
    /// Repositories that were not there before.
    pub(crate) made: Vec<PathBuf>,
}

impl Findings {
    /// Puts them in order, each path once; something is done about a path rather than reported.
    pub(super) fn settle(&mut self) {
        self.planted.sort_by(|one, other| {
            let is_report = |planted: &Planted| planted.remedy == Remedy::Report;
            let by_path = one.path.cmp(&other.path);
            by_path.then(is_report(one).cmp(&is_report(other)))
        });
        self.planted.dedup_by(|one, other| one.path == other.path);
        // A directory that is taken takes along all beneath.
        let taken = self.planted.iter();
        let taken = taken.filter(|planted| planted.remedy == Remedy::Take);
        let taken: BTreeSet<PathBuf> = taken.map(|planted| planted.path.clone()).collect();
        self.planted.retain(|planted| {
            let mut above = planted.path.ancestors().skip(1);
            planted.remedy != Remedy::Take || !above.any(|above| taken.contains(above))
        });
    }
}

impl Watch {
    /// Takes in what there is, without an opinion on it.
    pub(super) fn take_in(&mut self, made_by_runs: &[PathBuf]) {
        let root = self.root.clone();
        let from = vec![root.clone()];
        let most = MOST_DIRECTORIES;
        self.complete = walk(&root, from, most, false, &mut |directory, listing| {
            for (path, metadata) in &listing.names {
                if let Some(mark) = mark(path, metadata) {
                    self.names.insert(path.clone(), mark);
                    self.know_repository(path, made_by_runs);
                }
            }
            if listing.pieces.is_bare_repository() {
                self.know_directory(&directory, made_by_runs);
            }
            let changed = steady(changed(&directory));
            let pieces = listing.pieces;
            self.directories
                .insert(directory, Directory { changed, pieces });
        });
        for path in self.changed_submodules().there {
            self.know_repository(&path, made_by_runs);
        }
        for path in self.changed_nested() {
            match path.file_name().is_some_and(is_repository_name) {
                true => self.know_repository(&path, made_by_runs),
                false => self.know_directory(&path, made_by_runs),
            }
        }
        for leaf in &mut self.leaves {
            leaf.is_there = is_there(&leaf.path);
        }
        self.parents = self.leaf_parents();
    }

    fn know_repository(&mut self, path: &Path, made_by_runs: &[PathBuf]) {
        if path.file_name().is_some_and(is_repository_name)
            && let Some(git) = git_directory(path, &self.root)
        {
            self.know_directory(&git, made_by_runs);
        }
    }

    fn know_directory(&mut self, git: &Path, made_by_runs: &[PathBuf]) {
        let is_of_a_run = made_by_runs.iter().any(|made| made == git);
        if let Some(repository) = Repository::known(git, is_of_a_run) {
            self.repositories.insert(git.to_owned(), repository);
            for beneath in names::NESTED_REPOSITORIES {
                // A run is refused where they are unknown.
                for module in names::modules(&git.join(beneath), false).unwrap_or_default() {
                    if let Some(repository) = Repository::known(&module, is_of_a_run) {
                        self.repositories.insert(module, repository);
                    }
                }
            }
        }
    }

    /// The `.git`s of submodules that are new, or others than at the last look.
    fn changed_submodules(&mut self) -> Updated {
        let is_git = |path: &&PathBuf| path.file_name() == Some(OsStr::new(".git"));
        let gits = self.names.keys().filter(is_git).cloned().collect();
        let mut updated = self.submodules.update(&self.root, gits);
        updated.there.retain(|path| self.is_new(path));
        updated
    }

    fn leaf_parents(&self) -> BTreeMap<PathBuf, Option<Changed>> {
        let nearest = |leaf: &Leaf| {
            let above = leaf.path.ancestors().skip(1);
            above
                .take_while(|above| above.starts_with(&self.root))
                .find(|above| is_there(above))
                .map(Path::to_owned)
        };
        let parents = self.leaves.iter().filter_map(nearest);
        parents
            .map(|parent| (parent.clone(), steady(changed_behind(&parent))))
            .collect()
    }

    /// Everything that is new or different since the last look; this look is the next reference.
    pub(super) fn look(&mut self, moment: Moment) -> Findings {
        self.moment = moment;
        let mut findings = Findings::default();
        for (path, before) in &mut self.unguarded {
            let now = state(path);
            if now != *before {
                *before = now;
                findings.planted.push(Planted::new(
                    path.clone(),
                    "it is protected and was changed",
                    Remedy::Report,
                ));
            }
        }
        // First, because it opens what a run closed.
        self.look_at_directories(&mut findings);
        self.look_at_leaves(&mut findings);
        let submodules = self.changed_submodules();
        for path in submodules.there {
            self.new_name(&path, &mut findings);
        }
        for path in submodules.unclear {
            let why =
                "it names submodules that cannot all be looked at, and git runs what they name";
            findings.planted.push(Planted::new(path, why, Remedy::Take));
        }
        for (git, repository) in &mut self.repositories {
            repository.look(git, moment, &mut findings.planted);
        }
        if moment == Moment::Ended {
            self.look_for_others(&mut findings);
            let mut nested = self.changed_nested();
            while let Some(path) = nested.pop() {
                match path.file_name().is_some_and(is_repository_name) {
                    true => self.new_name(&path, &mut findings),
                    false => self.new_repository(&path, &mut findings),
                }
                nested.extend(self.changed_nested());
            }
        }
        findings.settle();
        findings
    }

    fn look_at_leaves(&mut self, findings: &mut Findings) {
        let is_quiet =
            |(parent, then): (&PathBuf, &Option<Changed>)| changed_behind(parent) == *then;
        if !self.parents.is_empty() && self.parents.iter().all(is_quiet) {
            return;
        }
        for leaf in &mut self.leaves {
            let now = is_there(&leaf.path);
            if now && !leaf.is_there {
                let path = behind_links(&leaf.path, &self.root, &self.parents);
                findings
                    .planted
                    .push(Planted::new(path, leaf.why.clone(), Remedy::Take));
            }
            leaf.is_there = now;
        }
        self.parents = self.leaf_parents();
    }

    fn look_at_directories(&mut self, findings: &mut Findings) {
        let moved = self
            .directories
            .iter()
            .filter(|(path, then)| changed(path) != then.changed);
        let moved: Vec<PathBuf> = moved.map(|(path, _)| path.clone()).collect();
        let root = self.root.clone();
        for directory in moved {
            let Some(now) = changed(&directory) else {
                self.directories.remove(&directory);
                continue;
            };
            let is_over = self.moment == Moment::Ended;
            if is_over {
                reopen(&directory);
            }
            let mut listing = list(&directory, &root);
            let below = std::mem::take(&mut listing.directories);
            let linked = std::mem::take(&mut listing.linked);
            let new = below
                .into_iter()
                .chain(linked)
                .filter(|path| !self.directories.contains_key(path));
            let new: Vec<PathBuf> = new.collect();
            self.compare(&directory, now, listing, findings);
            let all = walk(
                &root,
                new,
                MOST_NEW_DIRECTORIES,
                is_over,
                &mut |directory, listing| {
                    let now = changed(&directory).unwrap_or_default();
                    self.compare(&directory, now, listing, findings);
                },
            );
            self.complete &= all;
        }
    }

    /// Compares what is in a directory with what was there, if it was.
    fn compare(
        &mut self,
        directory: &Path,
        now: Changed,
        listing: Listing,
        findings: &mut Findings,
    ) {
        let before = self.directories.get(directory).copied().unwrap_or_default();
        let pieces = listing.pieces;
        self.directories.insert(
            directory.to_owned(),
            Directory {
                changed: steady(Some(now)),
                pieces,
            },
        );
        let listed = |path: &PathBuf| listing.names.iter().any(|(name, _)| name == path);
        self.names
            .retain(|path, _| path.parent() != Some(directory) || listed(path));
        for (path, metadata) in &listing.names {
            let Some(mark) = mark(path, metadata) else {
                continue;
            };
            let is_new = self.names.insert(path.clone(), mark) != Some(mark);
            if is_new && !self.covered.contains(path) {
                self.new_name(path, findings);
            }
        }
        if pieces.is_bare_repository() && !before.pieces.is_bare_repository() {
            // What was there before may be anything, and is the user's.
            if before.pieces.runs_something() {
                let why = "git takes the directory for a repository with it, and runs programs that `config` names";
                findings.planted.extend(
                    pieces
                        .new_since(before.pieces)
                        .map(|piece| Planted::new(directory.join(piece), why, Remedy::Take)),
                );
            } else {
                self.new_repository(directory, findings);
            }
        }
    }

    /// A protected name that was not there, or is another one now.
    fn new_name(&mut self, path: &Path, findings: &mut Findings) {
        let is_directory = path
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_dir());
        let row = path.file_name().and_then(protected);
        let is_git = row.is_some_and(|row| row.name == ".git");
        if !is_git && let Some(effect) = self.in_users_tree(path, is_directory) {
            let planted = Planted::new(path.to_owned(), effect, Remedy::Take);
            findings.planted.push(planted);
            return;
        }
        let Some(row) = row else {
            return;
        };
        if row.name == ".git" {
            // Git elsewhere, on a file system that folds case, would take it for one.
            if path.file_name() != Some(OsStr::new(".git")) {
                let planted = Planted::new(path.to_owned(), row.effect, Remedy::Report);
                findings.planted.push(planted);
            }
            return match git_directory(path, &self.root) {
                Some(git) => self.new_repository(&git, findings),
                None => {
                    let text = "git looks for a repository where it leads";
                    let planted = Planted::new(path.to_owned(), text, Remedy::Take);
                    findings.planted.push(planted);
                }
            };
        }
        let is_in_root = path.parent() == Some(&self.root);
        let remedy = match is_in_root {
            // What counts in it is among the leaves.
            true if !row.within.is_empty() && is_directory => return,
            true => Remedy::Take,
            false if self.is_partly_protected(path, is_directory) => return,
            false => Remedy::Report,
        };
        findings
            .planted
            .push(Planted::new(path.to_owned(), row.effect, remedy));
    }

    /// What runs a path below the root that is protected as in the root, because the directory above it is a work tree of the user's.
    fn in_users_tree(&self, path: &Path, is_directory: bool) -> Option<&'static str> {
        let mut names = below(&self.root, path).into_iter();
        // What counts in a directory is looked at by itself; a link or a file takes its place.
        let name =
            names.find(|name| (name.is_whole || !is_directory) && self.is_users_tree(&name.tree));
        if let Some(name) = name {
            return Some(name.row.effect);
        }
        let is_link = path.is_symlink();
        let (name, tree) = (path.file_name()?, path.parent()?);
        let leads_on = is_link && tree != self.root && begins_protected(name);
        (leads_on && self.is_users_tree(tree))
            .then_some("a name that other programs run would be found through it")
    }

    /// Whether only some entries of a directory count, and it is in a work tree of the user's.
    fn is_partly_protected(&self, path: &Path, is_directory: bool) -> bool {
        let mut names = below(&self.root, path).into_iter();
        is_directory && names.any(|name| !name.is_whole && self.is_users_tree(&name.tree))
    }

    /// Whether a directory is the work tree of a repository that no run made: people work in it as in the root.
    fn is_users_tree(&self, tree: &Path) -> bool {
        let git = git_directory(&tree.join(".git"), &self.root);
        let known = git.and_then(|git| self.repositories.get(&git));
        known.is_some_and(|repository| !repository.is_of_a_run)
    }

    /// A directory that git keeps a repository in and that was not one before. It stays, without what would run.
    fn new_repository(&mut self, git: &Path, findings: &mut Findings) {
        if self.moment == Moment::Ended {
            reopen(git);
        }
        let mut new = vec![git.to_owned()];
        for beneath in names::NESTED_REPOSITORIES {
            new.extend(self.nested_repositories(&git.join(beneath), findings));
        }
        for git in new {
            let Some(identity) = Repository::identity_of(&git) else {
                continue;
            };
            let known = self
                .repositories
                .iter()
                .find(|(_, known)| known.identity == identity);
            match known.map(|(path, _)| path.clone()) {
                Some(path) if path == git => {}
                // It was moved here with what was in it.
                Some(path) => {
                    if let Some(known) = self.repositories.remove(&path) {
                        self.repositories.insert(git, known);
                    }
                }
                None => {
                    let mut repository = Repository::new(identity);
                    repository.look(&git, self.moment, &mut findings.planted);
                    self.repositories.insert(git.clone(), repository);
                    self.look_around(&git, findings);
                    findings.made.push(git);
                }
            }
        }
    }

    /// The repositories of submodules or worktrees. Too many to be looked at, or what cannot be read, is taken away.
    fn nested_repositories(&self, directory: &Path, findings: &mut Findings) -> Vec<PathBuf> {
        let is_over = self.moment == Moment::Ended;
        if is_over {
            reopen(directory);
        }
        names::modules(directory, is_over).unwrap_or_else(|_| {
            let why =
                "it holds repositories that cannot all be looked at, and git runs what they name";
            let planted = Planted::new(directory.to_owned(), why, Remedy::Take);
            findings.planted.push(planted);
            Vec::new()
        })
    }

    /// The `.git`s in directories of repositories, which are not looked into as work trees, that are new or others than at the last look.
    fn changed_nested(&mut self) -> Vec<PathBuf> {
        let nested = self.repositories.values().flat_map(Repository::nested);
        let mut nested: Vec<PathBuf> = nested.cloned().collect();
        nested.retain(|path| self.is_new(path));
        nested
    }

    /// Takes in a name; whether it is new, or another than at the last look.
    fn is_new(&mut self, path: &Path) -> bool {
        let metadata = path.symlink_metadata().ok();
        let mark = metadata.and_then(|metadata| mark(path, &metadata));
        mark.is_some_and(|mark| self.names.insert(path.to_owned(), mark) != Some(mark))
    }

    /// Follows what leads to repositories: files and links named `.git`, `commondir`, submodules and worktrees. Where they lead may have
    /// changed without them.
    fn look_for_others(&mut self, findings: &mut Findings) {
        // One that is gone is not a repository any more, and what comes after it another one.
        self.repositories
            .retain(|git, _| git.symlink_metadata().is_ok());
        let is_git = |path: &&PathBuf| path.file_name().is_some_and(is_repository_name);
        let names: Vec<PathBuf> = self.names.keys().filter(is_git).cloned().collect();
        for path in names.iter().filter(|path| {
            !path
                .symlink_metadata()
                .is_ok_and(|metadata| metadata.is_dir())
        }) {
            if let Some(git) = git_directory(path, &self.root) {
                self.new_repository(&git, findings);
            }
        }
        let known: Vec<(PathBuf, bool)> = self
            .repositories
            .iter()
            .map(|(git, known)| (git.clone(), known.is_of_a_run))
            .collect();
        for (git, is_of_a_run) in known {
            for beneath in names::NESTED_REPOSITORIES {
                let beneath = git.join(beneath);
                let known = self.repositories.get(&git);
                if known.is_some_and(|known| !known.may_have(&beneath)) {
                    continue;
                }
                for module in self.nested_repositories(&beneath, findings) {
                    if !self.repositories.contains_key(&module) {
                        self.new_repository(&module, findings);
                    }
                }
            }
            if is_of_a_run {
                self.look_around(&git, findings);
            }
        }
    }

    /// Looks at what git reads elsewhere because of a repository that a run made.
    fn look_around(&mut self, git: &Path, findings: &mut Findings) {
        let common = names::common_directory(git).and_then(|common| common.canonicalize().ok());
        let is_inside = |common: &PathBuf| common.starts_with(&self.root) && common.is_dir();
        match common.filter(is_inside) {
            Some(common) if !self.repositories.contains_key(&common) => {
                self.new_repository(&common, findings);
            }
            Some(_) => {}
            None => {
                let path = git.join("commondir");
                if is_there(&path) {
                    let why = "git reads its configuration where it leads";
                    findings.planted.push(Planted::new(path, why, Remedy::Take));
                }
            }
        }
        let tree = git
            .parent()
            .filter(|tree| git.ends_with(".git") && *tree != self.root);
        for path in tree.into_iter().flat_map(|tree| {
            self.settings
                .relative
                .iter()
                .map(move |path| tree.join(path))
        }) {
            if is_there(&path) && path.starts_with(&self.root) {
                let why = "your git settings have git run it";
                findings.planted.push(Planted::new(path, why, Remedy::Take));
            }
        }
    }
}

/// The directory that git uses for a `.git`, if it is in the root.
pub(super) fn git_directory(path: &Path, root: &Path) -> Option<PathBuf> {
    let metadata = path.symlink_metadata().ok()?;
    if metadata.is_dir() {
        return Some(path.to_owned());
    }
    let target = match metadata.is_symlink() {
        true => path.to_owned(),
        false => names::git_directory(path)?,
    };
    let real = target.canonicalize().ok()?;
    (real.starts_with(root) && real != root && real.is_dir()).then_some(real)
}

/// What to take so that nothing is at a path that may lead through a link: a link that was not there at the last look; otherwise the
/// file itself, where it really is.
fn behind_links(path: &Path, root: &Path, parents: &BTreeMap<PathBuf, Option<Changed>>) -> PathBuf {
    let above: Vec<&Path> = path
        .ancestors()
        .skip(1)
        .take_while(|above| above.starts_with(root) && *above != root)
        .collect();
    let Some(link) = above.into_iter().rev().find(|above| above.is_symlink()) else {
        return path.to_owned();
    };
    let is_known = parents.is_empty() || parents.keys().any(|known| known.starts_with(link));
    let real = || {
        let parent = path.parent()?.canonicalize().ok()?;
        let inside = parent.starts_with(root).then_some(parent)?;
        Some(inside.join(path.file_name()?))
    };
    let real = is_known.then(real).flatten();
    real.unwrap_or_else(|| link.to_owned())
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|metadata| !is_placeholder(path, &metadata))
}

/// What a name is known by; none for a placeholder.
fn mark(path: &Path, metadata: &fs::Metadata) -> Option<Mark> {
    let (seconds, nanoseconds) = born(metadata);
    (!is_placeholder(path, metadata)).then_some((metadata.ino(), seconds, nanoseconds))
}

/// When a file last changed; of a directory, which changes with everything in it, when it was made.
pub(super) fn born(metadata: &fs::Metadata) -> (i64, i64) {
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

pub(super) fn state(path: &Path) -> Option<State> {
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

/// When a directory last changed, or the one that a link leads to.
fn changed_behind(directory: &Path) -> Option<Changed> {
    let metadata = directory.metadata().ok().filter(fs::Metadata::is_dir)?;
    Some((metadata.ino(), metadata.ctime(), metadata.ctime_nsec()))
}

/// What to compare with later. File systems keep time in steps of some milliseconds, so a directory that changed just now may change
/// again and look the same; such a time is replaced by one that no directory has.
pub(super) fn steady(changed: Option<Changed>) -> Option<Changed> {
    const STEP: Duration = Duration::from_millis(20);
    changed.map(|changed| {
        let (_, seconds, nanoseconds) = changed;
        let then = Duration::new(seconds.max(0) as u64, nanoseconds.max(0) as u32);
        let now = UNIX_EPOCH.elapsed().unwrap_or_default();
        match now.checked_sub(then).is_some_and(|age| age > STEP) {
            true => changed,
            false => Changed::default(),
        }
    })
}

/// When a directory last changed.
pub(super) fn changed(directory: &Path) -> Option<Changed> {
    let metadata = directory
        .symlink_metadata()
        .ok()
        .filter(fs::Metadata::is_dir)?;
    // Not the time of modification, which the command can set back.
    Some((metadata.ino(), metadata.ctime(), metadata.ctime_nsec()))
}

/// The rest of a rebase to-do list without the commands that it would run; none if there are none.
pub(super) fn without_commands(todo: &Path) -> Option<Vec<u8>> {
    // One that is too long to be read is not a person's.
    let text = read_whole(todo).unwrap_or_else(|| b"exec".to_vec());
    let runs = |line: &&[u8]| {
        let word = line
            .trim_ascii_start()
            .split(u8::is_ascii_whitespace)
            .next();
        matches!(word, Some(b"exec" | b"x"))
    };
    let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    lines.iter().any(runs).then(|| {
        let kept = lines.iter().filter(|line| !runs(line));
        kept.copied().collect::<Vec<_>>().concat()
    })
}

/// Hooks that git would run: all but its examples. None if the directory cannot be read or has too many entries.
pub(super) fn hooks(directory: &Path) -> Option<Vec<PathBuf>> {
    let is_example = |path: &PathBuf| path.extension() == Some(OsStr::new("sample"));
    let mut hooks = names::all_entries(directory)?;
    hooks.retain(|path| !is_example(path));
    Some(hooks)
}

/// Whether a file of the old kind of remotes (`.git/remotes`, `.git/branches`) has git run a program.
pub(super) fn names_a_program(file: &Path) -> bool {
    read_whole(file).is_none_or(|text| text.windows(2).any(|pair| pair == b"::"))
}

/// A configuration without what would run; none if nothing would.
pub(super) fn harmless_configuration(file: &Path) -> Option<Vec<u8>> {
    // One that cannot be read, or is longer than any, is taken to run something.
    gitconfig::harmless(&read_whole(file).unwrap_or_else(|| b"[".to_vec()))
}
