//! `toolcrib bundle restore`: takes a bundle out of the bin.

use std::process::ExitCode;

use toolcrib::crib::{BundleKind, BundleRow, ToolList};
use toolcrib::model::text::visible;
use toolcrib::store::StoreError;
use toolcrib::{ErrorCode, ToolError};
use toolcrib_server::client::{Ask, ClientError};

use super::{all, counted, find, refuse_odd};
use crate::args::BundleRestoreArgs;
use crate::commands::list::tools_at;
use crate::commands::{Done, word};
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::Backend;

pub(super) fn restore(args: &BundleRestoreArgs, backend: &Backend, output: &Output) -> Done {
    refuse_odd(&args.bundle, backend)?;
    let path = format!("/api/bundles/{}/restore", Ask::encoded(&args.bundle));
    let restored = backend.client.json_as(Ask::post_nothing(path));
    let bundle: BundleRow = backend.wait_raw(restored).map_err(|error| match error {
        ClientError::Refused { error, .. } => refused(*error, &args.bundle, backend),
        error => backend.failed(&error),
    })?;
    if output.json() {
        output.document(&bundle);
        return Ok(ExitCode::SUCCESS);
    }
    let (shown, slug) = (visible(bundle.slug.as_str()), word(bundle.slug.as_str()));
    let id = bundle.bundle_id.to_string();
    let list: ToolList = backend.get_as(&tools_at(&[("bundle", &id)]))?;
    let tools = counted(list.tools.len(), "tool");
    output.line(&format!("{shown} is back, with {tools}"));
    if !bundle.is_enabled {
        let what = output.dim("it is off, as it was before");
        output.say(&format!("  toolcrib bundle enable {slug}   {what}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// What to do where it stays in the bin.
fn refused(error: ToolError, reference: &str, backend: &Backend) -> CliError {
    let there = find(reference, backend);
    match (error.code(), &there) {
        (ErrorCode::Conflict, _) => {}
        (ErrorCode::ReadOnly, Ok(bundle)) if bundle.kind != BundleKind::Upstream => {
            let name = bundle.slug.to_string();
            return ToolError::from(StoreError::ReadOnly { name }).into();
        }
        _ => return error.into(),
    }
    let ids = error.details().and_then(|details| details.get("bundleIDs"));
    let first = ids.and_then(|ids| ids.get(0)?.as_str().map(str::to_owned));
    let hint = match (first, there) {
        (Some(first), _) => format!("`toolcrib bundle restore {first}` takes out this one"),
        (None, Ok(there)) if there.soft_deleted_at.is_none() => {
            let bundles = all(backend).unwrap_or_default();
            let in_bin = bundles
                .iter()
                .any(|other| other.slug == there.slug && other.soft_deleted_at.is_some());
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
