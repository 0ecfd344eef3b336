//! Which programs a tool runs on this machine, and what is missing for them.

use std::path::Path;

use crate::definition::{Action, Body, Cleanup, Definition, Platform, Program};
use crate::template::{Form, Values};

/// A program that a call may run, and when.
#[derive(Clone, Copy)]
pub(super) struct Used<'a> {
    pub(super) program: &'a Program,
    pub(super) role: Role<'a>,
}

/// What a program is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role<'a> {
    /// The tool's command.
    Command,
    /// The command of a step.
    Step {
        /// Its name.
        name: &'a str,
        /// Whether it depends on something whether it runs.
        conditional: bool,
    },
    /// What takes the place of a step that failed.
    Fallback {
        /// The step's name.
        step: &'a str,
    },
    /// The commands that run at the end.
    Cleanup,
}

/// The one command of a tool that has one: for this system exactly, for its family, or for all.
pub(super) fn command_here(body: &Body) -> Option<&Program> {
    match body {
        Body::Command(program) => Some(program),
        Body::Commands { default, platforms } => {
            let of = |wanted: Platform| {
                let found = platforms.iter().find(|(platform, _)| *platform == wanted);
                found.map(|(_, program)| program)
            };
            let family = (Platform::HERE != Platform::Windows).then(|| of(Platform::Unix));
            of(Platform::HERE).or(family.flatten()).or(default.as_ref())
        }
        Body::Steps(_) | Body::Alias { .. } => None,
    }
}

/// Every program that a call may run here.
pub(super) fn used(definition: &Definition) -> Vec<Used<'_>> {
    let mut used = Vec::new();
    if let Some(program) = command_here(&definition.body) {
        let role = Role::Command;
        used.push(Used { program, role });
    }
    if let Body::Steps(steps) = &definition.body {
        for step in steps {
            if let Action::Run(program) = &step.action {
                let role = Role::Step {
                    name: &step.name,
                    conditional: step.run_condition.is_some(),
                };
                used.push(Used { program, role });
            }
            if let Some(program) = &step.fallback {
                let role = Role::Fallback { step: &step.name };
                used.push(Used { program, role });
            }
        }
    }
    for cleanup in &definition.resources.cleanup {
        if let Cleanup::FinalCommand(program) = cleanup {
            let role = Role::Cleanup;
            used.push(Used { program, role });
        }
    }
    used
}

/// Anything that is missing for a tool to run on this machine: another system, a program.
pub(super) fn missing(definition: &Definition) -> Option<String> {
    let platforms = &definition.platforms;
    if !platforms.is_empty() && !platforms.iter().copied().any(Platform::is_here) {
        let names: Vec<&str> = platforms.iter().copied().map(Platform::name).collect();
        return Some(format!(
            "it is for {}, and this is {}",
            names.join(" and "),
            Platform::HERE.name()
        ));
    }
    if matches!(definition.body, Body::Commands { .. }) && command_here(&definition.body).is_none()
    {
        return Some(format!(
            "it has no command for {}; give it one under `commands.default` or `commands.platforms`",
            Platform::HERE.name()
        ));
    }
    // What may not run at all may do without its program.
    let certain = |used: &Used<'_>| match used.role {
        Role::Command | Role::Cleanup => true,
        Role::Step { conditional, .. } => !conditional,
        Role::Fallback { .. } => false,
    };
    let sets_path = definition
        .environment
        .variables
        .iter()
        .any(|(name, _)| name == "PATH");
    used(definition)
        .into_iter()
        .filter(certain)
        .find_map(|used| missing_program(used.program, sets_path))
}

fn missing_program(program: &Program, sets_path: bool) -> Option<String> {
    let code = &program.code;
    let started = || {
        let invocation = code.prepare(&Values::default()).ok()?;
        Some(invocation.program)
    };
    let (program, how) = match code.form() {
        Form::Cmd if Platform::HERE != Platform::Windows => {
            return Some(
                "its command is for `cmd`, the shell of Windows; add one for this system (`bash: …`, or `commands:` with one for each)"
                    .to_owned(),
            );
        }
        Form::Cmd => ("cmd".to_owned(), String::new()),
        Form::Pwsh => (
            started().unwrap_or_else(|| "pwsh".to_owned()),
            "; install PowerShell (https://aka.ms/powershell), or write the command as `bash: …`"
                .to_owned(),
        ),
        Form::Bash => ("bash".to_owned(), "; install it".to_owned()),
        Form::Script(shell) => {
            let named = shell.split_whitespace().next().unwrap_or(shell);
            // The program started for an unknown shell may be another that starts it.
            let known = started().filter(|started| started.starts_with(named));
            let program = known.unwrap_or_else(|| named.to_owned());
            let how = format!("; install `{named}`, or name another `shell:`");
            (program, how)
        }
        // Its own PATH, or a file of the workspace: known when it runs.
        Form::Run if sets_path => return None,
        Form::Run => (started()?, "; install it, or name its path".to_owned()),
    };
    if program.is_empty() || program.contains('/') || is_in_path(&program) {
        return None;
    }
    Some(format!("the program `{program}` is not in PATH{how}"))
}

/// Whether a program of this name can be started.
fn is_in_path(program: &str) -> bool {
    let Some(path) = std::env::var_os("PATH") else {
        // The sandbox has its own path then.
        return true;
    };
    std::env::split_paths(&path).any(|directory| is_program(&directory.join(program)))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
