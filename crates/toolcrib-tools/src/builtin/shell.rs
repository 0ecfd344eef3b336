//! `shell`: a bash command in the workspace, behind the sandbox (S1; S3 `execute_bash`).
//!
//! Rules judge the command as it is written (`rules`); whatever they think, it cannot touch anything but the workspace.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::programs::{self, SandboxSettings};
use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::effects::Effects;
use crate::model::error::ToolError;
use crate::model::limits::{LimitsPatch, as_millis};
use crate::model::names::WireName;
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::process::{self, NetworkAccess, Run, Runner, Wall};
use crate::sandbox::{Command, Level};
use crate::spec::{Role, ToolSpec, Traits};
use crate::tool::{Look, Tool};
use crate::workspace::Workspace;

/// How long a command may run (S1, S3).
const TIMEOUT: Duration = Duration::from_secs(30);

/// The tool.
pub(crate) struct Shell {
    spec: Arc<ToolSpec>,
    runner: Arc<Runner>,
    wall: Wall,
}

impl Shell {
    pub(crate) fn new(settings: &SandboxSettings, runner: Arc<Runner>) -> Self {
        Shell {
            spec: Arc::new(spec(settings.network)),
            runner,
            wall: Wall {
                network: settings.network.into(),
                cpu: Some(settings.cpu_time()),
                ..Wall::of(settings.shell.unwrap_or(Level::Process))
            },
        }
    }
}

fn spec(network: NetworkAccess) -> ToolSpec {
    let reaches = programs::reaches(network);
    let input = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["command"],
        "properties": {
            "command": {
                "type": "string",
                "minLength": 1,
                "maxLength": process::MAX_ARGUMENT,
                "description": "The bash command to execute; pipes, loops and several lines are fine"
            },
            "cwd": {
                "type": "string",
                "description": "Directory to run it in, relative to the workspace; the workspace itself if left out"
            }
        }
    });
    let mut spec = super::core_spec(
        "shell",
        "Shell",
        &format!(
            "Execute a bash command in the workspace. It runs in a sandbox: it can read programs and libraries, read and write the \
         workspace, and {reaches}. Returns what it printed and its exit code, which is not an error if it is not 0."
        ),
        Effects::READ.and(Effects::WRITE).and(Effects::RUN),
        input,
        process::output_schema(),
    );
    spec.keywords = crate::builtin::keywords(&[
        "bash",
        "terminal",
        "command",
        "command line",
        "console",
        "execute",
        "exec",
        "process",
        "program",
        "script",
        "sh",
        "run a command",
    ]);
    spec.traits = Traits {
        destroys: Some(true),
        idempotent: Some(false),
        open_world: None,
    };
    spec.aliases = vec![WireName::parse("execute_bash").expect("a valid name")];
    spec.synonyms = vec![("working_directory".to_owned(), "cwd".to_owned())];
    spec.roles = vec![
        ("command".to_owned(), Role::Shell),
        ("cwd".to_owned(), Role::Directory),
    ];
    spec.asks = Some(
        "when a rule cannot tell what the command does; every time without isolation".to_owned(),
    );
    spec.examples = vec![
        json!({"command": "ls -la"}),
        json!({"command": "grep -rn TODO . | head -20", "cwd": "src"}),
    ];
    spec.limits = LimitsPatch {
        timeout_ms: Some(as_millis(TIMEOUT)),
        ..LimitsPatch::default()
    };
    spec
}

#[derive(Debug, Deserialize)]
struct Args {
    command: String,
    cwd: Option<String>,
}

impl Tool for Shell {
    fn spec(&self) -> Arc<ToolSpec> {
        self.spec.clone()
    }

    fn look(&self, args: &JsonObject, _workspace: Option<&Workspace>) -> Look {
        let command = args
            .get("command")
            .and_then(|command| command.as_str())
            .unwrap_or_default();
        let effect = format!(
            "run `{}` {}",
            text::shorten(command, 2000),
            programs::behind(&self.wall)
        );
        programs::approval_of(&self.wall).with_effect(effect).into()
    }

    fn pins_files(&self) -> bool {
        self.runner.can_replace_files(self.wall.level)
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args: Args = super::arguments(args)?;
            programs::fits("shell", "/command", &args.command)?;
            // `--`: a command that starts with a dash is not an option of bash.
            let mut command = Command::new("bash").args(["-c", "--", &args.command]);
            if let Some(cwd) = &args.cwd {
                command = command.directory(programs::directory(&cx, cwd)?);
            }
            let finished = self.runner.run(&cx, &self.wall, Run::new(command)).await?;
            Ok(finished.into_output())
        })
    }
}
