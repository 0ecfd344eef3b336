//! `run_tests`: the tests of a project, run by whatever runs them there, with what came of it as data.
//!
//! The tests run behind a wall (level `process`, no network but their own loopback), whatever `sandbox.shell` says. What they
//! print and what their runner writes is hostile: it is bounded, read strictly, and held against the exit code. A suite that fails
//! is a result, not an error.
//!
//! What a test can imitate: code in the test's process can write its runner's report, so counts and names are only the project's word.
//! A run that ends with another code than 0 is never reported as passed.

mod cargo;
mod choose;
mod command;
mod go;
mod javascript;
mod json_report;
mod junit;
mod libtest;
mod lines;
mod output;
mod pytest;
mod report;
mod results;
mod spec;
mod tap;
#[cfg(test)]
mod tests;
mod toolchain;
mod unknown_runner;
mod watch;
mod xml;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Deserialize;

use super::Family;
use super::programs::{self, SandboxSettings};
use super::project::ProjectPath;
use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::effects::Approval;
use crate::model::error::ToolError;
use crate::model::outcome::ToolOutput;
use crate::process::{CallTemp, Reachable, Run, Runner, Wall};
use crate::sandbox::Level;
use crate::spec::ToolSpec;
use crate::tool::{Look, Tool};
use crate::workspace::Workspace;
use choose::{Choice, TestRunner, choose};
use command::{Planned, TestRequest, plan};
use output::Over;
use watch::{Ended, Watch};

/// The name of the tool.
const TOOL: &str = "run_tests";

/// The tool.
pub(super) fn tools(_sandbox: &SandboxSettings, runner: &Arc<Runner>) -> Family {
    let tool = RunTests {
        spec: Arc::new(spec::spec()),
        runner: Arc::clone(runner),
    };
    vec![(Arc::new(tool), None)]
}

struct RunTests {
    spec: Arc<ToolSpec>,
    runner: Arc<Runner>,
}

#[derive(Debug, Clone, Deserialize)]
struct Args {
    #[serde(default = "here")]
    path: String,
    runner: Option<TestRunner>,
    filter: Option<String>,
    timeout: Option<f64>,
}

fn here() -> String {
    ".".to_owned()
}

impl Args {
    fn read(args: JsonObject) -> Result<Self, ToolError> {
        let args: Args = super::arguments(args)?;
        if let Some(filter) = &args.filter {
            programs::fits(TOOL, "/filter", filter)?;
        }
        Ok(args)
    }

    fn timeout(&self) -> Result<Duration, ToolError> {
        let seconds = self.timeout.unwrap_or(spec::TIMEOUT as f64);
        let timeout = Duration::try_from_secs_f64(seconds)
            .map_err(|_| super::invalid(TOOL, "/timeout", "is not a number of seconds"))?;
        Ok(timeout.max(Duration::from_millis(1)))
    }
}

/// A run that is ready to begin.
struct Ready {
    choice: Choice,
    planned: Planned,
    temp: Arc<CallTemp>,
}

impl Ready {
    /// Blocks.
    fn new(workspace: &Workspace, args: &Args) -> Result<Self, ToolError> {
        let path = workspace.path(&args.path)?;
        let choice = choose(workspace, &path, args.runner)?;
        let place = ProjectPath::of(workspace, &path)?;
        let temp = CallTemp::create(workspace)?;
        let asked = TestRequest {
            workspace,
            project: &choice.project,
            place: &place,
            filter: args.filter.as_deref(),
            temp: &temp,
        };
        let planned = plan(choice.runner, &asked)?;
        Ok(Ready {
            choice,
            planned,
            temp: Arc::new(temp),
        })
    }
}

impl Tool for RunTests {
    fn spec(&self) -> Arc<ToolSpec> {
        self.spec.clone()
    }

    fn look(&self, _args: &JsonObject, _workspace: Option<&Workspace>) -> Look {
        Look::later(approval)
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args = Args::read(args)?;
            let timeout = args.timeout()?;
            let workspace = Arc::clone(cx.workspace()?);
            let ready = {
                let workspace = Arc::clone(&workspace);
                cx.blocking(move || Ready::new(&workspace, &args)).await?
            };
            self.run(&cx, workspace, ready, timeout).await
        })
    }
}

/// Whether a person is asked. Blocks.
fn approval(args: &JsonObject, workspace: Option<&Workspace>) -> Approval {
    let chosen = || -> Option<String> {
        let args = Args::read(args.clone()).ok()?;
        let workspace = workspace?;
        let path = workspace.path(&args.path).ok()?;
        let choice = choose(workspace, &path, args.runner).ok()?;
        let root = &choice.project.root;
        Some(format!("of `{root}` with {}", choice.runner.name()))
    };
    let of = chosen().unwrap_or_else(|| "of a project".to_owned());
    Approval::allow().with_effect(format!(
        "run the tests {of} in the sandbox, with their own loopback and no other network"
    ))
}

impl RunTests {
    async fn run(
        &self,
        cx: &CallContext,
        workspace: Arc<Workspace>,
        ready: Ready,
        timeout: Duration,
    ) -> Result<ToolOutput, ToolError> {
        let Ready {
            choice,
            planned,
            temp,
        } = ready;
        // It goes when every process is gone that might still write there.
        let held = Arc::clone(&temp);
        cx.afterwards(async move {
            let _ = tokio::task::spawn_blocking(move || drop(held)).await;
        });
        let wall = Wall {
            read: planned.read,
            write: vec![temp.path().to_owned()],
            // Suites that start a server and ask it are as common as others.
            network: Reachable::EachOther,
            ..Wall::of(Level::Process)
        };
        let watch = Arc::new(Mutex::new(Some(Watch::new(cx.clone(), planned.reader))));
        let watching = Arc::clone(&watch);
        let run = Run {
            timeout: Some(timeout),
            sink: Some(Box::new(move |stream, piece| {
                let mut watch = watching.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(watch) = &mut *watch {
                    watch.take(stream, piece);
                }
            })),
            ..Run::new(planned.command)
        };
        let ended = self.runner.run(cx, &wall, run).await;
        let watch = watch.lock().unwrap_or_else(PoisonError::into_inner).take();
        let finished = ended.map_err(|error| match &watch {
            Some(watch) => watch.so_far(error),
            None => error,
        })?;
        if choice.runner == TestRunner::Pytest {
            pytest::check(&finished)?;
        }
        let Some(watch) = watch else {
            return Err(ToolError::failed("the output of the tests was lost"));
        };
        let (report, shown) = (planned.report, planned.shown);
        cx.blocking(move || {
            let report = report.and_then(|name| report::read(temp.path(), name));
            let exit_code = finished.exit_code;
            let (results, tail) = watch.end(Ended { exit_code, report });
            let over = Over {
                runner: choice.runner,
                project: &choice.project,
                projects: &choice.projects,
                command: shown,
                exit_code,
                duration: finished.duration,
                results,
                tail,
            };
            Ok(over.into_output(&workspace))
        })
        .await
    }
}
