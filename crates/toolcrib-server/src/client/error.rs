//! Why a request to a server came to nothing: [`ClientError`].

use serde_json::Value;
use toolcrib::{ErrorCode, ToolError};

/// Why a request came to nothing.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClientError {
    /// Nothing was sent: no one answers there.
    #[error("no server answers at {server}: {why}")]
    Unreachable {
        /// Where it was looked for.
        server: String,
        /// What went wrong.
        why: String,
    },
    /// Nothing was carried out: someone answers there, and cannot be spoken to or trusted.
    #[error("there is no speaking to the server at {server}: {why}")]
    Unusable {
        /// Where it is.
        server: String,
        /// What went wrong.
        why: String,
    },
    /// It was sent, and no whole answer came back: it may have been carried out.
    #[error("the connection to the server at {server} was lost: {why}")]
    Lost {
        /// The server.
        server: String,
        /// What went wrong.
        why: String,
    },
    /// The server refuses it.
    #[error("{error}")]
    Refused {
        /// The status.
        status: u16,
        /// Why.
        error: Box<ToolError>,
    },
    /// The answer is not one of a Toolcrib server, or of one that differs too much.
    #[error("the answer of {server} is not one of a Toolcrib server of this version: {why}")]
    Strange {
        /// The server.
        server: String,
        /// The oddity.
        why: String,
    },
    /// What was asked for makes no sense, so that nothing was sent.
    #[error("{0}")]
    Usage(String),
}

impl ClientError {
    /// Whether nothing was carried out for sure, and another way may be tried.
    pub fn is_unsent(&self) -> bool {
        matches!(
            self,
            ClientError::Unreachable { .. } | ClientError::Unusable { .. } | ClientError::Usage(_)
        )
    }

    /// The status of a refusal.
    pub fn status(&self) -> Option<u16> {
        match self {
            ClientError::Refused { status, .. } => Some(*status),
            ClientError::Unreachable { .. }
            | ClientError::Unusable { .. }
            | ClientError::Lost { .. }
            | ClientError::Strange { .. }
            | ClientError::Usage(_) => None,
        }
    }

    /// The code of a refusal.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            ClientError::Refused { error, .. } => Some(error.code()),
            ClientError::Unreachable { .. }
            | ClientError::Unusable { .. }
            | ClientError::Lost { .. }
            | ClientError::Strange { .. }
            | ClientError::Usage(_) => None,
        }
    }

    /// The word in `details.reason` of a refusal, which distinguishes kinds of one code.
    pub fn reason(&self) -> Option<&str> {
        match self {
            ClientError::Refused { error, .. } => error.details()?.get("reason")?.as_str(),
            ClientError::Unreachable { .. }
            | ClientError::Unusable { .. }
            | ClientError::Lost { .. }
            | ClientError::Strange { .. }
            | ClientError::Usage(_) => None,
        }
    }

    /// What a refusal says. Codes of newer servers are shown by their name and treated by their status.
    pub(super) fn refused(status: u16, body: &Value) -> Option<Self> {
        let error = body.get("error")?;
        Some(ClientError::Refused {
            status,
            error: Box::new(error_of(error, status)?),
        })
    }
}

/// An error as it is on the wire.
pub(super) fn error_of(error: &Value, status: u16) -> Option<ToolError> {
    let code = error.get("code")?.as_str()?;
    let message = error.get("message")?.as_str()?;
    let mut read = match ErrorCode::from_wire(code) {
        Some(code) => ToolError::new(code, message),
        None => ToolError::new(nearest(status), format!("{code}: {message}")),
    };
    if let Some(details) = error.get("details").and_then(Value::as_object) {
        for (key, value) in details {
            read = read.with_detail(key.clone(), value.clone());
        }
    }
    if let Some(tool) = error.get("tool").and_then(Value::as_str) {
        read = read.of_tool(tool);
    }
    Some(read)
}

/// What a code that this version does not know comes nearest to.
fn nearest(status: u16) -> ErrorCode {
    match status {
        401 => ErrorCode::Unauthenticated,
        403 => ErrorCode::Forbidden,
        404 => ErrorCode::NotFound,
        409 => ErrorCode::Conflict,
        410 => ErrorCode::Gone,
        429 => ErrorCode::RateLimited,
        400..=499 => ErrorCode::Usage,
        503 => ErrorCode::Unavailable,
        _ => ErrorCode::ExecutionError,
    }
}

impl From<ClientError> for ToolError {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        match error {
            ClientError::Refused { error, .. } => *error,
            ClientError::Usage(_) => ToolError::new(ErrorCode::Usage, message),
            ClientError::Unreachable { .. }
            | ClientError::Unusable { .. }
            | ClientError::Lost { .. }
            | ClientError::Strange { .. } => ToolError::new(ErrorCode::NetworkError, message),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_keeps_its_code_message_and_details() {
        let body = json!({"ok": false, "error": {"code": "CONFLICT", "message": "taken", "details": {"id": 1}, "new": true}});
        let error = ToolError::from(ClientError::refused(409, &body).unwrap());
        assert_eq!(
            error,
            ToolError::new(ErrorCode::Conflict, "taken").with_detail("id", 1)
        );
    }

    #[test]
    fn a_code_of_a_newer_server_is_reported_by_its_name() {
        let body =
            json!({"ok": false, "error": {"code": "TOO_MOONLIT", "message": "wait for the sun"}});
        let error = ToolError::from(ClientError::refused(403, &body).unwrap());
        assert_eq!(error.code(), ErrorCode::Forbidden);
        assert_eq!(error.message(), "TOO_MOONLIT: wait for the sun");
        assert!(ClientError::refused(500, &json!("oops")).is_none());
    }
}
