//! `toolcrib bundle diff`: what one bundle has that another has not, bundles of the store or archives.

use std::process::ExitCode;

use serde_json::json;
use toolcrib::crib::ComparisonShown;
use toolcrib::model::text::visible;
use toolcrib::store::archive::{Contents, contents};
use toolcrib::{Crib, ToolError};

use super::comparison;
use super::given::Given;
use crate::args::{BundleDiffArgs, Global};
use crate::commands::trust::labelled;
use crate::commands::{Done, open};
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn diff(args: &BundleDiffArgs, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    if args.second.as_deref() == Some("-") && args.first == "-" {
        return Err(
            CliError::usage("stdin can be read once").with_hint("name a file for one of the two")
        );
    }
    let first = Given::find(&args.first, &crib)?;
    let (old, new) = match (&args.second, first) {
        (Some(second), first) => (Some(first), Given::find(second, &crib)?),
        (None, Given::Here(_)) => {
            return Err(CliError::usage("a bundle is compared with another one").with_hint(
                "name two bundles or archives; a single archive is compared with the bundle here",
            ));
        }
        // What importing it would change.
        (None, archive) => (
            counterpart(archive.contents(), &crib)?.map(Given::Here),
            archive,
        ),
    };
    let old_contents = old.as_ref().map(Given::contents);
    let comparison = comparison::compared(old_contents, new.contents(), &crib);
    let notes: Vec<&String> = old
        .iter()
        .chain([&new])
        .flat_map(|given| given.notes())
        .collect();
    if output.json() {
        let shown = ComparisonShown::of(&comparison, old_contents, new.contents());
        let mut document = json!(shown);
        document["notes"] = json!(notes);
        output.document(&document);
        return Ok(ExitCode::SUCCESS);
    }
    for note in notes {
        labelled("note", note)
            .iter()
            .for_each(|line| output.say(line));
    }
    if old.is_none() {
        let slug = visible(new.contents().bundle.slug.as_str());
        output.say(&format!(
            "no bundle here has the id or the slug of `{slug}`: all of it is new"
        ));
    }
    let id = |given: &Given| given.contents().bundle.bundle_id;
    if let (None, Some(old)) = (&args.second, &old)
        && id(old) != id(&new)
    {
        let slug = &old.contents().bundle.slug;
        output.say(&format!(
            "compared with `{}`, which has the slug and another id: `import --update` would not replace it, `import --slug NEW` puts it beside",
            visible(slug.as_str())
        ));
    }
    if comparison.is_same() && old.is_some() {
        output.say("no differences");
        return Ok(ExitCode::SUCCESS);
    }
    let page = comparison::page(&comparison, output);
    let page = page.iter().skip_while(|line| line.is_empty());
    page.for_each(|line| output.line(line));
    output.say(&comparison::counts(&comparison));
    let reaches = comparison::reaches(&comparison);
    for line in comparison::reach_in_words(&reaches, &new.contents().bundle, &crib) {
        output.say(&line);
    }
    Ok(ExitCode::SUCCESS)
}

/// The bundle here that an archive is one of: by its id, else by its slug.
fn counterpart(archive: &Contents, crib: &Crib) -> Result<Option<Contents>, CliError> {
    let bundles = crib.store().bundles();
    let by_id = bundles
        .iter()
        .find(|stored| stored.bundle.bundle_id == archive.bundle.bundle_id);
    let by_slug = || {
        bundles.iter().find(|stored| {
            stored.bundle.slug == archive.bundle.slug && stored.bundle.soft_deleted_at.is_none()
        })
    };
    let Some(found) = by_id.or_else(by_slug) else {
        return Ok(None);
    };
    let contents = contents(crib.store(), found.bundle.bundle_id).map_err(ToolError::from)?;
    Ok(Some(contents))
}
