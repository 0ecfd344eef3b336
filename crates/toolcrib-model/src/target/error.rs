//! Why something did not leave, or did not come back.

use crate::error::{ErrorCode, ToolError};

/// Why a target is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// In words, with what to do about it; never whether the port is open.
    pub message: String,
    /// The entry of `allowedHosts` that the message offers, if naming the target there permits it.
    pub entry: Option<AddressEntry>,
}

/// An entry of `allowedHosts` for a target that is refused for its address or port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressEntry {
    /// The entry.
    pub host: String,
    /// What it names, as in "an address of this machine".
    pub what: String,
}

impl From<String> for Refusal {
    /// A refusal that no entry of `allowedHosts` changes.
    fn from(message: String) -> Self {
        Refusal {
            message,
            entry: None,
        }
    }
}

/// Why an exchange failed. Texts are free of secrets: URLs are shown without query.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// The URL makes no sense (`INVALID_ARGUMENTS`).
    #[error("{0}")]
    BadUrl(String),
    /// The target is refused (`HOST_NOT_ALLOWED`).
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// A header or body cannot be sent as it is (`INVALID_ARGUMENTS`).
    #[error("{0}")]
    BadRequest(String),
    /// No connection, or one that broke (`NETWORK_ERROR`).
    #[error("{message}")]
    Network {
        /// What happened.
        message: String,
        /// Whether nothing was sent yet, so that trying again repeats nothing.
        unsent: bool,
    },
    /// The answer is none, or too much (`UPSTREAM_ERROR`).
    #[error("{0}")]
    Upstream(String),
    /// The answer is longer than it may be (`UPSTREAM_ERROR`).
    #[error("the answer is over the limit of {max} bytes")]
    TooLong {
        /// How long it may be.
        max: u64,
    },
    /// The time is up (`TIMEOUT`).
    #[error("{0}")]
    Timeout(String),
}

impl EgressError {
    /// Nothing was sent, for this reason.
    #[doc(hidden)]
    pub fn unsent(message: impl Into<String>) -> Self {
        EgressError::Network {
            message: message.into(),
            unsent: true,
        }
    }

    /// This error at a later hop: the first request was sent and answered.
    #[doc(hidden)]
    pub fn after_an_answer(self) -> Self {
        match self {
            EgressError::Network { message, .. } => EgressError::Network {
                message,
                unsent: false,
            },
            error => error,
        }
    }

    /// The code of the call that ends with this.
    pub fn code(&self) -> ErrorCode {
        match self {
            EgressError::BadUrl(_) | EgressError::BadRequest(_) => ErrorCode::InvalidArguments,
            EgressError::Refused(_) => ErrorCode::HostNotAllowed,
            EgressError::Network { .. } => ErrorCode::NetworkError,
            EgressError::Upstream(_) | EgressError::TooLong { .. } => ErrorCode::UpstreamError,
            EgressError::Timeout(_) => ErrorCode::Timeout,
        }
    }
}

impl From<EgressError> for ToolError {
    fn from(error: EgressError) -> Self {
        ToolError::new(error.code(), error.to_string())
    }
}
