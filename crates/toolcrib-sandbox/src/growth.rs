//! Watches how much a run makes the disk fuller.
//!
//! No kernel limit covers this: a file-size limit says nothing about many files. Asking the file system how full it is
//! costs next to nothing, so that is asked often; only when it says that the limit may have been passed are the files
//! themselves counted: those changed since the start, and those already deleted that the run still holds open.

use crate::sys;
use std::{
    collections::{BTreeMap, VecDeque},
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

/// The disk as it was when a run began.
#[derive(Debug)]
pub(crate) struct Growth {
    limit: u64,
    /// File systems by device: a path on each, and the bytes used at the start.
    before: BTreeMap<u64, (PathBuf, u64)>,
    roots: Vec<PathBuf>,
    began: i64,
}

impl Growth {
    pub(crate) fn watch(limit: u64, roots: &[PathBuf]) -> io::Result<Self> {
        let mut before = BTreeMap::new();
        for root in roots {
            let device = fs::metadata(root)?.dev();
            before.entry(device).or_insert((root.clone(), used(root)?));
        }
        let began = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs() as i64);
        Ok(Self {
            limit,
            before,
            roots: roots.to_vec(),
            began,
        })
    }

    /// Whether the run has passed its limit. `processes`: those of the run.
    pub(crate) fn passed(&self, processes: impl FnOnce() -> Vec<i32>) -> bool {
        let now = self
            .before
            .values()
            .filter_map(|(path, before)| Some(used(path).ok()?.saturating_sub(*before)));
        if now.sum::<u64>() <= self.limit {
            return false;
        }
        let deleted: u64 = processes().iter().map(|pid| self.deleted(*pid)).sum();
        deleted > self.limit || self.changed() + deleted > self.limit
    }

    /// Bytes of files that changed since the start. A file that was there before counts whole: the file system has
    /// already said that it grew by more than the limit.
    fn changed(&self) -> u64 {
        let mut bytes = 0;
        let mut queue: VecDeque<PathBuf> = self.roots.iter().cloned().collect();
        while let Some(directory) = queue.pop_front() {
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                let Ok(metadata) = entry.metadata() else {
                    continue;
                };
                if metadata.is_dir() {
                    queue.push_back(entry.path());
                }
                if metadata.ctime() >= self.began {
                    bytes += metadata.blocks() * 512 / metadata.nlink().max(1);
                }
            }
            if bytes > self.limit {
                break;
            }
        }
        bytes
    }

    /// Bytes of files that a process has open and that have no name any more.
    fn deleted(&self, pid: i32) -> u64 {
        let open = fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten()
            .flatten();
        let nameless = open
            .filter_map(|entry| fs::metadata(entry.path()).ok())
            .filter(|metadata| {
                metadata.is_file()
                    && metadata.nlink() == 0
                    && self.before.contains_key(&metadata.dev())
            });
        let unique: BTreeMap<u64, u64> = nameless
            .map(|metadata| (metadata.ino(), metadata.blocks() * 512))
            .collect();
        unique.values().sum()
    }
}

/// Bytes used on the file system of a path.
fn used(path: &Path) -> io::Result<u64> {
    let path = sys::c_path(path)?;
    // SAFETY: an all-zero structure is a valid one, ours to write; the path ends with null.
    let (answer, stat) = unsafe {
        let mut stat: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(path.as_ptr(), &mut stat), stat)
    };
    sys::check(answer.into())?;
    Ok((stat.f_blocks - stat.f_bfree) * stat.f_frsize)
}
