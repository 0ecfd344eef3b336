//! `toolcrib bundle edit`: changes what a bundle says about itself.

use std::process::ExitCode;

use toolcrib::store::BundleDraft;
use toolcrib::{ErrorCode, ToolError};

use super::{as_json, parse_slug, slug_refused};
use crate::args::{BundleEditArgs, Global};
use crate::commands::{Done, open, stored, word};
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn edit(args: &BundleEditArgs, global: &Global, output: &Output) -> Done {
    let slug = args.slug.as_deref().map(parse_slug).transpose()?;
    let crib = open(global, output)?;
    let view = crib.bundle(&args.bundle)?;
    stored::refuse_own(&view)?;
    let old = view.bundle;
    if old.soft_deleted_at.is_some() {
        let message = format!("the bundle `{}` is in the bin", old.slug);
        let hint = format!(
            "`toolcrib bundle restore {}` takes it out",
            word(old.slug.as_str())
        );
        return Err(CliError::from(ToolError::new(ErrorCode::Conflict, message)).with_hint(hint));
    }
    let display_name = match (&args.name, &slug) {
        (Some(name), _) => name.clone(),
        // A name that was the slug follows it.
        (None, Some(slug)) if old.display_name == old.slug.as_str() => slug.to_string(),
        (None, _) => old.display_name.clone(),
    };
    let draft = BundleDraft {
        slug: slug.unwrap_or_else(|| old.slug.clone()),
        display_name,
        description: args
            .description
            .clone()
            .unwrap_or_else(|| old.description.clone()),
        is_enabled: old.is_enabled,
    };
    let slug = draft.slug.clone();
    let put = crib.put_bundle_as_switched(old.bundle_id, draft);
    put.map_err(|error| slug_refused(error, &slug, &crib))?;
    let view = crib.bundle(&old.bundle_id.to_string())?;
    if output.json() {
        output.document(&as_json(&view));
        return Ok(ExitCode::SUCCESS);
    }
    let slug = word(view.bundle.slug.as_str());
    output.line(&format!(
        "saved {}",
        toolcrib::model::text::visible(view.bundle.slug.as_str())
    ));
    if view.bundle.slug != old.slug && view.tools > 0 {
        output.say(&format!("its tools are called `{slug}/…` from now on"));
    }
    Ok(ExitCode::SUCCESS)
}
