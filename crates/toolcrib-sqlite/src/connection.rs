//! A connection to one database: [`Connection`].

use std::cell::{Cell, RefCell};
use std::ffi::{CString, OsStr, c_char, c_int, c_void};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::panic::AssertUnwindSafe;
use std::ptr;
use std::sync::Once;
use std::time::{Duration, Instant};

use rusqlite::ffi;

use crate::access::Access;
use crate::error::{Error, Refused};
use crate::judge;
use crate::opening::BENEATH;
use crate::shared;
use crate::vfs::Files;

mod statement;

pub use statement::{Param, Prepared, Statement, Step, Value};

/// How much memory all connections of this process may have together. A statement that wants more fails.
const MAX_HEAP: i64 = 256 << 20;

/// How many pages are kept in memory, in KB.
const CACHE_KB: u32 = 8 * 1024;

/// How often it is looked whether to stop, in instructions of SQLite's machine: some thousand times a second.
const INSTRUCTIONS: c_int = 10_000;

/// The longest pause between two tries to get a lock.
const MAX_PAUSE: Duration = Duration::from_millis(25);

/// How a database is opened.
pub struct Options {
    /// What for.
    pub access: Access,
    /// The longest value, in bytes.
    pub max_length: usize,
    /// Asked now and then: whether to stop, because the time is up or no one wants it any more.
    pub stop: Box<dyn Fn() -> bool + Send>,
    /// How long a lock of another connection is waited for, all in all.
    pub patience: Duration,
}

/// What SQLite's callbacks see.
struct Watch {
    stop: Box<dyn Fn() -> bool + Send>,
    access: Access,
    /// When locks are given up on.
    patient_until: Option<Instant>,
    /// Whether a statement is ours, and not judged.
    is_ours: Cell<bool>,
    refused: RefCell<Option<Refused>>,
}

impl Watch {
    /// Whether to stop. A question that panics is answered with yes.
    fn wants_to_stop(&self) -> bool {
        std::panic::catch_unwind(AssertUnwindSafe(|| (self.stop)())).unwrap_or(true)
    }
}

/// An open database, in a transaction or not. Dropping it rolls back.
pub struct Connection {
    db: *mut ffi::sqlite3,
    watch: Box<Watch>,
    // SQLite keeps pointers into it until the connection is closed.
    _files: Box<Files>,
    // The path of the database is beneath it.
    _directory: OwnedFd,
}

// SAFETY: SQLite is built for threads; without its own mutex a connection may go from one thread to another, and is used by one at a
// time, since it is not `Sync`.
unsafe impl Send for Connection {}

impl Connection {
    /// Opens the database of this name in an open directory. The name is one name, without slashes.
    pub fn open(directory: OwnedFd, name: &OsStr, options: Options) -> Result<Self, Error> {
        let bytes = name.as_bytes();
        if bytes.is_empty() || bytes.contains(&b'/') || matches!(bytes, b"." | b"..") {
            return Err(Error::own(
                ffi::SQLITE_MISUSE,
                "this is not the name of a file",
            ));
        }
        let mut path = format!("{BENEATH}{}/", directory.as_raw_fd()).into_bytes();
        path.extend_from_slice(bytes);
        let path = CString::new(path)
            .map_err(|_| Error::own(ffi::SQLITE_MISUSE, "the name has a NUL in it"))?;
        let access = options.access;
        let mut files = Files::new(path, access)?;
        shared::check()?;
        limit_heap();
        let flags = match access {
            Access::Read => ffi::SQLITE_OPEN_READONLY,
            Access::Write => ffi::SQLITE_OPEN_READWRITE,
            Access::Create => ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE,
        } | ffi::SQLITE_OPEN_NOMUTEX
            | ffi::SQLITE_OPEN_PRIVATECACHE
            | ffi::SQLITE_OPEN_EXRESCODE;
        let path = files.path().to_owned();
        let mut db = ptr::null_mut();
        let code = files.registered(|name| {
            // SAFETY: the texts are C strings; `db` is set to a connection that is closed below, whatever the code is.
            Ok(unsafe { ffi::sqlite3_open_v2(path.as_ptr(), &raw mut db, flags, name.as_ptr()) })
        })?;
        let connection = Connection {
            db,
            watch: Box::new(Watch {
                stop: options.stop,
                access,
                patient_until: Instant::now().checked_add(options.patience),
                is_ours: Cell::new(false),
                refused: RefCell::new(None),
            }),
            _files: files,
            _directory: directory,
        };
        if code != ffi::SQLITE_OK || db.is_null() {
            return Err(connection.error(code));
        }
        connection.set_up(options.max_length)?;
        if access.writes() && connection.is_read_only() {
            return Err(Error::own(
                ffi::SQLITE_READONLY,
                "the file cannot be written: its mode does not allow it, or it has a second name (a hard link)",
            ));
        }
        Ok(connection)
    }

    fn set_up(&self, max_length: usize) -> Result<(), Error> {
        let watch: *const Watch = &raw const *self.watch;
        let watch = watch.cast_mut().cast::<c_void>();
        // SAFETY: the connection is open; the box that the callbacks get outlives it, and they only read it by shared reference.
        unsafe {
            ffi::sqlite3_set_authorizer(self.db, Some(authorize), watch);
            ffi::sqlite3_progress_handler(self.db, INSTRUCTIONS, Some(progress), watch);
            ffi::sqlite3_busy_handler(self.db, Some(busy), watch);
        }
        let (on, off) = (1, 0);
        for (what, value) in [
            (ffi::SQLITE_DBCONFIG_DEFENSIVE, on),
            (ffi::SQLITE_DBCONFIG_TRUSTED_SCHEMA, off),
            (ffi::SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, off),
            (ffi::SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, off),
            (ffi::SQLITE_DBCONFIG_WRITABLE_SCHEMA, off),
            (ffi::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, off),
            (ffi::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, off),
            (
                ffi::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
                c_int::from(!self.watch.access.writes()),
            ),
        ] {
            // SAFETY: each of these takes a number and a pointer for the answer, which may be null.
            let code =
                unsafe { ffi::sqlite3_db_config(self.db, what, value, ptr::null_mut::<c_int>()) };
            if code != ffi::SQLITE_OK {
                return Err(self.error(code));
            }
        }
        let max_length = c_int::try_from(max_length).unwrap_or(c_int::MAX);
        for (what, most) in [
            (ffi::SQLITE_LIMIT_LENGTH, max_length),
            (ffi::SQLITE_LIMIT_SQL_LENGTH, 1 << 20),
            (ffi::SQLITE_LIMIT_EXPR_DEPTH, 200),
            (ffi::SQLITE_LIMIT_PARSER_DEPTH, 200),
            (ffi::SQLITE_LIMIT_COMPOUND_SELECT, 200),
            (ffi::SQLITE_LIMIT_VDBE_OP, 1_000_000),
            (ffi::SQLITE_LIMIT_ATTACHED, 0),
            // A match takes the product of the two lengths, and cannot be stopped in the middle.
            (ffi::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000),
            (ffi::SQLITE_LIMIT_TRIGGER_DEPTH, 100),
            (ffi::SQLITE_LIMIT_WORKER_THREADS, 0),
        ] {
            // SAFETY: the connection is open; any number is taken.
            unsafe { ffi::sqlite3_limit(self.db, what, most) };
        }
        let query_only = match self.watch.access {
            Access::Read => "ON",
            Access::Write | Access::Create => "OFF",
        };
        for pragma in [
            "PRAGMA temp_store = MEMORY".to_owned(),
            format!("PRAGMA cache_size = -{CACHE_KB}"),
            "PRAGMA cell_size_check = ON".to_owned(),
            "PRAGMA mmap_size = 0".to_owned(),
            format!("PRAGMA query_only = {query_only}"),
        ] {
            self.run_own(&pragma)?;
        }
        Ok(())
    }

    /// Begins the transaction: one that has the right to write at once, if the connection writes.
    pub fn begin(&self) -> Result<(), Error> {
        self.run_own(match self.watch.access {
            Access::Read => "BEGIN",
            Access::Write | Access::Create => "BEGIN IMMEDIATE",
        })
    }

    /// Ends it, and keeps what was done.
    pub fn commit(&self) -> Result<(), Error> {
        shared::check()?;
        self.run_own("COMMIT")
    }

    /// Ends it, and undoes what was done.
    pub fn rollback(&self) -> Result<(), Error> {
        match self.is_in_transaction() {
            true => self.run_own("ROLLBACK"),
            false => Ok(()),
        }
    }

    /// Whether a transaction is open. SQLite ends one by itself when the disk is full or memory runs out.
    pub fn is_in_transaction(&self) -> bool {
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_get_autocommit(self.db) == 0 }
    }

    /// How many rows were inserted, updated or removed so far, by triggers too.
    pub fn total_changes(&self) -> u64 {
        // SAFETY: the connection is open.
        u64::try_from(unsafe { ffi::sqlite3_total_changes64(self.db) }).unwrap_or(0)
    }

    fn is_read_only(&self) -> bool {
        // SAFETY: the connection is open; the name is a C string.
        unsafe { ffi::sqlite3_db_readonly(self.db, c"main".as_ptr()) != 0 }
    }

    /// Compiles the first statement of a text; `None` if there is none, but white space and comments.
    pub fn prepare<'c>(&'c self, sql: &str) -> Result<Prepared<'c>, Error> {
        let length = c_int::try_from(sql.len())
            .map_err(|_| Error::own(ffi::SQLITE_TOOBIG, "the statement is too long"))?;
        if sql.contains('\0') {
            return Err(Error::own(
                ffi::SQLITE_ERROR,
                "the statement has a NUL character in it",
            ));
        }
        let (mut statement, mut tail) = (ptr::null_mut(), ptr::null());
        self.watch.refused.replace(None);
        // SAFETY: the text is `length` bytes long; both pointers are to places of ours.
        let code = unsafe {
            ffi::sqlite3_prepare_v3(
                self.db,
                sql.as_ptr().cast(),
                length,
                0,
                &raw mut statement,
                &raw mut tail,
            )
        };
        if code != ffi::SQLITE_OK {
            return Err(self.error(code));
        }
        let used = (tail as usize)
            .saturating_sub(sql.as_ptr() as usize)
            .min(sql.len());
        Ok(Prepared {
            statement: (!statement.is_null()).then(|| Statement::new(self, statement)),
            used,
        })
    }

    /// Runs a statement of ours to its end.
    fn run_own(&self, sql: &str) -> Result<(), Error> {
        self.watch.is_ours.set(true);
        let done = self.run(sql);
        self.watch.is_ours.set(false);
        done
    }

    fn run(&self, sql: &str) -> Result<(), Error> {
        if let Some(mut statement) = self.prepare(sql)?.statement {
            while statement.step()? == Step::Row {}
        }
        Ok(())
    }

    fn handle(&self) -> *mut ffi::sqlite3 {
        self.db
    }

    /// The error behind a code that a call on this connection returned.
    fn error(&self, code: c_int) -> Error {
        // SAFETY: the connection is open, or null where SQLite had no memory for one.
        let mut error = unsafe { Error::of(self.db, code) };
        error.refused = self.watch.refused.borrow_mut().take();
        error
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: statements borrow the connection, so none is left; the box and the file system end after this.
        unsafe {
            ffi::sqlite3_close(self.db);
        }
    }
}

/// All connections share the limit: SQLite has one for a process. One that someone set already is left alone.
fn limit_heap() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function takes any number; with a negative one it only answers.
        unsafe {
            if ffi::sqlite3_hard_heap_limit64(-1) == 0 {
                ffi::sqlite3_hard_heap_limit64(MAX_HEAP);
            }
        }
    });
}

unsafe extern "C" fn authorize(
    watch: *mut c_void,
    action: c_int,
    first: *const c_char,
    second: *const c_char,
    _database: *const c_char,
    _within: *const c_char,
) -> c_int {
    // SAFETY: `set_up` passed the box, which outlives the connection; the texts are SQLite's.
    unsafe {
        let watch = &*watch.cast::<Watch>();
        if watch.is_ours.get() {
            return ffi::SQLITE_OK;
        }
        let (first, second) = (judge::text(first), judge::text(second));
        match judge::judge(watch.access, action, first.as_deref(), second.as_deref()) {
            Ok(()) => ffi::SQLITE_OK,
            Err(refused) => {
                watch.refused.borrow_mut().get_or_insert(refused);
                ffi::SQLITE_DENY
            }
        }
    }
}

unsafe extern "C" fn progress(watch: *mut c_void) -> c_int {
    // SAFETY: as above.
    c_int::from(unsafe { &*watch.cast::<Watch>() }.wants_to_stop())
}

unsafe extern "C" fn busy(watch: *mut c_void, times: c_int) -> c_int {
    // SAFETY: as above.
    let watch = unsafe { &*watch.cast::<Watch>() };
    let is_patient = watch
        .patient_until
        .is_none_or(|until| Instant::now() < until);
    if !is_patient || watch.wants_to_stop() {
        return 0;
    }
    let pause = Duration::from_millis(u64::try_from(times).unwrap_or(0) + 1);
    std::thread::sleep(pause.min(MAX_PAUSE));
    1
}
