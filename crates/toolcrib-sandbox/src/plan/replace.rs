//! Files that a command sees with other content than they have on the host.
//!
//! The content is written to a file system in memory before anything else is mounted, and copied from there into slots; that file
//! system is then taken off again, so that nothing but the copies leads to it. A file on the host would do as well, but many hosts
//! forbid execution where temporary files lie, and a mount keeps that.

use super::{NODEV, NOSUID, Planner, RDONLY, c_path, inside, unusable};
use crate::{
    child::{Op, SLOTS},
    error::SandboxError,
    layer::Layer,
};
use std::{io, path::Path};

impl Planner<'_> {
    /// Puts the content of every replaced file into a slot.
    pub(super) fn copy_replaced(&mut self) -> Result<(), SandboxError> {
        let policy = self.policy;
        if policy.replaced.is_empty() {
            return Ok(());
        }
        let place = ["/tmp", "/dev/shm"]
            .into_iter()
            .find(|place| Path::new(place).is_dir());
        let place = place.ok_or_else(|| {
            SandboxError::setup(
                "a place for copies of files",
                io::ErrorKind::NotFound.into(),
            )
        })?;
        let pages = policy
            .replaced
            .iter()
            .map(|file| file.content.len() / 4096 + 1);
        let size = (pages.sum::<usize>() + 16) * 4096;
        let inodes = policy.replaced.len() + 2;
        let options = format!("mode=700,size={size},nr_inodes={inodes}");
        self.push(Op::Mount {
            kind: c"tmpfs",
            target: c_path(Path::new(place))?,
            options: c_path(Path::new(&options))?,
            flags: libc::MS_NOSUID | libc::MS_NODEV,
        });
        for (index, file) in policy.replaced.iter().enumerate() {
            let target = self.resolved(&file.path, "replaced file")?;
            if !target.is_file() {
                let source = io::ErrorKind::NotFound.into();
                return Err(unusable("replaced file", &target, source));
            }
            let slot = self.slots;
            self.slots += 1;
            if slot >= SLOTS - 1 {
                let text = format!("too many paths for one sandbox: {SLOTS} is the most");
                return Err(SandboxError::Invalid(text));
            }
            let path = c_path(&Path::new(place).join(index.to_string()))?;
            self.push(Op::Content {
                path: path.clone(),
                bytes: file.content.clone(),
                // The command may have another uid than we.
                mode: if file.executable { 0o555 } else { 0o444 },
            });
            self.push(Op::CopyMount {
                path,
                identity: None,
                slot,
                attributes: RDONLY | NOSUID | NODEV,
            });
            self.replaced.push((slot, target));
        }
        self.push(Op::Unmount {
            path: c_path(Path::new(place))?,
        });
        Ok(())
    }

    /// Mounts the copies over their files, after everything else.
    pub(super) fn replace(&mut self, root: &str) -> Result<(), SandboxError> {
        for (slot, path) in std::mem::take(&mut self.replaced) {
            let target = inside(root, &path)?;
            self.push(Op::Attach { slot, target });
        }
        Ok(())
    }

    /// Refuses replaced files where there are no mounts to show them with.
    pub(super) fn refuse_replaced(&self) -> Result<(), SandboxError> {
        match self.support.check(Layer::MountNamespace) {
            Err(missing) if !self.policy.replaced.is_empty() => Err(SandboxError::Unavailable {
                level: self.policy.level,
                missing,
            }),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
