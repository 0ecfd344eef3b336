//! What `shell` and `run_code` have in common: their settings, and what a program can be given.

use std::path::PathBuf;
use std::time::Duration;

use super::invalid;
use crate::call::context::CallContext;
use crate::model::effects::Approval;
use crate::model::error::ToolError;
use crate::process::{MAX_ARGUMENT, NetworkAccess, Reachable, SandboxOptions, Wall};
use crate::sandbox::Level;

/// What can be set about tools that run programs.
#[derive(Debug, Clone, Default)]
pub struct SandboxSettings {
    /// The level of `shell` (`sandbox.shell`); `process` if not said.
    pub shell: Option<Level>,
    /// The level of `run_code` (`sandbox.code`); by default `container`, or `process` where that is not available.
    pub code: Option<Level>,
    /// What programs can reach over the network (`sandbox.network`).
    pub network: NetworkAccess,
    /// CPU time of all processes of a call (`limits.cpuSeconds`); 60 seconds if not said.
    pub cpu: Option<Duration>,
    /// What they may read and use.
    pub options: SandboxOptions,
}

impl SandboxSettings {
    /// How much CPU time a call may use.
    pub(super) fn cpu_time(&self) -> Duration {
        self.cpu.unwrap_or(Duration::from_secs(60))
    }
}

/// Whether a program can be given this text as an argument.
pub(super) fn fits(tool: &str, pointer: &str, text: &str) -> Result<(), ToolError> {
    if text.contains('\0') {
        return Err(invalid(
            tool,
            pointer,
            "holds a NUL character, which no program can be given",
        ));
    }
    if text.len() > MAX_ARGUMENT {
        let message = format!(
            "is {} bytes long, and a program can be given {MAX_ARGUMENT}; write it to a file and run that",
            text.len()
        );
        return Err(invalid(tool, pointer, &message));
    }
    Ok(())
}

/// Where a directory of the workspace is on the host; the sandbox, not this, keeps a program from leaving it.
pub(super) fn directory(cx: &CallContext, path: &str) -> Result<PathBuf, ToolError> {
    let workspace = cx.workspace()?;
    workspace.host_directory(&workspace.path(path)?)
}

/// What programs can reach, for the description of a tool.
pub(super) fn reaches(network: NetworkAccess) -> &'static str {
    match network {
        NetworkAccess::None => "reach no network",
        NetworkAccess::Listed => {
            "reach some hosts of the network, through the proxy that `http_proxy` names"
        }
        NetworkAccess::Full => "reach the network",
    }
}

/// The wall in words.
pub(super) fn behind(wall: &Wall) -> String {
    let network = match wall.network {
        Reachable::Nothing => "without network",
        Reachable::EachOther => "with its own loopback and no other network",
        Reachable::Listed => "with a way to the hosts of the setting `allowedHosts`",
        Reachable::Hosts(_) => "with a way to some hosts",
        Reachable::Everything => "with network",
    };
    match wall.level {
        Level::None => "without any isolation".to_owned(),
        Level::Process => format!("in the sandbox, {network}"),
        Level::Container => format!("in a container, {network}"),
    }
}

/// A sandboxed program may run; without a sandbox a person is asked every time.
pub(super) fn approval_of(wall: &Wall) -> Approval {
    match wall.level {
        Level::None => {
            Approval::ask("the setting `sandbox` says `none`: nothing would hold the program back")
                .every_time()
        }
        Level::Process | Level::Container => Approval::allow(),
    }
}
