//! Mounts that both levels make: the workspace, protected names, `/tmp`, `/proc`.

use super::{NODEV, NOSUID, Planner, RDONLY, c_path, inside, unusable};
use crate::{
    child::{Beneath, Op, Rule, SLOTS},
    error::SandboxError,
    landlock,
    layer::{Layer, Missing},
    paths::writable_refusal,
    policy::AbsentNames,
    protect::{Cover, Guard},
};
use std::{
    collections::BTreeSet,
    ffi::CString,
    fs,
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
};

impl Planner<'_> {
    /// Mounts the workspace and other writable paths over themselves so that the run's uid owns what their owner does.
    pub(super) fn show_as_own(&mut self, root: &str) -> Result<(), SandboxError> {
        if self.plan.user.is_none() {
            return Ok(());
        }
        for path in self.writable()? {
            let target = inside(root, &path)?;
            self.push(Op::AttachTree {
                tree: self.plan.mapped.len(),
                target: target.clone(),
            });
            let attributes = self.attributes(&path);
            if attributes & RDONLY != 0 {
                self.push(Op::Restrict {
                    path: target,
                    attributes,
                    recursive: true,
                });
            }
            let metadata = fs::symlink_metadata(&path)
                .map_err(|source| unusable("writable path", &path, source))?;
            self.plan
                .mapped
                .push((path, (metadata.dev(), metadata.ino())));
        }
        Ok(())
    }

    /// How what [`writable`](Self::writable) lists is mounted: a workspace that is only read is in that list, too, so that it is shown
    /// where it is and to whom it belongs.
    pub(super) fn attributes(&self, path: &Path) -> u64 {
        match self.policy.read_only && path == self.workspace {
            true => RDONLY | NOSUID | NODEV,
            false => NOSUID | NODEV,
        }
    }

    /// The workspace, and what else may be written.
    pub(super) fn writable(&self) -> Result<Vec<PathBuf>, SandboxError> {
        let mut paths = vec![self.workspace.to_owned()];
        for path in &self.policy.write {
            let real = self.resolved(path, "writable path")?;
            if let Some(why) = writable_refusal(&real) {
                let text = format!("`{}` {why}", path.display());
                return Err(SandboxError::Invalid(text));
            }
            if self.policy.read_only || !real.starts_with(self.workspace) {
                paths.push(real);
            }
        }
        Ok(paths)
    }

    /// Where a path of the policy leads. One that begins in the workspace must stay there: a link on the way may have been put
    /// there by an earlier run.
    pub(super) fn resolved(
        &self,
        path: &Path,
        role: &'static str,
    ) -> Result<PathBuf, SandboxError> {
        let path = &without_dots(path);
        let real = path
            .canonicalize()
            .map_err(|source| unusable(role, path, source))?;
        let begins_inside =
            path.starts_with(self.workspace) || path.starts_with(&self.policy.workspace);
        if begins_inside && !real.starts_with(self.workspace) {
            let text = format!(
                "`{}` leads out of the workspace by a link; if that is meant, name `{}`",
                path.display(),
                real.display()
            );
            return Err(SandboxError::Invalid(text));
        }
        Ok(real)
    }

    /// Copies a mount into a slot, to be attached after the place it comes from may have been covered.
    pub(super) fn copy(&mut self, path: &Path, attributes: u64) -> Result<usize, SandboxError> {
        let metadata =
            fs::symlink_metadata(path).map_err(|source| unusable("path", path, source))?;
        let slot = self.slots;
        self.slots += 1;
        if slot >= SLOTS {
            return Err(SandboxError::Invalid(format!(
                "too many paths for one sandbox: {SLOTS} is the most"
            )));
        }
        let identity = Some((metadata.dev(), metadata.ino()));
        self.push(Op::CopyMount {
            path: c_path(path)?,
            identity,
            slot,
            attributes,
        });
        Ok(slot)
    }

    pub(super) fn protect(
        &mut self,
        guard: Option<&Guard>,
        root: &str,
    ) -> Result<(), SandboxError> {
        self.pin_above_hidden(root)?;
        if let Some(guard) = guard {
            self.cover(guard, root)?;
        }
        self.hide(root)?;
        self.replace(root)
    }

    fn cover(&mut self, guard: &Guard, root: &str) -> Result<(), SandboxError> {
        if !guard.is_complete() {
            self.plan.not_enforced.push(Missing {
                layer: Layer::NestedRepositories,
                reason: "the workspace has more directories than are searched for repositories"
                    .to_owned(),
                fix: "use a smaller workspace, or name what to protect".to_owned(),
            });
        }
        let mut empty: Option<CString> = None;
        for covered in guard.covered() {
            let path = inside(root, &covered.path)?;
            let attributes = match covered.cover {
                Cover::ReadOnly | Cover::Placeholder => RDONLY | NOSUID | NODEV,
                Cover::Pinned => 0,
            };
            if let (Cover::Placeholder, Some(source)) = (covered.cover, &empty) {
                // One read-only empty directory is as good as another, and this is one system call instead of six.
                self.push(Op::Bind {
                    source: source.clone(),
                    target: path,
                });
                continue;
            }
            self.push(Op::CopyMount {
                path: path.clone(),
                identity: None,
                slot: SLOTS - 1,
                attributes,
            });
            self.push(Op::Attach {
                slot: SLOTS - 1,
                target: path.clone(),
            });
            if covered.cover == Cover::Placeholder {
                empty = Some(path);
            }
        }
        let mut root_covers = guard.covered().iter().filter(|covered| {
            covered.cover != Cover::Pinned && covered.path.parent() == Some(self.workspace)
        });
        if let Some((above, name)) = root_covers
            .next_back()
            .and_then(|covered| Some((covered.path.parent()?, covered.path.file_name()?.to_str()?)))
        {
            let path = inside(root, &above.join(name.to_uppercase()))?;
            self.stand(Layer::ProtectedNames, Op::CheckFolded { path });
        } else if self.policy.absent == AbsentNames::Refuse {
            return Ok(());
        }
        // With nothing to cover there is nothing but what a run may make, which is looked for.
        self.plan.also.push(Layer::ProtectedNames);
        if guard.is_complete() {
            self.plan.also.push(Layer::NestedRepositories);
        }
        Ok(())
    }

    /// New `/tmp` and `/dev/shm`, bounded in size.
    pub(super) fn private_tmp(&mut self, root: &str) -> Result<(), SandboxError> {
        let size = self.policy.limits.temporary;
        let inodes = (size / 4096).clamp(1024, 1 << 20);
        let options = format!("mode=1777,size={size},nr_inodes={inodes}");
        let options = c_path(Path::new(&options))?;
        for place in ["/tmp", "/dev/shm"] {
            if root.is_empty() && !Path::new(place).is_dir() {
                continue;
            }
            let target = inside(root, Path::new(place))?;
            let flags = libc::MS_NOSUID | libc::MS_NODEV;
            self.stand(
                Layer::PrivateTmp,
                Op::Mount {
                    kind: c"tmpfs",
                    target,
                    options: options.clone(),
                    flags,
                },
            );
            self.rules.push(Rule {
                beneath: Beneath::Path(c_path(Path::new(place))?),
                access: landlock::WRITE,
            });
        }
        self.plan.private_tmp = true;
        Ok(())
    }

    pub(super) fn directories_above(
        &mut self,
        root: &str,
        path: &Path,
        made: &mut BTreeSet<PathBuf>,
    ) -> Result<(), SandboxError> {
        let mut above: Vec<&Path> = path
            .ancestors()
            .skip(1)
            .filter(|above| above.parent().is_some())
            .collect();
        above.reverse();
        for directory in above {
            if made.insert(directory.to_owned()) {
                // Not to be listed: what else lies in a home directory is no one's business, not even that it is empty.
                self.push(Op::Directory {
                    path: inside(root, directory)?,
                    mode: 0o711,
                });
            }
        }
        Ok(())
    }

    /// Something to mount on: a directory for directories, a file for everything else.
    pub(super) fn mount_point(&mut self, root: &str, path: &Path) -> Result<(), SandboxError> {
        let target = inside(root, path)?;
        let directory = fs::metadata(path)
            .map_err(|source| unusable("path", path, source))?
            .is_dir();
        self.push(if directory {
            Op::Directory {
                path: target,
                mode: 0o755,
            }
        } else {
            Op::File { path: target }
        });
        Ok(())
    }

    pub(super) fn proc(&mut self, target: &str) -> Result<(), SandboxError> {
        let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_RDONLY;
        let target = c_path(Path::new(target))?;
        self.stand(
            Layer::PrivateProc,
            Op::Mount {
                kind: c"proc",
                target,
                options: CString::default(),
                flags,
            },
        );
        self.rules.push(Rule {
            beneath: Beneath::Path(c"/proc".to_owned()),
            access: landlock::READ,
        });
        Ok(())
    }
}

/// A path with each `..` taken as a step back, whatever links there are.
fn without_dots(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                whole.pop();
            }
            other => whole.push(other),
        }
    }
    whole
}
