//! What is said about requests and calls: the access log, metrics, traces.

use std::sync::Arc;

use http::Response;
use toolcrib::{CallId, Crib};

use crate::api::{Body, Peer, RequestId};
use crate::auth::Principal;
use crate::routes::Routes;

/// Sees every request. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub struct Observer {}

impl Observer {
    pub(crate) fn attach(&self, _crib: &Arc<Crib>, _routes: &Routes) {}

    /// A request begins.
    pub fn begin(&self, _parts: &http::request::Parts, _peer: &Peer, _id: &RequestId) -> Watch {
        Watch {}
    }
}

/// A request that is being answered.
pub struct Watch {}

/// Where a handler notes the call that a request makes or asks about. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub struct CallNote {}

impl CallNote {
    /// Notes the call.
    pub fn call(&self, _id: &CallId) {}
}

impl Watch {
    /// The request is for this route (by the id of its documentation) and comes from this principal.
    pub fn routed(&mut self, _route: &'static str, _principal: &Principal) {}

    /// Where the handler may note a call.
    pub fn note(&self) -> CallNote {
        CallNote::default()
    }

    /// Follows an answer to its end.
    pub fn answered(self, response: Response<Body>) -> Response<Body> {
        response
    }
}
