//! Watches how much a run makes the disk fuller.
//!
//! No kernel limit covers this: a file-size limit says nothing about many files. Asking the file system how full it is,
//! and the kernel how much each process has written, costs next to nothing, so that is asked often; only when one of them
//! says that the limit may have been passed are the files themselves counted: those changed since the start, and those
//! already deleted that the run still holds open or mapped.

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

    /// Whether the run has passed its limit. `processes`: all of the run.
    ///
    /// Three signs, none of which is proof: how much fuller the file systems are (others write and delete too), how much
    /// the run has written (perhaps the same bytes again and again), and the files that can be found (not those it hides).
    /// Two of them are.
    pub(crate) fn passed(&self, processes: impl FnOnce() -> Vec<i32>) -> bool {
        let fuller = self
            .before
            .values()
            .filter_map(|(path, before)| Some(used(path).ok()?.saturating_sub(*before)));
        let fuller = fuller.sum::<u64>() > self.limit;
        let processes = processes();
        let written = processes.iter().map(|pid| written(*pid)).sum::<u64>() > self.limit;
        if fuller && written {
            return true;
        }
        // A file without a name or a descriptor cannot be measured by everybody; to hide one is sign enough.
        if fuller && processes.iter().any(|pid| self.hides(*pid)) {
            return true;
        }
        let found = || self.changed() + processes.iter().map(|pid| self.deleted(*pid)).sum::<u64>();
        (fuller || written) && found() > self.limit
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
                    bytes += (metadata.blocks() * 512 / metadata.nlink().max(1)).max(EACH_FILE);
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

    /// Whether a process has a file mapped that has no name any more.
    fn hides(&self, pid: i32) -> bool {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        maps.lines()
            .filter_map(deleted_mapping)
            .any(|device| self.before.contains_key(&device))
    }
}

/// Bytes that a process, and those it has waited for, have written to disks.
fn written(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse::<u64>().ok()
    };
    number("write_bytes:")
        .unwrap_or(0)
        .saturating_sub(number("cancelled_write_bytes:").unwrap_or(0))
}

/// The device of a mapping of a deleted file, from a line of `/proc/PID/maps`.
fn deleted_mapping(line: &str) -> Option<u64> {
    let device = line.strip_suffix(" (deleted)")?.split_whitespace().nth(3)?;
    let (major, minor) = device.split_once(':')?;
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    Some(libc::makedev(number(major)?, number(minor)?))
}

/// What a file counts for at least: millions of empty ones fill a disk too.
const EACH_FILE: u64 = 1024;

/// Bytes used on the file system of a path.
fn used(path: &Path) -> io::Result<u64> {
    let path = sys::c_path(path)?;
    // SAFETY: an all-zero structure is a valid one, ours to write; the path ends with null.
    let (answer, stat) = unsafe {
        let mut stat: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(path.as_ptr(), &mut stat), stat)
    };
    sys::check(answer.into())?;
    let files = stat.f_files.saturating_sub(stat.f_ffree);
    Ok(stat.f_blocks.saturating_sub(stat.f_bfree) * stat.f_frsize + files * EACH_FILE)
}
