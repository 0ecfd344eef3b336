//! What an owner decides: how a client presents itself, what it bears, how a call is made.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::server_message::Progress;
use crate::protocol::{ClientCapabilities, Era, Implementation, Input};
use crate::rpc::RpcError;

/// How a client presents itself and what it bears.
#[derive(Clone)]
pub struct ClientOptions {
    /// The client's name and version.
    pub info: Implementation,
    /// What can be done for the server.
    pub capabilities: ClientCapabilities,
    /// Which era to begin with; `None` finds out. Worth keeping for a server that is known: finding out costs a legacy server's owner up
    /// to a second or two.
    pub era: Option<Era>,
    /// How long the beginning may take, and a listing.
    pub connect_timeout: Duration,
    /// The longest message that is taken.
    pub max_message: usize,
    /// The most tools that are taken.
    pub max_tools: usize,
    /// Answers what a legacy server asks; `None` refuses all.
    pub asked: Option<Arc<dyn ServerRequests>>,
    /// Whether fields that an accepted form leaves out get the defaults that the form has for them.
    pub form_defaults: bool,
}

impl ClientOptions {
    /// Someone who finds out the era, can do nothing for a server, and bears 16 MB a message and 10,000 tools.
    pub fn new(info: Implementation) -> Self {
        ClientOptions {
            info,
            capabilities: ClientCapabilities::default(),
            era: None,
            connect_timeout: Duration::from_secs(30),
            max_message: 16 * 1024 * 1024,
            max_tools: 10_000,
            asked: None,
            form_defaults: false,
        }
    }
}

/// Answers a server's requests (up to 2025-11-25): `elicitation/create`, `sampling/createMessage`, `roots/list`, as far as
/// [`ClientOptions::capabilities`] declares them. Undeclared requests are refused before they get here.
pub trait ServerRequests: Send + Sync {
    /// Answers one. `call` is the id that the tool call it came with was given by [`CallOptions::key`], where that is known: HTTP shows
    /// it, pipes do not. Dropped when the server takes the question back or goes away.
    fn asked(
        &self,
        method: String,
        params: Value,
        call: Option<u64>,
    ) -> BoxFuture<'_, Result<Value, RpcError>>;
}

/// A call of a tool.
#[derive(Debug, Clone, Default)]
pub struct ToolCall {
    /// The tool, as the server names it.
    pub name: String,
    /// Its arguments.
    pub arguments: Map<String, Value>,
    /// Answers to what an earlier call wanted to know.
    pub input: Option<Input>,
}

/// How a call is made.
#[derive(Debug, Clone)]
pub struct CallOptions {
    /// Chosen by the caller; passed to [`ServerRequests`].
    pub key: u64,
    /// How long to wait since the server last sent something for this call (progress included).
    pub idle_timeout: Duration,
    /// How long to wait in all.
    pub timeout: Duration,
    /// Takes the call back: the server is notified. Dropping the call does the same.
    pub cancel: CancellationToken,
    /// Told how far it is. What does not fit into the channel is left out.
    pub progress: Option<mpsc::Sender<Progress>>,
}
