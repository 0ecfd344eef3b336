//! Which formatters work on a path: by the project it is in, by the files that are there, by what is installed.

use std::path::PathBuf;

use super::formatter::Formatter;
use crate::builtin::invalid;
use crate::builtin::project::{self, ProjectPath, is_file, join, upwards};
use crate::builtin::tree::{self, Files, Permission};
use crate::model::error::ToolError;
use crate::workspace::{Workspace, WorkspacePath};

/// How many projects one call works on.
const MAX_ROOTS: usize = 20;

/// One formatter, and the files that are its to format.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) formatter: Formatter,
    /// The program, or its name.
    pub(super) program: PathBuf,
    /// Where it runs, relative to the workspace; `.` for the workspace itself.
    pub(super) root: String,
    /// Relative to the workspace.
    pub(super) files: Vec<String>,
    /// The directory that it is asked about first, from where it runs (`./…`); without one it is given every file.
    pub(super) survey: Option<String>,
}

/// The work to do.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) jobs: Vec<Job>,
    /// Formatters that are wanted here and are not installed.
    pub(super) missing: Vec<Formatter>,
    /// Whether there are more files or projects than one call works on.
    pub(super) is_cut: bool,
}

impl Plan {
    /// Finds out what is to be done. Blocks.
    pub(super) fn of(
        workspace: &Workspace,
        path: &WorkspacePath,
        wanted: Option<Formatter>,
        permission: &Permission,
    ) -> Result<Self, ToolError> {
        let mut plan = Plan::default();
        let ProjectPath { directory, file } = ProjectPath::of(workspace, path)?;
        if let Some(name) = file {
            plan.add_file(workspace, &directory, &name, wanted)?;
            return Ok(plan);
        }
        let files = tree::files(workspace, &directory);
        plan.is_cut = files.is_cut;
        for formatter in formatters_of(workspace, &directory, &files, wanted) {
            plan.add(workspace, formatter, &directory, &files.names);
        }
        // Rules have judged the directory, not what is in it.
        for job in &mut plan.jobs {
            job.files.retain(|name| permission.covers(name.as_bytes()));
        }
        Ok(plan)
    }

    /// Adds the job of one file.
    fn add_file(
        &mut self,
        workspace: &Workspace,
        directory: &str,
        name: &str,
        wanted: Option<Formatter>,
    ) -> Result<(), ToolError> {
        let formatter = wanted.or_else(|| of_file(workspace, directory, name));
        let formatter = formatter.ok_or_else(|| {
            let message = "is a kind of file that no known formatter takes; give a file in Rust, Python, Go, JavaScript, TypeScript, \
                           CSS, HTML, JSON, Markdown or YAML, or say which `formatter`";
            invalid("format_code", "/path", message)
        })?;
        match program(workspace, formatter, directory) {
            None => self.missing.push(formatter),
            Some(program) => self.jobs.push(Job {
                formatter,
                program,
                root: root_of(workspace, formatter, directory),
                files: vec![join(directory, name)],
                survey: None,
            }),
        }
        Ok(())
    }

    /// Adds the jobs of one formatter in a directory.
    fn add(
        &mut self,
        workspace: &Workspace,
        formatter: Formatter,
        directory: &str,
        names: &[String],
    ) {
        let mut files: Vec<String> = names
            .iter()
            .filter(|name| formatter.takes(name))
            .cloned()
            .collect();
        if files.is_empty() {
            return;
        }
        let Some(program) = program(workspace, formatter, directory) else {
            self.missing.push(formatter);
            return;
        };
        let roots = match formatter {
            Formatter::Rustfmt => cargo_roots(workspace, directory, names),
            _ => vec![root_of(workspace, formatter, directory)],
        };
        self.is_cut |= roots.len() > MAX_ROOTS;
        for root in roots.into_iter().take(MAX_ROOTS) {
            let (within, rest) = files.into_iter().partition(|file| is_beneath(file, &root));
            files = rest;
            self.jobs.push(Job {
                formatter,
                program: program.clone(),
                survey: Some(format!("./{}", below(directory, &root))),
                root,
                files: within,
            });
        }
        // Rust files of no project belong to no module tree that could be asked about.
        if !files.is_empty() {
            self.jobs.push(Job {
                formatter,
                program,
                root: directory.to_owned(),
                files,
                survey: None,
            });
        }
    }
}

/// That a formatter is missing, and how to get it.
pub(super) fn missing(formatter: Formatter) -> ToolError {
    project::missing(formatter.name(), "it is not installed here")
}

/// The edition that a Rust file is written in, as its nearest manifest says; `None`: as rustfmt finds it.
pub(super) fn edition(workspace: &Workspace, directory: &str) -> Option<String> {
    let mut inherits = false;
    for above in upwards(directory) {
        let Some(manifest) = toml_in(workspace, above, "Cargo.toml") else {
            let settings = ["rustfmt.toml", ".rustfmt.toml"];
            if !inherits
                && settings
                    .iter()
                    .any(|name| is_file(workspace, &join(above, name)))
            {
                return None;
            }
            continue;
        };
        let package = match inherits {
            true => manifest
                .get("workspace")
                .and_then(|table| table.get("package")),
            false => manifest.get("package"),
        };
        let said = package.and_then(|package| package.get("edition"));
        match said {
            Some(toml::Value::String(edition)) if is_edition(edition) => {
                return Some(edition.clone());
            }
            Some(toml::Value::Table(_)) => {
                inherits = true;
                let own = manifest
                    .get("workspace")
                    .and_then(|table| table.get("package"));
                if let Some(edition) = own
                    .and_then(|package| package.get("edition"))
                    .and_then(toml::Value::as_str)
                    .filter(|edition| is_edition(edition))
                {
                    return Some(edition.to_owned());
                }
            }
            _ if inherits || package.is_none() => {}
            // What cargo takes a manifest to mean that says nothing.
            _ => return Some("2015".to_owned()),
        }
    }
    Some("2024".to_owned())
}

fn is_edition(text: &str) -> bool {
    matches!(text, "2015" | "2018" | "2021" | "2024")
}

/// The formatters for a directory, in a fixed order.
fn formatters_of(
    workspace: &Workspace,
    directory: &str,
    files: &Files,
    wanted: Option<Formatter>,
) -> Vec<Formatter> {
    if let Some(wanted) = wanted {
        return vec![wanted];
    }
    let has_any = |formatter: Formatter| files.names.iter().any(|name| formatter.takes(name));
    let mut formatters = Vec::new();
    if has_any(Formatter::Rustfmt) {
        formatters.push(Formatter::Rustfmt);
    }
    if has_any(Formatter::Ruff) {
        formatters.push(python(workspace, directory));
    }
    // JSON and Markdown are everywhere; they are prettier's where a project of its world is.
    let is_web = upwards(directory).any(|above| is_file(workspace, &join(above, "package.json")))
        || files
            .names
            .iter()
            .any(|name| name.ends_with("/package.json"));
    if is_web && has_any(Formatter::Prettier) {
        formatters.push(Formatter::Prettier);
    }
    if has_any(Formatter::Gofmt) {
        formatters.push(Formatter::Gofmt);
    }
    formatters
}

fn of_file(workspace: &Workspace, directory: &str, name: &str) -> Option<Formatter> {
    let formatter = Formatter::ALL
        .into_iter()
        .find(|formatter| formatter.takes(name))?;
    Some(match formatter {
        Formatter::Ruff | Formatter::Black => python(workspace, directory),
        other => other,
    })
}

/// The formatter of Python that the nearest settings name, or else one that is installed.
fn python(workspace: &Workspace, directory: &str) -> Formatter {
    for above in upwards(directory) {
        let tools = toml_in(workspace, above, "pyproject.toml");
        let tool = |name: &str| tools.as_ref()?.get("tool")?.get(name);
        let ruff_formats = tool("ruff").is_some_and(|ruff| ruff.get("format").is_some());
        if tool("black").is_some() && !ruff_formats {
            return Formatter::Black;
        }
        let has_ruff = ["ruff.toml", ".ruff.toml"]
            .iter()
            .any(|name| is_file(workspace, &join(above, name)));
        if tool("ruff").is_some() || has_ruff {
            return Formatter::Ruff;
        }
    }
    let is_there = |formatter| program(workspace, formatter, directory).is_some();
    match !is_there(Formatter::Ruff) && is_there(Formatter::Black) {
        true => Formatter::Black,
        false => Formatter::Ruff,
    }
}

/// Where a formatter runs: prettier finds its plug-ins and what to ignore from there.
fn root_of(workspace: &Workspace, formatter: Formatter, directory: &str) -> String {
    let root = match formatter {
        Formatter::Prettier => {
            upwards(directory).find(|above| is_file(workspace, &join(above, "package.json")))
        }
        _ => None,
    };
    root.unwrap_or(directory).to_owned()
}

/// The Cargo project that a directory is in, or those that are in it.
fn cargo_roots(workspace: &Workspace, directory: &str, names: &[String]) -> Vec<String> {
    if let Some(above) =
        upwards(directory).find(|above| is_file(workspace, &join(above, "Cargo.toml")))
    {
        return vec![above.to_owned()];
    }
    let mut roots: Vec<String> = Vec::new();
    let manifests = names
        .iter()
        .filter_map(|name| name.strip_suffix("/Cargo.toml"));
    for root in manifests {
        // Sorted by name, so that a directory does not always come before what is in it: `a-b/…` is before `a/…`.
        if !roots.iter().any(|other| is_beneath(root, other)) {
            roots.retain(|other| !is_beneath(other, root));
            roots.push(root.to_owned());
        }
    }
    roots
}

/// The program of a formatter: the project's own before the machine's.
fn program(workspace: &Workspace, formatter: Formatter, directory: &str) -> Option<PathBuf> {
    let own: &[&str] = match formatter {
        Formatter::Ruff | Formatter::Black => &[".venv/bin", "venv/bin"],
        Formatter::Prettier => &["node_modules/.bin"],
        Formatter::Rustfmt | Formatter::Gofmt => &[],
    };
    let name = formatter.name();
    for above in upwards(directory) {
        for place in own {
            let program = join(&join(above, place), name);
            if is_file(workspace, &program) {
                return Some(workspace.root().join(program));
            }
        }
    }
    project::is_there(name).then(|| PathBuf::from(name))
}

/// A path as seen from a directory above it.
fn below<'a>(path: &'a str, directory: &str) -> &'a str {
    match (directory, path) {
        (".", ".") => "",
        (".", path) => path,
        (directory, path) => path
            .strip_prefix(directory)
            .unwrap_or(path)
            .trim_start_matches('/'),
    }
}

fn is_beneath(path: &str, directory: &str) -> bool {
    directory == "."
        || path
            .strip_prefix(directory)
            .is_some_and(|rest| rest.starts_with('/'))
}

fn toml_in(workspace: &Workspace, directory: &str, name: &str) -> Option<toml::Table> {
    project::read(workspace, &join(directory, name))?
        .parse()
        .ok()
}
