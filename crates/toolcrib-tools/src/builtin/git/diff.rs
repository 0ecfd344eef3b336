//! `git_diff`: what differs between the files, the index and commits.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::invalid;
use super::changes::{self, Changes, FileChange};
use super::invoke::Git;
use super::names;
use super::repository::{self, Repository};
use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::effects::Effects;
use crate::model::error::ToolError;
use crate::model::limits::{LimitsPatch, as_millis};
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::spec::{Role, ToolSpec, Traits};
use crate::tool::Tool;
use crate::workspace::Workspace;

/// How long it may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How many files are listed.
const MAX_FILES: usize = 2000;

/// How long the patch may be, and how much of git's output is read.
const MAX_PATCH: usize = 256 * 1024;
const MAX_READ: usize = 4 << 20;

/// The tool.
pub(super) struct GitDiff {
    spec: Arc<ToolSpec>,
    git: Arc<Git>,
}

impl GitDiff {
    pub(super) fn new(git: &Arc<Git>) -> Self {
        GitDiff {
            spec: Arc::new(spec()),
            git: Arc::clone(git),
        }
    }
}

fn spec() -> ToolSpec {
    let mut spec = super::super::typed_spec::<Args, Diff>(
        "git_diff",
        "Git diff",
        "Show what differs in a git repository: the files from what is staged, what is staged from the last commit, or two commits.",
        Effects::READ,
    );
    spec.keywords = crate::builtin::keywords(&[
        "changes",
        "difference",
        "compare",
        "what changed",
        "changed lines",
        "modifications",
        "show changes",
    ]);
    spec.traits = Traits {
        destroys: Some(false),
        idempotent: Some(true),
        open_world: Some(false),
    };
    spec.roles = vec![
        ("path".to_owned(), Role::Directory),
        ("paths".to_owned(), Role::ReadPath),
    ];
    spec.examples = vec![
        json!({}),
        json!({"staged": true, "stat": true}),
        json!({"from": "HEAD~1", "to": "HEAD", "paths": ["src"]}),
    ];
    spec.limits = LimitsPatch {
        timeout_ms: Some(as_millis(TIMEOUT)),
        ..LimitsPatch::default()
    };
    spec
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    #[schemars(description = repository::PATH)]
    path: Option<String>,
    /// Only these files and directories, relative to the workspace
    #[schemars(length(min = 1, max = repository::MAX_PATHS), inner(length(min = 1)))]
    paths: Option<Vec<String>>,
    /// The staged changes, compared with the last commit (or with `from`)
    #[serde(default)]
    staged: bool,
    /// A commit to compare with, such as HEAD~2, main or a1b2c3d; without `to`, the files as they are now are compared with it
    #[schemars(length(min = 1, max = 200))]
    from: Option<String>,
    /// The commit that `from` is compared with
    #[schemars(length(min = 1, max = 200))]
    to: Option<String>,
    /// Unchanged lines around each change
    #[serde(default = "three")]
    #[schemars(range(max = 100))]
    context: u32,
    /// Only list the files with their numbers of lines, without the patch
    #[serde(default)]
    stat: bool,
}

fn three() -> u32 {
    3
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Diff<'a> {
    /// The files that differ
    files: Vec<FileChange>,
    /// How many files differ, listed or not
    #[schemars(with = "i64")]
    file_count: usize,
    /// Lines that came, in all of them
    #[schemars(with = "i64")]
    additions: u64,
    /// Lines that went, in all of them
    #[schemars(with = "i64")]
    deletions: u64,
    /// The differences as a unified diff; its paths are relative to the repository
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<&'a str>,
    /// True if files or a part of the patch are left out
    truncated: bool,
}

impl Args {
    fn words(
        &self,
        workspace: &Workspace,
        repository: &Repository,
    ) -> Result<Vec<String>, ToolError> {
        let mut words = vec!["diff".to_owned()];
        words.extend(changes::OPTIONS.iter().map(|word| (*word).to_owned()));
        if !self.stat {
            words.push("--patch".to_owned());
            words.push(format!("--unified={}", self.context));
        }
        if self.staged {
            words.push("--cached".to_owned());
        }
        words.push("--end-of-options".to_owned());
        match (&self.from, &self.to) {
            (None, Some(_)) => {
                return Err(invalid("git_diff", "/to", "needs `from` beside it"));
            }
            (Some(_), Some(_)) if self.staged => {
                let why = "cannot be given with `staged`, which compares one commit with the index";
                return Err(invalid("git_diff", "/to", why));
            }
            (from, to) => {
                for (pointer, revision) in [("/from", from), ("/to", to)] {
                    if let Some(revision) = revision {
                        names::check_revision("git_diff", pointer, revision)?;
                        words.push(revision.clone());
                    }
                }
            }
        }
        words.push("--".to_owned());
        words.extend(repository.pathspecs(workspace, self.paths.as_deref())?);
        Ok(words)
    }
}

impl Tool for GitDiff {
    fn spec(&self) -> Arc<ToolSpec> {
        self.spec.clone()
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args: Args = super::super::arguments(args)?;
            let workspace = cx.workspace()?;
            let repository = Repository::find(workspace, args.path.as_deref())?;
            let words = args.words(workspace, &repository)?;
            let command = self.git.reading(&repository, words);
            let output = self.git.run(&cx, command, MAX_READ).await?;
            let output = output.checked("diff", &repository)?;
            let changes = Changes::read(&output.stdout, MAX_FILES);
            let mut patch = String::from_utf8_lossy(&changes.patch).into_owned();
            let is_long = patch.len() > MAX_PATCH;
            if is_long {
                let end = patch.floor_char_boundary(MAX_PATCH);
                let end = patch[..end].rfind('\n').map_or(end, |line| line + 1);
                patch.truncate(end);
            }
            let truncated = output.is_cut || is_long || changes.total > changes.files.len();
            if truncated {
                cx.note_truncated();
            }
            let text = in_words(&changes, &patch, &repository, truncated);
            let diff = Diff {
                files: changes.listed(&repository),
                file_count: changes.total,
                additions: changes.additions,
                deletions: changes.deletions,
                patch: (!args.stat).then_some(&patch),
                truncated,
            };
            super::super::typed_output(&diff, text)
        })
    }
}

/// The patch, or without one the files; what a person reads.
fn in_words(changes: &Changes, patch: &str, repository: &Repository, truncated: bool) -> String {
    if changes.total == 0 {
        return "nothing differs\n".to_owned();
    }
    let mut words = format!("{}\n", changes.in_words());
    for file in &changes.files {
        let lines = match file.lines {
            Some((additions, deletions)) => format!("+{additions} −{deletions}"),
            None => "binary".to_owned(),
        };
        let path = repository.in_workspace(&file.path);
        let path = text::visible_line(&path);
        let _ = writeln!(words, "{} {path} ({lines})", file.status);
    }
    if !patch.is_empty() {
        words.push('\n');
        words.push_str(patch);
    }
    if truncated {
        words.push_str("… there is more; ask for fewer files with `paths`, or for `stat`\n");
    }
    words
}
