//! A client's file on disk: [`ClientFile`], read whole and replaced at once.
//!
//! It is somebody else's, and that program may write it while we ask a question: what is replaced is what was read, or nothing is. The text
//! before is kept beside it.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The largest file that is read. Claude Code keeps histories in its own, of some megabytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// The mode of files that are new: they may get secrets.
const NEW_MODE: u32 = 0o600;

/// What is wrong with a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileProblem {
    pub(crate) message: String,
    /// Whether it changed while we looked.
    pub(crate) is_conflict: bool,
}

/// A file as it was when it was read.
#[derive(Debug, Clone)]
pub(crate) struct ClientFile {
    /// Where the bytes are: what a link leads to.
    target: PathBuf,
    /// What was in it; `None` if it was not there.
    text: Option<String>,
    mode: u32,
}

fn problem(path: &Path, why: impl std::fmt::Display) -> FileProblem {
    FileProblem {
        message: format!("`{}`: {why}", path.display()),
        is_conflict: false,
    }
}

impl ClientFile {
    /// Reads a file; one that is not there is empty.
    pub(crate) fn read(path: &Path) -> Result<Self, FileProblem> {
        let is_there = match path.symlink_metadata() {
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(problem(path, error)),
        };
        if !is_there {
            return Ok(ClientFile {
                target: path.to_owned(),
                text: None,
                mode: NEW_MODE,
            });
        }
        let target = path
            .canonicalize()
            .map_err(|error| problem(path, format!("it is a link that leads nowhere: {error}")))?;
        let (text, mode) = read_text(&target).map_err(|why| problem(path, why))?;
        Ok(ClientFile {
            target,
            text: Some(text),
            mode,
        })
    }

    pub(crate) fn exists(&self) -> bool {
        self.text.is_some()
    }

    /// Where it is, links followed.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    pub(crate) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Whether we may replace it: what is read-only or somebody else's stays.
    pub(crate) fn may_be_replaced(&self) -> Result<(), FileProblem> {
        match self.exists() {
            true => replaceable(&self.target).map_err(|why| problem(&self.target, why)),
            false => Ok(()),
        }
    }

    /// Keeps a copy beside the file; says where. `None` if there was nothing to keep.
    pub(crate) fn back_up(&self) -> Result<Option<PathBuf>, FileProblem> {
        let Some(text) = &self.text else {
            return Ok(None);
        };
        let name = self
            .target
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        for number in 1..10_000 {
            let path = self
                .target
                .with_file_name(format!("{name}.toolcrib-backup-{number}"));
            let opened = File::options()
                .write(true)
                .create_new(true)
                .mode(self.mode)
                .open(&path);
            let written = match opened {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened.and_then(|mut file| {
                    file.write_all(text.as_bytes())?;
                    file.set_permissions(Permissions::from_mode(self.mode))?;
                    file.sync_all()
                }),
            };
            return match written {
                Ok(()) => Ok(Some(path)),
                Err(error) => {
                    let _ = fs::remove_file(&path);
                    Err(problem(
                        &path,
                        format!("the copy cannot be written: {error}"),
                    ))
                }
            };
        }
        Err(problem(&self.target, "there are too many copies beside it"))
    }

    /// Puts another text in the place of the one that was read, at once or not at all.
    pub(crate) fn replace(&self, text: &str) -> Result<(), FileProblem> {
        let failed =
            |error: io::Error| problem(&self.target, format!("it cannot be written: {error}"));
        let directory = self
            .target
            .parent()
            .ok_or_else(|| problem(&self.target, "it is in no directory"))?;
        fs::create_dir_all(directory).map_err(failed)?;
        let mut new = tempfile::Builder::new()
            .prefix(".toolcrib-")
            .tempfile_in(directory)
            .map_err(failed)?;
        new.write_all(text.as_bytes()).map_err(failed)?;
        new.as_file()
            .set_permissions(Permissions::from_mode(self.mode))
            .map_err(failed)?;
        new.as_file().sync_all().map_err(failed)?;
        self.unchanged()?;
        match self.exists() {
            true => drop(
                new.persist(&self.target)
                    .map_err(|error| failed(error.error))?,
            ),
            false => drop(
                new.persist_noclobber(&self.target)
                    .map_err(|_| self.changed())?,
            ),
        }
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(failed)
    }

    /// Takes a file away that was read.
    pub(crate) fn remove(&self) -> Result<(), FileProblem> {
        self.unchanged()?;
        fs::remove_file(&self.target)
            .map_err(|error| problem(&self.target, format!("it cannot be removed: {error}")))
    }

    /// Whether it is still what was read.
    fn unchanged(&self) -> Result<(), FileProblem> {
        let is_same = match (&self.text, self.target.symlink_metadata()) {
            (None, Err(error)) => error.kind() == io::ErrorKind::NotFound,
            (Some(text), Ok(_)) => read_text(&self.target).is_ok_and(|(now, _)| now == *text),
            (None, Ok(_)) | (Some(_), Err(_)) => false,
        };
        if is_same { Ok(()) } else { Err(self.changed()) }
    }

    fn changed(&self) -> FileProblem {
        FileProblem {
            message: format!(
                "`{}` was changed by somebody else meanwhile; nothing was written",
                self.target.display()
            ),
            is_conflict: true,
        }
    }
}

/// Whether a file is one that we may replace.
fn replaceable(path: &Path) -> Result<(), String> {
    let known = fs::metadata(path).map_err(|error| error.to_string())?;
    if known.uid() != rustix::process::geteuid().as_raw() {
        return Err("it belongs to another user, and would be yours afterwards".to_owned());
    }
    if known.mode() & 0o200 == 0 {
        return Err("it is read-only; `chmod u+w` makes it writable".to_owned());
    }
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK)
        .map_err(|error| format!("it cannot be written: {error}"))
}

/// The text and the mode of a file.
fn read_text(path: &Path) -> Result<(String, u32), String> {
    // Opening a pipe would wait for somebody to write.
    let known = fs::metadata(path).map_err(|error| error.to_string())?;
    if known.is_dir() {
        return Err("it is a directory, not a file".to_owned());
    }
    if !known.is_file() {
        return Err("it is not a file".to_owned());
    }
    // Root keeps files for users on some systems; nobody else does.
    let owner = known.uid();
    if owner != rustix::process::geteuid().as_raw() && owner != 0 {
        return Err("it belongs to another user".to_owned());
    }
    if known.len() > MAX_BYTES {
        let size = known.len() / 1024 / 1024;
        return Err(format!(
            "it has {size} MB, which is more than settings have (16 MB)"
        ));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not text in UTF-8".to_owned())?;
    Ok((text, known.mode() & 0o7777))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_in_between_is_noticed_and_nothing_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mcp.json");
        fs::write(&path, "{}").unwrap();
        let read = ClientFile::read(&path).unwrap();
        fs::write(&path, "{\"theirs\": 1}").unwrap();
        assert!(read.replace("{\"ours\": 1}").unwrap_err().is_conflict);
        assert!(read.remove().unwrap_err().is_conflict);
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"theirs\": 1}");
        let new = dir.path().join("new.json");
        let missing = ClientFile::read(&new).unwrap();
        fs::write(&new, "theirs").unwrap();
        assert!(missing.replace("ours").unwrap_err().is_conflict);
        assert_eq!(fs::read_to_string(&new).unwrap(), "theirs");
        // Nothing of ours is left lying about.
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn mode_and_link_stay_and_the_copy_has_the_same_mode() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("real.json"), dir.path().join("link.json"));
        fs::write(&path, "before").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("real.json", &link).unwrap();
        let read = ClientFile::read(&link).unwrap();
        let copy = read.back_up().unwrap().unwrap();
        read.replace("after").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "after");
        assert_eq!(fs::read_to_string(&copy).unwrap(), "before");
        for file in [&path, &copy] {
            assert_eq!(fs::metadata(file).unwrap().mode() & 0o777, 0o640);
        }
        let second = ClientFile::read(&link).unwrap().back_up().unwrap().unwrap();
        assert_ne!(second, copy);
    }

    #[test]
    fn what_is_no_file_of_ours_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let said = |path: &Path| ClientFile::read(path).unwrap_err().message;
        assert!(said(dir.path()).contains("directory"));
        let path = dir.path().join("big.json");
        File::create(&path)
            .unwrap()
            .set_len(50 * 1024 * 1024)
            .unwrap();
        assert!(said(&path).contains("50 MB"));
        fs::write(&path, b"\xff\xfe{\0").unwrap();
        assert!(said(&path).contains("UTF-8"));
        fs::write(&path, "{}").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
        let read = ClientFile::read(&path).unwrap();
        let why = read.may_be_replaced().unwrap_err().message;
        assert!(why.contains("read-only"), "{why}");
        let link = dir.path().join("link.json");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        assert!(said(&link).contains("leads nowhere"));
    }
}
