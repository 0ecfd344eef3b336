//! The formatters that are known: what they take, and how each is asked.
//!
//! A formatter is asked twice. The *survey* is one run over a directory that says which files it would change, by its own idea of
//! what belongs to a project (module trees, ignore files). Then each of those is given to it on its input, and its output is the new
//! text. So it never writes a file itself, `check` takes the same way, and names of files are never words on its command line but
//! where they are glued to an option.

use std::path::Path;

use serde::Deserialize;

use super::super::project::with_toolchain;
use crate::sandbox::Command;

/// A program that formats code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Formatter {
    Rustfmt,
    Ruff,
    Black,
    Prettier,
    Gofmt,
}

/// What prettier takes without a plug-in.
const WEB: &[&str] = &[
    "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "json", "json5", "jsonc", "css", "scss",
    "less", "html", "vue", "md", "mdx", "yaml", "yml", "graphql", "gql", "hbs",
];

impl Formatter {
    pub(super) const ALL: [Formatter; 5] = [
        Formatter::Rustfmt,
        Formatter::Ruff,
        Formatter::Black,
        Formatter::Prettier,
        Formatter::Gofmt,
    ];

    /// Its name, which is also the program's.
    pub(super) fn name(self) -> &'static str {
        match self {
            Formatter::Rustfmt => "rustfmt",
            Formatter::Ruff => "ruff",
            Formatter::Black => "black",
            Formatter::Prettier => "prettier",
            Formatter::Gofmt => "gofmt",
        }
    }

    /// Whether files of this name are its to format.
    pub(super) fn takes(self, path: &str) -> bool {
        let extension = Path::new(path)
            .extension()
            .and_then(|extension| extension.to_str());
        let Some(extension) = extension else {
            return false;
        };
        match self {
            Formatter::Rustfmt => extension == "rs",
            Formatter::Ruff | Formatter::Black => matches!(extension, "py" | "pyi"),
            Formatter::Prettier => WEB.contains(&extension),
            Formatter::Gofmt => extension == "go",
        }
    }

    /// The run that says which files beneath a directory (`./…`) would change. Rust has none without a Cargo project, and with
    /// one it is about all of it.
    pub(super) fn survey(self, program: &Path, directory: &str) -> Command {
        match self {
            // What `cargo` would read of the home directory are settings that the sandbox does not let it read.
            Formatter::Rustfmt => with_toolchain(Command::new("cargo"))
                .env("CARGO_HOME", "/nonexistent")
                .args(["fmt", "--all", "--", "--check", "-l", "-v"]),
            Formatter::Ruff => Command::new(program).args([
                "format",
                "--no-cache",
                "--force-exclude",
                "--check",
                "--",
                directory,
            ]),
            Formatter::Black => Command::new(program).args(["--check", "--", directory]),
            Formatter::Prettier => {
                Command::new(program).args(["--no-color", "--list-different", "--", directory])
            }
            Formatter::Gofmt => Command::new(program).args(["-l", "--", directory]),
        }
    }

    /// The run that reads a file's text and prints the new one; its absolute name is only there to find settings by.
    pub(super) fn filter(self, program: &Path, name: &str, edition: Option<&str>) -> Command {
        let command = Command::new(program);
        match self {
            Formatter::Rustfmt => match edition {
                Some(edition) => with_toolchain(command).args(["--edition", edition]),
                None => with_toolchain(command),
            },
            Formatter::Ruff => command
                .args(["format", "--no-cache", "--force-exclude"])
                .args([format!("--stdin-filename={name}"), "-".to_owned()]),
            Formatter::Black => command
                .args(["--quiet".to_owned(), format!("--stdin-filename={name}")])
                .args(["-"]),
            Formatter::Prettier => {
                command.args(["--no-color".to_owned(), format!("--stdin-filepath={name}")])
            }
            Formatter::Gofmt => command,
        }
    }

    /// Whether a run ended because the program is there by name only: a shim of a version manager, a link to nothing.
    pub(super) fn is_missing(exit_code: i32, stderr: &str) -> bool {
        exit_code == 127
            || (exit_code != 0
                && (stderr.contains("is not installed for the toolchain")
                    || stderr.contains("no such command: `fmt`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_belong_to_formatters_by_their_ending() {
        for (path, formatter, takes) in [
            ("src/main.rs", Formatter::Rustfmt, true),
            ("src/main.rs.bak", Formatter::Rustfmt, false),
            (".rs", Formatter::Rustfmt, false),
            ("a.pyi", Formatter::Black, true),
            ("a.tsx", Formatter::Prettier, true),
            ("a.py", Formatter::Prettier, false),
            ("Makefile", Formatter::Gofmt, false),
        ] {
            assert_eq!(formatter.takes(path), takes, "{path} {formatter:?}");
        }
    }

    #[test]
    fn a_name_that_looks_like_an_option_stays_glued_to_one() {
        for formatter in Formatter::ALL {
            let command = formatter.filter(Path::new("x"), "/w/--config=evil.py", Some("2024"));
            let shown = format!("{command:?}");
            assert!(!shown.contains("\"--config"), "{shown}");
        }
    }
}
