//! The names of the files beneath a directory, for tools that then open them one by one.

use super::ignores::{Ignores, Verdict};
use super::skipped::Skipped;
use super::walk::{Bounds, Seen, Walk};
use crate::workspace::Workspace;

/// How many files are reported.
const MAX_FILES: usize = 20_000;

/// How many directories are looked into.
const MAX_DIRECTORIES: usize = 20_000;

/// How deep.
const MAX_DEPTH: usize = 64;

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
    let walk = Walk {
        workspace,
        ignores: Some(&ignores),
        skipped: &skipped,
        bounds: Bounds {
            directories: MAX_DIRECTORIES,
            depth: MAX_DEPTH,
        },
        is_stopped: &|| false,
    };
    let mut takes = |seen: &Seen<'_>| {
        let is_others = seen.is_dir && OTHERS.contains(&seen.name);
        !is_others && !seen.name.starts_with(b".") && seen.verdict() != Verdict::Skip
    };
    let mut is_full = false;
    found.is_cut = walk.run(&top, &place, None, &mut takes, &mut |seen| {
        if seen.is_dir {
            return;
        }
        if found.names.len() >= MAX_FILES {
            is_full = true;
        } else if let Ok(name) = String::from_utf8(seen.place().to_vec()) {
            found.names.push(name);
        }
    });
    found.is_cut |= is_full;
    found.names.sort_unstable();
    found
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
