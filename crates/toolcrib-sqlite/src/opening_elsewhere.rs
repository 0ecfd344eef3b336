//! How SQLite opens files beneath an open directory, on systems where that is not written yet: it refuses.

use rusqlite::ffi;

use crate::error::Error;

/// How paths beneath an open directory begin.
pub(crate) const BENEATH: &str = "/dev/fd/";

/// Refuses.
pub(crate) fn system() -> Result<*mut ffi::sqlite3_vfs, Error> {
    let why = format!("not on this system yet ({})", std::env::consts::OS);
    Err(Error::own(ffi::SQLITE_CANTOPEN, why))
}
