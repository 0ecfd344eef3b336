//! How definitions become tools.

pub(crate) mod command;
mod function;
pub(crate) mod http;

pub use command::spec_of;
pub use function::{DefineError, FnTool};
