//! Whether a program is there, and how one gets it if not.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::model::error::{ErrorCode, ToolError};
use crate::sandbox::Command;

/// How one gets the programs that work on projects.
const SOURCES: &[(&str, &str)] = &[
    (
        "cargo",
        "`curl https://sh.rustup.rs -sSf | sh` installs Rust",
    ),
    ("rustfmt", "`rustup component add rustfmt` installs it"),
    (
        "python3",
        "`apt install python3`, or the like of your system, installs it",
    ),
    (
        "pytest",
        "`python3 -m pip install pytest` installs it, best in a virtual environment: `python3 -m venv .venv`",
    ),
    (
        "pip",
        "`python3 -m ensurepip`, or `apt install python3-pip`, installs it",
    ),
    (
        "uv",
        "`curl -LsSf https://astral.sh/uv/install.sh | sh` installs it",
    ),
    ("ruff", "`python3 -m pip install ruff` installs it"),
    ("black", "`python3 -m pip install black` installs it"),
    ("node", "https://nodejs.org has it, or `apt install nodejs`"),
    (
        "npm",
        "it comes with Node.js: https://nodejs.org, or `apt install npm`",
    ),
    (
        "npx",
        "it comes with Node.js: https://nodejs.org, or `apt install npm`",
    ),
    (
        "vitest",
        "`npm install --save-dev vitest` installs it; `npm ci` if package-lock.json lists it already",
    ),
    (
        "jest",
        "`npm install --save-dev jest` installs it; `npm ci` if package-lock.json lists it already",
    ),
    (
        "mocha",
        "`npm install --save-dev mocha` installs it; `npm ci` if package-lock.json lists it already",
    ),
    (
        "prettier",
        "`npm install --save-dev prettier` installs it; `npm ci` if package-lock.json lists it already",
    ),
    (
        "go",
        "https://go.dev/doc/install has it, or `apt install golang-go`",
    ),
    (
        "gofmt",
        "it comes with Go: https://go.dev/doc/install, or `apt install golang-go`",
    ),
    (
        "make",
        "`apt install make`, or the like of your system, installs it",
    ),
];

/// Where a program of this name is, in the directories of `PATH`.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|program| {
            program.metadata().is_ok_and(|metadata| {
                metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
            })
        })
}

/// Whether a program of this name is there.
pub(in crate::builtin) fn is_there(name: &str) -> bool {
    find(name).is_some()
}

/// Fails with how to get it unless the program is there.
pub(in crate::builtin) fn need(name: &str) -> Result<(), ToolError> {
    match is_there(name) {
        true => Ok(()),
        false => Err(missing(name, "it is not in PATH")),
    }
}

/// That a program cannot be used, and how to get it.
pub(in crate::builtin) fn missing(name: &str, why: &str) -> ToolError {
    let how = SOURCES
        .iter()
        .find(|(program, _)| *program == name)
        .map_or(String::new(), |(_, how)| format!("; {how}"));
    ToolError::new(
        ErrorCode::ToolUnavailable,
        format!("`{name}` is needed, and {why}{how}"),
    )
    .with_detail("program", name)
}

/// A variable of this process that names a place.
pub(in crate::builtin) fn absolute_variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| Path::new(value).is_absolute())
}

/// A command of Rust's toolchain, which finds it where the operator has it: rustup goes by a variable, which no program behind a wall
/// has by itself.
pub(in crate::builtin) fn with_toolchain(command: Command) -> Command {
    match absolute_variable("RUSTUP_HOME") {
        Some(home) => command.env("RUSTUP_HOME", home),
        None => command,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_reported_with_how_to_get_it() {
        let error = missing("cargo", "it is not in PATH");
        assert_eq!(error.code(), ErrorCode::ToolUnavailable);
        assert_eq!(
            error.message(),
            "`cargo` is needed, and it is not in PATH; `curl https://sh.rustup.rs -sSf | sh` installs Rust"
        );
        assert!(need("sh").is_ok());
        let error = need("no-such-program-anywhere").unwrap_err();
        assert_eq!(
            error.details().unwrap()["program"],
            "no-such-program-anywhere"
        );
    }
}
