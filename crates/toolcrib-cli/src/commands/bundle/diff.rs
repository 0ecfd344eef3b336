//! `toolcrib bundle diff`: what one bundle has that another has not, bundles of the store or archives.
//!
//! Here, archives can be compared with each other; a server compares its own bundle with an archive.

use std::path::Path;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use toolcrib::crib::ComparisonShown;
use toolcrib::model::text::visible;
use toolcrib::store::archive::{Contents, MAX_ARCHIVE_BYTES, compare, contents};
use toolcrib::{Crib, Slug, ToolError};
use toolcrib_server::client::Ask;

use super::named_bundle::{NamedBundle, archive_of, read_bytes};
use super::{comparison, find};
use crate::args::BundleDiffArgs;
use crate::commands::Done;
use crate::commands::trust::labelled;
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::Backend;

/// What differs, and what is odd about the archives.
#[derive(Serialize, Deserialize)]
struct Difference {
    #[serde(flatten)]
    comparison: ComparisonShown,
    notes: Vec<String>,
}

pub(super) fn diff(args: &BundleDiffArgs, backend: &Backend, output: &Output) -> Done {
    let difference = match backend.crib() {
        Some(crib) => here(args, crib)?,
        None => there(args, backend)?,
    };
    if output.json() {
        output.document(&Difference {
            comparison: difference.comparison.for_programs(),
            ..difference
        });
        return Ok(ExitCode::SUCCESS);
    }
    let Difference { comparison, notes } = &difference;
    for note in notes {
        labelled("note", note)
            .iter()
            .for_each(|line| output.say(line));
    }
    let new = &comparison.bundle;
    match &comparison.against {
        None => output.say(&format!(
            "no bundle here has the id or the slug of `{}`: all of it is new",
            visible(new.slug.as_str())
        )),
        Some(old) if args.second.is_none() && old.bundle_id != new.bundle_id => {
            output.say(&format!(
                "compared with `{}`, which has the slug and another id: `import --update` would not replace it, `import --slug NEW` puts it beside",
                visible(old.slug.as_str())
            ));
        }
        Some(_) => {}
    }
    if comparison.same && comparison.against.is_some() {
        output.say("no differences");
        return Ok(ExitCode::SUCCESS);
    }
    let page = comparison::page(comparison, output);
    let page = page.iter().skip_while(|line| line.is_empty());
    page.for_each(|line| output.line(line));
    output.say(&comparison::counts(comparison));
    for line in comparison::reach_in_words(comparison) {
        output.say(&line);
    }
    Ok(ExitCode::SUCCESS)
}

/// Compares bundles of this home and archives.
fn here(args: &BundleDiffArgs, crib: &Crib) -> Result<Difference, CliError> {
    if args.second.as_deref() == Some("-") && args.first == "-" {
        return Err(CliError::usage("stdin can be read only once")
            .with_hint("name a file for one of the two"));
    }
    let first = NamedBundle::find(&args.first, crib)?;
    let (old, new) = match (&args.second, first) {
        (Some(second), first) => (Some(first), NamedBundle::find(second, crib)?),
        (None, NamedBundle::Here(_)) => return Err(alone()),
        // What importing it would change.
        (None, archive) => (
            counterpart(archive.contents(), crib)?.map(NamedBundle::Here),
            archive,
        ),
    };
    let old_contents = old.as_ref().map(NamedBundle::contents);
    let compared = compare(old_contents, new.contents(), |tool| {
        crib.check_manifest(tool)
    });
    let given = old.iter().chain([&new]);
    Ok(Difference {
        comparison: crib.compared(&compared, old_contents, new.contents()),
        notes: given.flat_map(NamedBundle::notes).cloned().collect(),
    })
}

fn alone() -> CliError {
    CliError::usage("a bundle is compared with another one").with_hint(
        "name two bundles or archives; a single archive is compared with the bundle here",
    )
}

/// Compares a bundle of a server with an archive, or with another of its bundles.
fn there(args: &BundleDiffArgs, backend: &Backend) -> Result<Difference, CliError> {
    let is_archive = |word: &str| word == "-" || Slug::parse(word).is_err();
    let (bundle, archive) = match &args.second {
        Some(_) if is_archive(&args.first) => {
            return Err(CliError::usage("through a server, the first of two is a bundle of the server")
                .with_hint("`toolcrib bundle diff BUNDLE FILE.zip`; two archives are compared without --server"));
        }
        Some(second) if is_archive(second) => {
            (Some(args.first.clone()), read_bytes(Path::new(second))?)
        }
        Some(second) => {
            let path = format!("/api/bundles/{}/export", Ask::encoded(second));
            let ask = Ask::get(path).max_answer(MAX_ARCHIVE_BYTES);
            let bytes = backend.wait(backend.client.bytes(ask))?;
            (Some(args.first.clone()), bytes.to_vec())
        }
        None if is_archive(&args.first) => {
            let bytes = read_bytes(Path::new(&args.first))?;
            let bundle = archive_of(&bytes)?.contents.bundle;
            let by_id = find(&bundle.bundle_id.to_string(), backend);
            let found = by_id.or_else(|_| find(bundle.slug.as_str(), backend));
            (found.ok().map(|row| row.bundle_id.to_string()), bytes)
        }
        None => return Err(alone()),
    };
    let path = match bundle {
        Some(bundle) => format!("/api/bundles/{}/diff", Ask::encoded(&bundle)),
        // What taking it in would bring.
        None => "/api/bundles/import?dryRun=true&refusal=true".to_owned(),
    };
    backend.ask(Ask::post_zip(path, archive))
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
