//! `toolcrib bundle import`: takes in a bundle that came from elsewhere, once somebody has seen what it would run and reach.

use std::process::ExitCode;

use toolcrib::crib::{Contest, ImportShown};
use toolcrib::model::names::Slug;
use toolcrib::model::text::{self, visible};
use toolcrib::spec::manifest::Bundle;
use toolcrib::store::StoreError;
use toolcrib::store::archive::{Archive, Comparison, Contents};
use toolcrib::{Crib, ErrorCode, ToolError};

use super::{comparison, given, imported_at};
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
    let archive = given::read_archive(&args.file)?;
    let arrival = crib.arrival(archive, slug, args.update)?;
    let old = arrival.old.as_ref();
    let shown = Shown {
        archive: &arrival.archive,
        old,
        is_update: args.update,
        comparison: &arrival.comparison,
        contests: &arrival.contests,
    };
    let lines = page(&shown, &crib, output);
    // Who is asked has to see what about.
    match output.json() {
        false => lines.iter().for_each(|line| output.line(line)),
        true if !args.yes && !args.dry_run => lines.iter().for_each(|line| output.error_line(line)),
        true => {}
    }
    arrival.check(&crib).map_err(refused)?;
    let document = arrival.shown();
    if args.dry_run {
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
    let before = Before::of(arrival.archive.contents.bundle.bundle_id, [], &crib);
    let stored = crib.take_in(arrival).map_err(refused)?;
    if output.json() {
        output.document(&document.taken_in(&stored));
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

fn dry(document: &ImportShown, output: &Output) -> ExitCode {
    match output.json() {
        true => output.document(document),
        false => output.say("nothing was imported: that is what would be"),
    }
    ExitCode::SUCCESS
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
