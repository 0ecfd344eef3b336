//! From names to connections: who answers for names, and who dials. Tests put doubles in their place.

use std::io;
use std::net::{IpAddr, SocketAddr};

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// Answers for names. The system's by default.
pub trait Resolve: Send + Sync + 'static {
    /// The addresses of a name.
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// A connection.
pub trait Dialled: AsyncRead + AsyncWrite + Send + Unpin + 'static {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Dialled for T {}

/// Opens connections to addresses that were judged. TCP by default.
pub trait Dial: Send + Sync + 'static {
    /// Connects.
    fn dial(&self, to: SocketAddr) -> BoxFuture<'_, io::Result<Box<dyn Dialled>>>;
}

/// How many names are looked up at once: each takes a thread for as long as the system's resolver pleases, also when nobody waits
/// for it any more.
const MAX_LOOKUPS: usize = 32;

/// The system's resolver, on threads of its own.
pub(super) struct System(std::sync::Arc<Semaphore>);

impl Default for System {
    fn default() -> Self {
        System(std::sync::Arc::new(Semaphore::new(MAX_LOOKUPS)))
    }
}

impl Resolve for System {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let name = name.to_owned();
        let permits = std::sync::Arc::clone(&self.0);
        Box::pin(async move {
            let permit = permits.acquire_owned().await.map_err(io::Error::other)?;
            let lookup = tokio::task::spawn_blocking(move || {
                let _held_until_it_ends = permit;
                let found = std::net::ToSocketAddrs::to_socket_addrs(&(name.as_str(), 0))?;
                Ok(found.map(|address| address.ip()).collect())
            });
            lookup.await.map_err(io::Error::other)?
        })
    }
}

/// TCP.
pub(super) struct Tcp;

impl Dial for Tcp {
    fn dial(&self, to: SocketAddr) -> BoxFuture<'_, io::Result<Box<dyn Dialled>>> {
        Box::pin(async move {
            let stream = TcpStream::connect(to).await?;
            // Requests are written whole; waiting for more only costs time.
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Dialled>)
        })
    }
}
