//! Reports to the service manager that the server is ready, or stops (`sd_notify(3)`): one datagram to the socket that `NOTIFY_SOCKET` names.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::output::Output;

/// Says it, if there is someone to say it to. A manager that cannot be reached is a warning: it stops the service itself.
pub(super) fn say(state: &str, output: &Output) {
    let Some(name) = std::env::var_os("NOTIFY_SOCKET").filter(|name| !name.is_empty()) else {
        return;
    };
    if let Err(error) = send(&name, state) {
        let name = name.to_string_lossy();
        let warning = format!("cannot notify the service manager (NOTIFY_SOCKET is `{name}`)");
        output.say(&format!("{} {warning}: {error}", output.bold("warning:")));
    }
}

fn send(name: &OsStr, state: &str) -> io::Result<()> {
    let address = match name.as_bytes() {
        // Not in the file system.
        [b'@', rest @ ..] => abstract_name(rest)?,
        _ => SocketAddr::from_pathname(name)?,
    };
    let socket = UnixDatagram::unbound()?;
    // A manager that is stuck must not stop the server.
    socket.set_nonblocking(true)?;
    socket.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(target_os = "linux")]
fn abstract_name(name: &[u8]) -> io::Result<SocketAddr> {
    use std::os::linux::net::SocketAddrExt as _;
    SocketAddr::from_abstract_name(name)
}

#[cfg(not(target_os = "linux"))]
fn abstract_name(_: &[u8]) -> io::Result<SocketAddr> {
    Err(io::ErrorKind::Unsupported.into())
}
