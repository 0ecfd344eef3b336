//! `toolcrib bundle new`: makes a bundle.

use std::process::ExitCode;

use serde_json::json;
use toolcrib::crib::BundleRow;
use toolcrib::model::ids::BundleId;
use toolcrib::model::text::visible;
use toolcrib::{ErrorCode, ToolError};
use toolcrib_server::client::{Ask, ClientError};

use super::{find, parse_slug, path_of_id, slug_refused};
use crate::args::BundleNewArgs;
use crate::commands::{Done, word};
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::Backend;

pub(super) fn new(
    args: &BundleNewArgs,
    backend: impl FnOnce() -> Result<Backend, CliError>,
    output: &Output,
) -> Done {
    let slug = parse_slug(&args.slug)?;
    let backend = backend()?;
    let id = args.id.unwrap_or_else(BundleId::generate);
    refuse_known(id, &backend)?;
    let body = json!({
        "slug": slug,
        "displayName": args.name.as_deref().unwrap_or(slug.as_str()),
        "description": args.description.as_deref().unwrap_or_default(),
        "isEnabled": !args.disabled,
    });
    let made = backend.client.json_as(Ask::put(path_of_id(id), &body));
    let bundle: BundleRow = backend.wait_raw(made).map_err(|error| match error {
        ClientError::Refused { error, .. } => {
            slug_refused(*error, &slug, |slug| find(slug, &backend).is_ok())
        }
        error => backend.failed(&error),
    })?;
    if output.json() {
        output.document(&bundle);
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
            "needed before tools can be added",
        ),
    };
    output.say(&format!("  {next}   {}", output.dim(what)));
    Ok(ExitCode::SUCCESS)
}

/// A new bundle never takes the place of another: replacing is not what this verb says.
fn refuse_known(id: BundleId, backend: &Backend) -> Result<(), CliError> {
    let Ok(bundle) = find(&id.to_string(), backend) else {
        return Ok(());
    };
    let message = format!("the bundle `{}` has the id {id} already", bundle.slug);
    Err(CliError::from(ToolError::new(ErrorCode::Conflict, message))
        .with_hint("leave out `--id`, and it gets a new one"))
}
