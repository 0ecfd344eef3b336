//! The tables `[upstreams.NAME]`: reading them, and changing one in somebody's config.toml without touching the rest.
//!
//! They are no settings with one value each, so they are not in the table of settings. A project's file may not have them: it would run
//! programs on the machine of whoever cloned it.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item, Table};

use super::{Config, ConfigError, MAX_BYTES, Origin, open_regular, read_capped};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::Slug;
use crate::storage::DurableDir;
use crate::upstream::{self, UpstreamSettings, UpstreamTable};

/// The key of the tables.
pub(super) const UPSTREAMS: &str = "upstreams";

/// The file of the home that has them.
const FILE: &str = "config.toml";

/// The part of docs/config.md about them.
pub(super) const REFERENCE: &str = include_str!("upstreams.md");

/// Reads the tables of a file.
pub(super) fn read(
    value: &toml::Value,
    file: &str,
    origin: Origin,
) -> Result<UpstreamTable, ConfigError> {
    let problem = |key: &str, problem: String| ConfigError::Value {
        place: format!("{file}: `{key}`"),
        problem,
    };
    if origin == Origin::Project {
        let why = "cannot be set by a project: it would run programs; `toolcrib upstream add` puts it into your own config.toml";
        return Err(problem(UPSTREAMS, why.to_owned()));
    }
    let json =
        serde_json::to_value(value).map_err(|error| problem(UPSTREAMS, error.to_string()))?;
    upstream::read_all(&json).map_err(|fault| problem(&fault.key, fault.problem))
}

impl Config {
    /// The tables `[upstreams.NAME]`.
    pub fn upstreams(&self) -> &UpstreamTable {
        &self.2
    }
}

/// Reads just the upstream servers of a home, as they are now.
pub fn read_upstreams(home: &Path) -> Result<UpstreamTable, ConfigError> {
    let path = home.join(FILE);
    let shown = path.display().to_string();
    let text = match open_regular(&path).and_then(read_capped) {
        Ok(text) => text,
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(UpstreamTable::new());
        }
        Err(source) => {
            return Err(ConfigError::Unreadable {
                file: shown,
                source,
            });
        }
    };
    let table: toml::Table =
        text.parse()
            .map_err(|error: toml::de::Error| ConfigError::Syntax {
                file: shown.clone(),
                problem: error.to_string().trim_end().to_owned(),
            })?;
    match table.get(UPSTREAMS) {
        Some(value) => read(value, &shown, Origin::Home),
        None => Ok(UpstreamTable::new()),
    }
}

/// Whether writing may replace a table that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replace {
    /// It is an error.
    Never,
    /// It may.
    Allowed,
}

/// Writes a table `[upstreams.NAME]` into the home's config.toml; everything else in it stays as it is, comments included.
pub fn write_upstream(
    home: &Path,
    name: &Slug,
    settings: &UpstreamSettings,
    replace: Replace,
) -> Result<(), ToolError> {
    edit(home, |document| {
        let all = document.entry(UPSTREAMS).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let Some(all) = all.as_table_like_mut() else {
            return Err(wrong("`upstreams` is not a table"));
        };
        if all.contains_key(name.as_str()) && replace == Replace::Never {
            let message = format!("there is an upstream server `{name}` already; `toolcrib upstream rm {name}` removes it");
            return Err(ToolError::new(ErrorCode::Conflict, message));
        }
        all.insert(name.as_str(), Item::Table(table_of(&settings.written())));
        Ok(true)
    })
    .map(drop)
}

/// Removes a table `[upstreams.NAME]` from the home's config.toml; whether there was one.
pub fn remove_upstream(home: &Path, name: &Slug) -> Result<bool, ToolError> {
    edit(home, |document| {
        let all = document
            .get_mut(UPSTREAMS)
            .and_then(Item::as_table_like_mut);
        Ok(all.is_some_and(|all| all.remove(name.as_str()).is_some()))
    })
}

/// Edits the file under the lock of the home; it is written if `change` says so, and only if it can be read afterwards.
fn edit(
    home: &Path,
    change: impl FnOnce(&mut DocumentMut) -> Result<bool, ToolError>,
) -> Result<bool, ToolError> {
    let home_dir = DurableDir::create(home)?;
    // Who keeps the file elsewhere keeps it there: a link is followed, not replaced.
    let real = home
        .join(FILE)
        .canonicalize()
        .unwrap_or_else(|_| home.join(FILE));
    let (place, file) = split(&real);
    let _all = home_dir.lock()?;
    let elsewhere = match place == home.canonicalize().unwrap_or_else(|_| home.to_owned()) {
        true => None,
        false => Some(DurableDir::create(&place)?),
    };
    let elsewhere_lock = elsewhere.as_ref().map(DurableDir::lock).transpose()?;
    let (dir, lock) = match (&elsewhere, &elsewhere_lock) {
        (Some(dir), Some(lock)) => (dir, lock),
        _ => (&home_dir, &_all),
    };
    let before = dir.read(&file, MAX_BYTES)?.unwrap_or_default();
    let text = String::from_utf8(before).map_err(|_| wrong("config.toml is not text"))?;
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        wrong(&format!(
            "config.toml is not TOML: {}",
            error.to_string().trim_end()
        ))
    })?;
    let is_changed = change(&mut document)?;
    if is_changed {
        let text = document.to_string();
        let read: toml::Table = text
            .parse()
            .map_err(|_| wrong("config.toml would not be TOML any more"))?;
        if let Some(value) = read.get(UPSTREAMS) {
            self::read(value, FILE, Origin::Home).map_err(|error| wrong(&error.to_string()))?;
        }
        dir.write(lock, &file, text.as_bytes())?;
    }
    Ok(is_changed)
}

fn split(path: &Path) -> (PathBuf, String) {
    let directory = path.parent().unwrap_or(Path::new("/")).to_owned();
    let file = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    (directory, file)
}

fn wrong(message: &str) -> ToolError {
    ToolError::new(ErrorCode::Usage, message)
}

/// A table of TOML: what is plain first, tables of tables after it.
fn table_of(fields: &Map<String, Value>) -> Table {
    let mut table = Table::new();
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("tools", Value::Object(tools)) => {
                let mut all = Table::new();
                all.set_implicit(true);
                for (tool, policy) in tools {
                    let policy = policy.as_object().map(table_of).unwrap_or_default();
                    all.insert(tool, Item::Table(policy));
                }
                table.insert(key, Item::Table(all));
            }
            (_, value) => {
                if let Some(value) = toml_value(value) {
                    table.insert(key, Item::Value(value));
                }
            }
        }
    }
    table
}

fn toml_value(value: &Value) -> Option<toml_edit::Value> {
    match value {
        Value::Null => None,
        Value::Bool(on) => Some((*on).into()),
        Value::Number(number) => number.as_i64().map(Into::into),
        Value::String(text) => Some(text.as_str().into()),
        Value::Array(items) => Some(
            items
                .iter()
                .filter_map(toml_value)
                .collect::<toml_edit::Array>()
                .into(),
        ),
        Value::Object(fields) => {
            let mut table = toml_edit::InlineTable::new();
            for (key, value) in fields {
                if let Some(value) = toml_value(value) {
                    table.insert(key, value);
                }
            }
            Some(table.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn settings(value: Value) -> UpstreamSettings {
        UpstreamSettings::read(value.as_object().unwrap()).unwrap()
    }

    #[test]
    fn a_table_is_added_and_removed_and_everything_else_stays() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(FILE);
        let before = "# mine\ndisabledTools = [ 'x' ] # why not\n\n[limits]\ntimeoutMs = 5000\n";
        std::fs::write(&file, before).unwrap();
        let name = Slug::parse("files").unwrap();
        let wanted = settings(
            json!({"command": "npx", "args": ["-y", "it's"], "env": {"T": "secret:TOKEN"}, "tools": {"a.b": {"approval": "allow"}}}),
        );
        write_upstream(home.path(), &name, &wanted, Replace::Never).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with(before), "{text}");
        assert_eq!(read_upstreams(home.path()).unwrap()[&name], wanted);
        let error = write_upstream(home.path(), &name, &wanted, Replace::Never).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Conflict);
        let other = settings(json!({"url": "http://127.0.0.1:1/mcp"}));
        write_upstream(home.path(), &name, &other, Replace::Allowed).unwrap();
        assert_eq!(read_upstreams(home.path()).unwrap()[&name], other);
        assert!(remove_upstream(home.path(), &name).unwrap());
        assert!(!remove_upstream(home.path(), &name).unwrap());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    }

    #[test]
    fn a_link_to_the_file_is_followed() {
        let (home, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let real = elsewhere.path().join("toolcrib.toml");
        std::fs::write(&real, "# dotfiles\n").unwrap();
        std::os::unix::fs::symlink(&real, home.path().join(FILE)).unwrap();
        let name = Slug::parse("files").unwrap();
        write_upstream(
            home.path(),
            &name,
            &settings(json!({"command": "x"})),
            Replace::Never,
        )
        .unwrap();
        assert!(home.path().join(FILE).is_symlink());
        assert!(
            std::fs::read_to_string(&real)
                .unwrap()
                .contains("[upstreams.files]")
        );
    }

    #[test]
    fn a_file_that_is_no_toml_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join(FILE), "[limits\n").unwrap();
        let name = Slug::parse("files").unwrap();
        let error = write_upstream(
            home.path(),
            &name,
            &settings(json!({"command": "x"})),
            Replace::Never,
        )
        .unwrap_err();
        assert!(error.message().contains("is not TOML"), "{error}");
        assert_eq!(
            std::fs::read_to_string(home.path().join(FILE)).unwrap(),
            "[limits\n"
        );
    }

    #[test]
    fn what_a_table_says_wrong_is_named_with_its_place() {
        let wrong = |text: &str| {
            let value: toml::Table = text.parse().unwrap();
            read(&value[UPSTREAMS], "config.toml", Origin::Home)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            wrong("[upstreams.files]\ncomand = 'x'"),
            "config.toml: `upstreams.files.comand`: is unknown; did you mean `command`?"
        );
        assert!(wrong("[upstreams.core]\ncommand = 'x'").contains("a bundle of Toolcrib's own"));
        assert!(wrong("[upstreams]\nx = 3").contains("must be a table"));
    }
}
