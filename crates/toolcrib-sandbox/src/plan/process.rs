//! The level that shares the host's root.

use super::{NODEV, NOSUID, Planner, RDONLY, c_path};
use crate::{child::Op, error::SandboxError, layer::Layer, policy::Network, protect::Guard, sys};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

impl Planner<'_> {
    /// The level that shares the host's root: own processes and mounts where they can be had.
    pub(super) fn process(&mut self, guard: Option<&Guard>) -> Result<(), SandboxError> {
        let ordinary = sys::uid() != 0;
        if self.has(Layer::PidNamespace) {
            self.plan.flags |= libc::CLONE_NEWPID;
        } else {
            self.lost(Layer::TreeKill, Layer::PidNamespace);
        }
        let mounts = self.has(Layer::MountNamespace);
        let proc = mounts && self.plan.flags != 0 && self.has(Layer::PrivateProc);
        if mounts {
            self.plan.flags |= libc::CLONE_NEWNS;
        }
        let own_network = match self.policy.network {
            Network::Proxy => true,
            Network::Loopback => self.has(Layer::NetworkNamespace),
            Network::None | Network::Full => false,
        };
        if own_network {
            self.plan.flags |= libc::CLONE_NEWNET;
        }
        if self.plan.flags != 0 && ordinary {
            self.plan.flags |= libc::CLONE_NEWUSER;
            self.map_self();
        }
        if mounts {
            self.stand(Layer::MountNamespace, Op::PrivateMounts);
            self.copy_replaced()?;
            self.show_as_own("")?;
            self.read_only_host()?;
            self.protect(guard, "")?;
        } else {
            self.refuse_replaced()?;
            for layer in [Layer::ReadOnlyHost, Layer::PrivateTmp] {
                self.lost(layer, Layer::MountNamespace);
            }
            if self
                .plan
                .not_enforced
                .iter()
                .all(|missing| missing.layer != Layer::PrivateProc)
            {
                self.lost(Layer::PrivateProc, Layer::MountNamespace);
            }
            if self.policy.protect || !self.policy.protected.is_empty() {
                self.lost(Layer::ProtectedNames, Layer::MountNamespace);
            }
        }
        if proc {
            self.proc("/proc")?;
        }
        self.network();
        Ok(())
    }

    /// Makes every mount read-only, and puts what may be written, or is shown of the old `/tmp`, back in its place.
    ///
    /// Landlock knows nothing of modes, owners, times and attributes of files; a read-only mount does.
    fn read_only_host(&mut self) -> Result<(), SandboxError> {
        let covered = |path: &Path| path.starts_with("/tmp") || path.starts_with("/dev/shm");
        let mut copies = Vec::new();
        for path in self.writable()? {
            let slot = self.copy(&path, self.attributes(&path))?;
            copies.push((path, slot));
        }
        for path in self
            .policy
            .read
            .iter()
            .filter_map(|path| path.canonicalize().ok())
        {
            if covered(&path) && !copies.iter().any(|(above, _)| path.starts_with(above)) {
                let slot = self.copy(&path, RDONLY | NOSUID | NODEV)?;
                copies.push((path, slot));
            }
        }
        let root = c_path(Path::new("/"))?;
        self.stand(
            Layer::ReadOnlyHost,
            Op::Restrict {
                path: root,
                attributes: RDONLY,
                recursive: true,
            },
        );
        self.private_tmp("")?;
        copies.sort_by_key(|(path, _)| path.components().count());
        let mut made = BTreeSet::from(["/tmp", "/dev", "/dev/shm"].map(PathBuf::from));
        for (path, slot) in copies {
            if covered(&path) {
                self.directories_above("", &path, &mut made)?;
                self.mount_point("", &path)?;
            }
            self.push(Op::Attach {
                slot,
                target: c_path(&path)?,
            });
        }
        Ok(())
    }
}
