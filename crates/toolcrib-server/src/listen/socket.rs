//! Sockets as Linux makes them, at once closed to programs that are started and waiting for nothing, and describes them.

use rustix::fd::OwnedFd;
use rustix::net::sockopt::{socket_acceptconn, socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketFlags, SocketType};

pub(super) fn new_socket() -> rustix::io::Result<OwnedFd> {
    rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        None,
    )
}

/// The family of a socket that listens for streams.
pub(super) fn listens_for(socket: &OwnedFd) -> rustix::io::Result<Option<AddressFamily>> {
    let listens = socket_type(socket)? == SocketType::STREAM && socket_acceptconn(socket)?;
    listens.then(|| socket_domain(socket)).transpose()
}
