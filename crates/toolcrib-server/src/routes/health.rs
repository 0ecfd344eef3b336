//! Whether the server is there and ready (`/api/health`, `/api/ready`), what it serves (`/api/server`), and what it can do
//! (`/api/openapi.json`, `/api/docs`).

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::header::{self, HeaderName};
use http::{HeaderValue, Method, Response, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use toolcrib::ErrorCode;

use crate::api::{
    Answer, Api, ApiRequest, Body, Handler, Refusal, Route, Stage, Who, json_response, redirect,
};

/// How the server is.
#[derive(Debug, Serialize, JsonSchema)]
struct Health {
    /// `ok` or `ready`.
    status: &'static str,
    /// The version of Toolcrib.
    version: &'static str,
}

/// What a server serves.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Served {
    /// The version of Toolcrib.
    version: &'static str,
    /// The directory of Toolcrib's own files.
    home: String,
    /// The directory in which tools open files, if there is one.
    workspace: Option<String>,
}

/// The routes of this topic.
pub(crate) fn routes() -> Vec<Route> {
    let get = |path, who, handler| Route::new(Method::GET, path, who, handler);
    vec![
        get("/api/health", Who::Anybody, health)
            .named("health", "server", "Says that the server is there.")
            .answers::<Health>(200, "It is."),
        get("/api/ready", Who::Anybody, ready)
            .named("ready", "server", "Says whether the server takes requests.")
            .answers::<Health>(200, "It does.")
            .refuses(503, "It is starting or stopping."),
        get("/api/openapi.json", Who::Caller, openapi)
            .named("openapi", "server", "Describes every route (OpenAPI 3.1).")
            .answers::<serde_json::Map<String, Value>>(200, "The description."),
        get("/api/docs", Who::Anybody, docs)
            .named(
                "docs",
                "server",
                "Describes every route for people: one page without scripts.",
            )
            .answers_with(200, "The page.", "text/html"),
        get("/api/server", Who::Operator, server)
            .named("server", "server", "Says what this server serves.")
            .answers::<Served>(200, "Its version, home and workspace."),
        lead("/health", "leadToHealth", |_, _| {
            answer_with(Ok(redirect("/api/health")))
        }),
        lead("/openapi.json", "leadToOpenapi", |_, _| {
            answer_with(Ok(redirect("/api/openapi.json")))
        }),
        lead("/docs", "leadToDocs", |_, _| {
            answer_with(Ok(redirect("/api/docs")))
        }),
    ]
}

/// Where programs and people look first.
fn lead(path: &'static str, id: &'static str, to: Handler) -> Route {
    Route::new(Method::GET, path, Who::Anybody, to)
        .named(
            id,
            "server",
            "Leads to the route of this name below `/api`.",
        )
        .page()
        .answers_with(302, "To the route below `/api`.", "")
}

fn answer_with(answer: Answer) -> BoxFuture<'static, Answer> {
    std::future::ready(answer).boxed()
}

fn is(status: &'static str) -> Response<Body> {
    let health = Health {
        status,
        version: env!("CARGO_PKG_VERSION"),
    };
    json_response(StatusCode::OK, &health)
}

fn health(_: Api, _: ApiRequest) -> BoxFuture<'static, Answer> {
    answer_with(Ok(is("ok")))
}

fn ready(api: Api, _: ApiRequest) -> BoxFuture<'static, Answer> {
    let unavailable = |why: &str| Err(Refusal::new(ErrorCode::Unavailable, why));
    answer_with(match api.stage() {
        Stage::Ready => Ok(is("ready")),
        Stage::Starting => unavailable("the server is starting; try again in a moment"),
        Stage::Stopping => unavailable("the server is stopping; it takes nothing new"),
    })
}

fn server(api: Api, _: ApiRequest) -> BoxFuture<'static, Answer> {
    let crib = api.crib();
    let served = Served {
        version: env!("CARGO_PKG_VERSION"),
        home: crib.home().display().to_string(),
        workspace: crib.workspace_path().map(|path| path.display().to_string()),
    };
    answer_with(Ok(json_response(StatusCode::OK, &served)))
}

fn openapi(api: Api, _: ApiRequest) -> BoxFuture<'static, Answer> {
    answer_with(Ok(made(
        api.routes().openapi(),
        &[(header::CONTENT_TYPE, "application/json")],
    )))
}

/// A page that may load and run nothing: whatever a definition manages to put into it stays text.
pub(super) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

fn docs(api: Api, asked: ApiRequest) -> BoxFuture<'static, Answer> {
    answer_with(Ok(made(
        api.routes().page(&server_of(&api, &asked)),
        &[
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::REFERRER_POLICY, "no-referrer"),
        ],
    )))
}

/// The address by which a request asks this server.
fn server_of(api: &Api, asked: &ApiRequest) -> String {
    /// The longest name that is repeated.
    const MAX: usize = 300;
    let is_plain = |host: &&str| {
        let is_part = |byte: u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':' | b'[' | b']')
        };
        (1..=MAX).contains(&host.len()) && host.bytes().all(is_part)
    };
    let host = asked.headers.get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok()).filter(is_plain);
    let has_tls = api
        .crib()
        .config()
        .server()
        .is_ok_and(|server| server.certificate.is_some());
    let scheme = if has_tls { "https" } else { "http" };
    format!(
        "{scheme}://{}",
        host.unwrap_or("localhost").to_ascii_lowercase()
    )
}

pub(super) fn made(bytes: Bytes, headers: &[(HeaderName, &'static str)]) -> Response<Body> {
    let mut response = Response::new(Body::Whole(Some(bytes)));
    for (name, value) in headers {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}
