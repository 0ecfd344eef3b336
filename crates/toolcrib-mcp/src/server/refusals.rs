//! Why a request is not answered, in words that are the same on every transport.

use std::borrow::Cow;

use serde_json::json;

use crate::protocol::{Era, SERVED_VERSIONS};
use crate::rpc::{RpcError, code};

/// A version that is not spoken here.
pub(crate) fn unsupported(requested: &str) -> RpcError {
    RpcError::new(code::UNSUPPORTED_VERSION, "Unsupported protocol version")
        .with_data(json!({"supported": SERVED_VERSIONS, "requested": shortened(requested)}))
}

/// More of something at once than a client may have, by what it is and what helps. The protocol has no special code for that.
pub(crate) fn too_many(what: impl Into<String>) -> RpcError {
    RpcError::new(code::INTERNAL_ERROR, what)
}

/// A request before anything was agreed on.
pub(crate) fn not_begun() -> RpcError {
    RpcError::invalid_params(format!(
        "begin with `initialize`, or say `{}` and `{}` in the `_meta` of every request",
        crate::protocol::meta::PROTOCOL_VERSION,
        crate::protocol::meta::CLIENT_CAPABILITIES,
    ))
}

/// A method that no one knows.
pub(crate) fn unknown(method: &str, era: Era) -> RpcError {
    RpcError::new(
        code::METHOD_NOT_FOUND,
        format!(
            "there is no method `{}` here in {}",
            shortened(method),
            era.version()
        ),
    )
}

/// What a client sent, short enough to be said back to it.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    const MOST: usize = 100;
    if text.len() <= MOST {
        return Cow::Borrowed(text);
    }
    let mut end = MOST;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Cow::Owned(format!("{}…", &text[..end]))
}
