//! From names to connections: who answers for names, and who dials. Tests put doubles in their place.

use std::io;
use std::net::SocketAddr;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};

/// Answers for names. The system's by default.
pub trait Resolve: Send + Sync + 'static {
    /// The addresses of a name.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<std::net::IpAddr>>>;
}

/// A connection.
pub trait Dialled: AsyncRead + AsyncWrite + Send + Unpin + 'static {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Dialled for T {}

/// Opens connections to addresses that were judged. TCP by default.
pub trait Dial: Send + Sync + 'static {
    /// Connects.
    fn dial(&self, to: SocketAddr) -> BoxFuture<'_, io::Result<Box<dyn Dialled>>>;
}
