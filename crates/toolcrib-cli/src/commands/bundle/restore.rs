//! `toolcrib bundle restore`: takes a bundle out of the bin.

use std::process::ExitCode;

use toolcrib::model::text::visible;
use toolcrib::{Crib, ErrorCode, ToolError};

use super::{as_json, counted};
use crate::args::{BundleRestoreArgs, Global};
use crate::commands::{Done, open, word};
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn restore(args: &BundleRestoreArgs, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    let bundle = crib
        .restore_bundle(&args.bundle)
        .map_err(|error| refused(error, &args.bundle, &crib))?;
    if output.json() {
        output.document(&as_json(&crib.bundle(&bundle.bundle_id.to_string())?));
        return Ok(ExitCode::SUCCESS);
    }
    let (shown, slug) = (visible(bundle.slug.as_str()), word(bundle.slug.as_str()));
    let tools = crib.bundle_tools(bundle.bundle_id).len();
    let tools = counted(tools, "tool");
    output.line(&format!("{shown} is back, with {tools}"));
    if !bundle.is_enabled {
        let what = output.dim("it is off, as it was before");
        output.say(&format!("  toolcrib bundle enable {slug}   {what}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// What to do where it stays in the bin.
fn refused(error: ToolError, reference: &str, crib: &Crib) -> CliError {
    if error.code() != ErrorCode::Conflict {
        return error.into();
    }
    let ids = error.details().and_then(|details| details.get("bundleIDs"));
    let first = ids.and_then(|ids| ids.get(0)?.as_str().map(str::to_owned));
    let there = crib.bundle(reference).map(|view| view.bundle);
    let hint = match (first, there) {
        (Some(first), _) => format!("`toolcrib bundle restore {first}` takes out this one"),
        (None, Ok(there)) if there.soft_deleted_at.is_none() => {
            let mut bundles = crib.bundles().into_iter().map(|view| view.bundle);
            let in_bin =
                bundles.any(|other| other.slug == there.slug && other.soft_deleted_at.is_some());
            let slug = word(there.slug.as_str());
            match in_bin {
                true => format!(
                    "`toolcrib bundle edit {slug} --slug NEW` gives the one that is there another slug"
                ),
                false => "`toolcrib bundle list --all` shows what is in the bin".to_owned(),
            }
        }
        (None, _) => "`toolcrib bundle list --all` shows what is in the bin".to_owned(),
    };
    CliError::from(error).with_hint(hint)
}
