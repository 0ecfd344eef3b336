//! `toolcrib config`: the settings in force, where they come from, and changing them.

mod change;

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};
use toolcrib::config::{Config, Origin, SETTINGS, Setting, Surroundings, reference};
use toolcrib::model::text;

use super::{Done, open};
use crate::args::{ConfigCommand, Global};
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn config(command: &ConfigCommand, global: &Global, output: &Output) -> Done {
    match command {
        ConfigCommand::Show { key, changed } => {
            show(
                key.as_deref(),
                *changed,
                open(global, output)?.config(),
                output,
            )?;
        }
        ConfigCommand::Set(args) => return change::set(args, global, output),
        ConfigCommand::Unset(args) => return change::unset(args, global, output),
        ConfigCommand::Edit(args) => return change::edit(args, global, output),
        // Works when the settings are broken: that is when it is needed.
        ConfigCommand::Path => path(global, output)?,
        ConfigCommand::Reference if output.json() => output.document(&settings()),
        ConfigCommand::Reference => output.text(&reference()),
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints settings: all of them, those whose key begins so, or those that differ from the default.
fn show(
    key: Option<&str>,
    changed: bool,
    config: &Config,
    output: &Output,
) -> Result<(), CliError> {
    let is_asked = |setting: &Setting| {
        key.is_none_or(|key| {
            let rest = setting.key.strip_prefix(key.trim_end_matches('.'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    let entries: Vec<(&Setting, &Value, Origin)> = config
        .entries()
        .filter(|(setting, _, origin)| {
            is_asked(setting) && (!changed || *origin != Origin::Default)
        })
        .collect();
    if let (Some(key), true) = (key, entries.is_empty() && !changed) {
        let keys = SETTINGS.iter().map(|setting| setting.key);
        let hint = match text::nearest(key, keys).as_slice() {
            [] => "`toolcrib config show` lists the settings".to_owned(),
            near => format!("did you mean {}?", text::or_list(near)),
        };
        let key = text::visible(key).into_owned();
        return Err(CliError::usage(format!("unknown setting `{key}`")).with_hint(hint));
    }
    if output.json() {
        let rows: Vec<Value> = entries
            .iter()
            .map(|(setting, value, origin)| {
                json!({"key": setting.key, "value": value, "origin": origin, "variable": setting.variable()})
            })
            .collect();
        output.document(&rows);
        return Ok(());
    }
    if entries.is_empty() && !output.plain() {
        output.say("every setting has its default; `toolcrib config set KEY VALUE` changes one");
        return Ok(());
    }
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|(setting, value, origin)| {
            let value = if value.is_null() {
                "unset".to_owned()
            } else {
                value.to_string()
            };
            let origin = match *origin {
                Origin::Environment => setting.variable(),
                other => other.to_string(),
            };
            vec![setting.key.to_owned(), value, origin]
        })
        .collect();
    output.table(&["KEY", "VALUE", "FROM"], &rows);
    Ok(())
}

/// The workspace, and where its file of settings is.
fn file_of_project(
    config: &Config,
    surroundings: &Surroundings,
    global: &Global,
) -> Result<(PathBuf, PathBuf), CliError> {
    let workspace = surroundings
        .find_workspace(global.workspace.as_deref(), Some(config))
        .map_err(|error| CliError::usage(error.to_string()))?;
    let file = workspace.join(".toolcrib/config.toml");
    Ok((workspace, file))
}

fn path(global: &Global, output: &Output) -> Result<(), CliError> {
    let surroundings = Surroundings::of_process();
    let home = match &global.home {
        Some(home) => surroundings.resolve(home),
        None => surroundings
            .home()
            .map_err(|error| CliError::usage(error.to_string()))?,
    };
    let config = Config::load(&home, &surroundings).ok();
    let workspace = surroundings
        .find_workspace(global.workspace.as_deref(), config.as_ref())
        .ok();
    let files: Vec<_> = std::iter::once(("home", home.join("config.toml")))
        .chain(workspace.map(|path| ("project", path.join(".toolcrib/config.toml"))))
        .collect();
    if output.json() {
        let rows: Vec<Value> = files
            .iter()
            .map(|(origin, path)| json!({"origin": origin, "path": path, "exists": path.exists()}))
            .collect();
        output.document(&rows);
        return Ok(());
    }
    let rows: Vec<Vec<String>> = files
        .iter()
        .map(|(origin, path)| {
            let state = if path.exists() { "read" } else { "not there" };
            vec![
                (*origin).to_owned(),
                state.to_owned(),
                path.display().to_string(),
            ]
        })
        .collect();
    output.table(&["FROM", "STATE", "FILE"], &rows);
    Ok(())
}

/// The reference, for programs.
fn settings() -> Vec<Value> {
    SETTINGS
        .iter()
        .map(|setting| {
            json!({"key": setting.key, "default": setting.default, "variable": setting.variable(),
                   "effect": setting.effect})
        })
        .collect()
}
