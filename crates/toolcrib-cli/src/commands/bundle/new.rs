//! `toolcrib bundle new`: makes a bundle.

use std::process::ExitCode;

use toolcrib::model::ids::BundleId;
use toolcrib::model::text::visible;
use toolcrib::store::{BundleDraft, Put};
use toolcrib::{Crib, ErrorCode, ToolError};

use super::{as_json, parse_slug, slug_refused};
use crate::args::{BundleNewArgs, Global};
use crate::commands::{Done, open, word};
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn new(args: &BundleNewArgs, global: &Global, output: &Output) -> Done {
    let slug = parse_slug(&args.slug)?;
    let crib = open(global, output)?;
    let id = args.id.unwrap_or_else(BundleId::generate);
    refuse_known(id, &crib)?;
    let draft = BundleDraft {
        display_name: args.name.clone().unwrap_or_else(|| slug.to_string()),
        description: args.description.clone().unwrap_or_default(),
        is_enabled: !args.disabled,
        slug: slug.clone(),
    };
    let put = crib.put_bundle(id, draft);
    let (Put::Created(bundle) | Put::Replaced(bundle)) =
        put.map_err(|error| slug_refused(error, &slug, &crib))?;
    if output.json() {
        output.document(&as_json(&crib.bundle(&id.to_string())?));
        return Ok(ExitCode::SUCCESS);
    }
    let shown = visible(bundle.slug.as_str());
    output.line(&format!("made the bundle {shown} ({})", bundle.bundle_id));
    let slug = word(bundle.slug.as_str());
    let (next, what) = match bundle.is_enabled {
        true => (
            format!("toolcrib bundle add {slug} FILE"),
            "put a tool in it",
        ),
        false => (
            format!("toolcrib bundle enable {slug}"),
            "nothing can be put into it before",
        ),
    };
    output.say(&format!("  {next}   {}", output.dim(what)));
    Ok(ExitCode::SUCCESS)
}

/// A new bundle never takes the place of another: replacing is not what this verb says.
fn refuse_known(id: BundleId, crib: &Crib) -> Result<(), CliError> {
    let Ok(view) = crib.bundle(&id.to_string()) else {
        return Ok(());
    };
    let message = format!("the bundle `{}` has the id {id} already", view.bundle.slug);
    Err(CliError::from(ToolError::new(ErrorCode::Conflict, message))
        .with_hint("leave `--id` out, and it gets one of its own"))
}
