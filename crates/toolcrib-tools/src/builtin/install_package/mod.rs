//! `install_package`: adds packages to a project, by its own package manager, after a person has agreed.
//!
//! ```text
//! plan      what a call would do, in words and for sure       package   names and paths, nothing else
//! manager   the commands                                      registry  where packages come from
//! records   manifests and locks, put back after a failure     installed what came of it
//! job       an installation from its preparation to its report
//! sources   the same registries, for servers that come as packages
//! ```
//!
//! What it keeps to: a command reaches the hosts of its registry and no other, and for packages of the workspace nothing at all; it
//! writes the workspace and a directory of the call's own, never the operator's caches and settings; an installation that fails leaves
//! manifest and lock as they were, however it came to its end. Code that packages bring runs only if the call says so.
//!
//! What it does not do: downloads of cargo and go do not reach the operator's cache, which is not writable (who writes there runs code
//! in every other project); the next build outside of the sandbox gets them.

mod installed;
mod job;
mod manager;
mod package;
mod plan;
mod records;
mod registry;
mod settings;
mod sources;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::json;

use super::programs::SandboxSettings;
use super::{Family, project};
use crate::call::context::CallContext;
use crate::call::event::OutputStream;
use crate::egress::{EgressError, HostVerdict, Target};
use crate::model::JsonObject;
use crate::model::effects::{Approval, Effects};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::{LimitsPatch, as_millis};
use crate::model::outcome::ToolOutput;
use crate::process::{Run, Runner};
use crate::spec::{Role, ToolSpec, Traits};
use crate::tool::{Look, Tool};
use crate::workspace::Workspace;
use job::{Job, Printed};
use manager::{Manager, Step};
use package::Package;
use plan::{Args, Plan};
use registry::Operator;
pub use sources::PackageSources;

/// How long an installation may take.
const TIMEOUT: Duration = Duration::from_secs(600);

/// How many packages one call installs.
const MAX_PACKAGES: usize = 20;

/// The longest report of pip that is read.
const MAX_REPORT: usize = 16 << 20;

/// The tool.
pub(super) fn tools(_sandbox: &SandboxSettings, runner: &Arc<Runner>) -> Family {
    let tool = InstallPackage::new(Arc::clone(runner), Operator::of_this_process);
    vec![(Arc::new(tool), None)]
}

struct InstallPackage {
    spec: Arc<ToolSpec>,
    runner: Arc<Runner>,
    operator: Arc<dyn Fn() -> Operator + Send + Sync>,
}

impl InstallPackage {
    fn new(runner: Arc<Runner>, operator: impl Fn() -> Operator + Send + Sync + 'static) -> Self {
        InstallPackage {
            spec: Arc::new(spec()),
            runner,
            operator: Arc::new(operator),
        }
    }
}

fn spec() -> ToolSpec {
    let input = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["packages"],
        "properties": {
            "packages": {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": 300},
                "minItems": 1,
                "maxItems": MAX_PACKAGES,
                "description": "What to install: `name`, `name@version`, `name==version`, or a path in the workspace like `./libs/mine`"
            },
            "manager": {
                "type": "string",
                "enum": Manager::ALL.map(Manager::name),
                "description": "The package manager; that of the project if left out"
            },
            "path": {"type": "string", "description": "The project, relative to the workspace: its directory or one in it; the workspace itself if left out"},
            "dev": {"type": "boolean", "default": false, "description": "Add them for development only (cargo, npm)"},
            "scripts": {
                "type": "boolean",
                "default": false,
                "description": "Let packages run their own code while they are installed: install scripts of npm, building from source of pip (a directory is built in any case)"
            }
        }
    });
    let output = json!({
        "type": "object",
        "required": ["manager", "project", "installed", "changedFiles", "output"],
        "properties": {
            "manager": {"type": "string", "description": "The package manager"},
            "project": {"type": "string", "description": "The project's directory, relative to the workspace"},
            "installed": {
                "type": "array",
                "description": "What was installed: what was asked for, and with pip also what it needs",
                "items": {
                    "type": "object",
                    "required": ["name", "source"],
                    "properties": {
                        "name": {"type": "string", "description": "Its name"},
                        "version": {"type": "string", "description": "The version that was chosen"},
                        "source": {"type": "string", "description": "The registry's host, or the path it came from"}
                    }
                }
            },
            "changedFiles": {
                "type": "array",
                "description": "Files of the project that record its packages and are not as they were",
                "items": {
                    "type": "object",
                    "required": ["path"],
                    "properties": {
                        "path": {"type": "string", "description": "Relative to the workspace"},
                        "diff": {"type": "string", "description": "What changed, as a unified diff"},
                        "summary": {"type": "string", "description": "What changed, in words, for files that only programs read"}
                    }
                }
            },
            "output": {"type": "string", "description": "The end of what the package manager printed"},
            "truncated": {"type": "boolean", "description": "True if not all of the above is there"}
        }
    });
    let mut spec = super::core_spec(
        "install_package",
        "Install package",
        "Add packages to a project in the workspace with its package manager: `cargo add`, `npm install`, `go get`, or `pip install` into \
         the project's `.venv`. A person is asked first. It runs in a sandbox that reaches the registry and nothing else; packages do not \
         run their code during installation unless `scripts` is set or pip has to build a directory. When it fails, manifest and lock stay as they were.",
        Effects::READ.and(Effects::WRITE).and(Effects::RUN),
        input,
        output,
    );
    spec.keywords = crate::builtin::keywords(&[
        "dependency",
        "dependencies",
        "library",
        "add a dependency",
        "cargo add",
        "npm install",
        "npm add",
        "pip install",
        "go get",
        "yarn add",
        "pnpm add",
        "crate",
        "module",
        "download a package",
    ]);
    spec.traits = Traits {
        destroys: Some(false),
        idempotent: Some(true),
        open_world: Some(true),
    };
    spec.roles = vec![("path".to_owned(), Role::WritePath)];
    spec.asks = Some("always; every time if packages may run their own code".to_owned());
    spec.examples = vec![
        json!({"packages": ["serde@1.0"], "manager": "cargo"}),
        json!({"packages": ["vitest"], "path": "web", "dev": true}),
        json!({"packages": ["./libs/mine"]}),
    ];
    spec.looks_first = true;
    spec.limits = LimitsPatch {
        timeout_ms: Some(as_millis(TIMEOUT)),
        ..LimitsPatch::default()
    };
    spec
}

impl Tool for InstallPackage {
    fn spec(&self) -> Arc<ToolSpec> {
        self.spec.clone()
    }

    fn look(&self, args: &JsonObject, _workspace: Option<&Workspace>) -> Look {
        let Ok(args) = super::arguments::<Args>(args.clone()) else {
            return Look::allow();
        };
        let refusal = args.packages.iter().find_map(|text| {
            let managers = match args.manager {
                Some(manager) => vec![manager],
                None => Manager::ALL.to_vec(),
            };
            let mut reasons = Vec::new();
            for manager in managers {
                // What one of them takes may be meant.
                reasons.push(Package::read(manager, text).err()?);
            }
            Some(package::refusal(text, reasons.first()?))
        });
        let (runner, operator) = (Arc::clone(&self.runner), Arc::clone(&self.operator));
        let look = Look::later(move |_, workspace| {
            // What cannot work needs no one's approval: the call will fail and say why. Without a basis it installs nothing, should it
            // work by then.
            let asked = || -> Option<Approval> {
                let workspace = workspace?;
                let plan = Plan::of(workspace, &args, &operator()).ok()?;
                check_hosts(&runner, &plan).ok()?;
                Some(plan.approval(workspace))
            };
            asked().unwrap_or_else(Approval::allow)
        });
        look.with_refusal(refusal)
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args: Args = super::arguments(args)?;
            let workspace = Arc::clone(cx.workspace()?);
            let operator = (self.operator)();
            let seen = Arc::clone(&workspace);
            let plan = cx
                .blocking(move || Plan::of(&seen, &args, &operator))
                .await?;
            check_hosts(&self.runner, &plan)?;
            if cx.basis() != Some(&plan.basis()) {
                return Err(ToolError::new(
                    ErrorCode::Conflict,
                    "the project or the settings of its package manager changed since it was approved; call again",
                ));
            }
            project::need(plan.manager.program())?;
            let ready = Arc::clone(&workspace);
            let job = cx.blocking(move || Job::prepare(&ready, plan)).await?;
            let job = Arc::new(job);
            job.put_back_unless_done(&cx, &workspace);
            let printed = self.run(&cx, &job).await?;
            let finished = Arc::clone(&job);
            let output = cx
                .blocking(move || finished.told(&workspace, &printed))
                .await?;
            job.done();
            if output.value["truncated"] == true {
                cx.note_truncated();
            }
            Ok(output)
        })
    }
}

/// Refuses a registry that no program may reach, whatever a person answers: one on this machine that the setting `allowedHosts` does not name.
fn check_hosts(runner: &Runner, plan: &Plan) -> Result<(), ToolError> {
    let hosts = &plan.registry.hosts;
    let egress = match runner.egress() {
        Some(egress) => egress,
        None if hosts.is_empty() => return Ok(()),
        None => return Err(crate::process::no_egress()),
    };
    for host in hosts {
        let (_, target) = Target::parse(&format!("http://{host}/"))?;
        if let HostVerdict::Refused(refusal) = egress.standing(&target) {
            let error = ToolError::from(EgressError::Refused(refusal));
            return Err(error.preceded_by(&format!(
                "the registry of {} cannot be reached: ",
                plan.manager.name()
            )));
        }
    }
    Ok(())
}

impl InstallPackage {
    /// Runs the steps of a job, one after the other.
    async fn run(&self, cx: &CallContext, job: &Job) -> Result<Printed, ToolError> {
        let steps = job.take_steps();
        let mut all = Printed::default();
        for Step { command, reports } in steps {
            let report = Arc::new(Mutex::new(String::new()));
            let mut run = Run::new(command);
            if reports {
                let (kept, call) = (Arc::clone(&report), cx.clone());
                run.sink = Some(Box::new(move |stream, text| match stream {
                    OutputStream::Stderr => call.emit_output(stream, text),
                    OutputStream::Stdout => {
                        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                        if kept.len() + text.len() <= MAX_REPORT {
                            kept.push_str(text);
                        }
                    }
                }));
            }
            let finished = self.runner.run(cx, job.wall(), run).await?;
            let words = match reports {
                true => &finished.stderr,
                false => &finished.output,
            };
            all.words.push_str(words);
            if !all.words.is_empty() && !all.words.ends_with('\n') {
                all.words.push('\n');
            }
            all.report =
                std::mem::take(&mut *report.lock().unwrap_or_else(PoisonError::into_inner));
            if finished.exit_code != 0 {
                return Err(job.failed(finished.exit_code, &all.words));
            }
        }
        Ok(all)
    }
}
