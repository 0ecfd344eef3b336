//! TLS: the system's certificates and the configured ones, loaded once and when they are first needed. Nothing switches the check off.

use std::io;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::target::EgressError;
use crate::target::{Host, Target};

/// Makes the judge of a server's certificate out of the usual one, which is missing on a machine that trusts no certificate at all.
pub type Judging = Arc<
    dyn Fn(Option<Arc<WebPkiServerVerifier>>, Arc<CryptoProvider>) -> Arc<dyn ServerCertVerifier>
        + Send
        + Sync,
>;

/// Why a connection is not encrypted.
#[derive(Debug)]
pub enum TlsError {
    /// No handshake was tried, for this reason.
    SetUp(String),
    /// The handshake failed.
    Handshake(io::Error),
}

/// Encrypts connections.
pub struct Tls {
    /// Certificates to trust besides the system's.
    certificates: Vec<CertificateDer<'static>>,
    judging: Option<Judging>,
    config: OnceCell<Arc<ClientConfig>>,
}

impl Tls {
    /// Trusts these certificates besides the system's, which are read later.
    pub fn new(certificates: Vec<CertificateDer<'static>>) -> Self {
        Tls {
            certificates,
            judging: None,
            config: OnceCell::new(),
        }
    }

    /// Judges certificates in another way than usual. Only for a server that the operator named.
    #[must_use]
    pub fn judging(mut self, judging: Judging) -> Self {
        self.judging = Some(judging);
        self
    }

    /// Takes the certificates of the settings, as PEM.
    pub(super) fn configured(pem: &[u8]) -> Result<Self, EgressError> {
        let bad = |what: String| {
            EgressError::BadRequest(format!("the setting `network.certificates`: {what}"))
        };
        let configured: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(pem)
            .collect::<Result<_, _>>()
            .map_err(|error| bad(format!("the file is not PEM: {error}")))?;
        if configured.is_empty() && !pem.is_empty() {
            return Err(bad("the file has no certificate in it".to_owned()));
        }
        let mut roots = RootCertStore::empty();
        for certificate in &configured {
            roots.add(certificate.clone()).map_err(|error| {
                bad(format!("a certificate in the file cannot be used: {error}"))
            })?;
        }
        Ok(Tls::new(configured))
    }

    /// Encrypts a connection for the target: its name is asked for, and the certificate has to be for it. `protocol` is the name that TLS
    /// has for what is spoken (ALPN), if that is not HTTP.
    pub(super) async fn encrypt<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        target: &Target,
        protocol: Option<&[u8]>,
    ) -> Result<TlsStream<S>, EgressError> {
        let encrypted = self.connect(stream, &target.host, protocol).await;
        encrypted.map_err(|error| {
            EgressError::unsent(match error {
                TlsError::SetUp(why) => why,
                TlsError::Handshake(error) => format!(
                    "no encrypted connection to `{target}`: {}",
                    in_words(&error)
                ),
            })
        })
    }

    /// Encrypts a connection to a host, as [`Tls::encrypt`] does, and returns the error as it is.
    pub async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        host: &Host,
        protocol: Option<&[u8]>,
    ) -> Result<TlsStream<S>, TlsError> {
        let name = match host {
            Host::Name(name) => ServerName::try_from(name.clone()).map_err(|_| {
                TlsError::SetUp(format!(
                    "`{name}` is not a name that a certificate can have"
                ))
            })?,
            Host::Address(address) => ServerName::IpAddress((*address).into()),
        };
        let loaded = self.config.get_or_try_init(|| self.load()).await;
        let mut config = loaded
            .cloned()
            .map_err(|error| TlsError::SetUp(format!("encryption cannot be set up: {error}")))?;
        if let Some(protocol) = protocol {
            // An empty name: the protocol has none.
            let names = Some(protocol.to_vec()).filter(|name| !name.is_empty());
            Arc::make_mut(&mut config).alpn_protocols = names.into_iter().collect();
        }
        let connecting = TlsConnector::from(config).connect(name, stream);
        connecting.await.map_err(TlsError::Handshake)
    }

    async fn load(&self) -> Result<Arc<ClientConfig>, String> {
        let (certificates, judging) = (self.certificates.clone(), self.judging.clone());
        // Reading and parsing some hundred files takes its time.
        let loaded = tokio::task::spawn_blocking(move || {
            let mut roots = RootCertStore::empty();
            // What cannot be read or parsed is left out: a connection that needs it fails and says so.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            roots.add_parsable_certificates(certificates);
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
                .with_safe_default_protocol_versions()
                .map_err(|error| error.to_string())?;
            let builder = match judging {
                None => builder.with_root_certificates(roots),
                Some(judging) => {
                    let usual = usual(roots, &provider)?;
                    let judge = judging(usual, provider);
                    builder.dangerous().with_custom_certificate_verifier(judge)
                }
            };
            let mut config = builder.with_no_client_auth();
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
            Ok(Arc::new(config))
        });
        loaded.await.unwrap_or_else(|error| Err(error.to_string()))
    }
}

/// The usual judge of certificates. A machine may have none to start from.
fn usual(
    roots: RootCertStore,
    provider: &Arc<CryptoProvider>,
) -> Result<Option<Arc<WebPkiServerVerifier>>, String> {
    if roots.is_empty() {
        return Ok(None);
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map(Some)
        .map_err(|error| error.to_string())
}

fn in_words(error: &io::Error) -> String {
    let tls = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match tls {
        Some(rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer)) => {
            "this machine does not trust the issuer of its certificate; add a company's own authority to `network.certificates`".to_owned()
        }
        Some(rustls::Error::InvalidCertificate(rustls::CertificateError::Other(other))) => {
            // The library shows the name of its error only: `CaUsedAsEndEntity`.
            format!("its certificate is not valid: {}", spaced(&other.to_string()))
        }
        Some(other) => other.to_string(),
        None => error.to_string(),
    }
}

/// `CaUsedAsEndEntity` as `ca used as end entity`.
fn spaced(name: &str) -> String {
    let mut words = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && words.ends_with(|before: char| before.is_ascii_lowercase()) {
            words.push(' ');
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::{CertificateError, Error, OtherError};

    use super::*;

    #[derive(Debug)]
    struct CaUsedAsEndEntity;

    impl std::fmt::Display for CaUsedAsEndEntity {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{self:?}")
        }
    }

    impl std::error::Error for CaUsedAsEndEntity {}

    #[test]
    fn a_certificate_that_is_wrong_in_a_rare_way_is_reported_in_words() {
        let other = OtherError(Arc::new(CaUsedAsEndEntity));
        let error = Error::InvalidCertificate(CertificateError::Other(other));
        let error = io::Error::new(io::ErrorKind::InvalidData, error);
        assert_eq!(
            in_words(&error),
            "its certificate is not valid: ca used as end entity"
        );
    }
}
