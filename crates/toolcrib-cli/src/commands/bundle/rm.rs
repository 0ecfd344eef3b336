//! `toolcrib bundle rm`: puts a bundle in the bin.

use std::process::ExitCode;

use jiff::SignedDuration;
use toolcrib::crib::{BundleKind, BundleView};
use toolcrib::model::text::visible;
use toolcrib::{ErrorCode, ToolError};

use super::{as_json, counted};
use crate::args::{BundleRmArgs, Global};
use crate::commands::confirm::{confirmed, declined};
use crate::commands::{Done, open, stored, word};
use crate::failure::CliError;
use crate::output::Output;

/// How long the store keeps an empty bundle in the bin.
const KEPT: SignedDuration = SignedDuration::from_hours(48);

pub(super) fn rm(args: &BundleRmArgs, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    let view = crib.bundle(&args.bundle)?;
    let slug = view.bundle.slug.to_string();
    if view.kind != BundleKind::Store {
        return Err(own(&view));
    }
    let was_there = view.bundle.soft_deleted_at.is_some();
    if !was_there && !args.yes {
        let tools = counted(view.tools, "tool");
        let shown = visible(&slug);
        let question = format!("put the bundle `{shown}` with {tools} in the bin? [y/n] ");
        if !confirmed(&question, global, output)? {
            return Err(declined("the bundle stays where it is"));
        }
    }
    let names = stored::Names::of(&crib.bundle_tools(view.bundle.bundle_id), &crib);
    // By its id: of two bundles with one slug, the one that was shown.
    let bundle = crib.delete_bundle(&view.bundle.bundle_id.to_string())?;
    if output.json() {
        output.document(&as_json(&crib.bundle(&bundle.bundle_id.to_string())?));
        return Ok(ExitCode::SUCCESS);
    }
    let verb = if was_there { "was" } else { "is" };
    output.line(&format!("{} {verb} in the bin", visible(&slug)));
    let until = bundle
        .soft_deleted_at
        .and_then(|at| at.checked_add(KEPT).ok());
    match (view.tools, until) {
        (0, Some(until)) => {
            let until = until.strftime("%Y-%m-%d %H:%M UTC");
            output.say(&format!(
                "it is empty, and is removed for good after {until}"
            ));
        }
        (tools, _) => {
            let tools = counted(tools, "tool");
            output.say(&format!("it stays there as long as it has {tools}"));
        }
    }
    let restored = match crib.bundle(&slug).map(|found| found.bundle.bundle_id) {
        Ok(id) if id == bundle.bundle_id => word(&slug),
        // Another one has the slug.
        _ => bundle.bundle_id.to_string(),
    };
    names.say_changes(&crib, output);
    let what = output.dim("take it out again");
    output.say(&format!("  toolcrib bundle restore {restored}   {what}"));
    Ok(ExitCode::SUCCESS)
}

/// Bundles of Toolcrib's own have a switch, and no bin.
fn own(view: &BundleView) -> CliError {
    let slug = &view.bundle.slug;
    let message = match view.kind {
        BundleKind::BuiltIn => format!("`{slug}` has the built-in tools and cannot be removed"),
        BundleKind::Files | BundleKind::Store => {
            format!("`{slug}` has the tools of files and cannot be removed")
        }
        BundleKind::Upstream => {
            let message = format!("`{slug}` has the tools of an MCP server and has no bin");
            return CliError::from(ToolError::new(ErrorCode::ReadOnly, message))
                .with_hint(format!("`toolcrib upstream rm {slug}` removes it"));
        }
    };
    CliError::from(ToolError::new(ErrorCode::ReadOnly, message))
        .with_hint(format!("`toolcrib bundle disable {slug}` switches it off"))
}
