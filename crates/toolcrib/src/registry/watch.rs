//! Calls as others see them: what runs now, how a call stands, and a hook for everything that happens.

use std::sync::Arc;

use jiff::Timestamp;

use crate::model::call::Caller;
use crate::model::ids::CallId;
use crate::model::outcome::Outcome;

/// An outermost call that runs or waits.
#[derive(Debug, Clone)]
pub struct RunningCall {
    /// Its id.
    pub call_id: CallId,
    /// The tool's wire name, or what was asked for until it is found.
    pub tool: String,
    /// Who calls.
    pub caller: Caller,
    /// When it arrived.
    pub since: Timestamp,
    /// The question it waits for, if it waits for a person.
    pub approval: Option<String>,
}

/// Where a call stands.
#[derive(Debug, Clone)]
pub enum CallState {
    /// It runs or waits, in this process.
    Running(RunningCall),
    /// It runs in another process that shares the home.
    Elsewhere,
    /// It is over, and its outcome was kept. With whoever called.
    Done(Caller, Box<Outcome>),
    /// It was begun, and nobody knows how it ended: its process died.
    Lost,
}

/// Whoever wants to hear of events, for as long as this is kept.
#[derive(Clone)]
pub struct EventSubscription(
    #[expect(dead_code, reason = "kept, not read")] Arc<dyn std::any::Any + Send + Sync>,
);

impl std::fmt::Debug for EventSubscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EventSubscription")
    }
}
