//! Instructions for a child, as data. [`super::apply`] does it.

use crate::{landlock::Ruleset, layer::Layer};
use std::{
    ffi::{CStr, CString},
    os::fd::RawFd,
    sync::Arc,
};

/// One step, and the layer that is once it is done.
#[derive(Debug)]
pub(crate) struct Step {
    /// The layer that is in force after this step; for the report.
    pub(crate) layer: Option<Layer>,
    /// What to do.
    pub(crate) op: Op,
}

/// What a step does. Paths are in the child's own view of the file system at that moment.
#[derive(Debug)]
pub(crate) enum Op {
    /// Writes a file of the kernel's.
    Write { path: CString, text: Vec<u8> },
    /// Keeps changes of mounts from reaching the host.
    PrivateMounts,
    /// Copies what is mounted at `path` into a slot. `identity`: device and inode that must still be there.
    CopyMount {
        path: CString,
        identity: Option<(u64, u64)>,
        slot: usize,
        attributes: u64,
    },
    /// Shows at `target` what is mounted at `source`, with the attributes it has there.
    Bind { source: CString, target: CString },
    /// Mounts what a slot holds.
    Attach { slot: usize, target: CString },
    /// Mounts the detached tree at this place in [`Birth::trees`].
    AttachTree { tree: usize, target: CString },
    /// Mounts a new file system.
    Mount {
        kind: &'static CStr,
        target: CString,
        options: CString,
        flags: u64,
    },
    /// Makes a directory; one that is there is kept.
    Directory { path: CString, mode: u32 },
    /// Makes an empty file to mount on; one that is there is kept.
    File { path: CString },
    /// Makes a file with this content and mode.
    Content {
        path: CString,
        bytes: Arc<[u8]>,
        mode: u32,
    },
    /// Takes the topmost mount off this path.
    Unmount { path: CString },
    /// Makes a symbolic link.
    Link { path: CString, to: CString },
    /// Fails unless this other spelling of a covered name is covered too, or is nothing: on some file systems (9p, FUSE) names
    /// fold case and mounts do not.
    CheckFolded { path: CString },
    /// Changes the attributes of the mount at this path, and of all beneath if so wished.
    Restrict {
        path: CString,
        attributes: u64,
        recursive: bool,
    },
    /// Makes this directory the root and lets go of the old one.
    EnterRoot { path: CString },
    /// Sets the host name.
    HostName(&'static CStr),
    /// Brings the loopback up.
    Loopback,
    /// Listens on the loopback and sends the socket through [`Birth::channel`].
    Listen,
    /// Enters a user namespace.
    JoinUser(RawFd),
    /// Gives up the caller's uid, gid and groups.
    BecomeUser { uid: u32, gid: u32 },
    /// Bounds a resource, hard and soft.
    Limit { resource: u32, value: u64 },
    /// Empties every set of capabilities and keeps them empty.
    DropCapabilities,
    /// No exec gives privileges from here on.
    NoNewPrivileges,
    /// Restricts the file system (and TCP, and signals) to the rules.
    Landlock { ruleset: Ruleset, rules: Vec<Rule> },
    /// Loads the filter of system calls.
    Seccomp(Arc<[libc::sock_filter]>),
}

/// The rights beneath a path.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) beneath: Beneath,
    pub(crate) access: u64,
}

/// Where a rule holds.
#[derive(Debug)]
pub(crate) enum Beneath {
    /// Beneath what the parent has open: the inode counts, wherever it is mounted.
    Open(RawFd),
    /// The terminal of this child.
    Terminal,
    /// Beneath what the child finds here, on file systems that are new.
    Path(CString),
}
