//! Removing files and whole directories: [`Workspace::remove`], and what there is to remove:
//! [`Workspace::to_remove`].
//!
//! A link is removed, never what it leads to. A tree is walked by open directories (`tree.rs`), after
//! it was looked through for what must not be removed: mount points and repositories.

use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use super::identity::Identity;
use super::open_name::OpenName;
use super::system::{look, mount_of};
use super::tree::{Stopped, Visit, What, Why, walk};
use super::write::changed;
use super::{EntryKind, Metadata, Workspace, WorkspacePath};
use crate::model::error::{ErrorCode, ToolError};

/// How many entries of a tree are counted and told from others before anybody is asked.
pub const MAX_COUNTED: u64 = 20_000;

/// Something that can be removed.
#[derive(Debug)]
pub struct Removable {
    /// What it is.
    pub kind: EntryKind,
    /// Its own size in bytes.
    pub size: u64,
    /// Of a directory: what is in it.
    pub tally: Option<Tally>,
    /// Which file it is, or which directory with what in it.
    pub identity: Identity,
}

/// The contents of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Everything but directories.
    pub files: u64,
    /// Directories, itself not counted.
    pub directories: u64,
    /// The sizes of the files together.
    pub bytes: u64,
    /// Git repositories in it, or which it is.
    pub repositories: u64,
    /// Whether that is all.
    pub is_complete: bool,
}

/// The owner of a removal: it learns what was removed, and is asked whether to go on.
pub trait Watch {
    /// One more is gone; its path is relative to the workspace, as far as it is text to the caller.
    fn removed(&mut self, path: &[u8]);
    /// Whether to stop.
    fn is_stopped(&self) -> bool;
}

impl Workspace {
    /// Looks at what removing a path would remove.
    pub fn to_remove(&self, path: &WorkspacePath) -> Result<Removable, ToolError> {
        let spot = self.spot(path, "delete")?;
        examine(&spot, path, Some(MAX_COUNTED), &|| false)
    }

    /// Removes a file, a link, or a directory with all that is in it, if it is what was approved.
    pub fn remove(
        &self,
        path: &WorkspacePath,
        approved: &Identity,
        watch: &mut dyn Watch,
    ) -> Result<(), ToolError> {
        let spot = self.spot(path, "delete")?;
        let found = examine(&spot, path, None, &|| watch.is_stopped())?;
        if found.identity != *approved {
            return Err(changed(path));
        }
        let prefix = prefix_of(path);
        if found.kind == EntryKind::Directory {
            remove_tree(&spot, prefix, watch).map_err(|stopped| stop(path, &stopped))?;
        } else {
            unlinkat(&spot.dir, &spot.name, AtFlags::empty())
                .map_err(|errno| path.fault("delete", errno))?;
            watch.removed(&[prefix, spot.name.as_bytes()].concat());
        }
        spot.sync().map_err(|errno| path.fault("delete", errno))
    }
}

/// The part of the caller's path before the last name, with its slash.
fn prefix_of(path: &WorkspacePath) -> &[u8] {
    let (_, name) = WorkspacePath::split(path.as_str().as_bytes());
    let text = path.as_str().trim_end_matches('/').as_bytes();
    &text[..text.len() - name.len()]
}

fn examine(
    spot: &OpenName,
    path: &WorkspacePath,
    most: Option<u64>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Removable, ToolError> {
    let failed = |errno| path.fault("delete", errno);
    let stat = spot.look().map_err(failed)?;
    let stat = stat.ok_or_else(|| failed(Errno::NOENT))?;
    let Metadata { kind, size, .. } = Metadata::of(&stat);
    let identity = Identity::of(&stat);
    if kind != EntryKind::Directory {
        return match spot.means_directory {
            true => Err(failed(Errno::NOTDIR)),
            false => Ok(Removable {
                kind,
                size,
                tally: None,
                identity,
            }),
        };
    }
    let (tally, digest) = count(spot, most, is_stopped).map_err(|stopped| stop(path, &stopped))?;
    Ok(Removable {
        kind,
        size,
        tally: Some(tally),
        identity: identity.with_digest(digest),
    })
}

/// Counts what is in a directory, up to a number of entries, and digests the first
/// [`MAX_COUNTED`].
fn count(
    spot: &OpenName,
    most: Option<u64>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<(Tally, [u8; 32]), Stopped> {
    let mut tally = Tally::default();
    let mut digest = Sha256::new();
    let (mut seen, mut is_digested, mut is_top) = (0_u64, true, true);
    let result = walk(spot, &mut |visit: Visit<'_>| {
        if is_stopped() {
            return Err(Why::Cancelled);
        }
        if matches!(visit.what, What::Leave) {
            if is_digested {
                digest.update([b'>']);
            }
            return Ok(());
        }
        let is_top = std::mem::take(&mut is_top);
        if !is_top && visit.makes_repository() {
            tally.repositories += 1;
        }
        is_digested &= seen < MAX_COUNTED;
        if most == Some(seen) {
            return Err(Why::Enough);
        }
        let stat = match look(visit.dir, visit.name) {
            Ok(stat) => stat,
            // Removed since its name was read.
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(errno.into()),
        };
        match visit.what {
            What::Enter if is_top => {}
            What::Enter => tally.directories += 1,
            What::Leaf | What::Leave => {
                if stat.mount != mount_of(visit.dir)? {
                    return Err(Why::MountPoint);
                }
                tally.files += 1;
                tally.bytes = tally.bytes.saturating_add(stat.size);
            }
        }
        if is_digested {
            digest.update([b'<']);
            digest.update((visit.name.to_bytes().len() as u64).to_le_bytes());
            digest.update(visit.name.to_bytes());
            for number in [
                stat.mode,
                stat.inode,
                stat.size,
                stat.modified.0.cast_unsigned(),
                stat.modified.1,
            ] {
                digest.update(number.to_le_bytes());
            }
        }
        seen += 1;
        Ok(())
    });
    match result {
        Ok(()) => tally.is_complete = true,
        Err(Stopped {
            why: Why::Enough, ..
        }) => {}
        Err(stopped) => return Err(stopped),
    }
    Ok((tally, digest.finalize().into()))
}

fn remove_tree(spot: &OpenName, prefix: &[u8], watch: &mut dyn Watch) -> Result<(), Stopped> {
    let mut path = prefix.to_vec();
    walk(spot, &mut |visit: Visit<'_>| {
        if watch.is_stopped() {
            return Err(Why::Cancelled);
        }
        let flags = match visit.what {
            What::Enter => return Ok(()),
            What::Leaf => AtFlags::empty(),
            What::Leave => AtFlags::REMOVEDIR,
        };
        match unlinkat(visit.dir, visit.name, flags) {
            // Someone else removed it.
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
        path.truncate(prefix.len());
        path.extend(visit.path);
        watch.removed(&path);
        Ok(())
    })
}

/// Why a removal ended, told with the place where.
fn stop(path: &WorkspacePath, stopped: &Stopped) -> ToolError {
    let at = String::from_utf8_lossy(&stopped.path);
    let at = crate::model::text::shorten(&at, 256);
    let denied = |why: &str| {
        let message = format!("cannot delete `{path}`: {why}");
        ToolError::new(ErrorCode::PermissionDenied, message)
    };
    match stopped.why {
        Why::Errno(errno) => path.fault("delete", errno).with_detail("at", at),
        Why::MountPoint => denied(&format!(
            "something is mounted at `{at}`; unmount it first, or delete the rest by itself"
        )),
        // No walk of a removal ends with these.
        Why::Cancelled | Why::Enough | Why::Repository => {
            ToolError::new(ErrorCode::Cancelled, "the deletion was stopped")
        }
    }
}
