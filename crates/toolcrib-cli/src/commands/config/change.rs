//! `toolcrib config set`, `unset` and `edit`: one file is changed, and nothing in it but what was asked for.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use toolcrib::config::{self, Changed, Config, Setting, SettingChange, Surroundings};
use toolcrib::model::text;
use toolcrib::{ErrorCode, ToolError};

use super::super::Done;
use super::super::edit::{Copy, Desk, editor};
use super::file_of_project;
use crate::args::{ConfigEditArgs, ConfigSetArgs, ConfigUnsetArgs, Global};
use crate::clients_of_others::{ClientFile, FileProblem};
use crate::failure::CliError;
use crate::output::Output;
use crate::prompt::Terminal;

pub(super) fn set(args: &ConfigSetArgs, global: &Global, output: &Output) -> Done {
    let (setting, words) = setting_and_words(&args.key, &args.values)?;
    if args.add && !setting.is_list() {
        let message = format!("`{}` holds one value, not a list", setting.key);
        return Err(CliError::usage(message).with_hint("leave `--add` out"));
    }
    let value = read(setting, &words)?;
    let change = match args.add {
        true => SettingChange::Add(value.as_array().cloned().unwrap_or_default()),
        false => SettingChange::Set(value),
    };
    apply(setting, &change, args.project, global, output)
}

pub(super) fn unset(args: &ConfigUnsetArgs, global: &Global, output: &Output) -> Done {
    let setting = find(&args.key)?;
    let change = match args.values.as_slice() {
        [] => SettingChange::Unset,
        _ if !setting.is_list() => {
            let message = format!("`{}` holds one value, not a list", setting.key);
            let hint = format!("`toolcrib config unset {}` removes it", setting.key);
            return Err(CliError::usage(message).with_hint(hint));
        }
        words => SettingChange::Remove(
            read(setting, words)?
                .as_array()
                .cloned()
                .unwrap_or_default(),
        ),
    };
    apply(setting, &change, args.project, global, output)
}

/// The setting of a key; `KEY=VALUE` is understood, too.
fn setting_and_words(
    key: &str,
    values: &[String],
) -> Result<(&'static Setting, Vec<String>), CliError> {
    if let (Some((key, value)), []) = (key.split_once('='), values) {
        return Ok((find(key)?, vec![value.to_owned()]));
    }
    let setting = find(key)?;
    if values.is_empty() {
        let key = setting.key;
        let message = format!("`{key}` needs a value: {}", setting.kind_in_words());
        return Err(
            CliError::usage(message).with_hint(format!("`toolcrib config unset {key}` removes it"))
        );
    }
    Ok((setting, values.to_vec()))
}

fn find(key: &str) -> Result<&'static Setting, CliError> {
    if let Some(setting) = Setting::find(key) {
        return Ok(setting);
    }
    let own = ["rules", "upstreams", "databases"];
    let first = key.split('.').next().unwrap_or_default();
    if own.contains(&first) {
        let hint = match first {
            "upstreams" => "`toolcrib upstream add` writes them",
            _ => "`toolcrib config edit` opens the file",
        };
        let message = format!("`{first}` is a table, not a setting with one value");
        return Err(CliError::usage(message).with_hint(hint));
    }
    let keys = config::SETTINGS.iter().map(|setting| setting.key);
    let near = text::nearest(key, keys);
    let message = format!(
        "unknown setting `{}`",
        text::shorten(&text::visible(key), 80)
    );
    Err(CliError::usage(message).with_hint(match near.as_slice() {
        [] => "`toolcrib config show` lists the settings".to_owned(),
        near => format!("did you mean {}?", text::or_list(near)),
    }))
}

fn read(setting: &Setting, words: &[String]) -> Result<Value, CliError> {
    setting.read_words(words).map_err(|why| {
        let message = format!("`{}` {why}", setting.key);
        CliError::from(ToolError::new(ErrorCode::Usage, message)).with_hint(format!(
            "`toolcrib explain {}` says what it takes",
            setting.key
        ))
    })
}

fn apply(
    setting: &'static Setting,
    change: &SettingChange,
    project: bool,
    global: &Global,
    output: &Output,
) -> Done {
    let (home, surroundings) = home(global)?;
    let (file, changed) = match project {
        false => (
            home.join("config.toml"),
            config::change_home(&home, setting, change)?,
        ),
        true => in_project(setting, change, &home, &surroundings, global)?,
    };
    if output.json() {
        output.document(&json!({
            "key": setting.key, "file": file, "before": changed.before, "value": changed.after,
            "changed": changed.before != changed.after,
        }));
        return Ok(ExitCode::SUCCESS);
    }
    let file = file.display();
    let key = setting.key;
    output.line(&match (&changed.before, &changed.after) {
        (before, after) if before == after => match after {
            Some(value) => format!("{key} = {value} already, in {file}"),
            None => format!("{key} is not set in {file}"),
        },
        (_, Some(value)) => format!("{key} = {value}, in {file}"),
        (_, None) => format!("{key} is removed from {file}"),
    });
    let variable = setting.variable();
    if surroundings.variable(&variable).is_some() {
        output.say(&format!(
            "{} {variable} is set in the environment and wins over the file",
            output.bold("note:")
        ));
    }
    if key.starts_with("server.") || key.starts_with("telemetry.") {
        output.say(&output.dim("a running server reads it when it is restarted"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Changes the file of the project, where it may only tighten.
fn in_project(
    setting: &Setting,
    change: &SettingChange,
    home: &Path,
    surroundings: &Surroundings,
    global: &Global,
) -> Result<(PathBuf, Changed), CliError> {
    let config =
        Config::load(home, surroundings).map_err(|error| CliError::usage(error.to_string()))?;
    let (project, path) = file_of_project(&config, surroundings, global)?;
    let file = ClientFile::read_in_project(&project, &path).map_err(unusable)?;
    let changed = config::change_text(file.text(), &path.display().to_string(), setting, change)?;
    if let Some(value) = changed
        .after
        .as_ref()
        .filter(|_| *change != SettingChange::Unset)
    {
        setting
            .may_be_set_by_project(value, &config)
            .map_err(|why| CliError::usage(format!("`{}`: {why}", setting.key)))?;
    }
    if changed.text != file.text() {
        file.replace(&changed.text).map_err(unusable)?;
    }
    Ok((path, changed))
}

pub(super) fn edit(args: &ConfigEditArgs, global: &Global, output: &Output) -> Done {
    let setting = args.key.as_deref().map(find).transpose()?;
    let (home, surroundings) = home(global)?;
    let config = Config::load(&home, &surroundings);
    let (path, project) = match args.project {
        true => {
            let config = config.map_err(|error| CliError::usage(error.to_string()))?;
            let (project, path) = file_of_project(&config, &surroundings, global)?;
            (path, Some(project))
        }
        false => (home.join("config.toml"), None),
    };
    let file = match &project {
        Some(project) => ClientFile::read_in_project(project, &path),
        None => ClientFile::read(&path),
    };
    let file = file.map_err(unusable)?;
    let Some(editor) = editor() else {
        let message = "there is no editor: neither VISUAL nor EDITOR is set";
        return Err(CliError::usage(message).with_hint(format!(
            "`EDITOR=nano toolcrib config edit`, or edit {} yourself",
            path.display()
        )));
    };
    let terminal = (!global.no_input)
        .then(|| Terminal::find(output.colours_terminal()))
        .flatten();
    let desk = Desk::new(editor, terminal)?;
    let before = match file.text() {
        "" => "# Settings of Toolcrib; `toolcrib config reference` describes them.\n",
        text => text,
    };
    let before = match setting {
        Some(setting) => with_line(before, &path, setting),
        None => before.to_owned(),
    };
    let before = before.as_str();
    let copy = Copy::of(before, "config.toml")?;
    let saved = loop {
        if let Err(error) = desk.run_editor(copy.path()) {
            copy.keep_if_changed(before);
            return Err(error);
        }
        let saved = copy.read()?;
        if saved == before {
            output.say("nothing was changed");
            return Ok(ExitCode::SUCCESS);
        }
        let Err(error) = check(&saved, project.as_deref(), &home, &surroundings) else {
            break saved;
        };
        output.error_line(&format!(
            "{} {}",
            output.red("error:"),
            text::visible(&error)
        ));
        if !desk.edit_on() {
            let kept = copy.keep();
            let message = format!(
                "the settings are not valid; {} was not changed",
                path.display()
            );
            let error = ToolError::new(ErrorCode::Usage, message)
                .with_detail("copy", kept.display().to_string());
            let hint = format!("your text is in {}", kept.display());
            return Err(CliError::from(error).with_hint(hint));
        }
    };
    let written = match &project {
        Some(_) => file.replace(&saved).map_err(unusable),
        None => config::replace_home(&home, file.text(), &saved).map_err(CliError::from),
    };
    if let Err(error) = written {
        let kept = copy.keep();
        return Err(error.with_hint(format!("your text is in {}", kept.display())));
    }
    if output.json() {
        output.document(&json!({"file": path, "changed": true}));
    } else {
        output.line(&format!("saved {}", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// A file's text with a line for a setting: its own, or one with the default. A file that cannot be read, and a setting without a default,
/// are left to the editor.
fn with_line(text: &str, path: &Path, setting: &Setting) -> String {
    let set = |change| config::change_text(text, &path.display().to_string(), setting, &change);
    match set(SettingChange::Set(setting.default.clone())) {
        Ok(changed) if changed.before.is_none() => changed.text,
        _ => text.to_owned(),
    }
}

/// Checks a text as a file of settings; the error is in words.
fn check(
    text: &str,
    project: Option<&Path>,
    home: &Path,
    surroundings: &Surroundings,
) -> Result<(), String> {
    match project {
        None => {
            let file = home.join("config.toml").display().to_string();
            config::check_text(text, &file).map_err(|error| error.message().to_owned())
        }
        Some(_) => {
            let config = Config::load(home, surroundings).map_err(|error| error.to_string())?;
            config
                .check_project_text(text)
                .map_err(|error| error.to_string())
        }
    }
}

fn home(global: &Global) -> Result<(PathBuf, Surroundings), CliError> {
    let surroundings = Surroundings::of_process();
    let home = match &global.home {
        Some(home) => surroundings.resolve(home),
        None => surroundings
            .home()
            .map_err(|error| CliError::usage(error.to_string()))?,
    };
    Ok((home, surroundings))
}

fn unusable(problem: FileProblem) -> CliError {
    let code = match problem.is_conflict {
        true => ErrorCode::Conflict,
        false => ErrorCode::StorageError,
    };
    ToolError::new(code, problem.message).into()
}
