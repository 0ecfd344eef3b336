//! A tree of files in a hostile workspace, for tools that go through one: names, ignore files, and what the rules let be seen.
//!
//! Everything is opened through [`Workspace`](crate::workspace::Workspace), and bounded. `ignore`'s own walk is not used: it reads whatever
//! a `.gitignore` leads to, a FIFO or a file of another place included.

mod files;
mod ignores;
mod names;
mod permission;
mod scope;
mod skipped;
mod walk;

pub(super) use files::{Files, files};
pub(super) use ignores::{Ignores, Level, Verdict, as_path};
pub(super) use names::{Content, Names, read};
pub(super) use permission::Permission;
pub(super) use scope::{Scope, overrides};
pub(super) use skipped::Skipped;
pub(super) use walk::{Bounds, Seen, Walk};
