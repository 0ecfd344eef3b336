//! What a run may do: the wall, described.

use crate::level::Level;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// What a run can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Network {
    /// Nothing: no address, no socket of the host.
    #[default]
    None,
    /// Its own processes on its own loopback, and nothing else. Where the machine gives no separate network this is
    /// [`Network::None`], which the report shows.
    Loopback,
    /// Only the proxy that [`Command::proxy`](crate::Command::proxy) names; the command finds the way in `http_proxy`,
    /// `https_proxy` and `all_proxy`.
    Proxy,
    /// Whatever the host reaches over IP. Sockets of other families are refused all the same.
    Full,
}

/// Whose rights a run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum User {
    /// The caller's uid without its capabilities. (At `container` level root is never kept: it becomes [`User::REDUCED`].)
    #[default]
    Same,
    /// A uid that owns nothing; it sees the workspace's files as its own through a mapped mount. Only root can give it.
    Reduced {
        /// The uid on the host.
        uid: u32,
        /// The gid on the host.
        gid: u32,
    },
}

impl User {
    /// The uid used when no one names one: in a range that distributions leave unassigned.
    pub const REDUCED: Self = Self::Reduced {
        uid: 60_999,
        gid: 60_999,
    };
}

/// How much a run may use. `None` means no limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory of all processes together.
    pub memory: Option<u64>,
    /// CPU time of all processes together.
    pub cpu: Option<Duration>,
    /// Processes and threads at once.
    pub pids: Option<u32>,
    /// Bytes of one file.
    pub file_size: Option<u64>,
    /// Bytes the workspace (and other writable paths) may grow by.
    pub growth: Option<u64>,
    /// Bytes of output, for each of stdout and stderr.
    pub output: u64,
    /// Wall-clock time.
    pub time: Option<Duration>,
    /// Bytes of `/tmp`, and again of `/dev/shm`.
    pub temporary: u64,
    /// Open files of one process.
    pub open_files: u64,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        Self {
            memory: Some(2048 * MIB),
            cpu: None,
            pids: Some(512),
            file_size: Some(1024 * MIB),
            growth: Some(4096 * MIB),
            output: 64 * MIB,
            time: Some(Duration::from_secs(60)),
            temporary: 128 * MIB,
            open_files: 4096,
        }
    }
}

/// What becomes of a protected name that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AbsentNames {
    /// Nothing can be made there: an empty directory is in its place while sandboxes of the policy are ready or run.
    #[default]
    Refuse,
    /// What a run makes there is noticed while it lasts and at its end, for [`crate::Keeper`] to take away.
    Hold,
}

/// Everything a run may do.
#[derive(Clone, Debug)]
pub struct Policy {
    /// How strong the wall is.
    pub level: Level,
    /// The directory the command may read and write.
    pub workspace: PathBuf,
    /// Whether the workspace can only be read. Without a wall such a policy is refused.
    pub read_only: bool,
    /// More that may be read; [`Policy::new`] fills in programs, libraries, the harmless part of `/etc`, and toolchains.
    pub read: Vec<PathBuf>,
    /// More that may be written.
    pub write: Vec<PathBuf>,
    /// What can be reached.
    pub network: Network,
    /// How much may be used.
    pub limits: Limits,
    /// Whose rights the command has.
    pub user: User,
    /// Whether the command is on its own terminal, for programs that talk to a person. Its output is all on stdout
    /// then; [`crate::Command::dialogue`] says who answers.
    pub terminal: bool,
    /// Whether names that other programs run later are kept from being written; see [`crate::PROTECTED_NAMES`].
    pub protect: bool,
    /// What becomes of protected names that are not there.
    pub absent: AbsentNames,
    /// Repositories in the workspace that earlier runs made (where git keeps them): nothing in them is mounted over, so that they can
    /// be changed and removed, and what comes to run programs in them is [`crate::Report::planted`].
    pub made: Vec<PathBuf>,
    /// More paths in the workspace that cannot be written, replaced or newly made. The directories above them, and the links on the
    /// way to them, stay where they are.
    pub protected: Vec<PathBuf>,
    /// Directories in the workspace that look empty inside and cannot be written, where it has its own mounts. Those
    /// that are not there when the sandbox is prepared are not covered.
    pub hidden: Vec<PathBuf>,
    /// Directories that no command reaches, should they lie in what it may read or write: they look empty inside, cannot be
    /// written, and neither they nor what lies above them can be moved away. Where it has no separate mounts such a policy
    /// is refused; without a wall nothing is excluded.
    pub excluded: Vec<PathBuf>,
    /// Files in the workspace that the command sees with other content than they have on the host, and cannot change. Where it has no
    /// separate mounts such a policy is refused.
    pub replaced: Vec<Replaced>,
}

/// A file with the content that a command sees of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The file: absolute, and there when the sandbox is prepared.
    pub path: PathBuf,
    /// What the command reads there.
    pub content: Arc<[u8]>,
    /// Whether it can be executed.
    pub executable: bool,
}

impl Policy {
    /// A policy with the default limits, no network, and to read the system's programs and the caller's toolchains.
    pub fn new(level: Level, workspace: impl Into<PathBuf>) -> Self {
        Self {
            level,
            workspace: workspace.into(),
            read_only: false,
            read: crate::paths::readable(),
            write: Vec::new(),
            network: Network::None,
            limits: Limits::default(),
            user: User::Same,
            terminal: false,
            protect: true,
            absent: AbsentNames::default(),
            made: Vec::new(),
            protected: Vec::new(),
            hidden: Vec::new(),
            excluded: Vec::new(),
            replaced: Vec::new(),
        }
    }

    /// The devices there are inside, beneath `/dev`. With a terminal also the name by which every process calls its own.
    pub(crate) fn devices(&self) -> impl Iterator<Item = &'static str> {
        let terminal = self.terminal && Path::new("/dev/tty").exists();
        ["null", "zero", "full", "random", "urandom"]
            .into_iter()
            .chain(terminal.then_some("tty"))
    }

    /// Refuses limits that nothing could run under, before anything is started.
    pub(crate) fn check(&self) -> Result<(), crate::SandboxError> {
        let limits = &self.limits;
        let bad = |text: String| Err(crate::SandboxError::Invalid(text));
        if let Some(memory) = limits.memory.filter(|memory| *memory < 1 << 20) {
            return bad(format!(
                "a memory limit of {memory} bytes is too small to start anything; the least is 1 MB"
            ));
        }
        if limits.pids.is_some_and(|pids| pids == 0) {
            return bad("a limit of 0 processes cannot start anything; the least is 1".to_owned());
        }
        if limits.time.is_some_and(|time| time.is_zero()) {
            return bad("a time limit of 0 leaves no time to run".to_owned());
        }
        if limits.cpu.is_some_and(|time| time.is_zero()) {
            return bad("a CPU limit of 0 leaves no time to run".to_owned());
        }
        if limits.open_files < 16 {
            return bad(format!(
                "{} open files are too few; the least is 16",
                limits.open_files
            ));
        }
        if limits.temporary < 64 << 10 {
            return bad(format!(
                "{} bytes for /tmp are too few; the least is 64 KB",
                limits.temporary
            ));
        }
        if let User::Reduced { uid, gid } = self.user
            && (uid == 0 || gid == 0)
        {
            return bad("`reduced` cannot mean root: uid and gid must not be 0".to_owned());
        }
        if self.level == Level::None && self.network == Network::Proxy {
            return bad("isolation `none` cannot confine a command to a proxy; use `process` or `container`".to_owned());
        }
        if self.level == Level::None && self.read_only {
            return bad(
                "isolation `none` cannot keep the workspace from being written; use `process` or `container`"
                    .to_owned(),
            );
        }
        if self.level == Level::None && !self.replaced.is_empty() {
            return bad(
                "isolation `none` cannot show other content of a file; use `process` or `container`"
                    .to_owned(),
            );
        }
        if self.level == Level::None && self.user != User::Same {
            return bad(
                "isolation `none` cannot reduce privileges; use `process` or `container`"
                    .to_owned(),
            );
        }
        for path in self
            .read
            .iter()
            .chain(&self.write)
            .chain(&self.protected)
            .chain(&self.excluded)
            .chain(self.replaced.iter().map(|replaced| &replaced.path))
            .chain([&self.workspace])
        {
            if !path.is_absolute() {
                return bad(format!("`{}` is not an absolute path", path.display()));
            }
        }
        if self.workspace == Path::new("/") || self.write.iter().any(|path| path == Path::new("/"))
        {
            return bad("`/` cannot be writable behind a wall; name a directory".to_owned());
        }
        Ok(())
    }
}
