//! What became of the files, for people: [`ToolFile`].

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::definition::FileDefinition;
use super::scope::Scope;
use crate::definition::{LinkFault, Problem};
use crate::registry::Entry;

/// More warnings than this are counted, not shown.
const MAX_WARNINGS: usize = 20;

/// A file of a tool and what became of it.
#[derive(Clone)]
pub struct ToolFile {
    /// Whose it is.
    pub scope: Scope,
    /// Where it is on this machine. For the operator; tools never see it.
    pub path: PathBuf,
    /// Where it is, as people read it: `.toolcrib/tools/x.yaml`, `~/.toolcrib/tools/x.yaml`.
    pub shown: String,
    /// The name of its tool, also if it could not be loaded.
    pub name: String,
    /// SHA-256 of its bytes, in hex, unless it could not be read.
    pub digest: Option<String>,
    /// Why it may or may not run, as far as trust goes.
    pub trust: Trust,
    /// What became of it.
    pub standing: FileOutcome,
    /// Its errors and warnings.
    pub problems: Vec<Problem>,
    /// Problems with how it uses other tools; it cannot run then.
    pub link_faults: Vec<LinkFault>,
    /// What it says, if it makes sense.
    pub definition: Option<FileDefinition>,
    pub(super) entry: Option<Arc<Entry>>,
    pub(super) bytes: Option<Arc<[u8]>>,
}

/// Whether a file is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// It is where only the user and the machine's administrator can put it.
    ByPlace,
    /// The user said so about a file that says the same.
    Pinned,
    /// The user has not seen it yet.
    New,
    /// The user trusted other bytes.
    Changed {
        /// Their text, if it was kept.
        before: Option<String>,
    },
    /// Others than the user can change it; this says how to keep them from it.
    Unsafe(String),
}

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileOutcome {
    /// Its tool is registered, and can be called as far as it is trusted and switched on.
    Loaded,
    /// Its tool is registered, but cannot run here.
    Unavailable {
        /// Why.
        reason: String,
    },
    /// Another tool has its name.
    Shadowed {
        /// The other, as `bundle/slug@version`.
        by: String,
        /// The other's file, if it has one.
        by_file: Option<String>,
    },
    /// It makes no sense; its name is kept for it.
    Broken {
        /// Why.
        reason: String,
    },
    /// It has the name of a built-in tool, which nothing may take.
    Refused {
        /// Why.
        reason: String,
    },
}

/// What became of all files.
#[derive(Clone, Default)]
pub struct Report {
    /// The files, in the order in which they have names.
    pub files: Vec<ToolFile>,
    /// Other oddities.
    notes: Vec<String>,
    /// Names of the setting `disabledTools` that match no tool.
    pub(crate) disables_nothing: Vec<String>,
    /// Which file an entry is of, by the entry's address; the files keep the entries where they are.
    by_entry: HashMap<usize, usize>,
}

impl Report {
    pub(super) fn of(
        files: Vec<ToolFile>,
        notes: Vec<String>,
        disables_nothing: Vec<String>,
    ) -> Self {
        let address = |file: &ToolFile| Some(Arc::as_ptr(file.entry.as_ref()?).addr());
        let by_entry = files
            .iter()
            .enumerate()
            .filter_map(|(index, file)| Some((address(file)?, index)))
            .collect();
        Report {
            files,
            notes,
            disables_nothing,
            by_entry,
        }
    }

    /// The file of a registered tool.
    pub fn file_of(&self, entry: &Arc<Entry>) -> Option<&ToolFile> {
        let index = self.by_entry.get(&Arc::as_ptr(entry).addr())?;
        self.files.get(*index)
    }

    /// What a person should know: files that are not loaded or lost their name, places that cannot be trusted.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.notes.clone();
        for file in &self.files {
            match (&file.standing, &file.trust) {
                (FileOutcome::Broken { reason } | FileOutcome::Refused { reason }, _) => {
                    problems.push(reason.clone());
                }
                (FileOutcome::Shadowed { by, by_file }, _) => {
                    let (holder, remedy) = match file.own_reference() {
                        Some(own) => (by, format!("call it as `{own}`")),
                        // Both have the same reference, too, so that only the files tell them apart.
                        None => (
                            by_file.as_ref().unwrap_or(by),
                            "give one of them another `name`".to_owned(),
                        ),
                    };
                    problems.push(format!(
                        "the name of `{}` is taken: `{}` is `{holder}`; {remedy}",
                        file.shown, file.name,
                    ));
                }
                (_, Trust::Unsafe(why)) => {
                    problems.push(format!("`{}` is disabled: {why}", file.shown));
                }
                (FileOutcome::Loaded | FileOutcome::Unavailable { .. }, _) => {}
            }
        }
        problems
    }

    /// The problems, cut to as many as a person reads.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.problems();
        if warnings.len() > MAX_WARNINGS {
            let more = warnings.len() - MAX_WARNINGS + 1;
            warnings.truncate(MAX_WARNINGS - 1);
            warnings.push(format!(
                "{more} more problems with tool files: `toolcrib doctor` lists them"
            ));
        }
        warnings
    }
}

impl ToolFile {
    /// `bundle/slug` of its tool, unless that is another one's that has its name.
    pub fn own_reference(&self) -> Option<String> {
        let own = self.reference();
        match &self.standing {
            FileOutcome::Shadowed { by, .. } => {
                let theirs = by.split_once('@').map_or(by.as_str(), |(whole, _)| whole);
                (theirs != own).then_some(own)
            }
            _ => Some(own),
        }
    }

    /// `bundle/slug` of its tool.
    pub fn reference(&self) -> String {
        match &self.entry {
            Some(entry) => format!("{}/{}", entry.spec().bundle, entry.spec().slug),
            None => format!("{}/{}", self.scope.as_str(), self.name.replace('_', "-")),
        }
    }
}
