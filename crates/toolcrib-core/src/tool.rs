//! The [`Tool`] trait: the one thing every kind of tool is.

use std::sync::Arc;

use crate::poll::BoxFuture;

use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::effects::Approval;
use crate::model::error::ToolError;
use crate::model::outcome::ToolOutput;
use crate::model::sandbox_plan::SandboxPlan;
use crate::schema::Fault;
use crate::spec::ToolSpec;
use crate::workspace::Workspace;

pub use crate::model::judgement::{ShellText, Touched};

/// Something that can be called. Built-ins, typed functions, commands, HTTP requests and upstream
/// servers differ only in how they become an `Arc<dyn Tool>`.
///
/// A tool is called by the pipeline alone, which has validated the arguments against
/// `spec().input_schema`, judged them, and holds deadline and cancellation. A tool may fail, panic
/// or hang; the caller always gets an outcome.
pub trait Tool: Send + Sync + 'static {
    /// The published face of the tool. Read once, when the tool is registered.
    fn spec(&self) -> Arc<ToolSpec>;

    /// Whether this call needs a person's approval (S2: `requiresApproval`, static or by
    /// arguments). The default goes by the tool's effects: a tool that declares none asks.
    fn approval(&self, _args: &JsonObject, _workspace: Option<&Workspace>) -> Approval {
        if self.spec().effects.is_unknown() {
            Approval::ask("the tool does not say whether it reads, writes or runs something")
        } else {
            Approval::allow()
        }
    }

    /// What a call would do, in words, where [`approval`](Self::approval) does not say: asked for only when a person is to read it.
    /// By default the pipeline finds words by the tool's effects.
    fn effect(&self, _args: &JsonObject) -> Option<String> {
        None
    }

    /// What the arguments become before they are judged: S0's `transform`, and what can only be checked after it. They fit
    /// `spec().input_schema` already. `edited`: a person changed them after they went through here once, so that only the
    /// check is left to do.
    fn refine(&self, args: JsonObject, _edited: bool) -> Result<JsonObject, Vec<Fault>> {
        Ok(args)
    }

    /// Why this call can never be made, whoever agrees: a host that is not allowed, an address that nothing reaches. Asked before
    /// any person is.
    fn refusal(&self, _args: &JsonObject, _workspace: Option<&Workspace>) -> Option<ToolError> {
        None
    }

    /// Shell text that this call would run and that no argument shows, for the rules.
    fn commands(&self, _args: &JsonObject, _workspace: Option<&Workspace>) -> Vec<ShellText> {
        Vec::new()
    }

    /// Whether the tool's programs see the files that an approval is bound to as copies, which nothing can change: in a sandbox with
    /// mounts of its own.
    fn pins_files(&self) -> bool {
        false
    }

    /// Paths, relative to the workspace, that this call would write although what its parameters are says that they are read, for the
    /// rules.
    fn writes(&self, _args: &JsonObject) -> Vec<String> {
        Vec::new()
    }

    /// What holds the tool's programs back, line by line, and what backs each line on this machine; `None` for a tool that runs
    /// none.
    fn sandbox_plan(
        &self,
        _args: &JsonObject,
        _workspace: Option<&Workspace>,
    ) -> Option<SandboxPlan> {
        None
    }

    /// Runs the tool.
    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
}
