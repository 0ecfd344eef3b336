//! Which names are protected, and where they are.

use std::{
    collections::VecDeque,
    ffi::OsStr,
    fs,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The protected names in the root of a workspace. Those of git repositories are besides.
pub const PROTECTED_NAMES: &[&str] = &[
    ".toolcrib",
    ".cycod",
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
    ".cursor",
    ".claude",
    ".mcp.json",
    ".devcontainer",
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
    (".cursor", &["mcp.json", "hooks.json", "environment.json"]),
    (
        ".claude",
        &["settings.json", "settings.local.json", "hooks"],
    ),
    (".devcontainer", &["devcontainer.json"]),
];

/// What git runs or reads as its configuration in a repository besides the directory `hooks`, and what it takes a missing one for.
pub(super) const GIT_FILES: &[(&str, &str)] = &[
    ("config", ""),
    ("config.worktree", ""),
    ("commondir", ".\n"),
];

/// Where a repository keeps those of its submodules and worktrees.
pub(super) const NESTED_REPOSITORIES: &[&str] = &["modules", "worktrees"];

/// Directories looked at when repositories below the root are searched for, and how deep.
const SEARCH: (usize, usize) = (2048, 3);

/// Whether a program on a file system that folds case would take this for a protected name.
pub fn is_protected_name(name: &OsStr) -> bool {
    folded(name).is_some_and(|name| PROTECTED_NAMES.contains(&name.as_str()))
}

/// A name as a file system that folds case would compare it; none if it is not text.
pub(super) fn folded(name: &OsStr) -> Option<String> {
    // Up and down again: `ſ` is no capital letter, and folds to `s` all the same.
    let kept = name.to_str()?.chars().filter(|char| !is_ignored(*char));
    let upper: String = kept.flat_map(char::to_uppercase).collect();
    Some(upper.to_lowercase())
}

/// Characters that HFS+ or a folding directory of Linux leaves out when it compares names: Unicode's
/// `Default_Ignorable_Code_Point`. Git refuses some of them in names like its own for the same reason.
fn is_ignored(char: char) -> bool {
    matches!(char,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Whether git would take what is in a directory for a repository.
pub(super) fn is_repository(directory: &Path) -> bool {
    is_repository_with(directory, "")
}

/// The same if there were one name more in it.
pub(super) fn is_repository_with(directory: &Path, more: &str) -> bool {
    let has = |name: &str| {
        name.eq_ignore_ascii_case(more) || directory.join(name).symlink_metadata().is_ok()
    };
    has("HEAD") && ((has("objects") && has("refs")) || has("commondir"))
}

/// Visits protected names near the root, breadth first, within the bounds of [`SEARCH`]; returns the directories it looked
/// into (those with a protected name, and links, are not among them), and whether that was all of them.
///
/// A directory that git would take for a bare repository (`HEAD` with `objects` and `refs`, or with `commondir`) is visited too,
/// by its `HEAD`: git reads its configuration when it finds none in a `.git`.
pub(super) fn walk(
    root: &Path,
    visit: &mut dyn FnMut(&Path, &fs::Metadata),
) -> (Vec<PathBuf>, bool) {
    let mut visited = Vec::new();
    let mut complete = true;
    let mut queue = VecDeque::from([(root.to_owned(), 0)]);
    let (most, deepest) = SEARCH;
    while let Some((directory, depth)) = queue.pop_front() {
        if visited.len() == most {
            return (visited, false);
        }
        let mut bare = (false, 0);
        let entries = fs::read_dir(&directory);
        // What is closed to us now may be opened by the command, which is its owner too.
        complete &= !entries
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
        for entry in entries.into_iter().flatten().flatten() {
            let name = entry.file_name();
            let protected = is_protected_name(&name);
            if protected && let Ok(metadata) = entry.metadata() {
                visit(&entry.path(), &metadata);
            }
            match name.to_str() {
                Some("HEAD") => bare.0 = true,
                Some("objects" | "refs") => bare.1 += 1,
                Some("commondir") => bare.1 += 2,
                _ => {}
            }
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_directory
                && !protected
                && depth < deepest
                && name != "node_modules"
                && name != "target"
            {
                queue.push_back((entry.path(), depth + 1));
            }
        }
        let head = directory.join("HEAD");
        if bare.0
            && bare.1 >= 2
            && let Ok(metadata) = head.symlink_metadata()
        {
            visit(&head, &metadata);
        }
        visited.push(directory);
    }
    (visited, complete)
}

/// The `.git`s of repositories below the root, directories or files; and whether there was time to look everywhere.
pub(super) fn repositories(root: &Path) -> (Vec<PathBuf>, bool) {
    let mut found = Vec::new();
    let (_, complete) = walk(root, &mut |path, _| {
        if path.file_name() == Some(OsStr::new(".git")) && path.parent() != Some(root) {
            found.push(path.to_owned());
        }
    });
    (found, complete)
}

/// Where a `.git` file says that the repository is.
pub(super) fn git_directory(file: &Path) -> Option<PathBuf> {
    let text = read_small(file)?;
    let target = text.trim().strip_prefix("gitdir:")?.trim();
    Some(file.parent()?.join(target))
}

/// The repositories beneath `.git/modules` (whose names may have slashes in them), told by what git keeps in one; an error when
/// a directory cannot be looked into or there are more than anybody has.
pub(super) fn modules(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut queue = VecDeque::from([path.to_owned()]);
    let mut seen = 0;
    while let Some(directory) = queue.pop_front() {
        let entries = match fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            // A link in here would be somebody's way to have us cover what lies elsewhere.
            if !entry.file_type()?.is_dir() {
                continue;
            }
            seen += 1;
            if seen > MOST_MODULES {
                return Err(io::Error::other(format!(
                    "`{}` holds too many directories",
                    path.display()
                )));
            }
            let path = entry.path();
            let is_repository = ["HEAD", "config", "objects"]
                .iter()
                .any(|name| path.join(name).symlink_metadata().is_ok());
            if is_repository {
                found.push(path);
            } else {
                queue.push_back(path);
            }
        }
    }
    Ok(found)
}

const MOST_MODULES: usize = 1024;

/// What is in a directory, up to a bound.
pub(super) fn entries(path: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).take(MOST_ENTRIES)
}

const MOST_ENTRIES: usize = 256;

/// Paths that a git configuration makes git run or read: `core.hooksPath`, and `path` of `include` and `includeIf`, also in the
/// files that it includes.
pub(super) fn configured_paths(config: &Path, git: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect_paths(config, git, INCLUDES, &mut found);
    found
}

/// How deep included files are followed; git's own bound.
const INCLUDES: usize = 10;

fn collect_paths(config: &Path, git: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let mut section = String::new();
    for line in read_small(config)
        .unwrap_or_default()
        .lines()
        .map(str::trim)
    {
        if line.starts_with('[') {
            section = line.to_ascii_lowercase();
        }
        // A key may stand on the line of its section.
        let line = line.rsplit_once(']').map_or(line, |(_, rest)| rest);
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        let value = value
            .split([';', '#'])
            .next()
            .unwrap_or("")
            .trim()
            .trim_matches('"');
        let name = name.trim().to_ascii_lowercase();
        // Hooks are sought from the work tree, included files from where the configuration is.
        let base = match name.as_str() {
            "hookspath" => git.parent(),
            "path" if section.starts_with("[include") => config.parent(),
            _ => None,
        };
        let (Some(base), true) = (base, found.len() < MOST_ENTRIES) else {
            continue;
        };
        let path = match (value.strip_prefix("~/"), std::env::var_os("HOME")) {
            (Some(rest), Some(home)) => Path::new(&home).join(rest),
            _ => base.join(value),
        };
        // Husky keeps what its hooks run beside them.
        let path = if name == "hookspath" && path.ends_with("_") {
            path.parent().map_or(path.clone(), Path::to_owned)
        } else {
            path
        };
        let included = name == "path" && depth > 0 && !found.contains(&path);
        found.push(path.clone());
        if included {
            collect_paths(&path, git, depth - 1, found);
        }
    }
}

/// Reads a file of a hostile workspace: not a pipe that nobody writes to, not a device, and not more than a megabyte.
pub(super) fn read_small(path: &Path) -> Option<String> {
    const MOST: u64 = 1 << 20;
    let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file = fs::File::options()
        .read(true)
        .custom_flags(flags)
        .open(path)
        .ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    file.take(MOST).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
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
            ".ba\u{17f}hrc",
            ".g\u{202a}it",
            ".gi\u{206f}t",
            ".g\u{ad}it",
            ".git\u{fe0f}",
        ] {
            assert!(is_protected_name(OsStr::new(name)), "{name}");
        }
        for name in ["git", ".gitignore", ".github", "envrc", ".env"] {
            assert!(!is_protected_name(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn paths_that_git_runs_or_reads_are_found() {
        let dir = tempfile::tempdir().expect("a directory");
        let config = dir.path().join("config");
        let text = "[core]\n\tbare = false\n\thooksPath = \".husky/_\"\n[include] path = ../more\n[user]\n\tpath = no\n";
        fs::write(&config, text).expect("a configuration");
        let found = configured_paths(&config, Path::new("/ws/.git"));
        assert_eq!(
            found,
            [PathBuf::from("/ws/.husky"), dir.path().join("../more")]
        );
    }

    #[test]
    fn a_configuration_that_is_no_file_is_not_waited_for() {
        assert_eq!(read_small(Path::new("/dev/zero")), None);
        assert_eq!(read_small(Path::new("/nowhere")), None);
    }
}
