//! What a push would send where, looked at before it is asked about and again before it is made.
//!
//! What leaves is a commit by its id, to an address that was judged: neither a branch that moved nor a setting that changed
//! meanwhile can make it another. And git does not read the repository's settings while the wall is open: the push is made
//! from an empty repository of ours that borrows the objects, so that nothing the repository names runs beside the credentials.

use std::fmt::Write as _;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::credentials::{self, Origin};
use super::failure;
use super::invoke::Git;
use super::names;
use super::remote::RemoteLocation;
use super::repository::Repository;
use crate::model::error::{ErrorCode, ToolError};
use crate::model::names::hex;
use crate::model::text;
use crate::workspace::Workspace;

/// How many commits are counted, and how many of them are named.
const MAX_COUNTED: usize = 1000;
const MAX_NAMED: usize = 10;

/// How much of git's output is read.
const MAX_READ: usize = 1 << 20;

/// What a push is asked to do.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    pub(super) remote: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) force: bool,
    pub(super) set_upstream: bool,
}

/// What a push would send where.
#[derive(Debug, Clone)]
pub(super) struct Outgoing {
    pub(super) branch: String,
    /// The commit that leaves.
    pub(super) hash: String,
    /// The first line of its message.
    subject: String,
    pub(super) remote: String,
    pub(super) place: RemoteLocation,
    pub(super) origin: Origin,
    /// The commit that the remote's branch was at when it was last heard of.
    pub(super) tracked: Option<String>,
    /// Whether the upstream has yet to be noted.
    pub(super) sets_upstream: bool,
    /// The address as the settings have it.
    address: String,
    commits: Vec<String>,
    /// Commits of the remote's branch that would be gone.
    lost: usize,
    force: bool,
}

impl Outgoing {
    /// Looks at it. Blocks.
    pub(super) fn look(
        git: &Git,
        workspace: &Workspace,
        repository: &Repository,
        wanted: &Wanted,
    ) -> Result<Self, ToolError> {
        let look = |words: &[&str]| {
            let command = git.reading(repository, words);
            git.look(workspace, &command, MAX_READ)
        };
        let branch = match &wanted.branch {
            Some(branch) => {
                names::check_branch("git_push", "/branch", branch)?;
                branch.clone()
            }
            None => {
                let head = look(&["symbolic-ref", "--quiet", "HEAD"])?.line();
                let branch = head.strip_prefix("refs/heads/").map(str::to_owned);
                branch.ok_or_else(|| {
                    ToolError::failed(
                        "no branch is checked out; say which one to push with `branch`",
                    )
                })?
            }
        };
        let full = format!("refs/heads/{branch}");
        let format = "--format=%(refname)%00%(objectname)%00%(push:remotename)%00%(upstream:remotename)%00%(upstream:remoteref)%00";
        let found = look(&["for-each-ref", format, &full])?.checked("for-each-ref", repository)?;
        let text = String::from_utf8_lossy(&found.stdout).into_owned();
        let fields: Vec<&str> = text.split('\0').collect();
        let [name, hash, push_remote, upstream_remote, upstream_ref, ..] = fields[..] else {
            return Err(no_branch(&branch));
        };
        if name != full {
            return Err(no_branch(&branch));
        }
        let remote = match (&wanted.remote, push_remote) {
            (Some(remote), _) => remote.clone(),
            (None, "") => "origin".to_owned(),
            (None, remote) => remote.to_owned(),
        };
        names::check_remote("git_push", "/remote", &remote)?;
        let urls = look(&["remote", "get-url", "--push", "--all", "--", &remote])?;
        if urls.exit_code != 0 {
            return Err(no_remote(&remote));
        }
        let urls = urls.line();
        let mut lines = urls.lines();
        let (Some(address), None) = (lines.next(), lines.next()) else {
            let message = format!(
                "the remote `{remote}` has several addresses to push to; push from a terminal, or leave one of them"
            );
            return Err(ToolError::failed(message));
        };
        let place = RemoteLocation::of(address, repository, workspace, git.runner.egress())?;
        let origin = match &place {
            RemoteLocation::Web(web) => credentials::origin(git, web)?,
            RemoteLocation::Inside(_) | RemoteLocation::Outside(_) => Origin::Nobody,
        };
        let sets_upstream = wanted.set_upstream
            && match (upstream_remote, upstream_ref) {
                ("", _) => true,
                (of, at) if of == remote && at == full => false,
                _ => {
                    let message = format!(
                        "`{branch}` follows another branch already; `git branch --set-upstream-to` in a terminal changes that"
                    );
                    return Err(ToolError::new(ErrorCode::Conflict, message));
                }
            };
        let tracking = format!("refs/remotes/{remote}/{branch}");
        let tracked = look(&["rev-parse", "--verify", "--quiet", &tracking])?;
        let tracked = (tracked.exit_code == 0).then(|| tracked.line());
        let most = format!("--max-count={MAX_COUNTED}");
        let remotes = format!("--remotes={remote}");
        let known = match &tracked {
            Some(tracked) => tracked.as_str(),
            None => &remotes,
        };
        let subjects = |words: &[&str]| -> Result<Vec<String>, ToolError> {
            let mut all = vec!["log", "-z", "--format=tformat:%h %s", "--no-patch", &most];
            all.extend(words);
            all.push("--");
            let output = look(&all)?.checked("log", repository)?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            Ok(text.split_terminator('\0').map(str::to_owned).collect())
        };
        let commits = subjects(&[hash, "--not", known])?;
        let lost = match (&tracked, wanted.force) {
            (Some(tracked), true) => subjects(&[tracked, "--not", hash])?.len(),
            (None, true) => {
                let message = format!(
                    "nothing is known here of `{branch}` on `{remote}`, so `force` could overwrite anything; push without `force`, or fetch first"
                );
                return Err(ToolError::new(ErrorCode::Conflict, message));
            }
            (_, false) => 0,
        };
        let subject = look(&["log", "-1", "--format=tformat:%s", "--no-patch", hash, "--"])?;
        let subject = subject.checked("log", repository)?.line();
        Ok(Outgoing {
            hash: hash.to_owned(),
            subject,
            address: address.to_owned(),
            branch,
            remote,
            place,
            origin,
            tracked,
            sets_upstream,
            commits,
            lost,
            force: wanted.force,
        })
    }

    /// What an answer rests on.
    pub(super) fn basis(&self) -> Value {
        // An address may have a password in it, and the basis is written down.
        let address = hex(&Sha256::digest(self.address.as_bytes()));
        json!({
            "branch": self.branch,
            "hash": self.hash,
            "remote": self.remote,
            "address": address,
            "place": hex(&Sha256::digest(self.place.address().as_bytes())),
            "tracked": self.tracked,
            "setsUpstream": self.sets_upstream,
        })
    }

    /// What a person decides on.
    pub(super) fn effect(&self, workspace: &Workspace) -> String {
        let count = match self.commits.len() {
            // The state of the remote is known here by a ref, which any writer of the repository can set.
            0 => format!(
                "nothing new as far as is known here (up to {} {})",
                &self.hash[..self.hash.len().min(10)],
                text::shorten(&text::visible_line(&self.subject), 100)
            ),
            1 => "1 commit".to_owned(),
            MAX_COUNTED => format!("{MAX_COUNTED} commits or more"),
            count => format!("{count} commits"),
        };
        let branch = text::visible_line(&self.branch);
        let mut words = format!(
            "push {count} of `{branch}` to `{}` ({})",
            self.remote,
            self.place.shown(workspace)
        );
        match &self.origin {
            Origin::Kept(name) => {
                let _ = write!(words, ", logged in with the secret `{name}`");
            }
            Origin::Address => words.push_str(", logged in with the password in its address"),
            Origin::Nobody => {}
        }
        if self.tracked.is_none() {
            words.push_str(", where nothing is known of this branch");
        }
        if self.force {
            let lost = match self.lost {
                1 => "1 commit".to_owned(),
                lost => format!("{lost} commits"),
            };
            let _ = write!(
                words,
                ", by force: {lost} that the branch has there would be gone from it"
            );
        }
        if self.sets_upstream {
            let _ = write!(
                words,
                ", and note in `.git/config` that `{branch}` follows it"
            );
        }
        for commit in self.commits.iter().take(MAX_NAMED) {
            let _ = write!(
                words,
                "\n{}",
                text::shorten(&text::visible_line(commit), 200)
            );
        }
        if self.commits.len() > MAX_NAMED {
            let _ = write!(words, "\n… and {} more", self.commits.len() - MAX_NAMED);
        }
        words
    }

    /// Refuses what is not what was agreed to.
    pub(super) fn check(&self, basis: Option<&Value>) -> Result<(), ToolError> {
        match basis {
            None => Err(failure::not_asked("the push")),
            Some(basis) if basis["unknown"] == true => Ok(()),
            Some(basis) if *basis == self.basis() => Ok(()),
            Some(_) => Err(failure::changed("what would be pushed, or where to,")),
        }
    }

    /// The id that stands for no commit.
    pub(super) fn no_commit(&self) -> String {
        "0".repeat(self.hash.len())
    }
}

fn no_branch(branch: &str) -> ToolError {
    let message = format!(
        "there is no branch `{branch}` with a commit; `git_branch` with `list` shows what there is"
    );
    ToolError::new(ErrorCode::InvalidArguments, message)
}

fn no_remote(remote: &str) -> ToolError {
    let message = format!(
        "there is no remote `{remote}`; `git remote add {remote} ADDRESS` in a terminal makes one"
    );
    ToolError::new(ErrorCode::InvalidArguments, message)
}
