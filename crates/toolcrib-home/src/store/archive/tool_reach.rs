//! What a tool of an archive would run and reach: [`ToolReach`], for the person who decides on the import.

use serde_json::{Value, json};

use crate::definition::{self, Definition};
use crate::manifest::fields::HTTP_FIELDS;
use crate::manifest::{self, HttpDefinition};
use crate::model::JsonObject;
use crate::model::names::WireName;
use crate::sandbox::Level;
use crate::spec::manifest::{ToolKind, ToolManifest};

/// The programs and hosts that a tool would use, whether or not it could: the check reports its problems. Texts are those of the
/// definition, placeholders and all; values of secrets are not known here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolReach {
    /// What it runs or sends, in the order of its definition, each text with what it is.
    pub runs: Vec<(String, String)>,
    /// Where requests go, as `allowedHosts` would name it.
    pub hosts: Vec<String>,
    /// The secrets and the hosts that receive them.
    pub tells: Vec<SecretUse>,
    /// Other tools that it calls.
    pub tools: Vec<String>,
}

/// A secret, and the hosts that receive it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretUse {
    /// The secret's name.
    pub secret: String,
    /// The host, as `allowedHosts` would name it.
    pub host: String,
}

impl ToolReach {
    /// What a tool would run and reach.
    pub fn of(tool: &ToolManifest) -> ToolReach {
        match tool.kind {
            ToolKind::Http => http(tool),
            ToolKind::Command | ToolKind::Alias => command(tool),
            ToolKind::Go | ToolKind::Rust => {
                let name = text_of(&tool.implementation, &["goFunc", "function"]);
                let runs = match name {
                    Some(name) => (
                        "runs",
                        format!("the function {name} of the program that has it, if it has"),
                    ),
                    None => ("runs", "a function that it does not name".to_owned()),
                };
                ToolReach::only(runs)
            }
            ToolKind::Mcp => {
                let name =
                    text_of(&tool.implementation, &["tool"]).unwrap_or_else(|| tool.slug.as_str());
                let server =
                    text_of(&tool.implementation, &["server"]).unwrap_or("it does not say which");
                ToolReach::only((
                    "asks",
                    format!("the MCP server {server} for its tool {name}"),
                ))
            }
        }
    }

    fn only((what, text): (&str, String)) -> ToolReach {
        ToolReach {
            runs: vec![(what.to_owned(), text)],
            ..ToolReach::default()
        }
    }
}

fn text_of<'a>(implementation: &'a Value, names: &[&str]) -> Option<&'a str> {
    names
        .iter()
        .find_map(|name| implementation.get(name)?.as_str())
}

fn http(tool: &ToolManifest) -> ToolReach {
    let mut known = tool.clone();
    // What this version does not know is kept and does nothing; a file of a workspace would be refused for it.
    known
        .extra
        .retain(|name, _| HTTP_FIELDS.iter().any(|field| field.path == name));
    let reading = manifest::read_record(&super::export::json(&known), tool.slug.as_str());
    let mut reach = ToolReach::default();
    match &reading.definition {
        Some(definition) => reach.sends(definition),
        None => reach.raw(tool),
    }
    reach
}

fn command(tool: &ToolManifest) -> ToolReach {
    let name = match &tool.name {
        Some(name) => name.clone(),
        None => WireName::derive(&tool.slug),
    };
    let mut file = JsonObject::new();
    file.insert("name".to_owned(), json!(name));
    file.insert("version".to_owned(), json!(tool.version));
    if !tool.description.is_empty() {
        file.insert("description".to_owned(), json!(tool.description));
    }
    if tool.kind == ToolKind::Alias {
        file.insert("type".to_owned(), json!("alias"));
    }
    file.extend(tool.implementation.as_object().cloned().unwrap_or_default());
    // JSON is YAML.
    let reading = definition::read_record(&super::export::json(&file), name.as_str());
    let mut reach = ToolReach::default();
    match &reading.definition {
        Some(definition) => reach.programs(definition, &tool.implementation),
        None => reach.raw(tool),
    }
    reach
}

impl ToolReach {
    fn sends(&mut self, definition: &HttpDefinition) {
        self.runs = manifest::requests(definition);
        self.hosts = distinct(
            definition
                .targets()
                .into_iter()
                .map(|target| target.entry()),
        );
        self.tells = distinct(
            definition
                .told()
                .into_iter()
                .map(|(name, target)| SecretUse {
                    secret: name.as_str().to_owned(),
                    host: target.entry(),
                }),
        );
    }

    fn programs(&mut self, definition: &Definition, implementation: &Value) {
        self.runs = definition::programs(definition);
        if let Some(level) = definition.security.isolation {
            let wall = match level {
                Level::None => "none: it runs outside the sandbox".to_owned(),
                level => level.to_string(),
            };
            self.runs.push(("wall".to_owned(), wall));
        }
        let permissions = implementation.pointer("/security/required-permissions");
        for permission in permissions.and_then(Value::as_array).into_iter().flatten() {
            let Some(permission) = permission.as_str() else {
                continue;
            };
            self.runs.push(("may".to_owned(), permission.to_owned()));
            if let Some(host) = permission.strip_prefix("network:external:") {
                self.hosts.push(host.to_owned());
            }
        }
        self.hosts = distinct(std::mem::take(&mut self.hosts).into_iter());
        self.tools = distinct(definition.uses().into_iter().map(str::to_owned));
    }

    /// What cannot be read is shown as it is.
    fn raw(&mut self, tool: &ToolManifest) {
        let text = serde_json::to_string_pretty(&tool.implementation).unwrap_or_default();
        self.runs.push(("unread".to_owned(), text));
    }
}

fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for item in items {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    distinct
}
