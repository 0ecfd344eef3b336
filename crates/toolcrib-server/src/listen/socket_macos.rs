//! Sockets where their flags are set afterwards, and where a socket does not say whether it listens: compiled, and not run by any test yet.

use rustix::fd::OwnedFd;
use rustix::io::{Errno, FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::net::{AddressFamily, SocketType};

pub(super) fn new_socket() -> rustix::io::Result<OwnedFd> {
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
    ioctl_fionbio(&socket, true)?;
    Ok(socket)
}

/// Sockets that are passed on cannot be judged here yet, so none is taken.
pub(super) fn listens_for(_: &OwnedFd) -> rustix::io::Result<Option<AddressFamily>> {
    Err(Errno::NOTSUP)
}
