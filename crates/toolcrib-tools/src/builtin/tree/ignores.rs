//! What ignore files say: `.gitignore`, `.git/info/exclude`, git's global excludes, `.ignore` and `.rgignore`, of the tree and of the
//! directories above it, with ripgrep's order of precedence.
//!
//! The rules of one file are `ignore`'s; reading the files and asking one after the other is done here, because `ignore` reads whatever a
//! path leads to: a `.gitignore` that is a FIFO would hold a call up for good, one that is a link would be read outside of the workspace,
//! and one of a gigabyte would be compiled. Here a file in the workspace is opened through it, and sizes are bounded.
//!
//! Git's rules count inside of a repository only, up to the root of the innermost one. The excludes of a linked worktree, whose repository
//! lies elsewhere, are not looked for.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fd::{AsFd as _, BorrowedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use super::skipped::Skipped;
use crate::model::text::size;
use crate::workspace::Workspace;

/// The most that is read of an ignore file.
const MAX_BYTES: u64 = 256 * 1024;

/// The most lines of an ignore file that count.
const MAX_LINES: usize = 4096;

/// The most lines of all ignore files of a search.
const MAX_LINES_IN_ALL: usize = 64 * 1024;

/// What ignore files say about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::builtin) enum Verdict {
    /// It is ignored.
    Skip,
    /// A rule says that it is not.
    Keep,
    /// Nothing.
    Silent,
}

/// The rules of one directory, and those above it. A directory without any has no entry.
pub(in crate::builtin) struct Level {
    above: Option<Arc<Level>>,
    rgignore: Gitignore,
    ignore: Gitignore,
    gitignore: Gitignore,
    exclude: Gitignore,
    /// The root of a repository.
    is_repository: bool,
    /// Whether this directory, or one above it, is the root of a repository.
    is_in_repository: bool,
}

/// Names of a directory that matter here, as its listing has them.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::builtin) struct Marks {
    rgignore: bool,
    ignore: bool,
    gitignore: bool,
    git: bool,
    jujutsu: bool,
}

impl Marks {
    /// All of them, for a directory that was not listed.
    const ALL: Marks = Marks {
        rgignore: true,
        ignore: true,
        gitignore: true,
        git: true,
        jujutsu: true,
    };

    /// Notes a name.
    pub(in crate::builtin) fn see(&mut self, name: &[u8]) {
        match name {
            b".rgignore" => self.rgignore = true,
            b".ignore" => self.ignore = true,
            b".gitignore" => self.gitignore = true,
            b".git" => self.git = true,
            b".jj" => self.jujutsu = true,
            _ => {}
        }
    }

    fn any(self) -> bool {
        self.rgignore || self.ignore || self.gitignore || self.git || self.jujutsu
    }
}

/// Reads ignore files and asks them.
pub(in crate::builtin) struct Ignores<'a> {
    workspace: &'a Workspace,
    /// Git's rules for all repositories of this user; they count in repositories.
    global: Gitignore,
    /// Whether git's rules count outside of repositories, too.
    everywhere: bool,
    /// How many more lines count.
    lines_left: AtomicUsize,
    skipped: &'a Skipped,
}

impl<'a> Ignores<'a> {
    pub(in crate::builtin) fn new(workspace: &'a Workspace, skipped: &'a Skipped) -> Self {
        // It is the user's own file, wherever it is; errors in it are git's to tell.
        let (global, _) = GitignoreBuilder::new(workspace.root()).build_global();
        Ignores {
            workspace,
            global,
            everywhere: false,
            lines_left: AtomicUsize::new(MAX_LINES_IN_ALL),
            skipped,
        }
    }

    /// As formatters see it: a `.gitignore` counts in a repository or not, and nothing outside of the workspace does.
    pub(in crate::builtin) fn of_files(workspace: &'a Workspace, skipped: &'a Skipped) -> Self {
        Ignores {
            workspace,
            global: Gitignore::empty(),
            everywhere: true,
            lines_left: AtomicUsize::new(MAX_LINES_IN_ALL),
            skipped,
        }
    }

    /// The rules of the directories above `place`, which is relative to the workspace and without links.
    pub(in crate::builtin) fn above(&self, place: &Path) -> Option<Arc<Level>> {
        let root = self.workspace.root();
        let mut level = None;
        let mut outside: Vec<&Path> = root.ancestors().skip(1).collect();
        outside.reverse();
        for dir in outside {
            level = self.outside(level, dir);
        }
        let mut inside: Vec<&Path> = place.ancestors().skip(1).collect();
        inside.reverse();
        if inside.is_empty() {
            return level;
        }
        let Ok(top) = self
            .workspace
            .path(".")
            .and_then(|path| self.workspace.open_dir(&path))
        else {
            return level;
        };
        for dir in inside {
            let path = match dir.as_os_str().as_bytes() {
                b"" => b".",
                path => path,
            };
            if let Ok(fd) = self.workspace.open_dir_below(top.as_fd(), path) {
                level = self.enter(level.as_ref(), fd.as_fd(), dir, Marks::ALL);
            }
        }
        level
    }

    /// The rules of a directory above the workspace, which the user set up.
    fn outside(&self, above: Option<Arc<Level>>, dir: &Path) -> Option<Arc<Level>> {
        let read = |name: &str| {
            let file = open_outside(&dir.join(name)).ok()?;
            Some(self.compile(dir, Path::new(name), &file))
        };
        let rules = Level {
            rgignore: read(".rgignore").unwrap_or_else(Gitignore::empty),
            ignore: read(".ignore").unwrap_or_else(Gitignore::empty),
            gitignore: read(".gitignore").unwrap_or_else(Gitignore::empty),
            exclude: read(".git/info/exclude").unwrap_or_else(Gitignore::empty),
            is_repository: dir.join(".git").exists() || dir.join(".jj").exists(),
            is_in_repository: false,
            above: None,
        };
        rules.upon(above)
    }

    /// The rules that hold in an open directory. `place` is relative to the workspace.
    pub(in crate::builtin) fn enter(
        &self,
        above: Option<&Arc<Level>>,
        dir: BorrowedFd<'_>,
        place: &Path,
        marks: Marks,
    ) -> Option<Arc<Level>> {
        if !marks.any() {
            return above.cloned();
        }
        let read = |is_there: bool, name: &str| {
            let file = is_there.then(|| self.open(dir, place, name))??;
            let host = self.workspace.root().join(place);
            Some(self.compile(&host, &place.join(name), &file))
        };
        let is_there = |marked: bool, name: &str| {
            // A listing has seen the name; without one the directory is asked.
            marked && rustix::fs::statat(dir, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok()
        };
        let rules = Level {
            rgignore: read(marks.rgignore, ".rgignore").unwrap_or_else(Gitignore::empty),
            ignore: read(marks.ignore, ".ignore").unwrap_or_else(Gitignore::empty),
            gitignore: read(marks.gitignore, ".gitignore").unwrap_or_else(Gitignore::empty),
            exclude: read(marks.git, ".git/info/exclude").unwrap_or_else(Gitignore::empty),
            is_repository: is_there(marks.git, ".git") || is_there(marks.jujutsu, ".jj"),
            is_in_repository: false,
            above: None,
        };
        rules.upon(above.cloned())
    }

    /// Opens an ignore file of the workspace. A link is followed as far as it stays in the workspace.
    fn open(&self, dir: BorrowedFd<'_>, place: &Path, name: &str) -> Option<File> {
        match self.workspace.open_file_below(dir, name.as_bytes()) {
            Ok(file) => file,
            Err(Errno::LOOP) => {
                let path = place.join(name);
                let path = self.workspace.path(path.to_str()?).ok()?;
                Some(self.workspace.open_file(&path).ok()?.0)
            }
            Err(_) => None,
        }
    }

    /// Reads the lines of an ignore file that lies in, or speaks for, the directory `dir` of the host.
    fn compile(&self, dir: &Path, shown: &Path, file: &File) -> Gitignore {
        let mut bytes = Vec::new();
        if file.take(MAX_BYTES + 1).read_to_end(&mut bytes).is_err() {
            return Gitignore::empty();
        }
        let mut builder = GitignoreBuilder::new(dir);
        let mut is_whole = bytes.len() as u64 <= MAX_BYTES;
        if !is_whole {
            let end = bytes.iter().rposition(|byte| *byte == b'\n');
            bytes.truncate(end.unwrap_or(0));
        }
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            // As ripgrep: what comes after a line that is not text does not count, a line that is not a glob by itself does not.
            let Ok(line) = std::str::from_utf8(line) else {
                break;
            };
            let line = line.strip_suffix('\r').unwrap_or(line);
            let line = if number == 0 {
                line.trim_start_matches('\u{feff}')
            } else {
                line
            };
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if number >= MAX_LINES || !self.may_add_a_line() {
                is_whole = false;
                break;
            }
            let _ = builder.add_line(None, line);
        }
        if !is_whole {
            let reason = format!(
                "it is longer than {} or {MAX_LINES} lines: the rest of its rules do not count",
                size(MAX_BYTES)
            );
            self.skipped.note(shown.as_os_str().as_bytes(), reason);
        }
        builder.build().unwrap_or_else(|error| {
            let reason = format!("its rules do not count: {error}");
            self.skipped.note(shown.as_os_str().as_bytes(), reason);
            Gitignore::empty()
        })
    }

    fn may_add_a_line(&self) -> bool {
        let taken = self
            .lines_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            });
        taken.is_ok()
    }

    /// What the rules say about an absolute path in a directory where `level` holds.
    pub(in crate::builtin) fn verdict(
        &self,
        level: Option<&Arc<Level>>,
        path: &Path,
        is_dir: bool,
    ) -> Verdict {
        let Some(innermost) = level else {
            return Verdict::Silent;
        };
        let says = |rules: &Gitignore| match rules.matched(path, is_dir) {
            Match::None => None,
            Match::Ignore(_) => Some(Verdict::Skip),
            Match::Whitelist(_) => Some(Verdict::Keep),
        };
        let (mut ignore, mut gitignore, mut exclude) = (None, None, None);
        let mut git_counts = self.everywhere || innermost.is_in_repository;
        let mut next = level;
        while let Some(level) = next {
            // Nothing comes before it.
            if let Some(verdict) = says(&level.rgignore) {
                return verdict;
            }
            ignore = ignore.or_else(|| says(&level.ignore));
            if git_counts {
                gitignore = gitignore.or_else(|| says(&level.gitignore));
                exclude = exclude.or_else(|| says(&level.exclude));
                git_counts = self.everywhere || !level.is_repository;
            }
            next = level.above.as_ref();
        }
        let global = || match innermost.is_in_repository {
            true => says(&self.global),
            false => None,
        };
        ignore
            .or(gitignore)
            .or(exclude)
            .or_else(global)
            .unwrap_or(Verdict::Silent)
    }
}

impl Level {
    /// Puts the rules of a directory upon those above it, or leaves it at those if it has none.
    fn upon(mut self, above: Option<Arc<Level>>) -> Option<Arc<Level>> {
        let rules = [&self.rgignore, &self.ignore, &self.gitignore, &self.exclude];
        if !self.is_repository && rules.iter().all(|rules| rules.is_empty()) {
            return above;
        }
        let is_in_repository = |level: &Arc<Level>| level.is_in_repository;
        self.is_in_repository = self.is_repository || above.as_ref().is_some_and(is_in_repository);
        self.above = above;
        Some(Arc::new(self))
    }
}

/// Opens a regular file above the workspace without waiting for anything.
fn open_outside(path: &PathBuf) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = openat(CWD, path, flags, Mode::empty())?;
    match FileType::from_raw_mode(fstat(&fd)?.st_mode) {
        FileType::RegularFile => Ok(File::from(fd)),
        _ => Err(Errno::INVAL),
    }
}

/// The path of a name in a directory.
pub(in crate::builtin) fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
