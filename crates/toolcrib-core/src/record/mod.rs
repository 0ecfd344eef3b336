//! Keeping account of calls: the [`Recorder`] trait and what it is given.
//!
//! Every call that enters the pipeline is recorded once, whatever became of it.

mod hooks;
pub mod replay;

pub(crate) use hooks::RecordHooks;
pub use hooks::RecordSubscription;

pub use crate::call::event::{MAX_STEPS, StepRecord};

use crate::poll::BoxFuture;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::model::JsonObject;
use crate::model::caller::Caller;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::exchange::Exchange;
use crate::model::ids::{CallId, ToolId};
use crate::model::names::{Slug, Version};
use crate::model::outcome::ApprovalTrail;

/// Takes the record of every call. Called on the hot path: hand the work on, do not wait.
pub trait Recorder: Send + Sync + 'static {
    /// Takes one record.
    fn record(&self, record: CallRecord);

    /// Takes note of a record that its maker goes on using; the pipeline calls this. By default a copy is recorded; a recorder that
    /// does not need one can avoid making it.
    fn note(&self, record: &CallRecord) {
        self.record(record.clone());
    }

    /// Refuses a call before anything of it is looked at: its record could not be kept. Asked for every call, so it must be cheap.
    fn ready(&self) -> Result<(), ToolError> {
        Ok(())
    }

    /// Resolves when everything recorded so far is written, or is known not to be: it survives the death of this process, if not a
    /// power failure. Never waits for longer than writing takes.
    fn written(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Waits until everything recorded so far is safe.
    fn flush(&self) {}
}

/// Keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoRecord;

impl Recorder for NoRecord {
    fn record(&self, _record: CallRecord) {}

    fn note(&self, _record: &CallRecord) {}
}

/// The stored record of a call. Secrets are masked before this is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    /// The call.
    pub call_id: CallId,
    /// The tool's wire name, or what was asked for when there is none.
    pub tool: String,
    /// Its bundle, when it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<Slug>,
    /// Its slug, when it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// Its version, when it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Its id, when it is a tool of the store: its bundle may be renamed, and another tool get its name.
    #[serde(default, rename = "toolID", skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<ToolId>,
    /// Whether the tool itself ran, however that went; not of a call that was refused before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reached: bool,
    /// The caller.
    pub caller: Caller,
    /// The call around this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CallId>,
    /// When it arrived.
    pub start_time: Timestamp,
    /// When it ended.
    pub end_time: Timestamp,
    /// Waiting, in milliseconds.
    pub queue_time_ms: f64,
    /// The tool itself, in milliseconds.
    pub execution_time_ms: f64,
    /// End to end, in milliseconds.
    pub duration_ms: f64,
    /// Whether it went well.
    pub ok: bool,
    /// The error's code, if not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<ErrorCode>,
    /// The error's message, if not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// How approval went, if it was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalTrail>,
    /// Whether the output was cut.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// What left for other machines: whom it was for and how much it was, never what.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<Exchange>,
    /// The steps of its tool in the order in which they began, at most [`MAX_STEPS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepRecord>,
    /// Of a call that another program makes with its own tool: what its hook noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<HookNote>,
    /// The arguments, secrets masked, long texts shortened.
    pub parameters: JsonObject,
}

/// What the hook of another program noted about a call that the program makes with its own tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookNote {
    /// The program: `claude-code`, `codex`.
    pub client: String,
    /// What the program calls its tool.
    pub tool: String,
    /// What it was answered.
    pub answer: HookAnswer,
    /// Whether this is the last that is recorded of the call: it was refused, or the program reported its end. A record without it is
    /// replaced by a later one with its id.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub over: bool,
}

/// The answer to a program that asked about its own call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HookAnswer {
    /// It may make the call without asking.
    Allow,
    /// It has to ask its person.
    Ask,
    /// It may not make the call.
    Deny,
    /// Nothing: its own permissions apply.
    None,
}

impl HookAnswer {
    /// The word for it, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            HookAnswer::Allow => "allow",
            HookAnswer::Ask => "ask",
            HookAnswer::Deny => "deny",
            HookAnswer::None => "none",
        }
    }
}

impl CallRecord {
    /// A copy with other arguments; its own, which may be long, are not copied.
    #[must_use]
    pub fn with_parameters(&self, parameters: JsonObject) -> Self {
        CallRecord {
            call_id: self.call_id.clone(),
            tool: self.tool.clone(),
            bundle: self.bundle.clone(),
            slug: self.slug.clone(),
            version: self.version.clone(),
            tool_id: self.tool_id,
            reached: self.reached,
            caller: self.caller.clone(),
            parent: self.parent.clone(),
            start_time: self.start_time,
            end_time: self.end_time,
            queue_time_ms: self.queue_time_ms,
            execution_time_ms: self.execution_time_ms,
            duration_ms: self.duration_ms,
            ok: self.ok,
            code: self.code,
            message: self.message.clone(),
            approval: self.approval.clone(),
            truncated: self.truncated,
            network: self.network.clone(),
            steps: self.steps.clone(),
            hook: self.hook.clone(),
            parameters,
        }
    }
}
