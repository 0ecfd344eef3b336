//! An installation that is under way: what it needs is made ready before, what it did not finish is undone after.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::installed;
use super::manager::{Manager, Order, Step};
use super::plan::Plan;
use super::records::{Change, Changed, Records};
use crate::builtin::project;
use crate::call::context::CallContext;
use crate::model::error::ToolError;
use crate::model::outcome::ToolOutput;
use crate::process::{CallTemp, Reachable, Wall};
use crate::sandbox::Level;
use crate::workspace::Workspace;

/// How much of the manager's output is reported, in bytes from its end.
const MAX_TAIL: usize = 4 * 1024;

/// An installation that is under way.
pub(super) struct Job {
    plan: Plan,
    wall: Wall,
    steps: Mutex<Vec<Step>>,
    records: Records,
    /// The call's own directory; it goes when the call has ended.
    temp: Mutex<Option<CallTemp>>,
    is_done: AtomicBool,
}

/// What the manager printed.
#[derive(Debug, Default)]
pub(super) struct Printed {
    /// A report for us.
    pub(super) report: String,
    /// Words for people.
    pub(super) words: String,
}

impl Job {
    /// Copies what is put back after a failure, and makes everything ready. Blocks.
    pub(super) fn prepare(workspace: &Workspace, plan: Plan) -> Result<Self, ToolError> {
        let made = plan.makes_venv.then(|| project::join(&plan.root, ".venv"));
        let records = Records::copy(workspace, plan.manager, &plan.root, made)?;
        let temp = CallTemp::create(workspace)?;
        fill(&plan, temp.path()).map_err(|error| {
            ToolError::failed("the temporary directory of the call cannot be written")
                .caused_by(error)
        })?;
        let root = workspace.host_directory(&workspace.path(&plan.root)?)?;
        let steps = Order {
            manager: plan.manager,
            root: &root,
            packages: &plan.packages,
            dev: plan.dev,
            scripts: plan.scripts,
            makes_venv: plan.makes_venv,
            registry: &plan.registry,
            temp: temp.path(),
        }
        .steps();
        Ok(Job {
            wall: Wall {
                network: Reachable::hosts(&plan.registry.hosts),
                read: plan.registry.readable.clone(),
                write: vec![temp.path().to_owned()],
                ..Wall::of(Level::Process)
            },
            steps: Mutex::new(steps),
            records,
            plan,
            temp: Mutex::new(Some(temp)),
            is_done: AtomicBool::new(false),
        })
    }

    pub(super) fn wall(&self) -> &Wall {
        &self.wall
    }

    /// The steps, which are taken once.
    pub(super) fn take_steps(&self) -> Vec<Step> {
        std::mem::take(&mut *self.steps.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Says that it went well, so that nothing is put back.
    pub(super) fn done(&self) {
        self.is_done.store(true, Ordering::Release);
    }

    /// However the call ends: when nothing of it runs any more, what it did not finish is undone.
    pub(super) fn put_back_unless_done(
        self: &Arc<Self>,
        cx: &CallContext,
        workspace: &Arc<Workspace>,
    ) {
        let (job, workspace, call) = (Arc::clone(self), Arc::clone(workspace), cx.clone());
        cx.afterwards(async move {
            let work = move || {
                if !job.is_done.load(Ordering::Acquire) {
                    for problem in job.records.restore(&workspace) {
                        call.note_cleanup(problem);
                    }
                }
                drop(
                    job.temp
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .take(),
                );
            };
            // The runtime goes only with the whole process.
            let _ = tokio::task::spawn_blocking(work).await;
        });
    }

    /// The report of a successful installation. Blocks.
    pub(super) fn told(
        &self,
        workspace: &Workspace,
        printed: &Printed,
    ) -> Result<ToolOutput, ToolError> {
        let changed = self.records.changed(workspace)?;
        let mut installed =
            installed::installed(workspace, &self.plan, &printed.report, &printed.words);
        let is_cut = installed.len() > installed::MAX_TOLD;
        installed.truncate(installed::MAX_TOLD);
        let manager = self.plan.manager;
        let mut text = String::new();
        for package in &installed {
            let part = |key: &str| package[key].as_str().unwrap_or_default();
            text.push_str(&format!(
                "{} {} from {}\n",
                part("name"),
                part("version"),
                part("source")
            ));
        }
        if installed.is_empty() {
            text.push_str("everything was there already\n");
        }
        let files: Vec<Value> = changed
            .into_iter()
            .map(|Changed { path, change }| match change {
                Change::Diff(diff) => {
                    text.push_str(&diff);
                    json!({"path": path, "diff": diff})
                }
                Change::Summary(summary) => {
                    text.push_str(&format!("{path}: {summary}\n"));
                    json!({"path": path, "summary": summary})
                }
            })
            .collect();
        match (manager, self.plan.is_local()) {
            (Manager::Pip, _) => text.push_str(
                "pip records nothing in the project; add it to `requirements.txt` or `pyproject.toml`\n",
            ),
            (Manager::Cargo | Manager::Go, false) => text.push_str(
                "recorded, not downloaded for builds: programs in the sandbox have no network, so let a person run `cargo fetch` or `go mod download`\n",
            ),
            _ => {}
        }
        let value = json!({
            "manager": manager.name(),
            "project": self.plan.root,
            "installed": installed,
            "changedFiles": files,
            "output": tail(&printed.words),
            "truncated": is_cut,
        });
        Ok(ToolOutput::value(value).with_text(text))
    }

    /// Why it did not go well.
    pub(super) fn failed(&self, exit_code: i32, words: &str) -> ToolError {
        let plan = &self.plan;
        let manager = plan.manager.name();
        let is_telling = |line: &&str| {
            let line = line.to_ascii_lowercase();
            let of_npm = line.starts_with("npm error") && !line.starts_with("npm error code");
            line.starts_with("error") || of_npm || line.starts_with("go: ")
        };
        let lines = || words.lines().map(str::trim);
        let said = lines()
            .find(is_telling)
            .or_else(|| lines().rfind(|line| !line.is_empty()))
            .unwrap_or("it did not say why");
        let reached = match plan.is_local() {
        true => "packages of the workspace are installed without network, so what they need has to be there already".to_owned(),
        false => format!(
            "it could reach {} and no other host; another registry must be set in Toolcrib's settings",
            plan.registry.hosts.join(", ")
        ),
    };
        let notes: String = plan
            .registry
            .notes
            .iter()
            .map(|note| format!("; {note}"))
            .collect();
        let message = format!(
            "{manager} failed with exit code {exit_code}: {}; manifest and lock are as they were; {reached}{notes}",
            crate::model::text::shorten(said, 300)
        );
        ToolError::failed(message)
            .with_detail("exitCode", exit_code)
            .with_detail("output", tail(words))
    }
}

/// Writes what a manager finds in the call's directory. No one else has been there yet.
fn fill(plan: &Plan, temp: &Path) -> std::io::Result<()> {
    for (name, content) in &plan.registry.files {
        let file = temp.join(name);
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(file, content)?;
    }
    // Without network cargo goes by what is known here of the packages that the project has already.
    if plan.manager == Manager::Cargo
        && plan.is_local()
        && let Some(home) = std::env::var_os("HOME")
    {
        for name in ["registry", "git"] {
            let known = Path::new(&home).join(".cargo").join(name);
            if known.is_dir() {
                std::os::unix::fs::symlink(known, temp.join("cargo").join(name))?;
            }
        }
    }
    Ok(())
}

/// The end of a text, whole lines of it.
fn tail(words: &str) -> String {
    if words.len() <= MAX_TAIL {
        return words.to_owned();
    }
    let start = words.ceil_char_boundary(words.len() - MAX_TAIL);
    let start = words[start..].find('\n').map_or(start, |at| start + at + 1);
    words[start..].to_owned()
}
