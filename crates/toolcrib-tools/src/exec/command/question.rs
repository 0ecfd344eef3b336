//! What a person is asked about a call, and what the rules read of it.

use std::sync::Arc;

use super::command_reach::{self, CommandReach};
use super::hosts;
use super::programs::{self, Role, Used};
use super::surroundings::{TEMP_SHOWN, judged_directory, judged_values};
use super::{CommandSettings, programs::command_here};
use crate::definition::{
    Action, Body, Definition, Permission, Privilege, Required, RequiresApproval,
};
use crate::model::JsonObject;
use crate::model::effects::{Approval, Effects};
use crate::model::text;
use crate::sandbox::Level;
use crate::template::{Form, Reference, Values};
use crate::tool::{Look, ShellText};
use crate::workspace::Workspace;

/// Everything that is said of a call before it runs, by one reading of its values and of where they lead.
pub(super) fn look(
    definition: &Arc<Definition>,
    settings: &Arc<CommandSettings>,
    effects: Effects,
    args: &JsonObject,
    workspace: Option<&Workspace>,
) -> Look {
    let values = judged_values(definition, args, workspace);
    let reach = CommandReach::of(definition, &values, workspace);
    let refusal = command_reach::own_data_refusal(definition, settings, &reach, workspace)
        .or_else(|| hosts::refusal(definition, settings, &reach.hosts));
    let commands = commands(definition, &values, workspace);
    let (definition, settings) = (Arc::clone(definition), Arc::clone(settings));
    let mut look =
        Look::later(move |_, _| approval(&definition, &settings, effects, &values, &reach));
    look.commands = commands;
    look.with_refusal(refusal)
}

/// Whether a person has to agree: every time, unless `requires-approval` is the only reason.
fn approval(
    definition: &Definition,
    settings: &CommandSettings,
    effects: Effects,
    values: &Values,
    reach: &CommandReach,
) -> Approval {
    let effect = effect(definition, values, reach);
    let required = definition.requires_approval.of_call(values);
    let tags = match required {
        Required::No => Tags::DoNotCount,
        Required::Unsaid | Required::Yes(_) => Tags::Count,
    };
    let mut reasons = reasons(definition, effects, reach, tags);
    let every_time = !reasons.is_empty();
    if let Required::Yes(why) = required {
        reasons.push(why);
    }
    if reasons.is_empty() {
        return Approval::allow()
            .with_effect(effect)
            .with_basis(reach.basis());
    }
    if let Some(why) = command_reach::refusal(definition, settings, &reach.hosts) {
        reasons.push(format!(
            "even if approved it cannot run here: {}",
            why.message()
        ));
    }
    if let Some(said) = &definition.security.justification {
        reasons.push(format!("the tool says why: {}", text::shorten(said, 500)));
    }
    let ask = Approval::ask(reasons.join("; "))
        .with_effect(effect)
        .with_basis(reach.basis());
    match every_time {
        true => ask.every_time(),
        false => ask,
    }
}

/// Whether a person is asked because the tool does not say what it does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tags {
    Count,
    /// `requires-approval: false`, or its expression, says that this is not a reason.
    DoNotCount,
}

/// When the tool asks a person, in words, as far as its file says.
pub(super) fn asks(definition: &Definition, effects: Effects) -> Option<String> {
    let values = judged_values(definition, &JsonObject::new(), None);
    let reach = CommandReach::of(definition, &values, None);
    let required = &definition.requires_approval;
    let tags = match required {
        RequiresApproval::Never => Tags::DoNotCount,
        _ => Tags::Count,
    };
    let mut reasons = reasons(definition, effects, &reach, tags);
    if !reasons.is_empty() {
        if let RequiresApproval::If(condition) = required {
            reasons.push(format!(
                "`requires-approval` is `{}`, and decides about missing tags",
                condition.text()
            ));
        }
        return Some(format!("every time: {}", reasons.join("; ")));
    }
    if let Some(words) = required.in_words() {
        return Some(words);
    }
    let permissions = &definition.security.permissions;
    (!permissions.is_empty())
        .then(|| "when what it needs to read or write is beyond the workspace".to_owned())
}

fn reasons(
    definition: &Definition,
    effects: Effects,
    reach: &CommandReach,
    tags: Tags,
) -> Vec<String> {
    let mut reasons = Vec::new();
    let own = definition.declared_effects();
    if own.is_unknown() && tags == Tags::DoNotCount {
        // What it uses is asked about by itself.
    } else if own.is_unknown() {
        reasons.push(
            "the tool does not say whether it reads, writes or runs something (no tag `read`, `write` or `run`)"
                .to_owned(),
        );
    } else if effects.is_unknown() {
        reasons.push(
            "a tool that it uses is not there or does not say whether it reads, writes or runs something"
                .to_owned(),
        );
    }
    if definition.security.privilege == Privilege::Elevated {
        reasons.push("it runs with root's rights (`execution-privilege: elevated`)".to_owned());
    }
    if command_reach::level(definition) == Level::None {
        reasons.push("nothing holds its programs back (`isolation: none`)".to_owned());
    }
    let pasted: Vec<String> = definition
        .parameters
        .iter()
        .filter(|parameter| !parameter.escape_shell)
        .map(|parameter| format!("`{}`", parameter.name))
        .collect();
    let pastes = programs::used(definition)
        .iter()
        .any(|used| used.program.code.pastes());
    if pastes || !pasted.is_empty() {
        reasons.push(format!(
            "{} is read as part of the command (`escape-shell: false`)",
            pasted.join(" and ")
        ));
    }
    if programs::used(definition)
        .iter()
        .any(|used| used.program.code.runs_a_value())
    {
        reasons.push("the caller decides which program it runs".to_owned());
    }
    if !reach.is_empty() {
        reasons.push(format!(
            "it may {}, which is beyond the workspace",
            reach.in_words().join(", ")
        ));
    }
    reasons
}

/// What the call would do, in words.
fn effect(definition: &Definition, values: &Values, reach: &CommandReach) -> String {
    let behind = format!(
        "{}{}{}",
        behind(definition, reach),
        may(definition, values, reach),
        given(definition, values)
    );
    match &definition.body {
        Body::Steps(steps) => {
            let step = |step: &crate::definition::Step| match &step.action {
                Action::Run(program) => format!("{}: {}", step.name, shown(program, values)),
                Action::UseTool { tool, .. } => format!("{}: the tool `{tool}`", step.name),
            };
            let steps: Vec<String> = steps.iter().map(step).collect();
            let list = text::shorten(&steps.join("; "), 2000);
            format!("run {} steps {behind}: {list}", steps.len())
        }
        body => match command_here(body) {
            Some(program) => format!("run {} {behind}", shown(program, values)),
            None => format!("run `{}` {behind}", definition.name),
        },
    }
}

/// What permissions come to with the arguments of the call, in the workspace; a person is asked about what is beyond.
fn may(definition: &Definition, values: &Values, reach: &CommandReach) -> String {
    let permissions = definition.security.permissions.iter();
    let words = permissions.filter_map(|permission| {
        let (verb, path, beyond) = match permission {
            Permission::Read(path) => ("read", path, &reach.read),
            Permission::Write(path) => ("write", path, &reach.write),
            Permission::Network(_) => return None,
        };
        let mut references = path.references().iter();
        if !references.any(|named| matches!(named, Reference::Parameter(_))) {
            return None;
        }
        let path = path.render(values);
        let is_known = !path.is_empty() && !beyond.iter().any(|beyond| beyond.said == path);
        is_known.then(|| format!("{verb} `{}`", text::shorten(&path, 200)))
    });
    match words.collect::<Vec<String>>().as_slice() {
        [] => String::new(),
        words => format!(", and may {}", words.join(" and ")),
    }
}

/// What its programs find on their standard input: it may be a program itself.
fn given(definition: &Definition, values: &Values) -> String {
    match &definition.input {
        Some(input) => {
            let input = input.render(values);
            format!(
                ", with the input `{}`",
                text::shorten(input.trim_end(), 2000)
            )
        }
        None => String::new(),
    }
}

/// A program as a person reads it.
fn shown(program: &crate::definition::Program, values: &Values) -> String {
    if let Some(text) = program.code.judged(values) {
        return format!("`{}`", text::shorten(text.trim_end(), 2000));
    }
    let language = match program.code.form() {
        Form::Script(shell) => shell.as_str(),
        Form::Pwsh => "PowerShell",
        Form::Cmd => "cmd",
        Form::Bash => "bash",
        Form::Run => "a command",
    };
    match program.source.lines().count() {
        0 | 1 => format!("`{}` ({language})", text::shorten(&program.source, 2000)),
        lines => format!("{lines} lines of {language}"),
    }
}

/// The wall in words.
fn behind(definition: &Definition, reach: &CommandReach) -> String {
    let network = match reach.hosts.is_empty() {
        true => "without network".to_owned(),
        false => {
            let hosts: Vec<String> = reach.hosts.iter().map(|host| format!("`{host}`")).collect();
            let hosts = text::shorten(&hosts.join(" and "), 500);
            format!("with a way to {hosts} and nowhere else")
        }
    };
    let rights = match definition.security.privilege {
        Privilege::Elevated => " as root",
        Privilege::Reduced => " with reduced rights",
        Privilege::SameAsUser => "",
    };
    match command_reach::level(definition) {
        Level::None => format!("without any isolation{rights}"),
        Level::Process => format!("in the sandbox{rights}, {network}"),
        Level::Container => format!("in a container{rights}, {network}"),
    }
}

/// Every command that the call may run, for the rules.
fn commands(
    definition: &Definition,
    values: &Values,
    workspace: Option<&Workspace>,
) -> Vec<ShellText> {
    let directory = judged_directory(definition, values, workspace);
    let input = definition.input.as_ref().map(|input| input.render(values));
    let variables = &definition.environment.variables;
    let path = variables.iter().find(|(name, _)| *name == "PATH");
    let path = path.map(|(_, path)| path.render(values));
    let text = |used: Used<'_>| {
        Some(ShellText {
            text: used.program.code.judged(values)?,
            directory: directory.clone(),
            own: vec![TEMP_SHOWN.into()],
            path: path.clone(),
            // What cleans up reads nothing.
            input: input.clone().filter(|_| used.role != Role::Cleanup),
        })
    };
    programs::used(definition)
        .into_iter()
        .filter_map(text)
        .collect()
}
