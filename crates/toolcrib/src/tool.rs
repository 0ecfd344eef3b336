//! The [`Tool`] trait: the one thing every kind of tool is.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::model::JsonObject;
use crate::model::context::CallContext;
use crate::model::effects::Approval;
use crate::model::error::ToolError;
use crate::model::outcome::ToolOutput;
use crate::model::spec::ToolSpec;
use crate::workspace::Workspace;

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

    /// Runs the tool.
    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
}
