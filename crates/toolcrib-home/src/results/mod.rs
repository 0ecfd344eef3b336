//! Whole results that a model got in part, and the tool that returns the rest: [`Results`] and `read_result`.
//!
//! ```text
//! kept    one file for each: who called, and the result, masked
//! part    which part is wanted: lines, characters, a pattern, a JSONPath
//! tool    read_result
//! ```
//!
//! [`wire::fit`](crate::wire::fit) shortens results. This module decides what is kept, for how long, and who may read it: the
//! caller of the call, and the operator. A result is masked when it is kept, and again when it is read: a secret may be known since.

mod kept;
mod part;
mod tool;

pub use kept::{ResultSettings, Results};
pub(crate) use tool::register;

/// The tool that returns the rest of a result.
pub const READ_RESULT: &str = "read_result";
