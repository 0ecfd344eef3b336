//! Landlock's vocabulary, and what of it this kernel speaks.
//!
//! Landlock only ever allows: what no rule names is refused. Two things it cannot say up to version 7, and which other
//! layers see to: it knows neither UDP nor sockets with a path (seccomp refuses those), and within an allowed directory it
//! cannot forbid a name (read-only mounts do that).

pub(crate) const EXECUTE: u64 = 1;
pub(crate) const WRITE_FILE: u64 = 1 << 1;
pub(crate) const READ_FILE: u64 = 1 << 2;
pub(crate) const READ_DIR: u64 = 1 << 3;
pub(crate) const MAKE_CHAR: u64 = 1 << 6;
pub(crate) const MAKE_BLOCK: u64 = 1 << 11;
pub(crate) const TRUNCATE: u64 = 1 << 14;
pub(crate) const IOCTL_DEV: u64 = 1 << 15;

/// Reading and running.
pub(crate) const READ: u64 = EXECUTE | READ_FILE | READ_DIR;
/// Everything but making devices and talking to them.
pub(crate) const WRITE: u64 = !(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV);
/// The harmless devices: `/dev/null` and its like.
pub(crate) const DEVICE: u64 = READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV;

/// What Landlock is to rule over, as the kernel takes it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ruleset {
    pub(crate) files: u64,
    pub(crate) network: u64,
    pub(crate) scoped: u64,
}

/// The first version that can keep a file from being truncated; without it a "read-only" file can be emptied.
pub(crate) const LEAST: i64 = 3;

/// The kernel's version of Landlock, or its errno.
pub(crate) fn version() -> std::io::Result<i64> {
    const VERSION: u32 = 1;
    // SAFETY: asking for the version takes no structure.
    crate::sys::check(unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<Ruleset>(),
            0,
            VERSION,
        )
    })
}

/// Everything this version can rule over; with `sockets` it leaves TCP to the network namespace or the host.
pub(crate) fn ruleset(version: i64, sockets: bool) -> Ruleset {
    let files = match version {
        ..=1 => 13,
        2 => 14,
        3..=4 => 15,
        5.. => 16,
    };
    Ruleset {
        files: (1 << files) - 1,
        network: if version >= 4 && !sockets { 0b11 } else { 0 },
        // Abstract sockets and signals to processes outside.
        scoped: if version >= 6 { 0b11 } else { 0 },
    }
}
