//! Consent to the questions of test calls: [`Consent`].
//!
//! Tests ask no one, and work on files that no one trusts yet: what is behind the sandbox of a throw-away workspace, without a network,
//! can do no harm there. What the sandbox does not hold, and what leaves it for some host, is agreed to only by `--yes`. What a rule
//! denies never gets here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::definition::{Body, Definition, Privilege};
use crate::exec::command::CommandTool;
use crate::sandbox::Level;
use crate::workspace::Workspace;
use toolcrib_core::approval::{ApprovalRequest, ApprovalResponse, Approver, NoAnswer};

/// What the calls of tests may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// What stays behind the sandbox of the throw-away workspace, and reaches no host.
    Sandboxed,
    /// Everything that no rule denies (`--yes`).
    Everything,
}

/// Decides for the calls of one test.
pub(super) struct TestApprover {
    pub(super) consent: Consent,
    /// The throw-away workspace.
    pub(super) workspace: Workspace,
    /// The tool that is called: it has its name, whatever else is called so.
    pub(super) tool: Arc<Definition>,
    /// The tools that can be called, by wire name.
    pub(super) tools: Arc<BTreeMap<String, Arc<Definition>>>,
    /// Built-in tools that the settings let run without isolation.
    pub(super) open_builtins: Vec<&'static str>,
}

impl TestApprover {
    /// Why a call would not stay behind the wall, if it would not.
    fn beyond(&self, request: &ApprovalRequest) -> Option<String> {
        if self.open_builtins.contains(&request.tool.as_str()) {
            return Some("the settings let it run without isolation".to_owned());
        }
        let mut seen = BTreeSet::new();
        let mut name = request.tool.as_str();
        // An alias is what its base is; a chain that comes back to itself ends nowhere.
        while seen.insert(name) {
            let Some(definition) = self.find(name) else {
                break;
            };
            if let Some(why) = self.outside(definition, request) {
                return Some(why);
            }
            match &definition.body {
                Body::Alias { base, .. } => name = base,
                Body::Command(_) | Body::Commands { .. } | Body::Steps(_) => break,
            }
        }
        None
    }

    fn find(&self, name: &str) -> Option<&Arc<Definition>> {
        let name = name.rsplit('/').next().unwrap_or(name);
        let name = name.trim_start_matches('+');
        let name = name.split('@').next().unwrap_or(name);
        if self.tool.name.as_str() == name || self.tool.slug.as_str() == name {
            return Some(&self.tool);
        }
        self.tools.get(name).or_else(|| {
            self.tools
                .values()
                .find(|definition| definition.slug.as_str() == name)
        })
    }

    fn outside(&self, definition: &Definition, request: &ApprovalRequest) -> Option<String> {
        let security = &definition.security;
        if security.privilege == Privilege::Elevated {
            return Some("it runs with root's rights (`execution-privilege: elevated`)".to_owned());
        }
        if security.isolation == Some(Level::None) {
            return Some("nothing holds it back (`isolation: none`)".to_owned());
        }
        let places = CommandTool::beyond_workspace(definition, &request.args, &self.workspace);
        let first = places.first()?;
        Some(format!(
            "its `required-permissions` let it {first}, which is beyond the test's directory"
        ))
    }
}

impl Approver for TestApprover {
    fn decide(
        &self,
        request: ApprovalRequest,
    ) -> BoxFuture<'_, Result<ApprovalResponse, NoAnswer>> {
        let answer = match self.consent {
            Consent::Everything => Ok(ApprovalResponse::approve("--yes")),
            Consent::Sandboxed => match self.beyond(&request) {
                None => Ok(ApprovalResponse::approve("toolcrib test")),
                Some(why) => Err(NoAnswer::Unavailable(format!(
                    "tests stay in their sandbox and {why}; read the file, then pass `--yes`"
                ))),
            },
        };
        Box::pin(std::future::ready(answer))
    }
}
