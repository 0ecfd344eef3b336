//! The way to call tools: what a [`Registry`] does besides knowing them.

mod builder;
mod handle;
mod watch;

use std::sync::Arc;

pub use builder::RegistryBuilder;
pub use handle::CallHandle;
pub use watch::{CallState, EventSubscription, RunningCall};

pub use crate::catalogue::*;

use crate::approval::grants::{Grant, GrantRequest, Offer, Subject};
use crate::approval::{ApprovalRequest, ApprovalResponse, Approver};
use crate::call::request::CallRequest;
use crate::model::JsonObject;
use crate::model::caller::Caller;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::ids::CallId;
use crate::model::outcome::Outcome;
use crate::model::sandbox_plan::SandboxPlan;
use crate::pipeline::{self, ElsewhereCall, ElsewhereEnd, Plan, Ruling};
use crate::record::{CallRecord, RecordSubscription};
use crate::wire::{DefinitionOptions, Definitions, Provider, definitions};
use crate::workspace::Workspace;

impl Default for Registry {
    fn default() -> Self {
        Registry::new()
    }
}

impl Registry {
    /// An empty registry with plain defaults: the standard rules, no records, no workspace, and no one
    /// to ask, so that calls which need approval are refused.
    pub fn new() -> Self {
        Registry::builder().build()
    }

    /// Sets up a registry with rules, an approver, a recorder, a workspace or limits.
    pub fn builder() -> RegistryBuilder {
        RegistryBuilder::default()
    }

    /// Calls a tool. There is always an outcome; errors, panics and timeouts are outcomes too.
    ///
    /// Needs a Tokio runtime with time enabled. Dropping the future cancels the call, which is
    /// recorded as cancelled.
    pub async fn execute(&self, request: CallRequest) -> Outcome {
        pipeline::run(&self.0, request).await
    }

    /// Decides calls that need approval.
    pub fn approver(&self) -> &Arc<dyn Approver> {
        &self.0.policy.approver
    }

    /// Starts a call in the background and returns a handle to watch, cancel and await it.
    ///
    /// # Panics
    ///
    /// Outside a Tokio runtime.
    pub fn execute_async(&self, request: CallRequest) -> CallHandle {
        CallHandle::spawn(self.clone(), request)
    }

    /// Says what a call would do, without doing it.
    pub fn plan(&self, request: CallRequest) -> Result<Plan, ToolError> {
        pipeline::plan(&self.0, request)
    }

    /// Judges a call that another program is about to make with its own tool, by the rules and grants that hold for calls here, and
    /// records it.
    ///
    /// Needs a Tokio runtime with time enabled.
    pub async fn judge_elsewhere(&self, call: ElsewhereCall) -> Ruling {
        pipeline::judge_elsewhere(&self.0, call).await
    }

    /// Records how a call ended that another program made; `judged` is its record so far.
    pub fn over_elsewhere(&self, judged: CallRecord, end: ElsewhereEnd) {
        pipeline::over_elsewhere(&self.0, judged, end);
    }

    /// What could be granted along with such a call, from narrow to wide; the error says why nothing can.
    pub fn offers(&self, request: CallRequest) -> Result<Vec<Offer>, ToolError> {
        pipeline::offers_for(&self.0, request)
    }

    /// Checks an answer to a question about one of these tools: edited arguments by schema, rules and the tool itself, a grant by
    /// what may be granted. For `ApprovalQueue::answer`.
    ///
    /// The answerer sees secrets masked; a mask that stayed where it was counts as unchanged. A tool that is not registered
    /// here passes: the call checks everything again where it runs.
    pub fn check_answer(
        &self,
        request: &ApprovalRequest,
        response: &ApprovalResponse,
    ) -> Result<(), ToolError> {
        pipeline::check_answer(&self.0, request, response)
            .map_err(|error| error.masked(&self.0.policy.masker()))
    }

    /// Makes a grant for calls of a tool by `caller`, without a call to make it for.
    #[doc(hidden)]
    pub fn grant(
        &self,
        tool: &str,
        wanted: &GrantRequest,
        caller: &Caller,
        by: &str,
    ) -> Result<Grant, ToolError> {
        let entry = self.find(tool)?;
        let policy = &self.0.policy;
        let Some(grants) = &policy.grants else {
            let message = "no grants are kept here";
            return Err(ToolError::new(ErrorCode::StorageError, message));
        };
        let (args, call) = (JsonObject::new(), CallId::generate());
        let example = wanted.shape.example();
        let commands = pipeline::look(&entry, &example, &self.0)?.commands;
        let bound = pipeline::Bound::look(&entry, &example, commands, &self.0)?;
        let subject = Subject {
            bound: &bound.files,
            ..pipeline::subject_of(&self.0, &entry, &args, caller, &policy.session, &call)
        };
        let shape = serde_json::to_value(&wanted.shape).unwrap_or_default();
        if policy.masker().finds_in(&shape) {
            let message = "the shape has a secret in it, which a grant, being a file, cannot hold; write a `*` in its place";
            return Err(ToolError::new(ErrorCode::InvalidArguments, message));
        }
        grants.keep(wanted, &subject, by)
    }

    /// The definitions of every tool on offer, in a provider's format (S3: `GetDefinitions`).
    pub fn definitions(&self, provider: Provider, options: &DefinitionOptions) -> Definitions {
        definitions(self.list().iter().map(AsRef::as_ref), provider, options)
    }

    /// The workspace, if there is one.
    pub fn workspace(&self) -> Option<&Arc<Workspace>> {
        self.0.policy.workspace.as_ref()
    }

    /// What holds a tool's programs back in a call with these arguments, and what backs that on this machine; `None` for a tool
    /// that runs none.
    pub fn sandbox_plan(&self, entry: &Entry, args: &JsonObject) -> Option<SandboxPlan> {
        let workspace = self.workspace().map(AsRef::as_ref);
        entry.tool().sandbox_plan(args, workspace)
    }

    /// Calls a function with the record of every call that ends, inner ones included, each once, for as long as the subscription is
    /// kept. The call waits for it: it must not block.
    #[must_use = "the subscription ends when it is dropped"]
    pub fn on_record(
        &self,
        hook: impl Fn(&CallRecord) + Send + Sync + 'static,
    ) -> RecordSubscription {
        self.0.policy.record_hooks.add(hook)
    }

    /// Waits until every finished call is on record.
    pub fn flush(&self) {
        self.0.policy.recorder.flush();
    }
}
