//! `toolcrib rm`: removes a version of a stored tool, or a tool's file, for good.

use std::process::ExitCode;
use std::sync::Arc;

use serde_json::json;
use toolcrib::model::text::visible;
use toolcrib::registry::{Entry, Source};
use toolcrib::source::ToolFile;
use toolcrib::store::StoredTool;
use toolcrib::{Crib, ErrorCode, ToolError};

use super::confirm::{confirmed, declined};
use super::tool_file::{find, not_found};
use super::{Done, open, stored, word};
use crate::args::{Global, RmArgs};
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn rm(args: &RmArgs, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    let found = crib.registry().find(&args.tool);
    if let Some((entry, record)) = found.as_ref().ok().and_then(|entry| {
        let record = stored::record(entry, &crib)?;
        Some((entry, record))
    }) {
        return version(args, entry, &record, &crib, global, output);
    }
    let report = crib.tool_files();
    let file = match &found {
        Ok(entry) => report.file_of(entry),
        Err(_) => find(&args.tool, &report.files),
    };
    match (file, found) {
        (Some(file), _) => of_file(args, file, &crib, global, output),
        (None, Ok(entry)) => Err(read_only(&entry)),
        (None, Err(error)) => Err(not_found(error, &args.tool, &report.files)),
    }
}

/// One version of a stored tool.
fn version(
    args: &RmArgs,
    entry: &Arc<Entry>,
    record: &StoredTool,
    crib: &Crib,
    global: &Global,
    output: &Output,
) -> Done {
    let reference = entry.spec().reference();
    let versions = stored::versions(record, crib);
    if versions.len() > 1 && !stored::names_version(&args.tool) {
        let tool = format!("{}/{}", entry.spec().bundle, record.key.slug);
        let versions: Vec<&str> = versions
            .iter()
            .map(|record| record.key.version.as_str())
            .collect();
        let message = format!(
            "`{tool}` has {} versions: {}; nothing was removed",
            versions.len(),
            versions.join(", ")
        );
        let error = ToolError::new(ErrorCode::Usage, message).with_detail("versions", versions);
        let hint = format!("name one: `toolcrib rm {}`", word(&reference));
        return Err(CliError::from(error).with_hint(hint));
    }
    let question = format!("remove `{}` for good? [y/n] ", visible(&reference));
    agree(args, &question, global, output)?;
    let names = stored::Names::of(std::slice::from_ref(entry), crib);
    // By its id: the very record that was named, whatever has its reference by now.
    crib.delete_tool(&record.head.tool_id.to_string())?;
    if output.json() {
        output.document(&json!({"removed": [reference]}));
    } else {
        output.say(&format!("removed `{}`", visible(&reference)));
        names.say_changes(crib, output);
    }
    Ok(ExitCode::SUCCESS)
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
