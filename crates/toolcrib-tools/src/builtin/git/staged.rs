//! What a commit would record, looked at before it is asked about and again before it is made.
//!
//! Two looks that give the same [`Staged::digest`] saw the same commit, branch and content: the digest covers the ids of both sides
//! of every staged file, for `paths`, whose content is not in the repository yet, the content itself, and what a merge brings in.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::changes::{self, Changes};
use super::invoke::Git;
use super::porcelain::Status;
use super::repository::Repository;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::hex;
use crate::model::text;
use crate::workspace::Workspace;

/// How much is read of each look. Content that is longer is not judged, and so not committed by `paths`.
const MAX_READ: usize = 16 << 20;

/// How many files a question lists, and how long the diff with it may be.
const MAX_LISTED: usize = 20;
const MAX_DIFF: usize = 64 * 1024;

/// How many files are read.
const MAX_FILES: usize = 2000;

/// What a commit would record.
#[derive(Debug)]
pub(super) struct Staged {
    /// `None` when the head is detached.
    pub(super) branch: Option<String>,
    pub(super) changes: Changes,
    /// The files as git lists them, with the ids of their content.
    pub(super) listing: Vec<u8>,
    /// Whether it is about some paths, of whose content there are no ids.
    pub(super) is_by_paths: bool,
    /// What else the commit would bring to an end.
    pub(super) operation: Option<&'static str>,
    /// Other commits that it would have as parents, or stand for.
    brought_in: Vec<String>,
    /// What it rests on, all of it.
    pub(super) digest: String,
}

impl Staged {
    /// Looks at what is staged, or at what of some paths has changed. Blocks.
    pub(super) fn look(
        git: &Git,
        workspace: &Workspace,
        repository: &Repository,
        paths: Option<&[String]>,
    ) -> Result<Self, ToolError> {
        let words = [
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--untracked-files=no",
            "--ignore-submodules=dirty",
            "--no-ahead-behind",
        ];
        let status = git.look(workspace, &git.reading(repository, words), MAX_READ)?;
        let status = status.checked("status", repository)?;
        let status = Status::read(&status.stdout, 0);
        if status.counts.conflicts > 0 {
            let message = format!(
                "{} files are in conflict: resolve them, stage them with `git_add`, then commit",
                status.counts.conflicts
            );
            return Err(ToolError::failed(message));
        }
        let mut words = vec!["diff".to_owned()];
        words.extend(changes::OPTIONS.iter().map(|word| (*word).to_owned()));
        words.push("--patch".to_owned());
        match paths {
            None => words.extend(["--cached".to_owned(), "--".to_owned()]),
            Some(paths) => {
                if status.head.is_none() {
                    return Err(ToolError::failed(
                        "`paths` cannot be given for the first commit; stage the files with `git_add` and commit without `paths`",
                    ));
                }
                let paths = repository.pathspecs(workspace, Some(paths))?;
                hides_nothing(git, workspace, repository, &paths)?;
                words.extend(["--binary", "--full-index", "HEAD", "--"].map(str::to_owned));
                words.extend(paths);
            }
        }
        let output = git.look(workspace, &git.reading(repository, words), MAX_READ)?;
        let output = output.checked("diff", repository)?;
        let changes = Changes::read(&output.stdout, MAX_FILES);
        let listing = output.stdout[..output.stdout.len() - changes.patch.len()].to_vec();
        if output.is_cut && (paths.is_some() || changes.patch.is_empty()) {
            let message = "the change is too large to be looked at; stage it with `git_add` in parts, and commit without `paths`";
            return Err(ToolError::failed(message));
        }
        if changes.total == 0 && repository.operation().is_none() {
            return Err(nothing(&status, paths.is_some()));
        }
        let brought_in = repository.brought_in(workspace)?;
        let mut digest = Sha256::new();
        for part in [
            status.head.as_deref().unwrap_or_default().as_bytes(),
            status.branch.as_deref().unwrap_or_default().as_bytes(),
            repository.operation().unwrap_or_default().as_bytes(),
            brought_in.join("\n").as_bytes(),
            if paths.is_some() {
                &output.stdout
            } else {
                &listing
            },
        ] {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        Ok(Staged {
            branch: status.branch,
            changes,
            listing,
            is_by_paths: paths.is_some(),
            operation: repository.operation(),
            brought_in,
            digest: hex(&digest.finalize()),
        })
    }

    /// What a person decides on.
    pub(super) fn effect(&self, message: &str, repository: &Repository) -> String {
        let place = match &self.branch {
            Some(branch) => format!("on `{}`", text::visible_line(branch)),
            None => "on no branch".to_owned(),
        };
        let mut words = format!(
            "commit {} {place}: `{}`",
            self.changes.in_words(),
            text::shorten(&text::visible(message), 1000)
        );
        if let Some(operation) = self.operation {
            let _ = write!(words, "; a {operation} is under way");
            let commits = self.brought_in.iter().take(MAX_LISTED);
            let commits: Vec<String> = commits
                .map(|commit| text::shorten(&text::visible_line(commit), 40))
                .collect();
            if !commits.is_empty() {
                let _ = write!(words, ", of {}", commits.join(", "));
            }
        }
        for file in self.changes.files.iter().take(MAX_LISTED) {
            let path = repository.in_workspace(&file.path);
            let path = text::shorten(&text::visible_line(&path), 200);
            let _ = write!(words, "\n{} {path}", file.status);
            if file.lines.is_none() {
                // Anybody can have git take a text for one.
                words.push_str(" (binary, or marked as such: what changed in it is not shown)");
            }
        }
        if self.changes.total > MAX_LISTED {
            let _ = write!(words, "\n… and {} more", self.changes.total - MAX_LISTED);
        }
        words
    }

    /// The change as a diff, as long as a person reads.
    pub(super) fn diff(&self) -> String {
        let end = self.changes.patch.len().min(MAX_DIFF);
        let mut diff = String::from_utf8_lossy(&self.changes.patch[..end]).into_owned();
        if end < self.changes.patch.len() {
            diff.push_str("\n… the rest of the diff is left out\n");
        }
        diff
    }
}

/// Refuses paths of which git commits more than it shows: what is marked as unchanged is in no diff, and recorded all the same.
fn hides_nothing(
    git: &Git,
    workspace: &Workspace,
    repository: &Repository,
    paths: &[String],
) -> Result<(), ToolError> {
    let words = ["ls-files", "-v", "-z", "--"].map(str::to_owned);
    let command = git.reading(repository, words.into_iter().chain(paths.iter().cloned()));
    let listed = git.look(workspace, &command, MAX_READ)?;
    let listed = listed.checked("ls-files", repository)?;
    if listed.is_cut {
        return Err(ToolError::failed(
            "`paths` hold too many files to be looked at; stage them with `git_add`, and commit without `paths`",
        ));
    }
    // A small letter: assumed to be unchanged. `S`: not in the tree.
    let mut entries = listed.stdout.split(|byte| *byte == 0);
    let hidden = entries.find(|entry| {
        let tag = entry.first();
        tag.is_some_and(|tag| tag.is_ascii_lowercase() || *tag == b'S')
    });
    let Some(path) = hidden.and_then(|entry| entry.get(2..)) else {
        return Ok(());
    };
    let path = repository.in_workspace(path);
    Err(ToolError::failed(format!(
        "`{}` is marked as unchanged, so that git shows no change of it and would commit one all the same; take the mark away with \
         `git update-index --no-assume-unchanged --no-skip-worktree`, or stage what is meant with `git_add` and commit without `paths`",
        text::shorten(&text::visible_line(&path), 200)
    )))
}

fn nothing(status: &Status, by_paths: bool) -> ToolError {
    let counts = status.counts;
    let message = if by_paths {
        "nothing has changed in `paths`, so there is nothing to commit; a file that git does not know yet has to be staged with `git_add`".to_owned()
    } else if counts.unstaged > 0 {
        format!(
            "nothing is staged, so there is nothing to commit; {} changed files are not staged: stage them with `git_add`",
            counts.unstaged
        )
    } else {
        "nothing is staged, so there is nothing to commit; `git_status` shows what has changed, `git_add` stages it".to_owned()
    };
    ToolError::new(ErrorCode::ExecutionError, message)
}
