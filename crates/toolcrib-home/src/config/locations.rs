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
    /// Home directories of the machine's users, as its list of users has them.
    homes: Vec<PathBuf>,
}

/// Where people's home directories are, also where the list of users does not say so.
const HOMES: [&str; 2] = ["/home", "/Users"];

/// How much of the list of users is read, in bytes.
const MAX_USERS: u64 = 1024 * 1024;

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
            homes: homes_of(Path::new("/etc/passwd")),
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
            homes: Vec::new(),
        }
    }

    /// As if the process were in another directory; without one nothing changes.
    #[must_use]
    pub fn starting_in(mut self, directory: Option<PathBuf>) -> Self {
        self.directory = directory.or(self.directory);
        self
    }

    /// An environment variable that is set and not empty; `None` inside when it is not text.
    pub fn variable(&self, name: &str) -> Option<Option<&str>> {
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

    /// The user's home directory, where the user's own tools are; `None` if no one says, or not in full.
    pub fn user_directory(&self) -> Option<PathBuf> {
        self.path("HOME").filter(|path| path.is_absolute())
    }

    fn absolute(&self, path: PathBuf) -> PathBuf {
        match &self.directory {
            Some(directory) => directory.join(path),
            None => path,
        }
    }

    /// A path someone named, relative to the current directory.
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

    /// The workspace if none is named: the nearest parent with `.toolcrib` or `.git`, else the current directory. It is
    /// never the user's home directory (its `.toolcrib` holds the user's own tools) nor a directory that contains home
    /// directories, as `/` and `/home` do: tools would reach files of all projects and people.
    pub fn workspace(&self) -> Result<PathBuf, NoWorkspace> {
        let directory = self.directory.as_deref().ok_or(NoWorkspace::NoDirectory)?;
        let home = self.path("HOME").map(|home| without_links(&home));
        let project = directory
            .ancestors()
            .filter(|path| self.too_wide(path, home.as_deref()).is_none())
            .find(|path| path.join(".toolcrib").is_dir() || path.join(".git").exists());
        match (project, self.too_wide(directory, home.as_deref())) {
            (Some(project), _) => Ok(project.to_owned()),
            (None, Some(reason)) => Err(reason),
            (None, None) => Ok(directory.to_owned()),
        }
    }

    /// Why a directory is a workspace only when named. `directory` and `home` have no links in them.
    fn too_wide(&self, directory: &Path, home: Option<&Path>) -> Option<NoWorkspace> {
        let (what, example) = if directory.parent().is_none() {
            ("the root of the file system", "/")
        } else if home == Some(directory) {
            ("your home directory", "~")
        } else if home.is_some_and(|home| home.starts_with(directory)) {
            ("a directory that contains your home directory", ".")
        } else if self.contains_homes(directory) {
            ("a directory that contains home directories", ".")
        } else {
            return None;
        };
        Some(NoWorkspace::TooWide { what, example })
    }

    fn contains_homes(&self, directory: &Path) -> bool {
        // Many homes have few parents, and finding out where links lead takes time.
        let mut parents = HashMap::new();
        HOMES.iter().any(|homes| Path::new(homes) == directory)
            || self.homes.iter().any(|home| {
                let Some(parent) = home.parent() else {
                    return false;
                };
                let is_below = *parents
                    .entry(parent)
                    .or_insert_with(|| without_links(parent).starts_with(directory));
                is_below && home.is_dir()
            })
    }
}

/// A path as the current directory is given: without links, where that can be known.
fn without_links(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The home directories in a list of users (`/etc/passwd`); none if it cannot be read.
fn homes_of(users: &Path) -> Vec<PathBuf> {
    use std::io::Read as _;
    let mut list = Vec::new();
    let read =
        std::fs::File::open(users).and_then(|file| file.take(MAX_USERS).read_to_end(&mut list));
    if read.is_err() {
        return Vec::new();
    }
    let list = String::from_utf8_lossy(&list);
    let homes = list.lines().filter_map(|line| line.split(':').nth(5));
    homes
        .filter(|home| home.starts_with('/'))
        .map(PathBuf::from)
        .collect()
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
        // The home directory has a `.toolcrib`, too, and still is not a project.
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

    #[test]
    fn a_directory_with_home_directories_in_it_is_not_a_workspace() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for made in [
            "people/ann/work",
            "people/bob",
            "people/.git",
            "mine/me",
            ".git",
        ] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("people"), root.join("linked")).unwrap();
        let users = root.join("passwd");
        let line = |name: &str, home: &str| {
            format!(
                "{name}:x:1000:1000::{}:/bin/sh\n",
                root.join(home).display()
            )
        };
        let list = line("ann", "linked/ann") + &line("gone", "empty/gone") + "odd\n";
        std::fs::write(&users, list).unwrap();
        std::fs::create_dir_all(root.join("empty")).unwrap();
        let home = root.join("mine/me");
        let found = |at: &str| {
            let mut here = Surroundings::new(&root.join(at), [("HOME", home.to_str().unwrap())]);
            here.homes = homes_of(&users);
            here.workspace().map_err(|error| error.to_string())
        };
        // Neither the parent nor an ancestor of a home directory, not even as a project that a directory below belongs to.
        for (at, what) in [
            ("mine", "contains your home directory"),
            ("", "contains your home directory"),
            ("people", "contains home directories"),
        ] {
            let error = found(at).unwrap_err();
            assert!(
                error.contains(what) && error.contains("`--workspace .`"),
                "{at}: {error}"
            );
        }
        assert_eq!(found("people/ann/work"), Ok(root.join("people/ann/work")));
        assert_eq!(found("people/bob"), Ok(root.join("people/bob")));
        // No home directory is there.
        assert_eq!(found("empty"), Ok(root.join("empty")));
    }

    #[test]
    fn usual_places_of_home_directories_are_known_without_a_list_of_users() {
        for at in ["/home", "/Users"] {
            let found = Surroundings::new(Path::new(at), [("HOME", "/root")]).workspace();
            assert!(matches!(found, Err(NoWorkspace::TooWide { .. })), "{at}");
        }
        assert_eq!(
            homes_of(Path::new("/nowhere/passwd")),
            Vec::<PathBuf>::new()
        );
    }

    #[test]
    fn a_directory_with_homes_is_a_workspace_when_named() {
        let here = Surroundings::new(Path::new("/home"), [("HOME", "/root")]);
        assert_eq!(
            here.find_workspace(Some(Path::new("/home")), None),
            Ok("/home".into())
        );
        assert_eq!(
            here.find_workspace(Some(Path::new(".")), None),
            Ok("/home/.".into())
        );
    }
}
