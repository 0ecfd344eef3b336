//! What kind of project a directory is, and which programs work on it: for `run_tests`, `format_code` and `install_package`.
//!
//! A kind is identified by the files that its own programs use, from the named directory upwards to the workspace itself. Everything is
//! read through [`Workspace`] and bounded: a project is as hostile as any other file. What a file says is not believed here beyond
//! that; programs for a project run in the sandbox.

mod files;
mod makefile;
mod package;
mod programs;

use std::fmt;

pub(super) use files::{is_file, names_in, read};
pub(super) use makefile::test_target;
pub(super) use package::Package;
pub(super) use programs::{absolute_variable, is_there, missing, need, with_toolchain};

use crate::model::error::{ErrorCode, ToolError};
use crate::workspace::{EntryKind, Workspace, WorkspacePath};

/// How many directories upwards are looked at.
const MAX_LEVELS: usize = 128;

/// The kinds, in the order in which several of one directory are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    /// Rust: a `Cargo.toml`.
    Cargo,
    /// Python: what pip, pytest or setuptools read, or tests for pytest.
    Python,
    /// JavaScript or TypeScript: a `package.json`.
    Npm,
    /// Go: a `go.mod`.
    Go,
    /// A makefile with a target `test` or `check`.
    Make,
}

impl Kind {
    pub(super) const ALL: [Kind; 5] = [Kind::Cargo, Kind::Python, Kind::Npm, Kind::Go, Kind::Make];

    /// What it is called in results and messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Cargo => "cargo",
            Kind::Python => "python",
            Kind::Npm => "npm",
            Kind::Go => "go",
            Kind::Make => "make",
        }
    }

    /// Which of its files is in this directory, if one is.
    fn marker(self, workspace: &Workspace, directory: &str) -> Option<Marker> {
        let first = |names: &[&str]| {
            let found = names
                .iter()
                .find(|name| is_file(workspace, &join(directory, name)));
            found.map(|name| Marker::sure(name))
        };
        match self {
            Kind::Cargo => first(&["Cargo.toml"]),
            Kind::Python => first(PYTHON).or_else(|| python_tests(workspace, directory)),
            Kind::Npm => first(&["package.json"]),
            Kind::Go => first(&["go.mod"]),
            Kind::Make => {
                let (name, _) = test_target(workspace, directory)?;
                Some(Marker::sure(name))
            }
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The files at the root of a Python project.
const PYTHON: &[&str] = &[
    "pyproject.toml",
    "pytest.ini",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "requirements.txt",
];

/// A file that identifies a kind.
struct Marker {
    name: String,
    /// Whether it is at the root of its project. Tests are beneath it as a rule, and are believed only if there is nothing better.
    is_sure: bool,
}

impl Marker {
    fn sure(name: &str) -> Self {
        Marker {
            name: name.to_owned(),
            is_sure: true,
        }
    }
}

/// Tests that pytest would find, in this directory or where they are put as a rule.
fn python_tests(workspace: &Workspace, directory: &str) -> Option<Marker> {
    let is_test = |name: &str| {
        name == "conftest.py"
            || name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"))
    };
    ["", "tests", "test"].iter().find_map(|below| {
        let names = names_in(workspace, &join(directory, below));
        let name = names.into_iter().filter(|name| is_test(name)).min()?;
        Some(Marker {
            name: join(below, &name),
            is_sure: false,
        })
    })
}

/// A project in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Project {
    pub(super) kind: Kind,
    /// Its directory, relative to the workspace, without links: `.` for the workspace itself.
    pub(super) root: WorkspacePath,
    /// The file that told, relative to its root.
    pub(super) marker: String,
}

/// Every project that a path of the workspace belongs to, be it a file or a directory: the nearest first, those of one directory in
/// the order of [`Kind`]. Of each kind only the nearest. Blocks.
pub(super) fn detect(
    workspace: &Workspace,
    path: &WorkspacePath,
) -> Result<Vec<Project>, ToolError> {
    let place = ProjectPath::of(workspace, path)?;
    let mut found: Vec<Project> = Vec::new();
    let mut unsure: Vec<Project> = Vec::new();
    for directory in upwards(&place.directory) {
        for kind in Kind::ALL {
            if found.iter().any(|project| project.kind == kind) {
                continue;
            }
            let Some(marker) = kind.marker(workspace, directory) else {
                continue;
            };
            let list = if marker.is_sure {
                &mut found
            } else {
                &mut unsure
            };
            list.push(Project {
                kind,
                root: workspace.path(directory)?,
                marker: marker.name,
            });
        }
    }
    if let Some(project) = unsure.into_iter().next()
        && found.iter().all(|other| other.kind != project.kind)
    {
        found.push(project);
    }
    // Stable, and a deeper one has the longer path: all of them are on one way up.
    let depth = |project: &Project| match project.root.as_str() {
        "." => 0,
        root => root.len(),
    };
    found.sort_by_key(|project| (std::cmp::Reverse(depth(project)), project.kind));
    Ok(found)
}

/// Where a path really is: its directory and, if it is one, the file in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProjectPath {
    /// Relative to the workspace, without links and `..`: `.` for the workspace itself.
    pub(super) directory: String,
    /// The name of the file, if the path is one.
    pub(super) file: Option<String>,
}

impl ProjectPath {
    /// Looks where a path leads. Blocks.
    pub(super) fn of(workspace: &Workspace, path: &WorkspacePath) -> Result<Self, ToolError> {
        let kind = workspace.metadata(path)?.kind;
        let (directory, file) = match kind {
            EntryKind::Directory => (path.clone(), None),
            EntryKind::File | EntryKind::Symlink | EntryKind::Other => {
                let (directory, name) = path
                    .as_str()
                    .rsplit_once('/')
                    .unwrap_or((".", path.as_str()));
                (workspace.path(directory)?, Some(name.to_owned()))
            }
        };
        let real = workspace.host_directory(&directory)?;
        let relative = real.strip_prefix(workspace.root()).ok();
        let Some(relative) = relative.and_then(|relative| relative.to_str()) else {
            return Err(ToolError::new(
                ErrorCode::InvalidPath,
                format!(
                    "the directory of `{path}` is no longer in the workspace, or its name is not UTF-8; name another one"
                ),
            ));
        };
        let directory = if relative.is_empty() { "." } else { relative };
        Ok(ProjectPath {
            directory: directory.to_owned(),
            file,
        })
    }

    /// The path itself.
    pub(super) fn path(&self) -> String {
        match &self.file {
            Some(file) => join(&self.directory, file),
            None => self.directory.clone(),
        }
    }

    /// The path as seen from a directory above it; `None` if it is that directory, or not beneath it.
    pub(super) fn beneath(&self, root: &WorkspacePath) -> Option<String> {
        let path = self.path();
        let rest = match root.as_str() {
            "." => path.as_str(),
            root => path.strip_prefix(root)?.strip_prefix('/')?,
        };
        (rest != ".").then(|| rest.to_owned())
    }
}

/// A directory of the workspace and those above it, up to the workspace itself: relative, without links.
pub(super) fn upwards(directory: &str) -> impl Iterator<Item = &str> {
    let mut next = Some(directory);
    std::iter::from_fn(move || {
        let here = next?;
        next = match here {
            "." => None,
            here => Some(here.rsplit_once('/').map_or(".", |(above, _)| above)),
        };
        Some(here)
    })
    .take(MAX_LEVELS)
}

/// A name in a directory, both relative to the workspace.
pub(super) fn join(directory: &str, name: &str) -> String {
    match (directory, name) {
        (".", "") => ".".to_owned(),
        ("." | "", name) => name.to_owned(),
        (directory, "") => directory.to_owned(),
        (directory, name) => format!("{directory}/{name}"),
    }
}

#[cfg(test)]
mod tests;
