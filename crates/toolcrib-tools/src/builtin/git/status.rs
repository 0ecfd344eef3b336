//! `git_status`: the branch, its relation to its upstream, and the changes.
//!
//! One run of git says all of it.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::invoke::Git;
use super::porcelain::{Counts, Entry, Status};
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

/// How long it may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How many entries are listed.
const MAX_ENTRIES: usize = 2000;

/// How many of them the text for models has.
const MAX_SHOWN: usize = 200;

/// How much of git's output is read.
const MAX_READ: usize = 8 << 20;

/// The tool.
pub(super) struct GitStatus {
    spec: Arc<ToolSpec>,
    git: Arc<Git>,
}

impl GitStatus {
    pub(super) fn new(git: &Arc<Git>) -> Self {
        GitStatus {
            spec: Arc::new(spec()),
            git: Arc::clone(git),
        }
    }
}

fn spec() -> ToolSpec {
    let mut spec = super::super::typed_spec::<Args, ShownStatus>(
        "git_status",
        "Git status",
        "Show the state of a git repository in the workspace: branch, upstream, and what has changed, staged or not.",
        Effects::READ,
    );
    spec.keywords = crate::builtin::keywords(&[
        "changed files",
        "uncommitted",
        "untracked",
        "working tree",
        "modified files",
        "clean",
        "dirty",
        "current branch",
    ]);
    spec.traits = Traits {
        destroys: Some(false),
        idempotent: Some(true),
        open_world: Some(false),
    };
    spec.roles = vec![("path".to_owned(), Role::Directory)];
    spec.examples = vec![json!({}), json!({"untracked": "files"})];
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
    /// How files are listed that git does not know: a directory of them as one entry, each by itself, or not at all
    #[serde(default)]
    untracked: Untracked,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Untracked {
    #[default]
    Directories,
    Files,
    None,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ShownStatus<'a> {
    /// The branch; null when the head is detached
    #[schemars(schema_with = "super::text_or_null")]
    branch: Option<&'a str>,
    /// True when no branch is checked out
    detached: bool,
    /// The commit that is checked out; null before the first
    #[schemars(schema_with = "super::text_or_null")]
    head: Option<&'a str>,
    /// The branch it follows, such as origin/main
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream: Option<&'a str>,
    /// Commits that the upstream does not have, as far as is known here
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    ahead: Option<u64>,
    /// Commits that only the upstream has, as far as is known here
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    behind: Option<u64>,
    /// The operation in progress: merge, rebase, cherry-pick, revert or bisect
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'static str>,
    /// True if nothing has changed
    clean: bool,
    /// What has changed
    entries: Vec<ShownEntry>,
    /// How many entries there are of each kind
    counts: Counts,
    /// True if there is more than is listed
    truncated: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ShownEntry {
    /// Relative to the workspace; a directory ends with a slash
    path: String,
    /// What it was called before
    #[serde(skip_serializing_if = "Option::is_none")]
    old_path: Option<String>,
    /// What a commit would record: added, modified, deleted, renamed, copied or typeChanged
    #[serde(skip_serializing_if = "Option::is_none")]
    staged: Option<&'static str>,
    /// The unstaged change: modified, deleted, typeChanged, renamed or untracked
    #[serde(skip_serializing_if = "Option::is_none")]
    unstaged: Option<&'static str>,
    /// How two sides of a merge contradict each other
    #[serde(skip_serializing_if = "Option::is_none")]
    conflict: Option<&'static str>,
}

impl Tool for GitStatus {
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
            let repository = Repository::find(cx.workspace()?, args.path.as_deref())?;
            let untracked = match args.untracked {
                Untracked::Directories => "--untracked-files=normal",
                Untracked::Files => "--untracked-files=all",
                Untracked::None => "--untracked-files=no",
            };
            let words = [
                "status",
                "--porcelain=v2",
                "--branch",
                "-z",
                "--ignore-submodules=dirty",
                "--ahead-behind",
                "--find-renames",
                untracked,
            ];
            let command = self.git.reading(&repository, words);
            let output = self.git.run(&cx, command, MAX_READ).await?;
            let output = output.checked("status", &repository)?;
            let status = Status::read(&output.stdout, MAX_ENTRIES);
            let counts = status.counts;
            let changed = counts.staged + counts.unstaged + counts.untracked + counts.conflicts;
            let truncated =
                output.is_cut || (status.entries.len() == MAX_ENTRIES && changed > MAX_ENTRIES);
            if truncated {
                cx.note_truncated();
            }
            let shown = ShownStatus::new(&status, &repository, truncated);
            super::super::typed_output(&shown, in_words(&status, &repository, truncated))
        })
    }
}

impl<'a> ShownStatus<'a> {
    fn new(status: &'a Status, repository: &Repository, truncated: bool) -> Self {
        let tracked = status.ahead.zip(status.behind);
        let entry = |entry: &Entry| ShownEntry {
            path: repository.in_workspace(&entry.path),
            old_path: entry
                .old_path
                .as_ref()
                .map(|old| repository.in_workspace(old)),
            staged: entry.staged,
            unstaged: entry.unstaged,
            conflict: entry.conflict,
        };
        ShownStatus {
            branch: status.branch.as_deref(),
            detached: status.branch.is_none(),
            head: status.head.as_deref(),
            upstream: status.upstream.as_deref(),
            ahead: tracked.map(|(ahead, _)| ahead),
            behind: tracked.map(|(_, behind)| behind),
            operation: repository.operation(),
            clean: status.entries.is_empty(),
            entries: status.entries.iter().map(entry).collect(),
            counts: status.counts,
            truncated,
        }
    }
}

/// The status as a person reads it, with one line for each entry.
fn in_words(status: &Status, repository: &Repository, truncated: bool) -> String {
    let mut words = match (&status.branch, &status.head) {
        (Some(branch), Some(_)) => format!("on branch {branch}"),
        (Some(branch), None) => format!("on branch {branch}, no commits yet"),
        (None, head) => {
            let head = head.as_deref().unwrap_or("nothing");
            format!("head detached at {}", &head[..head.len().min(12)])
        }
    };
    if let Some(upstream) = &status.upstream {
        let _ = write!(words, ", upstream {upstream}");
        if let (Some(ahead), Some(behind)) = (status.ahead, status.behind) {
            let _ = write!(words, " (ahead {ahead}, behind {behind})");
        }
    }
    if let Some(operation) = repository.operation() {
        let _ = write!(words, ", {operation} under way");
    }
    words.push('\n');
    if status.entries.is_empty() {
        words.push_str("nothing has changed\n");
    }
    for entry in status.entries.iter().take(MAX_SHOWN) {
        let staged = entry.staged.map(|staged| format!("staged {staged}"));
        let unstaged = entry.unstaged.map(|word| match word {
            "untracked" => word.to_owned(),
            word => format!("unstaged {word}"),
        });
        let conflict = entry
            .conflict
            .map(|conflict| format!("conflict {conflict}"));
        let kinds: Vec<String> = [staged, unstaged, conflict].into_iter().flatten().collect();
        let path = repository.in_workspace(&entry.path);
        let _ = write!(words, "{}: {}", kinds.join(", "), text::visible_line(&path));
        if let Some(old) = &entry.old_path {
            let old = repository.in_workspace(old);
            let _ = write!(words, " (was {})", text::visible_line(&old));
        }
        words.push('\n');
    }
    let counts = status.counts;
    if truncated || status.entries.len() > MAX_SHOWN {
        let _ = writeln!(
            words,
            "… in all {} staged, {} unstaged, {} untracked, {} in conflict",
            counts.staged, counts.unstaged, counts.untracked, counts.conflicts
        );
    }
    words
}
