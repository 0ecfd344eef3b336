//! YAML tools through the whole pipeline: real files, a real sandbox, real bash.

mod aliases;
mod approval;
mod arguments;
mod cleanup;
mod execution;
mod interactive;
mod network;
mod promises;
mod publishing;
mod security;

use crate::testing::WithBuiltins as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::{CommandSettings, CommandTool};
use crate::approval::ApprovalResponse;
use crate::call::request::CallRequest;
use crate::definition::{self, Definition};
use crate::model::error::ToolError;
use crate::model::names::Slug;
use crate::model::outcome::Outcome;
use crate::process::{Runner, SandboxOptions};
use crate::registry::Registry;
use crate::spec::ToolSpec;
use crate::testing::TestCrib;

/// A workspace with YAML tools.
struct Scene {
    crib: TestCrib,
    sudo: Option<PathBuf>,
    options: SandboxOptions,
}

impl Scene {
    fn new() -> Self {
        Scene {
            crib: TestCrib::new(),
            sudo: None,
            options: SandboxOptions::default(),
        }
    }

    fn file(mut self, path: &str, content: &str) -> Self {
        self.crib = self.crib.file(path, content);
        self
    }

    /// Someone says yes to everything asked.
    fn approved(mut self) -> Self {
        let yes = || ApprovalResponse::approve("test");
        self.crib = self.crib.answers([yes(), yes(), yes(), yes()]);
        self
    }

    fn builtins(mut self) -> Self {
        self.crib = self.crib.builtins();
        self
    }

    fn settings(&self) -> Arc<CommandSettings> {
        Arc::new(CommandSettings {
            runner: Arc::new(Runner::new(self.options.clone())),
            sudo: self.sudo.clone(),
            secrets: None,
        })
    }

    /// Makes a tool of a file; what it uses must be there.
    fn make(&self, yaml: &str) -> Result<CommandTool, ToolError> {
        let lookup = |name: &str| -> Option<Arc<ToolSpec>> {
            Some(Arc::clone(self.registry().find(name).ok()?.spec()))
        };
        let bundle = Slug::parse("local").unwrap();
        CommandTool::linked(Arc::new(read(yaml)), bundle, self.settings(), &lookup)
    }

    fn tool(self, yaml: &str) -> Self {
        let tool = self.make(yaml).unwrap();
        self.registry().register(tool).unwrap();
        self
    }

    fn registry(&self) -> &Registry {
        self.crib.registry()
    }

    fn path(&self) -> &Path {
        self.crib.path()
    }

    async fn call(&self, tool: &str, args: Value) -> Outcome {
        let args = args.as_object().cloned().unwrap_or_default();
        self.registry()
            .execute(CallRequest::new(tool).args(args))
            .await
    }
}

/// A definition without anything wrong.
fn read(yaml: &str) -> Definition {
    let reading = definition::read(yaml.as_bytes(), "t");
    let problems: Vec<&String> = reading
        .problems
        .iter()
        .map(|problem| &problem.message)
        .collect();
    reading.definition.unwrap_or_else(|| panic!("{problems:?}"))
}

/// The value of a call that went well.
fn value(outcome: &Outcome) -> &Value {
    outcome.value().unwrap_or_else(|| panic!("{outcome:#?}"))
}

/// The error of a call that did not.
fn error(outcome: &Outcome) -> &ToolError {
    outcome.error().unwrap_or_else(|| panic!("{outcome:#?}"))
}
