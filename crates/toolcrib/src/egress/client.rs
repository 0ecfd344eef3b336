//! The client: one exchange from a judged target to an answer within its limits.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use url::Url;

use super::error::EgressError;
use super::hosts::{AllowedHosts, Reach, Standing};
use super::resolve::{Dial, Resolve};
use super::target::Target;

/// How the way out is set up.
#[derive(Clone, Default)]
pub struct EgressOptions {
    /// The setting `allowedHosts`.
    pub allowed_hosts: AllowedHosts,
    /// Names that may have addresses of a private network (the setting `network.privateHosts`).
    pub private_hosts: AllowedHosts,
    /// A proxy that every request goes through (the setting `network.proxy`); the environment's are ignored.
    pub proxy: Option<Url>,
    /// Certificates to trust besides the system's, as PEM (the setting `network.certificates`).
    pub certificates: Vec<u8>,
    /// Who answers for names; the system by default.
    pub resolver: Option<Arc<dyn Resolve>>,
    /// Who dials; TCP by default.
    pub dialler: Option<Arc<dyn Dial>>,
}

/// One request. Made with [`Request::get`] and changed by field.
#[derive(Debug, Clone)]
pub struct Request {
    /// GET, POST, …
    pub method: Method,
    /// Where to; judged anew when it is sent.
    pub url: Url,
    /// Headers. Those marked sensitive, and the well-known ones for credentials, are dropped when a hop leaves the origin.
    pub headers: HeaderMap,
    /// The body; empty for none.
    pub body: Bytes,
    /// Which targets it, and every hop, may go to.
    pub reach: Reach,
    /// How long everything may take together, bodies included.
    pub timeout: Duration,
    /// How many bytes may come back, unpacked; more is an error.
    pub max_received: u64,
    /// How many hops are followed; 0 for none, and the answer is the redirection itself.
    pub max_redirects: u8,
}

impl Request {
    /// A plain GET to what the setting `allowedHosts` names: 30 s, 5 MB, five hops.
    pub fn get(url: Url) -> Self {
        Request {
            method: Method::GET,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            reach: Reach::Listed,
            timeout: Duration::from_secs(30),
            max_received: 5 * 1024 * 1024,
            max_redirects: 5,
        }
    }
}

/// An answer, whole and unpacked.
#[derive(Debug, Clone)]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// The headers of the last hop.
    pub headers: HeaderMap,
    /// The URL of the last hop.
    pub url: Url,
    /// The body, unpacked.
    pub body: Bytes,
    /// What went over the wire, hop by hop, for the record of the call.
    pub exchanges: Vec<Exchange>,
}

/// What the record of a call says about one hop: enough to see that something left, without what it was.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exchange {
    /// The method.
    pub method: String,
    /// The host and port.
    pub host: String,
    /// How long the URL was, in bytes.
    pub url_bytes: usize,
    /// SHA-256 of the URL, in hex.
    pub url_digest: String,
    /// The status, if an answer came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Bytes of the body that were sent.
    pub sent: u64,
    /// Bytes of the body that came, as they came.
    pub received: u64,
}

/// The way out. Cloning is cheap; clones share connections.
#[derive(Clone)]
pub struct Egress {}

impl Egress {
    /// Sets the way out up.
    pub fn new(_options: EgressOptions) -> Result<Self, EgressError> {
        unimplemented!()
    }

    /// What can be said about a target without asking anybody for its addresses.
    pub fn standing(&self, _target: &Target) -> Standing {
        unimplemented!()
    }

    /// Sends a request and takes the whole answer. Redirections are followed hop by hop, each judged like the first.
    pub async fn send(&self, _request: Request) -> Result<Response, EgressError> {
        unimplemented!()
    }

    /// Lets a target pass that is within reach and that nothing speaks against before its addresses are known.
    pub(crate) fn admit(&self, _target: &Target, _reach: &Reach) -> Result<(), EgressError> {
        unimplemented!()
    }

    /// Opens a connection for somebody else's bytes, judged like any other: what the sandbox's proxy needs.
    pub(crate) async fn connect(
        &self,
        _target: &Target,
        _reach: &Reach,
    ) -> Result<Box<dyn super::Dialled>, EgressError> {
        unimplemented!()
    }
}
