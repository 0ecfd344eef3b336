//! From the settings of a server to the wall around its program: [`walled`].
//!
//! The wall is that of tools, with a directory of the server's own as its workspace: it is the program's `HOME`, holds its caches, and is
//! the only place it may write unless the settings name more. The network is a guarded proxy and nothing else, so what the program tries to
//! reach is known. The hosts of package registries are within reach only while a server is added or updated; at other times npm and
//! uv are started offline, and use what they fetched then.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::sandbox::{self, UpstreamSandbox};
use super::settings::{Transport, UpstreamSettings};
use crate::builtin::PackageSources;
use crate::egress::Egress;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::Slug;
use crate::model::sandbox_plan::{PlanLine, SandboxPlan};
use crate::model::text;
use crate::process::{self, Access, Reachable, SandboxOptions, Wall, reaches_own_data};
use crate::sandbox::{Layer, Level, Limits, Policy, Support};
use crate::storage::DurableDir;
use crate::workspace::Workspace;

/// The directory in the home with a directory for each server.
const DIRECTORY: &str = "upstream-state";
/// The cache of uv in it. What it holds is fetched again when the server is updated.
const UV_CACHE: &str = ".uv-cache";

/// Toolchains below the user's home directory that are found by a variable: their shims look below `HOME` otherwise.
const TOOLCHAINS: &[(&str, &str)] = &[
    ("PYENV_ROOT", ".pyenv"),
    ("RBENV_ROOT", ".rbenv"),
    ("NVM_DIR", ".nvm"),
    ("VOLTA_HOME", ".volta"),
    ("ASDF_DATA_DIR", ".asdf"),
    ("RUSTUP_HOME", ".rustup"),
    ("MISE_DATA_DIR", ".local/share/mise"),
];

/// What walls are made with.
pub(crate) struct WallParts {
    pub(crate) home: PathBuf,
    pub(crate) options: SandboxOptions,
    pub(crate) egress: Egress,
}

/// Whether a program may be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fetch {
    /// What it needs is there.
    Never,
    /// The hosts of package registries are within reach.
    Allowed,
}

/// A wall that is ready to be built.
pub(super) struct Walled {
    pub(super) level: Level,
    pub(super) wall: Wall,
    pub(super) policy: Policy,
    pub(super) egress: Egress,
    /// Variables of the program, weaker than those of the settings.
    pub(super) variables: Vec<(String, String)>,
    /// The server's own directory.
    pub(super) state: PathBuf,
}

/// The wall around the program of a server; none where the settings want none. Blocks.
pub(super) fn walled(
    name: &Slug,
    settings: &UpstreamSettings,
    parts: &WallParts,
    fetch: Fetch,
) -> Result<Option<Walled>, ToolError> {
    let (
        Some(wanted),
        Transport::Program {
            command, args, cwd, ..
        },
    ) = (&settings.sandbox, &settings.transport)
    else {
        return Ok(None);
    };
    if wanted.level == Level::None {
        return Ok(None);
    }
    let state = parts.home.join(DIRECTORY).join(name.as_str());
    let workspace = own_workspace(&state, &parts.home)?;
    if fetch == Fetch::Allowed {
        // A link in its place is removed, and not followed.
        let _ = std::fs::remove_dir_all(state.join(UV_CACHE));
    }
    let sources = PackageSources::of_this_process();
    let mut read = readable(name, wanted, args, &workspace)?;
    read.extend(cwd.clone());
    read.extend(program(command).filter(|path| why_not(path, Access::Read, &workspace).is_none()));
    read.extend(sources.readable.iter().cloned());
    let write = writable(name, wanted, &workspace)?;
    let mut hosts = wanted.hosts.clone();
    if fetch == Fetch::Allowed {
        hosts.extend(sources.hosts.iter().cloned());
    }
    let support = process::machine()?.support().clone();
    let network = match support.check(Layer::ProxyOnly) {
        Err(_) if hosts.is_empty() => Reachable::EachOther,
        // Without any host it is still the proxy that says so.
        _ => Reachable::Hosts(hosts.clone()),
    };
    let wall = Wall::of_server(wanted.level, read, write, wanted.memory, network);
    let policy = wall.server_policy(&workspace, &parts.options);
    let is_offline = !sources.hosts.iter().all(|host| hosts.contains(host));
    Ok(Some(Walled {
        level: wanted.level,
        wall,
        policy,
        egress: parts.egress.clone(),
        variables: variables(&state, &sources, is_offline),
        state,
    }))
}

/// The file of the program, where it is not one of the system's, which can be read anyway.
fn program(command: &str) -> Option<PathBuf> {
    let found = match command.contains('/') {
        true => sandbox::place(command),
        false => std::env::split_paths(&std::env::var_os("PATH")?)
            .map(|directory| directory.join(command))
            .find(|path| path.is_file())?,
    };
    let is_the_systems = ["/usr", "/bin", "/sbin"]
        .iter()
        .any(|system| found.starts_with(system));
    (found.is_absolute() && !is_the_systems).then_some(found)
}

/// Removes the directory of a server; whether there was one.
pub(crate) fn remove_state(home: &Path, name: &Slug) -> std::io::Result<bool> {
    match std::fs::remove_dir_all(home.join(DIRECTORY).join(name.as_str())) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn own_workspace(state: &Path, home: &Path) -> Result<Workspace, ToolError> {
    DurableDir::create(state)?;
    let workspace = Workspace::open(state).map_err(|error| {
        ToolError::new(ErrorCode::StorageError, error.to_string()).caused_by(error)
    })?;
    Ok(workspace.without(home))
}

fn readable(
    name: &Slug,
    wanted: &UpstreamSandbox,
    args: &[String],
    workspace: &Workspace,
) -> Result<Vec<PathBuf>, ToolError> {
    let Some(read) = &wanted.read else {
        let mut named = sandbox::named_in(args);
        named.retain(|path| why_not(path, Access::Read, workspace).is_none());
        return Ok(named);
    };
    allowed(name, "read", read, Access::Read, workspace)
}

fn writable(
    name: &Slug,
    wanted: &UpstreamSandbox,
    workspace: &Workspace,
) -> Result<Vec<PathBuf>, ToolError> {
    allowed(name, "write", &wanted.write, Access::Write, workspace)
}

/// The paths of a setting, if each may be given to a program.
fn allowed(
    name: &Slug,
    key: &str,
    paths: &[String],
    access: Access,
    workspace: &Workspace,
) -> Result<Vec<PathBuf>, ToolError> {
    let mut allowed = Vec::with_capacity(paths.len());
    for text in paths {
        let path = sandbox::place(text);
        if let Some(why) = why_not(&path, access, workspace) {
            let message = format!(
                "`upstreams.{name}.sandbox.{key}`: `{}` {why}",
                text::shorten(text, 200)
            );
            return Err(ToolError::new(ErrorCode::SandboxUnavailable, message));
        }
        allowed.push(path);
    }
    Ok(allowed)
}

/// Why a path cannot be given to a server, if it cannot.
fn why_not(path: &Path, access: Access, workspace: &Workspace) -> Option<&'static str> {
    match path.canonicalize() {
        Ok(real) => reaches_own_data(&real, access, workspace),
        Err(_) => Some("does not exist or cannot be reached"),
    }
}

fn variables(state: &Path, sources: &PackageSources, is_offline: bool) -> Vec<(String, String)> {
    let below = |name: &str| state.join(name).to_string_lossy().into_owned();
    let mut variables: Vec<(String, String)> = [
        ("HOME", state.to_string_lossy().into_owned()),
        ("XDG_CACHE_HOME", below(".cache")),
        ("XDG_CONFIG_HOME", below(".config")),
        ("XDG_DATA_HOME", below(".local/share")),
        ("XDG_STATE_HOME", below(".local/state")),
        ("npm_config_cache", below(".npm")),
        ("UV_CACHE_DIR", below(UV_CACHE)),
        ("npm_config_update_notifier", "false".to_owned()),
        // Node asks no proxy unless this is set.
        ("NODE_USE_ENV_PROXY", "1".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    if is_offline {
        for (name, value) in [("npm_config_offline", "true"), ("UV_OFFLINE", "1")] {
            variables.push((name.to_owned(), value.to_owned()));
        }
    }
    variables.extend(sources.variables.iter().cloned());
    variables.extend(toolchains());
    for name in ["USER", "LOGNAME", "SHELL"] {
        variables.extend(own_variable(name));
    }
    variables
}

fn toolchains() -> Vec<(String, String)> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let found = |(name, below): &(&str, &str)| {
        own_variable(name).or_else(|| {
            let path = home.as_ref()?.join(below);
            let path = path.is_dir().then(|| path.to_str().map(str::to_owned))??;
            Some(((*name).to_owned(), path))
        })
    };
    TOOLCHAINS.iter().filter_map(found).collect()
}

/// A variable of this process, if it is set to a text.
pub(super) fn own_variable(name: &str) -> Option<(String, String)> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
    Some((name.to_owned(), value))
}

/// Why this machine cannot enforce the wall of a server, if it cannot.
pub(crate) fn missing(settings: &UpstreamSettings) -> Option<String> {
    let wanted = settings.sandbox.as_ref()?;
    let support = support()?;
    let lacking = support.level(wanted.level).err().or_else(|| {
        let needs_proxy = wanted.level > Level::None && !wanted.hosts.is_empty();
        needs_proxy.then(|| support.check(Layer::ProxyOnly).err())?
    });
    lacking.map(|missing| missing.to_string())
}

/// What the machine has; found out once, since lists ask for it.
fn support() -> Option<&'static Support> {
    static SUPPORT: OnceLock<Option<Support>> = OnceLock::new();
    let found = SUPPORT.get_or_init(|| Some(process::machine().ok()?.support().clone()));
    found.as_ref()
}

/// The wall of a server in lines, as `toolcrib explain` shows those of tools. None for a server that is not a program.
pub(crate) fn plan(
    settings: &UpstreamSettings,
    parts: &WallParts,
    name: &Slug,
) -> Option<SandboxPlan> {
    let Transport::Program { args, env, .. } = &settings.transport else {
        return None;
    };
    let wanted = settings.sandbox.as_ref();
    let Some(wanted) = wanted.filter(|wanted| wanted.level > Level::None) else {
        let lines = vec![PlanLine::open(
            "isolation",
            "none",
            "no wall: it reads, writes and reaches whatever you can",
        )];
        let refused = None;
        return Some(SandboxPlan { lines, refused });
    };
    let by = match wanted.level {
        Level::Container => "landlock, own-root",
        Level::None | Level::Process => "landlock",
    };
    let mut lines = Vec::new();
    let promise = wanted.level.to_string();
    lines.push(match missing(settings) {
        None => PlanLine::kept(
            "isolation",
            promise,
            "seccomp, no-new-privileges, no-capabilities",
        ),
        Some(why) => PlanLine::open("isolation", promise, why),
    });
    let state = parts.home.join(DIRECTORY).join(name.as_str());
    lines.push(PlanLine::kept(
        "files",
        format!(
            "writes `{}`, its home directory; reads programs and libraries",
            state.display()
        ),
        by,
    ));
    let read: Vec<String> = match &wanted.read {
        Some(read) => read.clone(),
        None => {
            let named = sandbox::named_in(args).into_iter();
            named.map(|path| path.display().to_string()).collect()
        }
    };
    for (verb, paths) in [("read", &read), ("write", &wanted.write)] {
        for path in paths {
            let path = text::shorten(&text::visible_line(path), 200);
            lines.push(PlanLine::kept("files", format!("may {verb} `{path}`"), by));
        }
    }
    let network = match wanted.hosts.is_empty() {
        true => "none".to_owned(),
        false => wanted
            .hosts
            .iter()
            .map(|host| format!("`{host}`"))
            .collect::<Vec<_>>()
            .join(", "),
    };
    let through = "a guarded proxy and no other way out (proxy-only, network-namespace)";
    lines.push(PlanLine::kept("network", network, through));
    let usual = parts.options.memory.or(Limits::default().memory);
    let memory = [usual, wanted.memory].into_iter().flatten().min();
    if let (Some(memory), Some(support)) = (memory, support()) {
        let promise = format!("{} of all its processes together", text::size(memory));
        lines.push(match support.check(Layer::MemoryLimit) {
            Ok(()) => PlanLine::kept("memory", promise, "a cgroup (memory-limit)"),
            Err(missing) => PlanLine::open(
                "memory",
                promise,
                format!(
                    "only of each process (memory-limit-per-process); {}",
                    missing.reason
                ),
            ),
        });
    }
    let own = env
        .keys()
        .chain(&wanted.environment)
        .cloned()
        .collect::<Vec<_>>();
    let usual = "PATH, LANG, LC_*, TZ, TERM, its own HOME and caches";
    let promise = match own.is_empty() {
        true => usual.to_owned(),
        false => format!("{usual}, and {}", own.join(", ")),
    };
    lines.push(PlanLine::kept("environment", promise, "environment"));
    Some(SandboxPlan {
        lines,
        refused: missing(settings),
    })
}
