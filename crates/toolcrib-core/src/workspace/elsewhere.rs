//! The workspace on systems where none can be opened yet: what the kernel names of it, and one refusal.
//!
//! Where a path leads has to be decided by the open itself (`beneath.rs`), which is written for Unix. Until it is written for this system,
//! there is no [`Workspace`], so its methods are never called; a registry without one runs the tools that need none.

#![allow(dead_code, reason = "what only an open workspace uses")]

mod error;
mod metadata;
mod path;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

pub use error::WorkspaceError;
pub use metadata::{EntryKind, Metadata};
pub use path::WorkspacePath;
pub(crate) use path::without_parents;

use crate::model::error::ToolError;

/// What there is none of.
#[derive(Debug, Clone, Copy)]
enum Nothing {}

/// A directory tree in which paths are resolved without ever leaving it.
#[derive(Debug)]
pub struct Workspace(Nothing);

impl Workspace {
    /// Refuses: no directory can be a workspace on this system yet.
    pub fn open(root: &Path) -> Result<Self, WorkspaceError> {
        let why = format!(
            "not on this system yet ({}): workspaces are opened on Linux and macOS only",
            std::env::consts::OS
        );
        Err(WorkspaceError::Unusable {
            root: root.to_owned(),
            source: io::Error::new(io::ErrorKind::Unsupported, why),
        })
    }

    /// Where it is on the host.
    #[doc(hidden)]
    pub fn root(&self) -> &Path {
        match self.0 {}
    }

    /// Reads the text of a path argument.
    pub fn path(&self, _: &str) -> Result<WorkspacePath, ToolError> {
        match self.0 {}
    }

    /// Looks at what the path leads to.
    pub fn metadata(&self, _: &WorkspacePath) -> Result<Metadata, ToolError> {
        match self.0 {}
    }

    /// Looks at what a path leads to that a command runs.
    #[doc(hidden)]
    pub fn runnable(&self, _: &str) -> Option<Runnable> {
        match self.0 {}
    }

    pub(crate) fn led_to(&self, _: &WorkspacePath) -> Option<PathBuf> {
        match self.0 {}
    }

    pub(crate) fn spot(&self, _: &WorkspacePath, _verb: &str) -> Result<(), ToolError> {
        match self.0 {}
    }
}

/// What a path leads to that a command runs.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct Runnable {
    /// The path, relative to the workspace, as it was named.
    pub path: String,
    pub(crate) leads_to: Option<String>,
    pub(crate) digest: Option<String>,
    /// All of it.
    pub content: Option<Arc<[u8]>>,
    /// Where the file is on the host, without links.
    pub host: Option<PathBuf>,
    nothing: Nothing,
}

impl Runnable {
    pub(crate) const MAX_READ: u64 = 0;

    /// Whether both lead to the same place and content.
    pub fn is_same(&self, _: &Runnable) -> bool {
        match self.nothing {}
    }
}

/// What shows that a file was changed: its size, and when.
pub(crate) type Stamp = (u64, Option<SystemTime>);

pub(crate) fn stamp_of(metadata: &std::fs::Metadata) -> Stamp {
    (metadata.len(), metadata.modified().ok())
}
