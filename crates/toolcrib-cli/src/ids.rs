//! Ids of calls, questions and grants as people type them.

/// How many characters at the end of an id are shown.
const SHORT: usize = 8;

/// An id as people type it: its end, since ids of one minute begin alike.
pub(crate) fn short(id: &str) -> &str {
    let start = id.len().saturating_sub(SHORT);
    id.get(start..).unwrap_or(id)
}
