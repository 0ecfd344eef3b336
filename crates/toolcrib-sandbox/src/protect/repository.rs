//! One repository, as git would find it, and what in it came to run programs.

use super::{
    fold::is_repository_name,
    names::{Pieces, all_entries, read_directory, read_small, read_whole, reopen},
    planted::{Moment, Planted, Remedy},
    watch::{
        self, Changed, Mark, State, born, harmless_configuration, hooks, names_a_program, state,
        without_commands,
    },
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

/// What git reads in a repository, and what a change of each may mean.
const WATCHED: [&str; 13] = [
    "HEAD",
    "config",
    "config.worktree",
    "commondir",
    "hooks",
    "remotes",
    "branches",
    "rebase-merge/git-rebase-todo",
    "rebase-merge/strategy",
    "sequencer/opts",
    "lazygit.yml",
    "rr-cache",
    "MERGE_RR",
];

/// A repository that is looked after.
#[derive(Debug)]
pub(super) struct Repository {
    pub(super) identity: Mark,
    /// Whether a run made it: then mounts protect nothing in it.
    pub(super) is_of_a_run: bool,
    /// What `HEAD` said.
    pub(super) head: Vec<u8>,
    pub(super) states: BTreeMap<&'static str, Option<State>>,
    /// The directories in it, but those of single objects, and when they last changed; and the links in them, with where they lead.
    directories: BTreeMap<PathBuf, Option<Changed>>,
    pub(super) links: BTreeMap<PathBuf, PathBuf>,
    /// Repositories' names in those directories, and bare repositories.
    nested: BTreeSet<PathBuf>,
    /// Its own directory at the last look.
    changed: Option<Changed>,
    /// Whether it had more directories than are looked into before any run.
    is_large: bool,
}

/// How many directories of a repository are looked into.
const MOST_DIRECTORIES: usize = 20_000;

impl Repository {
    /// What a directory is known by.
    pub(super) fn identity_of(git: &Path) -> Option<Mark> {
        let metadata = git.symlink_metadata().ok().filter(fs::Metadata::is_dir)?;
        let (seconds, nanoseconds) = born(&metadata);
        Some((metadata.ino(), seconds, nanoseconds))
    }

    /// A repository that is there already, and what is in it.
    pub(super) fn known(git: &Path, is_of_a_run: bool) -> Option<Self> {
        let states = WATCHED.iter().map(|name| (*name, state(&git.join(name))));
        let mut known = Self {
            identity: Self::identity_of(git)?,
            is_of_a_run,
            head: head(git),
            states: states.collect(),
            directories: BTreeMap::new(),
            links: BTreeMap::new(),
            nested: BTreeSet::new(),
            changed: None,
            is_large: false,
        };
        known.find_links(git);
        known.is_large = known.directories.len() >= MOST_DIRECTORIES;
        Some(known)
    }

    /// A repository that a run made: everything in it is new.
    pub(super) fn new(identity: Mark) -> Self {
        Self {
            identity,
            is_of_a_run: true,
            head: Vec::new(),
            states: BTreeMap::new(),
            directories: BTreeMap::new(),
            links: BTreeMap::new(),
            nested: BTreeSet::new(),
            changed: None,
            is_large: false,
        }
    }

    /// Which of the watched names there are, as bits.
    pub(super) fn present(&self) -> u32 {
        let is_there = |name| self.states.get(name).copied().flatten().is_some();
        let bits = WATCHED.iter().enumerate();
        bits.filter(|(_, name)| is_there(*name))
            .fold(0, |bits, (bit, _)| bits | 1 << bit)
    }

    /// Goes back to what was written down: these names, which mounts protected, and these links were there.
    pub(super) fn forget(&mut self, present: u32) {
        let is_present = |name: &str| {
            let bit = WATCHED.iter().position(|watched| *watched == name);
            bit.is_some_and(|bit| present & 1 << bit != 0)
        };
        let is_protected = |name: &str| {
            matches!(
                name,
                "config" | "config.worktree" | "commondir" | "hooks" | "remotes" | "branches"
            )
        };
        let is_kept = |name: &str| !self.is_of_a_run && is_protected(name) && is_present(name);
        self.states.retain(|name, _| is_kept(name));
        self.links.clear();
        self.nested.clear();
        self.directories.clear();
    }

    /// The links that came to be since the last look, or lead elsewhere: git writes through them. Directories beyond the bound may hold
    /// links, and count as such.
    fn find_links(&mut self, git: &Path) -> Vec<PathBuf> {
        let mut queue = vec![git.to_owned()];
        queue.extend(self.directories.keys().filter(|path| *path != git).cloned());
        let mut new = Vec::new();
        while let Some(directory) = queue.pop() {
            let now = watch::changed(&directory);
            let before = self.directories.get(&directory).copied();
            if before == Some(now) {
                continue;
            }
            // One that is gone, or a link by now, which is found where it is.
            if now.is_none() {
                self.directories.remove(&directory);
                continue;
            }
            if before.is_none() && self.directories.len() >= MOST_DIRECTORIES {
                if !self.is_large {
                    new.push(directory);
                }
                continue;
            }
            self.directories
                .insert(directory.clone(), watch::steady(now));
            let mut pieces = Pieces::default();
            for entry in read_directory(&directory).into_iter().flatten() {
                let name = entry.file_name();
                let path = directory.join(&name);
                let kind = entry.file_type();
                if let Some(name) = name.to_str() {
                    pieces.add(name);
                }
                if is_repository_name(&name) {
                    self.nested.insert(path.clone());
                }
                if kind.as_ref().is_ok_and(|kind| kind.is_symlink()) {
                    let target = path.read_link().unwrap_or_default();
                    if self.links.get(&path) != Some(&target) {
                        self.links.insert(path.clone(), target);
                        new.push(path);
                    }
                } else if kind.is_ok_and(|kind| kind.is_dir())
                    && !self.directories.contains_key(&path)
                    && !(directory == git.join("objects") && holds_objects(&name))
                {
                    queue.push(path);
                }
            }
            if directory != git && pieces.is_bare_repository() {
                self.nested.insert(directory);
            }
        }
        self.links.retain(|path, _| path.is_symlink());
        new
    }

    /// Finds what changed since the last look and would run something now.
    pub(super) fn look(&mut self, git: &Path, moment: Moment, planted: &mut Vec<Planted>) {
        // A repository that is gone runs nothing.
        let changed = watch::changed(git);
        if changed.is_none() {
            return;
        }
        if moment == Moment::Ended && self.changed != changed {
            reopen(git);
        }
        // First, because it finds the directories that names can appear in.
        if moment == Moment::Ended {
            let why = "git would write where it leads";
            let pieces = ["objects", "refs"].map(|name| git.join(name));
            for link in self.find_links(git) {
                // Without these it is not a repository; `judge` deals with the first one.
                let remedy = match self.is_of_a_run {
                    false if link == git.join("HEAD") => continue,
                    false if pieces.contains(&link) => Remedy::MakeDirectory,
                    true | false => Remedy::Take,
                };
                planted.push(Planted::new(link, why, remedy));
            }
        }
        let is_quiet = self.changed == changed;
        // Whether all of it was judged: what is put off is looked at again.
        let mut is_judged = true;
        for name in WATCHED {
            let path = git.join(name);
            let before = self.states.get(name).copied();
            if before == Some(None) && is_quiet && !self.may_appear_quietly(&path, git) {
                continue;
            }
            let before = before.flatten();
            let now = state(&path);
            // What was left alone while the command ran is looked at when it has ended.
            let is_over = moment == Moment::Ended && self.is_of_a_run;
            if (now == before && !is_over)
                || !self.is_judged(name, moment, before.is_some())
                || (moment == Moment::Running && is_config(name) && !is_settled(now))
            {
                is_judged &= now == before;
                continue;
            }
            self.states.insert(name, now);
            if now.is_some() {
                self.judge(name, path, planted);
            }
        }
        self.changed = watch::steady(changed).filter(|_| is_judged);
        if !self.is_of_a_run && !self.head.is_empty() {
            self.restore(git, is_quiet, planted);
        }
    }

    /// Whether something can come to be at a path of a repository although the repository's own directory has not changed.
    fn may_appear_quietly(&self, path: &Path, git: &Path) -> bool {
        let is_known = |parent: &Path| self.directories.contains_key(parent);
        self.directories.len() >= MOST_DIRECTORIES
            || path
                .parent()
                .is_some_and(|parent| parent != git && is_known(parent))
    }

    /// The `.git`s in its directories, as of the last look when a run ended.
    pub(super) fn nested(&self) -> impl Iterator<Item = &PathBuf> {
        self.nested.iter()
    }

    /// Whether a directory of this name may be in the repository, as of the last look when a run ended.
    pub(super) fn may_have(&self, directory: &Path) -> bool {
        self.directories.len() >= MOST_DIRECTORIES || self.directories.contains_key(directory)
    }

    /// Whether a change of this name is looked at now. What was there before is behind a mount, and changes by the user alone.
    fn is_judged(&self, name: &str, moment: Moment, was_there: bool) -> bool {
        match name {
            "HEAD" => !self.is_of_a_run,
            "config" | "config.worktree" | "commondir" | "hooks" => self.is_of_a_run || !was_there,
            // While git works through the list it reads it again and again.
            "rebase-merge/git-rebase-todo"
            | "rebase-merge/strategy"
            | "sequencer/opts"
            | "MERGE_RR" => moment == Moment::Ended,
            // One that is there was the user's wish, and what is added to it counts for the paths in `MERGE_RR` alone.
            "rr-cache" => moment == Moment::Ended && !was_there,
            _ => true,
        }
    }

    fn judge(&self, name: &str, path: PathBuf, planted: &mut Vec<Planted>) {
        if is_config(name) {
            return judge_configuration(path, planted);
        }
        let mut push = |path, why, remedy| planted.push(Planted::new(path, why, remedy));
        match name {
            "HEAD" if !self.head.is_empty() && !is_valid_head(&path) => {
                push(path, NOT_A_REPOSITORY, Remedy::Replace(self.head.clone()));
            }
            "commondir" if !self.is_of_a_run => {
                push(
                    path,
                    "git reads its configuration where it leads",
                    Remedy::Take,
                );
            }
            "hooks" => match hooks(&path) {
                Some(hooks) => hooks
                    .into_iter()
                    .for_each(|hook| push(hook, "git runs it as a hook", Remedy::Take)),
                None => push(path, "git runs what is in it as hooks", Remedy::Take),
            },
            "remotes" | "branches" => match all_entries(&path) {
                Some(files) => files
                    .into_iter()
                    .filter(|file| names_a_program(file))
                    .for_each(|file| push(file, "git runs a program that it names", Remedy::Take)),
                None => push(path, "git runs programs that it names", Remedy::Take),
            },
            "rebase-merge/git-rebase-todo" => {
                if let Some(text) = without_commands(&path) {
                    let why = "`git rebase --continue` runs commands in it";
                    push(path, why, Remedy::Replace(text));
                }
            }
            "rr-cache" => push(
                path,
                "with it git writes recorded solutions of conflicts into your files",
                Remedy::Take,
            ),
            // The name of any file can be in it, `.git/config` too. Without it a solution is not recorded, and nothing else is lost.
            "MERGE_RR" if state(&path).is_some_and(|(.., length)| length > 0) => push(
                path,
                "git writes a recorded solution into the files that it names",
                Remedy::Take,
            ),
            "lazygit.yml" => push(path, "lazygit runs commands that it names", Remedy::Take),
            // A strategy is a program, which a path can name.
            "rebase-merge/strategy" | "sequencer/opts"
                if read_whole(&path).is_none_or(|text| text.contains(&b'/')) =>
            {
                let why = "git runs the program that it names as a strategy";
                push(path, why, Remedy::Take);
            }
            _ => {}
        }
    }

    /// Makes a repository of it again, where it no longer is one: git would look for another one.
    fn restore(&self, git: &Path, is_quiet: bool, planted: &mut Vec<Planted>) {
        let mut push = |name: &str, remedy| {
            planted.push(Planted::new(git.join(name), NOT_A_REPOSITORY, remedy));
        };
        // In a directory that has not changed there is what there was.
        let is_missing = |name| match self.states.get(name) {
            Some(known) if is_quiet => known.is_none(),
            _ => git.join(name).symlink_metadata().is_err(),
        };
        if is_missing("HEAD") {
            push("HEAD", Remedy::Replace(self.head.clone()));
        }
        if is_missing("commondir") {
            for name in ["objects", "refs"] {
                let is_open =
                    |metadata: &fs::Metadata| metadata.is_dir() && metadata.mode() & 0o100 != 0;
                if !git
                    .join(name)
                    .metadata()
                    .is_ok_and(|metadata| is_open(&metadata))
                {
                    push(name, Remedy::MakeDirectory);
                }
            }
        }
    }
}

/// Whether a directory in `objects` is one of single objects, which git never writes through a link in it.
fn holds_objects(name: &OsStr) -> bool {
    name.len() == 2 && name.as_bytes().iter().all(u8::is_ascii_hexdigit)
}

fn judge_configuration(path: PathBuf, planted: &mut Vec<Planted>) {
    let why = "git runs programs that it names";
    let Some((_, seconds, nanoseconds, _)) = state(&path) else {
        return;
    };
    let is_file = path
        .symlink_metadata()
        .is_ok_and(|metadata| metadata.is_file());
    if !is_file {
        planted.push(Planted::new(path, why, Remedy::Take));
    } else if let Some(text) = harmless_configuration(&path) {
        let mut found = Planted::new(path, why, Remedy::Replace(text));
        found.changed = Some((seconds, nanoseconds));
        planted.push(found);
    }
}

fn is_config(name: &str) -> bool {
    matches!(name, "config" | "config.worktree")
}

/// Whether a file has not changed for a while: git changes its configuration several times in a row.
fn is_settled(state: Option<State>) -> bool {
    const QUIET: Duration = Duration::from_millis(250);
    let changed = state.map(|(_, seconds, nanoseconds, _)| {
        UNIX_EPOCH + Duration::new(seconds.max(0) as u64, nanoseconds.max(0) as u32)
    });
    changed.is_none_or(|changed| changed.elapsed().is_ok_and(|age| age >= QUIET))
}

const NOT_A_REPOSITORY: &str =
    "without a valid one git does not take `.git` for a repository, and looks for another one";

/// What `HEAD` says, if git takes it for one.
fn head(git: &Path) -> Vec<u8> {
    let path = git.join("HEAD");
    match path.read_link() {
        // Git reads a link to a ref like a file that names it.
        Ok(target) if target.starts_with("refs") => {
            format!("ref: {}\n", target.display()).into_bytes()
        }
        _ if is_valid_head(&path) => read_whole(&path).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Whether git takes this for the `HEAD` of a repository: `validate_headref` in its `path.c`.
fn is_valid_head(path: &Path) -> bool {
    if let Ok(target) = path.read_link() {
        return target.starts_with("refs");
    }
    let Some(text) = read_small(path) else {
        return false;
    };
    // Git reads no more.
    let text = &text[..text.floor_char_boundary(255)];
    match text.strip_prefix("ref:") {
        Some(name) => name
            .trim_start_matches([' ', '\t', '\n', '\r'])
            .starts_with("refs/"),
        None => [40, 64].iter().any(|length| {
            text.get(..*length)
                .is_some_and(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit()))
        }),
    }
}

/// Whether git would run nothing because of what is in the directory that it keeps a repository in.
pub fn is_harmless_repository(git: &Path) -> bool {
    let Some(identity) = Repository::identity_of(git) else {
        return false;
    };
    let mut planted = Vec::new();
    Repository::new(identity).look(git, Moment::Ended, &mut planted);
    planted.is_empty()
}
