//! The tables `[databases.NAME]`. Like those of upstream servers they are not settings with one value each, and a project's file may not
//! have them: it would send a secret of the user to its own server.

use super::{ConfigError, Origin};
use crate::builtin::DatabaseSettings;

/// The key of the tables.
pub(super) const DATABASES: &str = "databases";

/// The part of docs/config.md about them.
pub(super) const REFERENCE: &str = include_str!("databases.md");

/// Reads the tables of a file.
pub(super) fn read(
    value: &toml::Value,
    file: &str,
    origin: Origin,
) -> Result<DatabaseSettings, ConfigError> {
    let problem = |key: &str, problem: String| ConfigError::Value {
        place: format!("{file}: `{key}`"),
        problem,
    };
    if origin == Origin::Project {
        let why = "cannot be set by a project: it would tell a secret to a server of its choice; put it into `config.toml` in Toolcrib's home";
        return Err(problem(DATABASES, why.to_owned()));
    }
    let json =
        serde_json::to_value(value).map_err(|error| problem(DATABASES, error.to_string()))?;
    DatabaseSettings::read(&json).map_err(|fault| problem(&fault.key, fault.problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_cannot_name_databases_and_faults_have_their_place() {
        let table: toml::Table = "[databases.shop]\nurl = 'postgres://u:pw@h/d'"
            .parse()
            .unwrap();
        let error = |origin| {
            read(&table[DATABASES], "config.toml", origin)
                .unwrap_err()
                .to_string()
        };
        assert!(error(Origin::Project).contains("cannot be set by a project"));
        let text = error(Origin::Home);
        assert!(
            text.starts_with("config.toml: `databases.shop.url`: has a password in it"),
            "{text}"
        );
    }
}
