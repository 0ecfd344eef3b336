//! One request in, one answer out: [`Api`].

mod body;
mod json;
mod kernel;
pub(crate) mod page;
pub mod param;
mod path;
mod receive;
mod refusal;
mod request;
mod route;

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolcrib::Crib;

pub use body::Body;
pub use json::{StrictJsonError, read_strict};
pub(crate) use page::Paging;
pub(crate) use path::{PathTree, RouteMatch, value_name};
pub use refusal::Refusal;
pub(crate) use refusal::{json_response, list_response, located, no_content, redirect, short_id};
pub use request::{ApiRequest, PathValues, Peer, Query, RequestId};
pub use route::{
    Answer, AnswerDoc, BodyDoc, Doc, Handler, ParamDoc, ParamIn, Payload, Route, SchemaFn, Who,
};

use crate::auth::{Clients, Hosts, Tokens, cancel_strays};
use crate::mcp::Mcp;
use crate::observe::Observer;
use crate::routes::Routes;
use crate::routes::calls::{Gate, Waits};
use crate::routes::events::Hub;
use crate::web::Web;

/// How often it is looked whether running calls are those of clients that are still there.
const LOOK_AT_CLIENTS: Duration = Duration::from_secs(2);

/// How to make an [`Api`].
#[derive(Debug)]
pub struct ApiOptions {
    /// Authentication.
    pub tokens: Tokens,
    /// Which `Host` and `Origin` headers are taken.
    pub hosts: Hosts,
    /// Logs, metrics and traces of requests.
    pub observer: Observer,
    /// The files of the web admin.
    pub web: Web,
    /// The largest body, unless a route says otherwise.
    pub max_body_bytes: u64,
    /// How long a body may take to arrive.
    pub body_timeout: Duration,
}

impl ApiOptions {
    /// With these tokens, and everything else as it is by default.
    pub fn new(tokens: Tokens) -> Self {
        ApiOptions {
            tokens,
            hosts: Hosts::default(),
            observer: Observer::default(),
            web: Web::default(),
            max_body_bytes: 4 * 1024 * 1024,
            body_timeout: Duration::from_secs(30),
        }
    }
}

/// Where a server is in its life, for `/api/ready`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// It does not listen everywhere yet.
    Starting,
    /// It takes requests.
    Ready,
    /// It finishes what it has begun, and takes nothing new.
    Stopping,
}

/// Everything that answering takes. Cloning is cheap and shares everything.
#[derive(Clone)]
pub struct Api(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) crib: Arc<Crib>,
    pub(crate) tokens: Tokens,
    pub(crate) hosts: Hosts,
    pub(crate) observer: Observer,
    pub(crate) web: Web,
    pub(crate) max_body_bytes: u64,
    pub(crate) body_timeout: Duration,
    stage: AtomicU8,
    pub(crate) routes: Routes,
    /// Everything that happens, for `GET /api/events`.
    pub(crate) hub: Hub,
    /// Places for calls, shared out fairly among clients.
    pub(crate) gate: Gate,
    /// Calls that were answered while they waited for a person.
    pub(crate) waits: Waits,
    /// Cancelled when the server stops: streams end then.
    pub(crate) stopping: CancellationToken,
    /// The crib as an MCP server, made when it is first asked for.
    mcp: OnceLock<Mcp>,
}

impl Api {
    /// An API of this crib.
    pub fn new(crib: Arc<Crib>, options: ApiOptions) -> Self {
        Api::with_routes(crib, options, Routes::all())
    }

    /// An API for the process that has opened this crib, by [`answer_operator`](Self::answer_operator). Opens no socket and makes no token.
    pub fn of_process(crib: Arc<Crib>) -> Self {
        let tokens = Tokens::of_clients(Clients::of_home(crib.home()));
        Api::new(crib, ApiOptions::new(tokens))
    }

    fn with_routes(crib: Arc<Crib>, options: ApiOptions, routes: Routes) -> Self {
        options.observer.attach(&crib, &routes);
        Api(Arc::new(Inner {
            hub: Hub::of(&crib),
            gate: Gate::of(&crib),
            waits: Waits::default(),
            tokens: options.tokens,
            hosts: options.hosts,
            observer: options.observer,
            web: options.web,
            max_body_bytes: options.max_body_bytes,
            body_timeout: options.body_timeout,
            stage: AtomicU8::new(Stage::Starting as u8),
            routes,
            stopping: CancellationToken::new(),
            mcp: OnceLock::new(),
            crib,
        }))
    }

    /// Says where the server is in its life; it begins as [`Stage::Starting`].
    pub fn set_stage(&self, stage: Stage) {
        self.0.stage.store(stage as u8, Ordering::Release);
    }

    /// Where the server is in its life.
    pub fn stage(&self) -> Stage {
        match self.0.stage.load(Ordering::Acquire) {
            0 => Stage::Starting,
            1 => Stage::Ready,
            _ => Stage::Stopping,
        }
    }

    /// Cancels, now and then, what runs for clients that another process removed. Never ends.
    pub async fn follow_clients(&self) {
        let mut looks = tokio::time::interval(LOOK_AT_CLIENTS);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            cancel_strays(self.crib(), self.tokens().clients());
            self.end_strays();
        }
    }

    /// Ends the MCP sessions of clients that are not there any more.
    fn end_strays(&self) {
        if let Some(mcp) = self.0.mcp.get() {
            let clients = self.tokens().clients();
            mcp.server.end_sessions(|principal| {
                let client = principal.strip_prefix("client:");
                client.is_some_and(|client| !clients.stands(client))
            });
        }
    }

    /// The crib as an MCP server: what `/mcp` answers with.
    pub(crate) fn mcp(&self) -> &Mcp {
        let clients = self.tokens().clients();
        let make = || Mcp::new(&self.0.crib, clients, &self.0.gate, &self.0.stopping);
        self.0.mcp.get_or_init(make)
    }

    /// The tokens that open it.
    pub fn tokens(&self) -> &Tokens {
        &self.0.tokens
    }

    /// The table of routes.
    pub fn routes(&self) -> &Routes {
        &self.0.routes
    }

    /// The observer.
    pub fn observer(&self) -> &Observer {
        &self.0.observer
    }

    /// The crib behind it.
    pub fn crib(&self) -> &Arc<Crib> {
        &self.0.crib
    }

    /// Cancelled when the server stops: streams end then, so that their connections can be closed.
    pub fn stopping(&self) -> &CancellationToken {
        &self.0.stopping
    }
}
