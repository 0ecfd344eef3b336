//! YAML command tools (S0) at work: a [`Definition`] as a [`Tool`].
//!
//! ```text
//! publish       what models see                     arguments     transform, validation; paths
//! question      approval, shell text for the rules  command_reach permissions as a wall
//! surroundings  variables, directories; temp        programs      which command, what is missing
//! running       one program                         steps         several, as a graph
//! cleaning      what is done at the end             alias         another tool with presets
//! plan          the wall line by line, for `explain` hosts         who may be reached, judged ahead
//! doubts        what `check` says of the file on this machine
//! ```
//!
//! The invariant: what a definition says is enforced, or the call is refused with the reason.

mod alias;
mod arguments;
mod cleaning;
mod code_arguments;
mod command_reach;
mod doubts;
mod hosts;
mod links;
mod paths;
mod plan;
mod programs;
mod publish;
mod question;
mod running;
pub(crate) mod steps;
mod surroundings;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::call::context::CallContext;
use crate::definition::{Action, Body, Definition, LinkFault, Permission, Step};
use crate::model::JsonObject;
use crate::model::effects::Approval;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::Slug;
use crate::model::outcome::ToolOutput;
use crate::model::sandbox_plan::SandboxPlan;
use crate::model::text;
use crate::process::Runner;
use crate::schema::Fault;
use crate::secret::SecretStore;
use crate::spec::ToolSpec;
use crate::tool::{Look, Tool};
use crate::workspace::Workspace;
use alias::Alias;
use arguments::Checks;
use running::{How, Running, fields};
use steps::{OnFailure, effective_effects};

/// What models would see of a definition, wherever its file is. `lookup` knows the other tools there are: an alias is published with
/// what its base takes.
pub fn spec_of(
    definition: &Definition,
    lookup: &dyn Fn(&str) -> Option<Arc<ToolSpec>>,
) -> Result<ToolSpec, ToolError> {
    let bundle = Slug::from_wire(&definition.name);
    let (_, spec) = published(definition, bundle, lookup)?;
    Ok(spec)
}

fn published(
    definition: &Definition,
    bundle: Slug,
    lookup: &dyn Fn(&str) -> Option<Arc<ToolSpec>>,
) -> Result<(Option<Alias>, ToolSpec), ToolError> {
    let effects = effective_effects(definition, |name| Some(lookup(name)?.effects));
    match &definition.body {
        Body::Alias {
            base,
            presets,
            defaults,
        } => {
            let base = lookup(base).ok_or_else(|| {
                let why = format!("its base tool `{base}` is not there");
                publish::unpublishable(&definition.name, &why)
            })?;
            let (alias, spec) =
                Alias::new(definition, bundle, &base, (presets, defaults), effects)?;
            Ok((Some(alias), spec))
        }
        Body::Command(_) | Body::Commands { .. } | Body::Steps(_) => {
            let mut spec = publish::spec(definition, bundle, effects)?;
            spec.looks_first |= definition.requires_approval.evaluates();
            Ok((None, spec))
        }
    }
}

/// What all command tools of a registry share.
#[doc(hidden)]
pub struct CommandSettings {
    /// Starts their programs.
    #[doc(hidden)]
    pub runner: Arc<Runner>,
    /// What `elevated` goes through (`sandbox.sudo`); without it such tools are refused.
    #[doc(hidden)]
    pub sudo: Option<PathBuf>,
    /// What programs do not inherit, by name and by value.
    #[doc(hidden)]
    pub secrets: Option<SecretStore>,
}

/// A YAML command tool.
#[doc(hidden)]
pub struct CommandTool {
    definition: Arc<Definition>,
    settings: Arc<CommandSettings>,
    spec: Arc<ToolSpec>,
    checks: Checks,
    /// What it stands for, if it is an alias.
    alias: Option<Alias>,
    /// Its steps, if it has several.
    steps: Option<Arc<[Step]>>,
}

impl CommandTool {
    /// The tool of a definition, in the bundle of its scope (`local`, `user`, `global`). The error says what about it cannot be
    /// published.
    ///
    /// `lookup` knows the tools that it may use: an alias is published with what its base takes, a tool with steps with the effects
    /// of what they use. When one of those changes, it is made again.
    #[doc(hidden)]
    pub fn linked(
        definition: Arc<Definition>,
        bundle: Slug,
        settings: Arc<CommandSettings>,
        lookup: &dyn Fn(&str) -> Option<Arc<ToolSpec>>,
    ) -> Result<Self, ToolError> {
        let steps = match &definition.body {
            Body::Steps(steps) => Some(steps.as_slice().into()),
            Body::Command(_) | Body::Commands { .. } | Body::Alias { .. } => None,
        };
        let writes = |permission: &Permission| matches!(permission, Permission::Write(_));
        if definition.declared_effects().is_read_only()
            && definition.security.permissions.iter().any(writes)
        {
            let why = "it is tagged only `read`, and a `filesystem:write` permission lets it write";
            return Err(publish::unpublishable(&definition.name, why));
        }
        if let Some(fault) = links::faults(&definition, lookup).first() {
            return Err(publish::unpublishable(&definition.name, &fault.message));
        }
        let (alias, spec) = published(&definition, bundle, lookup)?;
        let checks = Checks::of(&definition)
            .map_err(|why| publish::unpublishable(&definition.name, &why))?;
        Ok(CommandTool {
            definition,
            settings,
            spec: Arc::new(spec),
            checks,
            alias,
            steps,
        })
    }

    /// Everything that is wrong with how a definition uses tools that are there, for which [`linked`](Self::linked) refuses it.
    #[doc(hidden)]
    pub fn link_faults(
        definition: &Definition,
        lookup: &dyn Fn(&str) -> Option<Arc<ToolSpec>>,
    ) -> Vec<LinkFault> {
        let mut faults = links::faults(definition, lookup);
        if let Body::Alias { .. } = definition.body
            && faults.is_empty()
            && let Err(error) = spec_of(definition, lookup)
        {
            let at = definition.uses_at.first().cloned().unwrap_or_default();
            faults.push(LinkFault {
                code: "bad-argument",
                span: at.arguments,
                message: error.message().to_owned(),
            });
        }
        faults
    }

    /// What a call may read or write outside of the workspace, links followed, and which hosts it may reach, in words.
    #[doc(hidden)]
    pub fn beyond_workspace(
        definition: &Definition,
        args: &JsonObject,
        workspace: &Workspace,
    ) -> Vec<String> {
        let values = surroundings::judged_values(definition, args, Some(workspace));
        command_reach::CommandReach::of(definition, &values, Some(workspace)).in_words()
    }

    /// Anything that is missing for it to run on this machine: another platform, an interpreter.
    #[doc(hidden)]
    pub fn missing(definition: &Definition) -> Option<String> {
        programs::missing(definition)
    }

    async fn run(&self, args: JsonObject, cx: CallContext) -> Result<ToolOutput, ToolError> {
        if let Some(alias) = &self.alias {
            return alias.call(&self.definition, args, &cx).await;
        }
        let running = Arc::new(self.prepare(args, cx).await?);
        cleaning::leave(&running);
        let Some(steps) = &self.steps else {
            return self.run_command(&running).await;
        };
        let on_failure = match self.definition.ignore_errors {
            true => OnFailure::GoOn,
            false => OnFailure::Stop,
        };
        let (cx, values) = (running.cx.clone(), running.values.clone());
        let ended = steps::run(&cx, Arc::clone(steps), values, on_failure, running).await;
        ended.into_result()
    }

    /// With `ignore-errors` a command that was started and failed is a success with its exit code.
    fn forgiven(&self, error: ToolError) -> Result<ToolOutput, ToolError> {
        let fields = error
            .details()
            .filter(|_| self.definition.ignore_errors && error.code() == ErrorCode::ExecutionError);
        let fields: JsonObject = FIELDS
            .iter()
            .filter_map(|field| Some(((*field).to_owned(), fields?.get(*field)?.clone())))
            .collect();
        match fields.len() == FIELDS.len() {
            true => Ok(output(fields)),
            false => Err(error),
        }
    }

    async fn prepare(&self, args: JsonObject, cx: CallContext) -> Result<Running, ToolError> {
        let (definition, settings) = (Arc::clone(&self.definition), Arc::clone(&self.settings));
        let looks_at_files = surroundings::needs_temp(&definition)
            || definition.paths.working_directory.is_some()
            || !definition.security.permissions.is_empty();
        let make = {
            let cx = cx.clone();
            move || Running::new(&definition, &settings, &args, cx)
        };
        match looks_at_files {
            true => cx.blocking(make).await,
            false => make(),
        }
    }

    async fn run_command(&self, running: &Running) -> Result<ToolOutput, ToolError> {
        let definition = &self.definition;
        let program = programs::command_here(&definition.body).ok_or_else(|| {
            let why = programs::missing(definition).unwrap_or_default();
            ToolError::new(
                ErrorCode::ToolUnavailable,
                format!("`{}`: {why}", definition.name),
            )
        })?;
        let ran = running.run(program, &running.values, How::default()).await;
        let finished = match ran {
            Ok(finished) => finished,
            Err(error) => return self.forgiven(error),
        };
        if finished.is_output_cut {
            running.cx.note_truncated();
        }
        let exit_code = finished.exit_code;
        let fields = fields(finished);
        if exit_code == 0 || definition.ignore_errors {
            return Ok(output(fields));
        }
        let said = fields["output"]
            .as_str()
            .and_then(|output| output.lines().last());
        let said = said.map_or(String::new(), |line| {
            format!(": {}", text::shorten(line.trim(), 200))
        });
        let mut message = format!(
            "`{}` ended with exit code {exit_code}{said}",
            definition.name
        );
        let complains = |field: &str| {
            let text = fields[field].as_str();
            text.is_some_and(|text| text.contains("Read-only file system"))
        };
        if running.wall.read_only && (complains("stderr") || complains("stdout")) {
            message.push_str(
                "; it is tagged only `read`, so it cannot write the workspace: if it should, add the tag `write`",
            );
        }
        Err(fields
            .into_iter()
            .fold(ToolError::failed(message), |error, (key, value)| {
                error.with_detail(key, value)
            }))
    }
}

/// Marks the place of the fields that a value has in an error's details.
const FIELDS: [&str; 4] = ["output", "stdout", "stderr", "exitCode"];

/// The output of a tool with these fields: its text is what was printed.
fn output(fields: JsonObject) -> ToolOutput {
    let text = fields
        .get("output")
        .and_then(|output| output.as_str())
        .unwrap_or_default()
        .to_owned();
    ToolOutput::value(fields).with_text(text)
}

impl Tool for CommandTool {
    fn spec(&self) -> Arc<ToolSpec> {
        Arc::clone(&self.spec)
    }

    fn look(&self, args: &JsonObject, workspace: Option<&Workspace>) -> Look {
        if self.alias.is_some() {
            // The call of the base is asked about, not this one.
            let effect = format!("call `{}`", self.spec.name);
            return Approval::allow().with_effect(effect).into();
        }
        question::look(
            &self.definition,
            &self.settings,
            self.spec.effects,
            args,
            workspace,
        )
    }

    fn refine(&self, args: JsonObject, edited: bool) -> Result<JsonObject, Vec<Fault>> {
        if self.alias.is_some() {
            return Ok(args);
        }
        arguments::refine(&self.definition, &self.checks, args, edited)
    }

    fn pins_files(&self) -> bool {
        let level = command_reach::level(&self.definition);
        // A tool that it uses may change a file that a later step runs.
        let uses_tools = match &self.definition.body {
            Body::Steps(steps) => steps
                .iter()
                .any(|step| matches!(step.action, Action::UseTool { .. })),
            _ => self.alias.is_some(),
        };
        !uses_tools && self.settings.runner.can_replace_files(level)
    }

    fn sandbox_plan(
        &self,
        args: &JsonObject,
        workspace: Option<&Workspace>,
    ) -> Option<SandboxPlan> {
        if self.alias.is_some() {
            return None;
        }
        Some(plan::plan(
            &self.definition,
            &self.settings,
            args,
            workspace,
        ))
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(args, cx))
    }
}
