//! The table of routes, one file per topic.

pub mod answer;
pub mod approvals;
pub mod archive;
pub mod browsers;
pub mod bundles;
pub mod calls;
pub mod catalogue;
pub mod clients;
pub mod events;
pub mod files;
pub mod grants;
pub mod health;
pub mod held;
pub mod imports;
pub mod invoke;
pub mod one_time;
pub mod rules;
pub mod secrets;
pub mod settings;
pub mod stats;
pub mod tools;
pub mod trials;
pub mod ui;
pub mod upstreams;
pub mod walls;
mod work;

use std::sync::{Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use http::Method;
use toolcrib::limits::aside;

use crate::api::{ApiRequest, PathTree, Refusal, Route, RouteMatch};

/// Every route.
pub struct Routes {
    table: Vec<Route>,
    tree: PathTree,
    /// Their description, made when it is first requested.
    openapi: OnceLock<Bytes>,
    page: Mutex<Vec<(String, Bytes)>>,
}

impl Routes {
    /// The whole table.
    pub(crate) fn all() -> Self {
        let parts = [
            bundles::routes(),
            tools::routes(),
            invoke::routes(),
            archive::routes(),
            calls::routes(),
            answer::routes(),
            events::routes(),
            approvals::routes(),
            one_time::routes(),
            grants::routes(),
            held::routes(),
            rules::routes(),
            catalogue::routes(),
            files::routes(),
            imports::routes(),
            trials::routes(),
            walls::routes(),
            secrets::routes(),
            clients::routes(),
            browsers::routes(),
            upstreams::routes(),
            stats::routes(),
            settings::routes(),
            health::routes(),
            ui::routes(),
            crate::mcp::routes(),
        ];
        Routes::of(parts.into_iter().flatten().collect())
    }

    pub(crate) fn of(table: Vec<Route>) -> Self {
        let tree = PathTree::of(&table);
        Routes {
            table,
            tree,
            openapi: OnceLock::new(),
            page: Mutex::default(),
        }
    }

    /// Their description, as JSON.
    pub(crate) fn openapi(&self) -> Bytes {
        let make = || serde_json::to_vec(&crate::openapi::document(self)).unwrap_or_default();
        self.openapi.get_or_init(|| make().into()).clone()
    }

    /// Their description, as a page whose examples ask this server. A handful of pages is kept, one for each name of the server: this is
    /// for anybody, and must not cost much.
    pub(crate) fn page(&self, server: &str) -> Bytes {
        const KEPT: usize = 8;
        let mut pages = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, page)) = pages.iter().find(|(of, _)| of == server) {
            return page.clone();
        }
        if let Some((_, page)) = pages.first().filter(|_| pages.len() >= KEPT) {
            return page.clone();
        }
        let page = Bytes::from(crate::openapi::page(self, server));
        pages.push((server.to_owned(), page.clone()));
        page
    }

    /// Every route, in the order of the documentation.
    pub fn iter(&self) -> impl Iterator<Item = &Route> {
        self.table.iter()
    }

    /// The route at a position of the table.
    pub(crate) fn at(&self, position: usize) -> &Route {
        &self.table[position]
    }

    /// What a path leads to; a path that is not a path is refused.
    pub(crate) fn find(&self, method: &Method, path: &str) -> Result<RouteMatch, Refusal> {
        self.tree.find(method, path)
    }
}

/// Reads a body, a long one away from the threads that answer.
pub(crate) async fn read_aside<T: Send + 'static>(
    asked: ApiRequest,
    read: impl FnOnce(&ApiRequest) -> Result<T, Refusal> + Send + 'static,
) -> Result<(ApiRequest, T), Refusal> {
    let (caller, bytes) = (asked.caller()?, asked.body.len());
    let reading = aside(&caller, bytes, move || {
        let read = read(&asked);
        (asked, read)
    });
    let (asked, read) = reading.await?;
    Ok((asked, read?))
}

/// Does work with files away from the threads that answer. A panic in it is one of the request.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only a runtime that shuts down drops work that has not begun; no one waits for the answer then.
            Err(_) => std::future::pending().await,
        },
    }
}
