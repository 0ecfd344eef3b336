//! How definitions become tools.

pub(crate) mod command;
mod function;

pub use function::{DefineError, FnTool};
