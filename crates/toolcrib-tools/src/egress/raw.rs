//! A connection for another protocol than HTTP, to a server that the operator's settings name: judged and dialled like any other, counted for
//! the record of the call, and cut when more comes than may.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client::TlsStream;

use super::client::Egress;
use super::hosts::Reach;
use super::resolve::Dialled;
use crate::model::exchange::{Exchange, ExchangeLog, Noted};
use crate::target::EgressError;
use crate::target::Target;

/// An encrypted raw stream.
pub(crate) type RawTls = TlsStream<RawStream>;

/// A connection whose bytes are someone else's protocol.
pub(crate) struct RawStream {
    stream: Box<dyn Dialled>,
    noted: Noted,
    /// How many bytes may still come.
    left: u64,
    cut: Arc<AtomicBool>,
}

impl RawStream {
    /// Whether it was cut because too much came; asked when it is someone else's already.
    pub(crate) fn cut(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cut)
    }
}

impl Egress {
    /// Opens a connection to a server of the settings. `protocol` is what the record says in the place of a method.
    pub(crate) async fn open_raw(
        &self,
        target: &Target,
        protocol: &str,
        max_received: u64,
        log: &ExchangeLog,
    ) -> Result<RawStream, EgressError> {
        let noted = log.push(Exchange {
            method: protocol.to_owned(),
            host: target.to_string(),
            url_bytes: 0,
            url_digest: String::new(),
            status: None,
            sent: 0,
            received: 0,
        });
        let stream = self
            .connect(target, &Reach::Configured(target.clone()))
            .await?;
        Ok(RawStream {
            stream,
            noted,
            left: max_received,
            cut: Arc::default(),
        })
    }

    /// Encrypts it; the certificate has to be the target's. `protocol` is the name that TLS has for it (ALPN).
    pub(crate) async fn encrypt_raw(
        &self,
        stream: RawStream,
        target: &Target,
        protocol: &[u8],
    ) -> Result<RawTls, EgressError> {
        self.encrypt_as(stream, target, protocol).await
    }
}

impl AsyncRead for RawStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let came = (buffer.filled().len() - before) as u64;
        self.noted.received(came);
        match self.left.checked_sub(came) {
            Some(left) => {
                self.left = left;
                read
            }
            None => {
                self.cut.store(true, Ordering::Relaxed);
                let why = "more came than may";
                Poll::Ready(Err(io::Error::new(io::ErrorKind::FileTooLarge, why)))
            }
        }
    }
}

impl AsyncWrite for RawStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        if let Poll::Ready(Ok(count)) = &written {
            self.noted.sent(*count as u64);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
