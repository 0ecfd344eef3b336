//! Distinguishes one state of a file from the next: [`Stamp`]; and a file that is read with it.

use std::fs::Metadata;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use rustix::fs::{AtFlags, FileType, OFlags, Stat};
use rustix::io::Errno;

use super::dir::DurableDir;
use super::error::StorageError;

/// Which file it is, how large, when it was changed, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct Stamp {
    file: (u64, u64),
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    mode: u32,
    owner: (u32, u32),
}

impl Stamp {
    #[expect(
        clippy::unnecessary_cast,
        reason = "the types of these fields differ between platforms"
    )]
    #[doc(hidden)]
    pub fn of(stat: &Stat) -> Self {
        Stamp {
            file: (stat.st_dev as u64, stat.st_ino as u64),
            size: u64::try_from(stat.st_size).unwrap_or(u64::MAX),
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            mode: stat.st_mode as u32,
            owner: (stat.st_uid, stat.st_gid),
        }
    }

    /// The stamp of what a path leads to, if there is something.
    #[doc(hidden)]
    pub fn at(path: &Path) -> Option<Self> {
        rustix::fs::stat(path).ok().map(|stat| Stamp::of(&stat))
    }

    /// The stamp of what is there under a path, if there is something: of a link, not of what it leads to.
    #[doc(hidden)]
    pub fn of_entry(path: &Path) -> Option<Self> {
        rustix::fs::lstat(path).ok().map(|stat| Stamp::of(&stat))
    }

    /// Which file of its file system it is.
    #[doc(hidden)]
    pub fn inode(&self) -> u64 {
        self.file.1
    }

    /// What kind of thing it is.
    #[doc(hidden)]
    pub fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.mode as _)
    }

    /// When the file's content was last changed.
    #[doc(hidden)]
    pub fn modified(&self) -> Option<Timestamp> {
        let (seconds, nanos) = self.modified;
        Timestamp::new(seconds, i32::try_from(nanos).ok()?).ok()
    }

    /// Whether only their owners may remove what is in it, if it is a directory.
    #[doc(hidden)]
    pub fn is_sticky(&self) -> bool {
        self.mode & 0o1000 != 0
    }

    /// How large it is.
    #[doc(hidden)]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether a change right after this one would have shown: clocks of file systems tick, and two writes within one tick look like
    /// one.
    #[doc(hidden)]
    pub fn is_settled(&self, now: SystemTime) -> bool {
        // A file system that keeps no fractions ticks in seconds.
        let tick = match (self.changed.1, self.modified.1) {
            (0, 0) => Duration::from_secs(2),
            _ => Duration::from_millis(20),
        };
        let newest = self.changed.max(self.modified);
        let (Ok(seconds), Ok(nanos)) = (u64::try_from(newest.0), u32::try_from(newest.1)) else {
            // Before 1970: nothing that is written now will look like that.
            return newest.0 < 0;
        };
        // A time ahead, of a clock that was set back since, may come again.
        now.duration_since(SystemTime::UNIX_EPOCH)
            .ok()
            .and_then(|now| now.checked_sub(Duration::new(seconds, nanos)))
            .is_some_and(|age| age > tick)
    }

    /// Whether it is the same file with the same owner and the same rights, whatever happened in it.
    #[doc(hidden)]
    pub fn has_same_rights(&self, other: &Stamp) -> bool {
        self.file == other.file && self.mode == other.mode && self.owner == other.owner
    }

    /// Problems of the owner or the mode of a file that is trusted by its place, and what to do.
    #[doc(hidden)]
    pub fn unsafe_owner(&self, shown: &str) -> Option<String> {
        let me = rustix::process::geteuid().as_raw();
        let (user, group) = self.owner;
        if user != me && user != 0 {
            return Some(format!(
                "`{shown}` belongs to another user: `chown` it to yourself if it is yours"
            ));
        }
        // By convention the group with the user's own number has no other members.
        let others = if group == user { 0o002 } else { 0o022 };
        (self.mode & others != 0).then(|| {
            format!("others may change `{shown}`: `chmod go-w {shown}` takes that from them")
        })
    }

    /// How long ago it was changed; none if that is in the future.
    #[doc(hidden)]
    pub fn age(&self, now: SystemTime) -> Option<Duration> {
        let seconds = u64::try_from(self.changed.0).ok()?;
        let nanos = u32::try_from(self.changed.1).ok()?;
        let changed = SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanos))?;
        now.duration_since(changed).ok()
    }
}

impl From<&Metadata> for Stamp {
    fn from(metadata: &Metadata) -> Self {
        Stamp {
            file: (metadata.dev(), metadata.ino()),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            mode: metadata.mode(),
            owner: (metadata.uid(), metadata.gid()),
        }
    }
}

/// What there is under a name.
#[derive(Debug)]
#[doc(hidden)]
pub enum Entry {
    /// A file and its content. The stamp is older than the content, if one is.
    File(Stamp, Vec<u8>),
    /// A file over the limit.
    TooLarge(Stamp),
    /// A link, a directory, a pipe, a device; it was not opened.
    Other(FileType),
    /// Nothing.
    Nothing,
}

impl DurableDir {
    /// The stamp of this directory itself.
    #[doc(hidden)]
    pub fn stamp(&self) -> Result<Stamp, StorageError> {
        rustix::fs::fstat(self.handle().file())
            .map(|stat| Stamp::of(&stat))
            .map_err(|e| StorageError::io("read", self.name(), e))
    }

    /// The stamp of what is there under a name, if there is something. Follows no link.
    #[doc(hidden)]
    pub fn stamp_of(&self, name: &str) -> Result<Option<Stamp>, StorageError> {
        match rustix::fs::statat(self.handle().file(), name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(Stamp::of(&stat))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(StorageError::io("read", name, error)),
        }
    }

    /// Reads what is there under a name, of which a listing has said that it is a regular file.
    #[doc(hidden)]
    pub fn read_entry(&self, name: &str, max_bytes: usize) -> Result<Entry, StorageError> {
        let failed = |e: io::Error| StorageError::io("read", name, e);
        let mut file = match self.handle().open_at(name, OFlags::RDONLY) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(Entry::Nothing),
            Err(Errno::LOOP) => return Ok(Entry::Other(FileType::Symlink)),
            Err(Errno::NXIO) => return Ok(Entry::Other(FileType::Socket)),
            Err(error) => return Err(failed(error.into())),
        };
        let stamp = Stamp::of(&rustix::fs::fstat(&file).map_err(|e| failed(e.into()))?);
        if stamp.file_type() != FileType::RegularFile {
            return Ok(Entry::Other(stamp.file_type()));
        }
        let size = match usize::try_from(stamp.size) {
            Ok(size) if size <= max_bytes => size,
            _ => return Ok(Entry::TooLarge(stamp)),
        };
        // As much as there was when it got its stamp: what is added meanwhile shows in the next one.
        let mut bytes = vec![0; size];
        let mut filled = 0;
        while filled < size {
            match file.read(&mut bytes[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
        bytes.truncate(filled);
        Ok(Entry::File(stamp, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changed_within_a_tick_of_the_clock_is_read_again() {
        let at = |seconds: i64, nanos: i64| Stamp {
            file: (1, 1),
            size: 1,
            modified: (seconds, nanos),
            changed: (seconds, nanos),
            mode: 0o644,
            owner: (0, 0),
        };
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(100_500);
        assert!(at(100, 400_000_000).is_settled(now));
        assert!(!at(100, 495_000_000).is_settled(now));
        assert!(!at(101, 0).is_settled(now), "in the near future");
        assert!(!at(100, 505_000_000).is_settled(now), "in the near future");
        assert!(!at(4000, 0).is_settled(now), "the clock was set back");
        // Without fractions the clock ticks in seconds.
        assert!(!at(100, 0).is_settled(now));
        assert!(at(98, 0).is_settled(now));
    }
}
