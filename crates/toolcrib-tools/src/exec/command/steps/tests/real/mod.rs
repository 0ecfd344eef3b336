//! Tools with steps, from their files, behind the real sandbox, through the whole pipeline.

mod endings;
mod flow;
mod nested;
mod output;

use crate::builtin::RegisterBuiltins as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::approval::{AllowAll, Approver};
use crate::call::request::CallRequest;
use crate::definition;
use crate::exec::command::{CommandSettings, CommandTool};
use crate::model::names::Slug;
use crate::model::outcome::Outcome;
use crate::process::{Runner, SandboxOptions};
use crate::registry::Registry;
use crate::workspace::Workspace;

/// A registry with the built-in tools and those of a test.
struct Real {
    registry: Registry,
    directory: TempDir,
}

impl Real {
    fn new() -> Self {
        Real::asking(AllowAll::by("test"))
    }

    fn asking(approver: impl Approver) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::builder()
            .workspace(Workspace::open(directory.path()).unwrap())
            .approver(approver)
            .build();
        registry.register_builtins().unwrap();
        Real {
            registry,
            directory,
        }
    }

    /// Adds a tool that only runs things, with these steps (and whatever else follows at the top level).
    fn steps(self, name: &str, steps: &str) -> Self {
        let yaml = format!("description: Does several things\ntags: [run]\nsteps:\n{steps}");
        self.tool(name, &yaml)
    }

    fn tool(self, name: &str, yaml: &str) -> Self {
        let reading = definition::read(yaml.as_bytes(), name);
        let definition = reading
            .definition
            .unwrap_or_else(|| panic!("{yaml}\n{:#?}", reading.problems));
        let settings = CommandSettings {
            runner: Arc::new(Runner::new(SandboxOptions::default())),
            sudo: None,
            secrets: None,
        };
        let bundle = Slug::parse("local").unwrap();
        let lookup = |name: &str| Some(Arc::clone(self.registry.find(name).ok()?.spec()));
        let (definition, settings) = (Arc::new(definition), Arc::new(settings));
        let tool = CommandTool::linked(definition, bundle, settings, &lookup).unwrap();
        self.registry.register(tool).unwrap();
        self
    }

    async fn call(&self, name: &str) -> Outcome {
        self.registry.execute(CallRequest::new(name)).await
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }
}

/// The value, or the details of the error.
fn fields(outcome: &Outcome) -> Value {
    match &outcome.result {
        Ok(output) => output.value.clone(),
        Err(error) => Value::from(error.details().cloned().unwrap_or_default()),
    }
}

/// `name=status` of all steps, in the order of the file.
fn statuses(outcome: &Outcome) -> String {
    let fields = fields(outcome);
    let Some(steps) = fields["steps"].as_object() else {
        panic!("{outcome:?}");
    };
    let words = steps
        .iter()
        .map(|(name, step)| format!("{name}={}", step["status"].as_str().unwrap()));
    words.collect::<Vec<String>>().join(" ")
}

/// Waits until something is there, for a while.
async fn until(what: &str, mut there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !there() {
        assert!(start.elapsed() < Duration::from_secs(20), "no {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn make_fifo(path: &Path) {
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).unwrap();
}
