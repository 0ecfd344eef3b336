//! The whole product in one value: [`Crib`], a registry with a home on disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::approval::{Approver, DenyAll};
use crate::builtin::{BuiltinOptions, ListOptions, ReadOptions, SandboxOptions, SandboxSettings};
use crate::config::{Config, ConfigError, NoHome, Surroundings, load_rules};
use crate::record::call_log::{CallLog, CallLogHealth, CallLogOptions};
use crate::record::replay::Replay;
use crate::registry::{RegisterError, Registry};
use crate::rules::RuleSet;
use crate::sandbox::{Level, Policy};
use crate::workspace::{Workspace, WorkspaceError};

/// The directory of the home that holds the call log.
const CALLS: &str = "calls";

/// How to open a crib; every part has a default.
pub struct CribOptions {
    surroundings: Surroundings,
    home: Option<PathBuf>,
    workspace: Option<PathBuf>,
    approver: Arc<dyn Approver>,
}

impl Default for CribOptions {
    fn default() -> Self {
        CribOptions {
            surroundings: Surroundings::of_process(),
            home: None,
            workspace: None,
            approver: Arc::new(DenyAll::default()),
        }
    }
}

impl CribOptions {
    /// Takes settings from these surroundings instead of the process's.
    #[must_use]
    pub fn surroundings(mut self, surroundings: Surroundings) -> Self {
        self.surroundings = surroundings;
        self
    }

    /// Keeps Toolcrib's data here.
    #[must_use]
    pub fn home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// Works on this directory tree.
    #[must_use]
    pub fn workspace(mut self, workspace: impl Into<PathBuf>) -> Self {
        self.workspace = Some(workspace.into());
        self
    }

    /// Asks this approver.
    #[must_use]
    pub fn approver(mut self, approver: impl Approver) -> Self {
        self.approver = Arc::new(approver);
        self
    }

    /// Opens the crib. Nothing is written until there is something to write.
    pub fn open(self) -> Result<Crib, OpenError> {
        let home = match self.home {
            Some(home) => self.surroundings.resolve(&home),
            None => self.surroundings.home()?,
        };
        let mut config = Config::load(&home, &self.surroundings)?;
        if let Some(workspace) = &self.workspace {
            config.set_flag("workspace", &workspace.to_string_lossy())?;
        }
        let found = self
            .surroundings
            .find_workspace(self.workspace.as_deref(), Some(&config));
        let (workspace, no_workspace) = match found {
            Ok(path) => (Some(Workspace::open(&path)?), None),
            Err(why) => (None, Some(why.to_string())),
        };
        if let Some(workspace) = &workspace {
            config.tighten_by_project(workspace)?;
        }
        let (rules, mut warnings) = load_rules(&home, workspace.as_ref(), &config.disabled_rules())
            .map_err(ConfigError::from)?;
        let call_log = Arc::new(CallLog::with_options(
            home.join(CALLS),
            CallLogOptions {
                max_total_bytes: config.max_log_bytes(),
                max_file_bytes: CallLogOptions::default()
                    .max_file_bytes
                    .min(config.max_log_bytes() / 4),
            },
        ));
        let mut builder = Registry::builder()
            .rules(rules.clone())
            .shared_approver(self.approver)
            .recorder(Arc::clone(&call_log) as _)
            .replay(Replay::in_directory(
                home.join(CALLS).join("ids"),
                config.keep_outcomes(),
            ))
            .limits(&config.limits())
            .max_concurrent(config.max_concurrent_total());
        if let Some(workspace) = workspace {
            builder = builder.workspace(workspace);
        }
        let registry = builder.build();
        registry.register_builtins_with(BuiltinOptions {
            read: ReadOptions {
                extensions: config.read_extensions(),
            },
            list: ListOptions {
                max_entries: config.list_entries(),
            },
            sandbox: SandboxSettings {
                shell: config.shell_isolation(),
                code: config.code_isolation(),
                network: config.sandbox_network(),
                options: SandboxOptions {
                    readable: readable(&config),
                    memory: config.sandbox_memory(),
                    pids: config.sandbox_processes(),
                    sandbox: None,
                },
            },
            no_workspace,
        })?;
        warnings.extend(switch_off(&registry, &config.disabled_tools()));
        Ok(Crib {
            home,
            config,
            rules,
            registry,
            call_log,
            warnings,
        })
    }
}

/// The paths of the setting `readable` that are there; a configuration may be shared by machines that differ.
fn readable(config: &Config) -> Vec<PathBuf> {
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute());
    let place = |path: String| match path.strip_prefix("~/") {
        Some(rest) => home.as_ref().map(|home| home.join(rest)),
        None => Some(PathBuf::from(path)),
    };
    config
        .readable()
        .into_iter()
        .filter_map(place)
        .filter(|path| path.is_absolute() && path.exists())
        .collect()
}

/// Switches tools off; says which names are no tool's. No error: a tool that is gone must not stop
/// the others.
fn switch_off(registry: &Registry, names: &[String]) -> Vec<String> {
    let unknown = names
        .iter()
        .filter_map(|name| registry.set_enabled(name, false).err());
    unknown
        .map(|error| format!("`disabledTools`: {error}"))
        .collect()
}

/// Why a crib cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no home.
    #[error(transparent)]
    Home(#[from] NoHome),
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The workspace cannot be opened.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// Two tools claim one name.
    #[error(transparent)]
    Register(#[from] RegisterError),
}

/// A registry with everything around it: configuration, workspace, call log.
pub struct Crib {
    home: PathBuf,
    config: Config,
    rules: RuleSet,
    registry: Registry,
    call_log: Arc<CallLog>,
    warnings: Vec<String>,
}

impl Crib {
    /// Opens the crib of this user, in this directory.
    pub fn open() -> Result<Self, OpenError> {
        CribOptions::default().open()
    }

    /// The tools and the way to call them.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The settings in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The rules in force.
    pub fn rules(&self) -> &RuleSet {
        &self.rules
    }

    /// What is odd about the settings without making them unusable.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Where Toolcrib keeps its data.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Where the record of past calls is, for a `CallLogReader`.
    pub fn call_log_path(&self) -> PathBuf {
        self.home.join(CALLS)
    }

    /// How recording has fared since the crib was opened.
    pub fn call_log_health(&self) -> CallLogHealth {
        self.call_log.health()
    }

    /// What a sandboxed command may do when nothing else is said: write the workspace, read programs, the toolchains of the
    /// home directory and what `readable` names, reach nothing. `None` without a workspace.
    pub fn policy(&self, level: Level) -> Option<Policy> {
        let mut policy = Policy::new(level, self.workspace_path()?);
        policy.read.extend(readable(&self.config));
        Some(policy)
    }

    /// Where the workspace is, if there is one. For the operator; tools never see it.
    pub fn workspace_path(&self) -> Option<&Path> {
        self.registry.workspace().map(|workspace| workspace.root())
    }
}
