//! [`Runnable`]: a file that a command is about to run, by its content.
//!
//! An approval is bound to what is found here, and where a sandbox can show a copy, these very bytes are what runs.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fd::AsFd as _;
use rustix::fs::{FileType, OFlags, Stat, fstat};
use sha2::{Digest as _, Sha256};

use super::beneath::Links;
use super::open_name::real_path;
use super::system::{PLACE, file_id};
use super::{Workspace, without_parents};
use crate::model::digest::Digester;
use crate::model::limits::MB;
use crate::model::names::hex;

/// How often a path is followed again that changes while it is.
const ATTEMPTS: usize = 4;

/// What a path leads to that a command runs.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct Runnable {
    /// The path, relative to the workspace, as it was named.
    #[doc(hidden)]
    pub path: String,
    /// Where links lead: relative to the workspace, or absolute outside of it. None if nothing is there, or no link is on the way.
    pub(crate) leads_to: Option<String>,
    /// The SHA-256 of its content. Of a file that is too large or cannot be read: of its identity, size and times. None if no file
    /// is there, or if it is outside of the workspace.
    pub(crate) digest: Option<String>,
    /// All of it, if it is not too large and can be read.
    #[doc(hidden)]
    pub content: Option<Arc<[u8]>>,
    /// Where the file is on the host, without links.
    #[doc(hidden)]
    pub host: Option<PathBuf>,
    /// Its device and inode.
    inode: (u64, u64),
    #[doc(hidden)]
    pub is_executable: bool,
}

impl Runnable {
    /// The largest file that is read; of a larger one it is known by its times whether it was changed.
    pub(crate) const MAX_READ: u64 = 16 * MB;

    fn absent(path: String) -> Self {
        Runnable {
            path,
            leads_to: None,
            digest: None,
            content: None,
            host: None,
            inode: (0, 0),
            is_executable: false,
        }
    }

    /// Whether another file has its name now. That takes a copy away that a sandbox shows in its place, in every sandbox: see
    /// docs/security.md.
    #[doc(hidden)]
    pub fn was_replaced(&self) -> bool {
        let now = self.host.as_ref().map(std::fs::symlink_metadata);
        now.is_some_and(|now| !now.is_ok_and(|now| (now.dev(), now.ino()) == self.inode))
    }

    /// Whether both lead to the same place and content.
    #[doc(hidden)]
    pub fn is_same(&self, other: &Runnable) -> bool {
        self.leads_to == other.leads_to && self.digest == other.digest
    }
}

/// Device, inode, size, and when it was modified and changed.
pub(crate) type Stamp = (u64, u64, u64, (i64, i64), (i64, i64));

pub(crate) fn stamp_of(metadata: &std::fs::Metadata) -> Stamp {
    (
        metadata.dev(),
        metadata.ino(),
        metadata.size(),
        (metadata.mtime(), metadata.mtime_nsec()),
        (metadata.ctime(), metadata.ctime_nsec()),
    )
}

impl Workspace {
    /// Looks at what a path leads to. None if that is not in the workspace, and the path does not begin there either.
    ///
    /// Other than for file tools an absolute link is followed: a shell follows it, too.
    #[doc(hidden)]
    pub fn runnable(&self, text: &str) -> Option<Runnable> {
        let whole = self.canonical.join(text);
        let named = self.named(&whole);
        for _ in 0..ATTEMPTS {
            let Ok(real) = whole.canonicalize() else {
                return named.map(Runnable::absent);
            };
            let Ok(place) = real.strip_prefix(&self.canonical) else {
                return named.map(|path| Runnable {
                    leads_to: Some(real.to_string_lossy().into_owned()),
                    ..Runnable::absent(path)
                });
            };
            let place_text = place.to_string_lossy().into_owned();
            let path = named.clone().unwrap_or_else(|| place_text.clone());
            let leads_to = Some(place_text).filter(|place| *place != path);
            match self.read_runnable(place, &real) {
                Some(found) => {
                    return Some(Runnable {
                        path,
                        leads_to,
                        ..found
                    });
                }
                // Something was put in its place meanwhile.
                None => continue,
            }
        }
        named.map(Runnable::absent)
    }

    /// The path relative to the workspace, as far as its text says that it lies there.
    fn named(&self, whole: &Path) -> Option<String> {
        let plain = without_parents(whole);
        let roots = [&self.canonical, &self.given];
        roots.iter().find(|root| plain.starts_with(root))?;
        // `..` may come after a link, so it stays.
        let relative = roots.iter().find_map(|root| whole.strip_prefix(root).ok());
        let clean: PathBuf = relative.unwrap_or(whole).components().collect();
        Some(clean.to_str()?.to_owned())
    }

    /// Reads a file by its place without links; `None` if that is no longer its place.
    fn read_runnable(&self, place: &Path, real: &Path) -> Option<Runnable> {
        let open = |flags| {
            let bytes = std::os::unix::ffi::OsStrExt::as_bytes(place.as_os_str());
            let flags = flags | OFlags::CLOEXEC;
            self.resolver
                .open(self.root.as_fd(), bytes, flags, Links::Refuse)
        };
        let nothing = Runnable::absent(String::new());
        if place.as_os_str().is_empty() {
            return Some(nothing);
        }
        let path = open(PLACE).ok()?;
        let stat = fstat(&path).ok()?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Some(nothing);
        }
        if real_path(path.as_fd()).ok()? != real {
            return None;
        }
        let content = open(OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)
            .ok()
            .filter(|_| u64::try_from(stat.st_size).unwrap_or(u64::MAX) <= Runnable::MAX_READ)
            .and_then(|file| read(File::from(file), &stat));
        let digest = match &content {
            Some(content) => hex(&Sha256::digest(content)),
            None => identity(&stat),
        };
        Some(Runnable {
            digest: Some(digest),
            content,
            host: Some(real.to_owned()),
            inode: file_id(&stat),
            is_executable: stat.st_mode & 0o111 != 0,
            ..nothing
        })
    }
}

/// All of a file, unless it grows too large, or is another one than was looked at.
fn read(file: File, looked_at: &Stat) -> Option<Arc<[u8]>> {
    let stat = fstat(&file).ok()?;
    if file_id(&stat) != file_id(looked_at) {
        return None;
    }
    let mut content = Vec::new();
    let mut bounded = file.take(Runnable::MAX_READ + 1);
    bounded.read_to_end(&mut content).ok()?;
    (content.len() as u64 <= Runnable::MAX_READ).then(|| content.into())
}

fn identity(stat: &Stat) -> String {
    let times = (
        stat.st_mtime,
        stat.st_mtime_nsec,
        stat.st_ctime,
        stat.st_ctime_nsec,
    );
    let identity = (stat.st_dev, stat.st_ino, stat.st_size, times);
    Digester::default().text(&format!("{identity:?}")).finish()
}
