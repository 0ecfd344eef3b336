//! `toolcrib clients` through a server.

use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use toolcrib::{ErrorCode, ToolError};
use toolcrib_server::client::Ask;

use super::super::Done;
use super::text;
use crate::args::ClientsCommand;
use crate::duration;
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::Server;

pub(super) fn clients(command: &ClientsCommand, server: &Server, output: &Output) -> Done {
    match command {
        ClientsCommand::Add { name, elicitation } => {
            let mut client = json!({"name": name});
            // A server of an earlier version does not know it.
            if *elicitation {
                client["elicitation"] = true.into();
            }
            let made = server.wait(server.client.post("/api/clients", &client))?;
            if output.json() {
                output.document(&made);
            } else {
                output.line(text(&made, "token"));
                output.say(&format!(
                    "this is the token of `{name}`, told this once: send it as `Authorization: Bearer TOKEN`; `toolcrib clients rm {name}` takes it back"
                ));
            }
        }
        ClientsCommand::List => list(&server.rows("/api/clients", "clients")?, output),
        ClientsCommand::Rm { names } => remove(names, server, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(rows: &[Value], output: &Output) {
    if output.json() {
        return output.document(&rows);
    }
    if rows.is_empty() && !output.plain() {
        return output.say("there are no clients; `toolcrib clients add NAME` makes one");
    }
    let made = |row: &Value| {
        let at = text(row, "createdAt");
        match at.parse::<Timestamp>() {
            Ok(then) if !output.plain() => {
                let age = Duration::try_from(Timestamp::now().duration_since(then));
                format!("{} ago", duration::in_words(age.unwrap_or_default()))
            }
            Ok(_) | Err(_) => at.to_owned(),
        }
    };
    let asked = |row: &Value| {
        let is_asked = row["elicitation"] == true;
        if is_asked { "yes" } else { "no" }.to_owned()
    };
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| vec![text(row, "name").to_owned(), asked(row), made(row)])
        .collect();
    output.table(&["NAME", "ELICITATION", "MADE"], &cells);
}

fn remove(names: &[String], server: &Server, output: &Output) -> Result<(), CliError> {
    // All or none, as far as that can be known: a typing error should not leave half of it done.
    let known = server.rows("/api/clients", "clients")?;
    let is_known = |name: &&String| known.iter().any(|row| text(row, "name") == name.as_str());
    if names.iter().all(|name| is_known(&name)) {
        for name in names {
            let path = format!("/api/clients/{}", Ask::encoded(name));
            server.wait(server.client.delete(&path))?;
        }
    } else {
        let missing: Vec<&str> = names
            .iter()
            .filter(|name| !is_known(name))
            .map(String::as_str)
            .collect();
        let message = format!(
            "there is no client {}; nothing was removed",
            toolcrib::model::text::or_list(&missing)
        );
        return Err(CliError::from(ToolError::new(ErrorCode::NotFound, message))
            .with_hint("`toolcrib clients list` shows those there are"));
    }
    if output.json() {
        output.document(&json!({ "removed": names }));
        return Ok(());
    }
    for name in names {
        output.say(&format!(
            "removed `{name}`; its token is refused from now on"
        ));
    }
    Ok(())
}
