//! Bundles: S4's `/tools/bundles`.

use http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib::crib::{BundleQuery, BundleRow, BundleView};
use toolcrib::model::text;
use toolcrib::store::{BundleDigest, BundleDraft, Put};
use toolcrib::{BundleId, Crib, Slug};

use super::work::{Switch, blocking, bundle_of, bundles_of, refuse_own, refused, shown};
use crate::api::{Answer, ApiRequest, Paging, Refusal, Route, Who, located, no_content, param};

/// What `PUT` takes. Read-only fields may stay in a body that `GET` returned; they are ignored.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "what is read-only is read, and means nothing")]
struct BundleBody {
    /// The name for people and URLs: letters and digits of any script and dashes, at most 64.
    #[schemars(with = "String")]
    slug: Slug,
    /// The name for lists; the slug if it is left out.
    display_name: Option<String>,
    /// Its contents.
    description: Option<String>,
    /// The switch; as it was, or on for a new one.
    is_enabled: Option<bool>,
    /// The id of the path again, if it is there at all.
    #[serde(rename = "bundleID")]
    bundle_id: Option<String>,
    /// Read-only.
    schema_version: Option<Value>,
    /// Read-only.
    is_built_in: Option<Value>,
    /// Read-only.
    created_at: Option<Value>,
    /// Read-only.
    modified_at: Option<Value>,
    /// Read-only.
    soft_deleted_at: Option<Value>,
    /// Read-only.
    imported_at: Option<Value>,
    /// Read-only.
    kind: Option<Value>,
    /// Read-only.
    tools: Option<Value>,
    /// Read-only.
    availability: Option<Value>,
    /// Read-only.
    problem: Option<Value>,
    /// Read-only.
    warnings: Option<Value>,
}

/// The attributes of a bundle that `PUT` sets.
const ATTRIBUTES: [&str; 4] = ["slug", "displayName", "description", "bundleID"];

/// Some bundles.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Bundles {
    /// Toolcrib's own first, then those of the store and of MCP servers by slug.
    bundles: Vec<BundleRow>,
    /// Where to go on, if that was not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_page_token: Option<String>,
}

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    const ONE: &str = "/tools/bundles/{bundleID}";
    vec![
        Route::new(Method::GET, "/tools/bundles", Who::Caller, |api, asked| {
            blocking(api, asked, list)
        })
        .named("listBundles", "bundles", "Lists bundles, page by page.")
        .about(
            "Bundles that are off, in the bin or damaged are listed with `includeDisabled`. Their order does not depend on their \
             state, and a page begins after the last row of the page before: nothing is skipped or doubled when bundles come or go. \
             A `pageToken` carries what was asked for and can be sent alone.",
        )
        .param(param::query_list(
            "bundleIDs",
            "Only these, by id or slug, separated by commas; an unknown bundle is not an error.",
        ))
        .param(param::include_disabled())
        .params(param::pages())
        .answers::<Bundles>(200, "A page."),
        Route::new(Method::GET, ONE, Who::Caller, |api, asked| {
            blocking(api, asked, get)
        })
        .named("getBundle", "bundles", "Shows a bundle, also one that is in the bin.")
        .answers::<BundleRow>(200, "The bundle.")
        .refuses(404, "There is no such bundle."),
        Route::new(Method::PUT, ONE, Who::Operator, |api, asked| {
            blocking(api, asked, put)
        })
        .named("putBundle", "bundles", "Makes a bundle, or replaces what it says about itself.")
        .about(
            "A new bundle needs an id that is a UUIDv7; a bundle that is there can be named by its slug, too. Its tools stay as they \
             are. One that was imported is switched on by `PATCH` alone.",
        )
        .takes::<BundleBody>("What it says about itself.", || {
            json!({"slug": "acme", "displayName": "Acme", "description": "Tools for Acme", "isEnabled": true})
        })
        .answers::<BundleRow>(201, "It was made.")
        .answers::<BundleRow>(200, "It was replaced.")
        .refuses(403, "It is one of Toolcrib's own.")
        .refuses(409, "Another bundle has the slug, or it is in the bin."),
        Route::new(Method::PATCH, ONE, Who::Operator, |api, asked| {
            blocking(api, asked, patch)
        })
        .named("switchBundle", "bundles", "Switches a bundle on or off, Toolcrib's own too.")
        .param(param::header(
            "If-Match",
            "The digest of `GET /api/bundles/{bundleID}/review`, in quotes: what is switched on is what was seen there, or nothing.",
        ))
        .takes::<Switch>("The switch, and nothing else.", || json!({"isEnabled": false}))
        .answers::<BundleRow>(200, "The bundle as it is now.")
        .refuses(403, "Something else of one of Toolcrib's own was to be changed.")
        .refuses(404, "There is no such bundle.")
        .refuses(409, "It is in the bin, or not what `If-Match` says."),
        Route::new(Method::DELETE, ONE, Who::Operator, |api, asked| {
            blocking(api, asked, delete)
        })
        .named("deleteBundle", "bundles", "Puts a bundle in the bin, with all that is in it.")
        .about("One that is in the bin stays there. It can be restored; an empty one is removed for good after two days.")
        .answers_with(204, "It is in the bin.", "")
        .refuses(403, "It is one of Toolcrib's own.")
        .refuses(404, "There is no such bundle."),
    ]
}

fn list(crib: &Crib, asked: &ApiRequest) -> Answer {
    let paging = Paging::of(&asked.query)?;
    let page = crib.bundle_page(&BundleQuery {
        bundles: bundles_of(asked)?,
        include_disabled: asked.query.flag("includeDisabled")?,
        limit: paging.limit(),
        page_token: paging.token,
    })?;
    let rows = Bundles {
        bundles: page.bundles.iter().map(BundleRow::from).collect(),
        next_page_token: page.next_page_token,
    };
    Ok(shown(crib, StatusCode::OK, &rows))
}

fn get(crib: &Crib, asked: &ApiRequest) -> Answer {
    let view = bundle_of(crib, asked)?;
    Ok(shown(crib, StatusCode::OK, &BundleRow::from(&view)))
}

fn put(crib: &Crib, asked: &ApiRequest) -> Answer {
    let (id, there) = id_to_put(crib, asked.path.get("bundleID"))?;
    if let Some(view) = &there {
        refuse_own(view)?;
    }
    let body: BundleBody = asked.json()?;
    if let Some(said) = &body.bundle_id
        && BundleId::parse(said) != Ok(id)
    {
        return Err(Refusal::usage(format!(
            "the path says {id}, and `bundleID` of the body something else; leave it out"
        )));
    }
    let keeps_switch = body.is_enabled.is_none();
    let draft = BundleDraft {
        display_name: body.display_name.unwrap_or_else(|| body.slug.to_string()),
        description: body.description.unwrap_or_default(),
        is_enabled: body.is_enabled.unwrap_or(true),
        slug: body.slug,
    };
    let put = match keeps_switch {
        true => crib.put_bundle_as_switched(id, draft),
        false => crib.put_bundle(id, draft),
    };
    let status = match put.map_err(|error| refused(crib, error))? {
        Put::Created(_) => StatusCode::CREATED,
        Put::Replaced(_) => StatusCode::OK,
    };
    let view = crib.bundle(&id.to_string())?;
    let answer = shown(crib, status, &BundleRow::from(&view));
    Ok(match status {
        StatusCode::CREATED => located(answer, &format!("/tools/bundles/{id}")),
        _ => answer,
    })
}

/// The id of the bundle to put, and the bundle if it is there.
fn id_to_put(crib: &Crib, named: &str) -> Result<(BundleId, Option<BundleView>), Refusal> {
    match (BundleId::parse(named), crib.bundle(named)) {
        (_, Ok(view)) => Ok((view.bundle.bundle_id, Some(view))),
        (Ok(id), Err(_)) => Ok((id, None)),
        (Err(error), Err(_)) => Err(Refusal::usage(format!(
            "`{}` is not an existing bundle, and not an id for a new one: {error}",
            text::shorten(named, 80)
        ))),
    }
}

fn patch(crib: &Crib, asked: &ApiRequest) -> Answer {
    let view = bundle_of(crib, asked)?;
    let is_enabled = Switch::of(asked, &view, &ATTRIBUTES)?;
    // By its id: the one that was looked at.
    let id = view.bundle.bundle_id;
    let view = match seen(asked)? {
        None => crib.set_bundle_enabled(&id.to_string(), is_enabled)?,
        Some(_) if !is_enabled => {
            return Err(Refusal::usage(
                "`If-Match` goes with switching on; off it can be without a look",
            ));
        }
        Some(digest) => {
            refuse_own(&view)?;
            crib.enable_as_shown(id, digest)
                .map_err(|error| refused(crib, error))?
        }
    };
    Ok(shown(crib, StatusCode::OK, &BundleRow::from(&view)))
}

/// The state that the person who switches a bundle on has seen, if given.
pub(super) fn seen(asked: &ApiRequest) -> Result<Option<BundleDigest>, Refusal> {
    let mut said = asked.headers.get_all(http::header::IF_MATCH).iter();
    let (Some(value), more) = (said.next(), said.next()) else {
        return Ok(None);
    };
    let text = value.to_str().ok().filter(|_| more.is_none());
    let digest = text
        .and_then(|text| text.trim().strip_prefix('"')?.strip_suffix('"'))
        .and_then(BundleDigest::parse);
    digest.map(Some).ok_or_else(|| {
        Refusal::usage("`If-Match` is the digest of `/api/bundles/{bundleID}/review`, in quotes")
    })
}

fn delete(crib: &Crib, asked: &ApiRequest) -> Answer {
    let view = bundle_of(crib, asked)?;
    refuse_own(&view)?;
    crib.delete_bundle(&view.bundle.bundle_id.to_string())?;
    Ok(no_content())
}
