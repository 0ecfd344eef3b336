//! The wall around a command: from what a tool asks for to a policy of the sandbox.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{NetworkAccess, SandboxOptions};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::text;
use crate::sandbox::{
    Level, Network, Policy, Prepared, Replaced, Sandbox, SandboxError, User, failure,
};
use crate::storage::DurableDir;
use crate::workspace::{InUse, Workspace};

/// The wall around a command. Commands behind equal walls share what can be prepared for them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[doc(hidden)]
pub struct Wall {
    /// The level.
    pub(crate) level: Level,
    /// Whether the next lower level is acceptable where this one is not available: only when no one set it.
    pub(crate) may_fall_back: bool,
    /// What can be reached over the network.
    pub(crate) network: Reachable,
    /// Whether it runs with fewer rights than the caller's.
    pub(crate) reduced: bool,
    /// Whether the workspace can only be read. Nothing sees to that without a wall.
    pub(crate) read_only: bool,
    /// What may be read besides the usual; host paths.
    pub(crate) read: Vec<PathBuf>,
    /// What may be written besides the workspace; host paths.
    pub(crate) write: Vec<PathBuf>,
    /// CPU time of all processes.
    pub(crate) cpu: Option<Duration>,
    /// Bytes of memory of all processes, if less than the operator allows.
    pub(crate) memory: Option<u64>,
}

/// What commands behind a wall can reach over the network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[doc(hidden)]
pub enum Reachable {
    /// Nothing.
    #[default]
    Nothing,
    /// Each other, on their own loopback; nothing where the machine gives them none.
    EachOther,
    /// These hosts, through the guard, whatever the setting `allowedHosts` says; in order, each once.
    Hosts(Vec<String>),
    /// What the setting `allowedHosts` names, through the guard.
    Listed,
    /// Whatever this machine reaches over IP.
    Everything,
}

impl Reachable {
    /// These hosts; nothing if there are none. Equal for the same hosts in whatever order.
    pub(crate) fn hosts(hosts: &[String]) -> Self {
        let mut hosts = hosts.to_vec();
        hosts.sort_unstable();
        hosts.dedup();
        match hosts.is_empty() {
            true => Reachable::Nothing,
            false => Reachable::Hosts(hosts),
        }
    }
}

impl From<NetworkAccess> for Reachable {
    fn from(access: NetworkAccess) -> Self {
        match access {
            NetworkAccess::None => Reachable::Nothing,
            NetworkAccess::Listed => Reachable::Listed,
            NetworkAccess::Full => Reachable::Everything,
        }
    }
}

impl Wall {
    /// A wall of this level, with the workspace and nothing else behind it.
    pub(crate) fn of(level: Level) -> Self {
        Wall {
            level,
            may_fall_back: false,
            network: Reachable::Nothing,
            reduced: false,
            read_only: false,
            read: Vec::new(),
            write: Vec::new(),
            cpu: None,
            memory: None,
        }
    }

    /// The wall around a program that serves for as long as it is used, such as an MCP server: its workspace is its own directory.
    #[doc(hidden)]
    pub fn of_server(
        level: Level,
        read: Vec<PathBuf>,
        write: Vec<PathBuf>,
        memory: Option<u64>,
        network: Reachable,
    ) -> Self {
        Wall {
            network,
            read,
            write,
            memory,
            ..Wall::of(level)
        }
    }

    /// What this wall is for such a program. It has no limits of time, output and growth, and nothing is held: the names that other
    /// programs run later are not protected in what it may write.
    #[doc(hidden)]
    pub fn server_policy(&self, workspace: &Workspace, options: &SandboxOptions) -> Policy {
        let mut policy = self.policy(workspace, options);
        policy.protect = false;
        policy.made = Vec::new();
        policy.limits.growth = None;
        policy
    }

    /// Makes the wall ready, for commands on a terminal if so wished, which see these files as they are here. What cannot be enforced
    /// here is refused.
    pub(super) fn prepare(
        &self,
        terminal: bool,
        sandbox: &Sandbox,
        workspace: &Workspace,
        options: &SandboxOptions,
        replaced: Vec<Replaced>,
    ) -> Result<Prepared, ToolError> {
        if self.reduced && self.level == Level::None {
            return Err(ToolError::new(
                ErrorCode::SandboxUnavailable,
                "isolation `none` cannot reduce privileges; use `process` or `container`",
            ));
        }
        if let Some(why) = self.reaches_own_data(workspace) {
            return Err(why);
        }
        if let Some(held) = &options.held {
            held.recover();
        }
        let mut policy = self.policy(workspace, options);
        policy.terminal = terminal;
        policy.replaced = replaced;
        match sandbox.prepare(&policy) {
            Err(SandboxError::Unavailable { .. }) if self.may_fall_back => {
                policy.level = Level::Process;
                sandbox.prepare(&policy)
            }
            prepared => prepared,
        }
        .map_err(unusable)
    }

    fn policy(&self, workspace: &Workspace, options: &SandboxOptions) -> Policy {
        let mut policy = Policy::new(self.level, workspace.root());
        policy.read_only = self.read_only && self.level > Level::None;
        policy.read.extend(options.readable.iter().cloned());
        policy.read.extend(self.read.iter().cloned());
        policy.write.extend(self.write.iter().cloned());
        policy.absent = options.absent;
        if let Some(held) = &options.held {
            policy.made = held.made_in(workspace.root());
        }
        leave_out_own_data(&mut policy, workspace);
        policy.protected.extend(InUse::below(workspace.root()));
        policy.network = match (&self.network, self.level) {
            (Reachable::Nothing, _) => Network::None,
            (Reachable::EachOther, _) => Network::Loopback,
            // There is nothing to confine it with.
            (_, Level::None) | (Reachable::Everything, _) => Network::Full,
            (Reachable::Hosts(_) | Reachable::Listed, _) => Network::Proxy,
        };
        if self.reduced {
            policy.user = User::REDUCED;
        }
        let limits = &mut policy.limits;
        limits.memory = options.memory.or(limits.memory);
        limits.memory = [limits.memory, self.memory].into_iter().flatten().min();
        limits.cpu = self.cpu;
        limits.pids = options.pids.or(limits.pids);
        // The call has the time; and what is printed beyond its limit is read and let go, so that a command that talks too
        // much still comes to its end.
        limits.time = None;
        limits.output = u64::MAX;
        policy
    }

    /// Why this wall would let a command at Toolcrib's own data, if it would. A place above it does not matter, since it is left out of
    /// that.
    fn reaches_own_data(&self, workspace: &Workspace) -> Option<ToolError> {
        let why = |place: &PathBuf, access: Access| {
            let place = place.canonicalize().unwrap_or_else(|_| place.clone());
            reaches_own_data(&place, access, workspace)
        };
        let mut reading = self.read.iter().map(|place| why(place, Access::Read));
        let mut writing = self.write.iter().map(|place| why(place, Access::Write));
        let why = reading
            .find_map(|why| why)
            .or_else(|| writing.find_map(|why| why))?;
        Some(ToolError::new(
            ErrorCode::PermissionDenied,
            format!("a path that the tool may read or write {why}; it has to name another one"),
        ))
    }

    /// Why a command did not run behind this wall, without saying where things are on the host: callers of tools do not
    /// learn that.
    pub(super) fn refused(&self, error: SandboxError) -> ToolError {
        match &error {
            SandboxError::Path { source, .. }
                if self.reduced && source.kind() == std::io::ErrorKind::PermissionDenied =>
            {
                ToolError::new(
                    ErrorCode::SandboxUnavailable,
                    "with reduced privileges the directory to run in cannot be reached: a directory above it is closed to \
                     others; use isolation `container`, or open the way to it",
                )
                .caused_by(error)
            }
            SandboxError::NoProgram { name, .. } => ToolError::failed(format!(
                "the program `{name}` cannot be found in the sandbox; install it, or name its directory in the setting `readable`"
            ))
            .caused_by(error),
            SandboxError::Path { .. } => unusable(error),
            _ => failure(error),
        }
    }
}

/// Leaves Toolcrib's own data out of what a command may read, write or see, wherever it lies.
#[doc(hidden)]
pub fn leave_out_own_data(policy: &mut Policy, workspace: &Workspace) {
    let Some(own) = workspace.home() else {
        return;
    };
    let is_in_workspace = workspace.own_data().is_some();
    let mut allowed = policy.read.iter().chain(&policy.write);
    if is_in_workspace
        || allowed.any(|path| path.canonicalize().is_ok_and(|path| own.lies_in(&path)))
    {
        // Something has to be there to be covered: what covers an absent name would be in the way of the record of this very
        // call. Should it fail, the sandbox refuses.
        let _ = DurableDir::create(own.path());
    }
    if is_in_workspace {
        // Nor can what lies above it be moved away.
        policy.protected.push(own.path().to_owned());
    }
    policy.excluded.push(own.path().to_owned());
}

/// How a place is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum Access {
    Read,
    Write,
}

/// Why a place, given without links, cannot be a command's to read or write: what that has to do with Toolcrib's
/// own data, in words that follow the place. Nothing that a tool runs reads or changes that. A place above it is none: it is left
/// out of that.
#[doc(hidden)]
pub fn reaches_own_data(
    place: &Path,
    access: Access,
    workspace: &Workspace,
) -> Option<&'static str> {
    let own = workspace.home()?;
    let root = workspace.root();
    // The workspace may itself lie in the home, and is the tools' all the same.
    let is_elsewhere = !place.starts_with(root);
    if (is_elsewhere || workspace.own_data().is_some()) && own.holds(place) {
        Some("is Toolcrib's own data, which nothing that a tool runs reads or changes")
    } else if !is_elsewhere {
        None
    } else if own.lies_elsewhere_in(place) {
        Some("holds Toolcrib's own data under another name, where it cannot be left out")
    } else if own.lies_in(place) && root.starts_with(own.path()) {
        Some("holds Toolcrib's own data, which cannot be left out since the workspace lies in it")
    } else if access == Access::Write && own.is_found_through(place) {
        Some(
            "holds a link that leads to Toolcrib's own data, and who may write it could have that lead elsewhere",
        )
    } else {
        None
    }
}

/// Why a sandbox is not available.
fn unusable(error: SandboxError) -> ToolError {
    let unavailable =
        |message: &str| ToolError::new(ErrorCode::SandboxUnavailable, message.to_owned());
    match &error {
        SandboxError::Path {
            role: "replaced file",
            ..
        } => ToolError::new(
            ErrorCode::Conflict,
            "a file that the call runs is gone since it was approved, so nothing was run; call again",
        )
        .caused_by(error),
        SandboxError::Path { .. } => unavailable(
            "the workspace, a path of the setting `readable`, or a path that the tool may read or write does not exist or cannot \
             be used for a sandbox; `toolcrib doctor` says more",
        )
        .caused_by(error),
        SandboxError::Invalid(why) => unavailable(&format!(
            "the sandbox cannot be set up as the tool asks for it: {}",
            text::shorten(why, 500)
        ))
        .caused_by(error),
        _ => failure(error),
    }
}
