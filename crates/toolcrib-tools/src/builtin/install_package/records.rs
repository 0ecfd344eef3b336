//! The files that record what a project depends on: copied before an installation, put back when it fails, compared when it goes well.
//!
//! Links are refused: a `package.json` that leads elsewhere would have another file changed and put back than the one that was copied.

use std::io::Read as _;

use super::manager::Manager;
use crate::builtin::project::{join, upwards};
use crate::builtin::unified_diff;
use crate::model::error::{ErrorCode, ToolError};
use crate::workspace::{EntryKind, MissingDirs, Replaces, Watch, Workspace};

/// The largest record: lock files of large projects have megabytes.
const MAX_RECORD: u64 = 64 << 20;

/// The longest text that is compared line by line.
const MAX_COMPARED: usize = 1 << 20;

/// Copies of the records of a project.
#[derive(Debug)]
pub(super) struct Records {
    kept: Vec<Record>,
    /// A directory that is made, and goes again.
    made: Option<String>,
}

#[derive(Debug)]
struct Record {
    path: String,
    /// Its contents; `None` if there is no such file.
    content: Option<Vec<u8>>,
}

/// A record that is not what it was.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Changed {
    pub(super) path: String,
    pub(super) change: Change,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    Diff(String),
    /// In words.
    Summary(String),
}

impl Records {
    /// Copies the records of a project (relative, without links) and of those around it, which may keep its lock. Blocks.
    pub(super) fn copy(
        workspace: &Workspace,
        manager: Manager,
        root: &str,
        made: Option<String>,
    ) -> Result<Self, ToolError> {
        let mut kept = Vec::new();
        for directory in upwards(root) {
            for name in manager.records() {
                let path = join(directory, name);
                let content = content(workspace, &path)?;
                kept.push(Record { path, content });
            }
        }
        Ok(Records { kept, made })
    }

    /// Puts everything back as it was; what could not be, in words. Blocks.
    pub(super) fn restore(&self, workspace: &Workspace) -> Vec<String> {
        let mut problems = Vec::new();
        for record in &self.kept {
            if let Err(error) = record.restore(workspace) {
                problems.push(format!(
                    "`{}` is not as it was: {}",
                    record.path,
                    error.message()
                ));
            }
        }
        if let Some(made) = &self.made
            && let Err(error) = remove(workspace, made)
            && error.code() != ErrorCode::FileNotFound
        {
            problems.push(format!("`{made}` is left: {}", error.message()));
        }
        problems
    }

    /// The differences. Blocks.
    pub(super) fn changed(&self, workspace: &Workspace) -> Result<Vec<Changed>, ToolError> {
        let mut changed = Vec::new();
        for record in &self.kept {
            let now = content(workspace, &record.path)?;
            if now != record.content {
                changed.push(Changed {
                    path: record.path.clone(),
                    change: record.change(now.as_deref()),
                });
            }
        }
        if let Some(made) = &self.made {
            changed.push(Changed {
                path: made.clone(),
                change: Change::Summary("made".to_owned()),
            });
        }
        Ok(changed)
    }
}

impl Record {
    fn restore(&self, workspace: &Workspace) -> Result<(), ToolError> {
        let is_same = content(workspace, &self.path).is_ok_and(|now| now == self.content);
        if is_same {
            return Ok(());
        }
        let path = workspace.path(&self.path)?;
        let kind = kind(workspace, &self.path)?;
        let Some(content) = &self.content else {
            return remove(workspace, &self.path);
        };
        if kind.is_some_and(|kind| kind != EntryKind::File) {
            remove(workspace, &self.path)?;
        }
        let replaces = match workspace.file_to_replace(&path, MissingDirs::Refuse)? {
            Some(old) => Replaces::Just(old.identity),
            None => Replaces::Nothing,
        };
        workspace.write_file(&path, content, MissingDirs::Refuse, &replaces)
    }

    fn change(&self, now: Option<&[u8]>) -> Change {
        let text = |bytes: Option<&[u8]>| -> Option<String> {
            let bytes = bytes.unwrap_or_default();
            (bytes.len() <= MAX_COMPARED).then(|| String::from_utf8_lossy(bytes).into_owned())
        };
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        let (old, new) = (text(self.content.as_deref()), text(now));
        match (old, new) {
            (Some(old), Some(new)) if !Manager::is_lock(name) => {
                Change::Diff(unified_diff(&self.path, &old, &new))
            }
            _ => {
                let lines = |bytes: Option<&[u8]>| {
                    let bytes = bytes.unwrap_or_default();
                    bytes.iter().filter(|byte| **byte == b'\n').count()
                };
                let (was, is) = (lines(self.content.as_deref()), lines(now));
                Change::Summary(match (&self.content, now) {
                    (None, _) => format!("new, {is} lines"),
                    (_, None) => "removed".to_owned(),
                    _ => format!("changed, {was} lines before and {is} now"),
                })
            }
        }
    }
}

/// The entry of that name, without following links.
pub(super) fn kind(workspace: &Workspace, path: &str) -> Result<Option<EntryKind>, ToolError> {
    let (directory, name) = workspace.open_parent(&workspace.path(path)?)?;
    match rustix::fs::statat(&directory, &name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(crate::workspace::Metadata::of(&stat).kind)),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(errno) => Err(workspace.path(path)?.fault("look at", errno)),
    }
}

/// The content of a record, which is not a link.
fn content(workspace: &Workspace, path: &str) -> Result<Option<Vec<u8>>, ToolError> {
    match kind(workspace, path)? {
        None => return Ok(None),
        Some(EntryKind::File) => {}
        Some(EntryKind::Symlink) => {
            return Err(ToolError::new(
                ErrorCode::InvalidPath,
                format!(
                    "`{path}` is a symbolic link, and packages are recorded in files that are the project's own; put the file in its place"
                ),
            ));
        }
        Some(EntryKind::Directory | EntryKind::Other) => {
            return Err(ToolError::new(
                ErrorCode::InvalidPath,
                format!("`{path}` is not a file"),
            ));
        }
    }
    let (file, metadata) = workspace.open_file(&workspace.path(path)?)?;
    if metadata.size > MAX_RECORD {
        return Err(ToolError::new(
            ErrorCode::FileTooLarge,
            format!("`{path}` is larger than 64 MB, and cannot be kept to be put back"),
        ));
    }
    let mut content = Vec::new();
    file.take(MAX_RECORD)
        .read_to_end(&mut content)
        .map_err(|error| ToolError::failed(format!("cannot read `{path}`")).caused_by(error))?;
    Ok(Some(content))
}

fn remove(workspace: &Workspace, path: &str) -> Result<(), ToolError> {
    struct Silent;
    impl Watch for Silent {
        fn removed(&mut self, _path: &[u8]) {}
        fn is_stopped(&self) -> bool {
            false
        }
    }
    let path = workspace.path(path)?;
    let found = workspace.to_remove(&path)?;
    workspace.remove(&path, &found.identity, &mut Silent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_became_of_them_records_come_back_as_they_were() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::create_dir(path("app")).unwrap();
        std::fs::write(path("app/package.json"), "{}\n").unwrap();
        std::fs::write(path("package-lock.json"), "lock\n").unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        let made = Some("app/.venv".to_owned());
        let records = Records::copy(&workspace, Manager::Npm, "app", made).unwrap();

        // Gone and replaced by a link, half-written, newly made, and a directory with something in it.
        std::fs::remove_file(path("app/package.json")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", path("app/package.json")).unwrap();
        std::fs::write(path("package-lock.json"), "lo").unwrap();
        std::fs::write(path("app/package-lock.json"), "new").unwrap();
        std::fs::create_dir_all(path("app/.venv/bin")).unwrap();
        std::fs::write(path("app/.venv/bin/python"), "").unwrap();

        assert_eq!(records.restore(&workspace), Vec::<String>::new());
        let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
        assert!(!path("app/package.json").is_symlink());
        assert_eq!(read("app/package.json"), "{}\n");
        assert_eq!(read("package-lock.json"), "lock\n");
        assert!(!path("app/package-lock.json").exists());
        assert!(!path("app/.venv").exists());
    }

    #[test]
    fn a_record_that_is_a_link_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc/passwd", directory.path().join("package.json")).unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        let error = Records::copy(&workspace, Manager::Npm, ".", None).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidPath);
        assert!(error.message().contains("symbolic link"), "{error:?}");
    }
}
