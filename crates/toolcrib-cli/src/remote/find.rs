//! The server that serves this home, for calls.

use std::os::unix::fs::MetadataExt as _;

use toolcrib::Crib;
use toolcrib_server::client::{Address, Client, ClientOptions};
use toolcrib_server::running::{RunningServer, Servers, settings_digest};

use crate::args::Global;

/// A server in which a call is the call that would be made here: it serves this home, this workspace and these settings, and runs as this user.
/// `None` where there is none, or where nobody wants one.
pub(crate) fn of_home(crib: &Crib, global: &Global) -> Option<Client> {
    if global.no_server {
        return None;
    }
    let mut live = Servers::of_home(crib.home()).live();
    // Digests and tokens cost something; most homes have no server.
    live.retain(|server| server.workspace.as_deref() == crib.workspace_path() && is_own(server));
    if live.is_empty() {
        return None;
    }
    let digest = settings_digest(crib.config(), crib.rules());
    let server = live
        .into_iter()
        .find(|server| server.settings_digest == digest)?;
    let token = super::variable("TOOLCRIB_TOKEN").or_else(|| super::home_token(crib.home()))?;
    let mut options = ClientOptions::new(address(&server)?);
    options.token = Some(token);
    Client::new(options).ok()
}

/// The nearest way to it.
fn address(server: &RunningServer) -> Option<Address> {
    if let Some(socket) = &server.socket {
        return Some(Address::Unix(socket.clone()));
    }
    let address: Address = server.url.as_deref()?.parse().ok()?;
    // With TLS its certificate may be one that this machine does not know.
    address.is_this_machine().then_some(address)
}

/// Whether its process is this user's.
fn is_own(server: &RunningServer) -> bool {
    let owner = std::fs::metadata(format!("/proc/{}", server.pid)).map(|found| found.uid());
    owner.is_ok_and(|owner| owner == rustix::process::geteuid().as_raw())
}
