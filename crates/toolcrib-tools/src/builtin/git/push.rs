//! `git_push`: sends commits to a remote, after approval.
//!
//! The wall is opened for the one place that was judged and shown, and for nothing else. The repository's `pre-push` hook runs
//! first, by itself, behind the closed wall: beside the credentials no program of the repository runs (`sending`).

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::commit::is_unknown;
use super::credentials;
use super::failure;
use super::invoke::{Git, Hooks, Output};
use super::outgoing::{Outgoing, Wanted};
use super::remote::RemoteLocation;
use super::repository::{self, Repository};
use super::sending::{self, PushedRef};
use super::upstream;
use crate::call::context::CallContext;
use crate::egress::Egress;
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

/// How long it may take.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The tool.
pub(super) struct GitPush {
    spec: Arc<ToolSpec>,
    git: Arc<Git>,
}

impl GitPush {
    pub(super) fn new(git: &Arc<Git>) -> Self {
        GitPush {
            spec: Arc::new(spec()),
            git: Arc::clone(git),
        }
    }
}

fn spec() -> ToolSpec {
    let mut spec = super::super::typed_spec::<Args, Pushed>(
        "git_push",
        "Git push",
        "Push a branch to a remote of the repository, after approval: over http or https, or to a repository on this machine. ssh is not \
         possible in the sandbox. The repository's pre-push hook runs first, without network.",
        Effects::READ.and(Effects::WRITE).and(Effects::RUN),
    );
    spec.keywords = crate::builtin::keywords(&[
        "upload", "publish", "remote", "origin", "send", "share", "github", "gitlab",
    ]);
    spec.traits = Traits {
        destroys: Some(true),
        idempotent: Some(true),
        open_world: Some(true),
    };
    spec.roles = vec![("path".to_owned(), Role::Directory)];
    spec.asks = Some(
        "always, with what would leave and where to; with `force` every time, whatever was granted"
            .to_owned(),
    );
    spec.looks_first = true;
    spec.examples = vec![
        json!({}),
        json!({"remote": "origin", "branch": "feature/login", "setUpstream": true}),
    ];
    spec.limits = LimitsPatch {
        timeout_ms: Some(as_millis(TIMEOUT)),
        ..LimitsPatch::default()
    };
    spec
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    #[schemars(description = repository::PATH)]
    path: Option<String>,
    /// Name of the remote; the one that the branch is pushed to by git's settings, or origin, if left out
    #[schemars(length(min = 1, max = 200))]
    remote: Option<String>,
    /// The branch to push, to a branch of the same name; the one that is checked out if left out
    #[schemars(length(min = 1, max = 200))]
    branch: Option<String>,
    /// Also note that the branch follows the remote's
    #[serde(default)]
    set_upstream: bool,
    /// Replace the remote's branch, if it still is where it was when it was last heard of (force-with-lease)
    #[serde(default)]
    force: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Pushed<'a> {
    /// Name of the remote
    remote: &'a str,
    /// Where it is, without credentials
    url: &'a str,
    /// The branch that was pushed
    branch: &'a str,
    /// The commit that it is at, there as here
    hash: &'a str,
    /// What became of each branch there
    refs: Vec<PushedRef>,
    /// What the branch follows now, if that was noted
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream: Option<String>,
    /// What did not go as wished besides
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// What the server had to say
    #[serde(skip_serializing_if = "String::is_empty")]
    said: String,
}

impl Args {
    fn wanted(&self) -> Wanted {
        Wanted {
            remote: self.remote.clone(),
            branch: self.branch.clone(),
            force: self.force,
            set_upstream: self.set_upstream,
        }
    }
}

impl Tool for GitPush {
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
            let workspace = cx.workspace()?.clone();
            let repository = Repository::find(&workspace, args.path.as_deref())?;
            let outgoing = {
                let (git, workspace) = (Arc::clone(&self.git), Arc::clone(&workspace));
                let (repository, wanted) = (repository.clone(), args.wanted());
                cx.blocking(move || Outgoing::look(&git, &workspace, &repository, &wanted))
                    .await?
            };
            outgoing.check(cx.basis())?;
            self.ask_hook(&cx, &repository, &outgoing).await?;
            let pushed = self.push(&cx, &repository, &outgoing, args.force).await?;
            let refs = sending::read(&pushed.stdout);
            if pushed.exit_code != 0 {
                return Err(sending::refused(&pushed, &refs, &outgoing, &repository));
            }
            self.done(&cx, &repository, &outgoing, &pushed, refs).await
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
    let looked = Repository::find(workspace, args.path.as_deref())
        .and_then(|repository| Outgoing::look(git, workspace, &repository, &args.wanted()));
    let approval = match looked {
        Ok(outgoing) => Approval::ask("it sends commits elsewhere")
            .with_effect(outgoing.effect(workspace))
            .with_basis(outgoing.basis()),
        Err(error) if is_unknown(&error) => Approval::ask("it sends commits elsewhere")
            .with_effect(format!(
                "push a branch; what would leave and where to is not known ({error})"
            ))
            .with_basis(json!({"unknown": true})),
        // What cannot work needs no one's approval: the call will fail and say why. Without a basis nothing leaves, should it
        // work by then.
        Err(error) => return Approval::allow().with_effect(format!("push nothing: {error}")),
    };
    match args.force {
        true => approval.every_time(),
        false => approval,
    }
}

impl GitPush {
    /// Runs the hook that may refuse a push, without a way out and without credentials.
    async fn ask_hook(
        &self,
        cx: &CallContext,
        repository: &Repository,
        outgoing: &Outgoing,
    ) -> Result<(), ToolError> {
        let address = outgoing.place.address();
        let words = [
            "hook",
            "run",
            "--ignore-missing",
            "--to-stdin=/dev/stdin",
            "pre-push",
            "--",
            &outgoing.remote,
            &address,
        ];
        let none = outgoing.no_commit();
        let (branch, hash) = (&outgoing.branch, &outgoing.hash);
        let there = outgoing.tracked.as_ref().unwrap_or(&none);
        let line = format!("refs/heads/{branch} {hash} refs/heads/{branch} {there}\n");
        let command = self
            .git
            .command(repository, Hooks::Run, words)
            .stdin(Stdin::Bytes(line.into_bytes()));
        let wall = self.git.wall();
        let output = self.git.run_shown(cx, wall, command, 64 * 1024).await?;
        if output.exit_code == 0 {
            return Ok(());
        }
        let is_old = ["is not a git command", "unknown option"];
        if is_old.iter().any(|words| output.stderr.contains(words)) {
            let message = "this git is too old to run the repository's pre-push hook by itself; install git 2.40 or newer";
            return Err(ToolError::new(ErrorCode::ToolUnavailable, message));
        }
        let said = failure::without_root(output.stderr.trim(), repository.root());
        let said = text::shorten(&text::visible(&said), 2000);
        let message = format!(
            "the repository's pre-push hook refused (exit code {}), or could not do without network: {said}",
            output.exit_code
        );
        Err(ToolError::failed(message).with_detail("exitCode", output.exit_code))
    }

    /// Pushes, from an empty repository of ours.
    async fn push(
        &self,
        cx: &CallContext,
        repository: &Repository,
        outgoing: &Outgoing,
        force: bool,
    ) -> Result<Output, ToolError> {
        let ours = {
            let workspace = cx.workspace()?.clone();
            let (repository, outgoing) = (repository.clone(), outgoing.clone());
            let git = Arc::clone(&self.git);
            cx.blocking(move || {
                let more = git.runner.egress().map(Egress::certificates);
                sending::empty_repository(&workspace, &repository, &outgoing, more)
            })
            .await?
        };
        let login = match &outgoing.place {
            RemoteLocation::Web(web) => credentials::login(&self.git, web, &outgoing.origin)?,
            RemoteLocation::Inside(_) | RemoteLocation::Outside(_) => None,
        };
        let command = sending::command(ours.path(), repository, outgoing, force, login.as_ref());
        let wall = outgoing.place.wall(ours.path());
        let pushed = self.git.run_shown(cx, &wall, command, 64 * 1024).await;
        // Removing it blocks; so does what is left of the sandbox that has it in it.
        let _ = cx
            .blocking(move || {
                drop(ours);
                Ok(())
            })
            .await;
        pushed
    }

    /// The remaining steps, and their result.
    async fn done(
        &self,
        cx: &CallContext,
        repository: &Repository,
        outgoing: &Outgoing,
        pushed: &Output,
        refs: Vec<PushedRef>,
    ) -> Result<ToolOutput, ToolError> {
        let (remote, branch) = (&outgoing.remote, &outgoing.branch);
        let mut notes = Vec::new();
        self.note_there(cx, repository, outgoing).await?;
        let mut upstream = None;
        if outgoing.sets_upstream {
            let (workspace, repository) = (cx.workspace()?.clone(), repository.clone());
            let (remote, branch) = (remote.clone(), branch.clone());
            let noted =
                cx.blocking(move || upstream::set(&workspace, &repository, &remote, &branch));
            match noted.await {
                Ok(()) => upstream = Some(format!("{}/{}", outgoing.remote, outgoing.branch)),
                Err(error) => notes.push(format!("the upstream was not noted: {error}")),
            }
        }
        let url = outgoing.place.shown(cx.workspace()?);
        let is_new = refs.iter().any(|reference| reference.status != "upToDate");
        let mut words = match is_new {
            true => format!("pushed {branch} to {remote} ({url})\n"),
            false => format!("{remote} ({url}) has {branch} as it is here already\n"),
        };
        for reference in &refs {
            let PushedRef {
                to,
                status,
                summary,
            } = reference;
            let _ = writeln!(words, "{status} {to}: {summary}");
        }
        for note in &notes {
            let _ = writeln!(words, "{note}");
        }
        let said = failure::without_root(pushed.stderr.trim(), repository.root());
        let pushed = Pushed {
            remote,
            url: &url,
            branch,
            hash: &outgoing.hash,
            refs,
            upstream,
            notes,
            said: text::shorten(&said, 4000),
        };
        super::super::typed_output(&pushed, words)
    }

    /// Notes where the remote's branch is now, as git would: if the settings say that it is followed where it usually is.
    async fn note_there(
        &self,
        cx: &CallContext,
        repository: &Repository,
        outgoing: &Outgoing,
    ) -> Result<(), ToolError> {
        let (remote, branch) = (&outgoing.remote, &outgoing.branch);
        let key = format!("remote.{remote}.fetch");
        let command = self.git.reading(repository, ["config", "--get-all", &key]);
        let followed = self.git.run(cx, command, 64 * 1024).await?;
        let usual = format!("refs/heads/*:refs/remotes/{remote}/*");
        let followed = String::from_utf8_lossy(&followed.stdout)
            .lines()
            .any(|line| line.trim_start_matches('+') == usual);
        if !followed {
            return Ok(());
        }
        let there = format!("refs/remotes/{remote}/{branch}");
        let words = ["update-ref", "-m", "update by push", &there, &outgoing.hash];
        let command = self.git.command(repository, Hooks::Off, words);
        // That the push went well does not hang on it.
        self.git.run(cx, command, 4096).await.map(drop)
    }
}
