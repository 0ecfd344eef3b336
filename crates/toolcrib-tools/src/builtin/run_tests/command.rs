//! The command that runs the tests, for each runner: no argument of a caller can become an option of it.
//!
//! A report, where there is one, goes to the call's own temporary directory. Nothing else is written outside of the workspace: caches
//! that programs keep in the home directory are put there, too, or left out.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::super::project::{self, Project, ProjectPath, is_file, join, upwards};
use super::cargo::Cargo;
use super::choose::TestRunner;
use super::go::Go;
use super::unknown_runner::Loose;
use super::watch::Reader;
use super::{TOOL, javascript, pytest, toolchain};
use crate::builtin::invalid;
use crate::model::error::ToolError;
use crate::process::CallTemp;
use crate::sandbox::Command;
use crate::workspace::Workspace;

/// A command, ready to run.
pub(super) struct Planned {
    pub(super) command: Command,
    /// As it is shown.
    pub(super) shown: String,
    pub(super) reader: Box<dyn Reader>,
    /// The name of the report in the temporary directory.
    pub(super) report: Option<&'static str>,
    /// What it has to read besides the usual.
    pub(super) read: Vec<PathBuf>,
}

/// The request.
pub(super) struct TestRequest<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) project: &'a Project,
    pub(super) place: &'a ProjectPath,
    pub(super) filter: Option<&'a str>,
    /// The directory of the call's own.
    pub(super) temp: &'a CallTemp,
}

/// Makes the command. Blocks.
pub(super) fn plan(runner: TestRunner, asked: &TestRequest<'_>) -> Result<Planned, ToolError> {
    let mut planned = match runner {
        TestRunner::Cargo => cargo(asked)?,
        TestRunner::Pytest => pytest::plan(asked)?,
        TestRunner::Vitest | TestRunner::Jest | TestRunner::Mocha | TestRunner::Node => {
            javascript::scripted(runner, asked)?
        }
        TestRunner::Npm => javascript::npm(asked)?,
        TestRunner::Go => go(asked)?,
        TestRunner::Make => make(asked)?,
    };
    let directory = asked.workspace.host_directory(&asked.project.root)?;
    planned.command = planned.command.directory(directory).env("NO_COLOR", "1");
    Ok(planned)
}

/// The words of a command, as they are given and as they are shown: as a person would type it, without what only asks for a report and
/// without places of the host.
#[derive(Default)]
pub(super) struct Words {
    pub(super) given: Vec<OsString>,
    shown: Vec<String>,
}

impl Words {
    pub(super) fn of(words: &[&str]) -> Self {
        words
            .iter()
            .fold(Words::default(), |all, word| all.and(*word))
    }

    pub(super) fn and(self, word: impl Into<String>) -> Self {
        let word = word.into();
        let shown = word.clone();
        self.and_as(word, shown)
    }

    /// Adds a word that is shown otherwise.
    pub(super) fn and_as(mut self, given: impl Into<OsString>, shown: impl Into<String>) -> Self {
        self.given.push(given.into());
        self.shown.push(quoted(&shown.into()));
        self
    }

    /// Adds a word that is not shown.
    pub(super) fn hidden(mut self, given: impl Into<OsString>) -> Self {
        self.given.push(given.into());
        self
    }

    /// Adds an option whose value is glued to it, if there is one.
    pub(super) fn option(self, option: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.and(format!("{option}{value}")),
            None => self,
        }
    }

    /// Adds an option, not shown, whose value is a place and glued to it.
    pub(super) fn place(self, option: &str, place: impl AsRef<Path>) -> Self {
        let mut given = OsString::from(option);
        given.push(place.as_ref());
        self.hidden(given)
    }

    pub(super) fn shown(&self) -> String {
        self.shown.join(" ")
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:,=+@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn cargo(asked: &TestRequest<'_>) -> Result<Planned, ToolError> {
    project::need("cargo")?;
    let mut words = Words::of(&["test", "--no-fail-fast"]).hidden("--message-format=json");
    if let Some(filter) = asked.filter {
        // The first ends cargo's options, the second those of the test programs.
        words = words.and("--").and("--").and(filter);
    }
    let toolchain = toolchain::rust(asked.workspace)?;
    let shown = format!("cargo {}", words.shown());
    let mut command = project::with_toolchain(Command::new("cargo"))
        .args(words.given)
        .env("CARGO_NET_OFFLINE", "true")
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_TERM_PROGRESS_WHEN", "never");
    for (name, value) in toolchain.variables {
        command = command.env(name, value);
    }
    Ok(Planned {
        command,
        shown,
        reader: Box::<Cargo>::default(),
        report: None,
        read: toolchain.read,
    })
}

fn go(asked: &TestRequest<'_>) -> Result<Planned, ToolError> {
    project::need("go")?;
    let root = asked.project.root.as_str();
    let module = project::read(asked.workspace, &join(root, "go.mod")).unwrap_or_default();
    let module = module
        .lines()
        .find_map(|line| line.strip_prefix("module "))
        .map_or("", |name| name.trim().trim_matches('"'));
    let packages = match asked.place.beneath(&asked.project.root) {
        None => "./...".to_owned(),
        Some(path) if asked.place.file.is_none() => format!("./{path}/..."),
        Some(path) => match path.rsplit_once('/') {
            Some((directory, _)) => format!("./{directory}"),
            None => ".".to_owned(),
        },
    };
    let words = Words::of(&["test"])
        .hidden("-json")
        .option("-run=", asked.filter)
        .and(packages);
    let shown = format!("go {}", words.shown());
    let mut command = Command::new("go")
        .args(words.given)
        .env("GOCACHE", asked.temp.path().join("go"))
        // The `/tmp` of the sandbox is small.
        .env("GOTMPDIR", asked.temp.path())
        .env("GOENV", "off")
        .env("GOPROXY", "off")
        .env("GOTOOLCHAIN", "local")
        .env("GOTELEMETRY", "off");
    // One above the workspace cannot be read, and is none of the project's here.
    if !upwards(root).any(|directory| is_file(asked.workspace, &join(directory, "go.work"))) {
        command = command.env("GOWORK", "off");
    }
    Ok(Planned {
        command,
        shown,
        reader: Box::new(Go::new(module)),
        report: None,
        read: Vec::new(),
    })
}

fn make(asked: &TestRequest<'_>) -> Result<Planned, ToolError> {
    no_filter(
        asked,
        "make",
        "a makefile has no way to say which tests; leave `filter` out",
    )?;
    project::need("make")?;
    let target = project::test_target(asked.workspace, asked.project.root.as_str());
    let (_, target) = target.ok_or_else(|| {
        ToolError::failed("the makefile has lost its target meanwhile; call again")
    })?;
    Ok(Planned {
        command: Command::new("make").args([target]),
        shown: format!("make {target}"),
        reader: Box::<Loose>::default(),
        report: None,
        read: Vec::new(),
    })
}

pub(super) fn no_filter(asked: &TestRequest<'_>, runner: &str, why: &str) -> Result<(), ToolError> {
    match asked.filter {
        None => Ok(()),
        Some(_) => {
            let message = format!("cannot be used with `{runner}`: {why}");
            Err(invalid(TOOL, "/filter", &message))
        }
    }
}
