//! Why a secret cannot be had or kept.

use crate::model::error::{ErrorCode, ToolError};
use crate::storage::StorageError;

/// Why a secret cannot be had or kept. No text of it holds a value.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// There is none of this name.
    #[error("there is no secret `{0}`; `toolcrib secret set {0}` asks for its value")]
    Missing(String),
    /// It may not be told this host, or used by this bundle.
    #[error("{0}")]
    NotBound(String),
    /// It cannot be kept as it is.
    #[error("{0}")]
    Invalid(String),
    /// It is there and cannot be used: its file is damaged, or others may read it.
    #[error("{0}")]
    Unusable(String),
    /// The file cannot be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<SecretError> for ToolError {
    fn from(error: SecretError) -> Self {
        let code = match &error {
            SecretError::Missing(_) | SecretError::Unusable(_) => ErrorCode::ToolUnavailable,
            SecretError::NotBound(_) => ErrorCode::PermissionDenied,
            SecretError::Invalid(_) => ErrorCode::Usage,
            SecretError::Storage(_) => ErrorCode::StorageError,
        };
        ToolError::new(code, error.to_string())
    }
}
