//! The one way out of a sandbox whose network is `proxy`.
//!
//! The child makes a listening socket in its own network, where nothing else is, and hands it over before the command
//! exists. The owner named by [`Command::proxy`](crate::Command::proxy) receives it and serves connections from inside. The
//! command never holds a socket of the host's network, there is no route in its own, and nothing listens in the host's: no
//! other program of the machine can use the way out.

use crate::sys;
use std::{
    io,
    net::TcpListener,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd},
        unix::net::UnixDatagram,
    },
    time::Duration,
};

/// Where the proxy is found inside.
pub(crate) const PORT: u16 = 3128;

/// The variables by which programs find their proxy, and those by which they are talked out of it.
const NAMES: [&str; 6] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
];
const EXCEPTIONS: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// The variables of a command behind a proxy.
pub(crate) fn variables() -> impl Iterator<Item = (&'static str, String)> {
    let proxy = format!("http://127.0.0.1:{PORT}");
    let proxies = NAMES.map(|name| (name, proxy.clone()));
    let exceptions = EXCEPTIONS.map(|name| (name, String::new()));
    proxies.into_iter().chain(exceptions)
}

/// Takes the listening socket that the child has sent.
pub(crate) fn receive(channel: &UnixDatagram) -> io::Result<TcpListener> {
    channel.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut byte = 0u8;
    let mut control = [0u64; 4];
    // SAFETY: the message is zeroed and points to places of ours that live during the call; the control buffer has room
    // for one descriptor and is aligned.
    unsafe {
        let mut part = libc::iovec {
            iov_base: (&raw mut byte).cast(),
            iov_len: 1,
        };
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        sys::check(libc::recvmsg(
            channel.as_raw_fd(),
            &raw mut message,
            libc::MSG_CMSG_CLOEXEC,
        ) as i64)?;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return Err(io::Error::other("the sandbox sent no socket"));
        }
        let fd = libc::CMSG_DATA(header).cast::<i32>().read_unaligned();
        Ok(TcpListener::from(OwnedFd::from_raw_fd(fd)))
    }
}
