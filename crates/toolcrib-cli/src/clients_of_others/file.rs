//! A client's file on disk: [`ClientFile`], read whole and replaced at once.
//!
//! It belongs to another program, which may write it while we ask a question: only what was read is replaced. The text
//! before is kept beside it.
//!
//! Links of the user's own files are followed, since programs that manage settings make them. Below a project no link is:
//! the project may have brought it, and writing through it would change a file elsewhere. Every operation opens the
//! directories of a project one by one without following links, so that a link that appears later is refused, too.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use toolcrib::model::text::size;

/// The largest file that is read. Claude Code keeps histories in its own, of some megabytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// The mode of files that are new: they may get secrets.
const NEW_MODE: u32 = 0o600;
/// How often another name is tried where one is taken.
const MAX_NAMES: u32 = 10_000;

/// The problem of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileProblem {
    pub(crate) message: String,
    /// Whether it changed while we looked.
    pub(crate) is_conflict: bool,
}

/// A file as it was when it was read.
#[derive(Debug, Clone)]
pub(crate) struct ClientFile {
    /// The project that it is in; below it no link is followed.
    project: Option<PathBuf>,
    /// Where the bytes are, without links as far as they are followed.
    target: PathBuf,
    /// What was in it; `None` if it was not there.
    text: Option<String>,
    mode: u32,
}

/// How a missing directory is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Report,
}

fn problem(path: &Path, why: impl std::fmt::Display) -> FileProblem {
    FileProblem {
        message: format!("`{}`: {why}", path.display()),
        is_conflict: false,
    }
}

impl ClientFile {
    /// Reads a file of the user's, through links; one that is not there is empty.
    pub(crate) fn read(path: &Path) -> Result<Self, FileProblem> {
        let target = match path.symlink_metadata() {
            Ok(_) => path.canonicalize().map_err(|error| {
                problem(path, format!("it is a link that leads nowhere: {error}"))
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(problem(path, error)),
        };
        ClientFile::new(None, target).filled()
    }

    /// Reads a file of a project; one that is not there is empty. A link on the way from the project to it is refused, and so is
    /// one in its place.
    pub(crate) fn read_in_project(project: &Path, path: &Path) -> Result<Self, FileProblem> {
        let below = path
            .strip_prefix(project)
            .map_err(|_| problem(path, "it is not in the project"))?;
        let project = project
            .canonicalize()
            .map_err(|error| problem(project, error))?;
        let target = project.join(below);
        ClientFile::new(Some(project), target).filled()
    }

    fn new(project: Option<PathBuf>, target: PathBuf) -> Self {
        ClientFile {
            project,
            target,
            text: None,
            mode: NEW_MODE,
        }
    }

    /// With what is in it now.
    fn filled(mut self) -> Result<Self, FileProblem> {
        if let Some((text, mode)) = self.content()? {
            self.text = Some(text);
            self.mode = mode;
        }
        Ok(self)
    }

    pub(crate) fn exists(&self) -> bool {
        self.text.is_some()
    }

    /// Where it is, links followed as far as they are.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    pub(crate) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    fn name(&self) -> &OsStr {
        self.target.file_name().unwrap_or_default()
    }

    /// The directory that it is in; `None` if it is not there.
    fn directory(&self, missing: Missing) -> Result<Option<OwnedFd>, FileProblem> {
        let Some(parent) = self.target.parent() else {
            return Err(problem(&self.target, "it has no parent directory"));
        };
        let is_directory = OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Some(project) = &self.project else {
            if missing == Missing::Make {
                fs::create_dir_all(parent).map_err(|error| self.unwritten(error))?;
            }
            return match rustix::fs::open(parent, is_directory, Mode::empty()) {
                Ok(directory) => Ok(Some(directory)),
                Err(Errno::NOENT) => Ok(None),
                Err(error) => Err(problem(parent, io::Error::from(error))),
            };
        };
        let mut at = project.clone();
        let mut directory = rustix::fs::open(project, is_directory, Mode::empty())
            .map_err(|error| problem(project, io::Error::from(error)))?;
        let below = parent.strip_prefix(project).unwrap_or(Path::new(""));
        for part in below.components() {
            // Nothing else can be in the paths of clients' files.
            let Component::Normal(name) = part else {
                return Err(problem(&self.target, "it is not in the project"));
            };
            at.push(name);
            let open = || {
                let flags = is_directory | OFlags::NOFOLLOW;
                rustix::fs::openat(&directory, name, flags, Mode::empty())
            };
            let opened = match (open(), missing) {
                (Err(Errno::NOENT), Missing::Report) => return Ok(None),
                (Err(Errno::NOENT), Missing::Make) => {
                    match rustix::fs::mkdirat(&directory, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => open(),
                        Err(error) => Err(error),
                    }
                }
                (opened, _) => opened,
            };
            let next = opened.map_err(|error| refusal(&at, &directory, name, error))?;
            directory = next;
        }
        Ok(Some(directory))
    }

    /// The text and the mode of what is there now; `None` if nothing is.
    fn content(&self) -> Result<Option<(String, u32)>, FileProblem> {
        let Some(directory) = self.directory(Missing::Report)? else {
            return Ok(None);
        };
        // Opening a pipe would wait until something writes to it.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&directory, self.name(), flags, Mode::empty());
        let file = match opened {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(refusal(&self.target, &directory, self.name(), error)),
        };
        let content = read_text(file).map_err(|why| problem(&self.target, why))?;
        Ok(Some(content))
    }

    /// Whether we may replace it: what is read-only or belongs to another user stays.
    pub(crate) fn may_be_replaced(&self) -> Result<(), FileProblem> {
        if !self.exists() {
            return Ok(());
        }
        self.unchanged()?;
        let Some(directory) = self.directory(Missing::Report)? else {
            return Err(self.changed());
        };
        replaceable(&directory, self.name()).map_err(|why| problem(&self.target, why))
    }

    /// Keeps a copy beside the file; says where. `None` if there was nothing to keep.
    pub(crate) fn back_up(&self) -> Result<Option<PathBuf>, FileProblem> {
        let Some(text) = &self.text else {
            return Ok(None);
        };
        let Some(directory) = self.directory(Missing::Report)? else {
            return Err(self.changed());
        };
        let name = self.name().to_string_lossy();
        let names = (1..MAX_NAMES).map(|number| format!("{name}.toolcrib-backup-{number}"));
        let (name, mut file) = create(&directory, names, self.mode).map_err(|error| {
            problem(&self.target, format!("the copy cannot be written: {error}"))
        })?;
        let path = self.target.with_file_name(&name);
        if let Err(error) = fill(&mut file, text, self.mode) {
            let _ = rustix::fs::unlinkat(&directory, &name, AtFlags::empty());
            let why = format!("the copy cannot be written: {error}");
            return Err(problem(&path, why));
        }
        Ok(Some(path))
    }

    /// Takes a copy away that was not needed.
    pub(crate) fn discard(&self, backup: &Path) {
        if let (Ok(Some(directory)), Some(name)) =
            (self.directory(Missing::Report), backup.file_name())
        {
            let _ = rustix::fs::unlinkat(&directory, name, AtFlags::empty());
        }
    }

    /// Puts another text in the place of the one that was read, at once or not at all.
    pub(crate) fn replace(&self, text: &str) -> Result<(), FileProblem> {
        let Some(directory) = self.directory(Missing::Make)? else {
            return Err(self.changed());
        };
        let number = std::process::id();
        let names = (0..MAX_NAMES).map(|more| format!(".toolcrib-{number}-{more}"));
        let (new, mut file) =
            create(&directory, names, self.mode).map_err(|error| self.unwritten(error))?;
        let written = fill(&mut file, text, self.mode)
            .map_err(|error| self.unwritten(error))
            .and_then(|()| self.unchanged())
            .and_then(|()| {
                let how = match self.exists() {
                    true => RenameFlags::empty(),
                    false => RenameFlags::NOREPLACE,
                };
                // The name itself is replaced, never what a link in its place leads to.
                rustix::fs::renameat_with(&directory, &new, &directory, self.name(), how).map_err(
                    |error| match error {
                        Errno::EXIST => self.changed(),
                        error => self.unwritten(error.into()),
                    },
                )
            });
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&directory, &new, AtFlags::empty());
        }
        written?;
        rustix::fs::fsync(&directory).map_err(|error| self.unwritten(error.into()))
    }

    /// Takes a file away that was read.
    pub(crate) fn remove(&self) -> Result<(), FileProblem> {
        self.unchanged()?;
        let Some(directory) = self.directory(Missing::Report)? else {
            return Err(self.changed());
        };
        rustix::fs::unlinkat(&directory, self.name(), AtFlags::empty()).map_err(|error| {
            let error = io::Error::from(error);
            problem(&self.target, format!("it cannot be removed: {error}"))
        })
    }

    /// Whether it is still what was read.
    fn unchanged(&self) -> Result<(), FileProblem> {
        let now = self.content()?.map(|(text, _)| text);
        if now == self.text {
            Ok(())
        } else {
            Err(self.changed())
        }
    }

    fn unwritten(&self, error: io::Error) -> FileProblem {
        problem(&self.target, format!("it cannot be written: {error}"))
    }

    fn changed(&self) -> FileProblem {
        FileProblem {
            message: format!(
                "`{}` was changed by another program in the meantime; nothing was written",
                self.target.display()
            ),
            is_conflict: true,
        }
    }
}

/// Why a name could not be opened: it is a link, or what the system says.
fn refusal(path: &Path, directory: &OwnedFd, name: &OsStr, error: Errno) -> FileProblem {
    match rustix::fs::readlinkat(directory, name, Vec::new()) {
        Ok(to) => problem(
            path,
            format!(
                "it is a link to `{}`, and a project's files are never written through a link; replace it by a file or directory of the project",
                toolcrib::model::text::visible_line(&to.to_string_lossy())
            ),
        ),
        Err(_) => problem(path, io::Error::from(error)),
    }
}

/// Makes a new file under the first of these names that is free.
fn create(
    directory: impl AsFd,
    names: impl Iterator<Item = String>,
    mode: u32,
) -> io::Result<(String, File)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for name in names {
        match rustix::fs::openat(&directory, &name, flags, Mode::from_raw_mode(mode as _)) {
            Ok(file) => return Ok((name, File::from(file))),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other("there are too many copies beside it"))
}

fn fill(file: &mut File, text: &str, mode: u32) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_all()
}

/// Whether a file is one that we may replace.
fn replaceable(directory: &OwnedFd, name: &OsStr) -> Result<(), String> {
    let said = |error: Errno| io::Error::from(error).to_string();
    let known = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map_err(said)?;
    if known.st_uid != rustix::process::geteuid().as_raw() {
        return Err("it belongs to another user, and would be yours afterwards".to_owned());
    }
    if known.st_mode & 0o200 == 0 {
        return Err("it is read-only; `chmod u+w` makes it writable".to_owned());
    }
    rustix::fs::accessat(
        directory,
        name,
        rustix::fs::Access::WRITE_OK,
        AtFlags::empty(),
    )
    .map_err(|error| format!("it cannot be written: {}", io::Error::from(error)))
}

/// The text and the mode of a file.
fn read_text(file: File) -> Result<(String, u32), String> {
    let known = file.metadata().map_err(|error| error.to_string())?;
    if known.is_dir() {
        return Err("it is a directory, not a file".to_owned());
    }
    if !known.is_file() {
        return Err("it is not a file".to_owned());
    }
    // Root keeps files for users on some systems; other users do not.
    let owner = known.uid();
    if owner != rustix::process::geteuid().as_raw() && owner != 0 {
        return Err("it belongs to another user".to_owned());
    }
    if known.len() > MAX_BYTES {
        let size = size(known.len());
        return Err(format!(
            "it has {size}, which is more than settings may have (16 MB)"
        ));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
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
    fn input_that_is_not_a_file_of_ours_is_refused() {
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

    /// A project in which a part of the way to a file is a link to `elsewhere`.
    fn linked(part: &str, elsewhere: &str) -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("project");
        let link = project.join(part);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        fs::create_dir_all(dir.path().join("elsewhere")).unwrap();
        fs::write(dir.path().join("elsewhere/mcp.json"), "theirs").unwrap();
        std::os::unix::fs::symlink(dir.path().join(elsewhere), &link).unwrap();
        (dir, project, link)
    }

    #[test]
    fn no_link_below_a_project_is_followed() {
        for (part, elsewhere) in [
            (".cursor", "elsewhere"),
            (".cursor", "nowhere"),
            (".cursor", "elsewhere/mcp.json"),
            (".cursor/mcp.json", "elsewhere/mcp.json"),
            (".cursor/mcp.json", "elsewhere/new.json"),
            (".cursor/mcp.json", "elsewhere"),
        ] {
            let (dir, project, link) = linked(part, elsewhere);
            let path = project.join(".cursor/mcp.json");
            let message = ClientFile::read_in_project(&project, &path)
                .unwrap_err()
                .message;
            assert!(
                message.contains(&format!(
                    "{}`: it is a link to",
                    link.file_name().unwrap().display()
                )),
                "{message}"
            );
            assert!(
                message.contains("elsewhere") || message.contains("nowhere"),
                "{message}"
            );
            assert_eq!(
                fs::read_to_string(dir.path().join("elsewhere/mcp.json")).unwrap(),
                "theirs"
            );
            assert_eq!(
                fs::read_dir(dir.path().join("elsewhere")).unwrap().count(),
                1
            );
        }
    }

    #[test]
    fn a_link_that_appears_after_the_reading_is_not_followed_either() {
        let dir = tempfile::tempdir().unwrap();
        let (project, elsewhere) = (dir.path().join("project"), dir.path().join("elsewhere"));
        fs::create_dir_all(project.join(".cursor")).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        let path = project.join(".cursor/mcp.json");
        fs::write(&path, "{}").unwrap();
        let there = ClientFile::read_in_project(&project, &path).unwrap();
        let missing =
            ClientFile::read_in_project(&project, &project.join(".gemini/settings.json")).unwrap();
        // The file: what it was is not there any more.
        fs::rename(&path, elsewhere.join("mcp.json")).unwrap();
        std::os::unix::fs::symlink(elsewhere.join("mcp.json"), &path).unwrap();
        there.replace("ours").unwrap_err();
        there.remove().unwrap_err();
        there.may_be_replaced().unwrap_err();
        // Directories on the way to it.
        fs::rename(project.join(".cursor"), dir.path().join("away")).unwrap();
        for name in [".cursor", ".gemini"] {
            std::os::unix::fs::symlink(&elsewhere, project.join(name)).unwrap();
        }
        for done in [
            there.replace("ours"),
            there.remove(),
            there.back_up().map(drop),
            missing.replace("ours"),
        ] {
            let message = done.unwrap_err().message;
            assert!(message.contains("is a link to"), "{message}");
        }
        there.discard(&elsewhere.join("mcp.json"));
        assert_eq!(
            fs::read_to_string(elsewhere.join("mcp.json")).unwrap(),
            "{}"
        );
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
    }

    #[test]
    fn a_project_that_is_reached_by_a_link_gets_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let (project, link) = (dir.path().join("project"), dir.path().join("link"));
        fs::create_dir(&project).unwrap();
        std::os::unix::fs::symlink(&project, &link).unwrap();
        let read = ClientFile::read_in_project(&link, &link.join(".cursor/mcp.json")).unwrap();
        read.replace("ours").unwrap();
        let path = project.canonicalize().unwrap().join(".cursor/mcp.json");
        assert_eq!(read.target(), path);
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, NEW_MODE);
    }
}
