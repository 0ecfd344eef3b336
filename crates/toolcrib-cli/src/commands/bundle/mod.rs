//! `toolcrib bundle`: containers of tools with one switch.

pub(super) mod add;
mod comparison;
mod diff;
mod edit;
pub(super) mod export;
pub(super) mod given;
mod import;
mod list;
mod new;
mod restore;
mod rm;
mod show;
mod switch;

use toolcrib::crib::{BundleKind, BundleRow, BundleView};
use toolcrib::model::text::visible;
use toolcrib::spec::manifest::Bundle;
use toolcrib::store::archive::IMPORTED_AT;
use toolcrib::{Crib, ErrorCode, Slug, ToolError};

use super::{Done, word};
use crate::args::{BundleCommand, Global};
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn bundle(command: &BundleCommand, global: &Global, output: &Output) -> Done {
    match command {
        BundleCommand::List(args) => list::list(args, global, output),
        BundleCommand::Show(args) => show::show(args, global, output),
        BundleCommand::New(args) => new::new(args, global, output),
        BundleCommand::Edit(args) => edit::edit(args, global, output),
        BundleCommand::Add(args) => add::add(args, global, output),
        BundleCommand::Enable(args) => switch::enable(args, global, output),
        BundleCommand::Disable(args) => switch::disable(args, global, output),
        BundleCommand::Rm(args) => rm::rm(args, global, output),
        BundleCommand::Restore(args) => restore::restore(args, global, output),
        BundleCommand::Export(args) => export::export(args, global, output),
        BundleCommand::Import(args) => import::import(args, global, output),
        BundleCommand::Diff(args) => diff::diff(args, global, output),
    }
}

/// How a bundle stands, in one word.
fn state(view: &BundleView) -> &'static str {
    match &view.bundle {
        _ if view.is_damaged => "damaged",
        bundle if bundle.soft_deleted_at.is_some() => "bin",
        bundle if bundle.is_enabled => "on",
        _ => "off",
    }
}

/// A bundle by slug or id; of one that is damaged the error says so.
fn find(reference: &str, crib: &Crib) -> Result<BundleView, CliError> {
    let view = crib.bundle(reference)?;
    if view.is_damaged {
        crib.store()
            .bundle(view.bundle.bundle_id)
            .map_err(ToolError::from)?;
    }
    Ok(view)
}

/// Where the tools of a bundle come from, in one word.
fn from(view: &BundleView) -> &'static str {
    match view.kind {
        BundleKind::BuiltIn => "built-in",
        BundleKind::Files => "files",
        BundleKind::Store => "store",
        BundleKind::Upstream => "upstream",
    }
}

/// A bundle as a program reads it.
fn as_json(view: &BundleView) -> BundleRow {
    BundleRow::from(view)
}

/// A slug that somebody typed for a bundle.
fn parse_slug(word: &str) -> Result<Slug, CliError> {
    Slug::parse(word).map_err(|error| {
        CliError::usage(format!("`{}` is no slug: {error}", visible(word)))
            .with_hint("letters and digits of any script and dashes, at most 64")
    })
}

/// What to do where a bundle cannot have a slug.
fn slug_refused(error: ToolError, slug: &Slug, crib: &Crib) -> CliError {
    let shown = word(slug.as_str());
    let hint = match error.code() {
        ErrorCode::Conflict if crib.bundle(slug.as_str()).is_ok() => {
            format!("take another slug; `toolcrib bundle show {shown}` shows the one that is there")
        }
        ErrorCode::Conflict | ErrorCode::ReadOnly => "take another slug".to_owned(),
        _ => return error.into(),
    };
    CliError::from(error).with_hint(hint)
}

/// When it was imported, if it was.
fn imported_at(bundle: &Bundle) -> Option<String> {
    // Whatever stands there, the bundle came from elsewhere.
    let when = bundle.extra.get(IMPORTED_AT)?;
    Some(
        when.as_str()
            .map_or_else(|| when.to_string(), str::to_owned),
    )
}

/// A number of things, in words.
pub(super) fn counted(count: usize, one: &str) -> String {
    match count {
        0 => format!("no {one}s"),
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    }
}
