//! `toolcrib bundle`: containers of tools with one switch.

mod add;
mod comparison;
mod diff;
mod edit;
mod export;
mod import;
mod list;
mod named_bundle;
mod new;
mod restore;
mod rm;
mod show;
mod switch;

use toolcrib::crib::{BundleKind, BundleRow};
use toolcrib::model::text::visible;
use toolcrib::registry::Availability;
use toolcrib::store::archive::IMPORTED_AT;
use toolcrib::{BundleId, ErrorCode, Slug, ToolError};
use toolcrib_server::client::Ask;

use super::list::tools_at;
use super::{Done, word};
use crate::args::{BundleCommand, Global};
use crate::failure::CliError;
use crate::output::Output;
use crate::remote;
use crate::remote::{Backend, is_segment};

pub(super) fn bundle(command: &BundleCommand, global: &Global, output: &Output) -> Done {
    let backend = || crate::commands::backend(global, output);
    match command {
        BundleCommand::List(args) => list::list(args, &backend()?, output),
        BundleCommand::Show(args) => show::show(args, &backend()?, output),
        BundleCommand::New(args) => new::new(args, backend, output),
        BundleCommand::Edit(args) => {
            remote::refuse(global, "`toolcrib bundle edit`")?;
            edit::edit(args, global, output)
        }
        BundleCommand::Add(args) => add::add(args, backend, output),
        BundleCommand::Enable(args) => switch::enable(args, &backend()?, global, output),
        BundleCommand::Disable(args) => switch::disable(args, &backend()?, output),
        BundleCommand::Rm(args) => rm::rm(args, &backend()?, global, output),
        BundleCommand::Restore(args) => restore::restore(args, &backend()?, output),
        BundleCommand::Export(args) => export::export(args, backend, output),
        BundleCommand::Import(args) => import::import(args, backend, global, output),
        BundleCommand::Diff(args) => diff::diff(args, &backend()?, output),
    }
}

fn path_of(bundle: &str) -> String {
    format!("/tools/bundles/{}", Ask::encoded(bundle))
}

fn path_of_id(id: BundleId) -> String {
    path_of(&id.to_string())
}

/// A bundle by slug or id.
fn find(bundle: &str, backend: &Backend) -> Result<BundleRow, CliError> {
    refuse_odd(bundle, backend)?;
    backend.get_as(&path_of(bundle))
}

/// Refuses a word that cannot be part of an address as what it is: no bundle.
fn refuse_odd(bundle: &str, backend: &Backend) -> Result<(), CliError> {
    if !is_segment(bundle) {
        backend.get(&tools_at(&[("bundle", bundle)]))?;
    }
    Ok(())
}

/// Every bundle: Toolcrib's own first, then MCP servers by name, then those of the store by slug; at the end those whose own file cannot
/// be read.
fn all(backend: &Backend) -> Result<Vec<BundleRow>, CliError> {
    let path = "/tools/bundles?includeDisabled=true&pageSize=500";
    let mut bundles: Vec<BundleRow> = backend.rows(path, "bundles")?;
    bundles.sort_by_key(|bundle| match bundle.kind {
        BundleKind::BuiltIn | BundleKind::Files => 0,
        BundleKind::Upstream => 1,
        BundleKind::Store if !is_damaged(bundle) => 2,
        BundleKind::Store => 3,
    });
    Ok(bundles)
}

/// Whether its own file cannot be used.
fn is_damaged(bundle: &BundleRow) -> bool {
    matches!(bundle.availability, Availability::Unavailable { .. })
}

/// The status of a bundle, in one word.
fn state(bundle: &BundleRow) -> &'static str {
    match bundle {
        _ if is_damaged(bundle) => "damaged",
        bundle if bundle.soft_deleted_at.is_some() => "bin",
        bundle if bundle.is_enabled => "on",
        _ => "off",
    }
}

/// Where the tools of a bundle come from, in one word.
fn from(bundle: &BundleRow) -> &'static str {
    match bundle.kind {
        BundleKind::BuiltIn => "built-in",
        BundleKind::Files => "files",
        BundleKind::Store => "store",
        BundleKind::Upstream => "upstream",
    }
}

/// A slug that someone typed for a bundle.
fn parse_slug(word: &str) -> Result<Slug, CliError> {
    Slug::parse(word).map_err(|error| {
        CliError::usage(format!("`{}` is not a slug: {error}", visible(word)))
            .with_hint("letters and digits of any script and dashes, at most 64")
    })
}

/// What to do where a bundle cannot have a slug.
fn slug_refused(error: ToolError, slug: &Slug, is_there: impl FnOnce(&str) -> bool) -> CliError {
    let shown = word(slug.as_str());
    let hint = match error.code() {
        ErrorCode::Conflict if is_there(slug.as_str()) => {
            format!("take another slug; `toolcrib bundle show {shown}` shows the one that is there")
        }
        ErrorCode::Conflict | ErrorCode::ReadOnly => "take another slug".to_owned(),
        _ => return error.into(),
    };
    CliError::from(error).with_hint(hint)
}

/// What to do about a bundle that is in the bin.
fn in_the_bin(slug: &Slug) -> CliError {
    let message = format!("the bundle `{slug}` is in the bin");
    let hint = format!(
        "`toolcrib bundle restore {}` takes it out",
        word(slug.as_str())
    );
    CliError::from(ToolError::new(ErrorCode::Conflict, message)).with_hint(hint)
}

/// When a bundle was imported, if it was, by the fields of other versions.
fn imported_at(extra: &toolcrib::model::JsonObject) -> Option<String> {
    // Whatever is there, the bundle came from elsewhere.
    let when = extra.get(IMPORTED_AT)?;
    Some(
        when.as_str()
            .map_or_else(|| when.to_string(), str::to_owned),
    )
}

/// A number of things, in words.
fn counted(count: usize, one: &str) -> String {
    match count {
        0 => format!("no {one}s"),
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    }
}

/// Prints a page before a question. Data goes to stdout only where no program reads it as JSON.
fn print(lines: &[String], output: &Output) {
    for line in lines {
        match output.json() {
            true => output.error_line(line),
            false => output.line(line),
        }
    }
}
