//! The package managers: what each is called, which files it keeps, and the commands that add packages.

use std::path::Path;

use serde::Deserialize;

use super::super::project::with_toolchain;
use super::package::Package;
use super::registry::Registry;
use crate::sandbox::Command;

/// A package manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Manager {
    Cargo,
    Pip,
    Npm,
    Go,
}

/// The packages to install, and how.
pub(super) struct Order<'a> {
    pub(super) manager: Manager,
    /// The directory of the project on the host.
    pub(super) root: &'a Path,
    pub(super) packages: &'a [Package],
    pub(super) dev: bool,
    pub(super) scripts: bool,
    /// Whether the project's `.venv` has to be made.
    pub(super) makes_venv: bool,
    pub(super) registry: &'a Registry,
    /// The call's own directory.
    pub(super) temp: &'a Path,
}

/// One command of an installation.
pub(super) struct Step {
    pub(super) command: Command,
    /// Whether what it prints is a report for us, not words for who watches.
    pub(super) reports: bool,
}

impl Manager {
    pub(super) const ALL: [Manager; 4] = [Manager::Cargo, Manager::Pip, Manager::Npm, Manager::Go];

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Manager::Cargo => "cargo",
            Manager::Pip => "pip",
            Manager::Npm => "npm",
            Manager::Go => "go",
        }
    }

    /// The program that has to be there.
    pub(super) fn program(self) -> &'static str {
        match self {
            Manager::Cargo => "cargo",
            Manager::Pip => "python3",
            Manager::Npm => "npm",
            Manager::Go => "go",
        }
    }

    /// The file that makes a directory its project; a project of pip needs none.
    pub(super) fn manifest(self) -> Option<&'static str> {
        match self {
            Manager::Cargo => Some("Cargo.toml"),
            Manager::Npm => Some("package.json"),
            Manager::Go => Some("go.mod"),
            Manager::Pip => None,
        }
    }

    /// Files that record what is installed: they are as they were when an installation fails. Those that are for programs only are
    /// not shown line by line.
    pub(super) fn records(self) -> &'static [&'static str] {
        match self {
            Manager::Cargo => &["Cargo.toml", "Cargo.lock"],
            Manager::Npm => &["package.json", "package-lock.json", "npm-shrinkwrap.json"],
            Manager::Go => &["go.mod", "go.sum", "go.work", "go.work.sum"],
            Manager::Pip => &[],
        }
    }

    /// Whether a record is one for programs.
    pub(super) fn is_lock(name: &str) -> bool {
        !matches!(name, "Cargo.toml" | "package.json" | "go.mod" | "go.work")
    }

    /// Whether it distinguishes packages for development from others.
    pub(super) fn knows_dev(self) -> bool {
        matches!(self, Manager::Cargo | Manager::Npm)
    }

    /// Whether packages can bring code that runs when they are installed.
    pub(super) fn knows_scripts(self) -> bool {
        matches!(self, Manager::Pip | Manager::Npm)
    }
}

impl Order<'_> {
    /// The commands, in order.
    pub(super) fn steps(&self) -> Vec<Step> {
        let commands = match self.manager {
            Manager::Cargo => self.cargo(),
            Manager::Npm => vec![self.npm()],
            Manager::Go => vec![self.go()],
            Manager::Pip => return self.pip(),
        };
        let step = |command| Step {
            command,
            reports: false,
        };
        commands.into_iter().map(step).collect()
    }

    /// A command in the project, with the registry's variables.
    fn command(&self, program: impl Into<std::ffi::OsString>) -> Command {
        let command = Command::new(program).directory(self.root);
        let variables = self.registry.variables.iter();
        variables.fold(command, |command, (name, value)| command.env(name, value))
    }

    fn is_local(&self) -> bool {
        self.packages.iter().all(Package::is_local)
    }

    fn arguments(&self) -> impl Iterator<Item = String> {
        self.packages
            .iter()
            .map(|package| package.argument(self.manager))
    }

    /// A call has its own home for cargo: that of the operator is not read, since it holds tokens, and not written.
    fn cargo(&self) -> Vec<Command> {
        let add = || {
            let command = with_toolchain(self.command("cargo"))
                .env("CARGO_HOME", self.temp.join("cargo"))
                // Settings of the project name other programs for these; here there is a way to the registry.
                .env("RUSTC", "rustc")
                .env("RUSTC_WRAPPER", "")
                .env("RUSTC_WORKSPACE_WRAPPER", "")
                .env("CARGO_TERM_COLOR", "never")
                .env(
                    "CARGO_NET_OFFLINE",
                    if self.is_local() { "true" } else { "false" },
                )
                .args(["add"]);
            match self.dev {
                true => command.args(["--dev"]),
                false => command,
            }
        };
        if !self.is_local() {
            return vec![add().args(["--"]).args(self.arguments())];
        }
        // It takes one path at a time.
        self.arguments()
            .map(|path| add().args(["--path".to_owned(), path]))
            .collect()
    }

    fn npm(&self) -> Command {
        let option =
            |name: &str, file: &str| format!("--{name}={}", self.temp.join(file).display());
        let mut command = self
            .command("npm")
            .args(["install", "--no-audit", "--no-fund", "--no-progress"])
            .args(["--no-update-notifier", "--color=false", "--logs-max=0"])
            // What an `.npmrc` of the project could make of it.
            .args(["--location=project", "--no-dry-run", "--package-lock"])
            .args([
                option("userconfig", "npmrc"),
                option("globalconfig", "no-npmrc"),
                option("cache", "npm"),
            ]);
        command = match self.scripts {
            // Last word, whatever an `.npmrc` of the project says.
            true => command.args(["--no-ignore-scripts", "--foreground-scripts"]),
            false => command.args(["--ignore-scripts"]),
        };
        command = match self.dev {
            true => command.args(["--save-dev"]),
            false => command.args(["--save"]),
        };
        if self.is_local() {
            command = command.args(["--offline"]);
        }
        command.args(["--"]).args(self.arguments())
    }

    fn pip(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        if self.makes_venv {
            steps.push(Step {
                command: self.command("python3").args(["-m", "venv", "--", ".venv"]),
                reports: false,
            });
        }
        // `-I`: neither the directory it runs in nor variables name code that it loads.
        let mut command = self
            .command(self.root.join(".venv/bin/python"))
            .args(["-I", "-m", "pip", "install", "--quiet", "--report", "-"])
            .args([
                "--disable-pip-version-check",
                "--no-input",
                "--no-cache-dir",
            ])
            .args(["--require-virtualenv"])
            .env("PIP_CONFIG_FILE", "/dev/null");
        if self.is_local() {
            // What it is built with has to be in `.venv`: there is nowhere to get it from.
            command = command.args(["--no-index", "--no-build-isolation"]);
        } else if !self.scripts {
            command = command.args(["--only-binary", ":all:"]);
        }
        steps.push(Step {
            command: command.args(["--"]).args(self.arguments()),
            reports: true,
        });
        steps
    }

    fn go(&self) -> Command {
        self.command("go")
            .env("GOPATH", self.temp.join("go"))
            .env("GOCACHE", self.temp.join("go-build"))
            // Or the call's directory could not be cleared away.
            .env("GOFLAGS", "-modcacherw")
            .env("GOTOOLCHAIN", "local")
            .env("GOENV", "off")
            .args(["get", "--"])
            .args(self.arguments())
    }
}
