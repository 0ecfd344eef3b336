//! What a server has besides tools: its prompts and resources, listed, got and read. Entries are kept as they came; an odd one is left out.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::error::ClientError;
use super::request_table::{Ask, GivingUp, Talk, Wait};
use crate::weight;

/// The most entries of one list, the most pages, and how long one entry may be.
const MAX_ENTRIES: usize = 1000;
const MAX_PAGES: usize = 100;
const MAX_ENTRY: usize = 16 * 1024;
/// The longest name or URI.
const MAX_KEY: usize = 2048;

/// What a server has besides tools.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Material {
    /// `prompts/list`.
    pub prompts: Vec<Map<String, Value>>,
    /// `resources/list`.
    pub resources: Vec<Map<String, Value>>,
    /// `resources/templates/list`.
    pub templates: Vec<Map<String, Value>>,
}

/// A kind of list: the method, where its entries are, and what each is known by.
struct Kind {
    method: &'static str,
    entries: &'static str,
    key: &'static str,
}

const PROMPTS: Kind = Kind {
    method: "prompts/list",
    entries: "prompts",
    key: "name",
};
const RESOURCES: Kind = Kind {
    method: "resources/list",
    entries: "resources",
    key: "uri",
};
const TEMPLATES: Kind = Kind {
    method: "resources/templates/list",
    entries: "resourceTemplates",
    key: "uriTemplate",
};

pub(super) async fn list(talk: &Arc<Talk>) -> Result<Material, ClientError> {
    let declared = talk.server().capabilities;
    let mut material = Material::default();
    if declared["prompts"].is_object() {
        material.prompts = pages(talk, &PROMPTS).await?;
    }
    if declared["resources"].is_object() {
        material.resources = pages(talk, &RESOURCES).await?;
        material.templates = pages(talk, &TEMPLATES).await?;
    }
    Ok(material)
}

/// All entries of a list. A server that does not know the method has none.
async fn pages(talk: &Arc<Talk>, kind: &Kind) -> Result<Vec<Map<String, Value>>, ClientError> {
    let (mut all, mut keys) = (Vec::new(), HashSet::new());
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let mut params = Map::new();
        if let Some(cursor) = &cursor {
            params.insert("cursor".to_owned(), json!(cursor));
        }
        let wait = Wait::within(talk.options.connect_timeout, GivingUp::Told);
        let asked = talk.ask(Ask::new(kind.method, talk.with_meta(params), wait));
        let mut page = match asked.await {
            Ok(page) => object(&page)?,
            Err(ClientError::Rpc(_)) => break,
            Err(error) => return Err(error),
        };
        let Some(Value::Array(entries)) = page.remove(kind.entries) else {
            return Err(ClientError::protocol(format!(
                "its answer to `{}` has no list",
                kind.method
            )));
        };
        for entry in entries {
            let Value::Object(entry) = entry else {
                continue;
            };
            let key = entry
                .get(kind.key)
                .and_then(Value::as_str)
                .unwrap_or_default();
            let is_odd = key.is_empty() || key.len() > MAX_KEY || key.chars().any(char::is_control);
            let is_long = serde_json::to_string(&entry).is_ok_and(|text| text.len() > MAX_ENTRY);
            if !is_odd && !is_long && keys.insert(key.to_owned()) {
                all.push(entry);
            }
            if all.len() >= MAX_ENTRIES {
                return Ok(all);
            }
        }
        cursor = page
            .get("nextCursor")
            .and_then(Value::as_str)
            .map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    Ok(all)
}

pub(super) async fn get_prompt(
    talk: &Arc<Talk>,
    name: &str,
    arguments: Map<String, Value>,
    patience: Duration,
) -> Result<Map<String, Value>, ClientError> {
    let params = Map::from_iter([
        ("name".to_owned(), json!(name)),
        ("arguments".to_owned(), Value::Object(arguments)),
    ]);
    let result = one(talk, "prompts/get", name, params, patience).await?;
    match result.get("messages") {
        Some(Value::Array(_)) => Ok(result),
        _ => Err(ClientError::protocol("its prompt has no messages")),
    }
}

pub(super) async fn read_resource(
    talk: &Arc<Talk>,
    uri: &str,
    patience: Duration,
) -> Result<Map<String, Value>, ClientError> {
    let params = Map::from_iter([("uri".to_owned(), json!(uri))]);
    let result = one(talk, "resources/read", uri, params, patience).await?;
    match result.get("contents") {
        Some(Value::Array(_)) => Ok(result),
        _ => Err(ClientError::protocol("its resource has no contents")),
    }
}

async fn one(
    talk: &Arc<Talk>,
    method: &'static str,
    name: &str,
    params: Map<String, Value>,
    patience: Duration,
) -> Result<Map<String, Value>, ClientError> {
    let wait = Wait::within(patience, GivingUp::Told);
    let ask = Ask {
        name: Some(name.to_owned()),
        ..Ask::new(method, talk.with_meta(params), wait)
    };
    let mut result = object(&talk.ask(ask).await?)?;
    match result.remove("resultType") {
        None => {}
        Some(Value::String(kind)) if kind == "complete" => {}
        Some(_) => {
            return Err(ClientError::protocol(format!(
                "it wants to know something before it answers `{method}`, which is not passed on"
            )));
        }
    }
    // Of this connection, and not of the answer.
    for own in ["ttlMs", "cacheScope", "_meta"] {
        result.remove(own);
    }
    Ok(result)
}

fn object(result: &RawValue) -> Result<Map<String, Value>, ClientError> {
    if weight::weight(result.get()) > weight::MAX_MESSAGE {
        return Err(ClientError::protocol(
            "an answer would take more than 64 MB of memory",
        ));
    }
    serde_json::from_str(result.get())
        .map_err(|error| ClientError::protocol(format!("an answer is not an object: {error}")))
}
