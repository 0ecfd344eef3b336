//! One hierarchy in use: where our directories go in it, and what cgroups made there can do.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use super::{Version, files, owner::Owner};

/// The controllers that a v2 cgroup has to be handed by its parent.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];

/// A hierarchy we may make cgroups in.
#[derive(Debug)]
pub(super) struct Tree {
    /// The cgroup beneath which we work: our own or, on v2, its parent.
    pub(super) base: PathBuf,
    /// Our directory in `base`; exists while it has slots.
    home: PathBuf,
    pub(super) version: Version,
    pub(super) serves: Serves,
}

/// What a cgroup can do, by the files the kernel put into it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Serves {
    pub(super) memory: bool,
    pub(super) pids: bool,
    pub(super) cpu: bool,
    pub(super) kill: bool,
}

impl Tree {
    /// Tries `base` by making a cgroup there and removing it; the error says in words what stood in the way.
    pub(super) fn probe(base: PathBuf, version: Version, owner: &Owner) -> Result<Self, String> {
        // Moving a process needs write access to this file of the cgroup above both its old and its new one.
        files::open_write(&base, "cgroup.procs").map_err(|error| error.to_string())?;
        if version == Version::V2 {
            enable_controllers(&base);
        }
        let home = base.join(owner.to_string());
        let mut tree = Self {
            base,
            home,
            version,
            serves: Serves::default(),
        };
        let probe = tree
            .make(&fresh_name("probe"))
            .map_err(|error| error.to_string())?;
        tree.serves = Serves::seen_in(&probe, version);
        let _ = files::remove(&probe);
        tree.leave();
        Ok(tree)
    }

    /// Makes an empty cgroup.
    pub(super) fn make(&self, name: &str) -> io::Result<PathBuf> {
        let dir = self.home.join(name);
        let mut tries = 0;
        loop {
            match fs::create_dir(&self.home) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(cannot_make(&self.home, &error));
                }
                _there => {}
            }
            if self.version == Version::V2 {
                enable_controllers(&self.home);
            }
            match fs::create_dir(&dir) {
                Ok(()) => return Ok(dir),
                // Another pool of this process just removed our common directory as empty.
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries < 3 => tries += 1,
                Err(error) => return Err(cannot_make(&dir, &error)),
            }
        }
    }

    /// Removes our directory in this hierarchy if nothing is left in it.
    pub(super) fn leave(&self) {
        let _ = fs::remove_dir(&self.home);
    }
}

impl Serves {
    /// Looks at a cgroup just made.
    pub(super) fn seen_in(dir: &Path, version: Version) -> Self {
        let has = |name: &str| dir.join(name).exists();
        match version {
            Version::V1 => Self {
                memory: has("memory.limit_in_bytes"),
                pids: has("pids.max"),
                cpu: has("cpuacct.usage"),
                kill: false,
            },
            // Below a threaded cgroup the type is "domain invalid", and no process may enter.
            Version::V2
                if files::read(dir, "cgroup.type").is_ok_and(|kind| kind.trim() != "domain") =>
            {
                Self::default()
            }
            Version::V2 => Self {
                memory: has("memory.max"),
                pids: has("pids.max"),
                cpu: has("cpu.stat"),
                kill: has("cgroup.kill"),
            },
        }
    }
}

/// A name not yet used in this process, so that several pools can share one directory.
pub(super) fn fresh_name(kind: &str) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{kind}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Hands the controllers that v2 cgroup `dir` has on to its children, as far as we may.
///
/// Best effort: what counts is what a cgroup made afterwards really has.
fn enable_controllers(dir: &Path) {
    let list = |name| files::read(dir, name).unwrap_or_default();
    let Some(request) = request(&list("cgroup.controllers"), &list("cgroup.subtree_control"))
    else {
        return;
    };
    // Only the root of all may have both processes and controllers for its children. Elsewhere the kernel refuses, or
    // worse: for `pids` alone it complies and makes the cgroup threaded, which changes it for everyone in it.
    let is_root = !dir.join("cgroup.type").exists();
    if is_root || list("cgroup.procs").trim().is_empty() {
        let _ = files::write(dir, "cgroup.subtree_control", &request);
    }
}

/// What to write to `cgroup.subtree_control`; `None` when there is nothing to gain.
fn request(available: &str, enabled: &str) -> Option<String> {
    let lists = |list: &str, name: &str| list.split_ascii_whitespace().any(|word| word == name);
    let wanted: Vec<_> = CONTROLLERS
        .iter()
        .filter(|name| lists(available, name) && !lists(enabled, name))
        .map(|name| format!("+{name}"))
        .collect();
    if wanted.is_empty() {
        None
    } else {
        Some(wanted.join(" "))
    }
}

fn cannot_make(dir: &Path, error: &io::Error) -> io::Error {
    files::explain(
        error,
        format_args!("cannot make the cgroup `{}`", dir.display()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cgroup(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(dir.path().join(name), text).unwrap();
        }
        dir
    }

    fn subtree_control(dir: &tempfile::TempDir) -> String {
        fs::read_to_string(dir.path().join("cgroup.subtree_control")).unwrap()
    }

    #[test]
    fn only_controllers_that_are_there_and_not_yet_on_are_asked_for() {
        assert_eq!(
            request("cpuset cpu io memory pids\n", "cpu\n"),
            Some("+memory +pids".into())
        );
        assert_eq!(request("memory pids\n", "memory\n"), Some("+pids".into()));
        assert_eq!(request("memory pids\n", "memory pids\n"), None);
        assert_eq!(request("cpu\n", ""), None);
    }

    #[test]
    fn a_cgroup_with_processes_keeps_its_controllers_unless_it_is_the_root() {
        let files = [
            ("cgroup.controllers", "pids"),
            ("cgroup.subtree_control", ""),
            ("cgroup.procs", "7\n"),
        ];
        let root = cgroup(&files);
        enable_controllers(root.path());
        assert_eq!(subtree_control(&root), "+pids");

        let busy = cgroup(&files);
        fs::write(busy.path().join("cgroup.type"), "domain\n").unwrap();
        enable_controllers(busy.path());
        assert_eq!(subtree_control(&busy), "");

        fs::write(busy.path().join("cgroup.procs"), "").unwrap();
        enable_controllers(busy.path());
        assert_eq!(subtree_control(&busy), "+pids");
    }

    #[test]
    fn what_a_cgroup_serves_is_known_by_its_files() {
        let everything = Serves {
            memory: true,
            pids: true,
            cpu: true,
            kill: true,
        };
        let v2 = cgroup(&[
            ("cgroup.type", "domain\n"),
            ("memory.max", ""),
            ("pids.max", ""),
            ("cpu.stat", ""),
            ("cgroup.kill", ""),
        ]);
        assert_eq!(Serves::seen_in(v2.path(), Version::V2), everything);
        fs::write(v2.path().join("cgroup.type"), "domain invalid\n").unwrap();
        assert_eq!(Serves::seen_in(v2.path(), Version::V2), Serves::default());

        let v1 = cgroup(&[("memory.limit_in_bytes", "")]);
        assert_eq!(
            Serves::seen_in(v1.path(), Version::V1),
            Serves {
                memory: true,
                ..Serves::default()
            }
        );
    }

    #[test]
    fn a_probe_leaves_nothing_behind_and_an_unusable_base_says_why() {
        let owner = Owner::current().unwrap();
        let base = cgroup(&[("cgroup.procs", "")]);
        Tree::probe(base.path().to_owned(), Version::V2, &owner).unwrap();
        assert_eq!(
            files::children(base.path()),
            Vec::<std::ffi::OsString>::new()
        );

        let error = Tree::probe(base.path().join("gone"), Version::V2, &owner).unwrap_err();
        assert!(
            error.ends_with(
                "/gone/cgroup.procs` for writing: No such file or directory (os error 2)"
            ),
            "{error}"
        );
    }
}
