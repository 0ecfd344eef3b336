//! `toolcrib bundle import`: takes in a bundle that came from elsewhere, once somebody has seen what it would run and reach.

use std::process::ExitCode;

use serde_json::{Value, json};
use toolcrib::model::names::Slug;
use toolcrib::model::text::{self, visible};
use toolcrib::store::archive::{Archive, Comparison, Contents, contents};
use toolcrib::store::{Install, StoreError};
use toolcrib::{Crib, ErrorCode, ToolError};

use super::{bundle_json, comparison, given};
use crate::args::{BundleImportArgs, Global};
use crate::commands::confirm::confirmed;
use crate::commands::trust::labelled;
use crate::commands::{Done, open, word};
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn import(args: &BundleImportArgs, global: &Global, output: &Output) -> Done {
    let slug = args.slug.as_deref().map(Slug::parse).transpose();
    let slug = slug.map_err(|error| {
        let slug = args.slug.as_deref().unwrap_or_default();
        CliError::usage(format!("`{}` is no slug: {error}", visible(slug)))
    })?;
    let crib = open(global, output)?;
    let mut archive = given::read_archive(&args.file)?;
    let mut old = there(&archive, &crib)?;
    if let Some(slug) = slug {
        archive = archive.renamed(slug);
        old = None;
    }
    let how = match args.update {
        true => Install::Update,
        false => Install::New,
    };
    let comparison = comparison::compared(old.as_ref(), &archive.contents, &crib);
    let lines = page(&archive, old.as_ref(), &comparison, &crib, output);
    // Who is asked has to see what about.
    match output.json() {
        false => lines.iter().for_each(|line| output.line(line)),
        true if !args.yes && !args.dry_run => lines.iter().for_each(|line| output.error_line(line)),
        true => {}
    }
    archive.check(crib.store(), how).map_err(refused)?;
    let mut document = comparison::document(&comparison, old.as_ref(), &archive.contents);
    document["notes"] = json!(archive.notes);
    if args.dry_run {
        document["imported"] = json!(false);
        return Ok(dry(&document, output));
    }
    let question = match &old {
        Some(old) => format!(
            "replace the bundle `{}` by this one? [y/n] ",
            visible(old.bundle.slug.as_str())
        ),
        None => "import it? [y/n] ".to_owned(),
    };
    if !args.yes && !confirmed(&question, global, output)? {
        let message = "nothing was imported";
        return Err(ToolError::new(ErrorCode::ApprovalDenied, message).into());
    }
    let stored = archive.install(crib.store(), how).map_err(refused)?;
    if output.json() {
        document["bundle"] = bundle_json(&stored.bundle).into();
        document["imported"] = json!(true);
        output.document(&document);
        return Ok(ExitCode::SUCCESS);
    }
    let slug = stored.bundle.slug.as_str();
    output.say(&format!(
        "`{}` is imported and switched off; every call of its tools asks",
        visible(slug)
    ));
    let what = output.dim("switch it on");
    output.say(&format!("  toolcrib bundle enable {}   {what}", word(slug)));
    Ok(ExitCode::SUCCESS)
}

fn dry(document: &Value, output: &Output) -> ExitCode {
    match output.json() {
        true => output.document(document),
        false => output.say("nothing was imported: that is what would be"),
    }
    ExitCode::SUCCESS
}

/// The bundle here that has the archive's id, in the bin or not.
fn there(archive: &Archive, crib: &Crib) -> Result<Option<Contents>, CliError> {
    let id = archive.contents.bundle.bundle_id;
    let mut bundles = crib.store().bundles().into_iter();
    match bundles.find(|stored| stored.bundle.bundle_id == id) {
        Some(_) => Ok(Some(contents(crib.store(), id).map_err(ToolError::from)?)),
        None => Ok(None),
    }
}

/// What a person sees before they are asked.
fn page(
    archive: &Archive,
    old: Option<&Contents>,
    comparison: &Comparison,
    crib: &Crib,
    output: &Output,
) -> Vec<String> {
    let bundle = &archive.contents.bundle;
    let mut lines = vec![output.heading(&visible(bundle.slug.as_str()))];
    if !bundle.description.is_empty() {
        let first = bundle.description.lines().next().unwrap_or_default();
        lines.push(text::shorten(first, 200));
    }
    if !bundle.display_name.is_empty() && bundle.display_name != bundle.slug.as_str() {
        lines.extend(labelled("name", &bundle.display_name));
    }
    lines.extend(labelled("id", &bundle.bundle_id.to_string()));
    if let Some(old) = old {
        let bin = match old.bundle.soft_deleted_at {
            Some(_) => ", in the bin",
            None => "",
        };
        let line = format!("`{}`{bin}, which is here already", old.bundle.slug);
        lines.extend(labelled("replaces", &line));
    }
    for note in &archive.notes {
        lines.extend(labelled("note", note));
    }
    lines.extend(comparison::page(comparison, output));
    lines.push(String::new());
    lines.push(comparison::counts(comparison));
    lines.extend(comparison::reach_in_words(comparison, crib));
    lines
}

/// A refusal of the store, with what to type instead.
fn refused(error: StoreError) -> CliError {
    let hint = match &error {
        StoreError::BundleTaken { .. } => {
            Some("`--update` replaces it, `--slug NEW` imports a copy beside it")
        }
        StoreError::SlugTaken { .. } | StoreError::ReadOnly { .. } => {
            Some("`--slug NEW` imports it under another name")
        }
        _ => None,
    };
    let error = CliError::from(ToolError::from(error));
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}
