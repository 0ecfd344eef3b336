//! `toolcrib bundle rm`: puts a bundle in the bin.

use std::process::ExitCode;

use jiff::SignedDuration;
use toolcrib::crib::{BundleKind, BundleRow, ToolList};
use toolcrib::model::text::visible;
use toolcrib::{ErrorCode, ToolError};

use super::{counted, find, path_of_id};
use crate::args::{BundleRmArgs, Global};
use crate::commands::confirm::{confirmed, declined};
use crate::commands::list::tools_at;
use crate::commands::names::Holders;
use crate::commands::{Done, word};
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::Backend;

/// How long the store keeps an empty bundle in the bin.
const KEPT: SignedDuration = SignedDuration::from_hours(48);

pub(super) fn rm(args: &BundleRmArgs, backend: &Backend, global: &Global, output: &Output) -> Done {
    let bundle = find(&args.bundle, backend)?;
    let slug = bundle.slug.to_string();
    if bundle.kind != BundleKind::Store {
        return Err(own(&bundle));
    }
    let was_there = bundle.soft_deleted_at.is_some();
    if !was_there && !args.yes {
        let tools = counted(bundle.tools, "tool");
        let shown = visible(&slug);
        let question = format!("put the bundle `{shown}` with {tools} in the bin? [y/n] ");
        if !confirmed(&question, global, output)? {
            return Err(declined("the bundle stays where it is"));
        }
    }
    let id = bundle.bundle_id;
    let list: ToolList = backend.get_as(&tools_at(&[("bundle", &id.to_string())]))?;
    let before = Holders::of(list.tools.into_iter().map(|tool| tool.row.name), backend)?;
    // By its id: of two bundles with one slug, the one that was shown.
    backend.wait(backend.client.delete(&path_of_id(id)))?;
    let bundle = find(&id.to_string(), backend)?;
    if output.json() {
        output.document(&bundle);
        return Ok(ExitCode::SUCCESS);
    }
    let verb = if was_there { "was" } else { "is" };
    output.line(&format!("{} {verb} in the bin", visible(&slug)));
    let until = bundle
        .soft_deleted_at
        .and_then(|at| at.checked_add(KEPT).ok());
    match (bundle.tools, until) {
        (0, Some(until)) => {
            let until = crate::local_time::minute(until);
            output.say(&format!(
                "it is empty, and is removed for good after {until}"
            ));
        }
        (tools, _) => {
            let tools = counted(tools, "tool");
            output.say(&format!("it stays there as long as it has {tools}"));
        }
    }
    let restored = match find(&slug, backend).map(|found| found.bundle_id) {
        Ok(found) if found == id => word(&slug),
        // Another one has the slug.
        _ => id.to_string(),
    };
    before.say_changes(&before.now(backend)?, output);
    let what = output.dim("brings it back");
    output.say(&format!("  toolcrib bundle restore {restored}   {what}"));
    Ok(ExitCode::SUCCESS)
}

/// Bundles of Toolcrib's own have a switch, and no bin.
fn own(bundle: &BundleRow) -> CliError {
    let slug = &bundle.slug;
    let message = match bundle.kind {
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
