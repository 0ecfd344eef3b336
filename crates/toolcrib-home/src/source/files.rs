//! Reading directories of tools: every file within bounds, none that is not a plain file, none that waits.
//!
//! A directory may hold whatever someone put there. Only regular files are read that are reached without leaving the
//! directory, up to [`MAX_FILE_BYTES`] and the byte that shows that there
//! is more; any other entry with a tool's name is reported. A [`Stamp`] shows whether a file must be read again.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::definition::FileKind;
use super::scope::{Scope, ScopeDir};
use crate::definition::MAX_FILE_BYTES;
use crate::model::error::ErrorCode;
use crate::storage::Stamp;
use crate::workspace::{Workspace, open_beneath};

/// The most bytes read of a file: one more than a tool's file may have, so that the reader sees that it is too large.
pub(super) const MAX_READ: u64 = MAX_FILE_BYTES as u64 + 1;
/// How much the files of one directory may have together.
pub(super) const MAX_TOTAL: u64 = 64 * 1024 * 1024;
/// The most tools of one directory.
pub(super) const MAX_FILES: usize = 10_000;
/// The most names of one directory that are looked at.
const MAX_NAMES: usize = 100_000;

/// A directory of tools, opened.
pub(super) struct ToolsDir {
    handle: OwnedFd,
    pub(super) stamp: Stamp,
}

/// The entry at a place where tools may be.
pub(super) enum Opened {
    /// A directory.
    Dir(ToolsDir),
    /// Nothing.
    Missing,
    /// Something that cannot be used, and why.
    Closed(String),
}

/// Opens a directory of tools. That of a workspace is opened like any path in it: a link out of the workspace is not followed.
pub(super) fn open(place: &ScopeDir, workspace: Option<&Workspace>) -> Opened {
    let handle = match (place.scope, workspace) {
        (Scope::Local, Some(workspace)) => {
            let opened = workspace
                .path(&place.shown)
                .and_then(|path| workspace.open_project_dir(&path));
            match opened {
                Ok(handle) => handle,
                Err(error) if error.code() == ErrorCode::FileNotFound => return Opened::Missing,
                Err(error) => return Opened::Closed(error.message().to_owned()),
            }
        }
        _ => {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            match rustix::fs::openat(CWD, &place.path, flags, Mode::empty()) {
                Ok(handle) => handle,
                Err(Errno::NOENT) => return Opened::Missing,
                Err(error) => return Opened::Closed(cannot_read(error)),
            }
        }
    };
    match rustix::fs::fstat(&handle) {
        Ok(stat) => Opened::Dir(ToolsDir {
            stamp: Stamp::of(&stat),
            handle,
        }),
        Err(error) => Opened::Closed(cannot_read(error)),
    }
}

/// Reads one file the way tools are loaded: no link out of its directory is followed, nothing that is not a file is opened, and no more
/// than one byte over [`MAX_FILE_BYTES`] is read. The error says why it cannot be.
pub fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let Some(name) = path.file_name() else {
        return Err("it is a directory, not a file".to_owned());
    };
    let name = name.to_str().ok_or("its name is not UTF-8")?;
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(CWD, directory, flags, Mode::empty()).map_err(cannot_read)?;
    let stat = rustix::fs::fstat(&handle).map_err(cannot_read)?;
    let directory = ToolsDir {
        stamp: Stamp::of(&stat),
        handle,
    };
    directory.read(name)
}

/// The names of a directory that mean something here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// `*.yaml`, `*.yml` and `*.json`, sorted.
    pub(super) tools: Vec<String>,
    /// Odd files: `.yml` beside the same name in `.yaml`, `.YAML` and `.jsonc` files, names that are not text, files beyond the bound.
    pub(super) odd: Vec<String>,
}

/// The `.yaml` name that a `.yml` name is the double of.
pub fn yaml_of(name: &str) -> Option<String> {
    Some(format!("{}.yaml", name.strip_suffix(".yml")?))
}

impl Names {
    /// Leaves out `x.yml` where `x.yaml` is: which of them is meant is not for us to guess.
    fn without_doubles(&mut self, place: &ScopeDir) {
        let has = |name: &str| {
            self.tools
                .binary_search_by(|one| one.as_str().cmp(name))
                .is_ok()
        };
        let is_double = |name: &&String| yaml_of(name).is_some_and(|yaml| has(&yaml));
        let doubles: Vec<String> = self.tools.iter().filter(is_double).cloned().collect();
        for name in &doubles {
            let (file, yaml) = (place.shown_file(name), yaml_of(name).unwrap_or_default());
            self.odd.push(format!(
                "`{file}` is not loaded: `{yaml}` is beside it; remove or rename one of them"
            ));
        }
        self.tools.retain(|name| !doubles.contains(name));
    }
}

impl ToolsDir {
    /// Lists the directory.
    pub(super) fn names(&self, place: &ScopeDir) -> Result<Names, String> {
        self.names_up_to(MAX_FILES, place)
    }

    fn names_up_to(&self, most: usize, place: &ScopeDir) -> Result<Names, String> {
        let mut names = Names::default();
        let entries = Dir::read_from(&self.handle).map_err(cannot_read)?;
        for (seen, entry) in entries.enumerate() {
            if seen >= MAX_NAMES {
                let odd = format!(
                    "`{}` holds more than {MAX_NAMES} files; not all are looked at",
                    place.shown
                );
                names.odd.push(odd);
                break;
            }
            let entry = entry.map_err(cannot_read)?;
            let bytes = entry.file_name().to_bytes();
            // Hidden files are what editors keep beside a file while they work on it.
            if bytes.starts_with(b".") {
                continue;
            }
            let Ok(name) = entry.file_name().to_str() else {
                if [&b".yaml"[..], b".yml", b".json"]
                    .iter()
                    .any(|end| bytes.ends_with(end))
                {
                    let shown = String::from_utf8_lossy(bytes).into_owned();
                    let file = place.shown_file(&shown);
                    names
                        .odd
                        .push(format!("`{file}` is not loaded: its name is not UTF-8"));
                }
                continue;
            };
            if FileKind::of(name).is_some() {
                names.tools.push(name.to_owned());
            } else if let Some((kind, stem)) = FileKind::misnamed(name) {
                let end = kind.end();
                let file = place.shown_file(name);
                let stem = crate::model::text::shorten(stem, 100);
                names.odd.push(format!(
                    "`{file}` is not loaded: tools are `{end}` files; rename it to `{stem}{end}`"
                ));
            }
        }
        names.tools.sort_unstable();
        names.without_doubles(place);
        names.odd.sort_unstable();
        if let Some(first) = names.tools.get(most) {
            let first = place.shown_file(first);
            names.odd.push(format!(
                "`{}` holds {} tools; from `{first}` on they are not loaded, the limit is {most}",
                place.shown,
                names.tools.len()
            ));
            names.tools.truncate(most);
        }
        Ok(names)
    }

    /// When a file was last changed; of a link, the file it leads to.
    pub(super) fn stamp_of(&self, name: &str) -> Option<Stamp> {
        let stat = |flags| rustix::fs::statat(&self.handle, name, flags).ok();
        let stat = stat(AtFlags::empty()).or_else(|| stat(AtFlags::SYMLINK_NOFOLLOW))?;
        Some(Stamp::of(&stat))
    }

    /// Reads a file; the error says why it is none that can be.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        let stat = rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(cannot_read)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile | FileType::Symlink => {}
            FileType::Directory => return Err("it is a directory, not a file".to_owned()),
            // Opening one may wait, or do something.
            _ => return Err("it is not a regular file".to_owned()),
        }
        let file = File::from(open_within(self.handle.as_fd(), name).map_err(|error| {
            match error {
                // What `RESOLVE_BENEATH` says of a link that leads out.
                Errno::XDEV | Errno::LOOP => {
                    "it is a link that leads out of its directory; put the file itself there"
                        .to_owned()
                }
                Errno::NOENT => "it is a link that leads nowhere".to_owned(),
                error => cannot_read(error),
            }
        })?);
        let metadata = file.metadata().map_err(|error| error.to_string())?;
        if !metadata.is_file() {
            return Err("it is not a regular file".to_owned());
        }
        let expected = metadata.len().min(MAX_READ);
        let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or_default());
        file.take(MAX_READ)
            .read_to_end(&mut bytes)
            .map_err(|error| error.to_string())?;
        Ok(bytes)
    }

    /// Why the directory, or what it is in, must not be trusted by its place, and what to do; `seen` are the directories that this
    /// depends on, as far as they were looked at.
    pub(super) fn unsafe_place(
        &self,
        place: &ScopeDir,
        seen: &mut Vec<(PathBuf, Stamp)>,
    ) -> Option<String> {
        let base_shown = match place.scope {
            Scope::Local => return None,
            Scope::User => "~",
            Scope::Global => "/etc",
        };
        // By the real path: a link may lead through directories of others.
        let real = place.path.canonicalize().ok()?;
        let base = place.base.canonicalize().ok()?;
        for (above, directory) in real.ancestors().enumerate() {
            let stamp = Stamp::of(&rustix::fs::stat(directory).ok()?);
            seen.push((directory.to_owned(), stamp));
            // Where others may make files but not move those of others, what is below stays what it is.
            let is_sticky = above > 0 && stamp.is_sticky();
            let shown = match above {
                0 => place.shown.clone(),
                _ if directory == base => base_shown.to_owned(),
                _ => format!("{}/..", place.shown),
            };
            if let Some(fault) = stamp.unsafe_owner(&shown).filter(|_| !is_sticky) {
                let by_link = || {
                    format!(
                        "`{}` leads through a directory that others may change; put the tools where only you can",
                        place.shown
                    )
                };
                let is_usual = real.starts_with(&base) && above < 3;
                return Some(if is_usual { fault } else { by_link() });
            }
            if directory == base {
                break;
            }
        }
        None
    }
}

/// Opens a file for reading without leaving the directory and without waiting.
fn open_within(directory: BorrowedFd<'_>, name: &str) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    match open_beneath(directory, name, flags) {
        // An old kernel, a filter of system calls, or another system: then no link is followed at all.
        Err(Errno::NOSYS | Errno::PERM) => {
            rustix::fs::openat(directory, name, flags | OFlags::NOFOLLOW, Mode::empty())
        }
        opened => opened,
    }
}

fn cannot_read(error: Errno) -> String {
    match error {
        Errno::ACCESS | Errno::PERM => "it may not be read".to_owned(),
        Errno::NOTDIR => "it is not a directory".to_owned(),
        error => format!("it cannot be read: {}", std::io::Error::from(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::scope;
    use super::*;

    #[test]
    fn beyond_the_bound_the_rest_is_named_and_other_files_are_passed_over() {
        let user = tempfile::tempdir().unwrap();
        let place = scope::places(None, Some(user.path()), "/nowhere".as_ref()).remove(0);
        std::fs::create_dir_all(&place.path).unwrap();
        let touch = |name: &str| File::create(place.path.join(name)).unwrap();
        for tool in ["d.yaml", "b.yaml", "e.yaml", "a.yaml", "c.yaml"] {
            touch(tool);
        }
        for other in ["notes.txt", ".hidden.yaml", "t.yaml~", "old.YML", "a.yml"] {
            touch(other);
        }
        let Opened::Dir(dir) = open(&place, None) else {
            panic!("it cannot be opened");
        };
        let names = dir.names_up_to(3, &place).unwrap();
        assert_eq!(names.tools, ["a.yaml", "b.yaml", "c.yaml"]);
        assert_eq!(
            names.odd,
            [
                "`~/.toolcrib/tools/a.yml` is not loaded: `a.yaml` is beside it; remove or rename one of them",
                "`~/.toolcrib/tools/old.YML` is not loaded: tools are `.yaml` files; rename it to `old.yaml`",
                "`~/.toolcrib/tools` holds 5 tools; from `~/.toolcrib/tools/d.yaml` on they are not loaded, the limit is 3",
            ]
        );
    }
}
