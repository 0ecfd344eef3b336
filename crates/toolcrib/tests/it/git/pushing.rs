//! `git_push` to repositories on this machine, and where it does not go.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib::ErrorCode;
use toolcrib::builtin::BuiltinOptions;

use super::{Meddling, Repo, agreeing, has_git, message};
use crate::tools::code;

/// A repository with one commit and a remote at this address.
fn with_remote(address: &str) -> Repo {
    let repo = Repo::empty(BuiltinOptions::default(), agreeing());
    repo.git(&["init", "--quiet", "--initial-branch=main", "."]);
    repo.write("a", "1\n");
    repo.commit("first");
    repo.git(&["remote", "add", "origin", address]);
    repo
}

fn bare(repo: &Repo, directory: &Path) {
    let directory = directory.to_str().unwrap();
    repo.git(&[
        "init",
        "--quiet",
        "--bare",
        "--initial-branch=main",
        directory,
    ]);
}

#[tokio::test]
async fn a_push_into_the_workspace_and_out_of_it_arrives() {
    if !has_git() {
        return;
    }
    let outside = TempDir::new().unwrap();
    for address in [
        "there.git".to_owned(),
        outside.path().join("there.git").display().to_string(),
    ] {
        let repo = with_remote(&address);
        let there = repo.path().join(&address);
        bare(&repo, &there);
        let pushed = repo.value("git_push", json!({})).await;
        let asked = repo.asked();
        assert!(
            asked.starts_with("push 1 commit of `main` to `origin` ("),
            "{asked}"
        );
        assert!(
            asked.contains("there.git") && asked.contains(" first"),
            "{asked}"
        );
        assert_eq!(
            asked.contains("outside of the workspace"),
            address.starts_with('/'),
            "{asked}"
        );
        assert_eq!(pushed["refs"][0]["status"], "new");
        let head = repo.git(&["rev-parse", "HEAD"]);
        assert_eq!(repo.git_in(&there, &["rev-parse", "main"]), head);
        // Git knows about it as after its own push.
        assert_eq!(repo.git(&["rev-parse", "origin/main"]), head);
        let pushed = repo.value("git_push", json!({})).await;
        assert!(
            repo.asked()
                .starts_with("push nothing new as far as is known here (up to "),
            "{}",
            repo.asked()
        );
        assert_eq!(pushed["refs"][0]["status"], "upToDate");
        repo.write("a", "2\n");
        repo.commit("second");
        let pushed = repo
            .value("git_push", json!({"remote": "origin", "branch": "main"}))
            .await;
        assert_eq!(pushed["refs"][0]["status"], "updated");
    }
}

#[tokio::test]
async fn an_upstream_is_noted_when_wished() {
    if !has_git() {
        return;
    }
    let repo = with_remote("there.git");
    bare(&repo, &repo.path().join("there.git"));
    repo.write(".gitignore", "there.git\n");
    let pushed = repo.value("git_push", json!({"setUpstream": true})).await;
    assert!(
        repo.asked()
            .contains("note in `.git/config` that `main` follows it"),
        "{}",
        repo.asked()
    );
    assert_eq!(pushed["upstream"], "origin/main");
    assert_eq!(
        repo.git(&["rev-parse", "--abbrev-ref", "main@{upstream}"]),
        "origin/main"
    );
    let status = repo.value("git_status", json!({})).await;
    assert_eq!(
        (&status["upstream"], &status["ahead"]),
        (&json!("origin/main"), &json!(0))
    );
    let pushed = repo.value("git_push", json!({"setUpstream": true})).await;
    assert_eq!(pushed.get("upstream"), None);
    assert_eq!(
        repo.git(&["config", "--get-all", "branch.main.merge"]),
        "refs/heads/main"
    );
}

#[tokio::test]
async fn what_the_remote_refuses_is_reported_and_force_asks_every_time_with_what_goes() {
    if !has_git() {
        return;
    }
    let repo = with_remote("there.git");
    let there = repo.path().join("there.git");
    bare(&repo, &there);
    repo.write(".gitignore", "there.git\n");
    repo.value("git_push", json!({})).await;
    repo.git(&["commit", "--quiet", "--amend", "-m", "another first"]);
    let outcome = repo.call("git_push", json!({})).await;
    assert_eq!(code(&outcome), ErrorCode::Conflict);
    assert!(message(&outcome).contains("fetch and merge"), "{outcome:?}");
    let forced = repo.value("git_push", json!({"force": true})).await;
    let asked = repo.test.asked().pop().unwrap();
    assert!(
        asked
            .effect
            .contains("by force: 1 commit that the branch has there"),
        "{}",
        asked.effect
    );
    assert!(asked.offers.is_empty(), "{:?}", asked.offers);
    assert_eq!(forced["refs"][0]["status"], "forced");
    // Someone else pushed meanwhile: the lease does not hold.
    repo.git(&["clone", "--quiet", "there.git", "other"]);
    let other = repo.path().join("other");
    repo.git_in(
        &other,
        &["commit", "--quiet", "--allow-empty", "-m", "someone else's"],
    );
    repo.git_in(&other, &["push", "--quiet"]);
    repo.git(&["commit", "--quiet", "--amend", "-m", "a third first"]);
    let outcome = repo.call("git_push", json!({"force": true})).await;
    assert_eq!(code(&outcome), ErrorCode::Conflict, "{outcome:?}");
    assert_eq!(
        repo.git_in(&there, &["log", "-1", "--format=%s", "main"]),
        "someone else's"
    );
}

#[tokio::test]
async fn a_pre_push_hook_can_refuse() {
    if !has_git() {
        return;
    }
    let repo = with_remote("there.git");
    let there = repo.path().join("there.git");
    bare(&repo, &there);
    repo.write(
        ".git/hooks/pre-push",
        "#!/bin/sh\nread a b c d\necho \"$1 $a $c\" >&2\nexit 3\n",
    );
    use std::os::unix::fs::PermissionsExt as _;
    let hook = repo.path().join(".git/hooks/pre-push");
    std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let outcome = repo.call("git_push", json!({})).await;
    assert!(
        message(&outcome).contains("pre-push hook refused"),
        "{outcome:?}"
    );
    assert!(
        message(&outcome).contains("origin refs/heads/main refs/heads/main"),
        "{outcome:?}"
    );
    assert_eq!(repo.git_in(&there, &["branch", "--all"]), "");
}

#[tokio::test]
async fn other_ways_out_are_refused_without_a_question() {
    if !has_git() {
        return;
    }
    let planted = TempDir::new().unwrap();
    let planted = planted.path().join("x");
    let ext = format!("ext::sh -c touch% {}", planted.display());
    for address in [
        "ssh://git@example.com/x.git",
        "git@example.com:me/x.git",
        "git://example.com/x.git",
        "ftp://example.com/x",
        "file-helper::x",
        &ext,
    ] {
        let repo = with_remote(address);
        let outcome = repo.call("git_push", json!({})).await;
        assert_eq!(
            code(&outcome),
            ErrorCode::HostNotAllowed,
            "{address}: {outcome:?}"
        );
        assert!(
            message(&outcome).contains("push from a terminal"),
            "{outcome:?}"
        );
        assert!(repo.test.asked().is_empty());
        assert!(!planted.exists());
    }
}

#[tokio::test]
async fn what_is_missing_is_said_without_a_question() {
    if !has_git() {
        return;
    }
    let repo = with_remote("/nowhere/at-all");
    for (arguments, expected) in [
        (json!({}), "there is no repository"),
        (json!({"remote": "other"}), "there is no remote `other`"),
        (json!({"branch": "other"}), "there is no branch `other`"),
    ] {
        let outcome = repo.call("git_push", arguments).await;
        assert!(message(&outcome).contains(expected), "{outcome:?}");
    }
    repo.git(&["remote", "set-url", "--add", "--push", "origin", "/a"]);
    repo.git(&["remote", "set-url", "--add", "--push", "origin", "/b"]);
    let outcome = repo.call("git_push", json!({})).await;
    assert!(
        message(&outcome).contains("several addresses"),
        "{outcome:?}"
    );
    repo.git(&["switch", "--quiet", "--detach"]);
    let outcome = repo.call("git_push", json!({})).await;
    assert!(
        message(&outcome).contains("no branch is checked out"),
        "{outcome:?}"
    );
    assert!(repo.test.asked().is_empty());
}

#[tokio::test]
async fn the_address_that_git_rewrites_is_the_one_that_is_shown_and_used() {
    if !has_git() {
        return;
    }
    let repo = with_remote("nice:there.git");
    let outside = TempDir::new().unwrap();
    let there = outside.path().join("there.git");
    bare(&repo, &there);
    let key = format!("url.{}/.insteadOf", outside.path().display());
    repo.git(&["config", &key, "nice:"]);
    let pushed: Value = repo.value("git_push", json!({})).await;
    assert!(
        repo.asked().contains("outside of the workspace"),
        "{}",
        repo.asked()
    );
    assert_eq!(pushed["refs"][0]["status"], "new");
    assert_eq!(
        repo.git_in(&there, &["log", "--format=%s", "main"]),
        "first"
    );
}

#[tokio::test]
async fn toolcribs_own_data_is_not_a_remote() {
    if !has_git() {
        return;
    }
    use toolcrib::CribOptions;
    let home = TempDir::new().unwrap();
    let workspace = TempDir::new().unwrap();
    let repo = Repo::empty(BuiltinOptions::default(), agreeing());
    let own = home.path().join("own.git");
    bare(&repo, &own);
    repo.git_in(
        workspace.path(),
        &["init", "--quiet", "--initial-branch=main", "."],
    );
    repo.git_in(
        workspace.path(),
        &["commit", "--quiet", "--allow-empty", "-m", "x"],
    );
    repo.git_in(
        workspace.path(),
        &["remote", "add", "origin", own.to_str().unwrap()],
    );
    let crib = CribOptions::default()
        .home(home.path())
        .workspace(workspace.path())
        .open()
        .unwrap();
    let outcome = crib
        .registry()
        .execute(toolcrib::CallRequest::new("git_push"))
        .await;
    assert_eq!(code(&outcome), ErrorCode::PermissionDenied, "{outcome:?}");
}

#[tokio::test]
async fn what_changed_since_it_was_asked_about_is_not_pushed() {
    if !has_git() {
        return;
    }
    for change in [
        "git -c user.name=x -c user.email=y commit -q --allow-empty -m sneaked",
        "git remote set-url origin other.git",
        "git config url.other.git.insteadOf there.git",
        "git remote set-url --push origin other.git",
        "git switch -q -c another",
        "rm -r there.git && ln -s other.git there.git",
    ] {
        let place = TempDir::new().unwrap();
        let directory = place.path().to_owned();
        let run = move |script: &str| {
            let mut bash = std::process::Command::new("bash");
            let done = bash.args(["-c", script]).current_dir(&directory).output();
            let done = done.unwrap();
            assert!(done.status.success(), "{script}: {done:?}");
        };
        run(
            "git init -q -b main . && git -c user.name=x -c user.email=y commit -q --allow-empty -m one \
             && git init -q --bare there.git && git init -q --bare other.git && git remote add origin there.git",
        );
        let registry = Meddling::with(place.path(), move || run(change));
        let request = toolcrib::CallRequest::new("git_push");
        let outcome = registry.execute(request).await;
        assert_eq!(code(&outcome), ErrorCode::Conflict, "{change}: {outcome:?}");
        assert!(
            message(&outcome).contains("changed since it was asked about"),
            "{change}: {outcome:?}"
        );
        for there in ["there.git", "other.git"] {
            let refs = place.path().join(there).join("refs/heads/main");
            assert!(!refs.exists(), "{change}: {there}");
        }
    }
}
