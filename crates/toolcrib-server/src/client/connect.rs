//! From an [`Address`] to a connection that requests can be sent on.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::time::Instant;
use toolcrib::egress::{Dialled, Resolve as _, System, Tcp, Tls, TlsError, dial_first};
use url::Host;

use super::address::Address;
use super::error::ClientError;
use super::trust::{self, Trust};

/// How long dialling may take, TLS included.
const DIALLING: Duration = Duration::from_secs(10);

/// A connection that is free for a request.
pub(super) type Connection = SendRequest<Full<Bytes>>;

/// Dials one server.
pub(super) struct Dialler {
    address: Address,
    tls: Tls,
}

impl Dialler {
    pub(super) fn new(address: Address, trust: Trust) -> Self {
        Dialler {
            address,
            tls: trust.tls(),
        }
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// A new connection. Its work is done by a separate task, which ends with it.
    pub(super) async fn dial(&self) -> Result<Connection, ClientError> {
        match tokio::time::timeout(DIALLING, self.try_dial()).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(self.late()),
        }
    }

    fn late(&self) -> ClientError {
        self.unreachable(format!("no connection within {DIALLING:?}"))
    }

    fn unreachable(&self, why: String) -> ClientError {
        ClientError::Unreachable {
            server: self.address.to_string(),
            why,
        }
    }

    async fn try_dial(&self) -> Result<Connection, ClientError> {
        let failed = |error: io::Error| self.unreachable(plain(&error));
        let opened = match &self.address {
            Address::Unix(path) => {
                let stream = UnixStream::connect(path).await.map_err(failed)?;
                open(stream).await
            }
            Address::Process => Err("nothing is dialled in this process".to_owned()),
            Address::Tcp { host, port, tls } => {
                let stream = self.tcp(host, *port).await?;
                if *tls {
                    let encrypted = self.encrypt(stream).await;
                    open(encrypted.map_err(|why| self.unusable(why))?).await
                } else {
                    open(stream).await
                }
            }
        };
        opened.map_err(|why| self.unreachable(why))
    }

    /// Someone answers, and cannot be spoken to.
    pub(super) fn unusable(&self, why: impl Into<String>) -> ClientError {
        ClientError::Unusable {
            server: self.address.to_string(),
            why: why.into(),
        }
    }

    /// Dials a port, without the guard for tools: the operator named it.
    async fn tcp(&self, host: &Host, port: u16) -> Result<Box<dyn Dialled>, ClientError> {
        let failed = |error: io::Error| self.unreachable(plain(&error));
        let addresses = match self.address.ip() {
            Some(ip) => vec![ip],
            // Whatever the machine's table of names says: the token goes to this machine alone.
            None if self.address.is_this_machine() => {
                vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
            }
            None => {
                let resolved = System::default().resolve(&host.to_string()).await;
                resolved.map_err(failed)?
            }
        };
        let dialled = dial_first(&Tcp, &addresses, port, Instant::now() + DIALLING).await;
        match dialled {
            Ok((stream, _)) => Ok(stream),
            Err(errors) => Err(errors
                .into_iter()
                .next()
                .map_or_else(|| self.late(), failed)),
        }
    }

    async fn encrypt(&self, stream: Box<dyn Dialled>) -> Result<impl Dialled + use<>, String> {
        let host = match self.address.ip() {
            Some(ip) => toolcrib::target::Host::Address(ip),
            None => toolcrib::target::Host::Name(self.address.host()),
        };
        let encrypted = self.tls.connect(stream, &host, None).await;
        encrypted.map_err(|error| match error {
            TlsError::SetUp(why) => why,
            TlsError::Handshake(error) => trust::in_words(&error, &self.address),
        })
    }
}

async fn open(stream: impl Dialled) -> Result<Connection, String> {
    let (sender, connection) = http1::Builder::new()
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    // Errors here are reported to the caller that waits for an answer.
    tokio::spawn(connection);
    Ok(sender)
}

/// An error of the system without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}
