//! YAML as a bounded tree in which every key and value knows its place in the file.
//!
//! The parser behind it gives events; what a tool's file has no need of (anchors, aliases, merge keys, tags, directives, more
//! documents) is refused here, so that a small file cannot become a large tree and no value comes from elsewhere. A scalar
//! keeps its text: the reader that needs a type decides it, never YAML.

mod encoding;
mod parse;
mod syntax;
mod tree;

pub(crate) use encoding::{decode, odd_characters};
pub(super) use parse::parse;
pub(super) use syntax::quoted;
pub(crate) use tree::{Content, Entry, Key, Node, Scalar, Style};

/// The largest file, in bytes.
pub const MAX_FILE_BYTES: usize = 256 * 1024;
/// The deepest nesting.
pub(crate) const MAX_DEPTH: usize = 32;
/// The most values and keys in a file.
pub(crate) const MAX_NODES: usize = 20_000;
/// The longest text of one value: half of what the kernel lets one argument of a program be.
pub(crate) const MAX_TEXT_BYTES: usize = 64 * 1024;
