//! `git_add`: stages files for the next commit.
//!
//! Filters that the repository's attributes name (`clean`, as Git LFS has one) run, behind the wall.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::invalid;
use super::changes::{self, Changes, FileChange};
use super::failure;
use super::invoke::{Git, Hooks};
use super::repository::{self, Repository};
use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::effects::{Approval, Effects};
use crate::model::error::ToolError;
use crate::model::limits::{LimitsPatch, as_millis};
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::spec::{Role, ToolSpec, Traits};
use crate::tool::{Look, Tool};
use crate::workspace::Workspace;

/// How long it may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How many files are listed, how many the text for models has, and how much of git's output is read.
const MAX_FILES: usize = 2000;
const MAX_SHOWN: usize = 200;
const MAX_READ: usize = 4 << 20;

/// The tool.
pub(super) struct GitAdd {
    spec: Arc<ToolSpec>,
    git: Arc<Git>,
}

impl GitAdd {
    pub(super) fn new(git: &Arc<Git>) -> Self {
        GitAdd {
            spec: Arc::new(spec()),
            git: Arc::clone(git),
        }
    }
}

fn spec() -> ToolSpec {
    let mut spec = super::super::typed_spec::<Args, Added>(
        "git_add",
        "Git add",
        "Stage files for the next commit: those that are named, or all that have changed. What `.gitignore` names is left out.",
        Effects::READ.and(Effects::WRITE),
    );
    spec.keywords =
        crate::builtin::keywords(&["stage", "staging", "index", "stage files", "track"]);
    spec.traits = Traits {
        destroys: Some(false),
        idempotent: Some(true),
        open_world: Some(false),
    };
    spec.roles = vec![
        ("path".to_owned(), Role::Directory),
        ("paths".to_owned(), Role::ReadPath),
    ];
    spec.examples = vec![json!({"paths": ["README.md", "src"]}), json!({"all": true})];
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
    /// Files and directories to stage, relative to the workspace; deleted ones are staged as deleted
    #[schemars(length(min = 1, max = repository::MAX_PATHS), inner(length(min = 1)))]
    paths: Option<Vec<String>>,
    /// Stage everything that has changed in the repository, in the place of `paths`
    #[serde(default)]
    all: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Added {
    /// The named files that are staged now
    staged: Vec<FileChange>,
    /// How many files that are, listed or not
    #[schemars(with = "i64")]
    file_count: usize,
    /// Lines that came, in all of them
    #[schemars(with = "i64")]
    additions: u64,
    /// Lines that went, in all of them
    #[schemars(with = "i64")]
    deletions: u64,
    /// What git had to say about it
    #[serde(skip_serializing_if = "String::is_empty")]
    warnings: String,
    /// True if more is staged than is listed
    truncated: bool,
}

impl Args {
    fn specs(
        &self,
        workspace: &Workspace,
        repository: &Repository,
    ) -> Result<Vec<String>, ToolError> {
        match (&self.paths, self.all) {
            (None, false) => Err(invalid("git_add", "/paths", "or `all` has to be given")),
            (Some(_), true) => Err(invalid("git_add", "/all", "cannot be given with `paths`")),
            (None, true) => Ok(vec![".".to_owned()]),
            (Some(paths), false) => repository.pathspecs(workspace, Some(paths)),
        }
    }
}

impl Tool for GitAdd {
    fn spec(&self) -> Arc<ToolSpec> {
        self.spec.clone()
    }

    fn look(&self, args: &JsonObject, _workspace: Option<&Workspace>) -> Look {
        let paths = args.get("paths").and_then(|paths| paths.as_array());
        let effect = match paths.map(Vec::as_slice) {
            Some([only]) => {
                let path = only.as_str().unwrap_or_default();
                format!("stage `{}`", text::shorten(&text::visible_line(path), 200))
            }
            Some(paths) => format!("stage {} paths", paths.len()),
            None => "stage everything that has changed".to_owned(),
        };
        Approval::allow().with_effect(effect).into()
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
            let specs = args.specs(workspace, &repository)?;
            let words = ["add", "--all", "--"].map(str::to_owned);
            let words = words.into_iter().chain(specs.iter().cloned());
            let command = self.git.command(&repository, Hooks::Off, words);
            let added = self.git.run_shown(&cx, self.git.wall(), command, 0).await?;
            let added = added.checked("add", &repository)?;
            let mut words: Vec<String> = vec!["diff".to_owned(), "--cached".to_owned()];
            words.extend(changes::OPTIONS.iter().map(|word| (*word).to_owned()));
            words.push("--".to_owned());
            words.extend(specs);
            let command = self.git.reading(&repository, words);
            let staged = self.git.run(&cx, command, MAX_READ).await?;
            let staged = staged.checked("diff", &repository)?;
            let changes = Changes::read(&staged.stdout, MAX_FILES);
            let truncated = staged.is_cut || changes.total > changes.files.len();
            if truncated {
                cx.note_truncated();
            }
            let warnings = failure::without_root(added.stderr.trim(), repository.root());
            let added = Added {
                staged: changes.listed(&repository),
                file_count: changes.total,
                additions: changes.additions,
                deletions: changes.deletions,
                warnings: text::shorten(&warnings, 4000),
                truncated,
            };
            super::super::typed_output(&added, in_words(&changes, &repository))
        })
    }
}

fn in_words(changes: &Changes, repository: &Repository) -> String {
    if changes.total == 0 {
        return "nothing is staged of it: nothing has changed\n".to_owned();
    }
    let mut words = format!("staged: {}\n", changes.in_words());
    for file in changes.files.iter().take(MAX_SHOWN) {
        let path = repository.in_workspace(&file.path);
        let _ = writeln!(words, "{} {}", file.status, text::visible_line(&path));
    }
    if changes.total > MAX_SHOWN {
        let _ = writeln!(words, "… and {} more", changes.total - MAX_SHOWN);
    }
    words
}
