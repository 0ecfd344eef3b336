//! `toolcrib config`: the settings in force and where they come from.

use std::process::ExitCode;

use serde_json::{Value, json};
use toolcrib::config::{Config, Origin, SETTINGS, Surroundings, reference};

use super::{Done, open};
use crate::args::{ConfigCommand, Global};
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn config(command: &ConfigCommand, global: &Global, output: &Output) -> Done {
    match command {
        ConfigCommand::Show => show(open(global, output)?.config(), output),
        // Works when the settings are broken: that is when it is needed.
        ConfigCommand::Path => path(global, output)?,
        ConfigCommand::Reference if output.json() => output.document(&settings()),
        ConfigCommand::Reference => output.text(&reference()),
    }
    Ok(ExitCode::SUCCESS)
}

fn show(config: &Config, output: &Output) {
    if output.json() {
        let rows: Vec<Value> = config
            .entries()
            .map(|(setting, value, origin)| {
                json!({"key": setting.key, "value": value, "origin": origin, "variable": setting.variable()})
            })
            .collect();
        output.document(&rows);
        return;
    }
    let rows: Vec<Vec<String>> = config
        .entries()
        .map(|(setting, value, origin)| {
            let value = if value.is_null() {
                "unset".to_owned()
            } else {
                value.to_string()
            };
            let origin = match origin {
                Origin::Environment => setting.variable(),
                other => other.to_string(),
            };
            vec![setting.key.to_owned(), value, origin]
        })
        .collect();
    output.table(&["KEY", "VALUE", "FROM"], &rows);
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
