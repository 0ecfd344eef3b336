//! Which repository a call is about, found without running git.
//!
//! Git finds a repository by what lies around it: a `.git` above, a file that leads elsewhere, a setting that names another tree.
//! Here the search goes up from the named directory to the workspace and no further, and everything that makes up the repository
//! (its tree, its own directory, the one it shares with other trees) has to lie in the workspace. Git is then told both places and
//! searches for nothing.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use super::failure;
use crate::model::error::{ErrorCode, ToolError};
use crate::workspace::{EntryKind, Workspace};

/// The longest file of git's that is read here.
const MAX_FILE: u64 = 1 << 20;

/// How many paths a call can name.
pub(super) const MAX_PATHS: usize = 500;

/// A repository that lies in the workspace, with a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// The tree, on the host, without links.
    pub(super) tree: PathBuf,
    /// Git's own directory of this tree.
    pub(super) git_dir: PathBuf,
    /// The directory shared with other trees of the same repository; mostly the same directory.
    pub(super) common_dir: PathBuf,
    /// The workspace.
    root: PathBuf,
    /// Where the tree is in the workspace; empty for the workspace itself, else with a slash at the end.
    prefix: String,
}

impl Repository {
    /// Finds the repository that a directory of the workspace is in.
    pub(super) fn find(workspace: &Workspace, path: Option<&str>) -> Result<Self, ToolError> {
        let named = path.unwrap_or(".");
        let start = workspace.host_directory(&workspace.path(named)?)?;
        let root = workspace.root();
        let mut tree = start.as_path();
        loop {
            if let Some(git_dir) = git_dir_in(workspace, tree)? {
                return Self::of(workspace, tree, git_dir);
            }
            match tree.parent() {
                Some(parent) if tree != root && parent.starts_with(root) => tree = parent,
                _ => break,
            }
        }
        Err(if is_bare(&start) {
            failure::no_tree(named)
        } else if root
            .ancestors()
            .skip(1)
            .any(|above| above.join(".git").symlink_metadata().is_ok())
        {
            failure::above_the_workspace()
        } else {
            failure::no_repository(named)
        })
    }

    fn of(workspace: &Workspace, tree: &Path, git_dir: PathBuf) -> Result<Self, ToolError> {
        let root = workspace.root();
        let common_dir = match read(workspace, &git_dir.join("commondir"))? {
            None => git_dir.clone(),
            Some(text) => inside(
                workspace,
                &git_dir.join(text.trim_end_matches(['\n', '\r'])),
            )?,
        };
        if !is_there(&git_dir, "HEAD") || !is_there(&common_dir, "objects") {
            return Err(failure::broken());
        }
        let config = read(workspace, &common_dir.join("config"))?.unwrap_or_default();
        if let Some(other) = other_tree(&config) {
            // Submodules are set up so, and mean the tree they are in.
            let named = git_dir.join(&other).canonicalize().ok();
            if named.as_deref() != Some(tree) {
                return Err(failure::tree_elsewhere());
            }
        }
        let beneath = tree.strip_prefix(root).unwrap_or(Path::new(""));
        let mut prefix = beneath.to_string_lossy().into_owned();
        if !prefix.is_empty() {
            prefix.push('/');
        }
        Ok(Repository {
            tree: tree.to_owned(),
            git_dir,
            common_dir,
            root: root.to_owned(),
            prefix,
        })
    }

    /// The workspace, on the host.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// What git calls a path of the workspace: literal, and relative to the tree.
    pub(super) fn pathspec(&self, workspace: &Workspace, path: &str) -> Result<String, ToolError> {
        let named = workspace.path(path)?;
        let outside = |why: &str| {
            let message = format!("`{path}` {why}");
            Err(ToolError::new(ErrorCode::InvalidPath, message))
        };
        let mut relative = PathBuf::new();
        for component in Path::new(named.as_str()).components() {
            match component {
                Component::Normal(name) => relative.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return outside("goes up by `..`; give the path without");
                }
            }
        }
        match self.root.join(&relative).strip_prefix(&self.tree) {
            Ok(beneath) if beneath.as_os_str().is_empty() => Ok(".".to_owned()),
            Ok(beneath) => Ok(beneath.to_string_lossy().into_owned()),
            // The whole of the workspace holds the whole of the repository.
            Err(_) if self.tree.starts_with(self.root.join(&relative)) => Ok(".".to_owned()),
            Err(_) => outside("is not in this repository; name the repository with `path`"),
        }
    }

    /// What git calls some paths of the workspace.
    pub(super) fn pathspecs(
        &self,
        workspace: &Workspace,
        paths: Option<&[String]>,
    ) -> Result<Vec<String>, ToolError> {
        let paths = paths.unwrap_or_default().iter();
        paths.map(|path| self.pathspec(workspace, path)).collect()
    }

    /// A path of git's, relative to the tree, as the other tools call it: relative to the workspace.
    pub(super) fn in_workspace(&self, path: &[u8]) -> String {
        format!("{}{}", self.prefix, String::from_utf8_lossy(path))
    }

    /// Where a shallow clone begins, if it is one; more than so much is refused.
    pub(super) fn shallow(
        &self,
        workspace: &Workspace,
        most: usize,
    ) -> Result<Option<String>, ToolError> {
        let shallow = read(workspace, &self.common_dir.join("shallow"))?;
        match &shallow {
            Some(text) if text.len() >= most => Err(ToolError::failed(
                "the clone is shallow in too many places to be pushed from here; `git fetch --unshallow` in a terminal completes it",
            )),
            _ => Ok(shallow),
        }
    }

    /// The operation in progress in the repository, if there is one.
    pub(super) fn operation(&self) -> Option<&'static str> {
        [
            ("MERGE_HEAD", "merge"),
            ("rebase-merge", "rebase"),
            ("rebase-apply", "rebase"),
            ("CHERRY_PICK_HEAD", "cherry-pick"),
            ("REVERT_HEAD", "revert"),
            ("BISECT_LOG", "bisect"),
        ]
        .into_iter()
        .find(|(name, _)| is_there(&self.git_dir, name))
        .map(|(_, operation)| operation)
    }

    /// The commits that the next one would bring in or take back besides its own changes, as git has them in its files.
    pub(super) fn brought_in(&self, workspace: &Workspace) -> Result<Vec<String>, ToolError> {
        let mut commits = Vec::new();
        for name in ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"] {
            let text = read(workspace, &self.git_dir.join(name))?.unwrap_or_default();
            commits.extend(text.lines().map(str::to_owned));
        }
        Ok(commits)
    }
}

/// What models read of the parameter that names a repository.
pub(super) const PATH: &str = "Directory of the repository, or one in it, relative to the workspace; the workspace itself if left out";

/// Git's own directory for a tree, if there is one in it.
fn git_dir_in(workspace: &Workspace, tree: &Path) -> Result<Option<PathBuf>, ToolError> {
    let git = tree.join(".git");
    let Some(path) = beneath(workspace, &git) else {
        return Ok(None);
    };
    let path = workspace.path(&path)?;
    match workspace.metadata(&path) {
        Ok(found) => match found.kind {
            // Empty ones stand in for repositories that are not there while a sandbox is kept ready.
            EntryKind::Directory if !is_there(&git, "HEAD") => Ok(None),
            EntryKind::Directory => workspace.host_directory(&path).map(Some),
            _ => {
                let text = read(workspace, &git)?.unwrap_or_default();
                let place = text.strip_prefix("gitdir:").map(str::trim);
                let place = place.filter(|place| !place.is_empty());
                let place = place.ok_or_else(failure::broken)?;
                inside(workspace, &tree.join(place)).map(Some)
            }
        },
        Err(error) if error.code() == ErrorCode::FileNotFound => Ok(None),
        // A link that leads out of the workspace.
        Err(error) if error.code() == ErrorCode::InvalidPath => Err(failure::outside()),
        Err(error) => Err(error),
    }
}

/// A place without links, if it lies in the workspace.
fn inside(workspace: &Workspace, place: &Path) -> Result<PathBuf, ToolError> {
    let real = place.canonicalize().map_err(|_| failure::outside())?;
    match real.starts_with(workspace.root()) {
        true => Ok(real),
        false => Err(failure::outside()),
    }
}

/// A place as a path of the workspace, if it is one and is text.
fn beneath(workspace: &Workspace, place: &Path) -> Option<String> {
    let path = place.strip_prefix(workspace.root()).ok()?;
    path.to_str().map(str::to_owned)
}

/// A small file of the workspace; `None` if it is not there.
fn read(workspace: &Workspace, place: &Path) -> Result<Option<String>, ToolError> {
    let path = beneath(workspace, place).ok_or_else(failure::outside)?;
    let file = match workspace.open_file(&workspace.path(&path)?) {
        Ok((file, _)) => file,
        Err(error) if error.code() == ErrorCode::FileNotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut bytes = Vec::new();
    let reading = file.take(MAX_FILE).read_to_end(&mut bytes);
    reading.map_err(|error| failure::broken().caused_by(error))?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

fn is_there(directory: &Path, name: &str) -> bool {
    directory.join(name).symlink_metadata().is_ok()
}

/// Whether a directory is a repository itself, which has no tree.
pub(super) fn is_bare(directory: &Path) -> bool {
    ["HEAD", "objects", "refs"]
        .iter()
        .all(|name| is_there(directory, name))
}

/// The tree that a repository's settings name. Git gets the tree explicitly, so this affects the message, not the result.
fn other_tree(config: &str) -> Option<String> {
    let mut is_core = false;
    let mut named = None;
    for line in config.lines().map(str::trim) {
        let mut rest = line;
        if let Some(header) = line.strip_prefix('[') {
            let (section, after) = header.split_once(']').unwrap_or((header, ""));
            is_core = section.trim().eq_ignore_ascii_case("core");
            rest = after.trim();
        }
        let Some((key, value)) = rest.split_once('=') else {
            continue;
        };
        if is_core && key.trim().eq_ignore_ascii_case("worktree") {
            named = Some(value.trim().trim_matches('"').to_owned());
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_in_the_settings_is_found_however_it_is_written() {
        for (config, expected) in [
            ("[core]\n\tworktree = /elsewhere\n", Some("/elsewhere")),
            ("[CORE] WorkTree=\"../x\"\n", Some("../x")),
            ("[core]\nbare = false\n[user]\nworktree = x", None),
            ("[core \"sub\"]\nworktree = x", None),
            ("", None),
        ] {
            assert_eq!(other_tree(config).as_deref(), expected, "{config}");
        }
    }

    #[test]
    fn paths_are_those_of_the_workspace_on_both_ways() {
        let directory = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        let root = workspace.root().to_owned();
        let repository = Repository {
            tree: root.join("sub"),
            git_dir: root.join("sub/.git"),
            common_dir: root.join("sub/.git"),
            root,
            prefix: "sub/".to_owned(),
        };
        let spec = |path: &str| repository.pathspec(&workspace, path);
        assert_eq!(spec("sub/a b.txt").unwrap(), "a b.txt");
        assert_eq!(spec("./sub//x/:(exclude)y").unwrap(), "x/:(exclude)y");
        assert_eq!(spec("sub").unwrap(), ".");
        assert_eq!(spec(".").unwrap(), ".");
        for outside in ["other", "subs/a", "sub/../other", "/etc/passwd", "a\0b", ""] {
            assert_eq!(
                spec(outside).unwrap_err().code(),
                ErrorCode::InvalidPath,
                "{outside:?}"
            );
        }
        assert_eq!(repository.in_workspace(b"a/b"), "sub/a/b");
    }
}
