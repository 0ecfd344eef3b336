//! Calling a tool of a bundle: S4's `…/invoke`, whole or as a stream.

use futures_util::FutureExt as _;
use http::Method;
use serde_json::json;
use toolcrib::{BundleId, Slug, Version};

use super::calls::{doc, make};
use crate::api::{ApiRequest, Refusal, Route, Who};
use crate::routes::calls::InvokeBody;

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    let invoke = Route::new(
        Method::POST,
        "/tools/bundles/{bundleID}/tools/{toolSlug}/version/{v}/invoke",
        Who::Caller,
        |api, asked| {
            async move {
                let tool = reference(&asked)?;
                make(api, asked, Some(tool)).await
            }
            .boxed()
        },
    );
    let invoke = invoke
        .named("invokeTool", "calls", "Calls a tool.")
        .about(doc::MAKING)
        .may_take::<InvokeBody>(
            "The arguments, and how to call.",
            || json!({"args": {"path": "README.md"}}),
        );
    vec![doc::making(invoke)]
}

/// The tool that a path names. The path's parts are taken literally: a slug with a slash in it is not a reference to something else.
fn reference(asked: &ApiRequest) -> Result<String, Refusal> {
    let (bundle, slug, version) = (
        asked.path.get("bundleID"),
        asked.path.get("toolSlug"),
        asked.path.get("v"),
    );
    if BundleId::parse(bundle).is_err() {
        Slug::parse(bundle).map_err(|error| Refusal::usage(format!("the bundle: {error}")))?;
    }
    Slug::parse(slug).map_err(|error| Refusal::usage(format!("the tool's slug: {error}")))?;
    Version::parse(version).map_err(|error| Refusal::usage(format!("the version: {error}")))?;
    Ok(format!("{bundle}/{slug}@{version}"))
}
