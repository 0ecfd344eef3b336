//! What a call would do: the project, the manager, the packages and where they come from. Made before a person is asked and again
//! when the call runs; only the same plan runs.
//!
//! Nothing is run to find it out. A dry run of a package manager would read the project's settings, which can name programs, before
//! anybody has agreed; what a person needs to know is in files.

use serde::Deserialize;
use serde_json::{Value, json};

use super::manager::Manager;
use super::package::Package;
use super::records;
use super::registry::{Operator, Registry};
use crate::builtin::invalid;
use crate::builtin::project::{self, Kind, Project, ProjectPath, is_file, join};
use crate::model::effects::Approval;
use crate::model::error::{ErrorCode, ToolError};
use crate::workspace::{EntryKind, Workspace};

#[derive(Debug, Deserialize)]
pub(super) struct Args {
    pub(super) packages: Vec<String>,
    pub(super) manager: Option<Manager>,
    pub(super) path: Option<String>,
    #[serde(default)]
    pub(super) dev: bool,
    #[serde(default)]
    pub(super) scripts: bool,
}

/// The work to do.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) manager: Manager,
    /// The directory of the project, relative to the workspace.
    pub(super) root: String,
    pub(super) packages: Vec<Package>,
    pub(super) dev: bool,
    pub(super) scripts: bool,
    /// Whether a `.venv` has to be made first.
    pub(super) makes_venv: bool,
    pub(super) registry: Registry,
}

/// Files of other managers, which would not learn of what is installed.
const OTHERS: &[(Manager, &str, &str)] = &[
    (Manager::Npm, "yarn.lock", "yarn"),
    (Manager::Npm, "pnpm-lock.yaml", "pnpm"),
    (Manager::Npm, "bun.lock", "bun"),
    (Manager::Npm, "bun.lockb", "bun"),
    (Manager::Pip, "poetry.lock", "poetry"),
    (Manager::Pip, "uv.lock", "uv"),
    (Manager::Pip, "Pipfile", "pipenv"),
];

impl Plan {
    /// Finds out what a call would do. Blocks.
    pub(super) fn of(
        workspace: &Workspace,
        args: &Args,
        operator: &Operator,
    ) -> Result<Self, ToolError> {
        let (manager, root) = project_of(workspace, args)?;
        let packages = args
            .packages
            .iter()
            .map(|text| Package::find(manager, text, workspace))
            .collect::<Result<Vec<_>, _>>()?;
        let locals = packages.iter().filter(|package| package.is_local()).count();
        if locals != 0 && locals != packages.len() {
            return Err(invalid(
                "install_package",
                "/packages",
                "has paths and names; paths are installed without network, so install them in a separate call",
            ));
        }
        let refused = |pointer: &str, what: &str| {
            let message = format!("means nothing to {}: {what}; leave it out", manager.name());
            Err(invalid("install_package", pointer, &message))
        };
        if args.dev && !manager.knows_dev() {
            return refused("/dev", "it has no packages for development only");
        }
        if args.scripts && !manager.knows_scripts() {
            return refused("/scripts", "its packages run nothing when they are added");
        }
        Ok(Plan {
            manager,
            makes_venv: manager == Manager::Pip && makes_venv(workspace, &root)?,
            root,
            registry: match locals {
                0 => operator.registry(manager),
                _ => Registry::local(manager),
            },
            packages,
            dev: args.dev,
            scripts: args.scripts,
        })
    }

    pub(super) fn is_local(&self) -> bool {
        self.packages.iter().all(Package::is_local)
    }

    /// Whether code of the packages runs whatever `scripts` says: pip builds what is not a wheel yet.
    fn is_built(&self) -> bool {
        self.manager == Manager::Pip && self.is_local()
    }

    /// What of other people's code runs while packages are added, if some does.
    fn runs(&self) -> Option<&'static str> {
        if self.scripts {
            Some(
                "it adds packages to the project and runs the programs that they bring, with a way to the registry",
            )
        } else if self.is_built() {
            Some("it builds a directory as a package, which runs the code in it")
        } else if self.manager == Manager::Pip && !self.makes_venv {
            Some(
                "it runs the Python of the project's `.venv`, which any program that writes the workspace can change, with access to the registry",
            )
        } else {
            None
        }
    }

    /// What the answer of a person rests on.
    pub(super) fn basis(&self) -> Value {
        json!({
            "manager": self.manager.name(),
            "root": self.root,
            "makesVenv": self.makes_venv,
            "hosts": self.registry.hosts,
        })
    }

    /// The question.
    pub(super) fn approval(&self, workspace: &Workspace) -> Approval {
        let approval = match self.runs() {
            None => {
                Approval::ask("it adds packages, which are other people's code, to the project")
            }
            // What runs may be something else the next time.
            Some(what) => Approval::ask(what).every_time(),
        };
        approval
            .with_effect(self.effect(workspace))
            .with_basis(self.basis())
    }

    /// What the call would do, in words.
    fn effect(&self, workspace: &Workspace) -> String {
        let packages: Vec<String> = self
            .packages
            .iter()
            .map(|package| match (package, version_of(workspace, package)) {
                (package, Some(version)) => {
                    format!("{} ({version})", package.in_words(self.manager))
                }
                (package, None) => package.in_words(self.manager),
            })
            .collect();
        let packages = packages.join(", ");
        let kind = if self.dev { " for development" } else { "" };
        let to = match self.manager.manifest() {
            Some(manifest) => format!("add {packages}{kind} to `{}`", join(&self.root, manifest)),
            None => format!(
                "install {packages} into `{}`{}",
                join(&self.root, ".venv"),
                if self.makes_venv {
                    ", which is made first"
                } else {
                    ""
                }
            ),
        };
        let scripts = match (self.manager, self.scripts) {
            (Manager::Npm, true) => "; INSTALL SCRIPTS of the packages run",
            (Manager::Npm, false) => "; install scripts of the packages do not run",
            (Manager::Pip, true) => "; packages may be BUILT FROM SOURCE, which runs their code",
            (Manager::Pip, false) if self.is_built() => {
                "; a directory is BUILT, which runs its code"
            }
            (Manager::Pip, false) => "; only packages that need no building",
            (Manager::Cargo | Manager::Go, _) => "",
        };
        let name = self.manager.name();
        match self.is_local() {
            true => format!("{to}; {name} runs in the sandbox, without network{scripts}"),
            false => format!(
                "{to}; {name} runs in the sandbox and reaches {}{scripts}",
                self.registry.hosts.join(", ")
            ),
        }
    }
}

/// The project that packages are added to, and its manager.
fn project_of(workspace: &Workspace, args: &Args) -> Result<(Manager, String), ToolError> {
    let path = workspace.path(args.path.as_deref().unwrap_or("."))?;
    let projects: Vec<(Manager, Project)> = project::detect(workspace, &path)?
        .into_iter()
        .filter_map(|project| Some((manager_of(project.kind)?, project)))
        .collect();
    let root = |project: &Project| project.root.as_str().to_owned();
    if let Some(manager) = args.manager {
        let found = projects.iter().find(|(other, _)| *other == manager);
        return match (found, manager.manifest()) {
            (Some((_, project)), _) => Ok((manager, root(project))),
            // What pip works on needs no file that says so.
            (None, None) => Ok((manager, ProjectPath::of(workspace, &path)?.directory)),
            (None, Some(manifest)) => Err(no_project(&format!(
                "there is no `{manifest}` in `{path}` or above it, so that {} has no project to add to; name its directory as `path`",
                manager.name()
            ))),
        };
    }
    let Some((manager, nearest)) = projects.first() else {
        return Err(no_project(&format!(
            "there is no project of cargo, npm, pip or go in `{path}` or above it; name its directory as `path`, or say which `manager`"
        )));
    };
    let rivals: Vec<&str> = projects
        .iter()
        .filter(|(_, other)| other.root == nearest.root)
        .map(|(manager, _)| manager.name())
        .collect();
    if rivals.len() > 1 {
        let message = format!(
            "is needed: `{}` is a project of {}",
            nearest.root,
            rivals.join(" and ")
        );
        return Err(invalid("install_package", "/manager", &message));
    }
    let root = root(nearest);
    for (_, file, other) in OTHERS.iter().filter(|(of, _, _)| of == manager) {
        if is_file(workspace, &join(&root, file)) {
            let message = format!(
                "is needed: the project has a `{file}`, so {other} looks after it, which would not learn of what {} installs; say \
                 `{}` if that is meant",
                manager.name(),
                manager.name()
            );
            return Err(invalid("install_package", "/manager", &message));
        }
    }
    Ok((*manager, root))
}

fn no_project(message: &str) -> ToolError {
    ToolError::new(ErrorCode::FileNotFound, message)
}

fn manager_of(kind: Kind) -> Option<Manager> {
    match kind {
        Kind::Cargo => Some(Manager::Cargo),
        Kind::Python => Some(Manager::Pip),
        Kind::Npm => Some(Manager::Npm),
        Kind::Go => Some(Manager::Go),
        Kind::Make => None,
    }
}

/// Whether the virtual environment of a project is missing. An entry that is not one is refused: a link would lead to the Python of the
/// system.
fn makes_venv(workspace: &Workspace, root: &str) -> Result<bool, ToolError> {
    let path = join(root, ".venv");
    let is_venv = match records::kind(workspace, &path)? {
        None => return Ok(true),
        Some(EntryKind::Directory) => is_file(workspace, &join(&path, "pyvenv.cfg")),
        Some(EntryKind::File | EntryKind::Symlink | EntryKind::Other) => false,
    };
    match is_venv {
        true => Ok(false),
        false => Err(ToolError::new(
            ErrorCode::InvalidPath,
            format!(
                "`{path}` is not a virtual environment of this project, and packages are installed nowhere else; remove it, and it is created again"
            ),
        )),
    }
}

/// The name and version that a package of the workspace says it has.
fn version_of(workspace: &Workspace, package: &Package) -> Option<String> {
    let Package::Local { path, .. } = package else {
        return None;
    };
    let (name, version) = super::installed::said(workspace, path)?;
    Some(crate::model::text::shorten(
        &format!("{name} {version}"),
        100,
    ))
}
