//! A server in the place of this machine's files: named by `--server`, or found by the home for calls.
//!
//! A server that is named stands for everything: no file of this machine is looked at but the token. One that is found by the home runs
//! calls, and only where a call in it is the call that would be made here: same home, same workspace, same settings. Everything
//! else is read from the files that both share.

mod backend;
mod find;
mod questions;
mod tool;

use std::path::PathBuf;

use toolcrib::config::Surroundings;
use toolcrib::{ErrorCode, ToolError};
use toolcrib_server::auth::operator_token;
use toolcrib_server::client::{Address, Client, ClientError, ClientOptions};
use toolcrib_server::running::{RunningServer, Servers};

pub(crate) use backend::{Backend, DamagedFiles, is_segment};
pub(crate) use find::{cancel_by_home, of_home, running_calls, running_on, serving};
pub(crate) use questions::{ServersQuestions, answer_body, cause};
pub(crate) use tool::{FoundTool, look_up, look_up_at, lookup_path, spec_of};

use crate::args::Global;
use crate::failure::CliError;

/// The server that `--server` or `TOOLCRIB_SERVER` names, if one does.
pub(crate) fn named(global: &Global) -> Result<Option<Backend>, CliError> {
    let Some(address) = address(global)? else {
        return Ok(None);
    };
    if global.workspace.is_some() {
        return Err(CliError::usage(
            "the workspace is the server's: `--workspace` and `--server` do not go together",
        ));
    }
    let home = home(global);
    let mut options = ClientOptions::new(address.clone());
    options.token = token(&address, home.as_deref())?;
    options.certificate = certificate(global).map_err(CliError::usage)?;
    options.own_certificate = home.and_then(|home| own_certificate(&address, &home));
    let client = Client::new(options).map_err(|error| failed(&error, &address))?;
    Backend::there(client).map(Some)
}

/// Whether a server is named; without a look at whether it is one.
pub(crate) fn is_named(global: &Global) -> bool {
    global.server.is_some() || (!global.no_server && variable("TOOLCRIB_SERVER").is_some())
}

fn address(global: &Global) -> Result<Option<Address>, CliError> {
    if let Some(text) = &global.server {
        return Ok(Some(text.parse().map_err(|error: ClientError| {
            CliError::usage(error.to_string())
        })?));
    }
    match variable("TOOLCRIB_SERVER") {
        Some(text) if !global.no_server => {
            let parsed: Result<Address, ClientError> = text.parse();
            let parsed =
                parsed.map_err(|error| CliError::usage(format!("TOOLCRIB_SERVER: {error}")))?;
            Ok(Some(parsed))
        }
        _ => Ok(None),
    }
}

/// The certificate that `--server-ca` or `TOOLCRIB_SERVER_CA` names, if one does.
fn certificate(global: &Global) -> Result<Option<Vec<u8>>, String> {
    let named = global.server_ca.clone();
    let named = named.or_else(|| variable("TOOLCRIB_SERVER_CA").map(PathBuf::from));
    let Some(path) = named else { return Ok(None) };
    let pem = std::fs::read(&path).map_err(|error| {
        let path = path.display();
        format!("cannot read the server's certificate `{path}`: {error}")
    })?;
    Ok(Some(pem))
}

/// The certificate of a server of this home, as the home has it.
fn own_certificate(address: &Address, home: &std::path::Path) -> Option<Vec<u8>> {
    let server = of_this_home(address, home)?;
    std::fs::read(server.certificate?).ok()
}

/// The server of this home that listens at an address.
fn of_this_home(address: &Address, home: &std::path::Path) -> Option<RunningServer> {
    let url = address.to_string();
    let mut live = Servers::of_home(home).live().into_iter();
    live.find(|server| server.url.as_deref() == Some(url.as_str()))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn home(global: &Global) -> Option<PathBuf> {
    global
        .home
        .clone()
        .or_else(|| Surroundings::of_process().home().ok())
}

/// The token to show a server: `TOOLCRIB_TOKEN`, or the home's own where the server is one of this home or a socket of this user.
fn token(address: &Address, home: Option<&std::path::Path>) -> Result<Option<String>, CliError> {
    if let Some(token) = variable("TOOLCRIB_TOKEN") {
        return Ok(Some(token));
    }
    let Some(home) = home else { return Ok(None) };
    let is_ours = match address {
        Address::Unix(path) => is_own(path),
        Address::Process => false,
        Address::Tcp { .. } => of_this_home(address, home).is_some(),
    };
    match is_ours {
        true => operator_token(home).map_err(|error| CliError::usage(error.to_string())),
        false => Ok(None),
    }
}

/// Whether a socket was made by this user, or by root: no one else gets the token.
fn is_own(path: &std::path::Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let owner = std::fs::metadata(path).map(|found| found.uid());
    owner.is_ok_and(|owner| owner == 0 || owner == rustix::process::geteuid().as_raw())
}

/// A runtime for one command.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_err(|error| {
        ToolError::new(ErrorCode::Internal, format!("cannot start: {error}")).into()
    })
}

/// Refuses what works on files: a server has no way to do it for someone else.
pub(crate) fn refuse(global: &Global, what: &str) -> Result<(), CliError> {
    if !is_named(global) {
        return Ok(());
    }
    let by = match global.server {
        Some(_) => "leave `--server` out",
        None => "pass `--no-server`, since TOOLCRIB_SERVER is set",
    };
    Err(CliError::usage(format!(
        "{what} works on the files of this machine, not through a server"
    ))
    .with_hint(format!("{by}, or type it on the machine of the server")))
}

/// What went wrong with a server that was named, with what to do about it.
pub(crate) fn failed(error: &ClientError, address: &Address) -> CliError {
    let hint = match error {
        ClientError::Unreachable { .. } => Some(match address {
            Address::Unix(path) => format!("start one with `toolcrib serve --socket {}`", path.display()),
            Address::Process => "`toolcrib doctor` says what is wrong with Toolcrib's home directory".to_owned(),
            Address::Tcp { .. } if address.is_this_machine() => {
                "start one with `toolcrib serve`; `toolcrib doctor` says which ones run".to_owned()
            }
            Address::Tcp { .. } => "is the address right, and `toolcrib serve` running there?".to_owned(),
        }),
        // The error itself says what to do about it.
        ClientError::Unusable { .. } => Some("`--server` names the address, `--server-ca` the certificate to trust".to_owned()),
        ClientError::Refused { status: 401, .. } => Some(match variable("TOOLCRIB_TOKEN") {
            Some(_) => "TOOLCRIB_TOKEN is not this server's; its token is in the file `token` of its home".to_owned(),
            None => "set TOOLCRIB_TOKEN to the server's token: it is in the file `token` of its home".to_owned(),
        }),
        ClientError::Refused { status: 403, error } if error.code() == ErrorCode::Forbidden => {
            Some("a client's token lists, searches and calls; the rest needs the operator's, in the file `token` of the server's home".to_owned())
        }
        ClientError::Lost { .. } => {
            Some("what was asked for may have been done: `toolcrib calls list` shows calls".to_owned())
        }
        ClientError::Strange { .. } => Some("is it a Toolcrib server, and of this version?".to_owned()),
        ClientError::Refused { .. } | ClientError::Usage(_) => None,
    };
    let failed = CliError::from(ToolError::from(error.clone()));
    match hint {
        Some(hint) => failed.with_hint(hint),
        None => failed,
    }
}
