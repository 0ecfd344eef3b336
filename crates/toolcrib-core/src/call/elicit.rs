//! Asking the one behind a call: [`Elicitor`].
//!
//! A tool of an upstream MCP server may want to know something while it runs. A front end that can ask the person behind a call says so with
//! [`CallRequest::elicitor`](super::request::CallRequest::elicitor); the tool finds it in its context. Calls inside the call ask the same one.
//! This is not an approval: what is answered goes to the tool, and decides nothing about whether it may run.

use std::fmt;
use std::sync::Arc;

use crate::poll::BoxFuture;
use serde_json::Value;

/// A question of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Elicitation {
    /// The bundle of the tool that asks.
    pub from: String,
    /// The parameters of MCP's `elicitation/create`: `message`, `requestedSchema` or `mode: url`. As the server wrote them, bounded in size.
    pub params: Value,
}

impl Elicitation {
    /// The question itself, for people.
    pub fn message(&self) -> &str {
        let message = self.params.get("message").and_then(Value::as_str);
        message.unwrap_or("it did not say what it wants to know")
    }
}

/// Why no one answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotAnswered(pub String);

/// Asks the person behind a call. It may wait as long as the call lasts; dropping the future takes the question back.
pub trait Elicitor: Send + Sync + 'static {
    /// Asks, and gives MCP's `ElicitResult` back: `{"action": "accept" | "decline" | "cancel", "content"?: {…}}`.
    fn elicit(&self, question: Elicitation) -> BoxFuture<'_, Result<Value, NotAnswered>>;
}

/// An elicitor as a call carries it.
#[derive(Clone)]
#[doc(hidden)]
pub struct Asks(pub(crate) Arc<dyn Elicitor>);

impl fmt::Debug for Asks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Asks")
    }
}
