//! Headers that a client sets by itself.

/// Headers for the next machine only.
#[doc(hidden)]
pub const HOP_BY_HOP: &[&str] = &[
    "connection",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Whether a header, in small letters, says where a message goes, where it ends, or what becomes of the connection: only the client sets
/// these.
pub fn is_framing(name: &str) -> bool {
    HOP_BY_HOP.contains(&name) || matches!(name, "host" | "content-length" | "expect")
}
