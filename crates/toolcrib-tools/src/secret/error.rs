//! Why a secret is not available or cannot be saved.

use crate::egress::Target;
use crate::model::error::{ErrorCode, ToolError};
use crate::storage::StorageError;

/// Why a secret is not available or cannot be saved. No text of it holds a value.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// There is none of this name.
    #[error("there is no secret `{name}`{}", how_to_set(name, host.as_deref()))]
    Missing {
        /// Its name.
        name: String,
        /// The host that would receive it, as `allowedHosts` would name it, where that is needed.
        host: Option<String>,
    },
    /// It may not be sent to this host, or used by this bundle.
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

impl SecretError {
    /// There is none of this name, which would be sent to this target.
    pub(crate) fn missing(name: &str, target: Option<&Target>) -> Self {
        SecretError::Missing {
            name: name.to_owned(),
            host: target.map(Target::entry),
        }
    }

    /// Its name for the caller.
    pub(crate) fn code(&self) -> ErrorCode {
        match self {
            SecretError::Missing { .. } | SecretError::Unusable(_) | SecretError::NotBound(_) => {
                ErrorCode::ToolUnavailable
            }
            SecretError::Invalid(_) => ErrorCode::Usage,
            SecretError::Storage(_) => ErrorCode::StorageError,
        }
    }
}

impl From<SecretError> for ToolError {
    fn from(error: SecretError) -> Self {
        match error {
            SecretError::Storage(error) => error.into(),
            other => ToolError::new(other.code(), other.to_string()),
        }
    }
}

/// What to type where someone needs it.
fn how_to_set(name: &str, host: Option<&str>) -> String {
    match host {
        Some(host) => format!("; `toolcrib secret set {name} --host {host}` asks for its value"),
        None => format!("; `toolcrib secret set {name}` asks for its value"),
    }
}
