//! The command that runs pytest.

use super::super::project::{self, is_file, join, upwards};
use super::command::{Planned, TestRequest, Words};
use super::watch::ReportReader;
use super::{junit, toolchain};
use crate::model::error::ToolError;
use crate::process::Finished;
use crate::sandbox::Command;
use crate::workspace::Workspace;

/// Makes the command. Blocks.
pub(super) fn plan(asked: &TestRequest<'_>) -> Result<Planned, ToolError> {
    let python = toolchain::python(asked.workspace, asked.project)?;
    let temp = asked.temp.path();
    let mut words = Words::of(&["-m", "pytest"])
        .hidden("--color=no")
        .place("--junitxml=", temp.join("report.xml"))
        .hidden("-o")
        .hidden("junit_family=xunit1")
        .hidden("-o")
        .place("cache_dir=", temp.join("pytest"))
        .option("-k", asked.filter);
    if !has_settings(asked.workspace, &asked.place.directory) {
        // It would look for settings above the workspace, and fail for it cannot read them.
        let settings = asked.temp.write("pytest.ini", b"[pytest]\n")?;
        let root = asked.workspace.host_directory(&asked.project.root)?;
        words = words
            .hidden("-c")
            .hidden(settings)
            .place("--rootdir=", &root)
            .place("--confcutdir=", &root);
    }
    if let Some(path) = asked.place.beneath(&asked.project.root) {
        // Never an option, nor a file of arguments (`@file`).
        words = words.and(format!("./{path}"));
    }
    let shown = format!("{} {}", python.shown, words.shown());
    let mut command = Command::new(python.program)
        .args(words.given)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PY_COLORS", "0");
    for (name, value) in python.variables {
        command = command.env(name, value);
    }
    Ok(Planned {
        command,
        shown,
        reader: Box::new(ReportReader(junit::read)),
        report: Some("report.xml"),
        read: python.read,
    })
}

/// Whether pytest finds its settings in this directory or above it, in the workspace.
fn has_settings(workspace: &Workspace, directory: &str) -> bool {
    let always = ["pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"];
    let sections = [
        ("pyproject.toml", "[tool.pytest"),
        ("tox.ini", "[pytest]"),
        ("setup.cfg", "[tool:pytest]"),
    ];
    upwards(directory).any(|directory| {
        let has = |(name, section): &(&str, &str)| {
            let text = project::read(workspace, &join(directory, name));
            text.is_some_and(|text| {
                text.lines()
                    .any(|line| line.trim_start().starts_with(section))
            })
        };
        always
            .iter()
            .any(|name| is_file(workspace, &join(directory, name)))
            || sections.iter().any(has)
    })
}

/// That there is no pytest is something else than tests that fail.
pub(super) fn check(finished: &Finished) -> Result<(), ToolError> {
    let is_missing = finished.exit_code == 1
        && finished.stdout.is_empty()
        && finished
            .stderr
            .trim_end()
            .ends_with("No module named pytest");
    match is_missing {
        true => Err(project::missing("pytest", "this Python does not have it")),
        false => Ok(()),
    }
}
