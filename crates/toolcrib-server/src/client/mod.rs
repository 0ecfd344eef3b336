//! A client of this server, for the command line and the tests. It dials what the operator names and nothing else; requests of tools go
//! through [`toolcrib::egress`]. A client of an [`Api`] in this process ([`Client::of_process`]) asks the same without a socket.
//!
//! [`Client`] sends requests and reads answers, [`Events`] reads a stream of events, [`CallStream`] follows one call and finds its way back
//! to it when the connection is lost. Whatever comes is bounded: in size by a limit, in time by a deadline; a stream that says nothing,
//! not even its heartbeat, counts as lost.
//!
//! Invariant: a token is sent over a unix socket, over TLS or to this machine, never in plain text to another one.

mod address;
mod call;
mod connect;
mod error;
mod events;
mod outcome;
mod request;
mod trust;

pub use address::Address;
pub use call::{CallBody, CallStream, StreamItem};
pub use error::ClientError;
pub use events::{Events, ServerEvent};
pub use outcome::outcome_of;
pub use request::{Answered, Ask};

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use connect::{Connection, Dialler};
use trust::Trust;

use crate::api::Api;

/// How long to wait for an answer, unless a request says otherwise.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most connections that are kept for the next request.
const MOST_IDLE: usize = 4;

/// How to reach a server.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Where it is.
    pub address: Address,
    /// The token to show it.
    pub token: Option<String>,
    /// A certificate to trust beside the system's, as PEM: the server's own, or its issuer's.
    pub certificate: Option<Vec<u8>>,
    /// The server's own certificate, as PEM, where its home is known: it is believed whatever name it is for.
    pub own_certificate: Option<Vec<u8>>,
}

impl ClientOptions {
    /// Without a token, with the system's certificates.
    pub fn new(address: Address) -> Self {
        ClientOptions {
            address,
            token: None,
            certificate: None,
            own_certificate: None,
        }
    }

    /// With a token.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// With a certificate to trust beside the system's.
    #[must_use]
    pub fn certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.certificate = Some(pem.into());
        self
    }
}

/// A server to talk to. Cloning is cheap and shares the connections.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    dialler: Dialler,
    /// What answers in place of a server.
    process: Option<Api>,
    token: Option<http::HeaderValue>,
    idle: Mutex<Vec<Connection>>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Client").field(self.address()).finish()
    }
}

impl Client {
    /// A client of one server. Nothing is dialled before the first request.
    ///
    /// Refused where a token would cross a network in plain text.
    pub fn new(options: ClientOptions) -> Result<Self, ClientError> {
        let ClientOptions {
            address,
            token,
            certificate,
            own_certificate,
        } = options;
        if token.is_some() && !address.is_private() {
            return Err(ClientError::Usage(format!(
                "the token is not sent to {address} in plain text, where others could read it on the way; use https://, or a tunnel to this machine"
            )));
        }
        let token = token
            .map(|token| {
                let mut value =
                    http::HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| {
                        ClientError::Usage("the token has characters that no token has".to_owned())
                    })?;
                value.set_sensitive(true);
                Ok::<_, ClientError>(value)
            })
            .transpose()?;
        let read = |pem: Option<Vec<u8>>| match pem {
            Some(pem) => trust::certificates(&pem),
            None => Ok(Vec::new()),
        };
        let mut own = read(own_certificate)?;
        // Behind the server's own stand those above it, which are not the server.
        own.truncate(1);
        let trust = Trust {
            named: read(certificate)?,
            own,
        };
        Ok(Client(Arc::new(Inner {
            dialler: Dialler::new(address, trust),
            process: None,
            token,
            idle: Mutex::default(),
        })))
    }

    /// A client of this process, as the operator: nothing is dialled, and nothing runs between requests.
    pub fn of_process(api: Api) -> Self {
        Client(Arc::new(Inner {
            dialler: Dialler::new(Address::Process, Trust::default()),
            process: Some(api),
            token: None,
            idle: Mutex::default(),
        }))
    }

    /// Where the server is.
    pub fn address(&self) -> &Address {
        self.0.dialler.address()
    }

    fn take_idle(&self) -> Option<Connection> {
        let mut idle = self.0.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.pop()
    }

    fn keep(&self, connection: Option<Connection>) {
        let Some(connection) = connection else { return };
        let mut idle = self.0.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE {
            idle.push(connection);
        }
    }
}
