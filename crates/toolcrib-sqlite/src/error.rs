//! What went wrong, with SQLite's own code and words.

use std::ffi::CStr;
use std::fmt;

use rusqlite::ffi;

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// SQLite's extended result code.
    pub code: i32,
    /// SQLite's words, or ours.
    pub message: String,
    /// Where in the statement, in bytes, if SQLite knows.
    pub offset: Option<usize>,
    /// What the judge refused, if that is why.
    pub refused: Option<Refused>,
}

/// What the judge refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Something that changes the database, on a connection that reads.
    Write,
    /// `BEGIN`, `COMMIT`, `ROLLBACK`, `SAVEPOINT` and the like.
    Transaction,
    /// `ATTACH`, `DETACH`, `VACUUM INTO`: other files.
    OtherFile,
    /// A pragma that is not among those that only say something.
    Pragma(String),
    /// A function that reaches beyond the database.
    Function(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Write => f.write_str("the statement writes"),
            Refused::Transaction => f.write_str(
                "the statement begins or ends a transaction; every call is one transaction by itself",
            ),
            Refused::OtherFile => f.write_str("the statement opens another file"),
            Refused::Pragma(name) => write!(f, "the pragma `{name}` is not one of those that may be used"),
            Refused::Function(name) => write!(f, "the function `{name}` may not be used"),
        }
    }
}

impl Error {
    /// An error of ours.
    pub(crate) fn own(code: i32, message: impl Into<String>) -> Self {
        Error {
            code,
            message: message.into(),
            offset: None,
            refused: None,
        }
    }

    /// The primary result code.
    pub fn primary(&self) -> i32 {
        self.code & 0xff
    }

    /// Whether it was stopped from outside: the time was up, or no one wants it any more.
    pub fn is_stopped(&self) -> bool {
        self.primary() == ffi::SQLITE_INTERRUPT
    }

    /// Whether another connection holds a lock.
    pub fn is_busy(&self) -> bool {
        matches!(
            self.primary(),
            ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED | ffi::SQLITE_PROTOCOL
        )
    }

    /// Whether the database could not be written because this connection reads.
    pub fn is_read_only(&self) -> bool {
        self.primary() == ffi::SQLITE_READONLY || self.refused == Some(Refused::Write)
    }

    /// Whether the file is there and no database, or a broken one.
    pub fn is_no_database(&self) -> bool {
        matches!(self.primary(), ffi::SQLITE_NOTADB | ffi::SQLITE_CORRUPT)
    }

    /// Whether a file could not be opened.
    pub fn is_not_opened(&self) -> bool {
        self.primary() == ffi::SQLITE_CANTOPEN
    }

    /// Whether a journal has to be rolled back before anything can be read, which takes writing.
    pub fn needs_rollback(&self) -> bool {
        matches!(
            self.code,
            ffi::SQLITE_READONLY_ROLLBACK | ffi::SQLITE_READONLY_RECOVERY
        )
    }

    /// Whether it would have taken more memory, or a longer value, than it may.
    pub fn is_too_much(&self) -> bool {
        matches!(self.primary(), ffi::SQLITE_NOMEM | ffi::SQLITE_TOOBIG)
    }

    /// SQLite's name of the primary code, such as `SQLITE_BUSY`.
    pub fn name(&self) -> &'static str {
        const NAMES: &[(i32, &str)] = &[
            (ffi::SQLITE_ERROR, "SQLITE_ERROR"),
            (ffi::SQLITE_INTERNAL, "SQLITE_INTERNAL"),
            (ffi::SQLITE_PERM, "SQLITE_PERM"),
            (ffi::SQLITE_ABORT, "SQLITE_ABORT"),
            (ffi::SQLITE_BUSY, "SQLITE_BUSY"),
            (ffi::SQLITE_LOCKED, "SQLITE_LOCKED"),
            (ffi::SQLITE_NOMEM, "SQLITE_NOMEM"),
            (ffi::SQLITE_READONLY, "SQLITE_READONLY"),
            (ffi::SQLITE_INTERRUPT, "SQLITE_INTERRUPT"),
            (ffi::SQLITE_IOERR, "SQLITE_IOERR"),
            (ffi::SQLITE_CORRUPT, "SQLITE_CORRUPT"),
            (ffi::SQLITE_FULL, "SQLITE_FULL"),
            (ffi::SQLITE_CANTOPEN, "SQLITE_CANTOPEN"),
            (ffi::SQLITE_PROTOCOL, "SQLITE_PROTOCOL"),
            (ffi::SQLITE_SCHEMA, "SQLITE_SCHEMA"),
            (ffi::SQLITE_TOOBIG, "SQLITE_TOOBIG"),
            (ffi::SQLITE_CONSTRAINT, "SQLITE_CONSTRAINT"),
            (ffi::SQLITE_MISMATCH, "SQLITE_MISMATCH"),
            (ffi::SQLITE_MISUSE, "SQLITE_MISUSE"),
            (ffi::SQLITE_AUTH, "SQLITE_AUTH"),
            (ffi::SQLITE_RANGE, "SQLITE_RANGE"),
            (ffi::SQLITE_NOTADB, "SQLITE_NOTADB"),
        ];
        let named = NAMES.iter().find(|(code, _)| *code == self.primary());
        named.map_or("SQLITE_UNKNOWN", |(_, name)| name)
    }

    /// What a connection says about its last call.
    ///
    /// # Safety
    ///
    /// `db` is null or an open connection that no other thread uses.
    pub(crate) unsafe fn of(db: *mut ffi::sqlite3, code: i32) -> Self {
        if db.is_null() {
            return Error::own(code, words_of(code));
        }
        // SAFETY: the caller promises an open connection; the text is read before the next call could change it.
        let (message, offset) = unsafe {
            let text = ffi::sqlite3_errmsg(db);
            let message = match text.is_null() {
                true => words_of(code),
                false => CStr::from_ptr(text).to_string_lossy().into_owned(),
            };
            (message, ffi::sqlite3_error_offset(db))
        };
        Error {
            code,
            message,
            offset: usize::try_from(offset).ok(),
            refused: None,
        }
    }
}

/// SQLite's words for a code.
fn words_of(code: i32) -> String {
    // SAFETY: the function takes any number and returns a static text, or null.
    unsafe {
        let text = ffi::sqlite3_errstr(code);
        match text.is_null() {
            true => format!("SQLite failed with code {code}"),
            false => CStr::from_ptr(text).to_string_lossy().into_owned(),
        }
    }
}
