//! The index of a write-ahead log is a file (`-shm`) that everybody who uses the database maps. If a process truncates it, `SIGBUS` ends
//! the next reader. So what SQLite maps is known here, and a page that is gone is replaced, in the handler of the
//! signal, by our own empty one; what was being done then ends with an error.
//!
//! The invariant: from the first page that was replaced until everything of that file is unmapped, nothing is answered and nothing is
//! kept. An index that others do not see any more could have a writer write over what they have written.
//!
//! A signal with another cause goes to the previous handler.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use libc::{off_t, siginfo_t, size_t};
use rusqlite::ffi;

use crate::error::Error;

/// The type that SQLite calls `mmap` by.
pub(crate) type Map =
    unsafe extern "C" fn(*mut c_void, size_t, c_int, c_int, c_int, off_t) -> *mut c_void;
/// The type that SQLite calls `munmap` by.
pub(crate) type Unmap = unsafe extern "C" fn(*mut c_void, size_t) -> c_int;

/// The most pieces that are mapped at once: 32 KB of index for 4096 pages of a log.
const MOST: usize = 4096;

/// A piece that is mapped. A handler of a signal can wait for no one, so this is made of atomics.
struct Piece {
    /// Where it starts; 0 is nowhere, and `BEING_SET` means that the value is not ready.
    start: AtomicUsize,
    length: AtomicUsize,
    is_cut: AtomicBool,
}

const BEING_SET: usize = 1;

static PIECES: [Piece; MOST] = [const {
    Piece {
        start: AtomicUsize::new(0),
        length: AtomicUsize::new(0),
        is_cut: AtomicBool::new(false),
    }
}; MOST];

/// How many pieces have lost a page.
static CUT: AtomicUsize = AtomicUsize::new(0);

/// The size of a page.
static PAGE: AtomicUsize = AtomicUsize::new(4096);

/// The previous signal handler.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Fails while an index is not what others see.
pub(crate) fn check() -> Result<(), Error> {
    match CUT.load(Ordering::Acquire) {
        0 => Ok(()),
        _ => Err(Error::own(
            ffi::SQLITE_IOERR_SHMMAP,
            "the shared index of a write-ahead log (`-shm`) was truncated while it was in use; try again",
        )),
    }
}

/// Takes the signal, once for the whole process.
pub(crate) fn guard() -> Result<(), Error> {
    let failed = || Error::own(ffi::SQLITE_ERROR, "the signal SIGBUS cannot be handled");
    // SAFETY: `sigaction` is plain data; the pointers are to such, or null where nothing is wanted.
    unsafe {
        if let Ok(page) = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)) {
            PAGE.store(page, Ordering::Relaxed);
        }
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut before) != 0 {
            return Err(failed());
        }
        // Before the handler is there that asks for it.
        let _ = BEFORE.set(before);
        let mut ours: libc::sigaction = std::mem::zeroed();
        ours.sa_sigaction = on_bus_error as *const () as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut ours.sa_mask);
        match libc::sigaction(libc::SIGBUS, &raw const ours, std::ptr::null_mut()) {
            0 => Ok(()),
            _ => Err(failed()),
        }
    }
}

/// As `mmap`; what is shared is known from then on.
pub(crate) unsafe extern "C" fn map(
    at: *mut c_void,
    length: size_t,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: off_t,
) -> *mut c_void {
    // SAFETY: SQLite's own arguments.
    let mapped = unsafe { libc::mmap(at, length, protection, flags, file, offset) };
    if mapped == libc::MAP_FAILED || flags & libc::MAP_SHARED == 0 || remember(mapped, length) {
        return mapped;
    }
    // SAFETY: it was mapped just now, and no one has seen it.
    unsafe {
        libc::munmap(mapped, length);
        *libc::__errno_location() = libc::ENOMEM;
    }
    libc::MAP_FAILED
}

/// As `munmap`.
pub(crate) unsafe extern "C" fn unmap(at: *mut c_void, length: size_t) -> c_int {
    // Before it is someone else's.
    forget(at);
    // SAFETY: SQLite's own arguments.
    unsafe { libc::munmap(at, length) }
}

fn remember(at: *mut c_void, length: usize) -> bool {
    let is_taken = |piece: &&Piece| {
        piece
            .start
            .compare_exchange(0, BEING_SET, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    };
    let Some(piece) = PIECES.iter().find(is_taken) else {
        return false;
    };
    piece.length.store(length, Ordering::Relaxed);
    piece.is_cut.store(false, Ordering::Relaxed);
    piece.start.store(at as usize, Ordering::Release);
    true
}

fn forget(at: *mut c_void) {
    let found = |piece: &&Piece| piece.start.load(Ordering::Acquire) == at as usize;
    if let Some(piece) = PIECES.iter().find(found) {
        if piece.is_cut.swap(false, Ordering::AcqRel) {
            CUT.fetch_sub(1, Ordering::AcqRel);
        }
        piece.start.store(0, Ordering::Release);
    }
}

/// The handler. It does nothing that a handler may not: atomics and system calls.
unsafe extern "C" fn on_bus_error(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes where it happened.
    let at = unsafe { (*info).si_addr() } as usize;
    let holds = |piece: &&Piece| {
        let start = piece.start.load(Ordering::Acquire);
        start > BEING_SET && (start..start + piece.length.load(Ordering::Relaxed)).contains(&at)
    };
    if let Some(piece) = PIECES.iter().find(holds) {
        let page = PAGE.load(Ordering::Relaxed);
        let start = at & !(page - 1);
        // SAFETY: the page is within what SQLite mapped and has not unmapped: its own thread is looking at it. What was there is gone.
        let replaced = unsafe {
            let errno = *libc::__errno_location();
            let replaced = libc::mmap(
                start as *mut c_void,
                page,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                -1,
                0,
            );
            *libc::__errno_location() = errno;
            replaced
        };
        if replaced != libc::MAP_FAILED {
            if !piece.is_cut.swap(true, Ordering::AcqRel) {
                CUT.fetch_add(1, Ordering::AcqRel);
            }
            return;
        }
    }
    // SAFETY: what the kernel passed goes on as it came.
    unsafe { pass_on(signal, info, context) }
}

/// Leaves the signal to who handled it before.
///
/// # Safety
///
/// The arguments are those of a handler.
unsafe fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: `BEFORE` is what `sigaction` said, so the handler is one of the type that its flags name; where there was none, the
    // signal's default is restored, and comes when the instruction is tried again.
    unsafe {
        match BEFORE.get() {
            Some(before) if !matches!(before.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) => {
                if before.sa_flags & libc::SA_SIGINFO != 0 {
                    type Handler = unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
                    let handler = std::mem::transmute::<usize, Handler>(before.sa_sigaction);
                    handler(signal, info, context);
                } else {
                    type Handler = unsafe extern "C" fn(c_int);
                    let handler = std::mem::transmute::<usize, Handler>(before.sa_sigaction);
                    handler(signal);
                }
            }
            _ => {
                let mut default: libc::sigaction = std::mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const default, std::ptr::null_mut());
            }
        }
    }
}
