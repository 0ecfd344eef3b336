//! `git_commit`: records what is staged, after approval.
//!
//! What was shown is what is committed: HEAD, branch and content are looked at again before git is run. Hooks of the repository run,
//! behind the wall, as they would for a person; what one changes on the way is in the result.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::changes::{self, Changes, FileChange};
use super::failure;
use super::invoke::{Git, Hooks};
use super::repository::{self, Repository};
use super::staged::Staged;
use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::effects::{Approval, Effects};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::{LimitsPatch, as_millis};
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::sandbox::Stdin;
use crate::spec::{Role, ToolSpec, Traits};
use crate::tool::{Look, Tool};
use crate::workspace::Workspace;

/// How long it may take, hooks included.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The longest message.
const MAX_MESSAGE: usize = 64 * 1024;

/// How many files are listed, and how much of git's output is read.
const MAX_FILES: usize = 2000;
const MAX_READ: usize = 16 << 20;

/// The tool.
pub(super) struct GitCommit {
    spec: Arc<ToolSpec>,
    git: Arc<Git>,
}

impl GitCommit {
    pub(super) fn new(git: &Arc<Git>) -> Self {
        GitCommit {
            spec: Arc::new(spec()),
            git: Arc::clone(git),
        }
    }
}

fn spec() -> ToolSpec {
    let mut spec = super::super::typed_spec::<Args, Committed>(
        "git_commit",
        "Git commit",
        "Record what is staged as a commit, after approval, under the name that git's settings have. Hooks of the repository run, in the \
         sandbox: they can write the workspace and reach no network. Commits are not signed.",
        Effects::READ.and(Effects::WRITE).and(Effects::RUN),
    );
    spec.keywords = crate::builtin::keywords(&[
        "save",
        "record",
        "check in",
        "snapshot",
        "commit changes",
        "save changes",
        "version control",
    ]);
    spec.traits = Traits {
        destroys: Some(false),
        idempotent: Some(false),
        open_world: Some(false),
    };
    spec.roles = vec![
        ("path".to_owned(), Role::Directory),
        ("paths".to_owned(), Role::ReadPath),
    ];
    spec.asks = Some("always, with what would be committed".to_owned());
    spec.looks_first = true;
    spec.examples = vec![
        json!({"message": "docs: say how to install it"}),
        json!({"message": "fix: read empty files", "paths": ["src/read.rs"]}),
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
    /// The message: a short first line, then an empty one and the rest if there is more to say
    #[schemars(length(min = 1, max = MAX_MESSAGE))]
    message: String,
    /// Commit these files as they are now, relative to the workspace, and nothing else that is staged; what is staged if left out
    #[schemars(length(min = 1, max = repository::MAX_PATHS), inner(length(min = 1)))]
    paths: Option<Vec<String>>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Committed<'a> {
    /// The new commit
    hash: &'a str,
    short_hash: &'a str,
    /// The branch it is on; null when the head is detached
    #[schemars(schema_with = "super::text_or_null")]
    branch: Option<&'a str>,
    /// What it records
    files: Vec<FileChange>,
    /// How many files it records, listed or not
    #[schemars(with = "i64")]
    file_count: usize,
    /// Lines that came, in all of them
    #[schemars(with = "i64")]
    additions: u64,
    /// Lines that went, in all of them
    #[schemars(with = "i64")]
    deletions: u64,
    /// True if a hook of the repository changed what was to be recorded
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    changed_by_hook: bool,
    /// The message, if a hook of the repository made another one of it
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    /// What hooks, and git, had to say
    #[serde(skip_serializing_if = "String::is_empty")]
    said: String,
}

impl Tool for GitCommit {
    fn spec(&self) -> Arc<ToolSpec> {
        self.spec.clone()
    }

    fn look(&self, _args: &JsonObject, _workspace: Option<&Workspace>) -> Look {
        let git = Arc::clone(&self.git);
        Look::later(move |args, workspace| approval(&git, args, workspace))
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args: Args = super::super::arguments(args)?;
            if args.message.contains('\0') || args.message.trim().is_empty() {
                let why = "has no words in it, or a NUL character";
                return Err(super::super::invalid("git_commit", "/message", why));
            }
            let workspace = cx.workspace()?.clone();
            let repository = Repository::find(&workspace, args.path.as_deref())?;
            if cx.basis().is_none() {
                let (git, workspace) = (Arc::clone(&self.git), Arc::clone(&workspace));
                let repository = repository.clone();
                cx.blocking(move || check_identity(&git, &workspace, &repository))
                    .await?;
            }
            let staged = self.agreed(&args, &repository, &workspace, &cx).await?;
            let mut words = identity(&self.git);
            words.extend(
                [
                    "commit",
                    "--file=-",
                    "--cleanup=whitespace",
                    "--no-gpg-sign",
                ]
                .map(str::to_owned),
            );
            words.extend(["--no-status", "--quiet"].map(str::to_owned));
            if args.paths.is_some() {
                words.extend(["--only", "--"].map(str::to_owned));
                words.extend(repository.pathspecs(&workspace, args.paths.as_deref())?);
            }
            let message = args.message.clone().into_bytes();
            let command = self
                .git
                .command(&repository, Hooks::Run, words)
                .stdin(Stdin::Bytes(message));
            let wall = self.git.wall();
            let committed = self.git.run_shown(&cx, wall, command, 64 * 1024).await?;
            let said = format!(
                "{}{}",
                String::from_utf8_lossy(&committed.stdout),
                committed.stderr
            );
            committed.checked("commit", &repository)?;
            let said = failure::without_root(said.trim(), repository.root());
            self.made(&cx, &repository, staged, &args.message, said)
                .await
        })
    }
}

/// Whether a person is asked. Blocks.
fn approval(git: &Git, args: &JsonObject, workspace: Option<&Workspace>) -> Approval {
    let Ok(args) = super::super::arguments::<Args>(args.clone()) else {
        return Approval::allow();
    };
    let Some(workspace) = workspace else {
        return Approval::allow();
    };
    let looked = Repository::find(workspace, args.path.as_deref()).and_then(|repository| {
        check_identity(git, workspace, &repository)?;
        let staged = Staged::look(git, workspace, &repository, args.paths.as_deref())?;
        Ok((repository, staged))
    });
    match looked {
        Ok((repository, staged)) => Approval::ask("it records a commit")
            .with_effect(staged.effect(&args.message, &repository))
            .with_diff(staged.diff())
            .with_basis(json!({"digest": staged.digest})),
        Err(error) if is_unknown(&error) => {
            let message = text::shorten(&text::visible(&args.message), 1000);
            Approval::ask("it records a commit")
                .with_effect(format!(
                    "commit what is staged, which is not known ({error}): `{message}`"
                ))
                .with_basis(json!({"unknown": true}))
        }
        // What cannot work needs no one's approval: the call will fail and say why. Without a basis it commits nothing, should
        // it work by then.
        Err(error) => Approval::allow().with_effect(format!("commit nothing: {error}")),
    }
}

impl GitCommit {
    /// The staged tree, if it is the approved one; nothing if it could not be shown.
    async fn agreed(
        &self,
        args: &Args,
        repository: &Repository,
        workspace: &Arc<Workspace>,
        cx: &CallContext,
    ) -> Result<Option<Staged>, ToolError> {
        let basis = cx.basis().cloned().unwrap_or_default();
        if basis["unknown"] == true {
            return Ok(None);
        }
        let (git, workspace) = (Arc::clone(&self.git), Arc::clone(workspace));
        let (repository, paths) = (repository.clone(), args.paths.clone());
        let staged = cx
            .blocking(move || Staged::look(&git, &workspace, &repository, paths.as_deref()))
            .await?;
        match basis["digest"].as_str() {
            None => Err(failure::not_asked("the commit")),
            Some(digest) if digest != staged.digest => {
                Err(failure::changed("what would be committed"))
            }
            Some(_) => Ok(Some(staged)),
        }
    }

    /// The commit that was made.
    async fn made(
        &self,
        cx: &CallContext,
        repository: &Repository,
        staged: Option<Staged>,
        message: &str,
        said: String,
    ) -> Result<ToolOutput, ToolError> {
        let mut words: Vec<&str> = vec!["-c", "log.showRoot=true", "log", "-1", "-z"];
        words.push("--format=tformat:%H%x00%D%x00%B");
        words.extend([
            "--decorate=full",
            "--first-parent",
            "--diff-merges=first-parent",
        ]);
        words.extend(changes::OPTIONS);
        if staged.as_ref().is_some_and(|staged| staged.is_by_paths) {
            // As it was looked at, so that it can be compared.
            words.extend(["--patch", "--binary", "--full-index"]);
        }
        let command = self.git.reading(repository, words);
        let output = self.git.run(cx, command, MAX_READ).await?;
        let output = output.checked("log", repository)?;
        let mut fields = output.stdout.splitn(4, |byte| *byte == 0);
        let mut field = || fields.next().unwrap_or_default();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (hash, refs, recorded_message) = (text(field()), text(field()), text(field()));
        let short = &hash[..hash.len().min(10)];
        let listing = field();
        let listing = listing.strip_prefix(b"\n").unwrap_or(listing);
        let checked_out = refs
            .split(", ")
            .find_map(|name| name.strip_prefix("HEAD -> refs/heads/"));
        let branch = match &staged {
            Some(staged) => staged.branch.as_deref(),
            None => checked_out,
        };
        let recorded = Changes::read(listing, MAX_FILES);
        let recorded_message = recorded_message.trim_end();
        let committed = Committed {
            hash: &hash,
            short_hash: short,
            branch,
            files: recorded.listed(repository),
            file_count: recorded.total,
            additions: recorded.additions,
            deletions: recorded.deletions,
            changed_by_hook: is_other(staged.as_ref(), &recorded, listing),
            message: (recorded_message != cleaned(message)).then_some(recorded_message),
            said: text::shorten(&said, 4000),
        };
        if recorded.total > recorded.files.len() {
            cx.note_truncated();
        }
        let mut words = format!(
            "{short} on {}: {}\n",
            branch.unwrap_or("no branch"),
            recorded.in_words()
        );
        if committed.changed_by_hook {
            words.push_str("a hook of the repository changed what was to be recorded\n");
        }
        if let Some(message) = committed.message {
            let shown = text::shorten(&text::visible(message), 1000);
            let _ = writeln!(
                words,
                "a hook of the repository made another message: {shown}"
            );
        }
        if !committed.said.is_empty() {
            let _ = writeln!(words, "{}", committed.said);
        }
        super::super::typed_output(&committed, words)
    }
}

/// A message as `--cleanup=whitespace` leaves it.
fn cleaned(message: &str) -> String {
    let mut lines: Vec<&str> = message.lines().map(str::trim_end).collect();
    lines.dedup_by(|line, before| line.is_empty() && before.is_empty());
    lines.join("\n").trim_matches('\n').to_owned()
}

/// Whether something else was recorded than was staged. What paths held had no ids yet, so that their patches are compared.
fn is_other(staged: Option<&Staged>, recorded: &Changes, listing: &[u8]) -> bool {
    let Some(staged) = staged else { return false };
    if staged.is_by_paths {
        return staged.changes.patch != recorded.patch;
    }
    // The patch that follows one of them begins with a NUL.
    let end = |listing: &[u8]| listing.iter().rposition(|byte| *byte != 0);
    let same = end(&staged.listing) == end(listing)
        && end(listing).is_none_or(|end| staged.listing[..=end] == listing[..=end]);
    !same
}

/// Finds out whether git knows who commits. Blocks.
fn check_identity(
    git: &Git,
    workspace: &Workspace,
    repository: &Repository,
) -> Result<(), ToolError> {
    let mut words = identity(git);
    words.extend(["var", "GIT_COMMITTER_IDENT"].map(str::to_owned));
    let known = git.look(workspace, &git.reading(repository, words), 64 * 1024)?;
    match known.exit_code {
        0 => Ok(()),
        _ => Err(failure::no_identity()),
    }
}

/// Under which name to commit, if it is set here; git's own settings say it otherwise, and nothing is guessed.
fn identity(git: &Git) -> Vec<String> {
    let mut words = vec!["-c".to_owned(), "user.useConfigOnly=true".to_owned()];
    for (key, value) in [
        ("user.name", &git.settings.name),
        ("user.email", &git.settings.email),
    ] {
        if let Some(value) = value {
            words.extend(["-c".to_owned(), format!("{key}={value}")]);
        }
    }
    words
}

/// Whether a look failed in a way that says nothing about what there is.
pub(super) fn is_unknown(error: &ToolError) -> bool {
    matches!(error.code(), ErrorCode::Timeout | ErrorCode::Internal)
}
