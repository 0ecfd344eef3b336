//! One request in, one answer out: [`Api`].

mod asked;
mod body;
mod json;
mod kernel;
mod refusal;
mod route;

use std::sync::Arc;

use toolcrib::Crib;

pub use asked::{Asked, PathValues, Peer, Query, RequestId};
pub use body::Body;
pub use json::{StrictJsonError, read_strict};
pub use refusal::Refusal;
pub(crate) use refusal::json_response;
pub use route::{
    Answer, AnswerDoc, BodyDoc, Doc, Handler, ParamDoc, Payload, Place, Route, SchemaFn, Who,
};

use crate::auth::{Hosts, Tokens};
use crate::observe::Observer;
use crate::routes::Routes;
use crate::routes::calls::Gate;
use crate::routes::events::Hub;

/// How to make an [`Api`].
#[derive(Debug)]
pub struct ApiOptions {
    /// Who may ask.
    pub tokens: Tokens,
    /// Which `Host` and `Origin` headers are taken.
    pub hosts: Hosts,
    /// What is said about requests, and to whom.
    pub observer: Observer,
    /// The largest body, unless a route says otherwise.
    pub max_body_bytes: u64,
}

/// Everything that answering takes. Cloning is cheap and shares everything.
#[derive(Clone)]
pub struct Api(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) crib: Arc<Crib>,
    pub(crate) tokens: Tokens,
    pub(crate) hosts: Hosts,
    pub(crate) observer: Observer,
    pub(crate) max_body_bytes: u64,
    pub(crate) routes: Routes,
    /// Everything that happens, for `GET /api/events`.
    pub(crate) hub: Hub,
    /// Places for calls, shared out fairly among clients.
    pub(crate) gate: Gate,
}

impl Api {
    /// An API of this crib.
    pub fn new(crib: Arc<Crib>, options: ApiOptions) -> Self {
        let routes = Routes::all();
        options.observer.attach(&crib, &routes);
        Api(Arc::new(Inner {
            hub: Hub::of(&crib),
            gate: Gate::of(&crib),
            tokens: options.tokens,
            hosts: options.hosts,
            observer: options.observer,
            max_body_bytes: options.max_body_bytes,
            routes,
            crib,
        }))
    }

    /// The crib behind it.
    pub fn crib(&self) -> &Arc<Crib> {
        &self.0.crib
    }
}
