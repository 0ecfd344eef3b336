//! `toolcrib grants` through a server.

use std::process::ExitCode;

use toolcrib::approval::grants::Grant;
use toolcrib_server::client::{Ask, ClientError};

use super::super::Done;
use super::super::grants as here;
use crate::args::{Global, GrantsCommand};
use crate::failure::CliError;
use crate::output::Output;
use crate::remote::{self, Server};

pub(super) fn grants(
    command: &GrantsCommand,
    server: impl FnOnce() -> Result<Server, CliError>,
    global: &Global,
    output: &Output,
) -> Done {
    match command {
        GrantsCommand::List { all } => {
            let server = server()?;
            let in_force = list(&server, false)?;
            let ids = in_force.iter().map(|grant| grant.id.clone()).collect();
            let grants = match all {
                true => list(&server, true)?,
                false => in_force,
            };
            here::print_list(&grants, &ids, *all, None, output);
        }
        GrantsCommand::Show { id } => here::show(&find(id, &server()?)?, output),
        GrantsCommand::Revoke { ids } => revoke(ids, &server()?, output)?,
        GrantsCommand::Add(_) => remote::refuse(global, "`toolcrib grants add`")?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(server: &Server, all: bool) -> Result<Vec<Grant>, CliError> {
    let path = match all {
        true => "/api/grants?pageSize=500&all=true",
        false => "/api/grants?pageSize=500",
    };
    let rows = server.rows(path, "grants")?;
    Ok(rows
        .into_iter()
        .filter_map(|row| serde_json::from_value(row).ok())
        .collect())
}

fn find(id: &str, server: &Server) -> Result<Grant, CliError> {
    let path = format!("/api/grants/{}", Ask::encoded(id));
    let found: Result<Grant, ClientError> = server.wait_raw(server.client.get_as(&path));
    found.map_err(|error| {
        let is_missing = error.status() == Some(404);
        let failed = remote::failed(&error, server.client.address());
        match is_missing {
            true => failed
                .with_hint("`toolcrib grants list --all` shows them, also those that are over"),
            false => failed,
        }
    })
}

fn revoke(ids: &[String], server: &Server, output: &Output) -> Result<(), CliError> {
    // All or none: a typing error should not leave half of it done.
    let mut found = Vec::new();
    for id in ids {
        found.push(find(id, server)?);
    }
    found.dedup_by(|one, other| one.id == other.id);
    for grant in &found {
        let path = format!("/api/grants/{}", Ask::encoded(&grant.id));
        server.wait(server.client.delete(&path))?;
        if !output.json() {
            here::say_revoked(grant, output);
        }
    }
    if output.json() {
        output.document(&found);
    }
    Ok(())
}
