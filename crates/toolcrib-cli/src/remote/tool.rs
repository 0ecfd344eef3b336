//! A tool of a server, as far as a call needs to know it.

use serde_json::Value;
use toolcrib::model::text;
use toolcrib::spec::Role;
use toolcrib::{Schema, ToolSpec, WireName};
use toolcrib_server::client::{Ask, ClientError};

use super::Server;
use crate::failure::CliError;

/// A tool of a server.
pub(crate) struct ServersTool {
    pub(crate) spec: ToolSpec,
    pub(crate) is_stored: bool,
}

/// The tool that a word names, to read arguments by its schema; `None` if there is none, which whatever is done with it will say.
pub(crate) fn look_up(tool: &str, server: &Server) -> Result<Option<ServersTool>, CliError> {
    let path = format!("/api/lookup?tool={}", Ask::encoded(tool));
    let found = server.wait_raw(server.client.get(&path));
    let document = match found {
        Ok(document) => document,
        Err(ClientError::Refused {
            status: 400 | 404 | 409,
            ..
        }) => return Ok(None),
        Err(error) => return Err(super::failed(&error, server.client.address())),
    };
    Ok(spec_of(&document).map(|spec| ServersTool {
        spec,
        is_stored: document.get("source").and_then(Value::as_str) == Some("store"),
    }))
}

/// What a tool takes; `None` if there is no such tool.
pub(crate) fn spec_named(tool: &str, server: &Server) -> Result<Option<ToolSpec>, CliError> {
    Ok(look_up(tool, server)?.map(|tool| tool.spec))
}

/// What a document says of a tool's parameters.
pub(crate) fn spec_of(document: &Value) -> Option<ToolSpec> {
    let name = document.get("name")?.as_str()?;
    let schema = Schema::stored(document.get("inputSchema")?.clone()).ok()?;
    let mut spec = ToolSpec::new(WireName::parse(name).ok()?, text::shorten(name, 64), schema);
    let synonyms = document.get("synonyms").and_then(Value::as_object);
    for (accepted, published) in synonyms.into_iter().flatten() {
        if let Some(published) = published.as_str() {
            spec.synonyms
                .push((accepted.as_str().into(), published.into()));
        }
    }
    let roles = document.get("roles").and_then(Value::as_object);
    for (parameter, word) in roles.into_iter().flatten() {
        let role = match word.as_str() {
            Some("shell") => Role::Shell,
            Some("path") => Role::WritePath,
            Some("url") => Role::Url,
            // What a newer server says is left to `--shape`.
            _ => continue,
        };
        spec.roles.push((parameter.clone(), role));
    }
    if let Some(Value::Array(examples)) = document.get("examples") {
        spec.examples.clone_from(examples);
    }
    Some(spec)
}
