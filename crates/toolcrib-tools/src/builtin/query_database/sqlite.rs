//! A SQLite file of the workspace. How it is opened and what is refused is `toolcrib-sqlite`; here are the call's time, values and words.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_sqlite::{Access, Connection, Error, Options, Param, Refused, Statement, Step};

use super::answer::{self, Answer, Column, Overflow};
use super::arguments::{Args, Mode, Params};
use super::{NAME, WRITES, not_approved};
use crate::builtin::invalid;
use crate::call::context::CallContext;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::workspace::{InPlace, Workspace};

/// The longest value that a call reads, and that one writes. Some functions take the product of two lengths, and cannot be stopped in the middle.
const MAX_READ: usize = 1 << 20;
const MAX_WRITTEN: usize = 16 << 20;

/// How much of the time is left when a lock is given up on, so that there is time to say so.
const FOR_WORDS: Duration = Duration::from_millis(250);

/// SQLite compiles by recursion, as deep as a hostile schema is nested, within its limits.
const STACK: usize = 16 << 20;

/// The most statements of one call.
const MAX_STATEMENTS: usize = 1000;

/// Where a database is, or would be.
pub(super) struct DatabaseFile(InPlace);

impl DatabaseFile {
    pub(super) fn find(workspace: &Workspace, path: &str) -> Result<Self, ToolError> {
        workspace.in_place(&workspace.path(path)?).map(DatabaseFile)
    }

    pub(super) fn is_there(&self) -> bool {
        self.0.found().is_some()
    }

    /// What an approval rests on: which file it is, or that there is none.
    pub(super) fn basis(&self) -> Value {
        match self.0.found() {
            Some((device, inode)) => json!({"device": device, "inode": inode}),
            None => json!({"new": true}),
        }
    }

    pub(super) fn missing(&self, path: &str) -> ToolError {
        let message = format!(
            "there is no database `{}`; list the directory to see what is there, or make one with `write` and `create`",
            text::shorten(path, 256)
        );
        ToolError::new(ErrorCode::FileNotFound, message)
    }
}

pub(super) fn no_workspace() -> ToolError {
    ToolError::new(
        ErrorCode::ToolUnavailable,
        "a SQLite file is one of the workspace, and no workspace is configured",
    )
}

/// What one call does, with what it needs for that.
struct Work {
    workspace: Arc<Workspace>,
    path: String,
    args: Args,
    mode: Mode,
    approved: Option<Value>,
    deadline: Instant,
    cx: CallContext,
}

pub(super) async fn call(
    args: Args,
    path: String,
    mode: Mode,
    approved: Option<Value>,
    cx: CallContext,
) -> Result<ToolOutput, ToolError> {
    let work = Work {
        workspace: cx.workspace().map_err(|_| no_workspace())?.clone(),
        path,
        args,
        mode,
        approved,
        deadline: Instant::now() + cx.remaining(),
        cx: cx.clone(),
    };
    cx.blocking_until_stopped(move || {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new()
                .name("sqlite".to_owned())
                .stack_size(STACK);
            let running = thread.spawn_scoped(scope, || work.run());
            let running = running.map_err(|error| {
                ToolError::failed("no thread can be started for the database").caused_by(error)
            })?;
            match running.join() {
                Ok(done) => done,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    })
    .await
}

impl Work {
    fn run(&self) -> Result<ToolOutput, ToolError> {
        let place = DatabaseFile::find(&self.workspace, &self.path)?;
        let access = match (self.mode, place.is_there()) {
            (Mode::Read, true) => Access::Read,
            (Mode::Write, true) => Access::Write,
            (Mode::Write, false) if self.args.create => Access::Create,
            (Mode::Read | Mode::Write, false) => return Err(place.missing(&self.path)),
        };
        if access.writes() && self.approved.as_ref() != Some(&place.basis()) {
            return Err(not_approved(&self.shown()));
        }
        let done = self.ask(&place, access);
        if done.is_err() && access == Access::Create {
            place.0.remove_if_empty_and_new();
        }
        let answer = done?;
        if answer.overflow().is_some() {
            self.cx.note_truncated();
        }
        Ok(answer.into_output())
    }

    fn ask(&self, place: &DatabaseFile, access: Access) -> Result<Answer, ToolError> {
        let fault = |error| self.fault(&error);
        let directory = place.0.directory().map_err(|error| {
            ToolError::failed("too many files are open; try again").caused_by(error)
        })?;
        let (cx, deadline) = (self.cx.clone(), self.deadline);
        let options = Options {
            access,
            max_length: if access.writes() {
                MAX_WRITTEN
            } else {
                MAX_READ
            },
            stop: Box::new(move || cx.is_cancelled() || Instant::now() >= deadline),
            patience: self
                .deadline
                .saturating_duration_since(Instant::now())
                .saturating_sub(FOR_WORDS),
        };
        let connection = Connection::open(directory, place.0.name(), options).map_err(fault)?;
        // What was opened is what was asked about, unless someone exchanged it twice meanwhile.
        if access == Access::Write && place.0.now() != place.0.found() {
            return Err(not_approved(&self.shown()));
        }
        connection.begin().map_err(fault)?;
        let before = connection.total_changes();
        let mut answer = self.statements(&connection)?;
        if !access.writes() {
            return Ok(answer);
        }
        if let Some(overflow) = answer.overflow() {
            return Err(too_much_returned(overflow));
        }
        if self.is_over() {
            return Err(self.stopped());
        }
        answer.changes = Some(connection.total_changes() - before);
        connection.commit().map_err(fault)?;
        // Should the call be over before it can say so itself.
        self.cx.keep_partial("committed", true);
        Ok(answer)
    }

    /// Runs every statement of the text: one that reads, or some that write.
    fn statements(&self, connection: &Connection) -> Result<Answer, ToolError> {
        let mut answer = None;
        let mut rest = self.args.sql.as_str();
        let mut count = 0;
        loop {
            let at = self.args.sql.len() - rest.len();
            let prepared = connection.prepare(rest).map_err(|mut error| {
                error.offset = error.offset.map(|offset| offset + at);
                self.fault(&error)
            })?;
            let Some(mut statement) = prepared.statement else {
                // Nothing but a semicolon, or nothing more at all.
                rest = &rest[prepared.used..];
                if prepared.used == 0 || rest.is_empty() {
                    break;
                }
                continue;
            };
            rest = &rest[prepared.used..];
            let is_alone = count == 0 && is_blank(connection, rest);
            if !is_alone && self.mode == Mode::Read {
                return Err(invalid(
                    NAME,
                    "/sql",
                    "has more than one statement; make a call for each",
                ));
            }
            if !is_alone && self.args.params.is_some() {
                return Err(invalid(
                    NAME,
                    "/params",
                    "is for a single statement; `sql` has several",
                ));
            }
            if count == MAX_STATEMENTS {
                return Err(invalid(NAME, "/sql", "has more than 1000 statements"));
            }
            count += 1;
            bind(&mut statement, self.args.params.as_ref())?;
            let returned = self.rows(&mut statement)?;
            if !returned.columns.is_empty() || answer.is_none() {
                answer = Some(returned);
            }
        }
        answer.ok_or_else(|| invalid(NAME, "/sql", "has no statement in it"))
    }

    fn rows(&self, statement: &mut Statement<'_>) -> Result<Answer, ToolError> {
        let max_bytes = self.cx.limits().max_output_bytes;
        let mut answer = Answer::new(self.args.max_rows(), max_bytes);
        let count = statement.columns();
        answer.columns = (0..count)
            .map(|column| Column {
                name: statement.column_name(column),
                kind: statement.declared_type(column),
            })
            .collect();
        // Where a column declares no type, its first value that is not null decides.
        let mut kinds: Vec<Option<&'static str>> = vec![None; count];
        while statement.step().map_err(|error| self.fault(&error))? == Step::Row {
            let values = kinds.iter_mut().enumerate().map(|(column, kind)| {
                let value = statement
                    .value(column)
                    .map_err(|error| self.fault(&error))?;
                *kind = kind.or_else(|| kind_of(&value));
                Ok::<_, ToolError>(as_json(&value))
            });
            if !answer.push(values)? {
                break;
            }
        }
        for (column, kind) in answer.columns.iter_mut().zip(kinds) {
            column.kind = column.kind.take().or_else(|| kind.map(str::to_owned));
        }
        Ok(answer)
    }

    fn is_over(&self) -> bool {
        self.cx.is_cancelled() || Instant::now() >= self.deadline
    }

    fn stopped(&self) -> ToolError {
        let undone = match self.mode {
            Mode::Read => "",
            Mode::Write => "; nothing was changed",
        };
        if self.cx.is_cancelled() && Instant::now() < self.deadline {
            let message = format!("the call was cancelled{undone}");
            return ToolError::new(ErrorCode::Cancelled, message);
        }
        let message = format!("the statement was not over in time{undone}");
        ToolError::new(ErrorCode::Timeout, message)
    }

    fn shown(&self) -> String {
        format!("`{}`", text::shorten(&self.path, 256))
    }

    /// What an error of SQLite means for the caller.
    fn fault(&self, error: &Error) -> ToolError {
        let (file, said) = (self.shown(), text::shorten(&error.message, 1000));
        let is_reading = self.mode == Mode::Read;
        if error.is_stopped() {
            return self.stopped();
        }
        let message = match &error.refused {
            Some(Refused::Write) if is_reading => format!("the statement writes: {WRITES}"),
            Some(refused) => format!("refused: {refused}"),
            None if error.needs_rollback() => format!(
                "a program that wrote to {file} ended in the middle, and nothing can be read before that is undone: open it with that program, or call with `write: true`"
            ),
            None if error.is_read_only() && is_reading => {
                format!("the statement writes: {WRITES}")
            }
            None if error.is_busy() => {
                format!(
                    "{file} is locked by another program, which did not let go of it in time; try again"
                )
            }
            None if error.is_no_database() => {
                format!("{file} is not a SQLite database, or a damaged one: {said}")
            }
            None if error.is_not_opened() => format!(
                "{file} cannot be opened, or a file beside it (`-journal`, `-wal`, `-shm`): it is a link or no plain file, or its directory cannot be written, which a database with a write-ahead log needs for reading too"
            ),
            None if error.is_too_much() => format!(
                "the statement needs longer values or more memory than it may have: {said}; ask for less at once"
            ),
            None if said.starts_with("no such table") => {
                format!("{said}; `SELECT name FROM sqlite_schema` lists what there is")
            }
            None if said.contains("no such column") => format!(
                "{said}; `SELECT name, sql FROM sqlite_schema` shows the columns; write a text in single quotes"
            ),
            None => said,
        };
        let mut fault = ToolError::failed(message)
            .with_detail("sqliteCode", error.name())
            .with_detail("extendedCode", error.code);
        if let Some(before) = error.offset.and_then(|at| self.args.sql.get(..at)) {
            // Counted in characters from 1, as PostgreSQL does.
            fault = fault.with_detail("position", before.chars().count() + 1);
        }
        fault
    }
}

/// Whether nothing but white space, comments and semicolons is left. What does not compile is something.
fn is_blank(connection: &Connection, rest: &str) -> bool {
    let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
    rest.is_empty()
        || connection
            .prepare(rest)
            .is_ok_and(|prepared| prepared.statement.is_none())
}

fn too_much_returned(overflow: Overflow) -> ToolError {
    let what = match overflow {
        Overflow::Rows => "more rows than `maxRows`",
        Overflow::Bytes => "more than fits into an answer",
    };
    ToolError::failed(format!(
        "the statement returns {what}; nothing was changed: raise `maxRows`, or return less"
    ))
}

/// Gives the parameters of a statement their values: exactly those it has.
fn bind(statement: &mut Statement<'_>, params: Option<&Params>) -> Result<(), ToolError> {
    let wrong = |message: &str| invalid(NAME, "/params", message);
    let count = statement.parameters();
    let failed = |error: Error| wrong(&format!("cannot be used: {error}"));
    match params {
        None if count == 0 => Ok(()),
        None => Err(wrong(&format!(
            "is missing: the statement has {count} parameters"
        ))),
        Some(Params::InOrder(values)) => {
            if values.len() != count {
                let message = format!(
                    "has {} values, and the statement {count} parameters",
                    values.len()
                );
                return Err(wrong(&message));
            }
            for (at, value) in values.iter().enumerate() {
                let value = param(value)
                    .map_err(|message| invalid(NAME, &format!("/params/{at}"), &message))?;
                statement.bind(at + 1, &value).map_err(failed)?;
            }
            Ok(())
        }
        Some(Params::ByName(values)) => {
            let mut is_bound = vec![false; count];
            for (name, value) in values {
                let spellings = [
                    name.clone(),
                    format!(":{name}"),
                    format!("@{name}"),
                    format!("${name}"),
                ];
                let found = spellings.iter().find_map(|name| statement.parameter(name));
                let shown = text::shorten(name, 80);
                let Some(index) = found else {
                    return Err(wrong(&format!(
                        "has `{shown}`, of which the statement has no parameter"
                    )));
                };
                let value =
                    param(value).map_err(|message| wrong(&format!("`{shown}` {message}")))?;
                statement.bind(index, &value).map_err(failed)?;
                if let Some(bound) = is_bound.get_mut(index - 1) {
                    *bound = true;
                }
            }
            match is_bound.iter().position(|bound| !bound) {
                None => Ok(()),
                Some(at) => {
                    let name = statement.parameter_name(at + 1);
                    let name = name.unwrap_or_else(|| format!("?{}", at + 1));
                    Err(wrong(&format!(
                        "has no value for `{}`",
                        text::shorten(&name, 80)
                    )))
                }
            }
        }
    }
}

fn param(value: &Value) -> Result<Param, String> {
    if let Some(bytes) = answer::bytes_of(value) {
        return bytes.map(Param::Blob);
    }
    Ok(match value {
        Value::Null => Param::Null,
        Value::Bool(yes) => Param::Integer(i64::from(*yes)),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Param::Integer(whole),
            (None, _) if number.is_u64() => {
                return Err("is beyond the whole numbers of SQLite; give it as a text".to_owned());
            }
            (None, Some(number)) => Param::Real(number),
            (None, None) => return Err("is not a SQLite number".to_owned()),
        },
        Value::String(text) => Param::Text(text.clone()),
        // As SQLite's JSON functions take it.
        Value::Array(_) | Value::Object(_) => Param::Text(value.to_string()),
    })
}

fn as_json(value: &toolcrib_sqlite::Value<'_>) -> Value {
    use toolcrib_sqlite::Value as Sqlite;
    match value {
        Sqlite::Null => Value::Null,
        Sqlite::Integer(number) => answer::integer(*number),
        Sqlite::Real(number) => answer::real(*number),
        Sqlite::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            // SQLite takes any bytes for a text.
            Err(_) => answer::blob(bytes),
        },
        Sqlite::Blob(bytes) => answer::blob(bytes),
    }
}

fn kind_of(value: &toolcrib_sqlite::Value<'_>) -> Option<&'static str> {
    use toolcrib_sqlite::Value as Sqlite;
    match value {
        Sqlite::Null => None,
        Sqlite::Integer(_) => Some("integer"),
        Sqlite::Real(_) => Some("real"),
        Sqlite::Text(_) => Some("text"),
        Sqlite::Blob(_) => Some("blob"),
    }
}
