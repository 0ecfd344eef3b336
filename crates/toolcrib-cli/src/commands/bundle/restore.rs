//! `toolcrib bundle restore`: takes a bundle out of the bin.

use std::process::ExitCode;

use super::{bundle_json, counted};
use crate::args::{BundleRestoreArgs, Global};
use crate::commands::{Done, open, word};
use crate::output::Output;

pub(super) fn restore(args: &BundleRestoreArgs, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    let bundle = crib.restore_bundle(&args.bundle)?;
    if output.json() {
        output.document(&bundle_json(&bundle));
        return Ok(ExitCode::SUCCESS);
    }
    let slug = word(bundle.slug.as_str());
    let tools = crib.bundle_tools(bundle.bundle_id).len();
    let tools = counted(tools, "tool");
    output.line(&format!("{slug} is back, with {tools}"));
    if !bundle.is_enabled {
        let what = output.dim("it is off, as it was before");
        output.say(&format!("  toolcrib bundle enable {slug}   {what}"));
    }
    Ok(ExitCode::SUCCESS)
}
