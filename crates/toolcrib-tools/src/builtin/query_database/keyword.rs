//! How a statement begins. It decides whom to ask and what to say; that a call only reads is the database's to enforce.

use super::NAME;
use crate::builtin::invalid;
use crate::model::error::ToolError;

/// Whose SQL it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Sqlite,
    Postgres,
}

/// Words that a statement which reads begins with. Some of them begin statements that write, too (`WITH`), which a database that was opened for
/// reading refuses.
const READS: &[&str] = &[
    "SELECT", "WITH", "VALUES", "TABLE", "EXPLAIN", "SHOW", "PRAGMA",
];

/// The first word of a statement, in capitals; `None` if there is none.
pub(super) fn first(sql: &str, dialect: Dialect) -> Option<String> {
    let rest = start(sql, dialect);
    let end = rest
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(rest.len());
    match rest.chars().next() {
        None => None,
        // Something that is not a word: the database will report it.
        Some(_) if end == 0 => Some(String::new()),
        Some(_) => Some(rest[..end].to_ascii_uppercase()),
    }
}

/// Whether a statement begins like one that reads.
pub(super) fn reads(sql: &str, dialect: Dialect) -> bool {
    first(sql, dialect).is_none_or(|word| READS.contains(&word.as_str()))
}

/// Refuses statements that no call can run, whatever a person answers.
pub(super) fn refuse(sql: &str, dialect: Dialect) -> Result<(), ToolError> {
    let Some(word) = first(sql, dialect) else {
        return Ok(());
    };
    let why = match (dialect, word.as_str()) {
        (
            _,
            "BEGIN" | "COMMIT" | "END" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" | "ABORT" | "START",
        ) => {
            "every call is one transaction by itself, which is kept if all of it worked; leave it out"
        }
        (Dialect::Sqlite, "ATTACH" | "DETACH") => {
            "other files cannot be attached; make a call for each database"
        }
        (Dialect::Sqlite, "VACUUM") => "it cannot be done in a transaction, which every call is",
        (Dialect::Postgres, "COPY") => "use SELECT to read and INSERT to write",
        (Dialect::Postgres, "PREPARE" | "EXECUTE" | "DEALLOCATE") => {
            "statements are prepared by themselves; give the statement, with its values in `params`"
        }
        (Dialect::Postgres, "LISTEN" | "UNLISTEN") => {
            "nothing would receive it: the connection ends with the call"
        }
        _ => return Ok(()),
    };
    Err(invalid(NAME, "/sql", &format!("has {word}: {why}")))
}

/// A text without white space, comments, empty statements and opening brackets before the first word.
fn start(sql: &str, dialect: Dialect) -> &str {
    let mut rest = sql;
    loop {
        rest = rest.trim_start_matches(|c: char| {
            matches!(
                c,
                ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c' | ';' | '(' | '\u{feff}'
            )
        });
        rest = match (rest.strip_prefix("--"), rest.strip_prefix("/*")) {
            (Some(comment), _) => after_line(comment, dialect),
            (None, Some(comment)) => after_comment(comment, dialect),
            (None, None) => return rest,
        };
    }
}

fn after_line(comment: &str, dialect: Dialect) -> &str {
    let end = match dialect {
        Dialect::Sqlite => comment.find('\n'),
        Dialect::Postgres => comment.find(['\n', '\r']),
    };
    end.map_or("", |end| &comment[end + 1..])
}

/// What follows a comment, of which PostgreSQL has them in each other.
fn after_comment(comment: &str, dialect: Dialect) -> &str {
    let (mut depth, mut rest) = (1_usize, comment);
    while depth > 0 {
        let Some(at) = rest.find(['*', '/']) else {
            return "";
        };
        rest = &rest[at..];
        rest = if let Some(after) = rest.strip_prefix("*/") {
            depth -= 1;
            after
        } else if let (Some(after), Dialect::Postgres) = (rest.strip_prefix("/*"), dialect) {
            depth += 1;
            after
        } else {
            &rest[1..]
        };
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_found_behind_comments_and_brackets() {
        for (sql, sqlite, postgres) in [
            ("select 1", Some("SELECT"), Some("SELECT")),
            (" \n\t; ; COMMIT", Some("COMMIT"), Some("COMMIT")),
            ("((values (1)))", Some("VALUES"), Some("VALUES")),
            ("-- SELECT\nDELETE FROM t", Some("DELETE"), Some("DELETE")),
            ("-- x\rDELETE FROM t", None, Some("DELETE")),
            ("/* a */ /**/drop table t", Some("DROP"), Some("DROP")),
            ("/* /* */ SELECT */ DELETE", Some("SELECT"), Some("DELETE")),
            ("/* open", None, None),
            ("", None, None),
            ("'text'", Some(""), Some("")),
            ("sel\u{e9}ct", Some("SEL"), Some("SEL")),
        ] {
            assert_eq!(first(sql, Dialect::Sqlite).as_deref(), sqlite, "{sql:?}");
            assert_eq!(
                first(sql, Dialect::Postgres).as_deref(),
                postgres,
                "{sql:?}"
            );
        }
    }

    #[test]
    fn only_words_that_read_count_as_reading() {
        for sql in [
            "SELECT 1",
            "with x as (select 1) select 2",
            "explain select 1",
            "pragma x",
        ] {
            assert!(reads(sql, Dialect::Sqlite), "{sql}");
        }
        for sql in [
            "INSERT INTO t",
            "'x'",
            "CALL f()",
            "DO $$ $$",
            "SET x = 1",
            "VACUUM",
            "selectx",
        ] {
            assert!(!reads(sql, Dialect::Postgres), "{sql}");
        }
    }
}
