//! `toolcrib grants` through a server.

use std::process::ExitCode;

use serde_json::{Value, json};
use toolcrib::ErrorCode;
use toolcrib::approval::grants::{Grant, Scope, Shape};
use toolcrib_server::client::{Ask, ClientError};

use super::super::Done;
use super::super::grants as here;
use crate::args::{Global, GrantArgs, GrantsCommand};
use crate::failure::CliError;
use crate::output::Output;
use crate::prompt::{session, whoami};
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
        GrantsCommand::Add(args) => return add(args, &server()?, global, output),
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

fn add(args: &GrantArgs, server: &Server, global: &Global, output: &Output) -> Done {
    let Some(tool) = remote::look_up(&args.tool, server)? else {
        // The server says why in its own words.
        server.get(&format!("/api/lookup?tool={}", Ask::encoded(&args.tool)))?;
        return Err(CliError::usage(format!("there is no tool `{}`", args.tool)));
    };
    let shape = here::shape_wanted(args, &tool.spec, global, output)?;
    let scope = here::scope_wanted(args);
    let lasting = args.expires.unwrap_or(scope.default_duration());
    let mut body = json!({
        "tool": args.tool,
        "shape": shape,
        "scope": scope,
        "expiresInMs": u64::try_from(lasting.as_millis()).unwrap_or(u64::MAX),
        // The calls of this command line, with and without a server.
        "caller": "cli",
        "by": whoami(),
    });
    if let Some(uses) = args.uses {
        body["maxUses"] = uses.into();
    }
    if let Some(reason) = args.reason.as_ref().filter(|reason| !reason.is_empty()) {
        body["reason"] = reason.clone().into();
    }
    if let (Scope::Session, Some(session)) = (scope, session()) {
        body["session"] = session.into();
    }
    let path = "/api/grants?simulate=true";
    let simulated = server.wait(server.client.post(path, &body))?;
    // With the defaults of what was not named.
    let shape = simulated.get("shape").cloned().unwrap_or_default();
    let shape: Shape = serde_json::from_value(shape).unwrap_or(shape_of(&body));
    let words = super::text(&simulated, "words");
    here::say_wanted(args, &tool.spec.name, &shape.to_string(), words, output);
    if !here::is_made(args, global, output)? {
        return Ok(ExitCode::from(ErrorCode::ApprovalDenied.exit_code()));
    }
    let made = server.wait(server.client.post("/api/grants", &body))?;
    let grant: Grant = serde_json::from_value(made).map_err(|error| {
        let server_at = server.client.address().to_string();
        let why = error.to_string();
        let error = ClientError::Strange {
            server: server_at,
            why,
        };
        remote::failed(&error, server.client.address())
    })?;
    here::say_made(&grant, output);
    Ok(ExitCode::SUCCESS)
}

/// The shape as it was asked for.
fn shape_of(body: &Value) -> Shape {
    serde_json::from_value(body["shape"].clone()).unwrap_or_default()
}
