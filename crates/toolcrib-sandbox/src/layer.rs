//! The layers of the wall, by the names that reports, errors and `doctor` use.

use crate::level::Level;
use std::fmt;

/// One thing the kernel enforces (or the library, where it says so) for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Layer {
    /// Only listed paths can be read, only the workspace and listed paths written.
    Landlock,
    /// System calls a command has no use for are refused.
    Seccomp,
    /// No program, set-uid or not, gains privileges.
    NoNewPrivileges,
    /// Every capability is gone.
    Capabilities,
    /// File size, open files, CPU seconds and core dumps are bounded for each process.
    ResourceLimits,
    /// The command sees the listed variables only.
    Environment,
    /// No descriptor of the caller reaches the command.
    Descriptors,
    /// Every process of the run ends with it, whatever it ignores.
    TreeKill,
    /// The command sees and signals its own processes only.
    PidNamespace,
    /// The command has its own mounts.
    MountNamespace,
    /// Names that other programs run later (`.git/hooks`, `.envrc` …) cannot be written. Those that are not there cannot be made, or
    /// what is made there is noticed, as the policy says.
    ProtectedNames,
    /// Likewise in repositories below the root: all of them were found.
    NestedRepositories,
    /// Outside of what may be written not even modes, owners, times and attributes of files can be changed.
    ReadOnlyHost,
    /// `/proc` shows the run's own processes and is read-only.
    PrivateProc,
    /// `/tmp` and `/dev/shm` are the run's own and bounded in size.
    PrivateTmp,
    /// Total memory of all processes is bounded by a cgroup.
    MemoryLimit,
    /// Address space of each process is bounded: weak, since processes add up.
    WeakMemoryLimit,
    /// The number of processes is bounded.
    PidsLimit,
    /// CPU seconds of all processes together are bounded.
    CpuLimit,
    /// CPU seconds of each process are bounded: weak, since processes add up.
    WeakCpuLimit,
    /// A user namespace: no capability in it reaches the host.
    UserNamespace,
    /// Its own network, with nothing but a loopback.
    NetworkNamespace,
    /// Its own System V and POSIX message queues, semaphores and memory.
    IpcNamespace,
    /// Its own host name.
    HostNamespace,
    /// A root directory that holds the listed paths and nothing else.
    OwnRoot,
    /// The command does not have the caller's uid.
    OwnUser,
    /// Sockets of every family are refused.
    NoSockets,
    /// Only the given proxy can be reached.
    ProxyOnly,
}

impl Layer {
    /// Every layer, in the order of reports.
    pub const ALL: &[Self] = &[
        Self::Landlock,
        Self::Seccomp,
        Self::NoNewPrivileges,
        Self::Capabilities,
        Self::ResourceLimits,
        Self::Environment,
        Self::Descriptors,
        Self::TreeKill,
        Self::PidNamespace,
        Self::MountNamespace,
        Self::ProtectedNames,
        Self::NestedRepositories,
        Self::ReadOnlyHost,
        Self::PrivateProc,
        Self::PrivateTmp,
        Self::MemoryLimit,
        Self::WeakMemoryLimit,
        Self::PidsLimit,
        Self::CpuLimit,
        Self::WeakCpuLimit,
        Self::UserNamespace,
        Self::NetworkNamespace,
        Self::IpcNamespace,
        Self::HostNamespace,
        Self::OwnRoot,
        Self::OwnUser,
        Self::NoSockets,
        Self::ProxyOnly,
    ];

    /// Layers without which a level is refused.
    pub(crate) fn required(level: Level) -> &'static [Self] {
        const PROCESS: &[Layer] = &[Layer::Landlock, Layer::Seccomp];
        const CONTAINER: &[Layer] = &[
            Layer::Landlock,
            Layer::Seccomp,
            Layer::UserNamespace,
            Layer::PidNamespace,
            Layer::MountNamespace,
            Layer::PrivateProc,
            Layer::NetworkNamespace,
            Layer::IpcNamespace,
            Layer::HostNamespace,
        ];
        match level {
            Level::None => &[],
            Level::Process => PROCESS,
            Level::Container => CONTAINER,
        }
    }

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::NoNewPrivileges => "no-new-privileges",
            Self::Capabilities => "no-capabilities",
            Self::ResourceLimits => "resource-limits",
            Self::Environment => "environment",
            Self::Descriptors => "descriptors",
            Self::TreeKill => "tree-kill",
            Self::PidNamespace => "pid-namespace",
            Self::MountNamespace => "mount-namespace",
            Self::ProtectedNames => "protected-names",
            Self::NestedRepositories => "nested-repositories",
            Self::ReadOnlyHost => "read-only-host",
            Self::PrivateProc => "private-proc",
            Self::PrivateTmp => "private-tmp",
            Self::MemoryLimit => "memory-limit",
            Self::WeakMemoryLimit => "memory-limit-per-process",
            Self::PidsLimit => "pids-limit",
            Self::CpuLimit => "cpu-limit",
            Self::WeakCpuLimit => "cpu-limit-per-process",
            Self::UserNamespace => "user-namespace",
            Self::NetworkNamespace => "network-namespace",
            Self::IpcNamespace => "ipc-namespace",
            Self::HostNamespace => "host-name-namespace",
            Self::OwnRoot => "own-root",
            Self::OwnUser => "own-user",
            Self::NoSockets => "no-sockets",
            Self::ProxyOnly => "proxy-only",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A layer that is not there, why, and what would bring it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Which layer.
    pub layer: Layer,
    /// What the kernel or the system said.
    pub reason: String,
    /// What to do about it.
    pub fix: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.layer, self.reason, self.fix)
    }
}
