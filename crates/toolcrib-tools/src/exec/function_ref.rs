//! A function that a definition names (S4: `goFunc`): [`FunctionRef`].
//!
//! The definition is what is published and checked: its schemas, its words, its limits, its tags. The function runs, and may ask and
//! refuse by itself as before; that a definition names it never lets a call through that the function would ask about.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::call::context::CallContext;
use crate::definition::{Required, RequiresApproval};
use crate::model::JsonObject;
use crate::model::effects::{Approval, Verdict};
use crate::model::error::ToolError;
use crate::model::outcome::ToolOutput;
use crate::model::sandbox_plan::SandboxPlan;
use crate::schema::Fault;
use crate::spec::ToolSpec;
use crate::template::Values;
use crate::tool::{Look, Tool};
use crate::workspace::Workspace;

const UNTAGGED: &str = "the tool does not say whether it reads, writes or runs something (no tag `read`, `write` or `run`)";

/// A registered function under the name, schemas and tags of a definition.
#[doc(hidden)]
pub struct FunctionRef {
    spec: Arc<ToolSpec>,
    function: Arc<dyn Tool>,
    /// What the definition adds to when the function asks.
    requires_approval: RequiresApproval,
}

impl FunctionRef {
    /// The function as `spec` publishes it. What its arguments are about (paths, commands) is known by the function alone, and is taken
    /// from it as far as the names are the same, so that rules hold.
    #[doc(hidden)]
    pub fn new(
        mut spec: ToolSpec,
        function: Arc<dyn Tool>,
        requires_approval: RequiresApproval,
    ) -> Self {
        let own = function.spec();
        let takes = |name: &str| {
            spec.input_schema
                .properties()
                .any(|(known, _)| known == name)
        };
        let roles = own.roles.iter().filter(|(name, _)| takes(name)).cloned();
        spec.roles = roles.collect();
        spec.urls.clone_from(&own.urls);
        let is_untagged = spec.effects.is_unknown();
        spec.asks = match (is_untagged, &own.asks) {
            (_, Some(asks)) => Some(asks.clone()),
            (true, None) if !matches!(requires_approval, RequiresApproval::Never) => {
                Some(format!("every time: {UNTAGGED}"))
            }
            (_, None) => requires_approval.in_words(),
        };
        spec.looks_first = own.looks_first || requires_approval.evaluates();
        spec.interactive = own.interactive;
        FunctionRef {
            spec: Arc::new(spec),
            function,
            requires_approval,
        }
    }
}

impl Tool for FunctionRef {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn look(&self, args: &JsonObject, workspace: Option<&Workspace>) -> Look {
        let own = self.function.look(args, workspace);
        let is_untagged = self.spec.effects.is_unknown();
        if !is_untagged && matches!(self.requires_approval, RequiresApproval::Unsaid) {
            return own;
        }
        let requires_approval = self.requires_approval.clone();
        let values = Values {
            arguments: args.clone(),
            ..Values::default()
        };
        own.map_approval(move |own| {
            if own.verdict == Verdict::Deny {
                return own;
            }
            let why = match requires_approval.of_call(&values) {
                Required::Yes(why) => why,
                Required::Unsaid if is_untagged && own.verdict == Verdict::Allow => {
                    UNTAGGED.to_owned()
                }
                Required::Unsaid | Required::No => return own,
            };
            let reason = match own.reason {
                Some(first) if own.verdict == Verdict::Ask => format!("{first}; {why}"),
                _ => why,
            };
            Approval {
                verdict: Verdict::Ask,
                reason: Some(reason),
                ..own
            }
        })
    }

    fn refine(&self, args: JsonObject, edited: bool) -> Result<JsonObject, Vec<Fault>> {
        self.function.refine(args, edited)
    }

    fn pins_files(&self) -> bool {
        self.function.pins_files()
    }

    fn sandbox_plan(
        &self,
        args: &JsonObject,
        workspace: Option<&Workspace>,
    ) -> Option<SandboxPlan> {
        self.function.sandbox_plan(args, workspace)
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        self.function.call(args, cx)
    }
}
