//! `run_code`: a program in Python or bash, given as text, behind the strongest wall there is here (S2).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::programs::{self, SandboxSettings};
use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::effects::{Approval, Effects, Verdict};
use crate::model::error::ToolError;
use crate::model::limits::LimitsPatch;
use crate::model::outcome::ToolOutput;
use crate::process::{self, NetworkAccess, Run, Runner, Wall};
use crate::sandbox::{Command, Level};
use crate::shell;
use crate::spec::{Role, ToolSpec, Traits};
use crate::tool::{Look, Tool};
use crate::workspace::Workspace;

/// How long a program may run when nothing is said, and the most that can be asked for, in seconds.
const TIMEOUT: u64 = 60;
const MAX_TIMEOUT: u64 = 600;

/// The tool.
pub(crate) struct RunCode {
    spec: Arc<ToolSpec>,
    runner: Arc<Runner>,
    wall: Wall,
}

impl RunCode {
    pub(crate) fn new(settings: &SandboxSettings, runner: Arc<Runner>) -> Self {
        RunCode {
            spec: Arc::new(spec(settings.network)),
            runner,
            wall: Wall {
                may_fall_back: settings.code.is_none(),
                network: settings.network.into(),
                cpu: Some(settings.cpu_time()),
                ..Wall::of(settings.code.unwrap_or(Level::Container))
            },
        }
    }
}

fn spec(network: NetworkAccess) -> ToolSpec {
    let reaches = programs::reaches(network);
    let input = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["language", "code"],
        "properties": {
            "language": {"type": "string", "enum": ["python", "bash"], "description": "The language of the code"},
            "code": {
                "type": "string",
                "minLength": 1,
                "maxLength": process::MAX_ARGUMENT,
                "description": "The program to run"
            },
            "args": {
                "type": "array",
                "items": {"type": "string"},
                "maxItems": 1000,
                "description": "Command-line arguments: sys.argv[1:] in Python, $1 and on in bash"
            },
            "env": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "maxProperties": 200,
                "description": "Environment variables to set"
            },
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": MAX_TIMEOUT,
                "default": TIMEOUT,
                "description": "How long it may run, in seconds"
            }
        }
    });
    let mut spec = super::core_spec(
        "run_code",
        "Run code",
        &format!(
            "Run a Python or bash program in a sandbox: it can read and write the workspace, nothing else of this machine, and {reaches}; memory, processes and time are limited. Returns what it printed and its exit code."
        ),
        Effects::READ.and(Effects::WRITE).and(Effects::RUN),
        input,
        process::output_schema(),
    );
    spec.keywords = crate::builtin::keywords(&[
        "execute",
        "evaluate",
        "calculate",
        "compute",
        "python",
        "javascript",
        "node",
        "script",
        "snippet",
        "repl",
        "interpreter",
        "math",
    ]);
    spec.traits = Traits {
        destroys: Some(true),
        idempotent: Some(false),
        open_world: None,
    };
    spec.roles = vec![(
        "code".to_owned(),
        Role::Code {
            language: "language".to_owned(),
        },
    )];
    spec.asks = Some(
        "when a rule cannot tell what bash code does, or a variable changes what runs; every time without isolation".to_owned(),
    );
    spec.examples = vec![
        json!({"language": "python", "code": "print(sum(range(10)))"}),
        json!({"language": "bash", "code": "echo \"hello $1\"", "args": ["world"], "timeout": 5}),
    ];
    spec.limits = LimitsPatch {
        timeout_ms: Some(MAX_TIMEOUT * 1000),
        ..LimitsPatch::default()
    };
    spec
}

#[derive(Debug, Deserialize)]
struct Args {
    language: Language,
    code: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    timeout: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Language {
    Python,
    Bash,
}

impl Tool for RunCode {
    fn spec(&self) -> Arc<ToolSpec> {
        self.spec.clone()
    }

    fn look(&self, args: &JsonObject, _workspace: Option<&Workspace>) -> Look {
        let approval = match programs::approval_of(&self.wall) {
            free if free.verdict == Verdict::Allow => {
                telling_variable(args).map_or(free, Approval::ask)
            }
            asks => asks,
        };
        let word = |name: &str| args.get(name).and_then(|value| value.as_str());
        let lines = word("code").map_or(0, |code| code.lines().count());
        let lines = match lines {
            1 => "one line".to_owned(),
            lines => format!("{lines} lines"),
        };
        let effect = format!(
            "run {lines} of {} {}",
            word("language").unwrap_or("code"),
            programs::behind(&self.wall)
        );
        approval.with_effect(effect).into()
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
            let (command, timeout) = command(args)?;
            let finished = self
                .runner
                .run(
                    &cx,
                    &self.wall,
                    Run {
                        timeout: Some(timeout),
                        ..Run::new(command)
                    },
                )
                .await?;
            Ok(finished.into_output())
        })
    }
}

/// Why a variable makes something else of the code that the rules judged, if one does: what the shell reader says of a command
/// that is given the same variable.
fn telling_variable(args: &JsonObject) -> Option<String> {
    let env = args.get("env")?.as_object()?;
    env.iter().find_map(|(name, value)| {
        let pair = format!("{name}={}", value.as_str()?).replace('\'', r"'\''");
        let script = shell::read(&format!("env '{pair}' true"));
        let doubt = script.doubts.into_iter().next()?;
        Some(format!("in `env`: {}", doubt.reason))
    })
}

fn command(args: Args) -> Result<(Command, Duration), ToolError> {
    programs::fits("run_code", "/code", &args.code)?;
    for (index, argument) in args.args.iter().enumerate() {
        programs::fits("run_code", &format!("/args/{index}"), argument)?;
    }
    let mut command = match args.language {
        // `-u`: what it prints is seen when it is printed, also if the program is ended.
        Language::Python => Command::new("python3").args(["-u", "-c", &args.code]),
        // The word after the code is its `$0`.
        Language::Bash => Command::new("bash").args(["-c", "--", &args.code, "bash"]),
    };
    command = command.args(&args.args);
    for (name, value) in &args.env {
        let pointer = format!("/env/{}", name.replace('~', "~0").replace('/', "~1"));
        programs::fits("run_code", &pointer, value)?;
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(super::invalid(
                "run_code",
                &pointer,
                "is not a name for an environment variable",
            ));
        }
        command = command.env(name, value);
    }
    let seconds = args.timeout.unwrap_or(TIMEOUT as f64);
    let timeout = Duration::try_from_secs_f64(seconds)
        .map_err(|_| super::invalid("run_code", "/timeout", "is not a number of seconds"))?;
    Ok((command, timeout.max(Duration::from_millis(1))))
}
