//! A crib in a directory that is thrown away, an API over it, and requests as someone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use tempfile::TempDir;
use toolcrib::config::Surroundings;
use toolcrib::crib::Approvals;
use toolcrib::{Crib, CribOptions};
use toolcrib_server::api::{Body, Peer, Stage};
use toolcrib_server::auth::{Clients, Tokens};
use toolcrib_server::observe::Observer;
use toolcrib_server::{Api, ApiOptions};

/// The operator's token in tests.
pub(crate) const OPERATOR: &str = "operator-token-of-the-tests";

/// A server without a socket.
pub(crate) struct Scene {
    pub(crate) api: Api,
    pub(crate) crib: Arc<Crib>,
    directory: TempDir,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Scene::with(|options| options)
    }

    /// With other options for the crib.
    pub(crate) fn with(change: impl FnOnce(CribOptions) -> CribOptions) -> Self {
        Scene::observed(change, Observer::default())
    }

    /// With other options for the crib, and someone who looks on.
    pub(crate) fn observed(
        change: impl FnOnce(CribOptions) -> CribOptions,
        observer: Observer,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        Scene::made(
            directory,
            |_, _| {},
            change,
            |options| ApiOptions {
                observer,
                ..options
            },
        )
    }

    /// With other options for the API.
    pub(crate) fn with_api(change: impl FnOnce(ApiOptions) -> ApiOptions) -> Self {
        let directory = tempfile::tempdir().unwrap();
        Scene::made(directory, |_, _| {}, |options| options, change)
    }

    /// In this directory, with files in the home and the workspace before anything is opened.
    pub(crate) fn prepared(
        directory: TempDir,
        prepare: impl FnOnce(&Path, &Path),
        change: impl FnOnce(CribOptions) -> CribOptions,
    ) -> Self {
        Scene::made(directory, prepare, change, |options| options)
    }

    fn made(
        directory: TempDir,
        prepare: impl FnOnce(&Path, &Path),
        change: impl FnOnce(CribOptions) -> CribOptions,
        change_api: impl FnOnce(ApiOptions) -> ApiOptions,
    ) -> Self {
        let (home, work) = (directory.path().join("home"), directory.path().join("work"));
        std::fs::create_dir(&home).unwrap();
        std::fs::create_dir(&work).unwrap();
        prepare(&home, &work);
        let options = CribOptions::default()
            .surroundings(Surroundings::new(
                &work,
                [("HOME", directory.path().to_str().unwrap())],
            ))
            .home(&home)
            .workspace(&work)
            .approvals(Approvals::Queue { wait: None });
        let crib = Arc::new(change(options).open().unwrap());
        let clients = Clients::of_home(&home);
        let tokens = Tokens::open(&home, Some(OPERATOR.to_owned()), clients).unwrap();
        let api = Api::new(Arc::clone(&crib), change_api(ApiOptions::new(tokens)));
        api.set_stage(Stage::Ready);
        Scene {
            api,
            crib,
            directory,
        }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.directory.path().join("work")
    }

    /// Requests with the operator's token.
    pub(crate) fn as_operator(&self) -> Asking<'_> {
        self.with_token(OPERATOR)
    }

    /// Requests with the token of a client of this name, which is made for it.
    pub(crate) fn as_client(&self, name: &str) -> Asking<'_> {
        let client = self.api.tokens().clients().add(name).unwrap();
        self.with_token(&client.token)
    }

    /// Requests without a token.
    pub(crate) fn as_nobody(&self) -> Asking<'_> {
        Asking {
            scene: self,
            token: None,
            headers: HeaderMap::new(),
        }
    }

    pub(crate) fn with_token(&self, token: &str) -> Asking<'_> {
        Asking {
            scene: self,
            token: Some(token.to_owned()),
            headers: HeaderMap::new(),
        }
    }
}

/// Someone who sends requests.
pub(crate) struct Asking<'a> {
    scene: &'a Scene,
    token: Option<String>,
    headers: HeaderMap,
}

impl Asking<'_> {
    /// Its token.
    pub(crate) fn token(&self) -> &str {
        self.token.as_deref().unwrap()
    }

    /// With a header more.
    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.insert(name, value.parse().unwrap());
        self
    }

    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        self.send(Method::GET, path, None).await
    }

    pub(crate) async fn delete(&self, path: &str) -> (StatusCode, Value) {
        self.send(Method::DELETE, path, None).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> (StatusCode, Value) {
        self.send(Method::PUT, path, Some(body.to_string().into()))
            .await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> (StatusCode, Value) {
        self.send(Method::PATCH, path, Some(body.to_string().into()))
            .await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (StatusCode, Value) {
        self.send(Method::POST, path, Some(body.to_string().into()))
            .await
    }

    pub(crate) async fn post_nothing(&self, path: &str) -> (StatusCode, Value) {
        self.send(Method::POST, path, None).await
    }

    /// Sends these bytes as JSON and reads the answer as JSON; what has no body is `null`.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
    ) -> (StatusCode, Value) {
        let response = self.raw(method, path, "application/json", body).await;
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let value = match bytes.is_empty() {
            true => Value::Null,
            false => serde_json::from_slice(&bytes)
                .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(&bytes).into_owned())),
        };
        (status, value)
    }

    /// The answer as it is.
    pub(crate) async fn raw(
        &self,
        method: Method,
        path: &str,
        content: &str,
        body: Option<Bytes>,
    ) -> Response<Body> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if body.is_some() {
            request = request.header("content-type", content);
        }
        let mut request = request.body(Full::new(body.unwrap_or_default())).unwrap();
        request.headers_mut().extend(self.headers.clone());
        self.scene.api.answer(request, Peer::Local).await
    }
}
