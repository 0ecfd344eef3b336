//! How definitions become tools.

mod function;

pub use function::{DefineError, FnTool};
