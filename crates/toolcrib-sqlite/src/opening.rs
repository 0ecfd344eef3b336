//! How SQLite opens files here: its system call `open` is replaced, for paths beneath an open directory (`/proc/self/fd/N/NAME`).
//!
//! SQLite opens a database, its journal, its log and its shared memory by itself, each when it needs it, and waits for a FIFO until someone
//! writes. Looking before would lose the race against a process that puts something else there. So the open itself looks: the name is
//! opened as a place (`O_PATH`, no link followed), what was found is judged, and that very thing is opened for use.
//!
//! Closing a place drops no lock, closing a file of this process would (`fcntl`): one that is refused was never opened.

use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::OnceLock;

use libc::mode_t;
use rusqlite::ffi;

use crate::error::Error;
use crate::shared::{self, Map, Unmap};

/// How paths beneath an open directory begin.
pub(crate) const BENEATH: &str = "/proc/self/fd/";

/// How often an open is tried again that lost a race.
const ATTEMPTS: usize = 16;

/// The type that SQLite calls `open` by.
type Open = unsafe extern "C" fn(*const c_char, c_int, c_int) -> c_int;

/// What `open` was before.
static BEFORE: OnceLock<Open> = OnceLock::new();

/// Has SQLite open files by `open_beneath`, from now on and for the whole process; returns the file system that it is for. Paths of others
/// are opened as before.
pub(crate) fn system() -> Result<*mut ffi::sqlite3_vfs, Error> {
    /// A pointer to something that SQLite never frees.
    #[derive(Clone, Copy)]
    struct Vfs(*mut ffi::sqlite3_vfs);
    // SAFETY: the built-in file systems are static and their functions may be called from any thread.
    unsafe impl Send for Vfs {}
    // SAFETY: as above; nothing of it is changed here but by `xSetSystemCall`, once.
    unsafe impl Sync for Vfs {}
    static SYSTEM: OnceLock<Result<Vfs, Error>> = OnceLock::new();

    let found = SYSTEM.get_or_init(|| {
        let failed = |what: &str| Error::own(ffi::SQLITE_ERROR, what);
        // SAFETY: both functions may be called at any time; the name is a C string.
        let vfs = unsafe {
            if ffi::sqlite3_initialize() != ffi::SQLITE_OK {
                return Err(failed("SQLite cannot be set up"));
            }
            ffi::sqlite3_vfs_find(c"unix".as_ptr())
        };
        if vfs.is_null() {
            return Err(failed("SQLite has no file system here"));
        }
        // SAFETY: `vfs` is SQLite's own, of version 3, which has both functions; `open`, `mmap` and `munmap` have
        // these types there ("os_unix.c": `osOpen`, `osMmap`, `osMunmap`).
        unsafe {
            let (Some(get), Some(set)) = ((*vfs).xGetSystemCall, (*vfs).xSetSystemCall) else {
                return Err(failed("SQLite does not let its system calls be replaced"));
            };
            let Some(before) = get(vfs, c"open".as_ptr()) else {
                return Err(failed("SQLite does not say how it opens files"));
            };
            let before = std::mem::transmute::<unsafe extern "C" fn(), Open>(before);
            let _ = BEFORE.set(before);
            let ours = std::mem::transmute::<Open, unsafe extern "C" fn()>(open_beneath);
            if set(vfs, c"open".as_ptr(), Some(ours)) != ffi::SQLITE_OK {
                return Err(failed("SQLite's way to open files cannot be replaced"));
            }
            shared::guard()?;
            let map = std::mem::transmute::<Map, unsafe extern "C" fn()>(shared::map);
            let unmap = std::mem::transmute::<Unmap, unsafe extern "C" fn()>(shared::unmap);
            for (name, call) in [(c"mmap", map), (c"munmap", unmap)] {
                if set(vfs, name.as_ptr(), Some(call)) != ffi::SQLITE_OK {
                    return Err(failed("SQLite's way to map files cannot be replaced"));
                }
            }
        }
        Ok(Vfs(vfs))
    });
    found.clone().map(|vfs| vfs.0)
}

/// The replacement.
unsafe extern "C" fn open_beneath(path: *const c_char, flags: c_int, mode: c_int) -> c_int {
    if path.is_null() {
        return fail(libc::EFAULT);
    }
    // SAFETY: SQLite passes C strings.
    let text = unsafe { CStr::from_ptr(path) };
    match text.to_bytes().strip_prefix(BENEATH.as_bytes()) {
        None => match BEFORE.get() {
            // SAFETY: it is what SQLite had before, with SQLite's own arguments.
            Some(before) => unsafe { before(path, flags, mode) },
            None => fail(libc::ENOSYS),
        },
        // The directory itself, which is synced after a journal was removed.
        Some(rest) if !rest.contains(&b'/') => raw_open(text, flags | libc::O_DIRECTORY, 0),
        Some(_) => open_regular(text, flags, mode_t::try_from(mode).unwrap_or(0o600)),
    }
}

/// Opens a regular file, and nothing else, whatever is put in its place.
fn open_regular(path: &CStr, flags: c_int, mode: mode_t) -> c_int {
    let creates = flags & libc::O_CREAT != 0;
    if creates && flags & libc::O_EXCL != 0 {
        return raw_open(path, flags | libc::O_NOFOLLOW, mode);
    }
    for _ in 0..ATTEMPTS {
        let place = raw_open(path, libc::O_PATH | libc::O_NOFOLLOW, 0);
        if place >= 0 {
            let opened = reopen(place, flags);
            let errno = errno();
            close(place);
            set_errno(errno);
            return opened;
        }
        if errno() != libc::ENOENT || !creates {
            return -1;
        }
        let made = raw_open(path, flags | libc::O_EXCL | libc::O_NOFOLLOW, mode);
        if made >= 0 || errno() != libc::EEXIST {
            return made;
        }
    }
    fail(libc::EAGAIN)
}

/// Opens for use what was found, if it is fit for that.
fn reopen(place: c_int, flags: c_int) -> c_int {
    // SAFETY: `stat` is plain data, for which zeroes are a value.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open and the pointer is to a `stat`.
    if unsafe { libc::fstat(place, &raw mut stat) } != 0 {
        return -1;
    }
    match stat.st_mode & libc::S_IFMT {
        libc::S_IFREG => {}
        libc::S_IFLNK => return fail(libc::ELOOP),
        libc::S_IFDIR => return fail(libc::EISDIR),
        _ => return fail(libc::ENXIO),
    }
    // What has a second name may be someone's file elsewhere; SQLite writes in place, also to the shared memory of a reader.
    if flags & libc::O_ACCMODE != libc::O_RDONLY && stat.st_nlink > 1 {
        return fail(libc::EMLINK);
    }
    let flags = flags & !(libc::O_NOFOLLOW | libc::O_CREAT | libc::O_EXCL);
    match CString::new(format!("{BENEATH}{place}")) {
        Ok(path) => raw_open(&path, flags, 0),
        Err(_) => fail(libc::EINVAL),
    }
}

fn raw_open(path: &CStr, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the path is a C string; what the call returns is our own descriptor, or -1.
    unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, mode) }
}

fn close(fd: c_int) {
    // SAFETY: the descriptor was opened here and is used by no one else.
    unsafe {
        libc::close(fd);
    }
}

fn errno() -> c_int {
    // SAFETY: the location is the thread's own.
    unsafe { *libc::__errno_location() }
}

fn set_errno(errno: c_int) {
    // SAFETY: the location is the thread's own.
    unsafe { *libc::__errno_location() = errno }
}

fn fail(errno: c_int) -> c_int {
    set_errno(errno);
    -1
}
