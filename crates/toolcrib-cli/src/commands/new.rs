//! `toolcrib new` and `toolcrib init`: files that work as they are, checked before they are written.

mod bundle;
mod http;

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;
use toolcrib::definition::{self, Severity};
use toolcrib::source::FileKind;
use toolcrib::{Crib, ErrorCode, Slug, ToolError, WireName};

use super::show::call_line;
use super::tool_file::{self, Overwrite, Written};
use super::{Done, open};
use crate::args::{Global, NewArgs};
use crate::failure::CliError;
use crate::output::Output;
use crate::wrap;

const SHELL: &str = include_str!("new/shell.yaml");
const STEPS: &str = include_str!("new/steps.yaml");
const ALIAS: &str = include_str!("new/alias.yaml");
const FIRST: &str = include_str!("new/count-lines.yaml");
const FIRST_NAME: &str = "count-lines";

/// A description is a sentence or two.
const MAX_DESCRIPTION: usize = 1000;

pub(super) fn new(args: &NewArgs, global: &Global, output: &Output) -> Done {
    let name = name(args)?;
    if let Some(command) = &args.from_curl {
        return http::from_curl(command, args, &name, global, output);
    }
    if args.http {
        return http::template(args, &name, global, output);
    }
    let text = fill(args, name.as_str())?;
    checked(&text, name.as_str())?;
    let crib = open(global, output)?;
    if let Some(bundle) = &args.bundle {
        let reference = bundle::put(bundle, FileKind::Yaml, &text, args, &crib)?;
        bundle::report(&reference, &crib, output);
        return Ok(ExitCode::SUCCESS);
    }
    let place = place(args, &name, "yaml", &crib)?;
    write_and_pin(&place, &text, &crib)?;
    report(name.as_str(), &place.path, &crib, output);
    Ok(ExitCode::SUCCESS)
}

/// The name for models. In a bundle it follows from the slug, which may be of any script.
fn name(args: &NewArgs) -> Result<WireName, CliError> {
    let error = match WireName::parse(&args.name) {
        Ok(name) => return Ok(name),
        Err(error) => error,
    };
    match (Slug::parse(&args.name), &args.bundle) {
        (Ok(slug), Some(_)) => Ok(WireName::derive(&slug)),
        _ => Err(CliError::usage(format!(
            "`{}` is not a valid tool name: {error}",
            args.name
        ))),
    }
}

/// Where a tool's file goes.
struct NewFile {
    name: String,
    path: PathBuf,
    overwrite: Overwrite,
}

/// Where the file of a tool with this name goes, and whether one that is there gives way.
fn place(
    args: &NewArgs,
    name: &WireName,
    extension: &str,
    crib: &Crib,
) -> Result<NewFile, CliError> {
    refuse_built_in(name.as_str(), crib)?;
    let directory = match args.scope.as_str() {
        "user" => tool_file::user_directory()?,
        _ => tool_file::local_directory(crib)?,
    };
    let overwrite = match args.force {
        true => Overwrite::Yes,
        false => Overwrite::No,
    };
    Ok(NewFile {
        name: name.to_string(),
        path: directory.join(format!("{name}.{extension}")),
        overwrite,
    })
}

/// Writes the file and trusts it: its author asked for it.
fn write_and_pin(place: &NewFile, text: &str, crib: &Crib) -> Result<(), CliError> {
    let path = &place.path;
    if tool_file::write(path, text, place.overwrite)? == Written::WasThere {
        let message = format!("`{}` is there already", tool_file::shown(path, crib));
        let hint = format!(
            "`toolcrib edit {}` changes it, `--force` replaces it",
            place.name
        );
        return Err(CliError::from(ToolError::new(ErrorCode::FileExists, message)).with_hint(hint));
    }
    crib.pin(path, text.as_bytes())?;
    Ok(())
}

pub(super) fn init(global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    let path = tool_file::local_directory(&crib)?.join(format!("{FIRST_NAME}.yaml"));
    checked(FIRST, FIRST_NAME)?;
    let written = tool_file::write(&path, FIRST, Overwrite::No)?;
    if written == Written::New {
        crib.pin(&path, FIRST.as_bytes())?;
    }
    let shown = tool_file::shown(&path, &crib);
    if output.json() {
        output.document(&json!({"ok": true, "value": {
            "tool": FIRST_NAME,
            "file": path,
            "created": written == Written::New,
        }}));
        return Ok(ExitCode::SUCCESS);
    }
    match written {
        Written::New => output.line(&format!("wrote {shown}")),
        Written::WasThere => output.line(&format!("{shown} is there already")),
    }
    next(
        &[
            ("toolcrib run count-lines", "call it"),
            ("toolcrib test", "run its tests"),
            ("toolcrib new NAME", "write another tool"),
        ],
        output,
    );
    Ok(ExitCode::SUCCESS)
}

fn report(name: &str, path: &PathBuf, crib: &Crib, output: &Output) {
    if output.json() {
        output
            .document(&json!({"ok": true, "value": {"tool": name, "file": path, "created": true}}));
        return;
    }
    output.line(&format!("wrote {}", tool_file::shown(path, crib)));
    let entry = crib.registry().find(name).ok();
    let line = entry.map_or(name.to_owned(), |entry| call_line(entry.spec()));
    let run = format!("toolcrib run {line}");
    next(
        &[
            (&format!("toolcrib edit {name}"), "make it yours"),
            (&format!("toolcrib test {name}"), "run its tests"),
            (&run, "call it"),
        ],
        output,
    );
}

/// What to type next.
fn next(lines: &[(&str, &str)], output: &Output) {
    let width = lines.iter().map(|(command, _)| wrap::width(command)).max();
    for (command, what) in lines {
        let pad = width
            .unwrap_or_default()
            .saturating_sub(wrap::width(command));
        output.say(&format!("  {command}{:pad$}   {}", "", output.dim(what)));
    }
}

fn fill(args: &NewArgs, name: &str) -> Result<String, CliError> {
    let (template, description) = match args.kind.as_str() {
        "steps" => (STEPS, "Keeps a note and says how many there are"),
        "alias" => (
            ALIAS,
            "Lists every file of a directory and of those below it",
        ),
        _ => (SHELL, "Greets a person"),
    };
    // As JSON: whatever it holds, YAML reads it as this text.
    let own = self::description(args)?.map(|text| json!(text).to_string());
    let description = own.unwrap_or_else(|| description.to_owned());
    Ok(template
        .replace("{{name}}", name)
        .replace("{{description}}", &description))
}

/// What `--description` says.
fn description(args: &NewArgs) -> Result<Option<String>, CliError> {
    match args.description.as_deref().map(str::trim) {
        None => Ok(None),
        Some("") => Err(CliError::usage("`--description` says nothing")),
        Some(text) if text.len() > MAX_DESCRIPTION || text.chars().any(char::is_control) => {
            Err(CliError::usage(format!(
                "`--description` is one line of at most {MAX_DESCRIPTION} bytes"
            )))
        }
        Some(text) => Ok(Some(text.to_owned())),
    }
}

/// The written file works: a problem is a mistake of the template, or of the name in it.
fn checked(text: &str, name: &str) -> Result<(), CliError> {
    let reading = definition::read(text.as_bytes(), name);
    let wrong = reading
        .problems
        .iter()
        .find(|problem| problem.severity == Severity::Error);
    match wrong {
        None => Ok(()),
        Some(problem) => Err(CliError::usage(format!(
            "a tool named `{name}` cannot be made from this template: {}",
            problem.message
        ))),
    }
}

fn refuse_built_in(name: &str, crib: &Crib) -> Result<(), CliError> {
    let entry = crib.registry().find(name).ok();
    let is_built_in =
        entry.is_some_and(|entry| entry.source() == toolcrib::registry::Source::BuiltIn);
    if !is_built_in {
        return Ok(());
    }
    let message = format!("`{name}` is a built-in tool, which no other can take the place of");
    Err(CliError::from(ToolError::new(ErrorCode::Conflict, message))
        .with_hint("choose another name"))
}
