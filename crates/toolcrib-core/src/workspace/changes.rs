//! Changing several files, all or none: [`Workspace::change_all`].
//!
//! Everything that takes long or is likely to fail comes first: every directory is opened, every file is compared with what was
//! approved, and every new content is on the disk under a temporary name. Only then do names change, one rename each, and each old file
//! keeps a temporary name until all of them are done. If one rename fails, those before it are taken back.
//!
//! What this does not give is one instant at which everything changes. Another process may see some files new and others old, and a
//! machine that stops between two renames leaves it so: each file is whole, the old ones are beside them as `.toolcrib-….tmp`, and
//! a later write in that directory removes these after a day. Directories made for new files are removed again if the change fails.

use std::path::PathBuf;

use rustix::fs::{AtFlags, RenameFlags, linkat, renameat, renameat_with, statat, unlinkat};
use rustix::io::Errno;

use super::identity::{Identity, Old};
use super::open_name::{MissingDirs, OpenName};
use super::write::{Replaces, Temp, changed, exists, not_replaceable, sweep, temp_name};
use super::{EntryKind, Metadata, Workspace, WorkspacePath};
use crate::model::error::{ErrorCode, ToolError};

/// One change of several that are made together.
#[derive(Debug, Clone)]
pub enum FileChange {
    /// Makes bytes the content of a file. Missing directories of a new file are made.
    Write {
        /// The file.
        path: WorkspacePath,
        /// Its whole new content.
        bytes: Vec<u8>,
        /// What may be there.
        replaces: Replaces,
        /// Whether it may be run as a program; `None` leaves that as it is.
        executable: Option<bool>,
    },
    /// Removes a file.
    Remove {
        /// The file.
        path: WorkspacePath,
        /// Which file it was when that was approved.
        was: Identity,
    },
    /// Gives a file another name, which must be free. Missing directories are made.
    Move {
        /// The file.
        from: WorkspacePath,
        /// Its new name.
        to: WorkspacePath,
        /// Which file it was when that was approved.
        was: Identity,
        /// Its new content, if that changes too.
        bytes: Option<Vec<u8>>,
        /// Whether it may be run as a program; only together with new content.
        executable: Option<bool>,
    },
}

impl FileChange {
    /// The path that comes to hold something, or that is removed.
    fn path(&self) -> &WorkspacePath {
        match self {
            FileChange::Write { path, .. } | FileChange::Remove { path, .. } => path,
            FileChange::Move { to, .. } => to,
        }
    }
}

/// Where a change takes place.
struct Place<'c> {
    change: &'c FileChange,
    /// The name that is written or removed, or the new name of a file that moves.
    spot: OpenName,
    /// The old name of a file that moves.
    source: Option<OpenName>,
    /// The file whose attributes a new content keeps.
    old: Option<Old>,
}

/// A name that changed, and how to change it back.
enum Done<'p> {
    /// A new file has this name.
    Named(&'p OpenName),
    /// A file was put aside under a temporary name; if something has its name now, that is the new content.
    PutAside(&'p OpenName, String),
    /// A file moved.
    Moved {
        from: &'p OpenName,
        to: &'p OpenName,
    },
}

impl Workspace {
    /// Makes all of the changes, or none. No two of them may be about the same file.
    pub fn change_all(
        &self,
        changes: &[FileChange],
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<(), ToolError> {
        let mut made = Vec::new();
        let result = self.change_with(changes, &mut made, is_stopped);
        if result.is_err() {
            for directory in made.iter().rev() {
                // One that holds something by now stays.
                if let Ok((parent, name)) = self.open_parent(directory) {
                    let _ = unlinkat(parent, name, AtFlags::REMOVEDIR);
                }
            }
        }
        result
    }

    fn change_with(
        &self,
        changes: &[FileChange],
        made: &mut Vec<WorkspacePath>,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<(), ToolError> {
        let mut places = Vec::with_capacity(changes.len());
        let mut taken: Vec<PathBuf> = Vec::new();
        for change in changes {
            let place = self.place(change, made)?;
            for spot in place.source.iter().chain([&place.spot]) {
                if taken.contains(&spot.place) {
                    let message = format!(
                        "`{}` is changed twice, perhaps through a link; name each file once",
                        change.path()
                    );
                    return Err(ToolError::new(ErrorCode::InvalidPath, message));
                }
                taken.push(spot.place.clone());
            }
            places.push(place);
        }
        let mut contents = Vec::with_capacity(places.len());
        for place in &places {
            if is_stopped() {
                return Err(ToolError::new(
                    ErrorCode::Cancelled,
                    "the change was stopped",
                ));
            }
            contents.push(place.written()?);
        }
        let mut done = Vec::with_capacity(places.len());
        let named = places
            .iter()
            .zip(contents)
            .try_for_each(|(place, content)| place.commit(content, &mut done))
            .and_then(|()| synced(&places));
        if let Err(error) = named {
            return Err(taken_back(done, error));
        }
        for step in done {
            if let Done::PutAside(spot, aside) = step {
                // Should this fail, a later writer sweeps it up.
                let _ = unlinkat(&spot.dir, &aside, AtFlags::empty());
            }
        }
        Ok(())
    }

    /// Finds where a change takes place, and compares what is there with what was approved.
    fn place<'c>(
        &self,
        change: &'c FileChange,
        made: &mut Vec<WorkspacePath>,
    ) -> Result<Place<'c>, ToolError> {
        match change {
            FileChange::Write { path, replaces, .. } => {
                let missing = match replaces {
                    Replaces::Nothing => {
                        self.note_missing(path, made);
                        MissingDirs::Make
                    }
                    Replaces::Just(_) => MissingDirs::Refuse,
                };
                let spot = self.spot_to_write(path, missing)?;
                let old = spot
                    .old_file()
                    .map_err(|error| not_replaceable(path, error))?;
                match (replaces, &old) {
                    (Replaces::Nothing, None) => {}
                    (Replaces::Nothing, Some(_)) => return Err(exists(path)),
                    (Replaces::Just(approved), Some(old)) if *approved == old.identity => {}
                    (Replaces::Just(_), _) => return Err(changed(path)),
                }
                Ok(Place {
                    change,
                    spot,
                    source: None,
                    old,
                })
            }
            FileChange::Remove { path, was } => {
                let spot = self.spot(path, "delete")?;
                approved(&spot, path, was)?;
                Ok(Place {
                    change,
                    spot,
                    source: None,
                    old: None,
                })
            }
            FileChange::Move { from, to, was, .. } => {
                let source = self.spot(from, "move")?;
                let old = approved(&source, from, was)?;
                self.note_missing(to, made);
                let spot = self.spot_to_write(to, MissingDirs::Make)?;
                let taken = spot.look().map_err(|errno| to.fault("move to", errno))?;
                if taken.is_some() {
                    return Err(to.fault("move to", Errno::EXIST));
                }
                Ok(Place {
                    change,
                    spot,
                    source: Some(source),
                    old: Some(old),
                })
            }
        }
    }

    /// Notes the directories of a path that are not there yet.
    fn note_missing(&self, path: &WorkspacePath, made: &mut Vec<WorkspacePath>) {
        let slashes = path.as_str().match_indices('/').map(|(at, _)| at);
        let above = slashes.filter(|at| *at > 0);
        for directory in above.map(|at| &path.as_str()[..at]) {
            if let Ok(directory) = self.path(directory)
                && !made.contains(&directory)
                && let Err(error) = self.metadata(&directory)
                && error.code() == ErrorCode::FileNotFound
            {
                made.push(directory);
            }
        }
    }
}

/// The file at a spot, if it is the one that was approved.
fn approved(spot: &OpenName, path: &WorkspacePath, was: &Identity) -> Result<Old, ToolError> {
    let old = spot
        .old_file()
        .map_err(|error| not_replaceable(path, error))?;
    old.filter(|old| old.identity == *was)
        .ok_or_else(|| changed(path))
}

impl Place<'_> {
    /// Writes the new content, if there is one, under a temporary name in the directory where it belongs.
    fn written(&self) -> Result<Option<Temp<'_>>, ToolError> {
        let (bytes, executable) = match self.change {
            FileChange::Write {
                bytes, executable, ..
            } => (bytes, *executable),
            FileChange::Move {
                bytes: Some(bytes),
                executable,
                ..
            } => (bytes, *executable),
            FileChange::Move { bytes: None, .. } | FileChange::Remove { .. } => return Ok(None),
        };
        sweep(&self.spot.dir);
        Temp::write(&self.spot.dir, bytes, self.old.as_ref(), executable)
            .map(Some)
            .map_err(|errno| self.change.path().fault("write", errno))
    }

    /// Changes the names.
    fn commit<'p>(
        &'p self,
        content: Option<Temp<'_>>,
        done: &mut Vec<Done<'p>>,
    ) -> Result<(), ToolError> {
        match (self.change, content) {
            (
                FileChange::Write {
                    path,
                    replaces: Replaces::Just(was),
                    ..
                },
                Some(content),
            ) => {
                self.spot.still(was, path)?;
                let aside = self.spot.put_aside_for(content, was, path)?;
                done.push(Done::PutAside(&self.spot, aside));
                Ok(())
            }
            (FileChange::Write { path, .. }, Some(content)) => {
                content.name_new(&self.spot).map_err(|errno| match errno {
                    Errno::EXIST => exists(path),
                    errno => path.fault("write", errno),
                })?;
                done.push(Done::Named(&self.spot));
                Ok(())
            }
            (FileChange::Remove { path, was }, _) => {
                self.spot.still(was, path)?;
                let aside = self.spot.put_aside(was, path, "delete")?;
                done.push(Done::PutAside(&self.spot, aside));
                Ok(())
            }
            (FileChange::Move { from, to, was, .. }, content) => {
                let Some(source) = &self.source else {
                    return Ok(());
                };
                source.still(was, from)?;
                let failed = |errno| match errno {
                    Errno::EXIST => to.fault("move to", Errno::EXIST),
                    errno => from.fault("move", errno),
                };
                match content {
                    Some(content) => {
                        content.name_new(&self.spot).map_err(failed)?;
                        done.push(Done::Named(&self.spot));
                        let aside = source.put_aside(was, from, "move")?;
                        done.push(Done::PutAside(source, aside));
                    }
                    None => {
                        rename_new(source, &self.spot).map_err(failed)?;
                        done.push(Done::Moved {
                            from: source,
                            to: &self.spot,
                        });
                    }
                }
                Ok(())
            }
            // A file is always written before it gets its name.
            (FileChange::Write { .. }, None) => Ok(()),
        }
    }
}

impl OpenName {
    /// Looks once more whether this is the file that was approved: writing the others took a while.
    fn still(&self, was: &Identity, path: &WorkspacePath) -> Result<(), ToolError> {
        let now = self.look().map_err(|errno| path.fault("write", errno))?;
        match now.is_some_and(|stat| was.looks_like(&stat)) {
            true => Ok(()),
            false => Err(changed(path)),
        }
    }

    /// Gives a new content the name, and the file that had it a temporary one, at once. Returns that name.
    fn put_aside_for(
        &self,
        content: Temp<'_>,
        was: &Identity,
        path: &WorkspacePath,
    ) -> Result<String, ToolError> {
        let failed = |errno| path.fault("write", errno);
        let aside = content.name.clone();
        let dir = &self.dir;
        match renameat_with(dir, &aside, dir, &self.name, RenameFlags::EXCHANGE) {
            Ok(()) => {
                if !self.is_renamed(&aside, was) {
                    // Someone put another file there since it was looked at. The new content has its temporary name again.
                    if let Err(errno) =
                        renameat_with(dir, &aside, dir, &self.name, RenameFlags::EXCHANGE)
                    {
                        // What has the temporary name is not ours to remove.
                        content.keep();
                        return Err(failed(errno));
                    }
                    return Err(changed(path));
                }
                content.keep();
                Ok(aside)
            }
            // Not every file system can; a second name for the old file does as well.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                let aside = temp_name();
                linkat(dir, &self.name, dir, &aside, AtFlags::empty()).map_err(failed)?;
                content.name_over(self).map_err(|errno| {
                    let _ = unlinkat(dir, &aside, AtFlags::empty());
                    failed(errno)
                })?;
                Ok(aside)
            }
            Err(errno) => Err(failed(errno)),
        }
    }

    /// Gives the file a temporary name, which it returns.
    fn put_aside(
        &self,
        was: &Identity,
        path: &WorkspacePath,
        verb: &str,
    ) -> Result<String, ToolError> {
        let failed = |errno| path.fault(verb, errno);
        let aside = temp_name();
        renameat(&self.dir, &self.name, &self.dir, &aside).map_err(failed)?;
        if self.is_renamed(&aside, was) {
            return Ok(aside);
        }
        renameat(&self.dir, &aside, &self.dir, &self.name).map_err(failed)?;
        Err(changed(path))
    }

    /// Whether the file under a temporary name is the one that was approved.
    fn is_renamed(&self, aside: &str, was: &Identity) -> bool {
        let stat = statat(&self.dir, aside, AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| was.is_renamed_to(&stat))
    }
}

fn rename_new(from: &OpenName, to: &OpenName) -> Result<(), Errno> {
    match renameat_with(
        &from.dir,
        &from.name,
        &to.dir,
        &to.name,
        RenameFlags::NOREPLACE,
    ) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            linkat(&from.dir, &from.name, &to.dir, &to.name, AtFlags::empty())?;
            unlinkat(&from.dir, &from.name, AtFlags::empty())
        }
        renamed => renamed,
    }
}

fn synced(places: &[Place<'_>]) -> Result<(), ToolError> {
    let mut seen = Vec::new();
    for place in places {
        for spot in place.source.iter().chain([&place.spot]) {
            let directory = spot.place.parent();
            if !seen.contains(&directory) {
                spot.sync()
                    .map_err(|errno| place.change.path().fault("write", errno))?;
                seen.push(directory);
            }
        }
    }
    Ok(())
}

/// Changes names back, last first. The error says which could not be.
fn taken_back(done: Vec<Done<'_>>, error: ToolError) -> ToolError {
    let mut stuck = Vec::new();
    for step in done.into_iter().rev() {
        let (spot, result) = match step {
            Done::Named(spot) => (spot, unlinkat(&spot.dir, &spot.name, AtFlags::empty())),
            Done::PutAside(spot, aside) => {
                let back = renameat(&spot.dir, &aside, &spot.dir, &spot.name);
                (spot, back)
            }
            Done::Moved { from, to } => (from, rename_new(to, from)),
        };
        if result.is_err() {
            stuck.push(spot.place.to_string_lossy().into_owned());
        }
        let _ = spot.sync();
    }
    match stuck.is_empty() {
        true => error,
        false => error.with_detail("notTakenBack", stuck),
    }
}

/// A file that a patch or an edit begins from.
impl Workspace {
    /// Looks at a file that is to be removed or moved as a whole; links are not followed.
    pub fn file_to_move(&self, path: &WorkspacePath) -> Result<Old, ToolError> {
        let spot = self.spot(path, "move")?;
        let stat = spot.look().map_err(|errno| path.fault("move", errno))?;
        let stat = stat.ok_or_else(|| path.fault("move", Errno::NOENT))?;
        if Metadata::of(&stat).kind == EntryKind::Symlink {
            let message = format!("cannot move `{path}`: it is a link; use move_file");
            return Err(ToolError::new(ErrorCode::InvalidPath, message));
        }
        let old = spot
            .old_file()
            .map_err(|error| not_replaceable(path, error))?;
        old.ok_or_else(|| path.fault("move", Errno::NOENT))
    }

    /// Checks that a new file can be made at a path.
    pub fn check_is_free(&self, path: &WorkspacePath) -> Result<(), ToolError> {
        match self.spot_to_write(path, MissingDirs::Refuse) {
            Ok(spot) => match spot.look() {
                Ok(None) => Ok(()),
                Ok(Some(_)) => Err(exists(path)),
                Err(errno) => Err(path.fault("write", errno)),
            },
            // Its directories will be made.
            Err(error) if error.code() == ErrorCode::FileNotFound => Ok(()),
            Err(error) => Err(error),
        }
    }
}
