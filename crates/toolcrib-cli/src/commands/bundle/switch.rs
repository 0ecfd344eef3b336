//! `toolcrib bundle enable` and `toolcrib bundle disable`: one switch for all tools of a bundle.
//!
//! What came from elsewhere is switched on by someone who has seen what it would run and reach.

use std::process::ExitCode;

use serde::Deserialize;
use serde_json::json;
use toolcrib::crib::{BundleKind, BundleRow, ComparisonShown, NameContest, ToolList};
use toolcrib::model::text::visible;
use toolcrib_server::client::Ask;

use super::{comparison, counted, find, imported_at, in_the_bin, path_of_id, print};
use crate::args::{BundleNamesArgs, BundleSwitchArgs, Global};
use crate::commands::Done;
use crate::commands::confirm::{confirmed, declined};
use crate::commands::list::tools_at;
use crate::commands::names::{self, Holders};
use crate::commands::trust::labelled;
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::Backend;

/// A bundle to switch, with the digest of what the user was shown of it.
struct BundleChoice {
    bundle: BundleRow,
    seen: Option<String>,
}

pub(super) fn enable(
    args: &BundleSwitchArgs,
    backend: &Backend,
    global: &Global,
    output: &Output,
) -> Done {
    let mut wanted = all(&args.bundles, backend)?;
    for one in wanted.iter_mut().filter(|_| !args.yes) {
        let bundle = &one.bundle;
        let is_foreign = imported_at(&bundle.extra).is_some();
        if bundle.kind == BundleKind::Store && is_foreign && !bundle.is_enabled {
            one.seen = Some(ask(bundle, backend, global, output)?);
        }
    }
    switch(&wanted, true, backend, output)
}

pub(super) fn disable(args: &BundleNamesArgs, backend: &Backend, output: &Output) -> Done {
    switch(&all(&args.bundles, backend)?, false, backend, output)
}

/// All or none, as far as that can be known: half a command is hard to repeat.
fn all(names: &[String], backend: &Backend) -> Result<Vec<BundleChoice>, CliError> {
    let mut all = Vec::new();
    for name in names {
        let (bundle, seen) = (find(name, backend)?, None);
        all.push(BundleChoice { bundle, seen });
    }
    match all.iter().find(|one| one.bundle.soft_deleted_at.is_some()) {
        Some(one) => Err(in_the_bin(&one.bundle.slug)),
        None => Ok(all),
    }
}

fn switch(wanted: &[BundleChoice], enabled: bool, backend: &Backend, output: &Output) -> Done {
    let mut before = Vec::new();
    for one in wanted {
        let id = one.bundle.bundle_id.to_string();
        let list: ToolList = backend.get_as(&tools_at(&[("bundle", &id)]))?;
        let names = list.tools.into_iter().map(|tool| tool.row.name);
        before.push(Holders::of(names, backend)?);
    }
    let mut switched: Vec<BundleRow> = Vec::new();
    for BundleChoice { bundle, seen } in wanted {
        // By its id: the one that was looked at.
        let path = path_of_id(bundle.bundle_id);
        let mut ask = Ask::patch(path, &json!({"isEnabled": enabled}));
        if let Some(seen) = seen {
            // Only the shown state is switched on.
            ask = ask.if_match(seen).map_err(|error| backend.failed(&error))?;
        }
        switched.push(backend.ask(ask)?);
    }
    let mut documents = Vec::new();
    for (bundle, before) in switched.iter().zip(&before) {
        let now = before.now(backend)?;
        if output.json() {
            let mut fields = json!(bundle);
            let moved = before.document(&now);
            if !moved.is_empty() {
                fields["names"] = moved.into();
            }
            documents.push(fields);
        } else {
            let slug = visible(bundle.slug.as_str());
            let tools = counted(bundle.tools, "tool");
            let state = if enabled { "on" } else { "off" };
            output.say(&format!("`{slug}` is {state}, with {tools}"));
            before.warn(&now, output);
        }
    }
    if output.json() {
        output.document(&documents);
    }
    Ok(ExitCode::SUCCESS)
}

/// What the tools of a bundle run, send and reach.
#[derive(Deserialize)]
struct Review {
    #[serde(flatten)]
    comparison: ComparisonShown,
    names: Vec<NameContest>,
    digest: String,
}

/// Shows what the tools of an imported bundle would do, and asks; returns the digest of what was shown.
fn ask(
    bundle: &BundleRow,
    backend: &Backend,
    global: &Global,
    output: &Output,
) -> Result<String, CliError> {
    let path = format!("/api/bundles/{}/review", bundle.bundle_id);
    let review: Review = backend.get_as(&path)?;
    print(&page(bundle, &review, output), output);
    let question = match bundle.tools {
        1 => "switch this tool on? [y/n] ".to_owned(),
        tools => format!("switch these {tools} tools on? [y/n] "),
    };
    match confirmed(&question, global, output)? {
        true => Ok(review.digest),
        false => Err(declined("nothing was switched on")),
    }
}

/// What a person sees before they are asked: of the records as they are, every one.
fn page(bundle: &BundleRow, review: &Review, output: &Output) -> Vec<String> {
    let slug = output.bold(&visible(bundle.slug.as_str()));
    let when = imported_at(&bundle.extra).unwrap_or_default();
    let mut lines = vec![format!("tools of {slug}, imported {}", visible(&when))];
    for tool in &review.comparison.tools {
        lines.push(String::new());
        let reference = format!("{}/{}@{}", bundle.slug, tool.slug, tool.version);
        let shown = tool.shown.as_ref();
        let off = match shown.is_some_and(|shown| !shown.is_enabled) {
            true => output.dim("  off, and stays off"),
            false => String::new(),
        };
        lines.push(format!("{}{off}", output.heading(&visible(&reference))));
        let first = tool.description.lines().next().unwrap_or_default();
        lines.push(visible(first).into_owned());
        for warning in shown.iter().flat_map(|shown| &shown.warnings) {
            lines.extend(labelled("warning", warning));
        }
        lines.extend(comparison::runs(tool));
        for called in &tool.calls {
            lines.extend(labelled("calls", called));
        }
        lines.extend(comparison::tags(tool));
    }
    lines.push(String::new());
    lines.extend(names::lines(&review.names));
    lines.extend(comparison::reach_in_words(&review.comparison));
    lines
}
