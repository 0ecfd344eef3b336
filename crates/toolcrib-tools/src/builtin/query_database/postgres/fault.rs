//! What went wrong, in words and with SQLSTATE.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, ErrorPosition, SqlState};

use super::super::WRITES;
use super::super::arguments::Mode;
use super::DatabaseQuery;
use crate::egress::EgressError;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;

/// The longest text of a server that is repeated.
const MAX_SAID: usize = 2000;

/// What an error of a statement means for the caller.
pub(super) fn of(error: &Error, asked: &DatabaseQuery) -> ToolError {
    match error.as_db_error() {
        Some(said) => of_server(said, asked),
        None => {
            let undone = match asked.mode {
                Mode::Read => "",
                Mode::Write => "; nothing was changed",
            };
            let message = format!(
                "the connection to the database `{}` broke off{undone}: {}",
                asked.name,
                in_words(error)
            );
            ToolError::new(ErrorCode::NetworkError, message)
        }
    }
}

/// What an error at the end of a transaction means: if the connection broke, it is not known whether the transaction was committed.
pub(super) fn of_commit(error: &Error, asked: &DatabaseQuery) -> ToolError {
    match error.as_db_error() {
        Some(said) => of_server(said, asked),
        None => {
            let message = format!(
                "the connection to the database `{}` broke off during the commit: check whether the changes were made before you call again",
                asked.name
            );
            ToolError::new(ErrorCode::NetworkError, message)
        }
    }
}

fn of_server(said: &DbError, asked: &DatabaseQuery) -> ToolError {
    let words = text::shorten(said.message(), MAX_SAID);
    let state = said.code();
    let (code, message) = if *state == SqlState::READ_ONLY_SQL_TRANSACTION {
        (ErrorCode::ExecutionError, format!("{words}: {WRITES}"))
    } else if *state == SqlState::QUERY_CANCELED {
        (
            ErrorCode::Timeout,
            format!("the server ended the statement: {words}"),
        )
    } else if *state == SqlState::LOCK_NOT_AVAILABLE {
        let message = format!("{words}: another transaction holds it; try again");
        (ErrorCode::ExecutionError, message)
    } else if *state == SqlState::SYNTAX_ERROR && words.contains("multiple commands") {
        let message = format!("{words}; give one statement, or several in a `DO` block");
        (ErrorCode::ExecutionError, message)
    } else {
        (ErrorCode::ExecutionError, words)
    };
    let mut fault = ToolError::new(code, message).with_detail("sqlstate", state.code());
    match said.position() {
        Some(ErrorPosition::Original(at)) => fault = fault.with_detail("position", *at),
        Some(ErrorPosition::Internal { position, query }) => {
            fault = fault
                .with_detail("internalPosition", *position)
                .with_detail("internalQuery", text::shorten(query, MAX_SAID));
        }
        None => {}
    }
    for (key, said) in [
        ("detail", said.detail()),
        ("hint", said.hint()),
        ("where", said.where_()),
        ("schema", said.schema()),
        ("table", said.table()),
        ("column", said.column()),
        ("constraint", said.constraint()),
    ] {
        if let Some(said) = said {
            fault = fault.with_detail(key, text::shorten(said, MAX_SAID));
        }
    }
    let _ = asked;
    fault
}

/// Why no one was let in.
pub(super) fn not_connected(error: &Error, asked: &DatabaseQuery) -> ToolError {
    let name = &asked.name;
    if let Some(said) = error.as_db_error() {
        let words = text::shorten(said.message(), MAX_SAID);
        let advice = match *said.code() {
            SqlState::INVALID_PASSWORD | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
                "; see `url` and `secret` of `[databases]` of `config.toml` in Toolcrib's home"
            }
            _ => "",
        };
        let message = format!("the database `{name}` refused the login: {words}{advice}");
        return ToolError::new(ErrorCode::UpstreamError, message)
            .with_detail("sqlstate", said.code().code());
    }
    if let Some(refused) = error
        .source()
        .and_then(|cause| cause.downcast_ref::<EgressError>())
    {
        let message = format!("no connection to the database `{name}`: {refused}");
        return ToolError::new(refused.code(), message);
    }
    let words = in_words(error);
    let advice = if words.contains("password missing") {
        "; the server wants a password: `toolcrib secret set NAME`, and `secret = \"NAME\"` beside `url`"
    } else if words.contains("does not support TLS") {
        "; `tls = \"disable\"` beside `url` does without, on a network that you trust"
    } else {
        ""
    };
    let message = format!("no connection to the database `{name}`: {words}{advice}");
    ToolError::new(ErrorCode::NetworkError, message)
}

/// More came than this process takes.
pub(super) fn too_much(mode: Mode) -> ToolError {
    let undone = match mode {
        Mode::Read => "",
        Mode::Write => "; nothing was changed",
    };
    ToolError::new(
        ErrorCode::UpstreamError,
        format!(
            "the rows are longer than 64 MB, at which the connection was cut{undone}; select fewer columns, or parts of values"
        ),
    )
}

/// An error of the library with what is behind it.
fn in_words(error: &Error) -> String {
    let words = error.to_string();
    let words = match error.source().map(ToString::to_string) {
        Some(cause) if !words.contains(&cause) => format!("{words}: {cause}"),
        _ => words,
    };
    text::shorten(&words, MAX_SAID)
}
