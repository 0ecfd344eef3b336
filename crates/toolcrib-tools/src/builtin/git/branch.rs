//! `git_branch`: lists, makes, switches and deletes branches.
//!
//! Nothing is lost without being asked about: git refuses to switch where that would overwrite changes, and deleting asks, with
//! what would go.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::super::invalid;
use super::branches::{self, ListedBranch};
use super::commit::is_unknown;
use super::failure;
use super::invoke::{Git, Hooks};
use super::names;
use super::repository::{self, Repository};
use crate::call::context::CallContext;
use crate::model::JsonObject;
use crate::model::effects::{Approval, Effects};
use crate::model::error::{ErrorCode, ToolError};
use crate::model::limits::{LimitsPatch, as_millis};
use crate::model::outcome::ToolOutput;
use crate::model::text;
use crate::spec::{Role, ToolSpec, Traits};
use crate::tool::{Look, Tool};
use crate::workspace::Workspace;

/// How long it may take, hooks included.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How many branches are listed, how many commits a question counts, and how much of git's output is read.
const MAX_BRANCHES: usize = 500;
const MAX_COUNTED: usize = 1000;
const MAX_READ: usize = 1 << 20;

/// The tool.
pub(super) struct GitBranch {
    spec: Arc<ToolSpec>,
    git: Arc<Git>,
}

impl GitBranch {
    pub(super) fn new(git: &Arc<Git>) -> Self {
        GitBranch {
            spec: Arc::new(spec()),
            git: Arc::clone(git),
        }
    }
}

fn spec() -> ToolSpec {
    let mut spec = super::super::typed_spec::<Args, BranchAnswer>(
        "git_branch",
        "Git branch",
        "List, create, switch or delete branches of a git repository. Switching keeps changes that are not committed, or is refused; it \
         runs the repository's hooks and filters, in the sandbox.",
        Effects::READ.and(Effects::WRITE).and(Effects::RUN),
    );
    spec.keywords = crate::builtin::keywords(&[
        "checkout",
        "switch",
        "create a branch",
        "switch branch",
        "branches",
        "merge base",
        "new branch",
    ]);
    spec.traits = Traits {
        destroys: Some(true),
        idempotent: Some(false),
        open_world: Some(false),
    };
    spec.roles = vec![("path".to_owned(), Role::Directory)];
    spec.asks = Some("when a branch is deleted".to_owned());
    spec.looks_first = true;
    spec.examples = vec![
        json!({"action": "list"}),
        json!({"action": "create", "name": "feature/login", "startPoint": "main"}),
        json!({"action": "switch", "name": "feature/login"}),
    ];
    spec.limits = LimitsPatch {
        timeout_ms: Some(as_millis(TIMEOUT)),
        ..LimitsPatch::default()
    };
    spec
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    List,
    Create,
    Switch,
    Delete,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    /// What to do; create makes a branch without switching to it
    action: Action,
    #[schemars(description = repository::PATH)]
    path: Option<String>,
    /// The branch to create, switch to or delete
    #[schemars(length(min = 1, max = 200))]
    name: Option<String>,
    /// For create: the commit it begins at, such as main, origin/topic or v1.2; the current one if left out
    #[schemars(length(min = 1, max = 200))]
    start_point: Option<String>,
    /// For list: also what is known here of the branches of remotes
    #[serde(default)]
    remotes: bool,
    /// For delete: also if it has commits that no other branch has
    #[serde(default)]
    force: bool,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
struct BranchAnswer {
    /// For list: the branches
    #[serde(skip_serializing_if = "Option::is_none")]
    branches: Option<Vec<ListedBranch>>,
    /// For list: true if there are more
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated: Option<bool>,
    /// The branch that was created, switched to or deleted
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// Its last commit
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    /// What git, and hooks, had to say
    #[serde(skip_serializing_if = "Option::is_none")]
    said: Option<String>,
}

impl BranchAnswer {
    fn about(name: &str, hash: String, said: String) -> Self {
        BranchAnswer {
            branch: Some(name.to_owned()),
            hash: Some(hash),
            said: Some(said),
            ..BranchAnswer::default()
        }
    }
}

impl Args {
    /// The name, where the action needs one; and nothing that the action has no use for.
    fn name(&self) -> Result<&str, ToolError> {
        let unused = |pointer: &str, action: &str| {
            let why = format!("can be given with `{action}` only");
            Err(invalid("git_branch", pointer, &why))
        };
        if self.action != Action::Create && self.start_point.is_some() {
            return unused("/startPoint", "create");
        }
        if self.action != Action::Delete && self.force {
            return unused("/force", "delete");
        }
        if self.action != Action::List && self.remotes {
            return unused("/remotes", "list");
        }
        match (&self.name, self.action) {
            (Some(_), Action::List) => Err(invalid(
                "git_branch",
                "/name",
                "cannot be given with `list`",
            )),
            (None, Action::List) => Ok(""),
            (None, _) => Err(invalid("git_branch", "/name", "is missing: which branch?")),
            (Some(name), _) => {
                names::check_branch("git_branch", "/name", name)?;
                Ok(name)
            }
        }
    }
}

impl Tool for GitBranch {
    fn spec(&self) -> Arc<ToolSpec> {
        self.spec.clone()
    }

    fn look(&self, _args: &JsonObject, _workspace: Option<&Workspace>) -> Look {
        let git = Arc::clone(&self.git);
        // What cannot work needs no one's approval: the call will fail and say why.
        Look::later(move |args, workspace| {
            approval(&git, args, workspace).unwrap_or_else(Approval::allow)
        })
    }

    fn call(
        &self,
        args: JsonObject,
        cx: CallContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let args: Args = super::super::arguments(args)?;
            let name = args.name()?;
            let repository = Repository::find(cx.workspace()?, args.path.as_deref())?;
            match args.action {
                Action::List => self.list(&cx, &repository, args.remotes).await,
                Action::Create => self.create(&cx, &repository, name, &args).await,
                Action::Switch => self.switch(&cx, &repository, name).await,
                Action::Delete => self.delete(&cx, &repository, name, args.force).await,
            }
        })
    }
}

/// The question; none about what cannot work. Blocks.
fn approval(git: &Git, args: &JsonObject, workspace: Option<&Workspace>) -> Option<Approval> {
    let args: Args = super::super::arguments(args.clone()).ok()?;
    let name = args.name().ok()?;
    let shown = text::visible_line(name);
    Some(match args.action {
        Action::List => Approval::allow().with_effect("list branches"),
        Action::Create => Approval::allow().with_effect(format!("create the branch `{shown}`")),
        Action::Switch => Approval::allow().with_effect(format!("switch to the branch `{shown}`")),
        Action::Delete => question(git, &args, name, workspace?),
    })
}

impl GitBranch {
    async fn list(
        &self,
        cx: &CallContext,
        repository: &Repository,
        remotes: bool,
    ) -> Result<ToolOutput, ToolError> {
        let count = format!("--count={}", MAX_BRANCHES + 1);
        let mut words = vec!["for-each-ref", branches::FORMAT, &count, "refs/heads"];
        if remotes {
            words.push("refs/remotes");
        }
        let command = self.git.reading(repository, words);
        let output = self.git.run(cx, command, MAX_READ).await?;
        let output = output.checked("for-each-ref", repository)?;
        let mut branches = branches::read(&output.stdout);
        let truncated = output.is_cut || branches.len() > MAX_BRANCHES;
        branches.truncate(MAX_BRANCHES);
        if truncated {
            cx.note_truncated();
        }
        let text = branches::in_words(&branches);
        let answer = BranchAnswer {
            branches: Some(branches.into_iter().map(ListedBranch::from).collect()),
            truncated: Some(truncated),
            ..BranchAnswer::default()
        };
        super::super::typed_output(&answer, text)
    }

    async fn create(
        &self,
        cx: &CallContext,
        repository: &Repository,
        name: &str,
        args: &Args,
    ) -> Result<ToolOutput, ToolError> {
        // An upstream would have to be written to git's settings, which are not writable in the sandbox.
        let mut words = vec!["branch", "--no-track", "--end-of-options", name];
        if let Some(start) = &args.start_point {
            names::check_revision("git_branch", "/startPoint", start)?;
            words.push(start);
        }
        self.change(cx, repository, "branch", &words, name).await
    }

    async fn switch(
        &self,
        cx: &CallContext,
        repository: &Repository,
        name: &str,
    ) -> Result<ToolOutput, ToolError> {
        // Git would get stuck half-way at a file that nothing in the sandbox can change.
        let full = format!("refs/heads/{name}");
        let words = [
            "diff",
            "--name-only",
            "-z",
            "--no-renames",
            "--end-of-options",
            "HEAD",
            &full,
            "--",
        ];
        let command = self.git.reading(repository, words);
        let differing = self.git.run(cx, command, 4 * MAX_READ).await?;
        if differing.exit_code == 0 {
            let paths: Vec<String> = differing
                .stdout
                .split(|byte| *byte == 0)
                .filter(|path| !path.is_empty())
                .map(|path| repository.in_workspace(path))
                .collect();
            let root = repository.root().to_owned();
            let stuck = cx.blocking(move || Ok(protected(&root, &paths))).await?;
            if let Some(path) = stuck {
                let message = format!(
                    "`{name}` has another `{}`, which is not changed in the sandbox since other programs run it later; switch in a \
                     terminal: `git switch {name}`",
                    text::visible_line(&path)
                );
                return Err(ToolError::new(ErrorCode::PermissionDenied, message));
            }
        }
        // Not quiet it would list what has changed, and look into submodules for that.
        let words = [
            "switch",
            "--quiet",
            "--no-guess",
            // Ignored files often cannot be restored.
            "--no-overwrite-ignore",
            "--no-recurse-submodules",
            "--end-of-options",
            name,
        ];
        self.change(cx, repository, "switch", &words, name).await
    }

    async fn delete(
        &self,
        cx: &CallContext,
        repository: &Repository,
        name: &str,
        force: bool,
    ) -> Result<ToolOutput, ToolError> {
        let basis = cx.basis().cloned().unwrap_or_default();
        let hash = self.hash(cx, repository, name).await?;
        match basis["hash"].as_str() {
            Some(agreed) if agreed != hash => {
                return Err(failure::changed(&format!("the branch `{name}`")));
            }
            None if basis["unknown"] != true => {
                return Err(failure::not_asked(&format!("deleting the branch `{name}`")));
            }
            _ => {}
        }
        let how = if force { "-D" } else { "-d" };
        let words = ["branch", how, "--end-of-options", name];
        let command = self.git.command(repository, Hooks::Run, words);
        let output = self
            .git
            .run_shown(cx, self.git.wall(), command, 4096)
            .await?;
        let output = output.checked("branch", repository)?;
        let text = format!("deleted the branch {name}, which was at {hash}\n");
        let answer = BranchAnswer::about(name, hash, said(&output.stderr, repository));
        super::super::typed_output(&answer, text)
    }

    /// Runs a command that makes or switches to a branch, and says where that is.
    async fn change(
        &self,
        cx: &CallContext,
        repository: &Repository,
        verb: &str,
        words: &[&str],
        name: &str,
    ) -> Result<ToolOutput, ToolError> {
        let command = self.git.command(repository, Hooks::Run, words);
        let output = self
            .git
            .run_shown(cx, self.git.wall(), command, 4096)
            .await?;
        if verb == "switch" && output.stderr.contains("invalid reference") {
            let message = format!(
                "there is no branch `{name}`; make it first with `create`, from the branch of a remote with `startPoint`"
            );
            return Err(ToolError::new(ErrorCode::InvalidArguments, message));
        }
        let output = output.checked(verb, repository)?;
        let hash = self.hash(cx, repository, name).await?;
        let done = if verb == "switch" {
            "switched to"
        } else {
            "created"
        };
        let text = format!("{done} the branch {name}, at {hash}\n");
        let answer = BranchAnswer::about(name, hash, said(&output.stderr, repository));
        super::super::typed_output(&answer, text)
    }

    /// The last commit of a branch.
    async fn hash(
        &self,
        cx: &CallContext,
        repository: &Repository,
        name: &str,
    ) -> Result<String, ToolError> {
        let full = format!("refs/heads/{name}");
        let command = self
            .git
            .reading(repository, ["rev-parse", "--verify", "--quiet", &full]);
        let output = self.git.run(cx, command, 256).await?;
        match output.exit_code {
            0 => Ok(output.line()),
            _ => Err(no_branch(name)),
        }
    }
}

/// The question before a branch is deleted.
fn question(git: &Git, args: &Args, name: &str, workspace: &Workspace) -> Approval {
    let reason = "it deletes a branch";
    let shown = text::visible_line(name);
    let looked = Repository::find(workspace, args.path.as_deref()).and_then(|repository| {
        let full = format!("refs/heads/{name}");
        let words = ["rev-parse", "--verify", "--quiet", full.as_str()];
        let found = git.look(workspace, &git.reading(&repository, words), 256)?;
        if found.exit_code != 0 {
            return Err(no_branch(name));
        }
        let hash = found.line();
        // Commits that nothing else leads to.
        let most = format!("--max-count={MAX_COUNTED}");
        let exclude = format!("--exclude={name}");
        let words = [
            "rev-list",
            &most,
            &hash,
            "--not",
            &exclude,
            "--branches",
            "--remotes",
            "--tags",
        ];
        let only = git.look(workspace, &git.reading(&repository, words), MAX_READ)?;
        let only = only.checked("rev-list", &repository)?;
        let only = only
            .stdout
            .split(|byte| *byte == b'\n')
            .count()
            .saturating_sub(1);
        Ok((hash, only))
    });
    match looked {
        Ok((hash, only)) => {
            let lost = match only {
                0 => "nothing is lost: other branches have its commits".to_owned(),
                1 => "1 commit is on no other branch".to_owned(),
                MAX_COUNTED => format!("{MAX_COUNTED} commits or more are on no other branch"),
                only => format!("{only} commits are on no other branch"),
            };
            let refused = match (only, args.force) {
                (1.., false) => ", so git will refuse without `force`",
                _ => "",
            };
            let short = &hash[..hash.len().min(10)];
            Approval::ask(reason)
                .with_effect(format!(
                    "delete the branch `{shown}` at {short}; {lost}{refused}"
                ))
                .with_basis(json!({"hash": hash}))
        }
        Err(error) if is_unknown(&error) => Approval::ask(reason)
            .with_effect(format!(
                "delete the branch `{shown}`; what is lost is not known ({error})"
            ))
            .with_basis(json!({"unknown": true})),
        Err(error) => Approval::allow().with_effect(format!("delete nothing: {error}")),
    }
}

/// The first of some paths of the workspace that cannot be changed in the sandbox. Of many only those are looked at whose
/// names say so.
fn protected(root: &Path, paths: &[String]) -> Option<String> {
    const MANY: usize = 100;
    let is_named = |path: &str| {
        path.split('/')
            .any(|name| toolcrib_sandbox::is_protected_name(name.as_ref()))
    };
    let looked_at = |path: &&String| paths.len() <= MANY || is_named(path);
    let mut looked_at = paths.iter().filter(looked_at);
    let found = looked_at.find(|path| {
        let found = toolcrib_sandbox::protected_name(root, Path::new(path));
        found.map_or(true, |found| found.is_some())
    });
    found.cloned()
}

fn no_branch(name: &str) -> ToolError {
    let message =
        format!("there is no branch `{name}`; `git_branch` with `list` shows what there is");
    ToolError::new(ErrorCode::InvalidArguments, message)
}

fn said(stderr: &str, repository: &Repository) -> String {
    let said = failure::without_root(stderr.trim(), repository.root());
    // Git cannot forget a deleted branch's upstream where its settings cannot be written; nothing comes of that.
    let lines = said.lines().filter(|line| {
        !line.contains("could not write config file")
            && !line.contains("update of config-file failed")
    });
    text::shorten(&lines.collect::<Vec<_>>().join("\n"), 4000)
}
