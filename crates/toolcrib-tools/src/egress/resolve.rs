//! From names to connections: who answers for names, and who dials. Tests put doubles in their place.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

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

/// How many names are looked up at once: each takes a thread for as long as the system's resolver pleases, also when no one waits
/// for it any more.
const MAX_LOOKUPS: usize = 32;

/// How many addresses of a name are tried.
const MAX_TRIED: usize = 8;

/// The system's resolver, on its own threads.
pub struct System(Arc<Semaphore>);

impl Default for System {
    fn default() -> Self {
        System(Arc::new(Semaphore::new(MAX_LOOKUPS)))
    }
}

impl Resolve for System {
    fn resolve<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let name = name.to_owned();
        let permits = Arc::clone(&self.0);
        Box::pin(async move {
            let permit = permits.acquire_owned().await.map_err(io::Error::other)?;
            let (found, answer) = tokio::sync::oneshot::channel();
            // Not one of the runtime's threads: those are waited for when a program ends, however long a silent server takes.
            let lookup = std::thread::Builder::new().name("lookup".to_owned());
            lookup.spawn(move || {
                let addresses = (name.as_str(), 0).to_socket_addrs();
                let addresses = addresses.map(|all| all.map(|address| address.ip()).collect());
                drop(permit);
                // No one waits any more: the time was up.
                let _ = found.send(addresses);
            })?;
            answer.await.map_err(io::Error::other)?
        })
    }
}

/// TCP.
pub struct Tcp;

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

/// Dials the addresses in order, each within its share of the time, so that one that never answers leaves time for the next. Nothing is
/// judged here. Fails with the errors of the addresses that answered.
pub async fn dial_first(
    dialler: &dyn Dial,
    addresses: &[IpAddr],
    port: u16,
    deadline: Instant,
) -> Result<(Box<dyn Dialled>, IpAddr), Vec<io::Error>> {
    let tried = &addresses[..addresses.len().min(MAX_TRIED)];
    let mut errors = Vec::new();
    for (at, address) in tried.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(tried.len() - at).unwrap_or(1);
        let dialled = dialler.dial(SocketAddr::new(*address, port));
        match timeout_at(Instant::now() + share, dialled).await {
            Ok(Ok(stream)) => return Ok((stream, *address)),
            Ok(Err(error)) => errors.push(error),
            Err(_) => {}
        }
    }
    Err(errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_system_answers_for_names_of_this_machine_and_says_when_it_cannot() {
        let system = System::default();
        let found = system.resolve("localhost").await.unwrap();
        assert!(
            !found.is_empty() && found.iter().all(IpAddr::is_loopback),
            "{found:?}"
        );
        // No name server is asked about a name with an empty part.
        assert!(system.resolve("a..b").await.is_err());
    }
}
