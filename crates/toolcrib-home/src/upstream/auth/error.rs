//! Why no one was let in: [`AuthError`].

use toolcrib_mcp::client::ExchangeError;

use crate::egress::EgressError;
use crate::model::error::{ErrorCode, ToolError};
use crate::storage::StorageError;

/// Why there is no token.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum AuthError {
    /// A person has to log in.
    #[error("{0}")]
    LoginNeeded(String),
    /// A fault of the server, of its authorization server, or of the network.
    #[error("{0}")]
    Failed(String),
}

impl AuthError {
    pub(super) fn unreachable(error: EgressError) -> Self {
        AuthError::Failed(error.to_string())
    }
}

impl From<StorageError> for AuthError {
    fn from(error: StorageError) -> Self {
        AuthError::Failed(format!("the login cannot be kept: {error}"))
    }
}

impl From<AuthError> for ExchangeError {
    fn from(error: AuthError) -> Self {
        // Both need someone to do something: a server that is asked again answers the same.
        ExchangeError::Unauthorized(error.to_string())
    }
}

impl From<AuthError> for ToolError {
    fn from(error: AuthError) -> Self {
        let code = match &error {
            AuthError::LoginNeeded(_) => ErrorCode::ToolUnavailable,
            AuthError::Failed(_) => ErrorCode::UpstreamError,
        };
        ToolError::new(code, error.to_string())
    }
}
