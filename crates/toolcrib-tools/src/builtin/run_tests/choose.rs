//! Which runner runs the tests of which project.

use serde::Deserialize;

use super::super::project::{self, Kind, Package, Project};
use super::TOOL;
use crate::builtin::invalid;
use crate::model::error::{ErrorCode, ToolError};
use crate::workspace::{Workspace, WorkspacePath};

/// What runs tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TestRunner {
    Cargo,
    Pytest,
    Vitest,
    Jest,
    Mocha,
    Node,
    Npm,
    Go,
    Make,
}

impl TestRunner {
    pub(super) const ALL: [TestRunner; 9] = [
        TestRunner::Cargo,
        TestRunner::Pytest,
        TestRunner::Vitest,
        TestRunner::Jest,
        TestRunner::Mocha,
        TestRunner::Node,
        TestRunner::Npm,
        TestRunner::Go,
        TestRunner::Make,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            TestRunner::Cargo => "cargo",
            TestRunner::Pytest => "pytest",
            TestRunner::Vitest => "vitest",
            TestRunner::Jest => "jest",
            TestRunner::Mocha => "mocha",
            TestRunner::Node => "node",
            TestRunner::Npm => "npm",
            TestRunner::Go => "go",
            TestRunner::Make => "make",
        }
    }

    fn kind(self) -> Kind {
        match self {
            TestRunner::Cargo => Kind::Cargo,
            TestRunner::Pytest => Kind::Python,
            TestRunner::Vitest
            | TestRunner::Jest
            | TestRunner::Mocha
            | TestRunner::Node
            | TestRunner::Npm => Kind::Npm,
            TestRunner::Go => Kind::Go,
            TestRunner::Make => Kind::Make,
        }
    }

    /// The default runner for the tests of a project; `None` if no tests are found.
    fn of(project: &Project, workspace: &Workspace) -> Option<Self> {
        match project.kind {
            Kind::Cargo => Some(TestRunner::Cargo),
            Kind::Python => Some(TestRunner::Pytest),
            Kind::Npm => Self::of_package(&Package::read(workspace, project.root.as_str())),
            Kind::Go => Some(TestRunner::Go),
            Kind::Make => Some(TestRunner::Make),
        }
    }

    /// What the test script runs, or the runner that is asked for where there is no script.
    fn of_package(package: &Package) -> Option<Self> {
        let by_name = [TestRunner::Vitest, TestRunner::Jest, TestRunner::Mocha];
        match package.test_script() {
            Some(script) => Some(
                by_name
                    .into_iter()
                    .chain([TestRunner::Node])
                    .find(|runner| takes_options(script, *runner).is_some())
                    .unwrap_or(TestRunner::Npm),
            ),
            None => by_name
                .into_iter()
                .find(|runner| package.wants(runner.name())),
        }
    }
}

/// Where in a script options for this runner can be put, if it runs it: at the end, provided that nothing but arguments follow the
/// runner's name, and right after `node --test`, which takes none behind its files.
pub(super) fn takes_options(script: &str, runner: TestRunner) -> Option<usize> {
    let name = match runner {
        TestRunner::Node => "node --test",
        TestRunner::Vitest | TestRunner::Jest | TestRunner::Mocha => runner.name(),
        TestRunner::Cargo
        | TestRunner::Pytest
        | TestRunner::Npm
        | TestRunner::Go
        | TestRunner::Make => return None,
    };
    let is_boundary = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let (start, _) = script
        .match_indices(name)
        .filter(|(start, _)| {
            is_boundary(script[..*start].chars().next_back())
                && is_boundary(script[start + name.len()..].chars().next())
        })
        .last()?;
    let rest = &script[start + name.len()..];
    if rest.contains([';', '&', '|', '(', ')', '<', '>', '\n', '#', '`']) {
        return None;
    }
    Some(match runner {
        TestRunner::Node => start + name.len(),
        _ => script.len(),
    })
}

/// A runner for a project, and all projects that there are.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) runner: TestRunner,
    pub(super) project: Project,
    pub(super) projects: Vec<Project>,
}

/// Chooses what runs the tests of a path: the runner that was asked for, or that of the nearest project that has one. Blocks.
pub(super) fn choose(
    workspace: &Workspace,
    path: &WorkspacePath,
    wanted: Option<TestRunner>,
) -> Result<Choice, ToolError> {
    let projects = project::detect(workspace, path)?;
    let found = match wanted {
        Some(runner) => {
            let project = projects
                .iter()
                .find(|project| project.kind == runner.kind());
            project.map(|project| (runner, project.clone()))
        }
        None => projects.iter().find_map(|project| {
            TestRunner::of(project, workspace).map(|runner| (runner, project.clone()))
        }),
    };
    if let Some((runner, project)) = found {
        return Ok(Choice {
            runner,
            project,
            projects,
        });
    }
    let found: Vec<String> = projects
        .iter()
        .map(|project| format!("`{}` in `{}`", project.marker, project.root))
        .collect();
    let found = match found.is_empty() {
        true => String::new(),
        false => format!("; found were {}", found.join(", ")),
    };
    Err(match wanted {
        Some(runner) => {
            let message = format!(
                "is `{}`, and neither `{path}` nor a directory above it is a project for it{found}",
                runner.name()
            );
            invalid(TOOL, "/runner", &message)
        }
        None => ToolError::new(
            ErrorCode::FileNotFound,
            format!(
                "neither `{path}` nor a directory above it has tests that can be run: there is no Cargo.toml, pyproject.toml, pytest.ini, \
                 setup.cfg, tox.ini, conftest.py, test_*.py, package.json with a test script, go.mod, or Makefile with a target `test` or `check`{found}"
            ),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(package: &str) -> Option<TestRunner> {
        TestRunner::of_package(&Package::parse(package))
    }

    fn of_script(script: &str) -> Option<TestRunner> {
        of(&serde_json::json!({"scripts": {"test": script}}).to_string())
    }

    #[test]
    fn a_script_shows_its_runner_if_options_can_be_added() {
        for (script, runner) in [
            ("vitest", TestRunner::Vitest),
            ("vitest run --coverage", TestRunner::Vitest),
            ("npm run lint && vitest run", TestRunner::Vitest),
            (
                "NODE_OPTIONS=--experimental-vm-modules jest 'src/x'",
                TestRunner::Jest,
            ),
            ("mocha --recursive", TestRunner::Mocha),
            ("node --test", TestRunner::Node),
            ("node --test test/*.js", TestRunner::Node),
            ("vitest run && echo done", TestRunner::Npm),
            ("vitest | tee log", TestRunner::Npm),
            ("my-vitest", TestRunner::Npm),
            ("jest-runner", TestRunner::Npm),
            ("turbo test", TestRunner::Npm),
        ] {
            assert_eq!(of_script(script), Some(runner), "{script}");
        }
    }

    #[test]
    fn without_a_script_the_dependencies_tell() {
        let wants = |name: &str| format!(r#"{{"devDependencies": {{"{name}": "1"}}}}"#);
        assert_eq!(of(&wants("vitest")), Some(TestRunner::Vitest));
        assert_eq!(of(&wants("jest")), Some(TestRunner::Jest));
        assert_eq!(of(&wants("mocha")), Some(TestRunner::Mocha));
        assert_eq!(of(&wants("prettier")), None);
        assert_eq!(of("{}"), None);
    }

    #[test]
    fn options_go_right_behind_node_and_to_the_end_of_others() {
        let put = |script: &str, runner| {
            let at = takes_options(script, runner).unwrap();
            format!("{}|{}", &script[..at], &script[at..])
        };
        assert_eq!(
            put("X=1 node --test a.js", TestRunner::Node),
            "X=1 node --test| a.js"
        );
        assert_eq!(put("vitest run", TestRunner::Vitest), "vitest run|");
    }
}
