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

    /// What the arguments become before they are judged: S0's `transform`, and what can only be checked after it. They fit
    /// `spec().input_schema` already. `edited`: a person changed them after they went through here once, so that only the
    /// check is left to do.
    fn refine(&self, args: JsonObject, _edited: bool) -> Result<JsonObject, Vec<Fault>> {
        Ok(args)
    }

    /// Looks at the arguments of a call: what it would do, and whether a person is to be asked (S2: `requiresApproval`, static or by
    /// arguments). Asked once for each set of arguments, before any person is; again if a person edited them, or if what allowed the
    /// call was lost while it waited. Must change nothing.
    ///
    /// The default goes by the tool's effects: a tool that declares none asks.
    fn look(&self, _args: &JsonObject, _workspace: Option<&Workspace>) -> Look {
        if self.spec().effects.is_unknown() {
            let reason = "the tool does not say whether it reads, writes or runs something";
            Approval::ask(reason).into()
        } else {
            Look::allow()
        }
    }

    /// Whether the tool's programs see the files that an approval is bound to as copies, which nothing can change: in a sandbox with
    /// mounts of its own.
    fn pins_files(&self) -> bool {
        false
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

/// What a tool says about one call before it runs. Made from an [`Approval`], by [`allow`](Self::allow) or by [`later`](Self::later).
///
/// ```
/// # use toolcrib::{Approval, Look};
/// let look = Look::from(Approval::ask("it sends mail")).with_effect(|args| format!("send mail to {}", args["to"]));
/// ```
pub struct Look {
    /// Why this call can never be made, whoever agrees: a host that is not allowed, an address that nothing reaches.
    pub refusal: Option<ToolError>,
    /// Shell text that this call would run and that no argument shows, for the rules.
    pub commands: Vec<ShellText>,
    /// Paths, relative to the workspace, that this call would write although what its parameters are says that they are read, for the
    /// rules.
    pub writes: Vec<String>,
    pub(crate) effect: Option<Box<Effect>>,
    approval: Decision,
}

pub(crate) type Effect = dyn FnOnce(&JsonObject) -> String + Send;
type Decide = dyn FnOnce(&JsonObject, Option<&Workspace>) -> Approval + Send;

enum Decision {
    Made(Approval),
    Later(Box<Decide>),
}

impl Look {
    /// A call that the tool has nothing to say about.
    pub fn allow() -> Self {
        Approval::allow().into()
    }

    /// Decides only when neither a refusal nor a rule ends the call: for decisions that read files or run a program. They are made off
    /// the async threads if [`ToolSpec::looks_first`] says so, or the tool has a parameter that is a path it writes.
    pub fn later(
        decide: impl FnOnce(&JsonObject, Option<&Workspace>) -> Approval + Send + 'static,
    ) -> Self {
        Look::deciding(Decision::Later(Box::new(decide)))
    }

    fn deciding(approval: Decision) -> Self {
        Look {
            refusal: None,
            commands: Vec::new(),
            writes: Vec::new(),
            effect: None,
            approval,
        }
    }

    /// Says why this call can never be made.
    #[must_use]
    pub fn with_refusal(mut self, refusal: impl Into<Option<ToolError>>) -> Self {
        self.refusal = refusal.into();
        self
    }

    /// Says which shell text this call would run.
    #[must_use]
    pub fn with_commands(mut self, commands: Vec<ShellText>) -> Self {
        self.commands = commands;
        self
    }

    /// Says which paths this call would write.
    #[must_use]
    pub fn with_writes(mut self, writes: Vec<String>) -> Self {
        self.writes = writes;
        self
    }

    /// Says what the call would do, where the approval does not: made only when a person is to read it. Without it the pipeline finds
    /// words by the arguments.
    #[must_use]
    pub fn with_effect(
        mut self,
        effect: impl FnOnce(&JsonObject) -> String + Send + 'static,
    ) -> Self {
        self.effect = Some(Box::new(effect));
        self
    }

    /// Changes the decision, for tools that wrap others.
    #[must_use]
    pub fn map_approval(
        mut self,
        change: impl FnOnce(Approval) -> Approval + Send + 'static,
    ) -> Self {
        self.approval = match self.approval {
            Decision::Made(approval) => Decision::Made(change(approval)),
            Decision::Later(decide) => Decision::Later(Box::new(move |args, workspace| {
                change(decide(args, workspace))
            })),
        };
        self
    }

    /// Whether a person has to agree, of a call with the arguments and workspace that were looked at.
    pub fn into_approval(self, args: &JsonObject, workspace: Option<&Workspace>) -> Approval {
        match self.approval {
            Decision::Made(approval) => approval,
            Decision::Later(decide) => decide(args, workspace),
        }
    }
}

impl From<Approval> for Look {
    fn from(approval: Approval) -> Self {
        Look::deciding(Decision::Made(approval))
    }
}
