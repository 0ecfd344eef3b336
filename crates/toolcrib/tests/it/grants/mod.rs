//! Grants: what is not asked about again, and what still is.

mod bounds;
mod calls;
mod crib;
mod offers;
mod store;
mod text;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib::approval::ApprovalResponse;
use toolcrib::approval::grants::{GrantRequest, Grants, Scope, Shape};
use toolcrib::schemars::JsonSchema;
use toolcrib::serde::Deserialize;
use toolcrib::testing::ScriptedApprover;
use toolcrib::workspace::Workspace;
use toolcrib::{CallRequest, Effects, FnTool, Outcome, Registry, RegistryBuilder, Role};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars")]
#[expect(dead_code, reason = "only its schema counts")]
struct Save {
    /// Where.
    path: String,
    /// What.
    content: String,
    /// Whether there may be something already.
    overwrite: Option<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "toolcrib::serde")]
#[schemars(crate = "toolcrib::schemars")]
#[expect(dead_code, reason = "only its schema counts")]
struct Shell {
    /// What to run.
    command: String,
    /// Where.
    cwd: Option<String>,
}

/// A tool that asks before it changes a file.
fn save(runs: &Arc<AtomicUsize>) -> FnTool {
    let runs = Arc::clone(runs);
    let tool = FnTool::new("save", "Saves", move |_: Save, _cx| {
        runs.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }
    });
    let tool = tool.unwrap().effects(Effects::WRITE).always_ask();
    tool.role("path", Role::WritePath)
}

/// A tool that asks before it runs a command, and runs nothing.
fn shell(runs: &Arc<AtomicUsize>) -> FnTool {
    let runs = Arc::clone(runs);
    let tool = FnTool::new("shell", "Runs", move |_: Shell, _cx| {
        runs.fetch_add(1, Ordering::SeqCst);
        async { Ok(()) }
    });
    let tool = tool.unwrap().effects(Effects::RUN).always_ask();
    tool.role("command", Role::Shell)
        .role("cwd", Role::Directory)
}

/// A home, a workspace, a person who answers from a script, and the two tools.
struct Scene {
    home: TempDir,
    workspace: TempDir,
    person: ScriptedApprover,
    runs: Arc<AtomicUsize>,
}

impl Scene {
    fn new() -> Self {
        Scene {
            home: TempDir::new().unwrap(),
            workspace: TempDir::new().unwrap(),
            person: ScriptedApprover::default(),
            runs: Arc::default(),
        }
    }

    fn grants(&self) -> Grants {
        Grants::at(self.home.path().join("grants"))
    }

    fn builder(&self, workspace: &Path) -> RegistryBuilder {
        Registry::builder()
            // The grants here are judged by nothing else.
            .rules(toolcrib::rules::RuleSet::empty())
            .approver(self.person.clone())
            .grants(self.grants())
            .session("session-1")
            .workspace(Workspace::open(workspace).unwrap())
    }

    fn registry(&self) -> Registry {
        self.with(self.builder(self.workspace.path()))
    }

    fn with(&self, builder: RegistryBuilder) -> Registry {
        let registry = builder.build();
        registry.register(save(&self.runs)).unwrap();
        registry.register(shell(&self.runs)).unwrap();
        registry
    }

    /// Has the person agree to the next question, and to more.
    fn grant_next(&self, shape: Value, change: impl FnOnce(GrantRequest) -> GrantRequest) {
        let shape: Shape = serde_json::from_value(shape).unwrap();
        let wanted = change(GrantRequest::new(shape, Scope::Project));
        let response = ApprovalResponse::approve("Ada").with_grant(wanted);
        self.person.then(Ok(response));
    }

    fn asked(&self) -> usize {
        self.person.asked().len()
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }
}

fn saving(path: &str) -> CallRequest {
    CallRequest::new("save")
        .arg("path", path)
        .arg("content", format!("content of {path}"))
}

/// Any file in docs/.
fn in_docs() -> Value {
    json!({"path": {"path": "docs/*"}, "content": "any"})
}

#[track_caller]
fn by(outcome: &Outcome) -> &str {
    &outcome.approval.as_ref().unwrap().by
}

/// Whether a call is let through by a grant; no one answers if not.
async fn is_covered(registry: &Registry, request: CallRequest) -> bool {
    let outcome = registry.execute(request).await;
    match outcome.error() {
        None => {
            assert!(by(&outcome).starts_with("grant "), "{outcome:?}");
            true
        }
        Some(error) => {
            assert_eq!(error.code(), toolcrib::ErrorCode::ApprovalUnavailable);
            false
        }
    }
}
