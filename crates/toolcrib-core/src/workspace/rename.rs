//! Moving: [`Workspace::rename`].
//!
//! A name moves from one open directory of the workspace to another. Nothing that exists is replaced, unless it is the file or link whose
//! replacement was approved; a directory is never replaced.

use rustix::fs::{AtFlags, Mode, RenameFlags, linkat, mkdirat, renameat, renameat_with, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::identity::{Identity, NotReplaceable};
use super::open_name::{OpenName, protected};
use super::tree::{Visit, What, Why, walk};
use super::write::{changed, not_replaceable};
use super::{EntryKind, Metadata, Workspace, WorkspacePath};
use crate::model::error::{ErrorCode, ToolError};

/// How many entries of a directory are looked through for repositories before anybody is asked; all are before it is moved.
const MAX_LOOKED_AT: usize = 20_000;

/// What a move moves, and what it replaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    from: Identity,
    /// `None` if there was nothing of the new name.
    over: Option<Identity>,
}

/// A move as it would go now.
#[derive(Debug)]
pub struct Movable {
    /// What moves.
    pub kind: EntryKind,
    /// Which file moves, and over which.
    pub is: Move,
    /// Kind and size of what would be replaced.
    pub over: Option<(EntryKind, u64)>,
}

impl Workspace {
    /// Looks at what a move would do.
    pub fn to_rename(
        &self,
        from: &WorkspacePath,
        to: &WorkspacePath,
    ) -> Result<Movable, ToolError> {
        let (source, target) = self.ends(from, to)?;
        let mut left = MAX_LOOKED_AT;
        let mut is_enough = || {
            left = left.saturating_sub(1);
            left == 0
        };
        examine(&source, &target, from, to, &mut is_enough)
    }

    /// Moves what was approved, over what was approved to be replaced, unless it is stopped before.
    pub fn rename(
        &self,
        from: &WorkspacePath,
        to: &WorkspacePath,
        approved: &Move,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<(), ToolError> {
        let (source, target) = self.ends(from, to)?;
        let found = examine(&source, &target, from, to, &mut || is_stopped())?;
        if is_stopped() {
            return Err(ToolError::new(ErrorCode::Cancelled, "the move was stopped"));
        }
        if found.is.from != approved.from {
            return Err(changed(from));
        }
        match (&found.is.over, &approved.over) {
            (Some(_), None) => return Err(to.fault("move to", Errno::EXIST)),
            (found, approved) if found != approved => return Err(changed(to)),
            _ => {}
        }
        let moved = if found.is.over.is_some() {
            rename_over(&source, &target, &found.is)
        } else {
            rename_new(&source, &target, found.kind)
        };
        moved.map_err(|errno| cannot_move(from, to, errno))?;
        let failed = |errno| cannot_move(from, to, errno);
        target.sync().map_err(failed)?;
        source.sync().map_err(failed)
    }

    fn ends(
        &self,
        from: &WorkspacePath,
        to: &WorkspacePath,
    ) -> Result<(OpenName, OpenName), ToolError> {
        let source = self.spot(from, "move")?;
        let target = self.spot(to, "move to").map_err(|error| match error.code() {
            ErrorCode::FileNotFound => {
                let message = format!(
                    "cannot move to `{to}`: its directory does not exist; move to one that does, or write a file there with createDirs first"
                );
                ToolError::new(ErrorCode::FileNotFound, message)
            }
            _ => error,
        })?;
        Ok((source, target))
    }
}

fn examine(
    source: &OpenName,
    target: &OpenName,
    from: &WorkspacePath,
    to: &WorkspacePath,
    is_enough: &mut dyn FnMut() -> bool,
) -> Result<Movable, ToolError> {
    let stat = source.look().map_err(|errno| from.fault("move", errno))?;
    let stat = stat.ok_or_else(|| from.fault("move", Errno::NOENT))?;
    let kind = Metadata::of(&stat).kind;
    if (source.means_directory || target.means_directory) && kind != EntryKind::Directory {
        let path = if source.means_directory { from } else { to };
        return Err(path.fault("move", Errno::NOTDIR));
    }
    if source.place == target.place {
        return Err(refused(from, to, "both are the same"));
    }
    if kind == EntryKind::Directory {
        if target.place.starts_with(&source.place) {
            return Err(refused(from, to, "a directory cannot be moved into itself"));
        }
        look_for_repositories(source, from, is_enough)?;
    }
    let over = over(target, kind, from, to)?;
    Ok(Movable {
        kind,
        over: over.as_ref().map(|(_, kind, size)| (*kind, *size)),
        is: Move {
            from: Identity::of(&stat),
            over: over.map(|(identity, ..)| identity),
        },
    })
}

/// What has the new name already.
fn over(
    target: &OpenName,
    kind: EntryKind,
    from: &WorkspacePath,
    to: &WorkspacePath,
) -> Result<Option<(Identity, EntryKind, u64)>, ToolError> {
    let failed = |errno| to.fault("move to", errno);
    let Some(stat) = target.look().map_err(failed)? else {
        return Ok(None);
    };
    let found = Metadata::of(&stat);
    let identity = match found.kind {
        EntryKind::Symlink => Identity::of(&stat),
        EntryKind::File => match target.old_file() {
            Ok(old) => old.ok_or_else(|| changed(to))?.identity,
            Err(error) => return Err(not_replaceable(to, error)),
        },
        EntryKind::Directory => {
            let message = format!(
                "cannot move `{from}` to `{to}`: there is a directory of that name, and directories are never replaced; \
                 name a path in it, or delete it first"
            );
            return Err(ToolError::new(ErrorCode::FileExists, message));
        }
        EntryKind::Other => return Err(not_replaceable(to, NotReplaceable::Other)),
    };
    if kind == EntryKind::Directory {
        let message = format!(
            "cannot move `{from}` to `{to}`: there is a file of that name, and a directory cannot replace it; delete it first"
        );
        return Err(ToolError::new(ErrorCode::FileExists, message));
    }
    Ok(Some((identity, found.kind, found.size)))
}

/// A repository that moves is one that is missing at its place, where another could be put.
fn look_for_repositories(
    source: &OpenName,
    from: &WorkspacePath,
    is_enough: &mut dyn FnMut() -> bool,
) -> Result<(), ToolError> {
    let result = walk(source, &mut |visit: Visit<'_>| match visit.what {
        What::Leave => Ok(()),
        _ if visit.makes_repository() => Err(Why::Repository),
        _ if is_enough() => Err(Why::Enough),
        What::Leaf | What::Enter => Ok(()),
    });
    match result {
        Err(stopped) if stopped.why == Why::Repository => {
            let at = String::from_utf8_lossy(&stopped.path);
            let message = format!("cannot move `{from}`: {}", protected(&at));
            Err(ToolError::new(ErrorCode::PermissionDenied, message).with_detail("protected", at))
        }
        // What cannot be looked into moves all the same: nothing of it is changed.
        Ok(()) | Err(_) => Ok(()),
    }
}

fn rename_over(source: &OpenName, target: &OpenName, what: &Move) -> Result<(), Errno> {
    let same = target
        .look()?
        .is_some_and(|stat| what.from.is_moved_from(&stat));
    if same {
        // Two names of one file: the system would leave both.
        return unlinkat(&source.dir, &source.name, AtFlags::empty());
    }
    renameat(&source.dir, &source.name, &target.dir, &target.name)
}

fn rename_new(source: &OpenName, target: &OpenName, kind: EntryKind) -> Result<(), Errno> {
    let (from, to) = ((&source.dir, &source.name), (&target.dir, &target.name));
    match renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE) {
        // Not every file system can.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if kind == EntryKind::Directory => {
            // An empty directory is what a directory may replace; a name that is taken is refused.
            mkdirat(to.0, to.1, Mode::from_raw_mode(0o700))?;
            renameat(from.0, from.1, to.0, to.1).inspect_err(|_| {
                let _ = unlinkat(to.0, to.1, AtFlags::REMOVEDIR);
            })
        }
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            linkat(from.0, from.1, to.0, to.1, AtFlags::empty())?;
            unlinkat(from.0, from.1, AtFlags::empty())
        }
        renamed => renamed,
    }
}

fn refused(from: &WorkspacePath, to: &WorkspacePath, why: &str) -> ToolError {
    let message = format!("cannot move `{from}` to `{to}`: {why}");
    ToolError::new(ErrorCode::InvalidPath, message)
}

fn cannot_move(from: &WorkspacePath, to: &WorkspacePath, errno: Errno) -> ToolError {
    match errno {
        Errno::XDEV => ToolError::failed(format!(
            "cannot move `{from}` to `{to}`: they are on different file systems; write a copy and delete the old one"
        ))
        .caused_by(errno),
        Errno::EXIST | Errno::NOTEMPTY | Errno::ISDIR => to.fault("move to", Errno::EXIST),
        errno => from.fault("move", errno),
    }
}
