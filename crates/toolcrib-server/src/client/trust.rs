//! Which certificates of servers are believed: [`Trust`], and in [`in_words`] why one is not.
//!
//! Beside what the system trusts there may be certificates that someone named. One of these is believed as itself, too: the certificate that
//! everybody makes first is its own issuer and says that it may sign others, which no certificate of a server in a chain may.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, InvalidMessage, SignatureScheme};
use toolcrib::egress::Tls;

use super::error::ClientError;

/// Certificates trusted beside the system's.
#[derive(Debug, Clone, Default)]
pub(super) struct Trust {
    /// For servers that have their name in them, and for what these have signed.
    pub(super) named: Vec<CertificateDer<'static>>,
    /// The server's own, as its home has it: the holder of its key is the server, whatever the name.
    pub(super) own: Vec<CertificateDer<'static>>,
}

impl Trust {
    /// Encryption that believes it.
    pub(super) fn tls(self) -> Tls {
        let named = self.named.clone();
        Tls::new(named).judging(Arc::new(move |usual, provider| {
            Arc::new(Verifier {
                usual,
                provider,
                trust: self.clone(),
            })
        }))
    }
}

/// Reads certificates from PEM; there has to be one.
pub(super) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let read = read.map_err(|error| {
        ClientError::Usage(format!("the server's certificate is not PEM: {error}"))
    })?;
    match read.is_empty() {
        true => Err(ClientError::Usage(
            "the file for the server's certificate has none in it".to_owned(),
        )),
        false => Ok(read),
    }
}

/// Believes what the system does, and what was named.
#[derive(Debug)]
struct Verifier {
    usual: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<rustls::crypto::CryptoProvider>,
    trust: Trust,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let is_among = |known: &[CertificateDer<'static>]| {
            known.iter().any(|one| one.as_ref() == end_entity.as_ref())
        };
        // Only with its key can a handshake be signed; that is looked at below, in any case.
        if is_among(&self.trust.own) {
            return Ok(ServerCertVerified::assertion());
        }
        let usual = match &self.usual {
            Some(usual) => {
                usual.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            }
            None => Err(CertificateError::UnknownIssuer.into()),
        };
        match usual {
            // One that is over is not believed, named or not.
            Err(error) if is_place_in_chain(&error) && is_among(&self.trust.named) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            usual => usual,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

/// Whether a certificate is refused for nothing but its place: no one known signed it, or it may sign others itself.
fn is_place_in_chain(error: &Error) -> bool {
    match error {
        Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        ) => true,
        Error::InvalidCertificate(error) => is_authority(error),
        _ => false,
    }
}

/// Whether it is refused because it may sign others. The library has no other word for it than that of what it rests on.
fn is_authority(error: &CertificateError) -> bool {
    matches!(error, CertificateError::Other(_))
        && format!("{error:?}").contains("CaUsedAsEndEntity")
}

/// Why there is no encrypted connection, in words that say what to do.
pub(super) fn in_words(error: &std::io::Error, address: &super::Address) -> String {
    const NAME_IT: &str = "name the file of the one to trust with --server-ca";
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Error>());
    match inner {
        Some(Error::InvalidCertificate(error)) => match error {
            // Another certificate of the same name has not signed it.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                format!("this machine does not trust the issuer of its certificate; {NAME_IT}")
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!(
                    "its certificate is not for `{}`; use a name that is in it",
                    address.host()
                )
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "its certificate has expired; the server needs a new one".to_owned()
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "its certificate is not valid yet; is the clock of this machine right?".to_owned()
            }
            error if is_authority(error) => {
                format!(
                    "its certificate is its own issuer, and not one this machine trusts; {NAME_IT}"
                )
            }
            error => format!("its certificate is not to be trusted: {error}"),
        },
        Some(Error::InvalidMessage(InvalidMessage::InvalidContentType)) => {
            "what answers there does not speak TLS; is it http:// instead of https://?".to_owned()
        }
        Some(error) => format!("no encrypted connection: {error}"),
        None if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            "no encrypted connection: it hung up; is it http:// instead of https://?".to_owned()
        }
        None => format!("no encrypted connection: {error}"),
    }
}
