//! The server that serves this home, for calls.

use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use serde_json::Value;
use toolcrib::{Crib, ToolError};
use toolcrib_server::client::{Address, Ask, Client, ClientOptions};
use toolcrib_server::running::{RunningServer, Servers, settings_digest};

use crate::args::Global;
use crate::failure::CliError;

/// How long a server that was only found is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

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

/// Every server of this home that can be asked, whatever it serves.
fn all_of_home(crib: &Crib, global: &Global) -> Vec<Client> {
    if global.no_server {
        return Vec::new();
    }
    let live = Servers::of_home(crib.home()).live();
    if live.is_empty() {
        return Vec::new();
    }
    let token = super::variable("TOOLCRIB_TOKEN").or_else(|| super::home_token(crib.home()));
    let Some(token) = token else {
        return Vec::new();
    };
    let clients = live
        .iter()
        .filter(|server| is_own(server))
        .filter_map(|server| {
            let mut options = ClientOptions::new(address(server)?);
            options.token = Some(token.clone());
            Client::new(options).ok()
        });
    clients.collect()
}

/// The calls that servers of this home run now, as they say it. One that does not answer is passed over.
pub(crate) fn running_calls(crib: &Crib, global: &Global) -> Vec<Value> {
    let clients = all_of_home(crib, global);
    if clients.is_empty() {
        return Vec::new();
    }
    let Ok(runtime) = super::runtime() else {
        return Vec::new();
    };
    let mut calls = Vec::new();
    for client in clients {
        let ask = Ask::get("/api/calls?status=running&pageSize=500").patience(Some(PATIENCE));
        let answer = runtime.block_on(client.json(ask));
        if let Ok(Value::Array(rows)) = answer.map(|mut answer| answer["calls"].take()) {
            calls.extend(rows);
        }
    }
    calls
}

/// Cancels a call in whichever server of this home runs it; `None` if none does.
pub(crate) fn cancel_by_home(
    id: &str,
    crib: &Crib,
    global: &Global,
) -> Result<Option<Value>, CliError> {
    let runtime = super::runtime()?;
    let mut refused = None;
    for client in all_of_home(crib, global) {
        match runtime.block_on(client.cancel(id)) {
            Ok(view) => return Ok(Some(view)),
            // It runs elsewhere, or is over: another server may know better.
            Err(error) if error.status() == Some(409) => refused = Some(error),
            Err(_) => {}
        }
    }
    match refused {
        Some(error) => Err(CliError::from(ToolError::from(error))),
        None => Ok(None),
    }
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
