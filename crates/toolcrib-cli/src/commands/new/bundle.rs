//! `toolcrib new NAME --bundle B`: the same drafts as stored tools.

use serde_json::json;
use toolcrib::crib::BundleRow;
use toolcrib::definition::Severity;
use toolcrib::model::text::visible;
use toolcrib::source::{FileKind, draft};
use toolcrib::{Crib, ErrorCode, Slug, WireName};

use crate::args::NewArgs;
use crate::commands::show::Looked;
use crate::commands::{stored, word};
use crate::failure::CliError;
use crate::output::Output;

/// Puts a draft into a bundle; returns the tool's reference.
pub(super) fn put(
    bundle: &str,
    kind: FileKind,
    text: &str,
    args: &NewArgs,
    crib: &Crib,
) -> Result<String, CliError> {
    let view = crib.bundle(bundle)?;
    stored::refuse_own(&BundleRow::from(&view))?;
    let draft = draft(kind, text.as_bytes(), "tool", view.bundle.bundle_id);
    let Some(mut manifest) = draft.manifest else {
        let mut problems = draft.problems.iter();
        let wrong = problems.find(|problem| problem.severity == Severity::Error);
        let why = wrong.map_or("it does not check", |problem| &problem.message);
        return Err(CliError::usage(format!("the tool cannot be made: {why}")));
    };
    // A slug of another script has no name that it could be read from.
    if WireName::parse(&args.name).is_err()
        && let Ok(slug) = Slug::parse(&args.name)
    {
        manifest.slug = slug;
        manifest.name = None;
    }
    let reference = format!(
        "{}/{}@{}",
        view.bundle.slug, manifest.slug, manifest.version
    );
    stored::refuse_closed(&BundleRow::from(&view))?;
    let record = crib.put_tool(manifest).map_err(|error| {
        let is_taken = error.code() == ErrorCode::Conflict;
        let error = CliError::from(error);
        match is_taken {
            true => error.with_hint(format!(
                "`toolcrib edit {}` changes what is there, `--as-version V` saves it beside",
                word(&reference)
            )),
            false => error,
        }
    })?;
    let (slug, version) = (&record.key.slug, &record.key.version);
    Ok(format!("{}/{slug}@{version}", view.bundle.slug))
}

pub(super) fn report(reference: &str, crib: &Crib, output: &Output) {
    if output.json() {
        output.document(&json!({"ok": true, "value": {"tool": reference, "created": true}}));
        return;
    }
    output.line(&format!("put {}", visible(reference)));
    let edit = (
        format!("toolcrib edit {}", word(reference)),
        "make it yours",
    );
    if let Ok(tool) = Looked::here(reference, crib) {
        stored::say_next(Some(edit), &tool, output);
    }
}
