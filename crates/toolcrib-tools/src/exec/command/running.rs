//! A call of a command tool under way: what all its programs share, and how one of them is run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::arguments::of_parameter;
use super::cleaning::Temp;
use super::command_reach::{self, CommandReach};
use super::steps::{Attempt, Programs, Ran};
use super::{CommandSettings, surroundings};
use crate::call::context::CallContext;
use crate::definition::{Definition, Privilege, Program};
use crate::model::JsonObject;
use crate::model::error::{ErrorCode, ToolError};
use crate::process::{CallTemp, Dialogue, Finished, Run, Sink, Wall, inherited};
use crate::sandbox::{Command, Stdin};
use crate::schema::Fault;
use crate::template::{Invocation, VALUES_DIRECTORY, ValueFault, Values};

/// What all programs of a call share.
pub(super) struct Running {
    pub(super) definition: Arc<Definition>,
    pub(super) settings: Arc<CommandSettings>,
    pub(super) cx: CallContext,
    pub(super) values: Values,
    pub(super) wall: Wall,
    pub(super) directory: Option<PathBuf>,
    pub(super) temp: Option<Temp>,
}

/// How a program is run.
#[derive(Default)]
pub(super) struct How {
    pub(super) timeout: Option<Duration>,
    pub(super) keep: Option<u64>,
    pub(super) sink: Option<Sink>,
    /// Whether it runs although the call is over, and reads nothing and talks to no one.
    pub(super) cleans_up: bool,
}

impl Running {
    /// Works out where and behind what wall the programs of a call run, and makes its temporary directory. Blocks.
    pub(super) fn new(
        definition: &Arc<Definition>,
        settings: &Arc<CommandSettings>,
        args: &JsonObject,
        cx: CallContext,
    ) -> Result<Self, ToolError> {
        let workspace = Arc::clone(cx.workspace()?);
        let temp = match surroundings::needs_temp(definition) {
            true => Some(Temp::new(&workspace)?),
            false => None,
        };
        let root = temp
            .as_ref()
            .map_or(Path::new(surroundings::TEMP_SHOWN), Temp::path);
        let values = surroundings::values(definition, args, Some(&workspace), root)?;
        if let Some(temp) = &temp {
            temp.make_inner(&values)?;
        }
        let reach = CommandReach::of(definition, &values, Some(&workspace));
        if cx.basis().is_some_and(|basis| *basis != reach.basis()) {
            return Err(ToolError::failed(
                "what the tool reaches beyond the workspace changed while the call waited for approval; call again",
            ));
        }
        let mut wall = command_reach::wall(definition, settings, &reach, &workspace)?;
        let temp_path = temp.as_ref().map(Temp::path);
        let directory =
            surroundings::working_directory(definition, &values, &workspace, &reach, temp_path)?;
        wall.write.extend(temp_path.map(Path::to_owned));
        Ok(Running {
            definition: Arc::clone(definition),
            settings: Arc::clone(settings),
            cx,
            values,
            wall,
            directory,
            temp,
        })
    }

    /// Runs a program once. Any exit by itself is `Ok`.
    pub(super) async fn run(
        &self,
        program: &Program,
        values: &Values,
        how: How,
    ) -> Result<Finished, ToolError> {
        let invocation = program
            .code
            .prepare(values)
            .map_err(|faults| self.refused(faults))?;
        let large = self.large_values(&invocation).await?;
        let (command, wall) = self.command(invocation, values, large.as_ref(), how.cleans_up)?;
        let (dialogue, passing) = match how.cleans_up {
            true => (None, None),
            false => self.dialogue(),
        };
        let run = Run {
            timeout: how.timeout,
            keep: how.keep,
            sink: how.sink,
            outlives_call: how.cleans_up,
            dialogue,
            ..Run::new(command)
        };
        let ended = self.settings.runner.run(&self.cx, &wall, run).await;
        drop((passing, large));
        ended
    }

    /// A directory with the values that no variable can carry.
    async fn large_values(&self, invocation: &Invocation) -> Result<Option<CallTemp>, ToolError> {
        if invocation.files.is_empty() {
            return Ok(None);
        }
        let workspace = Arc::clone(self.cx.workspace()?);
        let files = invocation.files.clone();
        self.cx
            .blocking(move || {
                let directory = CallTemp::create(&workspace)?;
                for (name, bytes) in &files {
                    directory.write(name, bytes)?;
                }
                Ok(Some(directory))
            })
            .await
    }

    /// The caller's variables, without stored secrets: neither those of their names nor those with their values.
    fn inherited(&self) -> Vec<(OsString, OsString)> {
        let mut variables = inherited();
        if let Some(secrets) = &self.settings.secrets {
            variables.retain(|(name, value)| {
                !secrets.is_in_variable(&name.to_string_lossy(), &value.to_string_lossy())
            });
        }
        variables
    }

    /// What to start, and behind what wall.
    fn command(
        &self,
        invocation: Invocation,
        values: &Values,
        large: Option<&CallTemp>,
        cleans_up: bool,
    ) -> Result<(Command, Wall), ToolError> {
        let mut wall = self.wall.clone();
        let definition = &self.definition;
        let mut environment: Vec<(OsString, OsString)> = match definition.environment.inherit {
            true => self.inherited(),
            false => Vec::new(),
        };
        for (name, value) in &definition.environment.variables {
            environment.push((name.into(), value.render(values).into()));
        }
        let carried = invocation.environment.into_iter();
        environment.extend(carried.map(|(name, value)| (name.into(), value.into())));
        if let Some(large) = large {
            // Written to by no one; but only what may be written is shown to those with reduced rights as their own.
            wall.write.push(large.path().to_owned());
            environment.push((VALUES_DIRECTORY.into(), large.path().into()));
        }
        let mut command = match definition.security.privilege {
            Privilege::Elevated => self.elevated(&invocation.program, &environment)?,
            Privilege::SameAsUser | Privilege::Reduced => Command::new(&invocation.program),
        };
        command = command.args(invocation.arguments);
        for (name, value) in environment {
            command = command.env(name, value);
        }
        if let Some(directory) = &self.directory {
            command = command.directory(directory);
        }
        if let (Some(input), false) = (&definition.input, cleans_up) {
            command = command.stdin(Stdin::Bytes(input.render(values).into_bytes()));
        }
        Ok((command, wall))
    }

    /// The beginning of a command that runs as root. `sudo` lets no variables through, so that `env` sets them.
    fn elevated(
        &self,
        program: &str,
        environment: &[(OsString, OsString)],
    ) -> Result<Command, ToolError> {
        let sudo =
            self.settings.sudo.as_ref().ok_or_else(|| {
                ToolError::new(ErrorCode::ToolUnavailable, "no `sudo` is configured")
            })?;
        let set = environment.iter().map(|(name, value)| {
            let mut word = name.clone();
            word.push("=");
            word.push(value);
            word
        });
        Ok(Command::new(sudo)
            .args(["-n", "--", "env"])
            .args(set)
            .args([program]))
    }

    /// The terminal of an interactive tool, and what keeps it supplied with what is typed while it runs.
    fn dialogue(&self) -> (Option<Dialogue>, Option<Passing>) {
        let Some(interactive) = &self.definition.interactive else {
            return (None, None);
        };
        let (typed, passing) = match self.cx.typed() {
            Some(typed) => {
                let (to, from) = mpsc::channel(16);
                let passing = Passing(tokio::spawn(typed.pass_on(to)));
                (Some(from), Some(passing))
            }
            None => (None, None),
        };
        let dialogue = Dialogue {
            timeout: interactive.timeout,
            default_response: interactive.default_response.clone(),
            typed,
        };
        (Some(dialogue), passing)
    }

    /// Values that a command cannot take.
    fn refused(&self, found: Vec<ValueFault>) -> ToolError {
        let described: Vec<String> = found
            .iter()
            .map(|fault| format!("`{}` {}", named(fault), fault.message))
            .collect();
        let faults: Vec<Fault> = found.into_iter().filter_map(of_parameter).collect();
        let message = format!(
            "invalid arguments for `{}`: {}",
            self.definition.name,
            described.join("; ")
        );
        ToolError::new(ErrorCode::InvalidArguments, message).with_detail("faults", json!(faults))
    }
}

fn named(fault: &ValueFault) -> String {
    use crate::template::Reference;
    match &fault.reference {
        Reference::Parameter(name) => format!("/{name}"),
        Reference::Step { step, .. } => step.clone(),
        Reference::Variable(variable) => format!("{variable:?}"),
    }
}

/// Ends with the program it supplies.
struct Passing(tokio::task::JoinHandle<()>);

impl Drop for Passing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Programs for Running {
    fn run<'a>(
        &'a self,
        program: &'a Program,
        values: &'a Values,
        attempt: Attempt,
    ) -> BoxFuture<'a, Result<Ran, ToolError>> {
        Box::pin(async move {
            let how = How {
                timeout: attempt.timeout,
                keep: attempt.keep,
                sink: Some(attempt.sink),
                cleans_up: false,
            };
            let finished = Running::run(self, program, values, how).await?;
            Ok(Ran {
                output: finished.output,
                stdout: finished.stdout,
                stderr: finished.stderr,
                exit_code: i64::from(finished.exit_code),
                truncated: finished.is_output_cut,
            })
        })
    }
}

/// The published result of a command: `{output, stdout, stderr, exitCode}`.
pub(super) fn fields(finished: Finished) -> JsonObject {
    let mut fields = JsonObject::from_iter([
        ("output".to_owned(), Value::from(finished.output)),
        ("stdout".to_owned(), finished.stdout.into()),
        ("stderr".to_owned(), finished.stderr.into()),
        ("exitCode".to_owned(), finished.exit_code.into()),
    ]);
    if let Some(no_network) = &finished.no_network {
        fields.insert("note".to_owned(), no_network.by_permission().into());
    }
    fields
}
