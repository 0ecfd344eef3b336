//! A tool of a server, as far as a call needs to know it.

use serde_json::Value;
use toolcrib::model::text;
use toolcrib::spec::Role;
use toolcrib::{Schema, ToolSpec, WireName};
use toolcrib_server::client::{Ask, Client, ClientError};

use crate::failure::CliError;
use crate::remote::Backend;

/// A tool that was looked up.
pub(crate) struct FoundTool {
    pub(crate) spec: ToolSpec,
    pub(crate) is_stored: bool,
    /// The upstream server that it is a tool of.
    pub(crate) server: Option<String>,
}

/// The tool that a word names, to read arguments by its schema.
pub(crate) fn look_up(tool: &str, backend: &Backend) -> Result<FoundTool, CliError> {
    let found = backend.wait_raw(look_up_at(tool, &backend.client));
    found.map_err(|error| backend.failed(&error))
}

/// The longest word that a server looks up.
const MAX_WORD: usize = 512;

/// Where a tool is looked up. Words that a server does not look up name no tool, which its list says.
pub(crate) fn lookup_path(tool: &str) -> String {
    let route = match (1..=MAX_WORD).contains(&tool.len()) {
        true => "lookup",
        false => "tools",
    };
    format!("/api/{route}?tool={}", Ask::encoded(tool))
}

/// Looks a tool up; the error is as it came.
pub(crate) async fn look_up_at(tool: &str, client: &Client) -> Result<FoundTool, ClientError> {
    let document = client.get(&lookup_path(tool)).await?;
    let mut spec = spec_of(&document).ok_or_else(|| ClientError::Strange {
        server: client.address().to_string(),
        why: "the schema of the tool cannot be read".to_owned(),
    })?;
    let text = |key: &str| document.get(key).and_then(Value::as_str);
    let source = text("source");
    spec.pinned = source == Some("upstream");
    Ok(FoundTool {
        spec,
        is_stored: source == Some("store"),
        server: text("bundle")
            .filter(|_| source == Some("upstream"))
            .map(str::to_owned),
    })
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
    if let Some(effects) = document.get("effects") {
        spec.effects = serde_json::from_value(effects.clone()).unwrap_or_default();
    }
    let asks = document.pointer("/shown/asks").and_then(Value::as_str);
    spec.asks = asks.map(str::to_owned);
    if let Some(Value::Array(examples)) = document.get("examples") {
        spec.examples.clone_from(examples);
    }
    Some(spec)
}
