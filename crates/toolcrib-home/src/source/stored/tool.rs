//! A tool of the store at work: [`StoredRun`], what its kind does under what its record says.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;

use crate::call::context::CallContext;
use crate::manifest::HttpDefinition;
use crate::model::JsonObject;
use crate::model::effects::{Approval, Verdict};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::outcome::ToolOutput;
use crate::model::sandbox_plan::SandboxPlan;
use crate::schema::Fault;
use crate::secret::SecretStore;
use crate::source::definition::named_like_secrets;
use crate::spec::ToolSpec;
use crate::tool::{Look, Tool};
use crate::workspace::Workspace;

/// Why calls of tools that came in an archive are asked about.
const IMPORTED: &str = "its bundle was imported from an archive";

/// A tool of the store.
pub(super) struct StoredRun {
    pub(super) spec: Arc<ToolSpec>,
    pub(super) tool: Arc<dyn Tool>,
    /// Whether its bundle came in an archive: then a person is asked before every call, whatever its tags say.
    pub(super) is_imported: bool,
    /// What keeps its arguments apart from secrets, if it is an HTTP tool.
    pub(super) names: Option<Names>,
}

/// The arguments of an HTTP tool beside the secrets that are kept: none may have the name of one.
pub(super) struct Names {
    definition: Arc<HttpDefinition>,
    secrets: SecretStore,
    /// What was found when the secrets were last others.
    clash: Mutex<Option<(u64, Option<String>)>>,
}

impl Names {
    pub(super) fn new(definition: Arc<HttpDefinition>, secrets: SecretStore) -> Self {
        Names {
            definition,
            secrets,
            clash: Mutex::new(None),
        }
    }

    /// The present problem, if there is one. Secrets come and go while the tool is there.
    pub(super) fn clash(&self) -> Option<String> {
        let readings = self.secrets.readings();
        let mut clash = self.clash.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((as_of, found)) = &*clash
            && *as_of == readings
        {
            return found.clone();
        }
        let secrets = self.secrets.list().unwrap_or_default();
        let mut faults = named_like_secrets(&self.definition, &secrets).into_iter();
        let found = faults.next().map(|fault| fault.message);
        *clash = Some((readings, found.clone()));
        found
    }
}

impl StoredRun {
    /// The tool, published with what the record adds.
    pub(super) fn new(tool: Arc<dyn Tool>, mut spec: ToolSpec, is_imported: bool) -> Self {
        if is_imported {
            spec.asks = Some(match spec.asks {
                Some(asks) if asks.starts_with("every time") => asks,
                Some(_) | None => format!("before every call that no grant covers: {IMPORTED}"),
            });
        }
        StoredRun {
            spec: Arc::new(spec),
            tool,
            is_imported,
            names: None,
        }
    }
}

fn asked_as_imported(own: Approval) -> Approval {
    match own.verdict {
        Verdict::Deny => own,
        Verdict::Allow | Verdict::Ask => Approval {
            verdict: Verdict::Ask,
            reason: Some(match &own.reason {
                Some(reason) => format!("{reason}; {IMPORTED}"),
                None => IMPORTED.to_owned(),
            }),
            ..own
        },
    }
}

impl Tool for StoredRun {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn look(&self, args: &JsonObject, workspace: Option<&Workspace>) -> Look {
        let mut look = self.tool.look(args, workspace);
        if let Some(why) = self.names.as_ref().and_then(Names::clash) {
            let message = format!("`{}` cannot run here: {why}", self.spec.name);
            let refusal = ToolError::new(ErrorCode::ToolUnavailable, message);
            look.refusal = Some(refusal.with_detail("reason", why));
        }
        match self.is_imported {
            true => look.map_approval(asked_as_imported),
            false => look,
        }
    }

    fn refine(&self, args: JsonObject, edited: bool) -> Result<JsonObject, Vec<Fault>> {
        self.tool.refine(args, edited)
    }

    fn pins_files(&self) -> bool {
        self.tool.pins_files()
    }

    fn sandbox_plan(
        &self,
        args: &JsonObject,
        workspace: Option<&Workspace>,
    ) -> Option<SandboxPlan> {
        self.tool.sandbox_plan(args, workspace)
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        self.tool.call(args, cx)
    }
}
