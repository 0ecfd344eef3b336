//! `toolcrib bundle enable` and `toolcrib bundle disable`: one switch for all tools of a bundle.
//!
//! What came from elsewhere is switched on by somebody who has seen what it would run and reach.

use std::process::ExitCode;
use std::sync::Arc;

use toolcrib::crib::BundleView;
use toolcrib::model::text::visible;
use toolcrib::registry::Entry;
use toolcrib::{Crib, ErrorCode, ToolError};

use super::{as_json, counted, imported_at};
use crate::args::{BundleNamesArgs, BundleSwitchArgs, Global};
use crate::commands::confirm::{confirmed, declined};
use crate::commands::stored;
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
    for view in views.iter().filter(|view| !view.bundle.is_enabled) {
        if imported_at(&view.bundle).is_some() && !args.yes {
            ask(view, &crib, global, output)?;
        }
    }
    switch(&views, true, &crib, output)
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
    let mut switched = Vec::new();
    let tools: Vec<Arc<Entry>> = views
        .iter()
        .flat_map(|view| crib.bundle_tools(view.bundle.bundle_id))
        .collect();
    let names = stored::Names::of(&tools, crib);
    for view in views {
        // By its id: the one that was looked at.
        let id = view.bundle.bundle_id.to_string();
        switched.push(crib.set_bundle_enabled(&id, enabled)?);
    }
    if output.json() {
        output.document(&switched.iter().map(as_json).collect::<Vec<_>>());
        return Ok(ExitCode::SUCCESS);
    }
    for view in &switched {
        let slug = visible(view.bundle.slug.as_str());
        let tools = counted(view.tools, "tool");
        let state = if enabled { "on" } else { "off" };
        output.say(&format!("`{slug}` is {state}, with {tools}"));
    }
    names.say_changes(crib, output);
    Ok(ExitCode::SUCCESS)
}

/// Shows what the tools of an imported bundle would do, and asks.
fn ask(view: &BundleView, crib: &Crib, global: &Global, output: &Output) -> Result<(), CliError> {
    let lines = page(view, crib, output);
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
    if confirmed(&question, global, output)? {
        // What was agreed to is what was shown.
        if page(view, crib, output) == lines {
            return Ok(());
        }
        let message = format!("the bundle `{}` changed while you looked", view.bundle.slug);
        let error = CliError::from(ToolError::new(ErrorCode::Conflict, message));
        return Err(error.with_hint("nothing was switched on; look at it again"));
    }
    Err(declined("nothing was switched on"))
}

fn page(view: &BundleView, crib: &Crib, output: &Output) -> Vec<String> {
    let bundle = &view.bundle;
    let slug = output.bold(&visible(bundle.slug.as_str()));
    let when = imported_at(bundle).unwrap_or_default();
    let mut lines = vec![format!("tools of {slug}, imported {}", visible(&when))];
    for entry in crib.bundle_tools(bundle.bundle_id) {
        let spec = entry.spec();
        lines.push(String::new());
        let reference = visible(&spec.reference()).into_owned();
        lines.push(output.heading(&reference));
        let first = spec.description.lines().next().unwrap_or_default();
        lines.push(visible(first).into_owned());
        for warning in spec.warnings() {
            lines.extend(labelled("warning", warning));
        }
        let Some(record) = stored::record(&entry, crib) else {
            continue;
        };
        for (what, text) in stored::does(&record) {
            lines.extend(labelled(&what, &text));
        }
        let tags = match spec.tags.is_empty() {
            true => "none".to_owned(),
            false => spec.tags.join(", "),
        };
        lines.extend(labelled("tags", &tags));
    }
    lines.push(String::new());
    lines
}
