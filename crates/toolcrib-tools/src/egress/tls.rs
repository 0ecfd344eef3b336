//! TLS: the system's certificates and the configured ones, loaded once and when they are first needed. Nothing switches the check off.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::resolve::Dialled;
use crate::target::EgressError;
use crate::target::{Host, Target};

/// Encrypts connections.
pub(super) struct Tls {
    /// The configured certificates.
    configured: Vec<CertificateDer<'static>>,
    config: OnceCell<Arc<ClientConfig>>,
}

impl Tls {
    /// Takes the configured certificates, as PEM; the system's are read later.
    pub(super) fn new(pem: &[u8]) -> Result<Self, EgressError> {
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
        Ok(Tls {
            configured,
            config: OnceCell::new(),
        })
    }

    /// Encrypts a connection for the target: its name is asked for, and the certificate has to be for it.
    pub(super) async fn encrypt(
        &self,
        stream: Box<dyn Dialled>,
        target: &Target,
    ) -> Result<Box<dyn Dialled>, EgressError> {
        let config = self.config.get_or_try_init(|| self.load()).await?;
        let stream = connect(Arc::clone(config), stream, target).await?;
        Ok(Box::new(stream))
    }

    /// The same for another protocol than HTTP, by the name that TLS has for it.
    pub(super) async fn encrypt_as<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        target: &Target,
        protocol: &[u8],
    ) -> Result<TlsStream<S>, EgressError> {
        let config = self.config.get_or_try_init(|| self.load()).await?;
        let mut config = ClientConfig::clone(config);
        config.alpn_protocols = vec![protocol.to_vec()];
        connect(Arc::new(config), stream, target).await
    }

    async fn load(&self) -> Result<Arc<ClientConfig>, EgressError> {
        let configured = self.configured.clone();
        // Reading and parsing some hundred files takes its time.
        let loaded = tokio::task::spawn_blocking(move || {
            let mut roots = RootCertStore::empty();
            // What cannot be read or parsed is left out: a connection that needs it fails and says so.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            roots.add_parsable_certificates(configured);
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let builder = ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()?;
            let mut config = builder.with_root_certificates(roots).with_no_client_auth();
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
            Ok::<_, rustls::Error>(Arc::new(config))
        });
        match loaded.await {
            Ok(Ok(config)) => Ok(config),
            Ok(Err(error)) => Err(EgressError::unsent(format!(
                "encryption cannot be set up: {error}"
            ))),
            Err(error) => Err(EgressError::unsent(format!(
                "encryption cannot be set up: {error}"
            ))),
        }
    }
}

async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
    config: Arc<ClientConfig>,
    stream: S,
    target: &Target,
) -> Result<TlsStream<S>, EgressError> {
    let name = match &target.host {
        Host::Name(name) => ServerName::try_from(name.clone()).map_err(|_| {
            EgressError::unsent(format!("`{name}` is no name that a certificate can be for"))
        })?,
        Host::Address(IpAddr::V4(address)) => ServerName::IpAddress((*address).into()),
        Host::Address(IpAddr::V6(address)) => ServerName::IpAddress((*address).into()),
    };
    let connecting = TlsConnector::from(config).connect(name, stream);
    connecting.await.map_err(|error| {
        EgressError::unsent(format!(
            "no encrypted connection to `{target}`: {}",
            in_words(&error)
        ))
    })
}

fn in_words(error: &io::Error) -> String {
    let tls = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match tls {
        Some(rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer)) => {
            "its certificate is by nobody this machine trusts; a company's own authority goes into `network.certificates`".to_owned()
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
    fn a_certificate_that_is_wrong_in_a_rare_way_is_told_in_words() {
        let other = OtherError(Arc::new(CaUsedAsEndEntity));
        let error = Error::InvalidCertificate(CertificateError::Other(other));
        let error = io::Error::new(io::ErrorKind::InvalidData, error);
        assert_eq!(
            in_words(&error),
            "its certificate is not valid: ca used as end entity"
        );
    }
}
