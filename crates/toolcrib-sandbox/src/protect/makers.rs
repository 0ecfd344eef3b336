//! Identifies the process that makes a file in the root during a run, where the kernel reports it: as root, by fanotify.
//!
//! A mark on the root reports what is made in it, moved into it and written there, with a descriptor of the process that did it. A
//! process that lives in our own process namespace is not one of the run, whose processes have their own. A process that
//! is gone when its event is read, and any that lives elsewhere, may be one of the run. For an ordinary user the kernel says nothing
//! about processes of others, so that nothing is certain there.

use crate::sys;
use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs, io,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
    sync::{Mutex, PoisonError},
};

/// How much is read at once.
const CHUNK: usize = 16 << 10;
/// The head of an event, by the kernel's `struct fanotify_event_metadata`.
const HEAD: usize = 24;
/// The head of a record of an event, and of the one that has a name: a file system's id (8 bytes) and a handle whose length comes first.
const RECORD: usize = 4;
const HANDLE: usize = RECORD + 8;

/// The makers of files in one directory.
#[derive(Debug)]
pub(super) struct Makers {
    group: OwnedFd,
    /// Names that were last made or written by a process that certainly is none of a run.
    by_others: Mutex<BTreeMap<OsString, bool>>,
}

impl Makers {
    /// Listens to what happens in a directory.
    pub(super) fn listen(root: &Path) -> io::Result<Self> {
        let flags = libc::FAN_CLASS_NOTIF
            | libc::FAN_CLOEXEC
            | libc::FAN_NONBLOCK
            | libc::FAN_REPORT_DFID_NAME
            | libc::FAN_REPORT_PIDFD;
        // SAFETY: numbers only.
        let group = sys::own(unsafe { libc::fanotify_init(flags, 0) }.into())?;
        let events = libc::FAN_CREATE
            | libc::FAN_MOVED_TO
            | libc::FAN_CLOSE_WRITE
            | libc::FAN_ONDIR
            | libc::FAN_EVENT_ON_CHILD;
        let path = sys::c_path(root)?;
        let how = libc::FAN_MARK_ADD | libc::FAN_MARK_ONLYDIR;
        // SAFETY: a descriptor of ours and a path that ends with null.
        let marked = unsafe {
            libc::fanotify_mark(
                group.as_raw_fd(),
                how,
                events,
                libc::AT_FDCWD,
                path.as_ptr(),
            )
        };
        sys::check(marked.into())?;
        Ok(Self {
            group,
            by_others: Mutex::default(),
        })
    }

    /// Is ready to be read when something was made: the sooner it is, the more processes are still there.
    pub(super) fn descriptor(&self) -> &OwnedFd {
        &self.group
    }

    /// Takes in what happened.
    pub(super) fn hear(&self) {
        let mut buffer = vec![0; CHUNK];
        while let Ok(Some(length @ 1..)) = sys::read(&self.group, &mut buffer) {
            let mut rest = buffer.get(..length).unwrap_or_default();
            while let Some((event, next)) = split_event(rest) {
                self.take(event);
                rest = next;
            }
        }
    }

    /// Whether a name was certainly made by a process that is none of a run, and written by no other since.
    pub(super) fn is_by_others(&self, name: &OsStr) -> bool {
        let by_others = self
            .by_others
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        by_others.get(name).copied().unwrap_or(false)
    }

    fn take(&self, event: &[u8]) {
        let mask = number(event, 8).unwrap_or(0);
        let mut by_others = self
            .by_others
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if mask & libc::FAN_Q_OVERFLOW != 0 {
            // Something was missed: nothing is certain.
            by_others.clear();
            return;
        }
        let (mut name, mut process) = (None, None);
        let mut rest = event.get(HEAD..).unwrap_or_default();
        while let (Some(kind), Some(length)) = (rest.first(), short(rest, 2)) {
            let Some((record, next)) = rest.split_at_checked(length.max(RECORD)) else {
                break;
            };
            match *kind {
                libc::FAN_EVENT_INFO_TYPE_DFID_NAME => name = name_in(record),
                libc::FAN_EVENT_INFO_TYPE_PIDFD => process = word(record, RECORD),
                _ => {}
            }
            rest = next;
        }
        let process = process.map(|fd| fd as RawFd).filter(|fd| *fd >= 0);
        // SAFETY: the kernel made it for us with this event; no one else has it.
        let process = process.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
        let is_other = process.is_some_and(|process| lives_here(&process));
        if let Some(name) = name {
            by_others.insert(name.to_owned(), is_other);
        }
    }
}

/// Whether a process is there, in our own process namespace.
fn lives_here(process: &OwnedFd) -> bool {
    let path = format!("/proc/self/fdinfo/{}", process.as_raw_fd());
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let mut numbers = line.unwrap_or("").split_whitespace();
    let first = numbers.next().and_then(|number| number.parse::<i32>().ok());
    first.is_some_and(|number| number > 0) && numbers.next().is_none()
}

/// The first event of what was read, and the rest.
fn split_event(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = word(bytes, 0)? as usize;
    bytes
        .split_at_checked(length)
        .filter(|(event, _)| event.len() >= HEAD)
}

fn name_in(record: &[u8]) -> Option<&OsStr> {
    let handle = word(record, HANDLE)? as usize;
    let name = record.get(HANDLE + 8 + handle..)?;
    let end = name.iter().position(|byte| *byte == 0)?;
    let name = OsStr::from_bytes(name.get(..end)?);
    (name != "." && !name.is_empty()).then_some(name)
}

fn short(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at + 2)?.try_into().ok()?;
    Some(u16::from_ne_bytes(bytes).into())
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_ne_bytes(bytes))
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at + 8)?.try_into().ok()?;
    Some(u64::from_ne_bytes(bytes))
}
