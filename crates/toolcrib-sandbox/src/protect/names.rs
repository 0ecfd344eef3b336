//! Which names are protected, and where they are.

use std::{
    collections::VecDeque,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

/// The protected names in the root of a workspace. Those of git repositories are besides.
pub const PROTECTED_NAMES: &[&str] = &[
    ".toolcrib",
    ".git",
    ".envrc",
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".profile",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    ".vscode",
    ".idea",
    ".zed",
    ".exrc",
    ".nvim.lua",
    ".nvimrc",
    ".vimrc",
    ".lvimrc",
];

/// In a directory of an editor that exists only these are protected; of the others the whole directory is.
pub(super) const EDITOR_FILES: &[(&str, &[&str])] = &[
    (
        ".vscode",
        &[
            "tasks.json",
            "settings.json",
            "launch.json",
            "extensions.json",
            "mcp.json",
        ],
    ),
    (".zed", &["tasks.json", "settings.json", "debug.json"]),
];

/// Directories looked at when repositories below the root are searched for, and how deep.
const SEARCH: (usize, usize) = (512, 3);

/// Whether a program on a file system that folds case would take this for a protected name.
pub(super) fn is_protected_name(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        // HFS+ ignores these; git refuses them in names of its own for the same reason.
        let name: String = name
            .chars()
            .filter(|char| !matches!(char, '\u{200b}'..='\u{200f}' | '\u{feff}'))
            .collect();
        PROTECTED_NAMES.contains(&name.to_lowercase().as_str())
    })
}

/// Visits protected names near the root, breadth first, within the bounds of [`SEARCH`], and returns the directories it
/// looked into; those with a protected name, and links, are not among them.
pub(super) fn walk(root: &Path, visit: &mut dyn FnMut(&Path, &fs::Metadata)) -> Vec<PathBuf> {
    let mut visited = Vec::new();
    let mut queue = VecDeque::from([(root.to_owned(), 0)]);
    let (mut left, deepest) = SEARCH;
    while let Some((directory, depth)) = queue.pop_front() {
        if left == 0 {
            break;
        }
        left -= 1;
        let Ok(entries) = fs::read_dir(&directory) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let interesting = is_protected_name(&name);
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if interesting && let Ok(metadata) = entry.metadata() {
                visit(&entry.path(), &metadata);
            }
            if is_directory
                && !interesting
                && depth < deepest
                && name != "node_modules"
                && name != "target"
            {
                queue.push_back((entry.path(), depth + 1));
            }
        }
        visited.push(directory);
    }
    visited
}

/// The `.git` directories of repositories below the root.
pub(super) fn repositories(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(root, &mut |path, metadata| {
        if path.file_name() == Some(OsStr::new(".git"))
            && metadata.is_dir()
            && path.parent() != Some(root)
        {
            found.push(path.to_owned());
        }
    });
    found
}

pub(super) fn subdirectories(path: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .take(64)
}

/// `core.hooksPath` of a git configuration, resolved against the work tree.
pub(super) fn hooks_path(config: &Path, git: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(config).ok()?;
    let value = text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("hookspath")
            .then(|| value.trim().trim_matches('"').to_owned())
    })?;
    git.parent()?.join(value).canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_spellings_of_a_protected_name_are_known() {
        for name in [
            ".git",
            ".GIT",
            ".Envrc",
            ".g\u{200c}it",
            ".VSCODE",
            ".BashRC",
        ] {
            assert!(is_protected_name(OsStr::new(name)), "{name}");
        }
        for name in ["git", ".gitignore", ".github", "envrc", ".env"] {
            assert!(!is_protected_name(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn hooks_kept_in_the_work_tree_are_found() {
        let dir = tempfile::tempdir().expect("a directory");
        let git = dir.path().join(".git");
        fs::create_dir_all(dir.path().join(".husky/_")).expect("hooks");
        fs::create_dir(&git).expect("a repository");
        fs::write(
            git.join("config"),
            "[core]\n\tbare = false\n\thooksPath = \".husky/_\"\n",
        )
        .expect("a configuration");
        let found = hooks_path(&git.join("config"), &git).expect("hooks");
        assert_eq!(
            found,
            dir.path().canonicalize().expect("a path").join(".husky/_")
        );
    }
}
