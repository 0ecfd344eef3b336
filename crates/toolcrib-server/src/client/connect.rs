//! From an [`Address`] to a connection that requests can be sent on.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use url::Host;

use super::address::Address;
use super::error::ClientError;

/// How long dialling may take, TLS included.
const DIALLING: Duration = Duration::from_secs(10);

/// A connection that is free for a request.
pub(super) type Connection = SendRequest<Full<Bytes>>;

/// Dials one server.
pub(super) struct Dialler {
    address: Address,
    certificates: Vec<CertificateDer<'static>>,
    /// The system's certificates are many: read when first needed.
    tls: OnceCell<Arc<ClientConfig>>,
}

impl Dialler {
    pub(super) fn new(address: Address, pem: Option<Vec<u8>>) -> Result<Self, ClientError> {
        let certificates = match pem {
            None => Vec::new(),
            Some(pem) => {
                let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
                let read = read.map_err(|error| {
                    ClientError::Usage(format!("the server's certificate is not PEM: {error}"))
                })?;
                if read.is_empty() {
                    let message = "the file for the server's certificate has none in it";
                    return Err(ClientError::Usage(message.to_owned()));
                }
                read
            }
        };
        Ok(Dialler {
            address,
            certificates,
            tls: OnceCell::new(),
        })
    }

    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// A new connection. Its work is done by a task of its own, which ends with it.
    pub(super) async fn dial(&self) -> Result<Connection, ClientError> {
        match tokio::time::timeout(DIALLING, self.try_dial()).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(why)) => Err(self.unreachable(why)),
            Err(_) => Err(self.unreachable(format!("no connection within {DIALLING:?}"))),
        }
    }

    fn unreachable(&self, why: String) -> ClientError {
        ClientError::Unreachable {
            server: self.address.to_string(),
            why,
        }
    }

    async fn try_dial(&self) -> Result<Connection, String> {
        match &self.address {
            Address::Unix(path) => {
                let stream = UnixStream::connect(path)
                    .await
                    .map_err(|error| plain(&error))?;
                open(stream).await
            }
            Address::Tcp { host, port, tls } => {
                let stream = self.tcp(host, *port).await.map_err(|error| plain(&error))?;
                stream.set_nodelay(true).map_err(|error| plain(&error))?;
                if *tls {
                    open(self.encrypt(host, stream).await?).await
                } else {
                    open(stream).await
                }
            }
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
        connector.connect(name, stream).await.map_err(|error| {
            let is_unknown = error.get_ref().is_some_and(|inner| {
                matches!(
                    inner.downcast_ref::<rustls::Error>(),
                    Some(rustls::Error::InvalidCertificate(
                        rustls::CertificateError::UnknownIssuer
                    ))
                )
            });
            match is_unknown {
                true => "its certificate is by nobody this machine trusts; name the file of the one to trust with --server-ca".to_owned(),
                false => format!("no encrypted connection: {error}"),
            }
        })
    }

    async fn load(&self) -> Result<Arc<ClientConfig>, String> {
        let own = self.certificates.clone();
        let loaded = tokio::task::spawn_blocking(move || {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            roots.add_parsable_certificates(own);
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let builder = ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()?;
            let mut config = builder.with_root_certificates(roots).with_no_client_auth();
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
            Ok::<_, rustls::Error>(Arc::new(config))
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
