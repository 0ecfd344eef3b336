//! The level with its own root.

use super::{NODEV, NOEXEC, NOSUID, Planner, RDONLY, c_path, inside};
use crate::{
    child::{Beneath, Op, Rule},
    error::SandboxError,
    landlock,
    layer::Layer,
    paths::{self, Shown},
    policy::Network,
    protect::Guard,
    sys,
};
use std::{
    collections::BTreeSet,
    ffi::CString,
    path::{Path, PathBuf},
};

impl Planner<'_> {
    /// The level with its own root.
    pub(super) fn container(&mut self, guard: Option<&Guard>) -> Result<(), SandboxError> {
        let all = libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWUTS;
        self.plan.flags |= all;
        if self.policy.network != Network::Full {
            self.plan.flags |= libc::CLONE_NEWNET;
        }
        if sys::uid() != 0 {
            self.plan.flags |= libc::CLONE_NEWUSER;
            self.map_self();
        }
        self.stand(Layer::MountNamespace, Op::PrivateMounts);
        self.copy_replaced()?;
        self.root(guard)?;
        self.stand(Layer::HostNamespace, Op::HostName(c"toolcrib"));
        self.network();
        Ok(())
    }

    /// Builds a root on a tmpfs over `/tmp`, with copies of what is shown taken before that covers anything.
    fn root(&mut self, guard: Option<&Guard>) -> Result<(), SandboxError> {
        const ROOT: &str = "/tmp";
        let writable = self.writable()?;
        let beneath = |path: &PathBuf| {
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            writable.iter().any(|above| real.starts_with(above))
        };
        let readable: Vec<PathBuf> = self
            .policy
            .read
            .iter()
            .filter(|path| !beneath(path))
            .cloned()
            .collect();
        let shown = paths::shown(&readable);
        let mut copies = Vec::new();
        for item in &shown {
            if let Shown::Real(path) = item {
                copies.push((path.clone(), self.copy(path, RDONLY | NOSUID | NODEV)?));
            }
        }
        for device in self.policy.devices() {
            let path = Path::new("/dev").join(device);
            copies.push((path.clone(), self.copy(&path, NOSUID | NOEXEC)?));
        }
        if self.plan.user.is_none() {
            for path in &writable {
                copies.push((path.clone(), self.copy(path, self.attributes(path))?));
            }
        }
        let options = CString::from(c"mode=755,size=1m");
        let flags = libc::MS_NOSUID | libc::MS_NODEV;
        self.push(Op::Mount {
            kind: c"tmpfs",
            target: c_path(Path::new(ROOT))?,
            options,
            flags,
        });
        let mut made = BTreeSet::new();
        for directory in ["/proc", "/tmp", "/dev", "/dev/shm", "/etc"] {
            made.insert(PathBuf::from(directory));
            self.push(Op::Directory {
                path: inside(ROOT, Path::new(directory))?,
                mode: 0o755,
            });
        }
        for (name, to) in [
            ("fd", "/proc/self/fd"),
            ("stdin", "/proc/self/fd/0"),
            ("stdout", "/proc/self/fd/1"),
            ("stderr", "/proc/self/fd/2"),
        ] {
            let path = inside(ROOT, &Path::new("/dev").join(name))?;
            self.push(Op::Link {
                path,
                to: c_path(Path::new(to))?,
            });
        }
        self.private_tmp(ROOT)?;
        for item in &shown {
            if let Shown::Link(path, to) = item {
                self.directories_above(ROOT, path, &mut made)?;
                self.push(Op::Link {
                    path: inside(ROOT, path)?,
                    to: c_path(to)?,
                });
            }
        }
        // Shorter paths first: what lies beneath another is mounted on it.
        copies.sort_by_key(|(path, _)| path.components().count());
        for (path, slot) in copies {
            self.directories_above(ROOT, &path, &mut made)?;
            self.mount_point(ROOT, &path)?;
            self.push(Op::Attach {
                slot,
                target: inside(ROOT, &path)?,
            });
        }
        if self.plan.user.is_some() {
            for path in &writable {
                self.directories_above(ROOT, path, &mut made)?;
                self.mount_point(ROOT, path)?;
            }
            self.show_as_own(ROOT)?;
        }
        self.protect(guard, ROOT)?;
        self.proc(&format!("{ROOT}/proc"))?;
        self.push(Op::Restrict {
            path: c_path(Path::new(ROOT))?,
            attributes: RDONLY,
            recursive: false,
        });
        for listed in ["/dev", "/etc"] {
            let beneath = Beneath::Path(c_path(Path::new(listed))?);
            self.rules.push(Rule {
                beneath,
                access: landlock::READ_DIR,
            });
        }
        self.stand(
            Layer::OwnRoot,
            Op::EnterRoot {
                path: c_path(Path::new(ROOT))?,
            },
        );
        Ok(())
    }
}
