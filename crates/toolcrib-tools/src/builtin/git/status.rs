//! `git_status`: the branch, its relation to its upstream, and the changes.
//!
//! One run of git says all of it.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::invoke::Git;
use super::porcelain::{Entry, Status};
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
    let input = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "path": repository::parameter(),
            "untracked": {
                "type": "string",
                "enum": ["directories", "files", "none"],
                "default": "directories",
                "description": "How files are listed that git does not know: a directory of them as one entry, each by itself, or not at all"
            }
        }
    });
    let count = |what: &str| json!({"type": "integer", "description": what});
    let output = json!({
        "type": "object",
        "required": ["branch", "detached", "head", "clean", "entries", "counts", "truncated"],
        "properties": {
            "branch": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "The branch; null when the head is detached"},
            "detached": {"type": "boolean", "description": "True when no branch is checked out"},
            "head": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "The commit that is checked out; null before the first"},
            "upstream": {"type": "string", "description": "The branch it follows, such as origin/main"},
            "ahead": count("Commits that the upstream does not have, as far as is known here"),
            "behind": count("Commits that only the upstream has, as far as is known here"),
            "operation": {"type": "string", "description": "The operation in progress: merge, rebase, cherry-pick, revert or bisect"},
            "clean": {"type": "boolean", "description": "True if nothing has changed"},
            "entries": {
                "type": "array",
                "description": "What has changed",
                "items": {
                    "type": "object",
                    "required": ["path"],
                    "properties": {
                        "path": {"type": "string", "description": "Relative to the workspace; a directory ends with a slash"},
                        "oldPath": {"type": "string", "description": "What it was called before"},
                        "staged": {"type": "string", "description": "What a commit would record: added, modified, deleted, renamed, copied or typeChanged"},
                        "unstaged": {"type": "string", "description": "The unstaged change: modified, deleted, typeChanged, renamed or untracked"},
                        "conflict": {"type": "string", "description": "How two sides of a merge contradict each other"}
                    }
                }
            },
            "counts": {
                "type": "object",
                "required": ["staged", "unstaged", "untracked", "conflicts"],
                "description": "How many entries there are of each kind",
                "properties": {
                    "staged": count("Staged"),
                    "unstaged": count("Changed and not staged"),
                    "untracked": count("Not known to git"),
                    "conflicts": count("In conflict")
                }
            },
            "truncated": {"type": "boolean", "description": "True if there is more than is listed"}
        }
    });
    let mut spec = super::super::core_spec(
        "git_status",
        "Git status",
        "Show the state of a git repository in the workspace: branch, upstream, and what has changed, staged or not.",
        Effects::READ,
        input,
        output,
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

#[derive(Debug, Deserialize)]
struct Args {
    path: Option<String>,
    #[serde(default)]
    untracked: Untracked,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Untracked {
    #[default]
    Directories,
    Files,
    None,
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
            let value = value(&status, &repository, truncated);
            Ok(ToolOutput::value(value).with_text(in_words(&status, &repository, truncated)))
        })
    }
}

fn value(status: &Status, repository: &Repository, truncated: bool) -> JsonObject {
    let mut value = JsonObject::new();
    let mut put = |key: &str, field: Value| {
        value.insert(key.to_owned(), field);
    };
    put("branch", status.branch.clone().into());
    put("detached", status.branch.is_none().into());
    put("head", status.head.clone().into());
    if let Some(upstream) = &status.upstream {
        put("upstream", upstream.clone().into());
    }
    if let (Some(ahead), Some(behind)) = (status.ahead, status.behind) {
        put("ahead", ahead.into());
        put("behind", behind.into());
    }
    if let Some(operation) = repository.operation() {
        put("operation", operation.into());
    }
    put("clean", status.entries.is_empty().into());
    let entries = status.entries.iter();
    let entries: Vec<Value> = entries.map(|entry| of_entry(entry, repository)).collect();
    put("entries", entries.into());
    let counts = status.counts;
    let counts = json!({
        "staged": counts.staged,
        "unstaged": counts.unstaged,
        "untracked": counts.untracked,
        "conflicts": counts.conflicts,
    });
    put("counts", counts);
    put("truncated", truncated.into());
    value
}

fn of_entry(entry: &Entry, repository: &Repository) -> Value {
    let mut value = JsonObject::new();
    value.insert(
        "path".to_owned(),
        repository.in_workspace(&entry.path).into(),
    );
    if let Some(old) = &entry.old_path {
        value.insert("oldPath".to_owned(), repository.in_workspace(old).into());
    }
    for (key, word) in [
        ("staged", entry.staged),
        ("unstaged", entry.unstaged),
        ("conflict", entry.conflict),
    ] {
        if let Some(word) = word {
            value.insert(key.to_owned(), word.into());
        }
    }
    value.into()
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
