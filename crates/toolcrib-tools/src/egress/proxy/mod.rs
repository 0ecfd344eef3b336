//! [`Proxy`]: the same guard for programs in the sandbox.
//!
//! A sandboxed program whose tool may reach hosts has a network in which there is nothing but a listening socket, and this serves its
//! connections: `CONNECT host:port` for a tunnel, absolute-form plain HTTP for everything else. Every request is
//! judged by [`Egress`] like one of our own; the program never holds a socket that leads anywhere.
//!
//! ```text
//! mod       accepting, and the end of everything           request   plain HTTP: what is passed on, and how it is framed
//! tunnel    CONNECT: bytes both ways                       hello     the name a TLS client asks for
//! activity  what has been still for too long
//! ```
//!
//! The invariant: nothing lives longer than [`Proxy::close`] and nothing is held whole. Bodies pass through in pieces, a head has 64 KB
//! and ten seconds, a connection may stand still for two minutes, and 64 are served at once; more wait in the socket's queue.
//! The content of TLS is not inspected, except for the name in its first message.

mod activity;
mod hello;
mod request;
#[cfg(test)]
mod tests;
mod tunnel;

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::activity::{Activity, Watched};
use self::tunnel::Tunnel;
use super::client::Egress;
use super::hosts::Reach;
use crate::model::exchange::ExchangeLog;

/// Connections that are served at once.
const MOST_CONNECTIONS: usize = 64;
/// How large the head of a request or an answer may be, in bytes, and how long a request's may take. It is also how long a
/// connection without a request is kept.
const MAX_HEAD: usize = 64 * 1024;
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How many headers one has.
const MAX_HEADERS: usize = 200;
/// How long nothing may happen on a connection, in either direction.
const IDLE: Duration = Duration::from_secs(120);

/// How many refused hosts are remembered.
const MAX_REFUSED: usize = 32;

/// The way out of one sandboxed program. Cloning is cheap; clones are the same.
#[derive(Clone)]
pub struct Proxy(Arc<Inner>);

struct Inner {
    egress: Egress,
    reach: Reach,
    closing: CancellationToken,
    places: Arc<Semaphore>,
    log: ExchangeLog,
    refused: Mutex<BTreeSet<String>>,
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxy")
            .field("reach", &self.0.reach)
            .finish_non_exhaustive()
    }
}

impl Proxy {
    /// A way out to these targets. What goes over is noted in the log while it does; what is refused is not, since nothing leaves.
    pub fn new(egress: Egress, reach: Reach, log: ExchangeLog) -> Self {
        Proxy(Arc::new(Inner {
            egress,
            reach,
            closing: CancellationToken::new(),
            places: Arc::new(Semaphore::new(MOST_CONNECTIONS)),
            log,
            refused: Mutex::default(),
        }))
    }

    /// The hosts that were asked for and are not within reach, each with its port: the first 32.
    pub fn refused(&self) -> Vec<String> {
        self.0.refused().iter().cloned().collect()
    }

    /// Serves connections, until [`close`](Self::close); when this returns every connection is cut. Needs a runtime with I/O
    /// and time.
    pub async fn serve(&self, listener: std::net::TcpListener) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let mut open = JoinSet::new();
        let accepting = async {
            loop {
                let Ok(place) = Arc::clone(&self.0.places).acquire_owned().await else {
                    return;
                };
                match listener.accept().await {
                    Ok((stream, _)) => {
                        let inner = Arc::clone(&self.0);
                        open.spawn(async move {
                            connection(&inner, stream).await;
                            drop(place);
                        });
                    }
                    // Out of descriptors, perhaps: not at once again.
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                }
                while open.try_join_next().is_some() {}
            }
        };
        self.0.closing.run_until_cancelled(accepting).await;
        open.shutdown().await;
        Ok(())
    }

    /// Ends [`serve`](Self::serve), and with it every connection. Nothing is served after that.
    pub fn close(&self) {
        self.0.closing.cancel();
    }
}

impl Inner {
    fn refused(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a host that is not within reach.
    fn note_refused(&self, host: String) {
        let mut refused = self.refused();
        if refused.len() < MAX_REFUSED {
            refused.insert(host);
        }
    }
}

/// A client inside, and what was begun for it.
struct Client {
    proxy: Arc<Inner>,
    activity: Activity,
    /// What drives connections to servers; ends with the client.
    driving: Mutex<JoinSet<()>>,
    /// What the connection becomes when its last answer is sent.
    tunnel: Mutex<Option<Tunnel>>,
}

impl Client {
    /// Keeps something going for as long as the client is there.
    fn drive(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut driving = self.driving.lock().unwrap_or_else(PoisonError::into_inner);
        while driving.try_join_next().is_some() {}
        driving.spawn(work);
    }

    fn tunnel(&self) -> std::sync::MutexGuard<'_, Option<Tunnel>> {
        self.tunnel.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves one connection to its end.
async fn connection(proxy: &Arc<Inner>, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let activity = Activity::default();
    let client = Arc::new(Client {
        proxy: Arc::clone(proxy),
        activity: activity.clone(),
        driving: Mutex::default(),
        tunnel: Mutex::default(),
    });
    let serving = async {
        let io = TokioIo::new(Watched::new(stream, &activity));
        let service = service_fn(|request: hyper::Request<Incoming>| {
            let client = Arc::clone(&client);
            async move { Ok::<_, Infallible>(request::answer(&client, request).await) }
        });
        let served = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_header_size(MAX_HEAD)
            .max_buf_size(2 * MAX_HEAD)
            .max_headers(MAX_HEADERS)
            .preserve_header_case(true)
            // A client that has said everything may still want the answer.
            .half_close(true)
            .serve_connection(io, service)
            .with_upgrades()
            .await;
        let tunnel = client.tunnel().take();
        if let (Ok(()), Some(tunnel)) = (served, tunnel) {
            tunnel.run().await;
        }
    };
    activity.until_still(IDLE, serving).await;
}
