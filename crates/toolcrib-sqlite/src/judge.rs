//! Which parts of a statement are refused while it is compiled, by SQLite's authorizer: what reads on a connection that reads, what stays
//! in this one database on one that writes.
//!
//! A list of what may be is the rule, not one of what may not: an action or a pragma that a later SQLite adds is refused.

use std::ffi::{CStr, c_char, c_int};

use rusqlite::ffi;

use crate::access::Access;
use crate::error::Refused;

/// Pragmas that only say something, whatever they are given.
const TELLING: &[&str] = &[
    "collation_list",
    "compile_options",
    "data_version",
    "foreign_key_check",
    "foreign_key_list",
    "freelist_count",
    "function_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "module_list",
    "page_count",
    "pragma_list",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// Pragmas that say something as long as they are given nothing.
const TELLING_ALONE: &[&str] = &[
    "application_id",
    "auto_vacuum",
    "encoding",
    "foreign_keys",
    "journal_mode",
    "page_size",
    "query_only",
    "schema_version",
    "user_version",
];

/// Pragmas that set something of this one database, or of this one transaction.
const SETTING: &[&str] = &["application_id", "defer_foreign_keys", "user_version"];

/// Functions that reach beyond the database. They are switched off besides, or not built.
const FORBIDDEN: &[&str] = &[
    "edit",
    "fts3_tokenizer",
    "load_extension",
    "readfile",
    "writefile",
];

/// Judges one action of a statement.
pub(crate) fn judge(
    access: Access,
    action: c_int,
    first: Option<&str>,
    second: Option<&str>,
) -> Result<(), Refused> {
    match action {
        ffi::SQLITE_SELECT | ffi::SQLITE_READ | ffi::SQLITE_RECURSIVE => Ok(()),
        ffi::SQLITE_FUNCTION => match second {
            Some(name)
                if FORBIDDEN
                    .iter()
                    .any(|other| name.eq_ignore_ascii_case(other)) =>
            {
                Err(Refused::Function(name.to_owned()))
            }
            _ => Ok(()),
        },
        ffi::SQLITE_PRAGMA => pragma(access, first.unwrap_or_default(), second),
        ffi::SQLITE_TRANSACTION | ffi::SQLITE_SAVEPOINT => Err(Refused::Transaction),
        ffi::SQLITE_ATTACH | ffi::SQLITE_DETACH => Err(Refused::OtherFile),
        ffi::SQLITE_INSERT
        | ffi::SQLITE_UPDATE
        | ffi::SQLITE_DELETE
        | ffi::SQLITE_CREATE_INDEX
        | ffi::SQLITE_CREATE_TABLE
        | ffi::SQLITE_CREATE_TEMP_INDEX
        | ffi::SQLITE_CREATE_TEMP_TABLE
        | ffi::SQLITE_CREATE_TEMP_TRIGGER
        | ffi::SQLITE_CREATE_TEMP_VIEW
        | ffi::SQLITE_CREATE_TRIGGER
        | ffi::SQLITE_CREATE_VIEW
        | ffi::SQLITE_CREATE_VTABLE
        | ffi::SQLITE_DROP_INDEX
        | ffi::SQLITE_DROP_TABLE
        | ffi::SQLITE_DROP_TEMP_INDEX
        | ffi::SQLITE_DROP_TEMP_TABLE
        | ffi::SQLITE_DROP_TEMP_TRIGGER
        | ffi::SQLITE_DROP_TEMP_VIEW
        | ffi::SQLITE_DROP_TRIGGER
        | ffi::SQLITE_DROP_VIEW
        | ffi::SQLITE_DROP_VTABLE
        | ffi::SQLITE_ALTER_TABLE
        | ffi::SQLITE_REINDEX
        | ffi::SQLITE_ANALYZE
            if access.writes() =>
        {
            Ok(())
        }
        _ => Err(Refused::Write),
    }
}

fn pragma(access: Access, name: &str, value: Option<&str>) -> Result<(), Refused> {
    let is_in = |list: &[&str]| list.iter().any(|other| name.eq_ignore_ascii_case(other));
    let may = is_in(TELLING)
        || (is_in(TELLING_ALONE) && value.is_none())
        || (is_in(SETTING) && access.writes());
    match may {
        true => Ok(()),
        false => Err(Refused::Pragma(name.to_owned())),
    }
}

/// A text that SQLite passes, if there is one. Bytes that are not UTF-8 are replaced: no name that is compared contains the replacement.
///
/// # Safety
///
/// `text` is null or a C string that lives long enough.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Option<std::borrow::Cow<'a, str>> {
    match text.is_null() {
        true => None,
        // SAFETY: the caller promises it.
        false => Some(unsafe { CStr::from_ptr(text) }.to_string_lossy()),
    }
}
