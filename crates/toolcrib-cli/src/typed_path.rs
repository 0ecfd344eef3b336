//! Paths that are typed: `.`, `./…` and `../…` count from the current directory, everything else from the workspace.
//!
//! A call means the same wherever it is made: arguments of tools name paths of the workspace. What begins with a dot is a person's way to
//! name a file that is at hand, so the command line turns it into the path from the workspace, before anything is checked or recorded.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use toolcrib::model::JsonObject;
use toolcrib::{Role, ToolSpec};

/// Whether a parameter holds a path of the workspace.
pub(crate) fn is_path(spec: &ToolSpec, parameter: &str) -> bool {
    spec.roles.iter().any(|(name, role)| {
        name == parameter && matches!(role, Role::ReadPath | Role::WritePath | Role::Directory)
    })
}

/// Whether a path counts from the current directory.
pub(crate) fn counts_from_here(path: &str) -> bool {
    matches!(path, "." | "..") || path.starts_with("./") || path.starts_with("../")
}

/// Turns paths that were typed into paths from the workspace. Those outside it stay as they are; the tool refuses them.
pub(crate) fn from_workspace(
    arguments: &mut JsonObject,
    typed: &[String],
    spec: &ToolSpec,
    workspace: &Path,
) {
    let Some(below) = current_below(workspace) else {
        return;
    };
    for (name, value) in arguments.iter_mut() {
        if !is_path(spec, name) {
            continue;
        }
        let Value::String(path) = value else { continue };
        // What came as JSON is data, wherever it was made.
        let is_typed = typed
            .iter()
            .any(|pair| pair.split_once('=').is_some_and(|(_, word)| word == path));
        if is_typed
            && counts_from_here(path)
            && let Some(joined) = joined(&below, path)
        {
            *path = joined;
        }
    }
}

/// The current directory as a path from the workspace; `None` where it is not in it.
pub(crate) fn current_below(workspace: &Path) -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?.canonicalize().ok()?;
    let workspace = workspace.canonicalize().ok()?;
    here.strip_prefix(&workspace).ok().map(Path::to_owned)
}

/// A path from the current directory as one from the workspace; `None` if it leads out of it.
fn joined(below: &Path, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for component in below.components().chain(Path::new(path).components()) {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()?),
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(match parts.is_empty() {
        true => ".".to_owned(),
        false => parts.join("/"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_with_a_dot_counts_from_here() {
        let below = Path::new("src/deep");
        for (typed, meant) in [
            (".", Some("src/deep")),
            ("./a.rs", Some("src/deep/a.rs")),
            ("..", Some("src")),
            ("../b/./c", Some("src/b/c")),
            ("../../x", Some("x")),
            ("../..", Some(".")),
            ("../../../x", None),
        ] {
            assert_eq!(joined(below, typed).as_deref(), meant, "{typed}");
        }
        assert_eq!(joined(Path::new(""), "./a").as_deref(), Some("a"));
        assert!(!counts_from_here(".hidden") && !counts_from_here("a/./b"));
        assert!(counts_from_here("./a") && counts_from_here(".."));
    }
}
