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

    /// Looks at the arguments of a call: what it would do, and whether a person must approve it (S2: `requiresApproval`, static or by
    /// arguments). Called once for each set of arguments, before any person is asked, and again if the call has to be asked about
    /// again. It must change nothing.
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

    /// Whether the tool's programs see the files that an approval is bound to as copies, which nothing can change: in a sandbox with its
    /// own mounts.
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
    /// Why this call can never be made, even if a person agrees: a host that is not allowed, an address that nothing reaches.
    pub refusal: Option<ToolError>,
    /// Shell text that this call would run and that no argument shows, for the rules.
    pub commands: Vec<ShellText>,
    /// Paths, relative to the workspace, that this call would write although their parameters are only read from, for the rules.
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
    /// Lets the call go ahead, with nothing to say about it.
    pub fn allow() -> Self {
        Approval::allow().into()
    }

    /// Decides only if neither a refusal nor a rule ends the call: for decisions that read files or run a program. They are made off
    /// the async threads if [`ToolSpec::looks_first`] is set or the tool has a parameter with [`Role::WritePath`](crate::spec::Role).
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

    /// Says what the call would do, if the approval does not: called only when a person is to read it. Without it the pipeline shows
    /// the arguments.
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

    /// Whether a person has to agree. `args` and `workspace` are those that were looked at.
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::approval::ApprovalResponse;
    use crate::call::request::CallRequest;
    use crate::model::effects::Effects;
    use crate::model::error::ErrorCode;
    use crate::model::names::WireName;
    use crate::registry::Registry;
    use crate::schema::{Property, Schema};
    use crate::testing::ScriptedApprover;

    type Log = Arc<Mutex<Vec<&'static str>>>;

    /// A tool that notes what it is asked for; its argument says what it finds.
    struct Noting(Arc<ToolSpec>, Log);

    impl Tool for Noting {
        fn spec(&self) -> Arc<ToolSpec> {
            Arc::clone(&self.0)
        }

        fn look(&self, args: &JsonObject, _: Option<&Workspace>) -> Look {
            self.1.lock().unwrap().push("look");
            let find = args["find"].as_str().unwrap_or_default().to_owned();
            assert!(find != "panic", "at once");
            let refusal =
                (find == "refusal").then(|| ToolError::new(ErrorCode::HostNotAllowed, "never"));
            let commands = match find == "rule" {
                true => vec!["rm -rf /"],
                false => Vec::new(),
            };
            let (log, effects) = (Arc::clone(&self.1), Arc::clone(&self.1));
            let mut look = Look::later(move |args, _| {
                log.lock().unwrap().push("decide");
                assert!(args["find"] != "late panic", "later");
                match args["find"] == "free" {
                    true => Approval::allow(),
                    false => Approval::ask("it does something"),
                }
            })
            .with_refusal(refusal)
            .with_effect(move |args| {
                effects.lock().unwrap().push("effect");
                assert!(args["find"] != "effect panic", "no words");
                "do it".to_owned()
            });
            let shell = |text: &str| ShellText {
                text: text.to_owned(),
                directory: None,
                own: Vec::new(),
                path: None,
                input: None,
            };
            look.commands = commands.into_iter().map(shell).collect();
            look
        }

        fn call(
            &self,
            _: JsonObject,
            _: CallContext,
        ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
            Box::pin(async { Ok(ToolOutput::value("done")) })
        }
    }

    /// What the tool was asked for, what came of the call, and what a person read.
    async fn called(find: &str) -> (Vec<&'static str>, String, Option<String>) {
        let schema = Schema::object()
            .required("find", Property::string("The match"))
            .build()
            .unwrap();
        let mut spec = ToolSpec::new(WireName::parse("noting").unwrap(), "Notes", schema);
        spec.effects = Effects::READ;
        let log = Log::default();
        let person = ScriptedApprover::new([ApprovalResponse::approve("Ada")]);
        let registry = Registry::builder().approver(person.clone()).build();
        let tool = Noting(Arc::new(spec), Arc::clone(&log));
        registry.register(tool).unwrap();
        let call = CallRequest::new("noting").arg("find", find);
        let outcome = registry.execute(call).await;
        let result = match outcome.error() {
            Some(error) => error.code().to_string() + " " + error.message(),
            None => "done".to_owned(),
        };
        let effect = person.asked().first().map(|asked| asked.effect.clone());
        let log = log.lock().unwrap().clone();
        (log, result, effect)
    }

    #[tokio::test]
    async fn a_tool_looks_once_and_puts_into_words_only_what_a_person_reads() {
        let free = called("free").await;
        assert_eq!(free, (vec!["look", "decide"], "done".to_owned(), None));
        let (log, result, effect) = called("something").await;
        assert_eq!(log, ["look", "decide", "effect"]);
        assert_eq!(
            (result.as_str(), effect.as_deref()),
            ("done", Some("do it"))
        );
    }

    #[tokio::test]
    async fn a_refused_or_denied_call_is_not_decided_about() {
        let (log, result, _) = called("refusal").await;
        assert_eq!(log, ["look"]);
        assert_eq!(result, "HOST_NOT_ALLOWED never");
        let (log, result, _) = called("rule").await;
        assert_eq!(log, ["look"]);
        assert!(result.starts_with("BLOCKED_BY_RULE "), "{result}");
    }

    #[tokio::test]
    async fn a_tool_that_panics_while_it_looks_fails_the_call_unless_it_only_lacks_words() {
        let (_, result, _) = called("panic").await;
        assert_eq!(result, "EXECUTION_ERROR the tool panicked: at once");
        let (_, result, _) = called("late panic").await;
        assert_eq!(result, "EXECUTION_ERROR the tool panicked: later");
        let (_, result, effect) = called("effect panic").await;
        assert_eq!(result, "done");
        let words = effect.unwrap();
        assert!(words.starts_with("run `noting` with"), "{words}");
    }
}
