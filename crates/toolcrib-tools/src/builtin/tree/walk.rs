//! Going through a tree, one directory after the other, for tools that look at names. (`search_code` has its own walk, with threads.)

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::fs::fstat;

use super::ignores::{Ignores, Level, Verdict, as_path};
use super::names;
use super::skipped::Skipped;
use crate::workspace::{Workspace, file_id};

/// How much of a directory is read at once.
const CHUNK: usize = 64 * 1024;

/// The longest relative path of a directory that is entered: the kernel opens no longer ones.
const MAX_DIRECTORY_BYTES: usize = 4095;

/// How much of a tree is looked at.
#[derive(Debug, Clone, Copy)]
pub(in crate::builtin) struct Bounds {
    /// How many directories.
    pub(in crate::builtin) directories: usize,
    /// How deep they are.
    pub(in crate::builtin) depth: usize,
}

/// A walk through a tree.
pub(in crate::builtin) struct Walk<'a> {
    pub(in crate::builtin) workspace: &'a Workspace,
    /// `None`: ignore files do not count.
    pub(in crate::builtin) ignores: Option<&'a Ignores<'a>>,
    /// What could not be looked into.
    pub(in crate::builtin) skipped: &'a Skipped,
    pub(in crate::builtin) bounds: Bounds,
    /// Asked for each directory.
    pub(in crate::builtin) is_stopped: &'a dyn Fn() -> bool,
}

/// A file or directory that was come upon.
pub(in crate::builtin) struct Seen<'s> {
    /// The open directory that it is in.
    pub(in crate::builtin) directory: BorrowedFd<'s>,
    pub(in crate::builtin) name: &'s [u8],
    pub(in crate::builtin) is_dir: bool,
    /// Its path on the host.
    path: &'s Path,
    /// How much of that leads to the workspace.
    root: usize,
    ignores: Option<&'s Ignores<'s>>,
    level: Option<&'s Arc<Level>>,
}

impl Seen<'_> {
    /// Its path on the host, for matching.
    pub(in crate::builtin) fn path(&self) -> &Path {
        self.path
    }

    /// Its path in the workspace.
    pub(in crate::builtin) fn place(&self) -> &[u8] {
        &self.path.as_os_str().as_bytes()[self.root..]
    }

    /// What ignore files say about it.
    pub(in crate::builtin) fn verdict(&self) -> Verdict {
        match self.ignores {
            Some(ignores) => ignores.verdict(self.level, self.path, self.is_dir),
            None => Verdict::Silent,
        }
    }
}

/// A directory that has to be looked into.
struct Directory {
    /// Relative to the workspace, with a slash at its end unless it is the workspace itself.
    path: Vec<u8>,
    depth: usize,
    level: Option<Arc<Level>>,
}

impl Walk<'_> {
    /// Goes through everything beneath an open directory that is at `place` in the workspace. `takes` says what is wanted: of a file that it is
    /// found, of a directory that it is found and entered. Returns whether more is there than was looked at.
    pub(in crate::builtin) fn run(
        &self,
        top: &OwnedFd,
        place: &Path,
        above: Option<Arc<Level>>,
        takes: &mut dyn FnMut(&Seen<'_>) -> bool,
        found: &mut dyn FnMut(&Seen<'_>),
    ) -> bool {
        let own_data = self.workspace.own_data_identity();
        let mut path = place.as_os_str().as_bytes().to_vec();
        if !path.is_empty() {
            path.push(b'/');
        }
        let prefix = path.len();
        let mut root = self.workspace.root().as_os_str().as_bytes().to_vec();
        if root != b"/" {
            root.push(b'/');
        }
        let (mut buffer, mut looked, mut is_cut) = (Vec::with_capacity(CHUNK), 0, false);
        let mut left = vec![Directory {
            path,
            depth: 0,
            level: above,
        }];
        while let Some(next) = left.pop() {
            if (self.is_stopped)() {
                return true;
            }
            looked += 1;
            let own = next.path.strip_suffix(b"/").unwrap_or(&next.path);
            if looked > self.bounds.directories
                || next.depth > self.bounds.depth
                || next.path.len() > MAX_DIRECTORY_BYTES
            {
                is_cut = true;
                continue;
            }
            let below: &[u8] = match &next.path[prefix..] {
                b"" => b".",
                below => below,
            };
            let opened = match self.workspace.open_dir_below(top.as_fd(), below) {
                Ok(opened) => opened,
                Err(errno) => {
                    self.skipped.note_error(own, errno);
                    continue;
                }
            };
            let is_own = |own| fstat(&opened).is_ok_and(|stat| file_id(&stat) == own);
            if own_data.is_some_and(is_own) {
                continue;
            }
            let content = match names::read(opened.as_fd(), &mut buffer, self.is_stopped) {
                Ok(content) => content,
                Err(errno) => {
                    self.skipped.note_error(own, errno);
                    continue;
                }
            };
            is_cut |= content.is_cut;
            let level = match self.ignores {
                Some(ignores) => ignores.enter(
                    next.level.as_ref(),
                    opened.as_fd(),
                    as_path(own),
                    content.marks,
                ),
                None => None,
            };
            let kinds = [(&content.files, false), (&content.directories, true)];
            for (names, is_dir) in kinds {
                for name in (0..names.len()).filter_map(|index| names.get(index)) {
                    let whole: PathBuf = as_path(&[&root, &next.path, name].concat()).to_owned();
                    let seen = Seen {
                        directory: opened.as_fd(),
                        name,
                        is_dir,
                        path: &whole,
                        root: root.len(),
                        ignores: self.ignores,
                        level: level.as_ref(),
                    };
                    if !takes(&seen) {
                        continue;
                    }
                    found(&seen);
                    if is_dir {
                        left.push(Directory {
                            path: [&next.path, name, b"/"].concat(),
                            depth: next.depth + 1,
                            level: level.clone(),
                        });
                    }
                }
            }
        }
        is_cut
    }
}
