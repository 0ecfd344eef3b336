//! Bundles as ZIP files, and out of the bin: `/api/bundles`.

use http::{HeaderValue, Method, Response, StatusCode, header};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use toolcrib::crib::{BundleRow, Candidate, ComparisonShown, ImportShown, NameContest};
use toolcrib::store::StoreError;
use toolcrib::store::archive::{self, Archive, MAX_ARCHIVE_BYTES};
use toolcrib::{Crib, Slug, ToolError};

use super::bundles::seen;
use super::work::{blocking, bundle_of, refuse_own, refused, shown};
use crate::api::{Answer, ApiRequest, Body, Refusal, Route, Who, param};

/// What differs between a bundle and an archive.
#[derive(Debug, Serialize, JsonSchema)]
struct Difference {
    #[serde(flatten)]
    comparison: ComparisonShown,
    /// Warnings about the archive.
    notes: Vec<String>,
}

/// What the tools of a bundle run, send and reach.
#[derive(Debug, Serialize, JsonSchema)]
struct Review {
    #[serde(flatten)]
    comparison: ComparisonShown,
    /// The names that other tools have and tools of it want.
    names: Vec<NameContest>,
    /// What all of it is known by; as `If-Match`, it has `PATCH` switch on what was shown here and nothing else.
    digest: String,
}

/// What came of taking an archive in, or would.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ImportShown")]
struct Import {
    #[serde(flatten)]
    shown: ImportShown,
    /// What would be replaced; as `If-Match`, it has the import replace what was compared here and nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    /// Why it would not be taken in, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    refusal: Option<ToolError>,
}

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::POST,
            "/api/bundles/{bundleID}/restore",
            Who::Operator,
            |api, asked| blocking(api, asked, restore),
        )
        .named("restoreBundle", "archives", "Takes a bundle out of the bin, switched as it was.")
        .answers::<BundleRow>(200, "The bundle.")
        .refuses(403, "It is one of Toolcrib's own.")
        .refuses(404, "There is no such bundle.")
        .refuses(409, "It is not in the bin, another one has its slug by now, or several in the bin have it."),
        Route::new(
            Method::GET,
            "/api/bundles/{bundleID}/export",
            Who::Operator,
            |api, asked| blocking(api, asked, export),
        )
        .named("exportBundle", "archives", "Packs a bundle of the store into a ZIP file.")
        .about("The same content gives the same bytes. Nothing is packed if a definition contains the value of a secret.")
        .answers_with(200, "The archive.", "application/zip")
        .refuses(403, "It is one of Toolcrib's own.")
        .refuses(404, "There is no such bundle.")
        .refuses(409, "It contains the value of a secret."),
        Route::new(Method::POST, "/api/bundles/import", Who::Operator, |api, asked| {
            blocking(api, asked, import)
        })
        .named("importBundle", "archives", "Takes in a bundle from a ZIP file, all of it or nothing.")
        .about(
            "It arrives switched off and marked as imported: every call of its tools asks. The answer says what its tools would run, \
             reach and tell, and what is wrong with them; `PATCH` switches it on.",
        )
        .param(param::query_text("slug", "Another slug for it; then it is a copy with its own ids."))
        .param(param::query_flag("update", "Whether it may replace the bundle of its id."))
        .param(param::query_flag("dryRun", "Whether only to say what would come of it."))
        .param(param::query_flag(
            "refusal",
            "With `dryRun`: whether to say in `refusal` why it would not be taken in, rather than to refuse.",
        ))
        .param(param::header(
            "If-Match",
            "With `update`: the `digest` of the dry run, in quotes. Only the state that was compared there is replaced, or nothing.",
        ))
        .takes_zip(MAX_ARCHIVE_BYTES as u64)
        .answers::<Import>(201, "It was taken in as a new bundle.")
        .answers::<Import>(200, "It has replaced the one that was here; or what would come of it.")
        .refuses(403, "It is called like one of Toolcrib's own.")
        .refuses(409, "A bundle of its id or slug is here."),
        Route::new(
            Method::GET,
            "/api/bundles/{bundleID}/review",
            Who::Operator,
            |api, asked| blocking(api, asked, review),
        )
        .named("reviewBundle", "archives", "Says what the tools of a bundle of the store run, send, reach and tell.")
        .about(
            "What to review before switching on a bundle that came from elsewhere. `PATCH /tools/bundles/{bundleID}` with \
             `If-Match: \"DIGEST\"` then switches on what was seen, or nothing.",
        )
        .answers::<Review>(200, "Every version of every tool, as if all of it were new.")
        .refuses(403, "It is one of Toolcrib's own.")
        .refuses(404, "There is no such bundle."),
        Route::new(
            Method::POST,
            "/api/bundles/{bundleID}/diff",
            Who::Operator,
            |api, asked| blocking(api, asked, diff),
        )
        .named("diffBundle", "archives", "Says what a ZIP file has that a bundle of the store has not.")
        .takes_zip(MAX_ARCHIVE_BYTES as u64)
        .answers::<Difference>(200, "What differs, and what the tools of the archive would run and reach.")
        .refuses(403, "It is one of Toolcrib's own.")
        .refuses(404, "There is no such bundle."),
    ]
}

fn restore(crib: &Crib, asked: &ApiRequest) -> Answer {
    refuse_own(&bundle_of(crib, asked)?)?;
    let bundle = crib.restore_bundle(asked.path.get("bundleID"))?;
    let view = crib.bundle(&bundle.bundle_id.to_string())?;
    Ok(shown(crib, StatusCode::OK, &BundleRow::from(&view)))
}

fn export(crib: &Crib, asked: &ApiRequest) -> Answer {
    let view = bundle_of(crib, asked)?;
    refuse_own(&view)?;
    let (id, slug) = (view.bundle.bundle_id, view.bundle.slug.as_str());
    let bytes = archive::export(crib.store(), id, crib.secrets());
    let bytes = bytes.map_err(|error| refused(crib, error))?;
    // Slugs of other scripts are nothing for a header; a leading dash is an option to the next command.
    let name = match slug.is_ascii() && !slug.starts_with('-') {
        true => slug.to_owned(),
        false => id.to_string(),
    };
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/zip"),
    );
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}.zip\"")) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

fn import(crib: &Crib, asked: &ApiRequest) -> Answer {
    let slug = asked.query.text("slug").map(Slug::parse).transpose();
    let slug = slug.map_err(|error| Refusal::usage(format!("`slug`: {error}")))?;
    let update = asked.query.flag("update")?;
    let dry_run = asked.query.flag("dryRun")?;
    let arrival = crib
        .arrival(read(crib, asked)?, slug, update)
        .map_err(|error| refused(crib, error))?;
    let checked = arrival.check(crib);
    let document = arrival.shown(crib);
    let digest = arrival.replaces();
    if dry_run {
        let refusal = match asked.query.flag("refusal")? {
            true => checked.err().map(told_apart),
            false => checked.map_err(not_taken).map(|()| None)?,
        };
        let import = Import {
            shown: document,
            digest: digest.map(|digest| digest.to_string()),
            refusal,
        };
        return Ok(shown(crib, StatusCode::OK, &import));
    }
    checked.map_err(not_taken)?;
    if seen(asked)?.is_some_and(|seen| digest != Some(seen)) {
        let slug = document.comparison.bundle.slug;
        return Err(refused(crib, StoreError::BundleChanged { slug }));
    }
    let status = match arrival.is_update() {
        true => StatusCode::OK,
        false => StatusCode::CREATED,
    };
    let stored = crib.take_in(arrival).map_err(not_taken)?;
    let import = Import {
        shown: document.taken_in(&stored),
        digest: None,
        refusal: None,
    };
    Ok(shown(crib, status, &import))
}

fn review(crib: &Crib, asked: &ApiRequest) -> Answer {
    let view = bundle_of(crib, asked)?;
    refuse_own(&view)?;
    let id = view.bundle.bundle_id;
    // First what it is known by: what changes in between is found out when it is switched on.
    let whole = crib.store().whole(id);
    let whole = whole.map_err(|error| refused(crib, error))?;
    let contents = archive::contents(crib.store(), id);
    let contents = contents.map_err(|error| refused(crib, error))?;
    let comparison = archive::compare(None, &contents, |tool| crib.check_manifest(tool));
    let on = whole.tools.iter().filter(|tool| tool.head.is_enabled);
    let candidates = on.map(|tool| Candidate {
        slug: tool.key.slug.clone(),
        version: tool.key.version.clone(),
        name: tool.head.name.clone(),
        modified: Some(tool.head.modified_at),
    });
    let contests = crib.contests(&contents.bundle, candidates);
    let review = Review {
        comparison: crib.compared(&comparison, None, &contents),
        names: contests.iter().map(NameContest::from).collect(),
        digest: whole.digest().to_string(),
    };
    Ok(shown(crib, StatusCode::OK, &review))
}

fn diff(crib: &Crib, asked: &ApiRequest) -> Answer {
    let view = bundle_of(crib, asked)?;
    refuse_own(&view)?;
    let archive = read(crib, asked)?;
    let old = archive::contents(crib.store(), view.bundle.bundle_id);
    let old = old.map_err(|error| refused(crib, error))?;
    let comparison = archive::compare(Some(&old), &archive.contents, |tool| {
        crib.check_manifest(tool)
    });
    let difference = Difference {
        comparison: crib.compared(&comparison, Some(&old), &archive.contents),
        notes: archive.notes,
    };
    Ok(shown(crib, StatusCode::OK, &difference))
}

/// The archive in the body.
fn read(crib: &Crib, asked: &ApiRequest) -> Result<Archive, Refusal> {
    if asked.body.is_empty() {
        return Err(Refusal::usage("an archive is missing: send a ZIP file"));
    }
    Archive::read(&asked.body).map_err(|error| refused(crib, error))
}

/// Why an archive is not taken in, with what to ask for instead.
fn not_taken(error: StoreError) -> Refusal {
    let hint = match reason(&error) {
        Some(BUNDLE_TAKEN) => "; `?update=true` replaces it, `?slug=NEW` takes a copy in beside it",
        Some(_) => "; `?slug=NEW` takes it in under another name",
        None => return ToolError::from(error).into(),
    };
    let reason = reason(&error).unwrap_or_default();
    let error = ToolError::from(error);
    ToolError::new(error.code(), format!("{}{hint}", error.message()))
        .with_detail("reason", reason)
        .into()
}

const BUNDLE_TAKEN: &str = "bundle-taken";
const SLUG_TAKEN: &str = "slug-taken";

/// A word for what can be done something about.
fn reason(error: &StoreError) -> Option<&'static str> {
    match error {
        StoreError::BundleTaken { .. } => Some(BUNDLE_TAKEN),
        StoreError::SlugTaken { .. } | StoreError::ReadOnly { .. } => Some(SLUG_TAKEN),
        _ => None,
    }
}

/// A refusal of the store, with such a word in `details.reason`.
fn told_apart(error: StoreError) -> ToolError {
    match reason(&error) {
        Some(reason) => ToolError::from(error).with_detail("reason", reason),
        None => error.into(),
    }
}
