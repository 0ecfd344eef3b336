//! What the handlers of bundles and tools have in common: work off the runtime's threads, and answers without secrets.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::{Response, StatusCode};
use serde::Serialize;
use toolcrib::crib::{BundleKind, BundleView};
use toolcrib::limits::{SMALL, aside};
use toolcrib::store::StoreError;
use toolcrib::{BundleId, Crib, ErrorCode, ToolError};

use crate::api::{Answer, Api, ApiRequest, Body, Refusal, json_response};

/// Does work that reads or writes files, or makes tools, on a thread that may wait. What has a long body to read takes its turn.
pub(super) fn blocking(
    api: Api,
    asked: ApiRequest,
    work: fn(&Crib, &ApiRequest) -> Answer,
) -> BoxFuture<'static, Answer> {
    let bytes = asked.body.len();
    if bytes <= SMALL {
        return super::blocking(move || work(api.crib(), &asked)).boxed();
    }
    async move {
        let caller = asked.caller()?;
        aside(&caller, bytes, move || work(api.crib(), &asked)).await?
    }
    .boxed()
}

/// An answer in JSON that has no value of a secret in it: definitions may have been written before a secret was set whose value is in
/// them.
pub(super) fn shown(crib: &Crib, status: StatusCode, value: &impl Serialize) -> Response<Body> {
    let masker = crib.secrets().masker();
    if masker.is_empty() {
        return json_response(status, value);
    }
    let mut value = serde_json::to_value(value).unwrap_or_default();
    masker.mask_value(&mut value);
    json_response(status, &value)
}

/// A refusal by what a body says, which may repeat it: without secrets.
pub(super) fn refused(crib: &Crib, error: impl Into<ToolError>) -> Refusal {
    error.into().masked(&crib.secrets().masker()).into()
}

/// The bundle that the path names.
pub(super) fn bundle_of(crib: &Crib, asked: &ApiRequest) -> Result<BundleView, Refusal> {
    Ok(crib.bundle(asked.path.get("bundleID"))?)
}

/// Refuses to change anything but the switch of a bundle of Toolcrib's own, before anything else is said about the request.
pub(super) fn refuse_own(view: &BundleView) -> Result<(), Refusal> {
    let slug = &view.bundle.slug;
    let what = match view.kind {
        BundleKind::Store => return Ok(()),
        BundleKind::BuiltIn => "has the built-in tools",
        BundleKind::Files => "has the tools of files",
        BundleKind::Upstream => {
            return Err(Refusal::new(
                ErrorCode::ReadOnly,
                format!("`{slug}` has the tools of an MCP server: `/api/upstreams/{slug}`"),
            ));
        }
    };
    Err(Refusal::new(
        ErrorCode::ReadOnly,
        format!("`{slug}` {what}; only `isEnabled` of it and of its tools can be changed"),
    ))
}

/// Refuses to change what is in a bundle that is off or in the bin.
pub(super) fn refuse_closed(view: &BundleView) -> Result<(), Refusal> {
    let slug = view.bundle.slug.clone();
    let error = match (view.bundle.soft_deleted_at, view.bundle.is_enabled) {
        (Some(_), _) => StoreError::BundleDeleted { slug },
        (None, false) => StoreError::BundleOff { slug },
        (None, true) => return Ok(()),
    };
    Err(ToolError::from(error).into())
}

/// The bundles that a query names, each by id or slug. One that no one has is not an error: nothing is of it.
pub(super) fn bundles_of(asked: &ApiRequest) -> Result<Vec<String>, Refusal> {
    let name = |text: &str| match (BundleId::parse(text), toolcrib::Slug::parse(text)) {
        // In the one spelling that it is kept in.
        (Ok(id), _) => Ok(id.to_string()),
        (Err(_), Ok(slug)) => Ok(slug.to_string()),
        (Err(_), Err(error)) => Err(Refusal::usage(format!(
            "`bundleIDs` has something that is neither an id nor a slug: {error}"
        ))),
    };
    asked
        .query
        .list("bundleIDs")
        .into_iter()
        .map(name)
        .collect()
}

/// The switch of something: the only thing of it that `PATCH` changes.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Switch {
    /// Whether it is on.
    pub(super) is_enabled: bool,
}

impl Switch {
    /// Reads it from a body. What would change another attribute of something built in is refused as that, not as a misspelt body.
    pub(super) fn of(
        asked: &ApiRequest,
        view: &BundleView,
        attributes: &[&str],
    ) -> Result<bool, Refusal> {
        if let Ok(fields) = asked.object()
            && fields.keys().any(|key| attributes.contains(&key.as_str()))
        {
            refuse_own(view)?;
        }
        Ok(asked.json::<Switch>()?.is_enabled)
    }
}
