//! `toolcrib clients`: tokens for programs that call tools over HTTP.
//!
//! They are files of the home: no server needs to run, and one that does sees every change at the next request.

use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use toolcrib::model::text;
use toolcrib::{Crib, ToolError};
use toolcrib_server::auth::{Client, Clients, ClientsError, remove_clients};

use super::{Done, open};
use crate::args::{ClientsCommand, Global};
use crate::duration;
use crate::failure::CliError;
use crate::output::Output;

pub(super) fn clients(command: &ClientsCommand, global: &Global, output: &Output) -> Done {
    let crib = open(global, output)?;
    let clients = Clients::of_home(crib.home());
    match command {
        ClientsCommand::Add { name, elicitation } => add(name, *elicitation, &clients, output)?,
        ClientsCommand::List => list(&clients, output)?,
        ClientsCommand::Rm { names } => remove(names, &crib, &clients, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

impl From<ClientsError> for CliError {
    fn from(error: ClientsError) -> Self {
        let hint = match &error {
            ClientsError::Name(_) => None,
            ClientsError::Exists(name) => Some(format!("`toolcrib clients rm {name}` removes it")),
            ClientsError::Unknown(_) | ClientsError::TooMany => {
                Some("`toolcrib clients list` shows those there are".to_owned())
            }
            ClientsError::Damaged(_) | ClientsError::Storage(_) | ClientsError::Random(_) => {
                Some("`toolcrib doctor` says where the files are".to_owned())
            }
        };
        let error = CliError::from(ToolError::from(error));
        match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

/// The token alone goes to stdout, so that a shell can keep it.
fn add(name: &str, elicitation: bool, clients: &Clients, output: &Output) -> Result<(), CliError> {
    let made = clients.add_with(name, elicitation)?;
    if output.json() {
        output.document(&made);
        return Ok(());
    }
    output.line(&made.token);
    output.say(&format!(
        "this is the token of `{name}`, told this once: send it as `Authorization: Bearer TOKEN`; `toolcrib clients rm {name}` takes it back"
    ));
    Ok(())
}

fn list(clients: &Clients, output: &Output) -> Result<(), CliError> {
    let clients = clients.list()?;
    if output.json() {
        output.document(&clients);
        return Ok(());
    }
    if clients.is_empty() && !output.plain() {
        output.say("there are no clients; `toolcrib clients add NAME` makes one");
        return Ok(());
    }
    let rows: Vec<Vec<String>> = clients
        .iter()
        .map(|client| vec![client.name.clone(), asked(client), made(client, output)])
        .collect();
    output.table(&["NAME", "ELICITATION", "MADE"], &rows);
    Ok(())
}

fn asked(client: &Client) -> String {
    if client.elicitation { "yes" } else { "no" }.to_owned()
}

fn made(client: &Client, output: &Output) -> String {
    if output.plain() {
        return client.created_at.to_string();
    }
    let age = Timestamp::now().duration_since(client.created_at);
    let age = Duration::try_from(age).unwrap_or_default();
    format!("{} ago", duration::in_words(age))
}

fn remove(
    names: &[String],
    crib: &Crib,
    clients: &Clients,
    output: &Output,
) -> Result<(), CliError> {
    match remove_clients(crib, clients, names) {
        Ok(()) => {}
        Err(ClientsError::Unknown(name)) => return Err(no_such(name, clients)),
        Err(error) => return Err(error.into()),
    }
    if output.json() {
        output.document(&json!({ "removed": names }));
        return Ok(());
    }
    for name in names {
        output.say(&format!(
            "removed `{name}`; its token is refused from now on, and its grants and questions are gone"
        ));
    }
    Ok(())
}

/// What is said of a name that is to be removed and is none.
fn no_such(name: String, clients: &Clients) -> CliError {
    let known = clients.list().unwrap_or_default();
    let near = text::nearest(&name, known.iter().map(|client| client.name.as_str()));
    let hint = match near.as_slice() {
        [] if known.is_empty() => "there are no clients".to_owned(),
        [] => "`toolcrib clients list` shows those there are".to_owned(),
        near => format!("did you mean `{}`?", near.join("`, `")),
    };
    CliError::from(ToolError::from(ClientsError::Unknown(name))).with_hint(hint)
}
