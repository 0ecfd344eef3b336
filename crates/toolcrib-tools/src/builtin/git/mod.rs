//! The tools of git: `git_status`, `git_diff`, `git_log`, `git_add`, `git_commit`, `git_branch`, `git_push`.
//!
//! A repository is a program's worth of hostile input: its settings and attributes name hooks, filters, helpers, drivers and addresses
//! that git runs or asks. So git itself runs behind the wall, always, at level `process` and never lower, and whatever it starts is
//! behind the same wall. What a tool has no use for is switched off besides (`invoke`). No argument can become an option: paths
//! are literal and come after `--`, names are read before git sees them (`names`).
//!
//! - `repository`: which repository is meant, found without git; all of it lies in the workspace, or it is refused.
//! - `invoke`: how git is run; `failure`: what its errors mean.
//! - `porcelain`, `changes`, `branches`: its output, read as bytes.
//! - `staged`, `outgoing`: what a commit or a push would do, looked at before it is asked about and again before it is done.
//! - `remote`, `credentials`, `sending`, `upstream`: where a push goes, as whom, how, and what is noted of it.
//!
//! Commits and pushes ask, and do what the answer was about: the state that was shown is looked at again before anything happens.

mod add;
mod branch;
mod branches;
mod changes;
mod commit;
mod credentials;
mod diff;
mod failure;
mod invoke;
mod log;
mod names;
mod outgoing;
mod porcelain;
mod push;
mod remote;
mod repository;
mod sending;
mod staged;
mod status;
mod upstream;

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use schemars::{SchemaGenerator, json_schema};

use super::Family;
use crate::process::Runner;
use crate::secret::SecretStore;
use crate::tool::Tool;
use invoke::Git;

/// What can be set about the tools of git.
#[derive(Debug, Clone, Default)]
pub struct GitSettings {
    /// The name to commit under (`git.name`); what git's settings say if not said.
    pub name: Option<String>,
    /// The address to commit under (`git.email`); what git's settings say if not said.
    pub email: Option<String>,
    /// The name of the secret that a push over HTTP logs in with (`git.secret`).
    pub secret: Option<String>,
}

/// What to do where there is no git.
const NO_GIT: &str = "there is no program `git` on the PATH; install git: `apt install git`, `dnf install git`, `apk add git` or `brew install git`";

/// The tools.
pub(super) fn tools(
    settings: &GitSettings,
    secrets: Option<&SecretStore>,
    runner: &Arc<Runner>,
) -> Family {
    let git = Arc::new(Git::new(
        settings.clone(),
        secrets.cloned(),
        Arc::clone(runner),
    ));
    let missing = (!is_on(&path())).then(|| NO_GIT.to_owned());
    let tools: [Arc<dyn Tool>; 7] = [
        Arc::new(status::GitStatus::new(&git)),
        Arc::new(diff::GitDiff::new(&git)),
        Arc::new(log::GitLog::new(&git)),
        Arc::new(add::GitAdd::new(&git)),
        Arc::new(commit::GitCommit::new(&git)),
        Arc::new(branch::GitBranch::new(&git)),
        Arc::new(push::GitPush::new(&git)),
    ];
    tools.map(|tool| (tool, missing.clone())).into()
}

/// The schema of a text of a result that may be null.
fn text_or_null(_: &mut SchemaGenerator) -> schemars::Schema {
    json_schema!({"anyOf": [{"type": "string"}, {"type": "null"}]})
}

/// The directories that programs are looked for in.
fn path() -> OsString {
    std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())
}

/// Whether there is a program `git` in one of these directories; relative ones do not count.
fn is_on(path: &OsStr) -> bool {
    std::env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join("git"))
        .filter_map(|program| program.metadata().ok())
        .any(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::effects::Effects;
    use crate::process::SandboxOptions;
    use crate::schema::Schema;

    #[test]
    fn a_program_that_is_missing_or_cannot_be_run_is_not_git() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().as_os_str();
        assert!(!is_on(path));
        std::fs::write(directory.path().join("git"), "").unwrap();
        assert!(!is_on(path));
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(directory.path().join("git"), mode).unwrap();
        assert!(is_on(path));
        assert!(!is_on(OsStr::new("relative")));
    }

    #[test]
    fn the_published_schemas_follow_the_rules_for_authors() {
        let runner = Arc::new(Runner::new(SandboxOptions::default()));
        for (tool, _) in tools(&GitSettings::default(), None, &runner) {
            let spec = tool.spec();
            Schema::authored(spec.input_schema.as_value().clone()).unwrap();
            let reads = ["git_status", "git_diff", "git_log"].contains(&spec.name.as_str());
            assert_eq!(spec.effects == Effects::READ, reads, "{}", spec.name);
            let asks = ["git_commit", "git_push", "git_branch"].contains(&spec.name.as_str());
            assert_eq!(spec.asks.is_some(), asks, "{}", spec.name);
            assert_eq!(spec.looks_first, asks, "{}", spec.name);
        }
    }
}
