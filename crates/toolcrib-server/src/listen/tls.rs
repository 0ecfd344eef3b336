//! TLS by a configured certificate, which is read again when its files change: those who renew certificates restart nothing.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;
use toolcrib::storage::{Followed, Stamp, Stamps};

use super::ListenError;

/// How often the files are looked at, at most.
const EVERY: Duration = Duration::from_secs(1);

/// The largest file that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// A certificate with its key.
#[derive(Debug)]
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    config: Arc<ServerConfig>,
    files: Followed<(), 2>,
    looked: Instant,
}

impl Tls {
    /// Reads a certificate (with those above it) and its key, both PEM.
    pub fn open(certificate: &Path, key: &Path) -> Result<Self, ListenError> {
        let mut files = Followed::default();
        files.set(stamps(certificate, key), ());
        let config = load(certificate, key)?;
        Ok(Tls {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            current: Mutex::new(Current {
                config,
                files,
                looked: Instant::now(),
            }),
        })
    }

    /// The file of the key, if every user of this machine may read or write it: its holder can pass for this server.
    pub fn exposed_key(&self) -> Option<&Path> {
        use std::os::unix::fs::MetadataExt as _;
        let mode = std::fs::metadata(&self.key).ok()?.mode();
        (mode & 0o007 != 0).then_some(&*self.key)
    }

    /// For a new connection. Files that are half written are left for the next one.
    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.looked.elapsed() > EVERY {
            current.looked = Instant::now();
            let stamps = stamps(&self.certificate, &self.key);
            if current.files.current(&stamps).is_none()
                && let Ok(config) = load(&self.certificate, &self.key)
            {
                current.config = config;
                current.files.set(stamps, ());
            }
        }
        TlsAcceptor::from(Arc::clone(&current.config))
    }
}

fn stamps(certificate: &Path, key: &Path) -> Stamps<2> {
    Stamps::new([certificate, key].map(Stamp::at))
}

fn load(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, ListenError> {
    let bad = |setting: &'static str, path: &Path, problem: String| ListenError::Certificate {
        setting,
        path: path.to_owned(),
        problem,
    };
    let (chain_is, key_is) = ("server.certificate", "server.key");
    let bytes = read(certificate).map_err(|error| bad(chain_is, certificate, error.to_string()))?;
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&bytes)
        .collect::<Result<_, _>>()
        .map_err(|error| bad(chain_is, certificate, format!("it is not PEM: {error}")))?;
    if chain.is_empty() {
        let problem = "it has no certificate in it".to_owned();
        return Err(bad(chain_is, certificate, problem));
    }
    let bytes = read(key).map_err(|error| bad(key_is, key, error.to_string()))?;
    let private = PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| {
        bad(
            key_is,
            key,
            format!("it has no private key in PEM: {error}"),
        )
    })?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| {
            builder
                .with_no_client_auth()
                .with_single_cert(chain, private)
        })
        .map_err(|error| bad(key_is, key, format!("it cannot be used: {error}")))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}
