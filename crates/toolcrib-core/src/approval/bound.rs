//! [`BoundFile`]: a file of the workspace that a call runs, and that its approval counts for.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::error::ToolError;
use crate::model::text;
use crate::workspace::{Runnable, Workspace};

/// A file of the workspace that a call runs, as it was when a person was asked. An approval or a grant counts for this content only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoundFile {
    /// Its path in the workspace, as the command names it.
    pub path: String,
    /// Where links lead from there: a path in the workspace, or an absolute one outside of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leads_to: Option<String>,
    /// The SHA-256 of its content; of a file over 16 MB, or one that cannot be read, a digest of its identity, size and times. Missing
    /// if no file is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Whether it is another content than what was last approved at this path; missing if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<bool>,
    /// Whether this content is what runs, whatever happens to the file meanwhile. If not, an earlier part of the command may change it,
    /// or there is no sandbox that could show a copy: then the file is compared when the command starts, and not after that.
    pub pinned: bool,
}

impl BoundFile {
    pub(crate) fn of(found: &Runnable, pinned: bool) -> Self {
        BoundFile {
            path: found.path.clone(),
            leads_to: found.leads_to.clone(),
            digest: found.digest.clone(),
            changed: None,
            pinned,
        }
    }

    /// Whether the same content is found in the same place.
    pub(crate) fn is_same(&self, other: &BoundFile) -> bool {
        self.path == other.path && self.leads_to == other.leads_to && self.digest == other.digest
    }

    /// What a person reads about it.
    pub fn in_words(&self) -> String {
        let mut words = text::shorten(&self.path, 200);
        if let Some(place) = &self.leads_to {
            words.push_str(&format!(" (leads to {})", text::shorten(place, 200)));
        }
        match (&self.digest, &self.leads_to) {
            (Some(digest), _) => words.push_str(&format!(", sha256 {digest}")),
            (None, Some(_)) => words.push_str(", outside the workspace"),
            (None, None) => words.push_str(", which is not there"),
        }
        match self.changed {
            Some(true) => words.push_str(", changed since it was last approved"),
            Some(false) => words.push_str(", unchanged since it was last approved"),
            None => {}
        }
        if !self.pinned {
            words.push_str("; compared when the command starts, not after that");
        }
        words
    }
}

/// The paths of those that are no longer as they were; none if the workspace cannot be looked at from here.
#[doc(hidden)]
pub fn changed_since(bound: &[BoundFile], workspace: Option<&str>) -> Vec<String> {
    let Some(workspace) = workspace.and_then(|path| Workspace::open(Path::new(path)).ok()) else {
        return Vec::new();
    };
    let is_changed = |file: &&BoundFile| match workspace.runnable(&file.path) {
        Some(found) => !file.is_same(&BoundFile::of(&found, file.pinned)),
        None => true,
    };
    let changed = bound.iter().filter(is_changed);
    changed.map(|file| file.path.clone()).collect()
}

/// Remembers with which content files were last approved to run, so that a question can say whether one changed. Nothing is allowed
/// by it. Every method may block.
pub trait ApprovalMemory: Send + Sync + 'static {
    /// Says of each file whether it is as it was last approved.
    fn mark(&self, workspace: &str, files: &mut [BoundFile]);

    /// Remembers that these were approved.
    fn remember(&self, workspace: &str, files: &[BoundFile]) -> Result<(), ToolError>;
}
