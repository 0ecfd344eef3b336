//! `toolcrib rm`: removes a version of a stored tool, or a tool's file, for good.

use std::process::ExitCode;

use serde_json::json;
use toolcrib::crib::ToolRow;
use toolcrib::model::text::visible;
use toolcrib::registry::{Entry, Source};
use toolcrib::source::ToolFile;
use toolcrib::{Crib, ErrorCode, ToolError};

use super::confirm::{confirmed, declined};
use super::names::Holders;
use super::tool_file::{find, not_found};
use super::{Done, reference, stored, word};
use crate::args::{Global, RmArgs};
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::Backend;

pub(super) fn rm(args: &RmArgs, backend: &Backend, global: &Global, output: &Output) -> Done {
    let found = stored::find(&args.tool, backend);
    match (found, backend.crib()) {
        (Ok(row), None) => version(args, &row, backend, global, output),
        (Ok(row), Some(_)) if row.source == Source::Store => {
            version(args, &row, backend, global, output)
        }
        (Err(error), None) => Err(error),
        (_, Some(crib)) => file(args, crib, global, output),
    }
}

/// A tool that is not of the store: its file, if it has one.
fn file(args: &RmArgs, crib: &Crib, global: &Global, output: &Output) -> Done {
    let found = crib.registry().find(&args.tool);
    let report = crib.tool_files();
    let file = match &found {
        Ok(entry) => report.file_of(entry),
        Err(_) => find(&args.tool, &report.files),
    };
    match (file, found) {
        (Some(file), _) => of_file(args, file, crib, global, output),
        (None, Ok(entry)) => Err(read_only(&entry)),
        (None, Err(error)) => Err(not_found(error, &args.tool, &report.files)),
    }
}

/// One version of a stored tool.
fn version(
    args: &RmArgs,
    row: &ToolRow,
    backend: &Backend,
    global: &Global,
    output: &Output,
) -> Done {
    let reference = reference(row);
    if row.source == Source::Store && !stored::names_version(&args.tool) {
        let versions = stored::versions_of(row, backend)?;
        if versions.len() > 1 {
            return Err(several(row, &versions));
        }
    }
    let question = format!("remove `{}` for good? [y/n] ", visible(&reference));
    agree(args, &question, global, output)?;
    let before = Holders::of([row.name.clone()], backend)?;
    backend.wait(backend.client.delete(&stored::path_of(row)))?;
    if output.json() {
        output.document(&json!({"removed": [reference]}));
    } else {
        output.say(&format!("removed `{}`", visible(&reference)));
        before.say_changes(&before.now(backend)?, output);
    }
    Ok(ExitCode::SUCCESS)
}

fn several(row: &ToolRow, versions: &[ToolRow]) -> CliError {
    let versions: Vec<&str> = versions.iter().map(|row| row.version.as_str()).collect();
    let message = format!(
        "`{}/{}` has {} versions: {}; nothing was removed",
        row.bundle,
        row.slug,
        versions.len(),
        versions.join(", ")
    );
    let error = ToolError::new(ErrorCode::Usage, message).with_detail("versions", versions);
    let hint = format!("name one: `toolcrib rm {}`", word(&reference(row)));
    CliError::from(error).with_hint(hint)
}

/// The file of a tool, and what was trusted about it.
fn of_file(args: &RmArgs, file: &ToolFile, crib: &Crib, global: &Global, output: &Output) -> Done {
    agree(
        args,
        &format!("remove {} for good? [y/n] ", file.shown),
        global,
        output,
    )?;
    std::fs::remove_file(&file.path).map_err(|error| {
        let message = format!("cannot remove `{}`: {error}", file.shown);
        ToolError::new(ErrorCode::StorageError, message)
    })?;
    crib.unpin(&file.path)?;
    if output.json() {
        output.document(&json!({"removed": [file.reference()], "file": file.path}));
        return Ok(ExitCode::SUCCESS);
    }
    output.say(&format!("removed {}", file.shown));
    // Another tool may have had the same name all the time.
    if let Ok(entry) = crib.registry().find(&file.name) {
        let (name, reference) = (visible(&file.name), entry.spec().reference());
        output.say(&format!(
            "`{name}` is `{}` from now on",
            visible(&reference)
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn agree(args: &RmArgs, question: &str, global: &Global, output: &Output) -> Result<(), CliError> {
    if args.yes || confirmed(question, global, output)? {
        return Ok(());
    }
    Err(declined("nothing was removed"))
}

fn read_only(entry: &Entry) -> CliError {
    let name = &entry.spec().name;
    let (what, off) = match entry.source() {
        Source::App => ("comes with the program", true),
        Source::Upstream => ("is a tool of an upstream server", true),
        Source::BuiltIn | Source::Local | Source::User | Source::Global | Source::Store => {
            ("is built in", entry.source() == Source::BuiltIn)
        }
    };
    let message = format!("`{name}` {what} and cannot be removed");
    let error = CliError::from(ToolError::new(ErrorCode::ReadOnly, message));
    match off {
        true => error.with_hint(format!("`toolcrib disable {name}` switches it off")),
        false => error,
    }
}
