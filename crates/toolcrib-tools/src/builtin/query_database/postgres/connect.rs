//! Connections: dialled by [`Egress`](crate::egress::Egress), encrypted with its certificates, spoken to by tokio-postgres.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::JoinHandle;
use tokio_postgres::config::{ChannelBinding as Binding, SslMode};
use tokio_postgres::tls::{ChannelBinding, NoTls, TlsConnect, TlsStream};
use tokio_postgres::{CancelToken, Client, Config};

use super::super::settings::Encryption;
use super::{DatabaseQuery, fault};
use crate::call::context::CallContext;
use crate::egress::{Egress, EgressError, RawStream, RawTls, Target};
use crate::model::error::{ErrorCode, ToolError};

/// What the record of a call says in the place of a method.
const PROTOCOL: &str = "POSTGRESQL";

/// The name that TLS has for it.
const ALPN: &[u8] = b"postgresql";

/// The most bytes that may come on a connection: a server, or a row, cannot fill the memory of this process.
const MAX_RECEIVED: u64 = 64 << 20;

/// How long a connection may take to be there, and to be closed.
const TO_CONNECT: Duration = Duration::from_secs(15);
const TO_CLOSE: Duration = Duration::from_millis(500);

/// How long to wait for the server to cancel a statement, until it is asked again, how long the outcome waits for that, and
/// when the server is left alone; the statement has its own time there.
const TO_TELL: Duration = Duration::from_secs(5);
const TO_TELL_AGAIN: Duration = Duration::from_millis(250);
const TO_END: Duration = Duration::from_millis(1300);
const TO_GIVE_UP: Duration = Duration::from_secs(30);

/// A connection.
pub(super) struct Session {
    pub(super) client: Client,
    speaking: JoinHandle<()>,
    cut: Arc<AtomicBool>,
}

impl Session {
    /// Connects and logs in.
    pub(super) async fn open(asked: &DatabaseQuery, cx: &CallContext) -> Result<Self, ToolError> {
        let within = TO_CONNECT.min(cx.remaining());
        match tokio::time::timeout(within, Session::log_in(asked, cx)).await {
            Ok(opened) => opened,
            Err(_) => Err(ToolError::new(
                ErrorCode::Timeout,
                format!(
                    "the database `{}` did not let anybody in in time",
                    asked.name
                ),
            )),
        }
    }

    async fn log_in(asked: &DatabaseQuery, cx: &CallContext) -> Result<Self, ToolError> {
        let database = &asked.database;
        let mut config = Config::new();
        config
            .user(database.user())
            .dbname(database.database())
            .application_name("toolcrib")
            .channel_binding(Binding::Prefer);
        if let Some(password) = &asked.password {
            config.password(password.expose());
        }
        let stream = open(asked, cx).await?;
        let cut = stream.cut();
        let failed = |error| fault::not_connected(&error, asked);
        let (client, speaking) = match database.encryption() {
            Encryption::Required => {
                config.ssl_mode(SslMode::Require);
                let (client, connection) = config
                    .connect_raw(stream, Encrypt::of(asked))
                    .await
                    .map_err(failed)?;
                (client, tokio::spawn(ended(connection)))
            }
            Encryption::Disabled => {
                config.ssl_mode(SslMode::Disable);
                let (client, connection) =
                    config.connect_raw(stream, NoTls).await.map_err(failed)?;
                (client, tokio::spawn(ended(connection)))
            }
        };
        Ok(Session {
            client,
            speaking,
            cut,
        })
    }

    /// Whether it was cut because too much came.
    pub(super) fn cut(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cut)
    }

    /// Says goodbye; a server that does not listen is left.
    pub(super) async fn close(self) {
        drop(self.client);
        let mut speaking = self.speaking;
        if tokio::time::timeout(TO_CLOSE, &mut speaking).await.is_err() {
            speaking.abort();
        }
    }

    /// Has the server end what it is doing, and says goodbye. The cancellation is sent again until the connection is over: the first time
    /// may have come between two statements. The outcome waits for that for a while; a separate task notifies a slow server.
    pub(super) async fn end(self, asked: Arc<DatabaseQuery>, cx: CallContext) {
        let token = self.client.cancel_token();
        // The running statement ends, the transaction is rolled back, and then there is nothing more to say.
        drop(self.client);
        let mut speaking = self.speaking;
        let telling = tokio::spawn(async move {
            let deadline = Instant::now() + TO_GIVE_UP;
            while Instant::now() < deadline {
                let told = tell_to_stop(&token, &asked, &cx);
                let _ = tokio::time::timeout(TO_TELL, told).await;
                if tokio::time::timeout(TO_TELL_AGAIN, &mut speaking)
                    .await
                    .is_ok()
                {
                    return;
                }
            }
            speaking.abort();
        });
        let _ = tokio::time::timeout(TO_END, telling).await;
    }
}

/// Speaks until there is nothing more to say. Errors reach the caller that waits for an answer.
async fn ended<E>(connection: impl Future<Output = Result<(), E>>) {
    let _ = connection.await;
}

async fn open(asked: &DatabaseQuery, cx: &CallContext) -> Result<RawStream, ToolError> {
    let (target, log) = (asked.database.target(), cx.exchanges());
    let opening = asked.egress.open_raw(target, PROTOCOL, MAX_RECEIVED, &log);
    opening.await.map_err(|error| {
        ToolError::from(error)
            .preceded_by(&format!("no connection to the database `{}`: ", asked.name))
    })
}

/// Cancels a statement at the server, on its own connection, as the protocol has it.
async fn tell_to_stop(token: &CancelToken, asked: &DatabaseQuery, cx: &CallContext) {
    let Ok(stream) = open(asked, cx).await else {
        return;
    };
    // The server does not say whether it heard.
    let _ = match asked.database.encryption() {
        Encryption::Required => token.cancel_query_raw(stream, Encrypt::of(asked)).await,
        Encryption::Disabled => token.cancel_query_raw(stream, NoTls).await,
    };
}

/// Encrypts a connection once the server has agreed to it.
struct Encrypt {
    egress: Egress,
    target: Target,
}

impl Encrypt {
    fn of(asked: &DatabaseQuery) -> Self {
        Encrypt {
            egress: asked.egress.clone(),
            target: asked.database.target().clone(),
        }
    }
}

impl TlsConnect<RawStream> for Encrypt {
    type Stream = Encrypted;
    type Error = EgressError;
    type Future = BoxFuture<'static, Result<Encrypted, EgressError>>;

    fn connect(self, stream: RawStream) -> Self::Future {
        Box::pin(async move {
            let encrypting = self.egress.encrypt_raw(stream, &self.target, ALPN);
            encrypting.await.map(Encrypted)
        })
    }
}

/// An encrypted connection.
struct Encrypted(RawTls);

impl TlsStream for Encrypted {
    /// Binds the login to this very connection (RFC 5929): one who passes messages on cannot log in with them.
    fn channel_binding(&self) -> ChannelBinding {
        let (_, session) = self.0.get_ref();
        let own = session.peer_certificates().and_then(<[_]>::first);
        match own.and_then(|certificate| end_point(certificate)) {
            Some(digest) => ChannelBinding::tls_server_end_point(digest),
            None => ChannelBinding::none(),
        }
    }
}

/// The digest of a certificate by the hash that it is signed with; `None` where that is not one of the usual ones.
fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    // Certificate ::= SEQUENCE { tbsCertificate SEQUENCE, signatureAlgorithm SEQUENCE { OID … }, … }
    let (whole, _) = der(certificate, 0x30)?;
    let (_, after) = der(whole, 0x30)?;
    let (algorithm, _) = der(after, 0x30)?;
    let (oid, _) = der(algorithm, 0x06)?;
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
    let (last, family) = oid.split_last()?;
    match (family, last) {
        // MD5 and SHA-1 are replaced by SHA-256.
        (RSA, 4 | 5 | 11) | (ECDSA, 2) => Some(Sha256::digest(certificate).to_vec()),
        (RSA, 12) | (ECDSA, 3) => Some(Sha384::digest(certificate).to_vec()),
        (RSA, 13) | (ECDSA, 4) => Some(Sha512::digest(certificate).to_vec()),
        _ => None,
    }
}

/// The content of one DER value with this tag, and what follows it.
fn der(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first()?;
    let (length, rest) = match length {
        0..=0x7f => (usize::from(*length), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(length - 0x80))?;
            let length = digits
                .iter()
                .fold(0, |sum, digit| sum << 8 | usize::from(*digit));
            (length, rest)
        }
        _ => return None,
    };
    (*first == tag).then(|| rest.split_at_checked(length))?
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
