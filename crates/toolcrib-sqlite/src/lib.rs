//! A SQLite database in a directory that someone else is hostile in, opened and asked without leaving that directory.
//!
//! ```text
//! opening     how every file is opened: a regular one, no link followed, nothing written that has a second name
//! shared      the index of a write-ahead log, which may be truncated while it is mapped
//! vfs         the files of one database: it, its journal, its write-ahead log, and nothing else
//! judge       which parts of a statement are refused, whatever the file says
//! connection  opening, limits, time, transactions; connection/statement: values in, rows out
//! ```
//!
//! A file is named by an open directory and a name in it; the path that led there is not looked at again, so nothing that happens to it
//! meanwhile leads elsewhere. What reading may not do is refused three times: the file is open for reading, the connection is
//! `query_only`, and the judge refuses while a statement is compiled.
//!
//! Why this is not rusqlite's own connection: it panics on names that are not UTF-8 and where SQLite runs out of the memory it may use,
//! and a written file can cause both. Only the library that it builds and the declarations are used.
//!
//! What this does not protect from: SQLite locks with `fcntl`, so a part of *this process* that opens and closes the same file by
//! itself drops the locks, as the kernel has it. (An index of a reader's own, made from the log, was tried instead of the shared one: a
//! writer may have restarted the log without having written to it yet, which only the shared index shows, so such a reader saw broken
//! pages now and then.)

mod access;
mod connection;
mod error;
mod judge;
#[cfg_attr(not(target_os = "linux"), path = "opening_elsewhere.rs")]
mod opening;
#[cfg_attr(not(target_os = "linux"), path = "shared_elsewhere.rs")]
mod shared;
mod vfs;

pub use access::Access;
pub use connection::{Connection, Options, Param, Prepared, Statement, Step, Value};
pub use error::{Error, Refused};
