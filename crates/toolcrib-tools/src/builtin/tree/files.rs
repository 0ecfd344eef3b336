//! The names of the files beneath a directory, for tools that then open them one by one.

use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use rustix::fd::AsFd as _;
use rustix::fs::fstat;

use super::ignores::{Ignores, Level, Verdict, as_path};
use super::names;
use super::skipped::Skipped;
use crate::workspace::Workspace;

/// How many files are told.
const MAX_FILES: usize = 20_000;

/// How many directories are looked into.
const MAX_DIRECTORIES: usize = 20_000;

/// How deep.
const MAX_DEPTH: usize = 64;

/// How much of a directory is read at once.
const CHUNK: usize = 64 * 1024;

/// Directories that are never a project's own code.
const OTHERS: &[&[u8]] = &[b"node_modules", b"target", b"venv", b"__pycache__"];

/// The names of files beneath a directory.
#[derive(Debug, Default)]
pub(in crate::builtin) struct Files {
    /// Relative to the workspace, sorted.
    pub(in crate::builtin) names: Vec<String>,
    /// Whether there are more than were looked at.
    pub(in crate::builtin) is_cut: bool,
}

/// A directory that has to be looked into.
struct Directory {
    /// Relative to the workspace, with a slash at its end unless it is the workspace itself.
    path: Vec<u8>,
    depth: usize,
    level: Option<Arc<Level>>,
}

/// The files beneath a directory of the workspace (relative; `.` for the workspace itself), without what is hidden, what ignore files
/// leave out and other people's code. The directory itself is meant, whatever it is called. Blocks.
pub(in crate::builtin) fn files(workspace: &Workspace, directory: &str) -> Files {
    let mut found = Files::default();
    let opened = workspace
        .path(directory)
        .and_then(|path| workspace.open_tree(&path));
    let Ok((top, place)) = opened else {
        return found;
    };
    let skipped = Skipped::default();
    let ignores = Ignores::of_files(workspace, &skipped);
    let own_data = workspace.own_data_identity();
    let mut path = place.as_os_str().as_bytes().to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    let prefix = path.len();
    let (mut buffer, mut looked) = (Vec::with_capacity(CHUNK), 0);
    let mut left = vec![Directory {
        path,
        depth: 0,
        level: None,
    }];
    while let Some(next) = left.pop() {
        looked += 1;
        if looked > MAX_DIRECTORIES || next.depth > MAX_DEPTH {
            found.is_cut = true;
            continue;
        }
        let below: &[u8] = match &next.path[prefix..] {
            b"" => b".",
            below => below,
        };
        let Ok(opened) = workspace.open_dir_below(top.as_fd(), below) else {
            continue;
        };
        let is_own = |own| fstat(&opened).is_ok_and(|stat| (stat.st_dev, stat.st_ino) == own);
        if own_data.is_some_and(is_own) {
            continue;
        }
        let Ok(content) = names::read(opened.as_fd(), &mut buffer, &|| false) else {
            continue;
        };
        found.is_cut |= content.is_cut;
        let own = next.path.strip_suffix(b"/").unwrap_or(&next.path);
        let level = ignores.enter(
            next.level.as_ref(),
            opened.as_fd(),
            as_path(own),
            content.marks,
        );
        let takes = |name: &[u8], is_dir: bool| {
            let is_others = is_dir && OTHERS.contains(&name);
            if is_others || name.starts_with(b".") {
                return false;
            }
            let place = workspace.root().join(as_path(&next.path));
            let path = place.join(as_path(name));
            ignores.verdict(level.as_ref(), &path, is_dir) != Verdict::Skip
        };
        let beneath = |name: &[u8]| [&next.path, name].concat();
        for name in all(&content.files).filter(|name| takes(name, false)) {
            if found.names.len() >= MAX_FILES {
                found.is_cut = true;
                break;
            }
            if let Ok(name) = String::from_utf8(beneath(name)) {
                found.names.push(name);
            }
        }
        for name in all(&content.directories).filter(|name| takes(name, true)) {
            let mut path = beneath(name);
            path.push(b'/');
            left.push(Directory {
                path,
                depth: next.depth + 1,
                level: level.clone(),
            });
        }
    }
    found.names.sort_unstable();
    found
}

fn all(names: &names::Names) -> impl Iterator<Item = &[u8]> {
    (0..names.len()).filter_map(|index| names.get(index))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_git_ignores_and_what_is_hidden_is_left_out() {
        let directory = tempfile::tempdir().unwrap();
        for name in [
            "a.rs",
            "out/b.rs",
            ".hidden/c.rs",
            "node_modules/d.rs",
            "target/e.rs",
            "sub/f.rs",
            "sub/own/g.rs",
        ] {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::fs::write(directory.path().join(".gitignore"), "out/\n").unwrap();
        std::fs::write(directory.path().join("sub/.gitignore"), "/own\n").unwrap();
        std::os::unix::fs::symlink("/etc", directory.path().join("etc")).unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        assert_eq!(files(&workspace, ".").names, ["a.rs", "sub/f.rs"]);
        assert_eq!(files(&workspace, "sub").names, ["sub/f.rs"]);
        assert_eq!(files(&workspace, "target").names, ["target/e.rs"]);
        assert!(files(&workspace, "nowhere").names.is_empty());
    }

    /// An ignore file that leads out would tell line by line what is there; one that never ends would take all memory, or all time.
    #[test]
    fn ignore_files_that_lead_out_or_never_end_do_not_count() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "guess\n").unwrap();
        let directory = tempfile::tempdir().unwrap();
        for name in ["out/guess/a.rs", "zero/b.rs", "fifo/c.rs"] {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let link = |target: &Path, name: &str| {
            std::os::unix::fs::symlink(target, directory.path().join(name)).unwrap();
        };
        link(&outside.path().join("secret"), "out/.gitignore");
        link(Path::new("/dev/zero"), "zero/.gitignore");
        let fifo = directory.path().join("fifo/.gitignore");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let workspace = Workspace::open(directory.path()).unwrap();
        assert_eq!(
            files(&workspace, ".").names,
            ["fifo/c.rs", "out/guess/a.rs", "zero/b.rs"]
        );
    }
}
