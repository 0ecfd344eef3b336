//! What a call wants: [`Args`], and which database it means.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use super::NAME;
use super::keyword::{self, Dialect};
use super::settings::{Database, DatabaseSettings};
use crate::builtin::invalid;
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;

/// The most rows of one call, and how many if no one says.
pub(super) const MAX_ROWS: usize = 10_000;
pub(super) const DEFAULT_ROWS: usize = 100;

/// The longest statement.
pub(super) const MAX_SQL: usize = 1_000_000;

/// The most parameters of a statement.
const MAX_PARAMS: usize = 10_000;

/// How many names an error lists.
const MAX_LISTED: usize = 20;

/// What a call wants.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Args {
    pub(super) database: String,
    pub(super) sql: String,
    pub(super) params: Option<Params>,
    max_rows: Option<usize>,
    pub(super) write: Option<bool>,
    #[serde(default)]
    pub(super) create: bool,
}

/// The values of parameters.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Params {
    /// In order.
    InOrder(Vec<Value>),
    /// By name.
    ByName(JsonObject),
}

/// Whether a call may change something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// It may not, and the database sees to that.
    Read,
    /// It may, after approval.
    Write,
}

/// Which database is meant.
#[derive(Debug)]
pub(super) enum Meant<'a> {
    /// A file of the workspace.
    File(String),
    /// One of the settings.
    Server {
        /// Its name there.
        name: String,
        database: &'a Database,
    },
}

impl fmt::Display for Meant<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Meant::File(path) => write!(f, "`{}`", text::shorten(path, 256)),
            Meant::Server { name, .. } => write!(f, "`{name}`"),
        }
    }
}

impl Args {
    /// Finds the database. A name of the settings comes first; a file has a `.` or a `/` in its path.
    pub(super) fn meant<'a>(&self, known: &'a DatabaseSettings) -> Result<Meant<'a>, ToolError> {
        if let Some(database) = known.get(&self.database) {
            return Ok(Meant::Server {
                name: self.database.clone(),
                database,
            });
        }
        if self.database.contains(['.', '/']) {
            return Ok(Meant::File(self.database.clone()));
        }
        let shown = text::shorten(&self.database, 80);
        let names: Vec<&str> = known.names().take(MAX_LISTED).collect();
        let listed = match names.as_slice() {
            [] => "none is set up (`[databases.NAME]`: `toolcrib config edit`)".to_owned(),
            names => format!("there is {}", text::or_list(names)),
        };
        Err(ToolError::new(
            ErrorCode::InvalidArguments,
            format!(
                "there is no database `{shown}`: {listed}. A SQLite file is given by its path, such as `./{shown}`"
            ),
        ))
    }

    /// Whether it may change something: as it says, or as the statement begins.
    pub(super) fn mode(&self, dialect: Dialect) -> Mode {
        match self.write {
            Some(true) => Mode::Write,
            Some(false) => Mode::Read,
            None if keyword::reads(&self.sql, dialect) => Mode::Read,
            None => Mode::Write,
        }
    }

    pub(super) fn max_rows(&self) -> usize {
        self.max_rows.unwrap_or(DEFAULT_ROWS).clamp(1, MAX_ROWS)
    }

    /// Refuses what does not go together.
    pub(super) fn check(&self, meant: &Meant<'_>) -> Result<(), ToolError> {
        if keyword::first(&self.sql, meant.dialect()).is_none() {
            return Err(invalid(NAME, "/sql", "has no statement in it"));
        }
        let count = match &self.params {
            None => 0,
            Some(Params::InOrder(values)) => values.len(),
            Some(Params::ByName(values)) => values.len(),
        };
        if count > MAX_PARAMS {
            let message = format!("may have {MAX_PARAMS} values at most");
            return Err(invalid(NAME, "/params", &message));
        }
        match meant {
            Meant::File(_) => Ok(()),
            Meant::Server { .. } if self.create => {
                Err(invalid(NAME, "/create", "is for a SQLite file"))
            }
            Meant::Server { .. } => match &self.params {
                Some(Params::ByName(_)) => Err(invalid(
                    NAME,
                    "/params",
                    "must be a list: PostgreSQL's parameters are `$1`, `$2` and so on",
                )),
                Some(Params::InOrder(_)) | None => Ok(()),
            },
        }
    }
}
