//! `toolcrib bundle import`: takes in a bundle that came from elsewhere, once somebody has seen what it would run and reach.

use std::process::ExitCode;

use serde_json::{Value, json};
use toolcrib::crib::Contest;
use toolcrib::model::manifest::Bundle;
use toolcrib::model::names::Slug;
use toolcrib::model::text::{self, visible};
use toolcrib::store::archive::{Archive, Comparison, Contents, contents};
use toolcrib::store::{BundleDigest, Install, StoreError};
use toolcrib::{Crib, ErrorCode, ToolError};

use super::{bundle_json, comparison, given, imported_at};
use crate::args::{BundleImportArgs, Global};
use crate::commands::confirm::confirmed;
use crate::commands::names::{self, Before};
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
    if let (true, Some(old)) = (args.update, &old) {
        archive = archive.with_switches_of(&old.contents);
    }
    // What is replaced is what is compared here.
    let how = match (&old, args.update) {
        (Some(old), true) => Install::UpdateOf(old.digest),
        (None, _) | (_, false) => Install::New,
    };
    let contests = names::of_manifests(&archive.contents.bundle, &archive.contents.tools, &crib);
    let old = old.as_ref().map(|old| &old.contents);
    let comparison = comparison::compared(old, &archive.contents, &crib);
    let shown = Shown {
        archive: &archive,
        old,
        is_update: args.update,
        comparison: &comparison,
        contests: &contests,
    };
    let lines = page(&shown, &crib, output);
    // Who is asked has to see what about.
    match output.json() {
        false => lines.iter().for_each(|line| output.line(line)),
        true if !args.yes && !args.dry_run => lines.iter().for_each(|line| output.error_line(line)),
        true => {}
    }
    archive.check(crib.store(), how).map_err(refused)?;
    let mut document = comparison::document(&comparison, old, &archive.contents);
    document["names"] = json!(names::document(&contests));
    document["notes"] = json!(archive.notes);
    if args.dry_run {
        document["imported"] = json!(false);
        return Ok(dry(&document, output));
    }
    let question = match old {
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
    let before = Before::of(archive.contents.bundle.bundle_id, [], &crib);
    let stored = archive.install(crib.store(), how).map_err(refused)?;
    // Follows what was written.
    crib.bundle(&stored.bundle.bundle_id.to_string())?;
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
    before.say(&crib, output);
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

/// The bundle here that an archive would replace, and what that is known by.
struct There {
    contents: Contents,
    digest: BundleDigest,
}

/// The bundle here that has the archive's id, in the bin or not.
fn there(archive: &Archive, crib: &Crib) -> Result<Option<There>, CliError> {
    let id = archive.contents.bundle.bundle_id;
    let mut bundles = crib.store().bundles().into_iter();
    if bundles.all(|stored| stored.bundle.bundle_id != id) {
        return Ok(None);
    }
    // First what it is known by: what changes in between is found out.
    let digest = crib.store().whole(id).map_err(ToolError::from)?.digest();
    let contents = contents(crib.store(), id).map_err(ToolError::from)?;
    Ok(Some(There { contents, digest }))
}

/// What there is to see before somebody is asked.
struct Shown<'a> {
    archive: &'a Archive,
    old: Option<&'a Contents>,
    is_update: bool,
    comparison: &'a Comparison,
    contests: &'a [Contest],
}

/// What a person sees before they are asked.
fn page(shown: &Shown<'_>, crib: &Crib, output: &Output) -> Vec<String> {
    let Shown {
        archive,
        old,
        comparison,
        ..
    } = shown;
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
        let slug = &old.bundle.slug;
        let (what, line) = match (old.bundle.soft_deleted_at, shown.is_update) {
            (Some(_), _) => ("here", format!("`{slug}`, in the bin")),
            (None, true) => ("replaces", format!("`{slug}`, which is here already")),
            (None, false) => ("here", format!("`{slug}`, which is left as it is")),
        };
        lines.extend(labelled(what, &line));
        if shown.is_update {
            lines.extend(labelled("from then", &from_then_on(&old.bundle)));
        }
    }
    for note in &archive.notes {
        lines.extend(labelled("note", note));
    }
    lines.extend(comparison::page(comparison, output));
    lines.push(String::new());
    lines.push(comparison::counts(comparison));
    lines.extend(names::lines(shown.contests));
    let reaches = comparison::reaches(comparison);
    lines.extend(comparison::reach_in_words(&reaches, bundle, crib));
    lines
}

/// What an update changes beside the content.
fn from_then_on(old: &Bundle) -> String {
    let off = match old.is_enabled {
        true => "it is off, until somebody has looked at it and switches it on",
        false => "it stays off",
    };
    match imported_at(old) {
        Some(_) => off.to_owned(),
        None => format!("{off}; it counts as imported, and every call of its tools asks"),
    }
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
