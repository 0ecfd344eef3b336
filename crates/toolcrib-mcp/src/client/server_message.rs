//! What a server says, once its shape is checked.

use serde_json::{Map, Value};

use crate::protocol::{Implementation, InputRequest};

/// A tool of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTool {
    /// Its name, as the server has it.
    pub name: String,
    /// The whole definition, as the server gave it.
    pub definition: Map<String, Value>,
}

/// The tools of a server.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Listing {
    /// In the server's order.
    pub tools: Vec<ListedTool>,
    /// Those left out: name (empty where there is none) and why.
    pub rejected: Vec<(String, String)>,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// So far.
    pub progress: f64,
    /// Of how much.
    pub total: Option<f64>,
    /// In words.
    pub message: Option<String>,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Called {
    /// The result: `content`, `structuredContent`, `isError`.
    Complete(Map<String, Value>),
    /// The server wants to know something first: make the call again with [`ToolCall::input`](super::ToolCall::input).
    InputRequired {
        /// The questions by their keys.
        requests: Vec<(String, InputRequest)>,
        /// To be given back.
        state: Option<String>,
    },
}

/// A server's notifications.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerNotice {
    /// Its tools changed.
    ToolsChanged,
    /// Its prompts or resources changed.
    MaterialChanged,
    /// A message for its log. Left out when no one takes what came before.
    Log {
        /// How severe.
        level: String,
        /// What.
        data: Value,
    },
    /// It is gone, and why. Said of pipes only, and not of a connection that its owner closed: over HTTP every request finds out by itself.
    Closed(String),
}

/// What a server is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ServerSide {
    /// What it calls itself.
    pub info: Option<Implementation>,
    /// What it says it can do.
    pub capabilities: Value,
    /// What it wants models to know.
    pub instructions: Option<String>,
}

impl ServerSide {
    /// The lists whose changes it declares to report, as a subscription names them.
    pub(super) fn reported(&self) -> Map<String, Value> {
        let lists = [
            ("tools", "toolsListChanged"),
            ("prompts", "promptsListChanged"),
            ("resources", "resourcesListChanged"),
        ];
        let reported = lists
            .into_iter()
            .filter(|(list, _)| self.capabilities[*list]["listChanged"] == Value::Bool(true));
        reported
            .map(|(_, name)| (name.to_owned(), true.into()))
            .collect()
    }
}
