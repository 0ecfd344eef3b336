//! The web admin: its page at every address below `/ui/`, and the files it loads.
//!
//! The page is the same for everyone and says nothing about this server: what it shows it asks the API for, as a signed-in browser
//! ([`browsers`](super::browsers)). It is never cached and its files are named by their content, so an upgrade never meets an old file.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::{HeaderValue, Method, Response, header};
use toolcrib::ErrorCode;

use super::blocking;
use super::health::{POLICY, made};
use crate::api::{Answer, Api, ApiRequest, Body, Refusal, Route, Who, param, redirect, value_name};
use crate::web::content_type;

/// What the build writes where the nonce of a page goes.
const NONCE: &str = "__NONCE__";

/// Shown by a build without a web admin.
const MISSING: &str = include_str!("ui_missing.html");

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    let get = |path, handler| Route::new(Method::GET, path, Who::Anybody, handler);
    let lead = |path, id| {
        get(path, |_, _| {
            std::future::ready(Ok(redirect("/ui/"))).boxed()
        })
        .named(id, "server", "Leads to the web admin.")
        .page()
        .answers_with(302, "To `/ui/`.", "")
    };
    let page = |path: &'static str, id| {
        let names = path.split('/').filter_map(value_name);
        get(path, page)
            .named(
                id,
                "server",
                "The web admin: one page at every address below `/ui/`.",
            )
            .page()
            .params(names.map(|name| param::path(name, "A part of the page's own address.")))
            .answers_with(
                200,
                "The page, or one that says how to get it.",
                "text/html",
            )
    };
    vec![
        lead("/", "root"),
        lead("/ui", "ui"),
        page("/ui/", "admin"),
        get("/ui/assets/{file}", asset)
            .named("adminFile", "server", "A file that the web admin loads.")
            .param(param::path("file", "Its name."))
            .answers_with(200, "The file.", "application/octet-stream")
            .refuses(404, "There is no such file."),
        page("/ui/{a}", "admin1"),
        page("/ui/{a}/{b}", "admin2"),
        page("/ui/{a}/{b}/{c}", "admin3"),
        page("/ui/{a}/{b}/{c}/{d}", "admin4"),
    ]
}

fn page(api: Api, _: ApiRequest) -> BoxFuture<'static, Answer> {
    async move {
        let index = blocking(move || api.0.web.file("index.html")).await;
        Ok(match index {
            Some(index) => the_page(&index)?,
            None => made(
                Bytes::from_static(MISSING.as_bytes()),
                &[
                    (header::CONTENT_TYPE, "text/html; charset=utf-8"),
                    (header::CONTENT_SECURITY_POLICY, POLICY),
                    (header::REFERRER_POLICY, "no-referrer"),
                ],
            ),
        })
    }
    .boxed()
}

/// The page, with a new nonce for the styles that its editor makes.
fn the_page(index: &[u8]) -> Result<Response<Body>, Refusal> {
    let nonce = STANDARD_NO_PAD.encode(uuid::Uuid::new_v4().as_bytes());
    let html = String::from_utf8_lossy(index).replace(NONCE, &nonce);
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; connect-src 'self'; img-src 'self' data:; \
         font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; \
         trusted-types 'none'"
    );
    let mut response = made(
        html.into(),
        &[
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::REFERRER_POLICY, "no-referrer"),
            (
                header::HeaderName::from_static("cross-origin-opener-policy"),
                "same-origin",
            ),
        ],
    );
    let policy = HeaderValue::try_from(policy)
        .map_err(|error| Refusal::new(ErrorCode::Internal, error.to_string()))?;
    response
        .headers_mut()
        .insert(header::CONTENT_SECURITY_POLICY, policy);
    Ok(response)
}

fn asset(api: Api, asked: ApiRequest) -> BoxFuture<'static, Answer> {
    async move {
        let name = format!("assets/{}", asked.path.get("file"));
        let kind = content_type(&name);
        let bytes = match blocking(move || api.0.web.file(&name)).await {
            Some(Cow::Borrowed(bytes)) => Bytes::from_static(bytes),
            Some(Cow::Owned(bytes)) => Bytes::from(bytes),
            None => {
                return Err(Refusal::new(
                    ErrorCode::NotFound,
                    "the web admin of this version has no such file; reload the page",
                ));
            }
        };
        Ok(made(
            bytes,
            &[
                (header::CONTENT_TYPE, kind),
                // Its name changes with its content.
                (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
                (
                    header::HeaderName::from_static("cross-origin-resource-policy"),
                    "same-origin",
                ),
            ],
        ))
    }
    .boxed()
}
