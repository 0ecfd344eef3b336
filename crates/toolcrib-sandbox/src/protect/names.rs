//! Names as file systems compare them, and where repositories are.

use super::{
    fold::{is_protected_name, is_repository_name},
    judge::{begins_protected, below, may_hold_protected},
    placeholder,
};
use crate::sys;
use std::{
    collections::{BTreeSet, VecDeque},
    ffi::OsStr,
    fs,
    io::{self, Read},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::{
            ffi::OsStrExt,
            fs::{MetadataExt, OpenOptionsExt, PermissionsExt},
        },
    },
    path::{Path, PathBuf},
};

/// What git runs or reads as its configuration in a repository besides the directory `hooks`, and what it takes a missing one for.
pub(super) const GIT_FILES: &[(&str, &str)] = &[
    ("config", ""),
    ("config.worktree", ""),
    ("commondir", ".\n"),
];

/// Where a repository keeps those of its submodules and worktrees.
pub(super) const NESTED_REPOSITORIES: &[&str] = &["modules", "worktrees"];

/// Directories looked into when repositories below the root are searched for.
const MOST_DIRECTORIES: usize = 2048;

/// Whether git would take what is in a directory for a repository.
pub(super) fn is_repository(directory: &Path) -> bool {
    is_repository_with(directory, "")
}

/// Like [`is_repository`], with one name more in the directory.
pub(super) fn is_repository_with(directory: &Path, more: &str) -> bool {
    let has = |name: &str| {
        name.eq_ignore_ascii_case(more) || directory.join(name).symlink_metadata().is_ok()
    };
    has("HEAD") && ((has("objects") && has("refs")) || has("commondir"))
}

/// Entries of a directory that a repository or a protected name can be made of.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Protected names, and what they are.
    pub(super) names: Vec<(PathBuf, fs::Metadata)>,
    /// Directories to look into.
    pub(super) directories: Vec<PathBuf>,
    /// Directories that links lead to and that are not looked into otherwise.
    pub(super) linked: Vec<PathBuf>,
    /// What there is of a bare repository.
    pub(super) pieces: Pieces,
    /// Whether it is closed to us: what is closed now may be opened by a command, which is its owner too.
    pub(super) is_closed: bool,
}

/// Names that make a directory a bare repository, and what git runs in one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Pieces(pub(super) u8);

/// The names of the pieces, in the order of their bits.
const PIECES: [&str; 6] = ["HEAD", "objects", "refs", "commondir", "config", "hooks"];

impl Pieces {
    fn has(self, piece: &str) -> bool {
        PIECES
            .iter()
            .position(|name| *name == piece)
            .is_some_and(|bit| self.0 & 1 << bit != 0)
    }

    pub(super) fn add(&mut self, name: &str) {
        if let Some(bit) = PIECES.iter().position(|piece| *piece == name) {
            self.0 |= 1 << bit;
        }
    }

    /// Whether git reads the configuration of such a directory when it finds none in a `.git`.
    pub(super) fn is_bare_repository(self) -> bool {
        self.has("HEAD") && ((self.has("objects") && self.has("refs")) || self.has("commondir"))
    }

    /// Whether there is something in it that git would run or read as its configuration.
    pub(super) fn runs_something(self) -> bool {
        self.has("config") || self.has("hooks")
    }

    /// What makes it a repository and was not there before.
    pub(super) fn new_since(self, before: Self) -> impl Iterator<Item = &'static str> {
        let new = PIECES.into_iter().take(4);
        new.filter(move |name| self.has(name) && !before.has(name))
    }
}

/// The contents of a directory. One of ours that is closed is opened for as long as that takes: a command may have closed it to hide what is
/// in it. The paths of the entries may lead through a descriptor that is closed by now; only their names count.
pub(super) fn read_directory(directory: &Path) -> io::Result<Vec<fs::DirEntry>> {
    let read = |path: &Path| fs::read_dir(path).map(|entries| entries.flatten().collect());
    match read(directory) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
        read => return read,
    }
    let (pinned, before) = open(directory)?;
    let path = through(&pinned);
    let entries = read(&path);
    fs::set_permissions(&path, before)?;
    entries
}

/// Opens a directory of ours to ourselves, if no one can enter it: for good, because a command that has ended closed it.
pub(super) fn reopen(directory: &Path) {
    let is_closed = |metadata: &fs::Metadata| metadata.is_dir() && metadata.mode() & 0o100 == 0;
    if sys::uid() != 0
        && directory
            .symlink_metadata()
            .is_ok_and(|found| is_closed(&found))
    {
        // What cannot be opened is not ours, and was closed before.
        let _ = open(directory);
    }
}

/// Opens a directory of ours to ourselves; returns it, and how it was.
fn open(directory: &Path) -> io::Result<(OwnedFd, fs::Permissions)> {
    // A command may put a link in its place, or in the place of a directory above it, at any moment: the mode is changed by a descriptor.
    let pinned = pin(directory).map_err(|_| io::ErrorKind::PermissionDenied)?;
    let path = through(&pinned);
    let metadata = path.metadata()?;
    if metadata.uid() != sys::uid() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(metadata.mode() | 0o500))?;
    Ok((pinned, metadata.permissions()))
}

fn through(pinned: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", pinned.as_raw_fd()))
}

/// Opens a directory to name it, without following a link anywhere on the way.
fn pin(directory: &Path) -> io::Result<OwnedFd> {
    let top = OwnedFd::from(fs::File::open("/")?);
    let relative = directory
        .strip_prefix("/")
        .map_err(|_| io::ErrorKind::InvalidInput)?;
    placeholder::open_directory(&top, relative)
}

/// Looks into one directory of the root.
pub(super) fn list(directory: &Path, root: &Path) -> Listing {
    let mut listing = Listing::default();
    let entries = read_directory(directory);
    listing.is_closed = entries
        .as_ref()
        .is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
    let may_hold = may_hold_protected(root, directory);
    for entry in entries.into_iter().flatten() {
        let name = entry.file_name();
        if let Some(name) = name.to_str() {
            listing.pieces.add(name);
        }
        let kind = entry.file_type().ok();
        let is_link = kind.is_some_and(|kind| kind.is_symlink());
        let counts = is_protected_name(&name)
            || may_hold && !below(root, &directory.join(&name)).is_empty()
            || is_link && directory != root && begins_protected(&name);
        if counts && let Ok(metadata) = entry.metadata() {
            listing.names.push((directory.join(&name), metadata));
        }
        if is_link {
            listing
                .linked
                .extend(hidden_target(&directory.join(name), root));
        } else if kind.is_some_and(|kind| kind.is_dir()) && !is_passed_over(&name) {
            listing.directories.push(directory.join(name));
        }
    }
    listing
}

/// Whether a directory of this name is not looked into. The contents of a repository are judged with it.
fn is_passed_over(name: &OsStr) -> bool {
    name == "node_modules" || name == "target" || is_repository_name(name)
}

/// The directory that a link leads to, if it is in the root and not looked into because of a name above it.
fn hidden_target(link: &Path, root: &Path) -> Option<PathBuf> {
    if link.file_name().is_some_and(is_passed_over) {
        return None;
    }
    let real = link.canonicalize().ok()?;
    let is_hidden = real.strip_prefix(root).ok()?.iter().any(is_passed_over);
    (is_hidden && real.is_dir()).then_some(real)
}

/// Looks into directories of the root, breadth first, beginning with these, until `most` of them were seen or there are no more; returns
/// whether that was all of them. With `opens` those that are closed are opened for good.
pub(super) fn walk(
    root: &Path,
    from: Vec<PathBuf>,
    most: usize,
    opens: bool,
    visit: &mut dyn FnMut(PathBuf, Listing),
) -> bool {
    let mut complete = true;
    // Links can lead to what is looked into already, and around in circles.
    let mut linked = BTreeSet::new();
    let mut queue = VecDeque::from(from);
    let mut seen = 0;
    while let Some(directory) = queue.pop_front() {
        if seen == most {
            return false;
        }
        seen += 1;
        if opens {
            reopen(&directory);
        }
        let mut listing = list(&directory, root);
        complete &= !listing.is_closed;
        queue.extend(listing.directories.drain(..));
        let targets = listing.linked.drain(..);
        queue.extend(targets.filter(|target| linked.insert(target.clone())));
        visit(directory, listing);
    }
    complete
}

/// The `.git`s of repositories below the root, directories or files, and bare repositories; and whether all was looked at.
pub(super) fn repositories(root: &Path) -> (Vec<PathBuf>, bool) {
    let mut found = Vec::new();
    let complete = walk(
        root,
        vec![root.to_owned()],
        MOST_DIRECTORIES,
        false,
        &mut |directory, listing| {
            let is_git = |path: &Path| path.file_name() == Some(OsStr::new(".git"));
            let below = listing.names.iter().map(|(path, _)| path);
            found.extend(
                below
                    .filter(|path| is_git(path) && directory != root)
                    .cloned(),
            );
            if listing.pieces.is_bare_repository() {
                found.push(directory);
            }
        },
    );
    (found, complete)
}

/// Where a `.git` file says that the repository is, as git reads it: blanks are a part of the path.
pub(super) fn git_directory(file: &Path) -> Option<PathBuf> {
    let (text, _) = read_start(file)?;
    let target = text.strip_prefix(b"gitdir: ")?;
    Some(file.parent()?.join(named(target)))
}

/// Where the rest of a repository is, if a part of it says so.
pub(super) fn common_directory(git: &Path) -> Option<PathBuf> {
    let (text, _) = read_start(&git.join("commondir"))?;
    Some(git.join(named(&text)))
}

/// The path that a text is to git: without the ends of lines behind it, and then only up to a zero.
fn named(text: &[u8]) -> &Path {
    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let end = text.iter().rposition(|byte| !is_end(byte));
    let line = text.get(..end.map_or(0, |end| end + 1)).unwrap_or_default();
    let path = line.split(|byte| *byte == 0).next().unwrap_or_default();
    Path::new(OsStr::from_bytes(path))
}

/// The repositories beneath `.git/modules` (whose names may have slashes in them), identified by the files git stores in one; an error
/// when a directory cannot be read or there are too many. With `opens` those that are closed are opened for good.
pub(super) fn modules(path: &Path, opens: bool) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut queue = VecDeque::from([path.to_owned()]);
    let mut seen = 0;
    while let Some(directory) = queue.pop_front() {
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            // A link could make us cover a directory elsewhere.
            if !entry.file_type()?.is_dir() {
                continue;
            }
            seen += 1;
            if seen > MOST_MODULES {
                return Err(io::Error::other(format!(
                    "`{}` holds too many directories",
                    path.display()
                )));
            }
            let path = entry.path();
            if opens {
                reopen(&path);
            }
            let is_repository = ["HEAD", "config", "objects"]
                .iter()
                .any(|name| path.join(name).symlink_metadata().is_ok());
            if is_repository {
                found.push(path);
            } else {
                queue.push_back(path);
            }
        }
    }
    Ok(found)
}

const MOST_MODULES: usize = 2048;

/// The contents of a directory; none if that is not a directory, cannot be read, or is more than is looked at.
pub(super) fn all_entries(path: &Path) -> Option<Vec<PathBuf>> {
    if !path.symlink_metadata().ok()?.is_dir() {
        return None;
    }
    let entries = fs::read_dir(path).ok()?;
    let entries = entries.map(|entry| entry.map(|entry| entry.path()));
    let all = entries.take(MOST_ENTRIES).collect::<Result<Vec<_>, _>>();
    all.ok().filter(|all| all.len() < MOST_ENTRIES)
}

/// The contents of a directory, up to a bound.
pub(super) fn entries(path: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).take(MOST_ENTRIES)
}

pub(super) const MOST_ENTRIES: usize = 256;

/// How much of a file is read.
const MOST_BYTES: u64 = 1 << 20;

/// Reads a file of a hostile workspace as text: not a pipe without a writer, not a device, and not more than a megabyte.
pub(super) fn read_small(path: &Path) -> Option<String> {
    let (bytes, _) = read_start(path)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Like [`read_small`], byte for byte; none if there is more.
pub(super) fn read_whole(path: &Path) -> Option<Vec<u8>> {
    let (bytes, is_whole) = read_start(path)?;
    is_whole.then_some(bytes)
}

fn read_start(path: &Path) -> Option<(Vec<u8>, bool)> {
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file = fs::File::options()
        .read(true)
        .custom_flags(flags)
        .open(path)
        .ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).ok()?;
    let is_whole = bytes.len() as u64 <= MOST_BYTES;
    bytes.truncate(MOST_BYTES as usize);
    Some((bytes, is_whole))
}

#[cfg(test)]
mod tests {
    use super::super::table::NAMES;
    use super::*;

    #[test]
    fn other_spellings_of_a_protected_name_are_known() {
        for name in [
            ".git",
            ".GIT",
            ".Envrc",
            ".g\u{200c}it",
            ".VSCODE",
            ".BashRC",
            ".ba\u{17f}hrc",
            ".g\u{202a}it",
            ".gi\u{206f}t",
            ".g\u{ad}it",
            ".git\u{fe0f}",
            ".RPROFILE",
            "my.Code-Workspace",
        ] {
            assert!(is_protected_name(OsStr::new(name)), "{name}");
        }
        for name in [
            "git",
            ".gitignore",
            ".github",
            "envrc",
            ".env",
            "Makefile",
            "code-workspace",
            ".config",
        ] {
            assert!(!is_protected_name(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn every_row_of_the_table_says_who_runs_it_and_where_that_is_written() {
        for row in NAMES.iter() {
            let alike = NAMES.iter().filter(|other| other.name == row.name).count();
            assert_eq!(alike, 1, "{}", row.name);
            assert!(row.effect.contains(' '), "{}", row.name);
            assert!(
                row.source.starts_with("https://") || row.source.starts_with("docs/"),
                "{}",
                row.name
            );
            assert!(
                row.name.matches('/').count() <= 1 && !row.name.ends_with('/'),
                "{}",
                row.name
            );
        }
    }

    #[test]
    fn a_configuration_that_is_not_a_file_is_not_waited_for() {
        assert_eq!(read_small(Path::new("/dev/zero")), None);
        assert_eq!(read_small(Path::new("/nowhere")), None);
    }
    /// Does something as an ordinary user, who cannot read what is closed: in a thread, which alone changes.
    fn as_nobody(work: impl FnOnce() + Send) {
        const NOBODY: u32 = 65534;
        std::thread::scope(|scope| {
            let done = scope.spawn(|| {
                if sys::uid() == 0 {
                    // SAFETY: numbers only; the system call itself is about this thread.
                    unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
                }
                work();
            });
            done.join().expect("it ends");
        });
    }

    /// A directory for everyone, with a closed one of the user's own outside of the workspace in it.
    fn ground() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("it exists");
        fs::set_permissions(&root, fs::Permissions::from_mode(0o777)).expect("a mode");
        (dir, root)
    }

    fn close(path: &Path) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o200)).expect("a mode");
    }

    #[test]
    fn a_closed_directory_is_read_but_not_through_a_link() {
        let (_dir, root) = ground();
        as_nobody(|| {
            for name in [
                "ws",
                "ws/closed",
                "ws/closed/x",
                "outside",
                "outside/closed",
            ] {
                fs::create_dir(root.join(name)).expect("a directory");
            }
            std::os::unix::fs::symlink("../outside", root.join("ws/link")).expect("a link");
            close(&root.join("ws/closed"));
            close(&root.join("outside/closed"));
            let read = read_directory(&root.join("ws/closed")).expect("it is ours");
            assert_eq!(read.len(), 1);
            let mode = |name: &str| root.join(name).metadata().expect("there").mode() & 0o777;
            assert_eq!(mode("ws/closed"), 0o200);
            let error = read_directory(&root.join("ws/link/closed")).expect_err("a link");
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
            for name in ["ws/closed", "outside/closed"] {
                let open = fs::Permissions::from_mode(0o700);
                fs::set_permissions(root.join(name), open).expect("a mode");
            }
        });
    }

    #[test]
    fn a_link_put_in_the_place_of_a_closed_directory_changes_nothing_where_it_leads() {
        use std::sync::atomic::{AtomicBool, Ordering};
        let (_dir, root) = ground();
        let is_over = AtomicBool::new(false);
        as_nobody(|| {
            let outside = root.join("outside");
            fs::create_dir(root.join("closed")).expect("a directory");
            close(&root.join("closed"));
            fs::write(&outside, "secret").expect("a file");
            fs::set_permissions(&outside, fs::Permissions::from_mode(0o000)).expect("a mode");
            std::os::unix::fs::symlink("outside", root.join("link")).expect("a link");
            let names = [root.join("closed"), root.join("link")];
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let names = names
                        .each_ref()
                        .map(|name| sys::c_path(name).expect("a path"));
                    while !is_over.load(Ordering::Relaxed) {
                        let [one, other] = names.each_ref().map(|name| name.as_ptr());
                        let here = libc::AT_FDCWD;
                        // SAFETY: paths that end with null.
                        unsafe {
                            libc::renameat2(here, one, here, other, libc::RENAME_EXCHANGE);
                        }
                    }
                });
                let changed = (0..20_000).find_map(|_| {
                    let _ = read_directory(&names[0]);
                    let mode = outside.metadata().expect("there").mode() & 0o777;
                    (mode != 0).then_some(mode)
                });
                is_over.store(true, Ordering::Relaxed);
                assert_eq!(changed, None);
            });
            for name in names {
                let open = fs::Permissions::from_mode(0o700);
                let _ = fs::set_permissions(name, open);
            }
        });
    }
}
