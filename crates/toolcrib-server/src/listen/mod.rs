//! From sockets to requests: our own accept loop, with caps and deadlines.
//!
//! [`Server::bind`] takes the addresses, so that the maker of the [`Api`] knows by which names it is reached; [`Server::serve`]
//! answers until it is told to stop, and ends when every connection has and every call is recorded. Bodies of requests, calls and
//! streams have separate limits, enforced by the kernel and where they are served.

mod bind;
mod connection;
mod connections;
mod limits;
mod shares;
#[cfg_attr(target_os = "macos", path = "socket_macos.rs")]
mod socket;
mod stop;
mod tls;
mod watch;

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use tokio::net::{TcpListener, TcpStream, UnixListener};

pub use limits::{Limits, raise_open_files};
pub use stop::Stopping;
pub use tls::Tls;

use crate::Api;
use crate::api::{Peer, Stage};
use bind::{Inherited, SocketFile};
use connections::{ConnectionSlot, Connections};

/// How long accepting rests when the system has no more descriptors.
const REST: Duration = Duration::from_millis(50);

/// How many connections make room when it has none.
const ROOM: usize = 16;

/// Where to listen, and how much to take on.
#[derive(Debug, Default)]
pub struct ListenOptions {
    /// The address; with port 0 the system chooses one.
    pub addr: Option<SocketAddr>,
    /// A socket in the file system, for this user only.
    pub socket: Option<PathBuf>,
    /// Sockets that listen already, as a service manager passes them on: at most one address and one name in the file system. They
    /// are listened on instead of `addr` and `socket`.
    pub inherited: Vec<OwnedFd>,
    /// Encrypts what comes to the address.
    pub tls: Option<Tls>,
    /// Whether other machines may connect without TLS.
    pub plaintext: bool,
    /// How much to take on.
    pub limits: Limits,
}

/// Why a server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// There is nowhere to listen.
    #[error("there is nowhere to listen: set `server.addr` or `server.socket`")]
    Nowhere,
    /// The address cannot be taken.
    #[error("cannot listen on `{addr}`: {source}")]
    Address {
        /// The address.
        addr: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// Tokens and secrets would pass other machines as plain text.
    #[error(
        "cannot listen on `{0}` without TLS: tokens would pass the network as plain text; set `server.certificate` and `server.key`, or `server.plaintext` to `true` if something in front of it encrypts"
    )]
    Plaintext(SocketAddr),
    /// The name in the file system cannot be taken.
    #[error("cannot listen on the socket `{}`: {source}", .path.display())]
    Socket {
        /// Its name.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What a service manager passed on cannot be used.
    #[error("cannot listen on a socket that was passed on (LISTEN_FDS): {0}")]
    Inherited(io::Error),
    /// A certificate or key cannot be used.
    #[error("`{setting}`: cannot use `{}`: {problem}", .path.display())]
    Certificate {
        /// The setting that names it.
        setting: &'static str,
        /// Its file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
}

/// A server that has its addresses and does not answer yet.
#[derive(Debug)]
pub struct Server {
    tcp: Option<(TcpListener, SocketAddr)>,
    unix: Option<(UnixListener, Option<SocketFile>, PathBuf)>,
    tls: Option<Tls>,
    limits: Limits,
}

impl Server {
    /// Takes the addresses, within a runtime.
    pub fn bind(options: ListenOptions) -> Result<Self, ListenError> {
        if !options.inherited.is_empty() {
            return Self::inherit(options);
        }
        let tcp = match options.addr {
            Some(addr) if would_be_read(addr, &options) => {
                return Err(ListenError::Plaintext(addr));
            }
            Some(addr) => {
                let failed = |source| ListenError::Address { addr, source };
                let listener = bind::tcp(addr).map_err(failed)?;
                let address = listener.local_addr().map_err(failed)?;
                Some((listener, address))
            }
            None => None,
        };
        let unix = match options.socket {
            Some(path) => {
                let (listener, file) = bind::unix(&path)?;
                Some((listener, Some(file), path))
            }
            None => None,
        };
        if tcp.is_none() && unix.is_none() {
            return Err(ListenError::Nowhere);
        }
        Ok(Server {
            tcp,
            unix,
            tls: options.tls,
            limits: options.limits,
        })
    }

    /// Listens on what a service manager passed on.
    fn inherit(mut options: ListenOptions) -> Result<Self, ListenError> {
        let twice = |what: &str| {
            let why = format!("there are several {what}; pass one on");
            ListenError::Inherited(io::Error::new(io::ErrorKind::InvalidInput, why))
        };
        let (mut tcp, mut unix) = (None, None);
        for socket in std::mem::take(&mut options.inherited) {
            match bind::inherited(socket).map_err(ListenError::Inherited)? {
                Inherited::Tcp(listener) => {
                    let address = listener.local_addr().map_err(ListenError::Inherited)?;
                    if would_be_read(address, &options) {
                        return Err(ListenError::Plaintext(address));
                    }
                    if tcp.replace((listener, address)).is_some() {
                        return Err(twice("addresses"));
                    }
                }
                Inherited::Unix(listener, path) => {
                    if unix.replace((listener, None, path)).is_some() {
                        return Err(twice("sockets in the file system"));
                    }
                }
            }
        }
        Ok(Server {
            tcp,
            unix,
            tls: options.tls,
            limits: options.limits,
        })
    }

    /// The address it listens on.
    pub fn address(&self) -> Option<SocketAddr> {
        self.tcp.as_ref().map(|(_, address)| *address)
    }

    /// The address as a URL.
    pub fn url(&self) -> Option<String> {
        let scheme = match self.tls {
            Some(_) => "https",
            None => "http",
        };
        let address = self.address()?;
        Some(format!("{scheme}://{address}"))
    }

    /// The socket in the file system it listens on.
    pub fn socket(&self) -> Option<&Path> {
        self.unix.as_ref().map(|(_, _, path)| path.as_path())
    }

    /// Answers until it is told to stop, and then until everything has ended.
    pub async fn serve(self, api: Api, stopping: Stopping) {
        let connections = Connections::new(self.limits, api.0.observer.clone());
        api.set_stage(Stage::Ready);
        let listening = async {
            let tcp = accept_tcp(self.tcp, self.tls, &connections, &api);
            let unix = accept_unix(self.unix, &connections, &api);
            tokio::join!(tcp, unix);
        };
        let serving = async {
            // The listeners go with it: from then on no one gets in.
            stopping.finish.run_until_cancelled(listening).await;
            stop::stop(&api, &connections, &stopping).await;
        };
        tokio::select! {
            () = serving => {}
            () = connections.keep_deadlines() => {}
        }
    }
}

/// Whether tokens and secrets would pass other machines as plain text.
fn would_be_read(address: SocketAddr, options: &ListenOptions) -> bool {
    !address.ip().is_loopback() && options.tls.is_none() && !options.plaintext
}

async fn accept_tcp(
    listener: Option<(TcpListener, SocketAddr)>,
    tls: Option<Tls>,
    connections: &Arc<Connections>,
    api: &Api,
) {
    let Some((listener, _)) = listener else {
        return std::future::pending().await;
    };
    loop {
        match listener.accept().await {
            Ok((socket, address)) => match connections.place() {
                Some(place) => {
                    let _ = socket.set_nodelay(true);
                    let tls = tls.as_ref().map(Tls::acceptor);
                    let peer = Peer::Address(address);
                    tokio::spawn(connection::serve(socket, peer, tls, place, api.clone()));
                }
                None if tls.is_none() => refuse(&socket),
                None => {}
            },
            Err(error) => rest(&error, connections).await,
        }
    }
}

async fn accept_unix(
    listener: Option<(UnixListener, Option<SocketFile>, PathBuf)>,
    connections: &Arc<Connections>,
    api: &Api,
) {
    let Some((listener, _file, _)) = listener else {
        return std::future::pending().await;
    };
    loop {
        match listener.accept().await {
            Ok((socket, _)) => {
                let place: Option<ConnectionSlot> = connections.place();
                if let Some(place) = place {
                    let serving = connection::serve(socket, Peer::Local, None, place, api.clone());
                    tokio::spawn(serving);
                } else {
                    let _ = socket.try_write(FULL.as_bytes());
                }
            }
            Err(error) => rest(&error, connections).await,
        }
    }
}

/// The answer to a client for which there is no place.
const FULL: &str = concat!(
    "HTTP/1.1 503 Service Unavailable\r\n",
    "content-type: application/json\r\n",
    "content-length: 113\r\n",
    "retry-after: 1\r\n",
    "connection: close\r\n\r\n",
    r#"{"ok":false,"error":{"code":"UNAVAILABLE","message":"every connection is busy (`server.maxConnections`); retry"}}"#,
);

fn refuse(socket: &TcpStream) {
    let _ = socket.try_write(FULL.as_bytes());
}

/// What to do when nothing can be accepted: those that can be spared make room if that helps, and no one spins.
async fn rest(error: &io::Error, connections: &Connections) {
    let after = after(error);
    if after == After::Room {
        for _ in 0..ROOM {
            if !connections.make_room() {
                break;
            }
        }
    }
    if after != After::AtOnce {
        tokio::time::sleep(REST).await;
    }
}

/// When accepting goes on after it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// At once: it was the fault of one connection, which is gone.
    AtOnce,
    /// After a rest: it may well fail again.
    Rest,
    /// After a rest, with room for more.
    Room,
}

fn after(error: &io::Error) -> After {
    match Errno::from_io_error(error) {
        Some(Errno::CONNABORTED | Errno::INTR) => After::AtOnce,
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => After::Room,
        _ => After::Rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_may_stay_is_not_tried_again_at_once() {
        let after = |errno: Errno| after(&errno.into());
        assert_eq!(after(Errno::CONNABORTED), After::AtOnce);
        assert_eq!(after(Errno::MFILE), After::Room);
        for unknown in [Errno::PERM, Errno::INVAL, Errno::PROTO, Errno::IO] {
            assert_eq!(after(unknown), After::Rest);
        }
        assert_eq!(super::after(&io::Error::other("?")), After::Rest);
    }

    #[test]
    fn the_refusal_of_a_full_server_is_whole() {
        let (head, body) = FULL.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())));
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["error"]["code"], "UNAVAILABLE");
    }
}
