//! `toolcrib bundle import`: takes in a bundle that came from elsewhere, once someone has seen what it would run and reach.

use std::process::ExitCode;

use serde::Deserialize;
use toolcrib::crib::{ImportShown, ToolList};
use toolcrib::model::names::Slug;
use toolcrib::model::text::{self, visible};
use toolcrib::spec::manifest::Bundle;
use toolcrib::{ErrorCode, ToolError};
use toolcrib_server::client::{Ask, ClientError};

use super::{comparison, imported_at, named_bundle, print};
use crate::args::{BundleImportArgs, Global};
use crate::commands::confirm::confirmed;
use crate::commands::list::tools_at;
use crate::commands::names::{self, Holders};
use crate::commands::trust::labelled;
use crate::commands::{Done, word};
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::Backend;

/// What came of taking an archive in, or would.
#[derive(Deserialize)]
struct Import {
    #[serde(flatten)]
    shown: ImportShown,
    digest: Option<String>,
    refusal: Option<ToolError>,
}

pub(super) fn import(
    args: &BundleImportArgs,
    backend: impl FnOnce() -> Result<Backend, CliError>,
    global: &Global,
    output: &Output,
) -> Done {
    let slug = args.slug.as_deref().map(Slug::parse).transpose();
    slug.map_err(|error| {
        let slug = args.slug.as_deref().unwrap_or_default();
        CliError::usage(format!("`{}` is not a slug: {error}", visible(slug)))
    })?;
    let backend = &backend()?;
    let bytes = named_bundle::read_bytes(&args.file)?;
    named_bundle::archive_of(&bytes)?;
    let mut path = format!("/api/bundles/import?update={}", args.update);
    if let Some(slug) = &args.slug {
        path.push_str(&format!("&slug={}", Ask::encoded(slug)));
    }
    let look = || -> Result<Import, CliError> {
        let dry = format!("{path}&dryRun=true&refusal=true");
        backend.ask(Ask::post_zip(dry, bytes.clone()))
    };
    let Import {
        shown,
        digest,
        refusal,
    } = look()?;
    // The person who is asked must see what the question is about.
    if !output.json() || (!args.yes && !args.dry_run) {
        print(&page(&shown, args.update, output), output);
    }
    if let Some(error) = refusal {
        return Err(refused(error));
    }
    if args.dry_run {
        match output.json() {
            true => output.document(&for_programs(shown)),
            false => output.say("nothing was imported: this is a preview"),
        }
        return Ok(ExitCode::SUCCESS);
    }
    let question = match &shown.comparison.against {
        Some(old) => format!(
            "replace the bundle `{}` by this one? [y/n] ",
            visible(old.slug.as_str())
        ),
        None => "import it? [y/n] ".to_owned(),
    };
    if !args.yes && !confirmed(&question, global, output)? {
        let message = "nothing was imported";
        return Err(ToolError::new(ErrorCode::ApprovalDenied, message).into());
    }
    let before = held_by(&shown, backend)?;
    let mut take = Ask::post_zip(path.clone(), bytes.clone());
    if let Some(digest) = &digest {
        // Only the shown state is replaced.
        take = take
            .if_match(digest)
            .map_err(|error| backend.failed(&error))?;
    }
    let taken: Result<Import, ClientError> = backend.wait_raw(backend.client.json_as(take));
    let taken = taken.map_err(|error| match error.reason() {
        // Someone was faster. It is said in the words of a look, which name no parameters of the API.
        Some(_) => match look() {
            Ok(Import {
                refusal: Some(refusal),
                ..
            }) => refused(refusal),
            _ => backend.failed(&error),
        },
        None => backend.failed(&error),
    })?;
    let taken = taken.shown;
    if output.json() {
        output.document(&for_programs(taken));
        return Ok(ExitCode::SUCCESS);
    }
    let slug = taken.comparison.bundle.slug.as_str();
    output.say(&format!(
        "`{}` is imported and switched off; every call of its tools asks",
        visible(slug)
    ));
    before.warn(&before.now(backend)?, output);
    let what = output.dim("switch it on");
    output.say(&format!("  toolcrib bundle enable {}   {what}", word(slug)));
    Ok(ExitCode::SUCCESS)
}

fn for_programs(mut shown: ImportShown) -> ImportShown {
    shown.comparison = shown.comparison.for_programs();
    shown
}

/// The owners of the names of the replaced bundle's tools.
fn held_by(shown: &ImportShown, backend: &Backend) -> Result<Holders, CliError> {
    let names = match &shown.comparison.against {
        None => Vec::new(),
        Some(old) => {
            let id = old.bundle_id.to_string();
            let list: ToolList = backend.get_as(&tools_at(&[("bundle", &id)]))?;
            list.tools.into_iter().map(|tool| tool.row.name).collect()
        }
    };
    Holders::of(names, backend)
}

/// What a person sees before they are asked.
fn page(shown: &ImportShown, is_update: bool, output: &Output) -> Vec<String> {
    let comparison = &shown.comparison;
    let bundle = &comparison.bundle;
    let mut lines = vec![output.heading(&visible(bundle.slug.as_str()))];
    if !bundle.description.is_empty() {
        let first = bundle.description.lines().next().unwrap_or_default();
        lines.push(text::shorten(first, 200));
    }
    if !bundle.display_name.is_empty() && bundle.display_name != bundle.slug.as_str() {
        lines.extend(labelled("name", &bundle.display_name));
    }
    lines.extend(labelled("id", &bundle.bundle_id.to_string()));
    if let Some(old) = &comparison.against {
        let slug = &old.slug;
        let (what, line) = match (old.soft_deleted_at, is_update) {
            (Some(_), _) => ("here", format!("`{slug}`, in the bin")),
            (None, true) => ("replaces", format!("`{slug}`, which exists already")),
            (None, false) => ("here", format!("`{slug}`, which is left as it is")),
        };
        lines.extend(labelled(what, &line));
        if is_update {
            lines.extend(labelled("from then", &from_then_on(old)));
        }
    }
    for note in &shown.notes {
        lines.extend(labelled("note", note));
    }
    lines.extend(comparison::page(comparison, output));
    lines.push(String::new());
    lines.push(comparison::counts(comparison));
    lines.extend(names::lines(&shown.names));
    lines.extend(comparison::reach_in_words(comparison));
    lines
}

/// What an update changes beside the content.
fn from_then_on(old: &Bundle) -> String {
    let off = match old.is_enabled {
        true => "it is off until you review it and switch it on",
        false => "it stays off",
    };
    match imported_at(&old.extra) {
        Some(_) => off.to_owned(),
        None => format!("{off}; it counts as imported, and every call of its tools asks"),
    }
}

/// A refusal of the store, with what to type instead.
fn refused(error: ToolError) -> CliError {
    let reason = error.details().and_then(|details| details.get("reason"));
    let hint = match reason.and_then(|reason| reason.as_str()) {
        Some("bundle-taken") => "`--update` replaces it, `--slug NEW` imports a copy beside it",
        Some("slug-taken") => "`--slug NEW` imports it under another name",
        _ => return error.into(),
    };
    CliError::from(ToolError::new(error.code(), error.message())).with_hint(hint)
}
