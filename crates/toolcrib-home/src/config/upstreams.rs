//! The tables `[upstreams.NAME]`: reading them, and changing one in someone's config.toml without touching the rest.
//!
//! They are not settings with one value each, so they are not in the table of settings. A project's file may not have them: it would run
//! programs on the machine of a user who cloned it.

use std::path::Path;

use serde_json::{Map, Value};
use toml_edit::{DocumentMut, Item, Table};

use super::edit::{FILE, edit_home, parsed, wrong};
use super::{Config, ConfigError, Origin, open_regular, read_capped};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::Slug;
use crate::upstream::{self, UpstreamSettings, UpstreamTable};

/// The key of the tables.
pub(super) const UPSTREAMS: &str = "upstreams";

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
        let why = "cannot be set by a project: it would run programs; `toolcrib upstream add` puts it into `config.toml` in Toolcrib's home";
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

/// Sets what calls of some tools of an upstream server need (`allow`, `ask` or `deny`), and nothing else of the table. Whether there is such a table.
pub fn set_upstream_approval(
    home: &Path,
    name: &Slug,
    tools: &[String],
    approval: &str,
) -> Result<bool, ToolError> {
    let mut is_there = false;
    edit(home, |document| {
        let all = document
            .get_mut(UPSTREAMS)
            .and_then(Item::as_table_like_mut);
        let table = all.and_then(|all| all.get_mut(name.as_str())?.as_table_like_mut());
        let Some(table) = table else {
            return Ok(false);
        };
        is_there = true;
        let policies = table.entry("tools").or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let Some(policies) = policies.as_table_like_mut() else {
            return Err(wrong(&format!("`{UPSTREAMS}.{name}.tools` is not a table")));
        };
        for tool in tools {
            // Names of tools may have dots.
            let policy = policies
                .entry(tool)
                .or_insert_with(|| Item::Table(Table::new()));
            let Some(policy) = policy.as_table_like_mut() else {
                return Err(wrong(&format!(
                    "`{UPSTREAMS}.{name}.tools.{tool}` is not a table"
                )));
            };
            match policy.get_mut("approval") {
                Some(Item::Value(old)) => {
                    let decor = old.decor().clone();
                    *old = approval.into();
                    *old.decor_mut() = decor;
                }
                _ => {
                    policy.insert("approval", Item::Value(approval.into()));
                }
            }
        }
        Ok(true)
    })?;
    Ok(is_there)
}

/// Edits the file under the lock of the home; it is written if `change` says so, and only if it can be read afterwards.
fn edit(
    home: &Path,
    change: impl FnOnce(&mut DocumentMut) -> Result<bool, ToolError>,
) -> Result<bool, ToolError> {
    edit_home(home, |text, file| {
        let mut document = parsed(text, file)?;
        if !change(&mut document)? {
            return Ok(None);
        }
        let text = document.to_string();
        let read: toml::Table = text
            .parse()
            .map_err(|_| wrong(&format!("{file} would not be TOML any more")))?;
        if let Some(value) = read.get(UPSTREAMS) {
            self::read(value, file, Origin::Home).map_err(|error| wrong(&error.to_string()))?;
        }
        Ok(Some(text))
    })
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
            ("sandbox", Value::Object(fields)) => {
                table.insert(key, Item::Table(table_of(fields)));
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

pub(super) fn toml_value(value: &Value) -> Option<toml_edit::Value> {
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
    fn what_a_tool_needs_is_set_and_everything_else_stays() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(FILE);
        let name = Slug::parse("files").unwrap();
        let tools = ["a.b".to_owned(), "c".to_owned()];
        let set = |approval: &str| set_upstream_approval(home.path(), &name, &tools, approval);
        assert!(!set("allow").unwrap(), "there is no such server");
        let text = "[upstreams.files] # mine\ncommand = 'npx' # why\n\n[upstreams.files.tools.c]\napproval = 'deny' # no\n";
        std::fs::write(&file, text).unwrap();
        assert!(set("allow").unwrap());
        let new = std::fs::read_to_string(&file).unwrap();
        for kept in [
            "[upstreams.files] # mine\n",
            "command = 'npx' # why\n",
            "approval = \"allow\" # no\n",
        ] {
            assert!(new.contains(kept), "{new}");
        }
        let read = read_upstreams(home.path()).unwrap();
        let written = read[&name].written();
        assert_eq!(written["tools"]["a.b"]["approval"], "allow");
        assert_eq!(written["tools"]["c"]["approval"], "allow");
        assert!(set("sometimes").is_err());
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
    fn a_file_that_is_not_toml_is_left_alone() {
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
