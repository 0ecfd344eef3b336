//! The files of one database, as a file system of SQLite's: [`Files`].
//!
//! It passes on to SQLite's own, with four differences. A path is taken as it is: SQLite's own follows links by reading them, and
//! would turn the directory that is open into a path again. Only the database, its journal and its log are opened, looked for or removed: a
//! journal may name another file, which SQLite would read and remove. There are no temporary files, since sorting and the like are in memory. And no
//! library is loaded.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::ffi;

use crate::access::Access;
use crate::error::Error;
use crate::opening;

/// The file system of one database. It outlives the connection that was opened with it.
pub(crate) struct Files {
    vfs: ffi::sqlite3_vfs,
    below: *mut ffi::sqlite3_vfs,
    name: CString,
    /// The database.
    path: CString,
    journal: CString,
    log: CString,
    access: Access,
}

impl Files {
    /// Makes the file system of the database at this path, which is one beneath an open directory. In a box, since SQLite keeps its address.
    pub(crate) fn new(path: CString, access: Access) -> Result<Box<Self>, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let below = opening::system()?;
        let with = |suffix: &str| {
            let mut bytes = path.as_bytes().to_vec();
            bytes.extend_from_slice(suffix.as_bytes());
            CString::new(bytes)
                .map_err(|_| Error::own(ffi::SQLITE_MISUSE, "a name has a NUL in it"))
        };
        let name = format!("toolcrib-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let name = CString::new(name).map_err(|_| Error::own(ffi::SQLITE_MISUSE, "no name"))?;
        let (journal, log) = (with("-journal")?, with("-wal")?);
        // SAFETY: `below` is SQLite's own and static; its fields are plain data.
        let mut vfs = unsafe { ptr::read(below) };
        vfs.pNext = ptr::null_mut();
        vfs.iVersion = 1;
        vfs.zName = name.as_ptr();
        vfs.xOpen = Some(open);
        vfs.xDelete = Some(delete);
        vfs.xAccess = Some(access_of);
        vfs.xFullPathname = Some(full_pathname);
        vfs.xDlOpen = Some(no_library);
        vfs.xDlError = Some(no_library_error);
        vfs.xDlSym = Some(no_symbol);
        vfs.xDlClose = Some(no_close);
        vfs.xRandomness = Some(randomness);
        vfs.xSleep = Some(sleep);
        vfs.xCurrentTime = Some(current_time);
        vfs.xGetLastError = Some(last_error);
        let mut files = Box::new(Files {
            vfs,
            below,
            name,
            path,
            journal,
            log,
            access,
        });
        files.vfs.pAppData = (&raw mut *files).cast();
        Ok(files)
    }

    /// The database.
    pub(crate) fn path(&self) -> &CStr {
        &self.path
    }

    /// Does something while SQLite finds this file system by its name.
    pub(crate) fn registered<T>(
        &mut self,
        work: impl FnOnce(&CStr) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let vfs = &raw mut self.vfs;
        // SAFETY: the structure is whole, and stays where it is until it is taken off the list below.
        let code = unsafe { ffi::sqlite3_vfs_register(vfs, 0) };
        if code != ffi::SQLITE_OK {
            return Err(Error::own(code, "SQLite does not take a file system"));
        }
        let done = work(&self.name);
        // SAFETY: it was registered above. Connections keep their pointer; no one else finds it any more.
        unsafe { ffi::sqlite3_vfs_unregister(vfs) };
        done
    }

    fn is_database(&self, path: &CStr) -> bool {
        path == self.path.as_c_str()
    }

    fn is_beside(&self, path: &CStr) -> bool {
        path == self.journal.as_c_str() || path == self.log.as_c_str()
    }
}

/// The file system that SQLite passes to its functions.
///
/// # Safety
///
/// `vfs` is the field of a living [`Files`].
unsafe fn files<'a>(vfs: *mut ffi::sqlite3_vfs) -> &'a Files {
    // SAFETY: `new` put the address of the box there, and connections end before it does.
    unsafe { &*(*vfs).pAppData.cast::<Files>() }
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    path: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes its own file system, a path or null, and room for a file of `szOsFile` bytes.
    unsafe {
        let files = files(vfs);
        // No methods: nothing is to be closed.
        (*file).pMethods = ptr::null();
        if path.is_null() {
            return ffi::SQLITE_CANTOPEN;
        }
        let name = CStr::from_ptr(path);
        let is_ours = match flags & 0x000f_ff00 {
            ffi::SQLITE_OPEN_MAIN_DB => files.is_database(name),
            ffi::SQLITE_OPEN_MAIN_JOURNAL => name == files.journal.as_c_str(),
            ffi::SQLITE_OPEN_WAL => name == files.log.as_c_str(),
            _ => false,
        };
        match (is_ours, (*files.below).xOpen) {
            (true, Some(below)) => below(files.below, path, file, flags, out),
            (true, None) | (false, _) => ffi::SQLITE_CANTOPEN,
        }
    }
}

unsafe extern "C" fn delete(vfs: *mut ffi::sqlite3_vfs, path: *const c_char, sync: c_int) -> c_int {
    // SAFETY: SQLite passes its own file system and a path.
    unsafe {
        let files = files(vfs);
        let may = files.access.writes() && files.is_beside(CStr::from_ptr(path));
        match (may, (*files.below).xDelete) {
            (true, Some(below)) => below(files.below, path, sync),
            (true, None) | (false, _) => ffi::SQLITE_IOERR_DELETE,
        }
    }
}

unsafe extern "C" fn access_of(
    vfs: *mut ffi::sqlite3_vfs,
    path: *const c_char,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes its own file system, a path and a place for the answer.
    unsafe {
        let files = files(vfs);
        let name = CStr::from_ptr(path);
        *out = 0;
        match (*files.below).xAccess {
            Some(below) if files.is_database(name) || files.is_beside(name) => {
                below(files.below, path, flags, out)
            }
            // Anything else does not exist.
            _ => ffi::SQLITE_OK,
        }
    }
}

unsafe extern "C" fn full_pathname(
    _: *mut ffi::sqlite3_vfs,
    path: *const c_char,
    room: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes a path and `room` bytes to write to.
    unsafe {
        let bytes = CStr::from_ptr(path).to_bytes_with_nul();
        match usize::try_from(room) {
            Ok(room) if bytes.len() <= room => {
                ptr::copy_nonoverlapping(bytes.as_ptr().cast(), out, bytes.len());
                ffi::SQLITE_OK
            }
            _ => ffi::SQLITE_CANTOPEN,
        }
    }
}

unsafe extern "C" fn no_library(_: *mut ffi::sqlite3_vfs, _: *const c_char) -> *mut c_void {
    ptr::null_mut()
}

unsafe extern "C" fn no_library_error(_: *mut ffi::sqlite3_vfs, room: c_int, out: *mut c_char) {
    if room > 0 && !out.is_null() {
        // SAFETY: there is room for one byte at least.
        unsafe { *out = 0 }
    }
}

unsafe extern "C" fn no_symbol(
    _: *mut ffi::sqlite3_vfs,
    _: *mut c_void,
    _: *const c_char,
) -> Option<unsafe extern "C" fn(*mut ffi::sqlite3_vfs, *mut c_void, *const c_char)> {
    None
}

unsafe extern "C" fn no_close(_: *mut ffi::sqlite3_vfs, _: *mut c_void) {}

unsafe extern "C" fn randomness(
    vfs: *mut ffi::sqlite3_vfs,
    count: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: SQLite's arguments, passed on with the file system they are for.
    unsafe {
        let below = files(vfs).below;
        (*below)
            .xRandomness
            .map_or(0, |call| call(below, count, out))
    }
}

unsafe extern "C" fn sleep(vfs: *mut ffi::sqlite3_vfs, microseconds: c_int) -> c_int {
    // SAFETY: as above.
    unsafe {
        let below = files(vfs).below;
        (*below).xSleep.map_or(0, |call| call(below, microseconds))
    }
}

unsafe extern "C" fn current_time(vfs: *mut ffi::sqlite3_vfs, out: *mut f64) -> c_int {
    // SAFETY: as above.
    unsafe {
        let below = files(vfs).below;
        (*below)
            .xCurrentTime
            .map_or(ffi::SQLITE_ERROR, |call| call(below, out))
    }
}

unsafe extern "C" fn last_error(
    vfs: *mut ffi::sqlite3_vfs,
    room: c_int,
    out: *mut c_char,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let below = files(vfs).below;
        (*below)
            .xGetLastError
            .map_or(0, |call| call(below, room, out))
    }
}
