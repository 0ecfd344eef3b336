//! One statement: [`Statement`].

use std::ffi::{CStr, CString, c_int};

use rusqlite::ffi;

use crate::error::Error;
use crate::shared;

use super::Connection;

/// What compiling the first statement of a text came to.
pub struct Prepared<'c> {
    /// The statement; `None` if there is none.
    pub statement: Option<Statement<'c>>,
    /// How many bytes of the text it took.
    pub used: usize,
}

/// A compiled statement.
pub struct Statement<'c> {
    connection: &'c Connection,
    raw: *mut ffi::sqlite3_stmt,
}

/// Where stepping came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// There is a row.
    Row,
    /// It is over.
    Done,
}

/// A value of a row, as long as the statement is not stepped further.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'s> {
    /// NULL.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text, which need not be UTF-8.
    Text(&'s [u8]),
    /// Bytes.
    Blob(&'s [u8]),
}

/// A value for a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Param {
    /// NULL.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

impl<'c> Statement<'c> {
    pub(super) fn new(connection: &'c Connection, raw: *mut ffi::sqlite3_stmt) -> Self {
        Statement { connection, raw }
    }

    /// How many parameters it has: the largest number of one.
    pub fn parameters(&self) -> usize {
        // SAFETY: the statement is compiled and not finalized.
        usize::try_from(unsafe { ffi::sqlite3_bind_parameter_count(self.raw) }).unwrap_or(0)
    }

    /// The name of a parameter, counted from 1, with its `:`, `@` or `$`; `None` for `?`.
    pub fn parameter_name(&self, index: usize) -> Option<String> {
        let index = c_int::try_from(index).ok()?;
        // SAFETY: the statement is compiled; SQLite answers null for an index that there is none of.
        unsafe {
            let name = ffi::sqlite3_bind_parameter_name(self.raw, index);
            (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
        }
    }

    /// Which parameter has this name.
    pub fn parameter(&self, name: &str) -> Option<usize> {
        let name = CString::new(name).ok()?;
        // SAFETY: the statement is compiled; the name is a C string.
        let index = unsafe { ffi::sqlite3_bind_parameter_index(self.raw, name.as_ptr()) };
        usize::try_from(index).ok().filter(|index| *index > 0)
    }

    /// Gives a parameter, counted from 1, its value.
    pub fn bind(&mut self, index: usize, value: &Param) -> Result<(), Error> {
        let index = c_int::try_from(index).unwrap_or(c_int::MAX);
        let copied = ffi::SQLITE_TRANSIENT();
        // SAFETY: the statement is compiled; texts and bytes are copied by SQLite (`SQLITE_TRANSIENT`) before the call returns.
        let code = unsafe {
            match value {
                Param::Null => ffi::sqlite3_bind_null(self.raw, index),
                Param::Integer(number) => ffi::sqlite3_bind_int64(self.raw, index, *number),
                Param::Real(number) => ffi::sqlite3_bind_double(self.raw, index, *number),
                Param::Text(text) => ffi::sqlite3_bind_text64(
                    self.raw,
                    index,
                    text.as_ptr().cast(),
                    text.len() as u64,
                    copied,
                    ffi::SQLITE_UTF8 as u8,
                ),
                Param::Blob(bytes) if bytes.is_empty() => {
                    ffi::sqlite3_bind_zeroblob(self.raw, index, 0)
                }
                Param::Blob(bytes) => ffi::sqlite3_bind_blob64(
                    self.raw,
                    index,
                    bytes.as_ptr().cast(),
                    bytes.len() as u64,
                    copied,
                ),
            }
        };
        self.check(code)
    }

    /// How many columns its rows have; none for a statement that returns no rows.
    pub fn columns(&self) -> usize {
        // SAFETY: the statement is compiled.
        usize::try_from(unsafe { ffi::sqlite3_column_count(self.raw) }).unwrap_or(0)
    }

    /// The name of a column, counted from 0.
    pub fn column_name(&self, column: usize) -> String {
        let column = c_int::try_from(column).unwrap_or(c_int::MAX);
        // SAFETY: the statement is compiled; SQLite answers null where there is no such column, or no memory.
        unsafe {
            let name = ffi::sqlite3_column_name(self.raw, column);
            match name.is_null() {
                true => String::new(),
                false => CStr::from_ptr(name).to_string_lossy().into_owned(),
            }
        }
    }

    /// The type that the table declares for a column; `None` for what is computed.
    pub fn declared_type(&self, column: usize) -> Option<String> {
        let column = c_int::try_from(column).ok()?;
        // SAFETY: as above.
        unsafe {
            let name = ffi::sqlite3_column_decltype(self.raw, column);
            (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
        }
    }

    /// Goes to the next row.
    pub fn step(&mut self) -> Result<Step, Error> {
        // SAFETY: the statement is compiled and not finalized.
        let code = unsafe { ffi::sqlite3_step(self.raw) };
        // What was found in an index that was cut off while it was read is nothing to go by, be it an error.
        shared::check()?;
        match code {
            ffi::SQLITE_ROW => Ok(Step::Row),
            ffi::SQLITE_DONE => Ok(Step::Done),
            code => Err(self.connection.error(code)),
        }
    }

    /// A value of the row that it is on.
    pub fn value(&self, column: usize) -> Result<Value<'_>, Error> {
        if column >= self.columns() {
            return Ok(Value::Null);
        }
        let index = c_int::try_from(column).unwrap_or(c_int::MAX);
        // SAFETY: the statement is on a row or has none, where SQLite answers NULL. Pointers hold until the next step, for which
        // the borrow of the statement has to end; the length is asked for after the text, as it is of what it was turned into.
        unsafe {
            Ok(match ffi::sqlite3_column_type(self.raw, index) {
                ffi::SQLITE_INTEGER => Value::Integer(ffi::sqlite3_column_int64(self.raw, index)),
                ffi::SQLITE_FLOAT => Value::Real(ffi::sqlite3_column_double(self.raw, index)),
                ffi::SQLITE_TEXT => {
                    let text = ffi::sqlite3_column_text(self.raw, index);
                    Value::Text(self.bytes(text.cast(), index)?)
                }
                ffi::SQLITE_BLOB => {
                    let bytes = ffi::sqlite3_column_blob(self.raw, index);
                    Value::Blob(self.bytes(bytes.cast(), index)?)
                }
                _ => Value::Null,
            })
        }
    }

    /// The bytes of a column.
    ///
    /// # Safety
    ///
    /// `start` is what SQLite just returned for this column, as a text or as bytes.
    unsafe fn bytes(&self, start: *const u8, index: c_int) -> Result<&[u8], Error> {
        // SAFETY: the caller promises it.
        unsafe {
            let length = ffi::sqlite3_column_bytes(self.raw, index);
            match (start.is_null(), usize::try_from(length)) {
                (false, Ok(length)) => Ok(std::slice::from_raw_parts(start, length)),
                // Nothing, or no memory to turn it into UTF-8.
                (true, Ok(0))
                    if ffi::sqlite3_errcode(self.connection.handle()) & 0xff
                        != ffi::SQLITE_NOMEM =>
                {
                    Ok(&[])
                }
                _ => Err(self.connection.error(ffi::SQLITE_NOMEM)),
            }
        }
    }

    fn check(&self, code: c_int) -> Result<(), Error> {
        match code {
            ffi::SQLITE_OK => Ok(()),
            code => Err(self.connection.error(code)),
        }
    }
}

impl Drop for Statement<'_> {
    fn drop(&mut self) {
        // SAFETY: it was compiled, and is finalized once. The code is that of the last step, which was reported already.
        unsafe {
            ffi::sqlite3_finalize(self.raw);
        }
    }
}
