//! JSONPath (RFC 9535), with bounded work: an expression of a tool's author meets whatever an upstream server sends.

use serde_json::Value;

/// A compiled expression.
#[derive(Debug, Clone)]
pub struct JsonPath {}

/// Why an expression is none, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (at character {at})")]
pub struct PathError {
    /// What is wrong.
    pub message: String,
    /// Which character, from 0.
    pub at: usize,
}

/// The work became too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the JSONPath expression takes too many steps on this document")]
pub struct TooMuchWork;

impl JsonPath {
    /// Reads an expression.
    pub fn parse(_text: &str) -> Result<Self, PathError> {
        unimplemented!()
    }

    /// The nodes it selects, in order.
    pub fn query<'a>(&self, _document: &'a Value) -> Result<Vec<&'a Value>, TooMuchWork> {
        unimplemented!()
    }
}
