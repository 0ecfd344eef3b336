//! Disks that refuse: full ones and read-only ones, real ones, in a mount namespace of the child.

use std::path::Path;
use std::process::Command;

/// A mount over a directory while a child runs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Disk {
    /// An empty disk of 64 KiB.
    Tiny,
    /// The existing files, read-only.
    ReadOnly,
}

impl Disk {
    /// A command that does what `command` does, with this disk in place of `dir`.
    ///
    /// `None`, with a note, where a test may not mount.
    pub(crate) fn under(self, dir: &Path, command: &Command) -> Option<Command> {
        let mounted = |program: &Command| {
            let mount = match self {
                Disk::Tiny => r#"mount -t tmpfs -o size=64k,mode=0700 tiny "$0""#,
                Disk::ReadOnly => r#"mount --bind "$0" "$0" && mount -o remount,bind,ro "$0""#,
            };
            let mut mounted = Command::new("unshare");
            mounted.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
            mounted.arg(format!(r#"{mount} && exec "$@""#)).arg(dir);
            mounted.arg(program.get_program()).args(program.get_args());
            mounted.envs(
                program
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            );
            mounted
        };
        match mounted(&Command::new("true")).output() {
            Ok(output) if output.status.success() => Some(mounted(command)),
            Ok(output) => {
                let reason = String::from_utf8_lossy(&output.stderr).into_owned();
                crate::skipped(format_args!(
                    "this machine does not let a test mount a {self:?} disk ({})",
                    reason.trim()
                ));
                None
            }
            Err(error) => {
                crate::skipped(format_args!(
                    "a {self:?} disk needs the program `unshare` ({error})"
                ));
                None
            }
        }
    }
}
