//! What can be installed: a name of the registry, or a path in the workspace, and nothing else.
//!
//! A package manager takes much more for a package: options, URLs, repositories, aliases. Each is a way to other code than the person
//! who is asked reads, so a name is read here, strictly and per manager, and written again for the command line.

use std::path::PathBuf;
use std::sync::LazyLock;

use regex::Regex;

use super::manager::Manager;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;
use crate::workspace::{EntryKind, Workspace};

/// Something to install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Package {
    Named {
        name: String,
        /// Parts of it, as pip has them: `[http2]`.
        extras: String,
        version: Option<Version>,
    },
    Local {
        /// As it was given, relative to the workspace.
        path: String,
        host: PathBuf,
    },
}

/// Which version is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Version {
    /// As the manager understands `name@version`.
    At(String),
    /// This one and no other (`name==version`).
    Exactly(String),
    /// Some, in pip's own words (`>=1,<2`).
    Range(String),
}

/// What a text is before the workspace has been looked at.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Written {
    Name(Package),
    Path,
}

/// The longest text of a package.
const MAX_TEXT: usize = 300;

impl Package {
    /// Reads a text; the error follows it, in words.
    pub(super) fn read(manager: Manager, text: &str) -> Result<Written, String> {
        let refused = |why: &str| Err(why.to_owned());
        if text.is_empty() || text.len() > MAX_TEXT {
            return refused("is empty, or longer than any package's name");
        }
        if text.starts_with('-') {
            return refused(
                "starts with a dash: that is an option of the package manager, and not a package",
            );
        }
        if let Some(odd) = text.chars().find(|c| !c.is_ascii()) {
            return Err(format!(
                "has the character U+{:04X}, and names of packages are plain ASCII: it may pass for another name",
                u32::from(odd)
            ));
        }
        if is_reference(text) {
            return refused(
                "is a URL, a repository or an alias; only names in the registry and paths in the workspace are installed",
            );
        }
        if is_path(manager, text) {
            return match manager {
                Manager::Go => refused(
                    "is a path, and Go takes modules by name; add a `replace` line for it to `go.mod` instead",
                ),
                Manager::Cargo | Manager::Pip | Manager::Npm => Ok(Written::Path),
            };
        }
        let Some(found) = pattern(manager).captures(text) else {
            return Err(format!(
                "is not a package name for {}; give {}",
                manager.name(),
                expected(manager)
            ));
        };
        let part = |name: &str| found.name(name).map(|part| part.as_str().to_owned());
        let version = part("at")
            .map(Version::At)
            .or_else(|| part("exactly").map(Version::Exactly))
            .or_else(|| part("range").map(Version::Range));
        let name = part("name").unwrap_or_default();
        if name.split('/').any(|part| part == "." || part == "..") {
            return refused("has `.` or `..` in it, which no name of a package has");
        }
        Ok(Written::Name(Package::Named {
            name,
            extras: part("extras").unwrap_or_default(),
            version,
        }))
    }

    /// The package that a text is, in a workspace. Blocks.
    pub(super) fn find(
        manager: Manager,
        text: &str,
        workspace: &Workspace,
    ) -> Result<Self, ToolError> {
        match Self::read(manager, text).map_err(|why| refusal(text, &why))? {
            Written::Name(package) => Ok(package),
            Written::Path => local(manager, text, workspace),
        }
    }

    pub(super) fn is_local(&self) -> bool {
        matches!(self, Package::Local { .. })
    }

    /// The word on the command line. It never starts with a dash.
    pub(super) fn argument(&self, manager: Manager) -> String {
        match self {
            // No link leads through it, and a slash distinguishes a tarball from a name.
            Package::Local { host, .. } => host.to_string_lossy().into_owned(),
            Package::Named {
                name,
                extras,
                version,
            } => match (manager, version) {
                (_, None) => format!("{name}{extras}"),
                (Manager::Pip, Some(Version::At(version) | Version::Exactly(version))) => {
                    format!("{name}{extras}=={version}")
                }
                (_, Some(Version::Range(range))) => format!("{name}{extras}{range}"),
                (Manager::Cargo, Some(Version::Exactly(version))) => format!("{name}@={version}"),
                (_, Some(Version::At(version) | Version::Exactly(version))) => {
                    format!("{name}@{version}")
                }
            },
        }
    }

    /// As shown to a person.
    pub(super) fn in_words(&self, manager: Manager) -> String {
        match self {
            Package::Named { .. } => format!("`{}`", self.argument(manager)),
            Package::Local { path, .. } => format!("`{}`", text::shorten(path, 200)),
        }
    }
}

/// A package that cannot be installed.
pub(super) fn refusal(text: &str, why: &str) -> ToolError {
    let message = format!("`{}` {why}", text::shorten(text, 100));
    crate::builtin::invalid(
        "install_package",
        "/packages",
        &format!("has an entry: {message}"),
    )
}

/// Whether a text means something that is fetched from elsewhere.
fn is_reference(text: &str) -> bool {
    const SCHEMES: [&str; 10] = [
        "git+",
        "git@",
        "git:",
        "github:",
        "gitlab:",
        "bitbucket:",
        "gist:",
        "file:",
        "link:",
        "npm:",
    ];
    let text = text.to_ascii_lowercase();
    text.contains("://")
        || text.contains("@npm:")
        || text.contains("@file:")
        || text.contains(" @ ")
        || SCHEMES.iter().any(|scheme| text.starts_with(scheme))
}

fn is_path(manager: Manager, text: &str) -> bool {
    let ends = [".whl", ".tgz", ".tar.gz", ".zip"];
    text.starts_with('/')
        || text.starts_with("./")
        || text.starts_with("../")
        || text == "."
        || text == ".."
        || (manager != Manager::Go
            && !text.starts_with('@')
            && (text.contains('/') || ends.iter().any(|end| text.ends_with(end))))
}

fn pattern(manager: Manager) -> &'static Regex {
    const VERSION: &str = r"[0-9A-Za-z^~<>=*][0-9A-Za-z.+*^~<>=,_-]{0,99}";
    static PATTERNS: LazyLock<[Regex; 4]> = LazyLock::new(|| {
        let with_version = |name: &str| {
            format!(
                r"^(?<name>{name})(?:@(?<at>{VERSION})|==(?<exactly>[0-9A-Za-z][0-9A-Za-z.+_-]{{0,99}}))?$"
            )
        };
        [
            with_version(r"[A-Za-z][A-Za-z0-9_-]{0,63}"),
            // PEP 508, without URLs and markers.
            r"^(?<name>[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?)(?<extras>\[[A-Za-z0-9][A-Za-z0-9._,-]{0,99}\])?(?:@(?<at>[0-9A-Za-z][0-9A-Za-z.*+!_-]{0,99})|==(?<exactly>[0-9A-Za-z][0-9A-Za-z.*+!_-]{0,99})|(?<range>(?:>=|<=|~=|!=|<|>)[0-9A-Za-z.*+!,<>=~_-]{1,99}))?$".to_owned(),
            with_version(r"(?:@[a-z0-9~][a-z0-9._~-]{0,99}/)?[a-z0-9~][a-z0-9._~-]{0,199}"),
            with_version(r"[a-z0-9][A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)+(?:/[A-Za-z0-9._~-]+)*"),
        ]
        .map(|pattern| Regex::new(&pattern).expect("a valid pattern"))
    });
    let index = Manager::ALL.iter().position(|other| *other == manager);
    &PATTERNS[index.unwrap_or(0)]
}

fn expected(manager: Manager) -> &'static str {
    match manager {
        Manager::Cargo => "`serde`, `serde@1.0` or a path like `./crates/mine`",
        Manager::Pip => "`requests`, `requests==2.32.0`, `httpx[http2]` or a path like `./mine`",
        Manager::Npm => {
            "`left-pad`, `left-pad@1.3.0`, `@scope/name` or a path like `./packages/mine`"
        }
        Manager::Go => "`golang.org/x/text` or `golang.org/x/text@v0.3.0`",
    }
}

/// A path in the workspace, if there is a package that the manager takes.
fn local(manager: Manager, text: &str, workspace: &Workspace) -> Result<Package, ToolError> {
    let path = workspace.path(text)?;
    let is_directory = match workspace.metadata(&path) {
        Ok(metadata) => metadata.kind == EntryKind::Directory,
        Err(error) if error.code() == ErrorCode::FileNotFound => {
            let message = format!(
                "there is no `{}`; paths of packages are relative to the workspace, not to the project",
                text::shorten(&text::visible_line(text), 200)
            );
            return Err(ToolError::new(ErrorCode::FileNotFound, message));
        }
        Err(error) => return Err(error),
    };
    let host = if is_directory {
        workspace.host_directory(&path)?
    } else {
        let (parent, name) = text.rsplit_once('/').unwrap_or((".", text));
        let parent = if parent.is_empty() { "." } else { parent };
        // Opened once: it is a file, and its links do not lead out.
        workspace.open_file(&path)?;
        workspace
            .host_directory(&workspace.path(parent)?)?
            .join(name)
    };
    let holds = |name: &str| {
        let path = workspace.path(&format!("{}/{name}", text.trim_end_matches('/')));
        path.and_then(|path| workspace.open_file(&path)).is_ok()
    };
    let is_package = match (manager, is_directory) {
        (Manager::Cargo, true) => holds("Cargo.toml"),
        (Manager::Npm, true) => holds("package.json"),
        (Manager::Pip, true) => holds("pyproject.toml") || holds("setup.py"),
        (Manager::Npm, false) => text.ends_with(".tgz") || text.ends_with(".tar.gz"),
        (Manager::Pip, false) => [".whl", ".tar.gz", ".zip"]
            .iter()
            .any(|end| text.ends_with(end)),
        (Manager::Cargo, false) | (Manager::Go, _) => false,
    };
    if !is_package {
        let why = match manager {
            Manager::Cargo => "is not a directory with a `Cargo.toml`",
            Manager::Npm => "is neither a directory with a `package.json` nor a `.tgz`",
            Manager::Pip => {
                "is neither a directory with a `pyproject.toml` or `setup.py` nor a wheel"
            }
            Manager::Go => "is a path, and Go takes modules by name",
        };
        return Err(refusal(text, why));
    }
    Ok(Package::Local {
        path: text.to_owned(),
        host,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(manager: Manager, text: &str) -> String {
        match Package::read(manager, text) {
            Ok(Written::Name(package)) => package.argument(manager),
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn names_and_versions_become_words_of_each_manager() {
        for (manager, text, argument) in [
            (Manager::Cargo, "serde", "serde"),
            (Manager::Cargo, "serde@1.0", "serde@1.0"),
            (Manager::Cargo, "serde==1.0.200", "serde@=1.0.200"),
            (Manager::Npm, "left-pad@^1.3.0", "left-pad@^1.3.0"),
            (Manager::Npm, "@types/node==20.1.0", "@types/node@20.1.0"),
            (Manager::Npm, "@types/node", "@types/node"),
            (Manager::Pip, "requests@2.32.0", "requests==2.32.0"),
            (
                Manager::Pip,
                "httpx[http2]>=0.27,<1",
                "httpx[http2]>=0.27,<1",
            ),
            (
                Manager::Go,
                "golang.org/x/text@v0.3.0",
                "golang.org/x/text@v0.3.0",
            ),
        ] {
            assert_eq!(named(manager, text), argument);
        }
    }

    #[test]
    fn whatever_is_not_a_name_is_refused_with_a_reason() {
        for (text, why) in [
            ("--global", "option"),
            ("-e .", "option"),
            ("-rrequirements.txt", "option"),
            ("git+ssh://git@host/x.git", "repository"),
            ("https://host/x.tgz", "URL"),
            ("github:user/repo", "repository"),
            ("git@github.com:user/repo", "repository"),
            ("alias@npm:other", "alias"),
            ("x@file:../../etc", "alias"),
            ("name @ https://host/x", "URL"),
            ("foo;rm -rf", "not a package name"),
            ("foo bar", "not a package name"),
            ("foo\nbar", "not a package name"),
            ("$(id)", "not a package name"),
            ("foo`id`", "not a package name"),
            ("re\u{441}uests", "U+0441"),
            ("requests\u{200b}", "U+200B"),
            ("", "empty"),
            ("@evil", "not a package name"),
        ] {
            for manager in Manager::ALL {
                let refused = Package::read(manager, text).unwrap_err();
                assert!(refused.contains(why), "{manager:?} {text:?}: {refused}");
            }
        }
        assert!(Package::read(Manager::Go, "./mine").is_err());
        assert!(Package::read(Manager::Go, "golang.org/../x").is_err());
        // What npm would take for a repository of GitHub is a path here.
        assert_eq!(Package::read(Manager::Npm, "user/repo"), Ok(Written::Path));
    }
}
