//! Which repository is used, and which are refused with a reason.

use serde_json::json;
use tempfile::TempDir;
use toolcrib::RegisterBuiltins as _;
use toolcrib::builtin::{BuiltinOptions, SandboxOptions, SandboxSettings};
use toolcrib::sandbox::{Layer, Sandbox};
use toolcrib::testing::TestCrib;
use toolcrib::workspace::Workspace;
use toolcrib::{ErrorCode, Registry};

use super::{Repo, has_git, message};
use crate::tools::code;

const TOOLS: [&str; 3] = ["git_status", "git_diff", "git_log"];

#[tokio::test]
async fn a_repository_that_lies_elsewhere_is_refused_with_what_to_do() {
    if !has_git() {
        return;
    }
    let outside = TempDir::new().unwrap();
    let repo = Repo::empty(BuiltinOptions::default(), TestCrib::new());
    repo.git_in(outside.path(), &["init", "--quiet", "main"]);
    let main = outside.path().join("main");
    repo.git_in(
        &main,
        &["commit", "--quiet", "--allow-empty", "-m", "SECRET-CANARY"],
    );
    let linked = repo.path().join("linked");
    repo.git_in(
        &main,
        &["worktree", "add", "--quiet", linked.to_str().unwrap()],
    );
    std::fs::create_dir(repo.path().join("link")).unwrap();
    std::os::unix::fs::symlink(main.join(".git"), repo.path().join("link/.git")).unwrap();
    std::fs::create_dir(repo.path().join("shared")).unwrap();
    repo.git(&["init", "--quiet", "shared"]);
    let common = format!("{}\n", main.join(".git").display());
    repo.write("shared/.git/commondir", common);
    for tool in TOOLS {
        for path in ["linked", "link", "shared"] {
            let outcome = repo.call(tool, json!({"path": path})).await;
            assert_eq!(
                code(&outcome),
                ErrorCode::InvalidPath,
                "{tool} {path}: {outcome:?}"
            );
            let said = format!("{outcome:?}");
            assert!(
                said.contains("outside of the workspace") && said.contains("clone"),
                "{said}"
            );
            assert!(
                !said.contains("SECRET-CANARY") && !said.contains(outside.path().to_str().unwrap()),
                "{said}"
            );
        }
    }
}

#[tokio::test]
async fn a_workspace_that_is_a_part_of_a_repository_says_so() {
    if !has_git() {
        return;
    }
    let above = Repo::new();
    above.write("part/a", "1\n");
    let workspace = Workspace::open(&above.path().join("part")).unwrap();
    let registry = Registry::builder().workspace(workspace).build();
    registry.register_builtins().unwrap();
    for tool in TOOLS {
        let outcome = registry.execute(toolcrib::CallRequest::new(tool)).await;
        assert_eq!(code(&outcome), ErrorCode::InvalidPath);
        assert!(message(&outcome).contains("begins above it"), "{outcome:?}");
    }
}

#[tokio::test]
async fn another_tree_in_the_settings_is_refused_and_a_submodules_own_is_not() {
    if !has_git() {
        return;
    }
    let repo = Repo::new();
    repo.write("lib/a", "1\n");
    repo.git(&["init", "--quiet", "--initial-branch=main", "lib"]);
    repo.git_in(&repo.path().join("lib"), &["add", "a"]);
    repo.git_in(
        &repo.path().join("lib"),
        &["commit", "--quiet", "-m", "lib"],
    );
    repo.git(&["submodule", "--quiet", "add", "./lib", "sub"]);
    let status = repo.value("git_status", json!({"path": "sub"})).await;
    assert_eq!(status["clean"], true);
    repo.git(&["config", "core.worktree", "/etc"]);
    for tool in TOOLS {
        let outcome = repo.call(tool, json!({})).await;
        assert_eq!(code(&outcome), ErrorCode::InvalidPath);
        assert!(message(&outcome).contains("core.worktree"), "{outcome:?}");
    }
    // Where only git would find it, an option overrides git.
    repo.git(&["config", "--unset", "core.worktree"]);
    repo.git(&["config", "include.path", "more"]);
    repo.write(".git/more", "[core]\n\tworktree = /etc\n");
    let status = repo
        .value("git_status", json!({"untracked": "files"}))
        .await;
    assert!(!status.to_string().contains("passwd"), "{status}");
}

#[tokio::test]
async fn bare_and_broken_repositories_have_their_own_words() {
    if !has_git() {
        return;
    }
    let repo = Repo::empty(BuiltinOptions::default(), TestCrib::new());
    repo.git(&["init", "--quiet", "--bare", "bare"]);
    let outcome = repo.call("git_status", json!({"path": "bare"})).await;
    assert!(message(&outcome).contains("bare repository"), "{outcome:?}");
    repo.write("broken/.git", "not what git writes");
    let outcome = repo.call("git_status", json!({"path": "broken"})).await;
    assert!(
        message(&outcome).contains("not a repository"),
        "{outcome:?}"
    );
    for path in ["..", "/etc", "missing"] {
        let outcome = repo.call("git_status", json!({"path": path})).await;
        assert!(
            matches!(
                code(&outcome),
                ErrorCode::InvalidPath | ErrorCode::FileNotFound
            ),
            "{outcome:?}"
        );
    }
}

#[tokio::test]
async fn without_a_sandbox_nothing_runs() {
    if !has_git() {
        return;
    }
    let support = Sandbox::new()
        .unwrap()
        .support()
        .clone()
        .without(Layer::Landlock);
    let options = SandboxOptions {
        sandbox: Some(Sandbox::with_support(support).unwrap()),
        ..SandboxOptions::default()
    };
    let repo = Repo::with(BuiltinOptions {
        sandbox: SandboxSettings {
            // What `shell` may do says nothing about git.
            shell: Some(toolcrib::sandbox::Level::None),
            options,
            ..SandboxSettings::default()
        },
        ..BuiltinOptions::default()
    });
    repo.write("a", "1\n");
    for (tool, arguments) in [
        ("git_status", json!({})),
        ("git_log", json!({})),
        ("git_add", json!({"all": true})),
        ("git_commit", json!({"message": "x"})),
        ("git_push", json!({})),
    ] {
        let outcome = repo.call(tool, arguments).await;
        assert_eq!(
            code(&outcome),
            ErrorCode::SandboxUnavailable,
            "{tool}: {outcome:?}"
        );
    }
    assert_eq!(repo.git(&["status", "--porcelain"]), "?? a");
}
