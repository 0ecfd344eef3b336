//! Words that both ends share: versions, who is who, what each can do.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The newest version.
pub const MODERN: &str = "2026-07-28";
/// The newest version that begins with `initialize`.
pub const LEGACY: &str = "2025-11-25";
/// Every version that is spoken, newest first.
pub const VERSIONS: [&str; 5] = [MODERN, LEGACY, "2025-06-18", WITH_BATCHES, "2024-11-05"];
/// Every version that our server offers: all but [`WITH_BATCHES`].
pub const SERVED_VERSIONS: [&str; 4] = [MODERN, LEGACY, "2025-06-18", "2024-11-05"];
/// The one version whose servers must take batches, which ours does not. Such a client is offered the version before it; servers that speak
/// it are used as they are.
pub const WITH_BATCHES: &str = "2025-03-26";

/// Keys of `_meta` that the protocol has.
pub mod meta {
    /// The version of a request.
    pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    /// The client.
    pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    /// What the asking end can do.
    pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    /// The server.
    pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    /// The least severe messages of a log that a request wants.
    pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    /// Which subscription a notification belongs to.
    pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
}

/// Which of the two ways of talking a request uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Era {
    /// `initialize`, sessions, requests from server to client. With the version agreed on, one of [`VERSIONS`].
    Legacy(&'static str),
    /// Every request stands for itself.
    Modern,
}

impl Era {
    /// The version spoken.
    pub fn version(self) -> &'static str {
        match self {
            Era::Legacy(version) => version,
            Era::Modern => MODERN,
        }
    }

    /// Whether every request stands for itself.
    pub fn is_modern(self) -> bool {
        self == Era::Modern
    }
}

/// A program that speaks MCP.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Implementation {
    /// Its name, for programs.
    pub name: String,
    /// Its name, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its version.
    pub version: String,
    /// What it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where more is to be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// Pictures of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Icon {
    /// An `https:` or `data:` address.
    pub src: String,
    /// Its media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// Sizes that it is good for: `48x48`, `any`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<String>,
}

/// What a client can do.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientCapabilities {
    /// A person can be asked. An empty object means forms only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<Elicitation>,
    /// A model can be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Value>,
    /// It has directories to tell of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roots: Option<Value>,
    /// Extensions, and what this program does not know.
    #[serde(flatten)]
    pub others: BTreeMap<String, Value>,
}

/// How a person can be asked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Elicitation {
    /// With a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Value>,
    /// By an address to open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Value>,
}

impl ClientCapabilities {
    /// Whether a person can be asked with a form: `elicitation: {}` says so too.
    pub fn asks_with_forms(&self) -> bool {
        self.elicitation
            .as_ref()
            .is_some_and(|how| how.form.is_some() || how.url.is_none())
    }
}

/// The answers of a client that was asked for input, given with the request made again (since 2026-07-28).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Input {
    /// By the keys of the questions.
    pub responses: Map<String, Value>,
    /// What the server gave along with the questions.
    pub state: Option<String>,
}

/// Something a server wants to know before it can answer (since 2026-07-28): `elicitation/create`, `sampling/createMessage` or `roots/list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputRequest {
    /// The question.
    pub method: String,
    /// With what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
}
