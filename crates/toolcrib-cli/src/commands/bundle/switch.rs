//! `toolcrib bundle enable` and `toolcrib bundle disable`: one switch for all tools of a bundle.
//!
//! What came from elsewhere is switched on by somebody who has seen what it would run and reach.

use std::process::ExitCode;
use std::sync::Arc;

use toolcrib::crib::{BundleKind, BundleView};
use toolcrib::model::ids::BundleId;
use toolcrib::model::text::visible;
use toolcrib::store::archive::Reach;
use toolcrib::store::{StoreError, WholeBundle};
use toolcrib::{Crib, ErrorCode, ToolError};

use super::{as_json, comparison, counted, imported_at};
use crate::args::{BundleNamesArgs, BundleSwitchArgs, Global};
use crate::commands::confirm::{confirmed, declined};
use crate::commands::names::{self, Before};
use crate::commands::trust::labelled;
use crate::commands::{Done, open, word};
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn enable(args: &BundleSwitchArgs, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    let views = all(&args.bundles, &crib)?;
    for view in &views {
        refuse_deleted(view)?;
    }
    let mut wanted = Vec::new();
    for view in views {
        let whole = match view.kind {
            BundleKind::Store => Some(whole(view.bundle.bundle_id, &crib)?),
            BundleKind::BuiltIn | BundleKind::Files | BundleKind::Upstream => None,
        };
        wanted.push((view, whole));
    }
    if args.yes {
        let views: Vec<BundleView> = wanted.into_iter().map(|(view, _)| view).collect();
        return switch(&views, true, &crib, output);
    }
    for (view, whole) in &wanted {
        if let Some(whole) = whole
            && !whole.stored.bundle.is_enabled
            && imported_at(&whole.stored.bundle).is_some()
        {
            ask(view, whole, &crib, global, output)?;
        }
    }
    // All or none, as far as that can be known; the store looks again when it switches.
    for whole in wanted.iter().filter_map(|(_, whole)| whole.as_ref()) {
        let bundle = &whole.stored.bundle;
        crib.bundle(&bundle.bundle_id.to_string())?;
        if self::whole(bundle.bundle_id, &crib)?.digest() != whole.digest() {
            let slug = bundle.slug.clone();
            return Err(ToolError::from(StoreError::BundleChanged { slug }).into());
        }
    }
    let before = before(wanted.iter().map(|(view, _)| view), &crib);
    let mut switched = Vec::new();
    for (view, whole) in &wanted {
        let id = view.bundle.bundle_id;
        switched.push(match whole {
            // What is switched on is what was shown.
            Some(whole) => crib.enable_as_shown(id, whole.digest())?,
            None => crib.set_bundle_enabled(&id.to_string(), true)?,
        });
    }
    say(&switched, &before, true, &crib, output)
}

fn whole(id: BundleId, crib: &Crib) -> Result<WholeBundle, CliError> {
    Ok(crib.store().whole(id).map_err(ToolError::from)?)
}

fn before<'a>(views: impl Iterator<Item = &'a BundleView>, crib: &Crib) -> Vec<Before> {
    views
        .map(|view| Before::of(view.bundle.bundle_id, [], crib))
        .collect()
}

pub(super) fn disable(args: &BundleNamesArgs, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    let views = all(&args.bundles, &crib)?;
    for view in &views {
        refuse_deleted(view)?;
    }
    switch(&views, false, &crib, output)
}

/// All or none: half a command is hard to repeat.
fn all(names: &[String], crib: &Crib) -> Result<Vec<BundleView>, CliError> {
    let views = names.iter().map(|name| crib.bundle(name));
    Ok(views.collect::<Result<_, _>>()?)
}

fn refuse_deleted(view: &BundleView) -> Result<(), CliError> {
    if view.bundle.soft_deleted_at.is_none() {
        return Ok(());
    }
    let slug = &view.bundle.slug;
    let message = format!("the bundle `{slug}` is in the bin");
    let hint = format!(
        "`toolcrib bundle restore {}` takes it out",
        word(slug.as_str())
    );
    Err(CliError::from(ToolError::new(ErrorCode::Conflict, message)).with_hint(hint))
}

fn switch(views: &[BundleView], enabled: bool, crib: &Crib, output: &Output) -> Done {
    let before = before(views.iter(), crib);
    let mut switched = Vec::new();
    for view in views {
        // By its id: the one that was looked at.
        let id = view.bundle.bundle_id.to_string();
        switched.push(crib.set_bundle_enabled(&id, enabled)?);
    }
    say(&switched, &before, enabled, crib, output)
}

/// Says how the bundles are by now, and which names are another tool's.
fn say(
    switched: &[BundleView],
    before: &[Before],
    enabled: bool,
    crib: &Crib,
    output: &Output,
) -> Done {
    if output.json() {
        let documents = switched.iter().zip(before).map(|(view, before)| {
            let mut fields = serde_json::json!(as_json(view));
            let moved = before.document(crib);
            if !moved.is_empty() {
                fields["names"] = moved.into();
            }
            fields
        });
        output.document(&documents.collect::<Vec<_>>());
        return Ok(ExitCode::SUCCESS);
    }
    for (view, before) in switched.iter().zip(before) {
        let slug = visible(view.bundle.slug.as_str());
        let tools = counted(view.tools, "tool");
        let state = if enabled { "on" } else { "off" };
        output.say(&format!("`{slug}` is {state}, with {tools}"));
        before.say(crib, output);
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows what the tools of an imported bundle would do, and asks.
fn ask(
    view: &BundleView,
    whole: &WholeBundle,
    crib: &Crib,
    global: &Global,
    output: &Output,
) -> Result<(), CliError> {
    let lines = page(whole, crib, output);
    // Data goes to stdout only where nobody reads it as JSON.
    let print = |line: &String| match output.json() {
        true => output.error_line(line),
        false => output.line(line),
    };
    lines.iter().for_each(print);
    let question = match view.tools {
        1 => "may this tool be offered from now on? [y/n] ".to_owned(),
        tools => format!("may these {tools} tools be offered from now on? [y/n] "),
    };
    match confirmed(&question, global, output)? {
        true => Ok(()),
        false => Err(declined("nothing was switched on")),
    }
}

/// What a person sees before they are asked: of the records as they are, every one.
fn page(whole: &WholeBundle, crib: &Crib, output: &Output) -> Vec<String> {
    let bundle = &whole.stored.bundle;
    let slug = output.bold(&visible(bundle.slug.as_str()));
    let when = imported_at(bundle).unwrap_or_default();
    let mut lines = vec![format!("tools of {slug}, imported {}", visible(&when))];
    let entries = crib.bundle_tools(bundle.bundle_id);
    let mut reaches = Vec::new();
    for record in &whole.tools {
        let key = &record.key;
        lines.push(String::new());
        let reference = format!("{}/{}@{}", bundle.slug, key.slug, key.version);
        let off = match record.head.is_enabled {
            true => String::new(),
            false => output.dim("  off, and stays off"),
        };
        lines.push(format!("{}{off}", output.heading(&visible(&reference))));
        let first = record.head.description.lines().next().unwrap_or_default();
        lines.push(visible(first).into_owned());
        let entry = entries
            .iter()
            .find(|entry| entry.id() == Some(record.head.tool_id));
        for warning in entry.iter().flat_map(|entry| entry.spec().warnings()) {
            lines.extend(labelled("warning", warning));
        }
        match record.manifest() {
            Ok(manifest) => {
                let reach = Reach::of(&manifest);
                for (what, text) in &reach.runs {
                    lines.extend(labelled(what, text));
                }
                for tool in &reach.tools {
                    lines.extend(labelled("calls", tool));
                }
                reaches.push(reach);
            }
            Err(_) => lines.extend(labelled("problem", "the record cannot be read")),
        }
        let tags = match record.head.tags.is_empty() {
            true => "none".to_owned(),
            false => record.head.tags.join(", "),
        };
        lines.extend(labelled("tags", &tags));
    }
    lines.push(String::new());
    let records = whole.tools.iter().map(Arc::as_ref);
    lines.extend(names::lines(&names::of_records(bundle, records, crib)));
    lines.extend(comparison::reach_in_words(&reaches, bundle, crib));
    lines
}
