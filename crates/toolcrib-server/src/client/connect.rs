//! From an [`Address`] to a connection that requests can be sent on.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use url::Host;

use super::address::Address;
use super::error::ClientError;
use super::trust::{self, Trust, Verifier};

/// How long dialling may take, TLS included.
const DIALLING: Duration = Duration::from_secs(10);

/// A connection that is free for a request.
pub(super) type Connection = SendRequest<Full<Bytes>>;

/// Dials one server.
pub(super) struct Dialler {
    address: Address,
    trust: Trust,
    /// The system's certificates are many: read when first needed.
    tls: OnceCell<Arc<ClientConfig>>,
}

impl Dialler {
    pub(super) fn new(address: Address, trust: Trust) -> Self {
        Dialler {
            address,
            trust,
            tls: OnceCell::new(),
        }
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// A new connection. Its work is done by a task of its own, which ends with it.
    pub(super) async fn dial(&self) -> Result<Connection, ClientError> {
        match tokio::time::timeout(DIALLING, self.try_dial()).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(self.unreachable(format!("no connection within {DIALLING:?}"))),
        }
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
                let stream = self.tcp(host, *port).await.map_err(failed)?;
                stream.set_nodelay(true).map_err(failed)?;
                if *tls {
                    let encrypted = self.encrypt(host, stream).await;
                    open(encrypted.map_err(|why| self.unusable(why))?).await
                } else {
                    open(stream).await
                }
            }
        };
        opened.map_err(|why| self.unreachable(why))
    }

    /// Somebody answers, and cannot be spoken to.
    pub(super) fn unusable(&self, why: impl Into<String>) -> ClientError {
        ClientError::Unusable {
            server: self.address.to_string(),
            why: why.into(),
        }
    }

    async fn tcp(&self, host: &Host, port: u16) -> io::Result<TcpStream> {
        if let Some(ip) = self.address.ip() {
            return TcpStream::connect((ip, port)).await;
        }
        if self.address.is_this_machine() {
            // Whatever the machine's table of names says: the token goes to this machine alone.
            let v4 = TcpStream::connect(("127.0.0.1", port)).await;
            return match v4 {
                Ok(stream) => Ok(stream),
                Err(error) => TcpStream::connect(("::1", port)).await.map_err(|_| error),
            };
        }
        TcpStream::connect((host.to_string(), port)).await
    }

    async fn encrypt(
        &self,
        host: &Host,
        stream: TcpStream,
    ) -> Result<tokio_rustls::client::TlsStream<TcpStream>, String> {
        let name = match host {
            Host::Domain(name) => ServerName::try_from(name.clone())
                .map_err(|_| format!("`{name}` is no name that a certificate can be for"))?,
            Host::Ipv4(address) => ServerName::IpAddress((*address).into()),
            Host::Ipv6(address) => ServerName::IpAddress((*address).into()),
        };
        let config = self.tls.get_or_try_init(|| self.load()).await?;
        let connector = TlsConnector::from(Arc::clone(config));
        connector
            .connect(name, stream)
            .await
            .map_err(|error| trust::in_words(&error, &self.address))
    }

    async fn load(&self) -> Result<Arc<ClientConfig>, String> {
        let trust = self.trust.clone();
        let loaded = tokio::task::spawn_blocking(move || {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let verifier = Verifier::new(trust, Arc::clone(&provider))?;
            let builder = ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .map_err(|error| error.to_string())?;
            let mut config = builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier))
                .with_no_client_auth();
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
            Ok::<_, String>(Arc::new(config))
        });
        match loaded.await {
            Ok(Ok(config)) => Ok(config),
            Ok(Err(error)) => Err(format!("encryption cannot be set up: {error}")),
            Err(error) => Err(format!("encryption cannot be set up: {error}")),
        }
    }
}

async fn open<S>(stream: S) -> Result<Connection, String>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (sender, connection) = http1::Builder::new()
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|error| error.to_string())?;
    // What goes wrong here, whoever waits for an answer is told.
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
