//! `format_code`: the formatter of the project over a file or a directory, or what it would change.
//!
//! ```text
//! choose     which formatters work on the path           survey   which files there are, and which a formatter means
//! formatter  how each is asked                           apply    one run, one file
//! told       the jobs one after the other, and their report
//! ```
//!
//! Settings of a workspace can be programs (a `.prettierrc.js`, plug-ins): whatever a formatter reads runs in the sandbox, without
//! network. Files are written by the workspace alone, each whole and over what was read; see `apply.rs`.

mod apply;
mod choose;
mod formatter;
mod report;
mod survey;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::Family;
use super::programs::{self, SandboxSettings};
use super::tree::Permission;
use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::effects::{Approval, Effects};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::{LimitsPatch, as_millis};
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::process::{Runner, Wall};
use crate::sandbox::Level;
use crate::spec::{Role, ToolSpec, Traits};
use crate::tool::{Look, Tool};
use crate::workspace::Workspace;
use apply::Shop;
use choose::Plan;
use formatter::Formatter;
use report::FormatReport;

/// How long a call may take.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The tool.
pub(super) fn tools(_sandbox: &SandboxSettings, runner: &Arc<Runner>) -> Family {
    vec![(Arc::new(FormatCode::new(Arc::clone(runner))), None)]
}

struct FormatCode {
    spec: Arc<ToolSpec>,
    runner: Arc<Runner>,
    wall: Wall,
}

impl FormatCode {
    fn new(runner: Arc<Runner>) -> Self {
        FormatCode {
            spec: Arc::new(spec()),
            runner,
            // Whatever the setting for `shell` is: no one is asked, so there is always a wall.
            wall: Wall::of(Level::Process),
        }
    }
}

fn spec() -> ToolSpec {
    let input = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "path": {"type": "string", "description": "File or directory to format, relative to the workspace; the workspace itself if left out"},
            "check": {"type": "boolean", "default": false, "description": "Write nothing; only say what would change"},
            "formatter": {
                "type": "string",
                "enum": Formatter::ALL.map(Formatter::name),
                "description": "The formatter to use; by the project and the files if left out"
            }
        }
    });
    let output = json!({
        "type": "object",
        "required": ["formatter", "changed", "unchanged", "errors", "truncated"],
        "properties": {
            "formatter": {"type": "string", "description": "What formatted; several with commas between them"},
            "changed": {
                "type": "array",
                "description": "Files that changed, or with `check` would change",
                "items": {
                    "type": "object",
                    "required": ["path"],
                    "properties": {
                        "path": {"type": "string", "description": "Relative to the workspace"},
                        "diff": {"type": "string", "description": "What changed, as a unified diff; left out when there are too many"}
                    }
                }
            },
            "unchanged": {"type": "integer", "description": "How many files were right already"},
            "errors": {
                "type": "array",
                "description": "Files that could not be formatted and are as they were",
                "items": {
                    "type": "object",
                    "required": ["path", "message"],
                    "properties": {
                        "path": {"type": "string", "description": "Relative to the workspace"},
                        "line": {"type": "integer", "description": "The line that cannot be read"},
                        "message": {"type": "string", "description": "The problem"}
                    }
                }
            },
            "skipped": {
                "type": "array",
                "description": "Formatters that the project wants and that are not installed",
                "items": {
                    "type": "object",
                    "required": ["formatter", "reason"],
                    "properties": {
                        "formatter": {"type": "string", "description": "Its name"},
                        "reason": {"type": "string", "description": "Why it did not run, and how to get it"}
                    }
                }
            },
            "truncated": {"type": "boolean", "description": "True if files, problems or diffs were left out; call again with a narrower path"}
        }
    });
    let mut spec = super::core_spec(
        "format_code",
        "Format code",
        "Format code in the workspace with the formatter of its project: rustfmt, ruff or black, prettier, gofmt. Says which files \
         changed and which could not be read. With `check` nothing is written and the changes are shown. Runs in a sandbox without network.",
        Effects::READ.and(Effects::WRITE).and(Effects::RUN),
        input,
        output,
    );
    spec.keywords = crate::builtin::keywords(&[
        "rustfmt",
        "cargo fmt",
        "ruff",
        "black",
        "prettier",
        "gofmt",
        "style",
        "beautify",
        "prettify",
        "tidy",
        "indent",
        "pretty print",
        "lint",
    ]);
    spec.traits = Traits {
        destroys: Some(false),
        idempotent: Some(true),
        open_world: Some(false),
    };
    spec.roles = vec![("path".to_owned(), Role::WritePath)];
    spec.examples = vec![
        json!({"path": "src", "check": true}),
        json!({}),
        json!({"path": "web/app.ts", "formatter": "prettier"}),
    ];
    spec.limits = LimitsPatch {
        timeout_ms: Some(as_millis(TIMEOUT)),
        ..LimitsPatch::default()
    };
    spec
}

#[derive(Debug, Deserialize)]
struct Args {
    path: Option<String>,
    #[serde(default)]
    check: bool,
    formatter: Option<Formatter>,
}

impl Tool for FormatCode {
    fn spec(&self) -> Arc<ToolSpec> {
        self.spec.clone()
    }

    fn look(&self, args: &JsonObject, _workspace: Option<&Workspace>) -> Look {
        let word = |name: &str| args.get(name).and_then(|value| value.as_str());
        let what = word("path").map_or_else(
            || "the workspace".to_owned(),
            |path| format!("`{}`", text::shorten(path, 200)),
        );
        let by = word("formatter").unwrap_or("the formatters of its projects");
        let behind = programs::behind(&self.wall);
        let is_check = args.get("check").is_some_and(|check| check == true);
        let approval = Approval::allow().with_effect(match is_check {
            true => format!("see what {by} would change in {what}, writing nothing; {behind}"),
            false => format!("format {what} with {by}, {behind}"),
        });
        approval.into()
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let permission = Permission::of(&cx, args.clone());
            let args: Args = super::arguments(args)?;
            let workspace = Arc::clone(cx.workspace()?);
            let path = workspace.path(args.path.as_deref().unwrap_or("."))?;
            let looked = Arc::clone(&workspace);
            let asked = path.clone();
            let plan = cx
                .blocking(move || Plan::of(&looked, &asked, args.formatter, &permission))
                .await?;
            if plan.jobs.is_empty() {
                return Err(nothing_to_do(&plan, path.as_str(), args.formatter));
            }
            let shop = Shop {
                runner: Arc::clone(&self.runner),
                wall: self.wall.clone(),
                cx: cx.clone(),
                workspace,
                check: args.check,
            };
            let mut told = FormatReport::of(&plan);
            for job in &plan.jobs {
                told.work(&shop, job).await?;
            }
            Ok(told.into_output(&cx, args.check))
        })
    }
}

/// Why nothing can be formatted.
fn nothing_to_do(plan: &Plan, path: &str, wanted: Option<Formatter>) -> ToolError {
    if plan.missing.is_empty() {
        let (would, why) = match wanted {
            Some(formatter) => (formatter.name(), ""),
            None => (
                "rustfmt, ruff, black, prettier or gofmt",
                ": no files in Rust, Python or Go, and no project with a `package.json`",
            ),
        };
        return ToolError::failed(format!(
            "there is nothing in `{path}` that {would} would format{why}; name a file, or another directory"
        ));
    }
    let mut reasons = plan.missing.iter().copied().map(choose::missing);
    match (reasons.next(), reasons.next()) {
        (Some(only), None) => only,
        (first, second) => {
            let all = first.into_iter().chain(second).chain(reasons);
            let all: Vec<String> = all.map(|error| error.message().to_owned()).collect();
            ToolError::new(ErrorCode::ToolUnavailable, all.join("; "))
        }
    }
}
