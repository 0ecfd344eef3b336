//! The wall behind every command, as the crate `toolcrib-sandbox` has it, and its errors in our words.

#[cfg(feature = "testing")]
pub use toolcrib_sandbox::submodules_of_index;
pub use toolcrib_sandbox::{
    AbsentNames, Cancel, Command, Dialogue, EndedBy, Keeper, Keyboard, Layer, Level, Limits,
    Missing, Moment, Network, PROTECTED_NAMES, Planted, Policy, Prepared, ProtectedName, Remedy,
    Replaced, Report, Sandbox, SandboxError, Status, Stdin, Stream, Support, TemporaryDirectory,
    User, give_back_memory, inherited_sockets, is_harmless_repository, recover, system_paths,
    toolchains, writable_refusal,
};

use crate::model::error::{ErrorCode, ToolError};

/// An error of the sandbox as the error of a call.
pub fn failure(error: SandboxError) -> ToolError {
    let code = match &error {
        SandboxError::Unavailable { .. } | SandboxError::Setup { .. } => {
            ErrorCode::SandboxUnavailable
        }
        SandboxError::Invalid(_) => ErrorCode::InvalidArguments,
        SandboxError::Path { .. } => ErrorCode::InvalidPath,
        SandboxError::NoProgram { .. } | SandboxError::Start { .. } => ErrorCode::ExecutionError,
        // The crate may learn new ones; whatever they are, the command did not run.
        _ => ErrorCode::SandboxUnavailable,
    };
    ToolError::new(code, error.to_string())
}
