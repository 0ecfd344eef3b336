//! Exclusions from the paths that a command may read or write.
//!
//! Landlock only adds: who may read a directory may read all of it. So an empty file system is mounted over what is left out. A process
//! that may write a directory above could still move it away, with the mount, and put something else in its place; so every directory
//! on the way is mounted over itself, since what is mounted on cannot be moved.

use super::{Planner, inside, unusable};
use crate::{
    child::{Op, SLOTS},
    error::SandboxError,
    layer::{Layer, Missing},
    level::Level,
};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

impl Planner<'_> {
    /// Finds what of the excluded lies in what may be read or written; refuses it where it could not be left out.
    pub(super) fn find_excluded(&mut self) -> Result<(), SandboxError> {
        if self.policy.level == Level::None || self.policy.excluded.is_empty() {
            return Ok(());
        }
        let mut open = self.writable()?;
        let readable = self.policy.read.iter();
        open.extend(readable.filter_map(|path| path.canonicalize().ok()));
        for path in &self.policy.excluded {
            // A path that does not exist is looked for where it would be.
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            if !open.iter().any(|above| self.shows(above, &real)) {
                continue;
            }
            if let Err(missing) = self.support.check(Layer::MountNamespace) {
                let reason = format!(
                    "what is kept from every command lies in what this one may read or write, and leaving it out needs mounts: {}",
                    missing.reason
                );
                return Err(SandboxError::Unavailable {
                    level: self.policy.level,
                    missing: Missing { reason, ..missing },
                });
            }
            if self.workspace.starts_with(&real) {
                return Err(SandboxError::Invalid(format!(
                    "the workspace lies in `{}`, which cannot be left out of what may be read or written then",
                    real.display()
                )));
            }
            if !real.is_dir() {
                let source = std::io::ErrorKind::NotADirectory.into();
                return Err(unusable("excluded path", &real, source));
            }
            self.excluded.push(real);
        }
        Ok(())
    }

    /// Whether a path can be seen inside because one that is above it may be read or written.
    fn shows(&self, above: &Path, path: &Path) -> bool {
        let replaced = |path: &Path| path.starts_with("/tmp") || path.starts_with("/dev/shm");
        // At `process` level the host's `/tmp` is only there as far as it is put back by name.
        let gone = self.policy.level == Level::Process
            && self.support.check(Layer::MountNamespace).is_ok()
            && replaced(path)
            && !replaced(above);
        path.starts_with(above) && !gone
    }

    /// Keeps what lies between a writable path and what is hidden or excluded from being moved. In the workspace itself the
    /// guard does that for what is hidden.
    pub(super) fn pin_above_hidden(&mut self, root: &str) -> Result<(), SandboxError> {
        let policy = self.policy;
        let hidden = policy.hidden.iter().filter(|path| path.is_dir());
        let mut kept = Vec::new();
        for path in hidden {
            kept.push(self.resolved(path, "hidden path")?);
        }
        let writable = self.writable()?;
        let beneath = |path: &&Path| {
            writable
                .iter()
                .any(|above| path.starts_with(above) && *path != above)
        };
        let above = |paths: &'_ [PathBuf]| -> Vec<PathBuf> {
            let above = paths.iter().flat_map(|path| path.ancestors().skip(1));
            above.filter(beneath).map(Path::to_owned).collect()
        };
        let mut pinned = above(&kept);
        pinned.retain(|path| !path.starts_with(self.workspace));
        pinned.extend(above(&self.excluded));
        // In order, so that what lies above comes first.
        let pinned: BTreeSet<PathBuf> = pinned.into_iter().collect();
        let mut steps = Vec::new();
        for path in &pinned {
            let target = inside(root, path)?;
            steps.push(Op::CopyMount {
                path: target.clone(),
                identity: None,
                slot: SLOTS - 1,
                attributes: 0,
            });
            steps.push(Op::Attach {
                slot: SLOTS - 1,
                target,
            });
        }
        for step in steps {
            self.push(step);
        }
        Ok(())
    }

    /// Puts an empty file system over what the command is not to see.
    pub(super) fn hide(&mut self, root: &str) -> Result<(), SandboxError> {
        let policy = self.policy;
        let mut covered: Vec<PathBuf> = self.excluded.clone();
        for path in policy.hidden.iter().filter(|path| path.is_dir()) {
            covered.push(self.resolved(path, "hidden path")?);
        }
        for path in covered {
            let target = inside(root, &path)?;
            self.push(Op::Mount {
                kind: c"tmpfs",
                target,
                options: c"mode=000,size=4k,nr_inodes=2".to_owned(),
                flags: libc::MS_RDONLY | libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC,
            });
        }
        Ok(())
    }
}
