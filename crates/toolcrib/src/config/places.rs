//! Where things are: the home, the workspace, and the environment they are found in.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Config;

/// The parts of a process's surroundings that settings come from. A value, so that tests need not
/// change the process.
#[derive(Debug, Clone)]
pub struct Surroundings {
    directory: Option<PathBuf>,
    variables: HashMap<String, OsString>,
}

/// There is no directory that could be the home.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot tell where to keep Toolcrib's data: set TOOLCRIB_HOME, or HOME")]
pub struct NoHome;

/// There is no directory that could be the workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoWorkspace {
    /// It would be too much.
    #[error(
        "the current directory is {what}, which is a workspace only when named: pass `--workspace {example}`"
    )]
    TooWide {
        /// What it is.
        what: &'static str,
        /// What to type.
        example: &'static str,
    },
    /// There is no current directory.
    #[error("there is no current directory: pass `--workspace DIR`")]
    NoDirectory,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_process() -> Self {
        let ours =
            |name: &str| name.starts_with("TOOLCRIB_") || matches!(name, "HOME" | "XDG_DATA_HOME");
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok()?;
            ours(&name).then_some((name, value))
        });
        Surroundings {
            directory: std::env::current_dir().ok(),
            variables: variables.collect(),
        }
    }

    /// Some others.
    pub fn new<'a>(
        directory: &Path,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Self {
        let variables = variables
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect();
        Surroundings {
            directory: Some(directory.to_owned()),
            variables,
        }
    }

    /// An environment variable that is set and not empty; `None` inside when it is not text.
    pub(crate) fn variable(&self, name: &str) -> Option<Option<&str>> {
        let value = self.variables.get(name).filter(|value| !value.is_empty())?;
        Some(value.to_str())
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.variables
            .get(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    }

    /// Toolcrib's home: `$TOOLCRIB_HOME`, else `toolcrib` in the XDG data directory.
    pub fn home(&self) -> Result<PathBuf, NoHome> {
        if let Some(home) = self.path("TOOLCRIB_HOME") {
            return Ok(self.absolute(home));
        }
        // The XDG specification: a relative path there is to be ignored.
        let data = self.path("XDG_DATA_HOME").filter(|path| path.is_absolute());
        let data = data.or_else(|| Some(self.path("HOME")?.join(".local/share")));
        Ok(data.ok_or(NoHome)?.join("toolcrib"))
    }

    /// The user's home directory, where the user's own tools are; `None` if nobody says, or not in full.
    pub fn user_directory(&self) -> Option<PathBuf> {
        self.path("HOME").filter(|path| path.is_absolute())
    }

    fn absolute(&self, path: PathBuf) -> PathBuf {
        match &self.directory {
            Some(directory) => directory.join(path),
            None => path,
        }
    }

    /// A path somebody named, relative to the current directory.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        self.absolute(path.to_owned())
    }

    /// The workspace: as named by a flag, by the settings, or where the current directory is.
    pub fn find_workspace(
        &self,
        flag: Option<&Path>,
        config: Option<&Config>,
    ) -> Result<PathBuf, NoWorkspace> {
        let named = flag
            .map(Path::to_owned)
            .or_else(|| config.and_then(Config::workspace));
        named.map_or_else(|| self.workspace(), |path| Ok(self.resolve(&path)))
    }

    /// The workspace nobody named: the nearest parent with `.toolcrib` or `.git`, else the current
    /// directory. Never `/` and never the user's home directory (whose `.toolcrib` is the user's
    /// own tools, and no project).
    pub fn workspace(&self) -> Result<PathBuf, NoWorkspace> {
        let directory = self.directory.as_deref().ok_or(NoWorkspace::NoDirectory)?;
        // Compared without links: the current directory is always given so.
        let home = self
            .path("HOME")
            .map(|home| home.canonicalize().unwrap_or(home));
        let too_wide = |path: &Path| path.parent().is_none() || home.as_deref() == Some(path);
        let project = directory
            .ancestors()
            .filter(|path| !too_wide(path))
            .find(|path| path.join(".toolcrib").is_dir() || path.join(".git").exists());
        match project {
            Some(project) => Ok(project.to_owned()),
            None if directory.parent().is_none() => Err(NoWorkspace::TooWide {
                what: "the root of the file system",
                example: "/",
            }),
            None if too_wide(directory) => Err(NoWorkspace::TooWide {
                what: "your home directory",
                example: "~",
            }),
            None => Ok(directory.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_follows_its_variables() {
        let at = Path::new("/here");
        let home =
            |variables: &[(&str, &str)]| Surroundings::new(at, variables.iter().copied()).home();
        assert_eq!(
            home(&[("TOOLCRIB_HOME", "rel"), ("HOME", "/h")]),
            Ok("/here/rel".into())
        );
        assert_eq!(
            home(&[("XDG_DATA_HOME", "/d"), ("HOME", "/h")]),
            Ok("/d/toolcrib".into())
        );
        assert_eq!(
            home(&[("XDG_DATA_HOME", "d"), ("HOME", "/h")]),
            Ok("/h/.local/share/toolcrib".into())
        );
        assert_eq!(home(&[]), Err(NoHome));
    }

    #[test]
    fn the_workspace_is_the_nearest_project() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("project/.git")).unwrap();
        std::fs::create_dir_all(root.join("project/src/deep")).unwrap();
        std::fs::create_dir_all(root.join(".toolcrib")).unwrap();
        std::fs::create_dir_all(root.join("loose")).unwrap();
        let home = root.to_str().unwrap();
        let found = |at: &str| Surroundings::new(&root.join(at), [("HOME", home)]).workspace();
        assert_eq!(found("project/src/deep"), Ok(root.join("project")));
        // The home directory has a `.toolcrib` of its own and still is no project.
        assert_eq!(found("loose"), Ok(root.join("loose")));
        assert!(matches!(
            Surroundings::new(&root, [("HOME", home)]).workspace(),
            Err(NoWorkspace::TooWide { .. })
        ));
        assert!(matches!(
            Surroundings::new(Path::new("/"), []).workspace(),
            Err(NoWorkspace::TooWide { .. })
        ));
    }
}
