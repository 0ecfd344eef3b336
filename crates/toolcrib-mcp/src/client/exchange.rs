//! How a client reaches HTTP without knowing how: [`Exchange`].

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use http::{HeaderMap, Request, StatusCode};

/// Sends requests. The owner guards where they go and adds who asks (tokens).
pub trait Exchange: Send + Sync + 'static {
    /// Sends one and reads its head; the body comes as it comes. Dropping the future or the body ends the exchange.
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> BoxFuture<'_, Result<ExchangeResponse, ExchangeError>>;
}

/// The answer to a request.
pub struct ExchangeResponse {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: BoxStream<'static, Result<Bytes, ExchangeError>>,
}

/// A request found no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ExchangeError {
    /// It could not be sent or answered.
    #[error("{0}")]
    Failed(String),
    /// Someone has to log in first.
    #[error("{0}")]
    Unauthorized(String),
}
