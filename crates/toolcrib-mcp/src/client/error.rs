//! Why a server did not do what was asked: [`ClientError`].

use std::time::Duration;

use super::exchange::ExchangeError;
use crate::rpc::RpcError;

/// A server did not do what was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClientError {
    /// It answered with an error.
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// It did not answer in time.
    #[error("the server did not answer within {0:?}")]
    TimedOut(Duration),
    /// The call was taken back.
    #[error("cancelled")]
    Cancelled,
    /// It is there and did not take this request: a status, and no MCP with it.
    #[error("{said}")]
    Refused {
        /// The status.
        status: u16,
        /// In words, with the beginning of what came with it.
        said: String,
    },
    /// It cannot be reached, or went away.
    #[error("{0}")]
    Gone(String),
    /// It went away when it was asked which era it speaks, as some legacy servers do. Start it again, and begin with
    /// [`Era::Legacy`](crate::protocol::Era::Legacy).
    #[error("the server went away at the first question, which older servers do not know: {0}")]
    GoneAtProbe(String),
    /// What it says is not MCP.
    #[error("the server breaks the protocol: {0}")]
    Protocol(String),
    /// It wants someone to log in first.
    #[error("the server wants authorization: {0}")]
    Unauthorized(String),
}

impl ClientError {
    pub(super) fn protocol(what: impl Into<String>) -> Self {
        ClientError::Protocol(what.into())
    }

    /// The code, where the server answered with an error.
    pub(super) fn code(&self) -> Option<i64> {
        match self {
            ClientError::Rpc(error) => Some(error.code),
            ClientError::TimedOut(_)
            | ClientError::Cancelled
            | ClientError::Refused { .. }
            | ClientError::Gone(_)
            | ClientError::GoneAtProbe(_)
            | ClientError::Protocol(_)
            | ClientError::Unauthorized(_) => None,
        }
    }
}

impl From<ExchangeError> for ClientError {
    fn from(error: ExchangeError) -> Self {
        match error {
            ExchangeError::Failed(why) => ClientError::Gone(why),
            ExchangeError::Unauthorized(why) => ClientError::Unauthorized(why),
        }
    }
}
