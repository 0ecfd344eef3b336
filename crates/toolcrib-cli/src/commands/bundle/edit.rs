//! `toolcrib bundle edit`: changes what a bundle says about itself.

use std::process::ExitCode;

use toolcrib::crib::BundleRow;
use toolcrib::store::BundleDraft;

use super::{in_the_bin, parse_slug, slug_refused};
use crate::args::{BundleEditArgs, Global};
use crate::commands::{Done, open, stored, word};
use crate::output::Output;

pub(super) fn edit(args: &BundleEditArgs, global: &Global, output: &Output) -> Done {
    let slug = args.slug.as_deref().map(parse_slug).transpose()?;
    let crib = open(global, output)?;
    let view = crib.bundle(&args.bundle)?;
    stored::refuse_own(&BundleRow::from(&view))?;
    let old = view.bundle;
    if old.soft_deleted_at.is_some() {
        return Err(in_the_bin(&old.slug));
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
    put.map_err(|error| slug_refused(error, &slug, |slug| crib.bundle(slug).is_ok()))?;
    let view = crib.bundle(&old.bundle_id.to_string())?;
    if output.json() {
        output.document(&BundleRow::from(&view));
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
