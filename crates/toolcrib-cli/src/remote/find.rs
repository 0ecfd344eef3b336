//! The server that serves this home, for calls.

use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use serde_json::Value;
use toolcrib::model::text::visible;
use toolcrib::{Crib, ToolError};
use toolcrib_server::auth::operator_token;
use toolcrib_server::client::{Address, Ask, Client, ClientError, ClientOptions};
use toolcrib_server::running::{RunningServer, Servers, settings_digest};

use crate::args::Global;
use crate::failure::CliError;
use crate::output::Output;

/// How long a server that was only found is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// A server in which a call is the call that would be made here: it serves this home, this workspace and these settings, and runs as this user.
/// `None` where there is none, where it cannot be used (which verbose output says), or where no one wants one.
pub(crate) fn of_home(crib: &Crib, global: &Global, output: &Output) -> Option<Client> {
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
    match client(&server, crib, global) {
        Ok(client) => Some(client),
        Err(why) => {
            if output.verbose() {
                let line = format!("in this process, not {}: {why}", shown(&server));
                output.say(&output.dim(&line));
            }
            None
        }
    }
}

/// The address of a server of this home and workspace that a browser on this machine can open, and a client of it.
pub(crate) fn serving(crib: &Crib, global: &Global) -> Option<(String, Client)> {
    let live = Servers::of_home(crib.home()).live().into_iter();
    let mut own = live
        .filter(|server| server.workspace.as_deref() == crib.workspace_path() && is_own(server));
    own.find_map(|server| Some((server.url.clone()?, client(&server, crib, global).ok()?)))
}

/// A client of a server that was found, or why it cannot be asked.
fn client(server: &RunningServer, crib: &Crib, global: &Global) -> Result<Client, String> {
    let address = match (&server.socket, &server.url) {
        // The nearest way to it.
        (Some(socket), _) => Address::Unix(socket.clone()),
        (None, Some(url)) => url
            .parse()
            .map_err(|error: ClientError| error.to_string())?,
        (None, None) => return Err("it says nowhere that it listens".to_owned()),
    };
    if !address.is_this_machine() {
        return Err(
            "it does not listen on this machine's own addresses; name it with --server".to_owned(),
        );
    }
    let token = match super::variable("TOOLCRIB_TOKEN") {
        Some(token) => token,
        None => operator_token(crib.home())
            .map_err(|error| error.to_string())?
            .ok_or("it has another token than this home; set TOOLCRIB_TOKEN to it")?,
    };
    let mut options = ClientOptions::new(address);
    options.token = Some(token);
    options.certificate = super::certificate(global)?;
    // Its home is this one, where its own certificate is named. What cannot be read is not believed.
    let own = server.certificate.as_ref();
    options.own_certificate = own.and_then(|path| std::fs::read(path).ok());
    Client::new(options).map_err(|error| error.to_string())
}

/// Every server of this home that can be asked, whatever it serves. Of the others it is said why not.
fn all_of_home(crib: &Crib, global: &Global, output: &Output) -> Vec<Client> {
    if global.no_server {
        return Vec::new();
    }
    let live = Servers::of_home(crib.home()).live();
    let own = live.iter().filter(|server| is_own(server));
    let clients = own.filter_map(|server| {
        let made = client(server, crib, global);
        made.map_err(|why| not_asked(&shown(server), &why, output))
            .ok()
    });
    clients.collect()
}

/// Says that a server was passed over: what is shown may not be all there is.
fn not_asked(server: &str, why: &str, output: &Output) {
    let line = format!("{server} could not be asked: {why}");
    output.say(&format!("{} {}", output.bold("note:"), visible(&line)));
}

/// A server that was found, in words.
fn shown(server: &RunningServer) -> String {
    let at = match (&server.socket, &server.url) {
        (Some(socket), _) => format!("unix:{}", socket.display()),
        (None, Some(url)) => url.clone(),
        (None, None) => "an unknown address".to_owned(),
    };
    format!("the server at {at}")
}

/// The calls that servers of this home run now, as they say it. Of one that does not answer that is said.
pub(crate) fn running_calls(crib: &Crib, global: &Global, output: &Output) -> Vec<Value> {
    let clients = all_of_home(crib, global, output);
    if clients.is_empty() {
        return Vec::new();
    }
    let Ok(runtime) = super::runtime() else {
        return Vec::new();
    };
    let mut calls = Vec::new();
    for client in clients {
        let ask = Ask::get("/api/calls?status=running&pageSize=500").patience(Some(PATIENCE));
        match runtime.block_on(client.json(ask)) {
            Ok(mut answer) => {
                if let Value::Array(rows) = answer["calls"].take() {
                    calls.extend(rows);
                }
            }
            Err(error) => {
                let server = format!("the server at {}", client.address());
                not_asked(&server, &why(&error), output);
            }
        }
    }
    calls
}

/// Why a server that was found does not help, without its address, which is before it.
fn why(error: &ClientError) -> String {
    match error {
        ClientError::Unreachable { why, .. }
        | ClientError::Unusable { why, .. }
        | ClientError::Lost { why, .. }
        | ClientError::Strange { why, .. } => why.clone(),
        ClientError::Refused { status: 401, .. } => {
            "it has another token than this home; set TOOLCRIB_TOKEN to it".to_owned()
        }
        ClientError::Refused { .. } | ClientError::Usage(_) => error.to_string(),
    }
}

/// Cancels a call in whichever server of this home runs it; `None` if none does, as far as they could be asked.
pub(crate) fn cancel_by_home(
    id: &str,
    crib: &Crib,
    global: &Global,
    output: &Output,
) -> Result<Option<Value>, CliError> {
    let runtime = super::runtime()?;
    let mut refused = None;
    for client in all_of_home(crib, global, output) {
        match runtime.block_on(client.cancel(id)) {
            Ok(view) => return Ok(Some(view)),
            // It runs elsewhere, or is over: another server may know better.
            Err(error) if error.status() == Some(409) => refused = Some(error),
            Err(error) if error.status() == Some(404) => {}
            Err(error) => {
                let server = format!("the server at {}", client.address());
                not_asked(&server, &why(&error), output);
            }
        }
    }
    match refused {
        Some(error) => Err(CliError::from(ToolError::from(error))),
        None => Ok(None),
    }
}

/// The servers that run on a home, for people: where, for which workspace, by which process.
pub(crate) fn running_on(home: &std::path::Path) -> Vec<String> {
    let live = Servers::of_home(home).live();
    let line = |server: &RunningServer| {
        let workspace = match &server.workspace {
            Some(path) => format!("for {}", path.display()),
            None => "without a workspace".to_owned(),
        };
        let at = shown(server);
        let at = at.strip_prefix("the server at ").unwrap_or(&at);
        format!("{at} {workspace} (process {})", server.pid)
    };
    live.iter().map(line).collect()
}

/// Whether its process is this user's.
fn is_own(server: &RunningServer) -> bool {
    let owner = std::fs::metadata(format!("/proc/{}", server.pid)).map(|found| found.uid());
    owner.is_ok_and(|owner| owner == rustix::process::geteuid().as_raw())
}
