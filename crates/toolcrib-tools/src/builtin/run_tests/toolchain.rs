//! Where toolchains are, and what a sandboxed run has to be shown of them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::super::project::{self, Project, is_file, join, upwards};
use crate::model::error::{ErrorCode, ToolError};
use crate::workspace::Workspace;

/// What a run of cargo needs beyond the usual.
#[derive(Debug, Default)]
pub(super) struct Rust {
    pub(super) variables: Vec<(&'static str, OsString)>,
    pub(super) read: Vec<PathBuf>,
}

/// The largest settings of cargo that are looked at.
const MAX_CONFIG: u64 = 1024 * 1024;

/// Finds Rust's toolchain. Cargo reads what was fetched already where it is, so that nothing is built twice; it writes nothing there.
/// Blocks.
pub(super) fn rust(workspace: &Workspace) -> Result<Rust, ToolError> {
    let mut rust = Rust::default();
    let home = project::absolute_variable("CARGO_HOME");
    rust.variables
        .extend(home.clone().map(|home| ("CARGO_HOME", home)));
    let home = home
        .map(PathBuf::from)
        .or_else(|| project::absolute_variable("HOME").map(|home| Path::new(&home).join(".cargo")));
    // Cargo reads settings in every directory above the project, too; those in the workspace it can read anyway.
    let above = workspace.root().ancestors().skip(1);
    let homes = home
        .into_iter()
        .chain(above.map(|directory| directory.join(".cargo")));
    for home in homes {
        for config in ["config.toml", "config"].map(|name| home.join(name)) {
            if config.is_file() {
                check_config(&config)?;
                rust.read.push(config);
            }
        }
    }
    rust.read.retain(|path| path.exists());
    Ok(rust)
}

/// Cargo does not work if it cannot read its settings, so they are shown to it; but not with a key in them.
fn check_config(config: &Path) -> Result<(), ToolError> {
    let small = config
        .metadata()
        .is_ok_and(|metadata| metadata.len() <= MAX_CONFIG);
    let text = small
        .then(|| std::fs::read_to_string(config).ok())
        .flatten();
    let table = text.and_then(|text| text.parse::<toml::Table>().ok());
    match table.map(toml::Value::Table) {
        Some(settings) if !holds_credentials(&settings) => Ok(()),
        Some(_) => Err(ToolError::new(
            ErrorCode::ToolUnavailable,
            "settings of cargo in your home directory or above the workspace hold a token or password, which no test gets to see; \
             move it to `credentials.toml` in cargo's home (`cargo login`)",
        )),
        None => Err(ToolError::new(
            ErrorCode::ToolUnavailable,
            "settings of cargo in your home directory or above the workspace cannot be read, or are not TOML; `cargo metadata`, outside of \
             Toolcrib, says more",
        )),
    }
}

fn holds_credentials(value: &toml::Value) -> bool {
    const SECRET: [&str; 4] = ["token", "secret-key", "password", "secret"];
    match value {
        toml::Value::Table(table) => table
            .iter()
            .any(|(key, value)| SECRET.contains(&key.as_str()) || holds_credentials(value)),
        toml::Value::Array(values) => values.iter().any(holds_credentials),
        // `https://user:password@host/`
        toml::Value::String(text) => text.split_once("://").is_some_and(|(_, rest)| {
            rest.split('/')
                .next()
                .is_some_and(|host| host.contains('@'))
        }),
        _ => false,
    }
}

/// A Python to run pytest with.
#[derive(Debug)]
pub(super) struct Python {
    pub(super) program: OsString,
    pub(super) shown: String,
    pub(super) variables: Vec<(&'static str, OsString)>,
    pub(super) read: Vec<PathBuf>,
}

/// The Python of a virtual environment of the project, or of the one in which Toolcrib was started, or the system's. Blocks.
pub(super) fn python(workspace: &Workspace, project: &Project) -> Result<Python, ToolError> {
    for directory in upwards(project.root.as_str()) {
        for name in [".venv", "venv"] {
            let environment = join(directory, name);
            if is_file(workspace, &join(&environment, "pyvenv.cfg")) {
                let place = workspace.host_directory(&workspace.path(&environment)?)?;
                return Ok(in_environment(&place, &environment, Vec::new()));
            }
        }
    }
    let active = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    if let Some(place) =
        active.filter(|place| place.is_absolute() && place.join("pyvenv.cfg").is_file())
    {
        return Ok(in_environment(&place, "$VIRTUAL_ENV", vec![place.clone()]));
    }
    project::need("python3")?;
    Ok(Python {
        program: "python3".into(),
        shown: "python3".to_owned(),
        variables: Vec::new(),
        read: Vec::new(),
    })
}

fn in_environment(place: &Path, shown: &str, read: Vec<PathBuf>) -> Python {
    let bin = place.join("bin");
    Python {
        program: bin.join("python").into(),
        shown: format!("{shown}/bin/python"),
        variables: vec![
            ("VIRTUAL_ENV", place.into()),
            ("PATH", path_beginning_with(std::iter::once(bin))),
        ],
        read,
    }
}

/// A directory of programs that npm has installed.
pub(super) struct Bin {
    /// Relative to the workspace.
    pub(super) relative: String,
    host: PathBuf,
}

/// The directories of installed programs that a package sees, the nearest first. Blocks.
pub(super) fn bins(workspace: &Workspace, root: &str) -> Result<Vec<Bin>, ToolError> {
    let mut bins = Vec::new();
    for directory in upwards(root) {
        let relative = join(directory, "node_modules/.bin");
        if let Ok(host) = workspace.host_directory(&workspace.path(&relative)?) {
            bins.push(Bin { relative, host });
        }
    }
    Ok(bins)
}

/// `PATH` with these directories in front, as npm sets it for scripts.
pub(super) fn path_with(bins: &[Bin]) -> OsString {
    path_beginning_with(bins.iter().map(|bin| bin.host.clone()))
}

fn path_beginning_with(first: impl Iterator<Item = PathBuf>) -> OsString {
    let old = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    let old: Vec<PathBuf> = std::env::split_paths(&old).collect();
    // A directory with a colon in its name cannot be said.
    let first: Vec<PathBuf> = first
        .filter(|path| !path.to_string_lossy().contains(':'))
        .collect();
    std::env::join_paths(first.into_iter().chain(old)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_cargo_with_a_key_in_them_are_not_shown() {
        let directory = tempfile::tempdir().unwrap();
        let config = directory.path().join("config.toml");
        let check = |text: &str| {
            std::fs::write(&config, text).unwrap();
            check_config(&config).is_ok()
        };
        assert!(check(
            "[build]\njobs = 2\n[source.crates-io]\nreplace-with = 'mirror'\n[source.mirror]\nregistry = 'https://mirror.example/index'\n"
        ));
        assert!(!check("[registry]\ntoken = 'x'\n"));
        assert!(!check("[registries.own]\nsecret-key = 'x'\n"));
        assert!(!check("[http]\nproxy = 'http://me:pass@proxy:3128'\n"));
        assert!(!check("[registry\n"));
    }
}
