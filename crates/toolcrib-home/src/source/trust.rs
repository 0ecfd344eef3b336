//! Trusting the tools of a workspace: what a person is shown, and what is pinned when they agree.

use std::path::Path;

use super::definition::FileDefinition;
use super::pins::Pin;
use super::report::{FileOutcome, ToolFile, Trust};
use super::scope::Scope;
use super::{Report, Sources};
use crate::builtin::unified_diff;
use crate::model::error::{ErrorCode, ToolError};
use crate::{definition, manifest};

/// What there is to trust in a workspace, as someone was shown it. These bytes are pinned, whatever the files contain by then.
pub struct Review {
    /// The files of the workspace.
    pub files: Vec<ReviewedFile>,
    /// Files that were trusted and are gone.
    pub gone: Vec<String>,
}

/// One file to trust.
pub struct ReviewedFile {
    /// The file.
    pub file: ToolFile,
    /// What changed since it was trusted, line by line; none if it never was or its text was not kept.
    pub diff: Option<String>,
}

impl Review {
    /// The files that can be trusted and are not yet.
    pub fn open(&self) -> impl Iterator<Item = &ReviewedFile> {
        let waits = |reviewed: &&ReviewedFile| {
            reviewed.file.definition.is_some()
                && !matches!(reviewed.file.standing, FileOutcome::Refused { .. })
                && matches!(reviewed.file.trust, Trust::New | Trust::Changed { .. })
        };
        self.files.iter().filter(waits)
    }

    /// The part of the review that is about these files.
    pub fn only(mut self, is_meant: impl Fn(&ToolFile) -> bool) -> Self {
        self.files.retain(|reviewed| is_meant(&reviewed.file));
        self.gone.clear();
        self
    }

    /// Whether trusting would change anything.
    pub fn is_settled(&self) -> bool {
        self.open().next().is_none() && self.gone.is_empty()
    }
}

/// What a tool runs or sends, in the order of its file, each text with what it is.
pub fn runs(file: &FileDefinition) -> Vec<(String, String)> {
    match file {
        FileDefinition::Command(definition) => definition::programs(definition),
        FileDefinition::Http(definition) => manifest::requests(definition),
    }
}

impl Sources {
    /// What there is to trust in the workspace.
    pub(crate) fn review(&self) -> Review {
        let report = self.report();
        let local = report
            .files
            .iter()
            .filter(|file| file.scope == Scope::Local);
        let files: Vec<ReviewedFile> = local
            .map(|file| ReviewedFile {
                diff: diff_of(file),
                file: file.clone(),
            })
            .collect();
        let pinned = self
            .workspace_path()
            .and_then(|workspace| self.pins.read(workspace).ok())
            .unwrap_or_default();
        let is_there = |name: &String| files.iter().any(|reviewed| reviewed.file.shown == *name);
        let gone = pinned.files.into_keys().filter(|name| !is_there(name));
        Review {
            gone: gone.collect(),
            files,
        }
    }

    /// Pins what was reviewed: exactly those bytes, and nothing that is gone.
    pub(crate) fn trust(&self, review: &Review) -> Result<(), ToolError> {
        let workspace = self.workspace_path().ok_or_else(no_workspace)?;
        let new: Vec<(String, Pin)> = review
            .open()
            .filter_map(|reviewed| {
                let bytes = reviewed.file.bytes.as_ref()?;
                Some((
                    reviewed.file.shown.clone(),
                    Pin::of(bytes, &reviewed.file.shown),
                ))
            })
            .collect();
        self.pins.change(workspace, |pins| {
            for name in &review.gone {
                pins.files.remove(name);
            }
            pins.files.extend(new);
        })?;
        Ok(())
    }

    /// Pins a file of the workspace that its user has just written, with these bytes. Files of other scopes need no pin.
    pub(crate) fn pin(&self, file: &Path, bytes: &[u8]) -> Result<(), ToolError> {
        let Some((workspace, name)) = self.pinned_as(file)? else {
            return Ok(());
        };
        let pin = Pin::of(bytes, &name);
        self.pins.change(workspace, |pins| {
            pins.files.insert(name, pin);
        })?;
        Ok(())
    }

    /// Forgets that a file was trusted.
    pub(crate) fn unpin(&self, file: &Path) -> Result<(), ToolError> {
        let Some((workspace, name)) = self.pinned_as(file)? else {
            return Ok(());
        };
        let is_pinned = self.pins.read(workspace);
        if is_pinned.is_ok_and(|pins| pins.files.contains_key(&name)) {
            self.pins.change(workspace, |pins| {
                pins.files.remove(&name);
            })?;
        }
        Ok(())
    }

    /// In which workspace, and by which name, a file is pinned; none where it needs no pin.
    fn pinned_as(&self, file: &Path) -> Result<Option<(&Path, String)>, ToolError> {
        let name = file.file_name().and_then(|name| name.to_str());
        let directory = file.parent().and_then(|parent| parent.canonicalize().ok());
        let place = self.places.iter().find(|place| {
            let real = place.path.canonicalize().ok();
            real.is_some() && real == directory
        });
        let (Some(place), Some(name)) = (place, name) else {
            let message = "the file is in no directory of tools; tools are in `.toolcrib/tools` of the workspace or of your home directory";
            return Err(ToolError::new(ErrorCode::InvalidPath, message));
        };
        if place.scope != Scope::Local {
            return Ok(None);
        }
        let workspace = self.workspace_path().ok_or_else(no_workspace)?;
        Ok(Some((workspace, place.shown_file(name))))
    }
}

fn no_workspace() -> ToolError {
    ToolError::new(
        ErrorCode::Usage,
        "there is no workspace whose tools could be trusted",
    )
}

fn diff_of(file: &ToolFile) -> Option<String> {
    let Trust::Changed {
        before: Some(before),
    } = &file.trust
    else {
        return None;
    };
    let now = std::str::from_utf8(file.bytes.as_deref()?).ok()?;
    Some(unified_diff(&file.shown, before, now))
}

impl Report {
    /// How many tools of the workspace wait to be trusted.
    pub fn untrusted(&self) -> usize {
        let waits = |file: &&ToolFile| {
            matches!(file.trust, Trust::New | Trust::Changed { .. })
                && matches!(
                    file.standing,
                    FileOutcome::Loaded
                        | FileOutcome::Unavailable { .. }
                        | FileOutcome::Shadowed { .. }
                )
        };
        self.files.iter().filter(waits).count()
    }
}
