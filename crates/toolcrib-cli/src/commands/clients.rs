//! `toolcrib clients`: tokens for programs that call tools over HTTP.
//!
//! They are files of the home: no server needs to run, and one that does sees every change at the next request.

use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use toolcrib::model::text;
use toolcrib::{ErrorCode, ToolError};
use toolcrib_server::auth::{Client, ClientsError, NewClient};
use toolcrib_server::client::Ask;

use super::Done;
use crate::args::ClientsCommand;
use crate::duration;
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::Backend;

pub(super) fn clients(command: &ClientsCommand, backend: &Backend, output: &Output) -> Done {
    match command {
        ClientsCommand::Add { name, elicitation } => add(name, *elicitation, backend, output)?,
        ClientsCommand::List => list(&known(backend)?, output),
        ClientsCommand::Rm { names } => remove(names, backend, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

impl From<ClientsError> for CliError {
    fn from(error: ClientsError) -> Self {
        let hint = match &error {
            ClientsError::Name(_) => None,
            ClientsError::Exists(name) => Some(format!("`toolcrib clients rm {name}` removes it")),
            ClientsError::Unknown(_) | ClientsError::TooMany => {
                Some("`toolcrib clients list` lists them".to_owned())
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

fn known(backend: &Backend) -> Result<Vec<Client>, CliError> {
    backend.rows("/api/clients?pageSize=500", "clients")
}

/// The token alone goes to stdout, so that a shell can keep it.
fn add(name: &str, elicitation: bool, backend: &Backend, output: &Output) -> Result<(), CliError> {
    let mut body = json!({"name": name});
    // A server of an earlier version does not know it.
    if elicitation {
        body["elicitation"] = true.into();
    }
    let made = backend.client.json_as(Ask::post("/api/clients", &body));
    let made: NewClient = backend.wait_raw(made).map_err(|error| {
        let hint = match error.code() {
            Some(ErrorCode::Conflict)
                if !known(backend)
                    .unwrap_or_default()
                    .iter()
                    .any(|one| one.name == name) =>
            {
                "`toolcrib clients list` lists them".to_owned()
            }
            Some(ErrorCode::Conflict) => format!("`toolcrib clients rm {name}` removes it"),
            Some(ErrorCode::StorageError) => {
                "`toolcrib doctor` says where the files are".to_owned()
            }
            _ => return backend.failed(&error),
        };
        backend.failed(&error).with_hint(hint)
    })?;
    if output.json() {
        output.document(&made);
        return Ok(());
    }
    output.line(&made.token);
    output.say(&format!(
        "token for `{name}` (shown once): send it as `Authorization: Bearer TOKEN`; `toolcrib clients rm {name}` takes it back"
    ));
    Ok(())
}

fn list(clients: &[Client], output: &Output) {
    if output.json() {
        return output.document(&clients);
    }
    if clients.is_empty() && !output.plain() {
        return output.say("there are no clients; `toolcrib clients add NAME` makes one");
    }
    let rows: Vec<Vec<String>> = clients
        .iter()
        .map(|client| vec![client.name.clone(), asked(client), made(client, output)])
        .collect();
    output.table(&["NAME", "ELICITATION", "MADE"], &rows);
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

fn remove(names: &[String], backend: &Backend, output: &Output) -> Result<(), CliError> {
    // All or none, as far as that can be known: a typing error should not leave half of it done.
    let known = known(backend)?;
    let is_unknown = |name: &&String| !known.iter().any(|client| client.name == **name);
    if let Some(name) = names.iter().find(is_unknown) {
        return Err(no_such(name, &known));
    }
    for name in names {
        let path = format!("/api/clients/{}", Ask::encoded(name));
        backend.wait(backend.client.delete(&path))?;
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

/// The error for a name that is to be removed and that no client has.
fn no_such(name: &str, known: &[Client]) -> CliError {
    let near = text::nearest(name, known.iter().map(|client| client.name.as_str()));
    let hint = match near.as_slice() {
        [] if known.is_empty() => "there are no clients".to_owned(),
        [] => "`toolcrib clients list` lists them".to_owned(),
        near => format!("did you mean `{}`?", near.join("`, `")),
    };
    CliError::from(ClientsError::Unknown(name.to_owned())).with_hint(hint)
}
