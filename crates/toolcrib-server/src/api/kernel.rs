//! From a request to its answer: host, route, token, query, body, handler. The order is the invariant: nothing of a request is looked up
//! or read for someone who may not ask, and someone without a token cannot tell a route that is there from one that is not.
//!
//! ```text
//! id       X-Request-Id, or a new one; `observe::Watch` begins
//! auth     Host and Origin                                403 FORBIDDEN
//! path     decoded once, by segment; the table            its answer waits for the token:
//! auth     token -> Principal -> is it allowed            401, 400, 404, 405, 403
//! query    the parameters that the route lists            400
//! body     type, size, deadline, strict JSON              415, 413, 408, 400
//! handler  fn(Api, Asked) -> Answer; panics are caught    its own codes, 500
//! ```
//!
//! Then come the common headers. The `Watch` ends with the last byte of the answer. [`Refusal`] alone makes errors, from
//! `ErrorCode`.

use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, header};
use http_body::Body as _;
use toolcrib::ErrorCode;

use super::Api;
use super::body::Body;
use super::path::RouteMatch;
use super::refusal::{Refusal, no_content};
use super::request::{ApiRequest, Peer, Query, RequestId};
use super::route::{Answer, Who};
use crate::auth::{Principal, Welcome};
use crate::observe::Watch;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest id of a request that is taken from outside.
const MAX_REQUEST_ID: usize = 128;

/// A request as it came.
struct Arrived<'a, B> {
    /// Without its headers.
    parts: &'a Parts,
    headers: HeaderMap,
    body: B,
    id: &'a RequestId,
    peer: &'a Peer,
    proof: Proof,
    known: OnPrincipal<'a>,
}

/// How it is known who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// By the token of the request.
    Token,
    /// It is this process itself, which has the home open: the operator.
    Process,
}

/// Told who asks as soon as that is known by a token, before anything is read or done for it; may refuse.
pub(crate) type OnPrincipal<'a> = &'a (dyn Fn(&Principal) -> Result<(), Refusal> + Send + Sync);

impl Api {
    /// Answers a request. There is always an answer; a bug of ours is a 500 that says so, and nothing more.
    pub async fn answer<B>(&self, request: Request<B>, peer: Peer) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.answer_known(request, peer, &|_| Ok(())).await
    }

    /// Answers a request of this process itself, as the operator's: no token and no `Host` is asked for.
    pub async fn answer_operator<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.answer_proven(request, Peer::Local, Proof::Process, &|_| Ok(()))
            .await
    }

    /// Like [`answer`](Self::answer), but reports who asks to `known`, which may refuse.
    pub(crate) async fn answer_known<B>(
        &self,
        request: Request<B>,
        peer: Peer,
        known: OnPrincipal<'_>,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.answer_proven(request, peer, Proof::Token, known).await
    }

    async fn answer_proven<B>(
        &self,
        request: Request<B>,
        peer: Peer,
        proof: Proof,
        known: OnPrincipal<'_>,
    ) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (mut parts, body) = request.into_parts();
        let id = RequestId(request_id(&parts.headers));
        let mut watch = self.0.observer.begin(&parts, &peer, &id);
        let mut welcome = Welcome::default();
        let headers = std::mem::take(&mut parts.headers);
        let arrived = Arrived {
            parts: &parts,
            headers,
            body,
            id: &id,
            peer: &peer,
            proof,
            known,
        };
        let answering = self.try_answer(arrived, &mut watch, &mut welcome);
        let mut response = match AssertUnwindSafe(answering).catch_unwind().await {
            Ok(Ok(response)) => response,
            Ok(Err(refusal)) => refusal.into_response(),
            // What happened is in the log, by the hook for panics; it is no one else's business.
            Err(_) => {
                eprintln!(
                    "toolcrib: the panic above happened while handling request `{}`",
                    id.0
                );
                let message = format!(
                    "a bug in the server; its log says more about the request `{}`",
                    id.0
                );
                Refusal::new(ErrorCode::Internal, message).into_response()
            }
        };
        if parts.method == Method::HEAD {
            without_body(&mut response);
        }
        add_common_headers(response.headers_mut(), &id);
        welcome.add_to(response.headers_mut());
        watch.answered(response)
    }

    async fn try_answer<B>(
        &self,
        arrived: Arrived<'_, B>,
        watch: &mut Watch,
        welcome: &mut Welcome,
    ) -> Answer
    where
        B: http_body::Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Arrived { parts, headers, .. } = arrived;
        *welcome = self.0.hosts.check(&parts.uri, &headers, arrived.peer)?;
        if parts.method == Method::OPTIONS && welcome.is_preflight() {
            return Ok(no_content());
        }
        let found = self.0.routes.find(&parts.method, parts.uri.path());
        let who = match &found {
            Ok(RouteMatch::Route(position, _)) => self.0.routes.at(*position).who,
            Ok(RouteMatch::OtherMethods(_) | RouteMatch::Nothing) | Err(_) => Who::Caller,
        };
        let principal = match (who, arrived.proof) {
            (Who::Anybody, _) => Principal::Nobody,
            (Who::Caller | Who::Operator, Proof::Process) => Principal::Operator,
            (Who::Caller | Who::Operator, Proof::Token) => {
                self.0.tokens.principal(&parts.method, &headers)?
            }
        };
        if !matches!(found, Ok(RouteMatch::Route(..))) {
            watch.by(&principal);
        }
        if principal != Principal::Nobody {
            (arrived.known)(&principal)?;
        }
        let (route, path) = match found? {
            RouteMatch::Route(position, path) => (self.0.routes.at(position), path),
            RouteMatch::OtherMethods(methods) => return other_method(&parts.method, methods),
            RouteMatch::Nothing => {
                return Err(self.nothing_at(&parts.method, parts.uri.path()));
            }
        };
        watch.routed(route.doc.id, &principal);
        if who == Who::Operator && principal != Principal::Operator {
            return Err(Refusal::new(
                ErrorCode::Forbidden,
                "this needs the operator's token; a client may list, search and call tools",
            ));
        }
        let query = match route.is_page {
            true => Query::default(),
            false => Query::read(parts.uri.query(), &route.doc.params)?,
        };
        let body = self.receive(route.payload, &headers, arrived.body).await?;
        let asked = ApiRequest {
            principal,
            id: arrived.id.clone(),
            path,
            query,
            headers,
            body,
            note: watch.note(),
        };
        (route.handler)(self.clone(), asked).await
    }

    /// The refusal of a path that leads nowhere; one that would without the slash at its end gets a hint.
    fn nothing_at(&self, method: &Method, path: &str) -> Refusal {
        let shorter = path.strip_suffix('/').filter(|path| !path.is_empty());
        let is_there = |path: &&str| {
            let found = self.0.routes.find(method, path);
            matches!(
                found,
                Ok(RouteMatch::Route(..) | RouteMatch::OtherMethods(_))
            )
        };
        Refusal::new(
            ErrorCode::NotFound,
            match shorter.filter(is_there) {
                Some(_) => {
                    "there is nothing at this address; there is without the slash at its end"
                }
                None => "there is nothing at this address; `/api/openapi.json` lists every route",
            },
        )
    }
}

/// The path is there for other methods: the answer to `OPTIONS`, and to every other method.
fn other_method(method: &Method, mut others: Vec<Method>) -> Answer {
    if others.contains(&Method::GET) {
        others.push(Method::HEAD);
    }
    others.push(Method::OPTIONS);
    others.sort_unstable_by(|a, b| a.as_str().cmp(b.as_str()));
    others.dedup();
    let names: Vec<&str> = others.iter().map(Method::as_str).collect();
    let names = names.join(", ");
    let allow = HeaderValue::from_str(&names).unwrap_or(HeaderValue::from_static("GET"));
    if *method == Method::OPTIONS {
        let mut response = no_content();
        response.headers_mut().insert(header::ALLOW, allow);
        return Ok(response);
    }
    Err(Refusal::new(
        ErrorCode::MethodNotAllowed,
        format!(
            "this address is not for `{}`; it takes {names}",
            toolcrib::model::text::shorten(method.as_str(), 32)
        ),
    )
    .with_header(header::ALLOW, allow))
}

/// The answer to `HEAD`: all but the body, whose length is said if it is known.
fn without_body(response: &mut Response<Body>) {
    if let Some(length) = response.body().size_hint().exact() {
        let length = HeaderValue::from(length);
        response
            .headers_mut()
            .insert(header::CONTENT_LENGTH, length);
    }
    *response.body_mut() = Body::empty();
}

fn add_common_headers(headers: &mut HeaderMap, id: &RequestId) {
    if let Ok(id) = HeaderValue::from_str(&id.0) {
        headers.insert(REQUEST_ID, id);
    }
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
}

/// The client's own id if it is one that can stand in a log as it is, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let is_sound = |id: &&str| {
        (1..=MAX_REQUEST_ID).contains(&id.len())
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
    };
    let mut given = headers.get_all(REQUEST_ID).iter();
    match (given.next().and_then(|id| id.to_str().ok()), given.next()) {
        (Some(id), None) if is_sound(&id) => id.to_owned(),
        _ => uuid::Uuid::now_v7().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::Mutex;

    use http_body_util::{BodyExt as _, Full};
    use toolcrib::config::Surroundings;
    use toolcrib::{Crib, CribOptions};

    use super::super::{ApiOptions, json_response};
    use super::*;
    use crate::api::Route;
    use crate::auth::{Clients, Tokens};
    use crate::routes::Routes;

    static HELD: Mutex<u32> = Mutex::new(0);

    /// An API whose handlers are these; each counts under a lock before it does what it does.
    fn api(directory: &std::path::Path, routes: Vec<Route>) -> Api {
        let home = directory.join("home");
        let options = CribOptions::default()
            .surroundings(Surroundings::new(
                directory,
                [("HOME", directory.to_str().unwrap())],
            ))
            .home(&home)
            .workspace(directory);
        let crib: Arc<Crib> = Arc::new(options.open().unwrap());
        let token = Some("operator-token-of-the-tests".to_owned());
        let tokens = Tokens::open(&home, token, Clients::of_home(&home)).unwrap();
        Api::with_routes(crib, ApiOptions::new(tokens), Routes::of(routes))
    }

    async fn get(api: &Api, path: &str) -> (u16, serde_json::Value) {
        let request = Request::get(path).header("x-request-id", "r1");
        let request = request.body(Full::new(Bytes::new())).unwrap();
        let response = api.answer(request, Peer::Local).await;
        let status = response.status().as_u16();
        assert_eq!(response.headers()["x-request-id"], "r1");
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap())
    }

    #[tokio::test]
    async fn a_handler_that_panics_is_a_500_and_nothing_else_is_lost() {
        let directory = tempfile::tempdir().unwrap();
        let route = |path, handler| Route::new(Method::GET, path, Who::Anybody, handler);
        let api = api(
            directory.path(),
            vec![
                route("/at-once", |_, _| panic!("secret words")),
                route("/later", |_, _| {
                    async {
                        tokio::task::yield_now().await;
                        let mut held = HELD
                            .lock()
                            .unwrap_or_else(std::sync::PoisonError::into_inner);
                        *held += 1;
                        panic!("secret words")
                    }
                    .boxed()
                }),
                route("/fine", |_, _| {
                    async {
                        let held = HELD
                            .lock()
                            .unwrap_or_else(std::sync::PoisonError::into_inner);
                        Ok(json_response(http::StatusCode::OK, &*held))
                    }
                    .boxed()
                }),
            ],
        );
        for path in ["/at-once", "/later", "/later"] {
            let (status, body) = get(&api, path).await;
            assert_eq!(status, 500);
            assert_eq!(
                body,
                serde_json::json!({"ok": false, "error": {
                    "code": "INTERNAL",
                    "message": "a bug in the server; its log says more about the request `r1`",
                }})
            );
        }
        assert_eq!(get(&api, "/fine").await, (200, 2.into()));
    }

    #[tokio::test]
    async fn a_fixed_segment_goes_before_a_value_and_a_dead_end_is_left_again() {
        let directory = tempfile::tempdir().unwrap();
        fn named(_: Api, asked: ApiRequest) -> futures_util::future::BoxFuture<'static, Answer> {
            async move { Ok(json_response(http::StatusCode::OK, &asked.path.0)) }.boxed()
        }
        let route = |path| Route::new(Method::GET, path, Who::Anybody, named);
        let put = Route::new(Method::PUT, "/a/{one}", Who::Anybody, named);
        let api = api(
            directory.path(),
            vec![
                route("/a/b"),
                route("/a/{one}/c"),
                route("/a/b/{two}/d"),
                route("/{x}/{y}/{z}/{w}"),
                put,
            ],
        );
        let nothing = serde_json::json!([]);
        assert_eq!(get(&api, "/a/b").await.1, nothing);
        assert_eq!(
            get(&api, "/a/b/c").await.1,
            serde_json::json!([["one", "b"]])
        );
        assert_eq!(
            get(&api, "/a/b/%C3%A4/d").await.1,
            serde_json::json!([["two", "ä"]])
        );
        let whole = serde_json::json!([["x", "a"], ["y", "b"], ["z", "c"], ["w", "e"]]);
        assert_eq!(get(&api, "/a/b/c/e").await.1, whole);
    }
}
