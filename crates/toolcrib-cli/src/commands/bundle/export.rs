//! `toolcrib bundle export`: writes a bundle as a ZIP file, whole or not at all.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::json;
use toolcrib::crib::BundleRow;
use toolcrib::model::text::{size, visible};
use toolcrib::store::archive::MAX_ARCHIVE_BYTES;
use toolcrib::{ErrorCode, ToolError};
use toolcrib_server::client::Ask;

use super::{counted, find, named_bundle};
use crate::args::BundleExportArgs;
use crate::commands::Done;
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::Backend;

pub(super) fn export(
    args: &BundleExportArgs,
    backend: impl FnOnce() -> Result<Backend, CliError>,
    output: &Output,
) -> Done {
    refuse_stdout(args, output)?;
    let backend = backend()?;
    let bundle = find(&args.bundle, &backend)?;
    named_bundle::refuse_own(&bundle)?;
    refuse_place(args, &bundle)?;
    let path = format!("/api/bundles/{}/export", bundle.bundle_id);
    let ask = Ask::get(path).max_answer(MAX_ARCHIVE_BYTES);
    let bytes = backend.wait(backend.client.bytes(ask))?;
    write_out(args, &bundle, &bytes, output)
}

fn is_to_stdout(args: &BundleExportArgs) -> bool {
    args.output.as_deref() == Some(Path::new("-"))
}

/// Refuses to put an archive where it does not belong.
fn refuse_stdout(args: &BundleExportArgs, output: &Output) -> Result<(), CliError> {
    if is_to_stdout(args) && output.json() {
        let message = "`--json` and `-o -` both want stdout";
        return Err(CliError::usage(message).with_hint("name a file: `-o FILE`"));
    }
    if is_to_stdout(args) && output.is_terminal() {
        let message = "an archive cannot be written to a terminal";
        return Err(CliError::usage(message).with_hint("name a file: `-o FILE`, or pipe it on"));
    }
    Ok(())
}

/// Where the archive of a bundle goes, and what becomes of a file there.
fn place(args: &BundleExportArgs, bundle: &BundleRow) -> (PathBuf, Overwrite) {
    let file = match &args.output {
        Some(file) => file.clone(),
        None => default_name(bundle.slug.as_str(), &bundle.bundle_id.to_string()),
    };
    let overwrite = match args.force {
        true => Overwrite::Yes,
        false => Overwrite::Never,
    };
    (file, overwrite)
}

/// Refuses a place that cannot be written to, before anything is packed.
fn refuse_place(args: &BundleExportArgs, bundle: &BundleRow) -> Result<(), CliError> {
    let (file, overwrite) = place(args, bundle);
    match is_to_stdout(args) {
        true => Ok(()),
        false => refuse_target(&file, overwrite),
    }
}

/// Writes an archive of a bundle where it was asked for, and says so.
fn write_out(args: &BundleExportArgs, bundle: &BundleRow, bytes: &[u8], output: &Output) -> Done {
    if is_to_stdout(args) {
        output.bytes(bytes);
        return Ok(ExitCode::SUCCESS);
    }
    let (file, overwrite) = place(args, bundle);
    write(&file, bytes, overwrite)?;
    let shown = file.display().to_string();
    if output.json() {
        output.document(&json!({
            "bundleID": bundle.bundle_id, "slug": bundle.slug, "file": shown, "bytes": bytes.len(),
            "tools": bundle.tools,
        }));
        return Ok(ExitCode::SUCCESS);
    }
    output.line(&visible(&shown));
    let (tools, size) = (counted(bundle.tools, "tool"), size(bytes.len() as u64));
    let slug = visible(bundle.slug.as_str());
    output.say(&format!(
        "`{slug}` with {tools}, {size}; it contains no value of a saved secret"
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
        let message = format!("`{shown}` exists and is not a plain file");
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
        // Which file it was written to before is no one's business.
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
