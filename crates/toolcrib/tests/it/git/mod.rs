//! The tools of git on real repositories, behind the real sandbox, through the whole pipeline.

mod hostile;
mod pushing;
mod reading;
mod repositories;
mod web;
mod writing;

use std::path::Path;
use std::process::Command;
use toolcrib::RegisterBuiltins as _;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tempfile::TempDir;
use toolcrib::approval::{ApprovalRequest, ApprovalResponse, Approver, NoAnswer};
use toolcrib::builtin::{BuiltinOptions, GitSettings};
use toolcrib::testing::TestCrib;
use toolcrib::workspace::Workspace;
use toolcrib::{CallRequest, Outcome, Registry};

use crate::tools::args;

/// Whether there is a git to test with; says so if there is none.
pub(super) fn has_git() -> bool {
    let found = Command::new("git").arg("--version").output().is_ok();
    if !found {
        crate::skipped(format_args!("there is no program `git`"));
    }
    found
}

/// A workspace that is a repository, on the branch `main`, with no one's settings around it.
pub(super) struct Repo {
    pub(super) test: TestCrib,
    home: TempDir,
}

impl Repo {
    pub(super) fn new() -> Self {
        Repo::with(BuiltinOptions::default())
    }

    pub(super) fn with(options: BuiltinOptions) -> Self {
        let repo = Repo::empty(options, TestCrib::new());
        repo.git(&["init", "--quiet", "--initial-branch=main", "."]);
        repo
    }

    /// A workspace without a repository.
    pub(super) fn empty(options: BuiltinOptions, test: TestCrib) -> Self {
        let git = GitSettings {
            name: options.git.name.or(Some("Ada".to_owned())),
            email: options.git.email.or(Some("ada@example.com".to_owned())),
            ..options.git
        };
        let options = BuiltinOptions { git, ..options };
        test.registry().register_builtins_with(options).unwrap();
        Repo {
            test,
            home: TempDir::new().unwrap(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.test.path()
    }

    pub(super) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(super) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path().join(path)).unwrap()
    }

    /// Runs git outside of any wall, as the person would; returns what it printed.
    pub(super) fn git(&self, words: &[&str]) -> String {
        self.git_in(self.path(), words)
    }

    pub(super) fn git_in(&self, directory: &Path, words: &[&str]) -> String {
        let output = Command::new("git")
            .current_dir(directory)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.home.path())
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
            .args(["-c", "protocol.file.allow=always"])
            .args(words)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {words:?}: {error}");
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }

    /// A commit of everything, made as the person would.
    pub(super) fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(super) async fn call(&self, tool: &str, arguments: Value) -> Outcome {
        let request = CallRequest::new(tool).args(args(arguments));
        self.test.registry().execute(request).await
    }

    /// What a call gives that has to go well.
    pub(super) async fn value(&self, tool: &str, arguments: Value) -> Value {
        let outcome = self.call(tool, arguments.clone()).await;
        let value = outcome.value().cloned();
        value.unwrap_or_else(|| panic!("{tool} {arguments}: {:?}", outcome.error()))
    }

    /// The effect of the last question.
    pub(super) fn asked(&self) -> String {
        let asked = self.test.asked();
        asked
            .last()
            .map(|asked| asked.effect.clone())
            .expect("no one was asked")
    }
}

pub(super) fn yes() -> ApprovalResponse {
    ApprovalResponse::approve("test")
}

/// A workspace whose questions are all answered with yes.
pub(super) fn agreeing() -> TestCrib {
    TestCrib::new().answers((0..20).map(|_| yes()))
}

pub(super) fn message(outcome: &Outcome) -> String {
    let error = outcome.error();
    error
        .unwrap_or_else(|| panic!("{outcome:?}"))
        .message()
        .to_owned()
}

/// Changes something between the question and the call.
pub(super) struct Meddling {
    change: Box<dyn Fn() + Send + Sync>,
}

impl Approver for Meddling {
    fn decide(
        &self,
        _request: ApprovalRequest,
    ) -> BoxFuture<'_, Result<ApprovalResponse, NoAnswer>> {
        (self.change)();
        Box::pin(std::future::ready(Ok(yes())))
    }
}

impl Meddling {
    /// The built-in tools in a workspace where this happens between a question and its answer, which is yes.
    pub(super) fn with(workspace: &Path, change: impl Fn() + Send + Sync + 'static) -> Registry {
        let registry = Registry::builder()
            .workspace(Workspace::open(workspace).unwrap())
            .approver(Meddling {
                change: Box::new(change),
            })
            .build();
        registry.register_builtins().unwrap();
        registry
    }
}
