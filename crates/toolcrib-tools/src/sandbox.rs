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
    if let SandboxError::NotHere { .. } = error {
        let refused = ToolError::new(ErrorCode::ToolUnavailable, error.to_string());
        return refused.with_detail("reason", "not-on-this-system");
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_without_a_wall_is_a_tool_that_is_not_available_there() {
        let refused = failure(SandboxError::NotHere { system: "macos" });
        assert_eq!(refused.code(), ErrorCode::ToolUnavailable);
        assert_eq!(refused.details().unwrap()["reason"], "not-on-this-system");
        assert!(
            refused
                .message()
                .starts_with("not on this system yet (macos)")
        );
    }
}
