//! `toolcrib bundle export`: writes a bundle as a ZIP file, whole or not at all.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use toolcrib::model::text::visible;
use toolcrib::store::archive;
use toolcrib::{ErrorCode, ToolError};

use super::{counted, given};
use crate::args::{BundleExportArgs, Global};
use crate::commands::{Done, bytes_in_words, open};
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn export(args: &BundleExportArgs, global: &Global, output: &Output) -> Done {
    refuse_stdout(args, output)?;
    let crib = open(global, output)?;
    let view = crib.bundle(&args.bundle)?;
    given::refuse_own(&view)?;
    let bundle = &view.bundle;
    let row = json!({"slug": bundle.slug, "bundleID": bundle.bundle_id, "tools": view.tools});
    refuse_place(args, &row)?;
    let bytes = archive::export(crib.store(), bundle.bundle_id, crib.secrets());
    let bytes = bytes.map_err(ToolError::from)?;
    write_out(args, &row, &bytes, output)
}

fn is_to_stdout(args: &BundleExportArgs) -> bool {
    args.output.as_deref() == Some(Path::new("-"))
}

/// Refuses to put an archive where it does not belong.
pub(in crate::commands) fn refuse_stdout(
    args: &BundleExportArgs,
    output: &Output,
) -> Result<(), CliError> {
    if is_to_stdout(args) && output.json() {
        let message = "`--json` and `-o -` both want stdout";
        return Err(CliError::usage(message).with_hint("name a file: `-o FILE`"));
    }
    if is_to_stdout(args) && output.is_terminal() {
        let message = "an archive is nothing for a terminal";
        return Err(CliError::usage(message).with_hint("name a file: `-o FILE`, or pipe it on"));
    }
    Ok(())
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Where the archive of a bundle goes, and what becomes of a file there.
fn place(args: &BundleExportArgs, row: &Value) -> (PathBuf, Overwrite) {
    let file = match &args.output {
        Some(file) => file.clone(),
        None => default_name(text(row, "slug"), text(row, "bundleID")),
    };
    let overwrite = match args.force {
        true => Overwrite::Yes,
        false => Overwrite::Never,
    };
    (file, overwrite)
}

/// Refuses a place that cannot be written to, before anything is packed.
pub(in crate::commands) fn refuse_place(
    args: &BundleExportArgs,
    row: &Value,
) -> Result<(), CliError> {
    let (file, overwrite) = place(args, row);
    match is_to_stdout(args) {
        true => Ok(()),
        false => refuse_target(&file, overwrite),
    }
}

/// Writes an archive of a bundle (`{slug, bundleID, tools}`) where it was asked for, and says so.
pub(in crate::commands) fn write_out(
    args: &BundleExportArgs,
    row: &Value,
    bytes: &[u8],
    output: &Output,
) -> Done {
    if is_to_stdout(args) {
        output.bytes(bytes);
        return Ok(ExitCode::SUCCESS);
    }
    let (file, overwrite) = place(args, row);
    write(&file, bytes, overwrite)?;
    let shown = file.display().to_string();
    if output.json() {
        output.document(&json!({
            "bundleID": row["bundleID"], "slug": row["slug"], "file": shown, "bytes": bytes.len(),
            "tools": row["tools"],
        }));
        return Ok(ExitCode::SUCCESS);
    }
    output.line(&visible(&shown));
    let tools = row["tools"]
        .as_u64()
        .and_then(|tools| usize::try_from(tools).ok());
    let (tools, size) = (
        counted(tools.unwrap_or_default(), "tool"),
        bytes_in_words(bytes.len() as u64),
    );
    let slug = visible(text(row, "slug"));
    output.say(&format!(
        "`{slug}` with {tools}, {size}; no value of a kept secret is in it"
    ));
    Ok(ExitCode::SUCCESS)
}

/// What becomes of a file that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overwrite {
    Never,
    Yes,
}

/// Slugs of other scripts are letters that not every file system and shell takes; a leading dash is an option to the next command.
fn default_name(slug: &str, id: &str) -> PathBuf {
    match slug.is_ascii() && !slug.starts_with('-') {
        true => format!("{slug}.zip").into(),
        false => format!("{id}.zip").into(),
    }
}

/// Refuses what cannot be written to before anything is packed.
fn refuse_target(file: &Path, overwrite: Overwrite) -> Result<(), CliError> {
    let Ok(metadata) = std::fs::symlink_metadata(file) else {
        return Ok(());
    };
    let shown = file.display().to_string();
    let shown = visible(&shown);
    if !metadata.is_file() {
        let message = format!("`{shown}` is there and is no plain file");
        return Err(
            CliError::from(ToolError::new(ErrorCode::FileExists, message))
                .with_hint("name another file, or `-o -` for stdout"),
        );
    }
    match overwrite {
        Overwrite::Yes => Ok(()),
        Overwrite::Never => Err(exists(&shown)),
    }
}

fn exists(shown: &str) -> CliError {
    let message = format!("`{shown}` exists already");
    CliError::from(ToolError::new(ErrorCode::FileExists, message))
        .with_hint("`--force` replaces it, `-o FILE` names another")
}

/// Writes a file beside its place and puts it there in one step.
fn write(file: &Path, bytes: &[u8], overwrite: Overwrite) -> Result<(), CliError> {
    let shown = file.display().to_string();
    let failed = |error: std::io::Error| {
        // Which file it was written to before is nobody's business.
        let why = error.to_string();
        let why = why.split(" at path ").next().unwrap_or_default();
        let message = format!("cannot write `{}`: {why}", visible(&shown));
        CliError::from(ToolError::new(ErrorCode::StorageError, message))
            .with_hint("name a place that can be written: `-o FILE`")
    };
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    let mut beside = tempfile::Builder::new()
        .prefix(".toolcrib-export-")
        // As the umask has it: it is made to be passed on.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory)
        .map_err(failed)?;
    beside
        .write_all(bytes)
        .and_then(|()| beside.as_file().sync_all())
        .map_err(failed)?;
    let kept = match overwrite {
        Overwrite::Yes => beside.persist(file),
        Overwrite::Never => beside.persist_noclobber(file),
    };
    kept.map(drop).map_err(|error| match error.error.kind() {
        std::io::ErrorKind::AlreadyExists => exists(&visible(&shown)),
        _ => failed(error.error),
    })
}
