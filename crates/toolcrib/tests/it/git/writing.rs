//! `git_add`, `git_commit`, `git_branch`: what they change, and what is asked first.

use serde_json::{Value, json};
use toolcrib::ErrorCode;
use toolcrib::approval::ApprovalResponse;
use toolcrib::builtin::{BuiltinOptions, GitSettings};
use toolcrib::testing::TestCrib;

use super::{Meddling, Repo, agreeing, has_git, message};
use crate::tools::code;

/// A repository whose questions are answered with yes.
fn agreed() -> Repo {
    let repo = Repo::empty(BuiltinOptions::default(), agreeing());
    repo.git(&["init", "--quiet", "--initial-branch=main", "."]);
    repo
}

#[tokio::test]
async fn adding_stages_what_is_named_and_says_what_that_is() {
    if !has_git() {
        return;
    }
    let repo = Repo::new();
    repo.write("a", "1\n2\n");
    repo.write("b", "1\n");
    repo.write("ignored", "1\n");
    repo.write(".gitignore", "ignored\n");
    let added = repo.value("git_add", json!({"paths": ["a"]})).await;
    assert_eq!(
        added["staged"],
        json!([{"path": "a", "status": "added", "additions": 2, "deletions": 0}])
    );
    assert!(repo.test.asked().is_empty());
    let added = repo.value("git_add", json!({"all": true})).await;
    assert_eq!(added["fileCount"], 3);
    let outcome = repo.call("git_add", json!({"paths": ["ignored"]})).await;
    assert!(message(&outcome).contains(".gitignore"), "{outcome:?}");
    for arguments in [json!({}), json!({"all": true, "paths": ["a"]})] {
        let outcome = repo.call("git_add", arguments).await;
        assert_eq!(code(&outcome), ErrorCode::InvalidArguments);
    }
    repo.commit("first");
    std::fs::remove_file(repo.path().join("b")).unwrap();
    let added = repo.value("git_add", json!({"paths": ["b"]})).await;
    assert_eq!(added["staged"][0]["status"], "deleted");
}

#[tokio::test]
async fn a_commit_is_asked_about_with_what_it_records_and_then_made() {
    if !has_git() {
        return;
    }
    let repo = agreed();
    repo.write("a", "1\n2\n");
    repo.write("dir/b", "1\n");
    repo.value("git_add", json!({"all": true})).await;
    let message = "docs: say it\n\nWith a body, `quotes` and $(touch x).\n# not a comment";
    let made = repo.value("git_commit", json!({"message": message})).await;
    let asked = repo.test.asked().pop().unwrap();
    assert!(
        asked
            .effect
            .starts_with("commit 2 files (+3 −0) on `main`: `docs: say it"),
        "{}",
        asked.effect
    );
    assert!(
        asked.effect.contains("\nadded a\nadded dir/b"),
        "{}",
        asked.effect
    );
    assert!(asked.diff.unwrap().contains("+++ b/dir/b"));
    assert_eq!(made["hash"], repo.git(&["rev-parse", "HEAD"]));
    assert_eq!(made["branch"], "main");
    assert_eq!(
        (&made["fileCount"], &made["additions"]),
        (&json!(2), &json!(3))
    );
    assert_eq!(made.get("changedByHook"), None);
    assert_eq!(repo.git(&["log", "--format=%B"]), message);
    assert_eq!(
        repo.git(&["log", "--format=%an <%ae> %cn"]),
        "Ada <ada@example.com> Ada"
    );
}

#[tokio::test]
async fn a_commit_of_paths_leaves_the_rest_staged() {
    if !has_git() {
        return;
    }
    let repo = agreed();
    repo.write("a", "1\n");
    repo.write("b", "1\n");
    repo.commit("first");
    repo.write("a", "2\n");
    repo.write("b", "2\n");
    repo.git(&["add", "b"]);
    let made = repo
        .value("git_commit", json!({"message": "only a", "paths": ["a"]}))
        .await;
    assert!(
        repo.asked().contains("commit 1 file (+1 −1)"),
        "{}",
        repo.asked()
    );
    assert_eq!(made["files"][0]["path"], "a");
    assert_eq!(repo.git(&["status", "--porcelain"]), "M  b");
    assert_eq!(made.get("changedByHook"), None);
}

#[tokio::test]
async fn nothing_to_commit_is_said_without_asking() {
    if !has_git() {
        return;
    }
    let repo = agreed();
    for (write, expected) in [
        (false, "nothing is staged"),
        (true, "1 changed files are not staged"),
    ] {
        if write {
            repo.write("a", "1\n");
            repo.commit("first");
            repo.write("a", "2\n");
        }
        let outcome = repo.call("git_commit", json!({"message": "x"})).await;
        assert!(message(&outcome).contains(expected), "{outcome:?}");
    }
    assert!(repo.test.asked().is_empty());
    let outcome = repo
        .call("git_commit", json!({"message": "x", "paths": ["missing"]}))
        .await;
    assert!(
        message(&outcome).contains("nothing has changed in `paths`"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn who_says_no_has_no_commit() {
    if !has_git() {
        return;
    }
    let test = TestCrib::new().answers([ApprovalResponse::deny("test", "not yet")]);
    let repo = Repo::empty(BuiltinOptions::default(), test);
    repo.git(&["init", "--quiet", "--initial-branch=main", "."]);
    repo.write("a", "1\n");
    repo.git(&["add", "a"]);
    let outcome = repo.call("git_commit", json!({"message": "x"})).await;
    assert_eq!(code(&outcome), ErrorCode::ApprovalDenied);
    let outcome = repo.call("git_commit", json!({"message": "x"})).await;
    assert_eq!(code(&outcome), ErrorCode::ApprovalUnavailable);
    assert_eq!(repo.git(&["status", "--porcelain"]), "A  a");
}

#[tokio::test]
async fn what_changed_since_it_was_asked_about_is_not_committed() {
    if !has_git() {
        return;
    }
    for (paths, change) in [
        (None, "git add b"),
        (None, "git add --all; git switch -q -c other"),
        (
            None,
            "git -c user.name=x -c user.email=y commit -q -m sneaked",
        ),
        (Some(json!(["a"])), "echo other > a"),
        (None, "git rev-parse HEAD > .git/MERGE_HEAD"),
        (None, "git rev-parse HEAD > .git/REVERT_HEAD"),
    ] {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().to_owned();
        let run = move |script: &str| {
            let done = std::process::Command::new("bash")
                .args(["-c", script])
                .current_dir(&directory)
                .output()
                .unwrap();
            assert!(done.status.success(), "{script}: {done:?}");
        };
        run(
            "git init -q -b main . && echo 1 > a && echo 1 > b && git add . && git -c user.name=x -c user.email=y commit -q -m one && echo 2 > a && echo 2 > b && git add a",
        );
        let registry = Meddling::with(place.path(), move || run(change));
        let mut arguments = json!({"message": "x"});
        if let Some(paths) = paths {
            arguments["paths"] = paths;
        }
        let request = toolcrib::CallRequest::new("git_commit").args(crate::tools::args(arguments));
        let outcome = registry.execute(request).await;
        let said = message(&outcome);
        let is_told =
            said.contains("changed since it was asked about") || said.contains("nothing to commit");
        assert!(is_told, "{change}: {outcome:?}");
    }
}

#[tokio::test]
async fn hooks_run_in_the_sandbox_and_what_they_change_is_reported() {
    if !has_git() {
        return;
    }
    let repo = agreed();
    let outside = tempfile::tempdir().unwrap();
    let planted = outside.path().join("x");
    let hook = format!(
        "#!/bin/sh\necho from the hook\ntouch {}\necho formatted > a\ngit add a\n",
        planted.display()
    );
    repo.write(".git/hooks/pre-commit", hook);
    make_executable(&repo, ".git/hooks/pre-commit");
    repo.write("a", "1\n");
    repo.git(&["add", "a"]);
    let made = repo.value("git_commit", json!({"message": "x"})).await;
    assert_eq!(made["changedByHook"], true);
    assert!(
        made["said"].as_str().unwrap().contains("from the hook"),
        "{made}"
    );
    assert_eq!(repo.git(&["show", "HEAD:a"]), "formatted");
    assert!(!planted.exists());
    repo.write(
        ".git/hooks/pre-commit",
        "#!/bin/sh\necho not like this >&2\nexit 1\n",
    );
    repo.write("a", "2\n");
    repo.git(&["add", "a"]);
    let outcome = repo.call("git_commit", json!({"message": "y"})).await;
    assert!(message(&outcome).contains("not like this"), "{outcome:?}");
}

/// If a hook changes a commit, the person who agreed to another one is informed.
#[tokio::test]
async fn what_hooks_make_of_paths_and_of_the_message_is_reported() {
    if !has_git() {
        return;
    }
    let repo = agreed();
    repo.write("a", "1\n");
    repo.commit("first");
    repo.write("a", "2\n");
    let made = repo
        .value(
            "git_commit",
            json!({"message": "plain \n\n\n\nwith words\n", "paths": ["a"]}),
        )
        .await;
    assert_eq!(
        (made.get("changedByHook"), made.get("message")),
        (None, None)
    );
    repo.write(
        ".git/hooks/pre-commit",
        "#!/bin/sh\necho EVIL >> a\ngit add a\n",
    );
    repo.write(
        ".git/hooks/commit-msg",
        "#!/bin/sh\necho rewritten > \"$1\"\n",
    );
    make_executable(&repo, ".git/hooks/pre-commit");
    make_executable(&repo, ".git/hooks/commit-msg");
    repo.write("a", "3\n");
    let made = repo
        .value(
            "git_commit",
            json!({"message": "small fix", "paths": ["a"]}),
        )
        .await;
    assert_eq!(made["changedByHook"], true, "{made}");
    assert_eq!(made["message"], "rewritten", "{made}");
}

/// Git shows no change of what is marked so, and commits it by its path all the same.
#[tokio::test]
async fn what_is_marked_as_unchanged_is_not_committed_unseen() {
    if !has_git() {
        return;
    }
    for mark in ["--assume-unchanged", "--skip-worktree"] {
        let repo = agreed();
        repo.write("a", "1\n");
        repo.write("b", "1\n");
        repo.commit("first");
        repo.write("a", "2\n");
        repo.write("b", "EVIL\n");
        repo.git(&["update-index", mark, "b"]);
        let outcome = repo
            .call("git_commit", json!({"message": "x", "paths": ["."]}))
            .await;
        assert!(
            message(&outcome).contains("`b` is marked as unchanged"),
            "{outcome:?}"
        );
        assert_eq!(repo.git(&["log", "--format=%s"]), "first");
        let made = repo
            .value("git_commit", json!({"message": "x", "paths": ["a"]}))
            .await;
        assert_eq!(made["fileCount"], 1);
    }
}

#[tokio::test]
async fn a_merge_is_asked_about_with_what_it_brings_in() {
    if !has_git() {
        return;
    }
    let repo = agreed();
    repo.write("a", "1\n");
    repo.commit("first");
    repo.git(&["switch", "--quiet", "--create", "other"]);
    repo.write("b", "1\n");
    repo.commit("second");
    let other = repo.git(&["rev-parse", "HEAD"]);
    repo.git(&["switch", "--quiet", "main"]);
    repo.git(&["merge", "--quiet", "--no-commit", "--no-ff", "other"]);
    let made = repo
        .value("git_commit", json!({"message": "merge other"}))
        .await;
    let asked = repo.asked();
    assert!(
        asked.contains(&format!("a merge is under way, of {other}")),
        "{asked}"
    );
    assert_eq!(made.get("changedByHook"), None, "{made}");
}

#[tokio::test]
async fn a_switch_never_overwrites_what_git_ignores() {
    if !has_git() {
        return;
    }
    let repo = Repo::new();
    repo.write(".gitignore", "mine.env\n");
    repo.commit("first");
    repo.git(&["switch", "--quiet", "--create", "other"]);
    repo.write("mine.env", "THEIRS\n");
    repo.git(&["add", "--force", "mine.env"]);
    repo.commit("second");
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("mine.env", "MINE\n");
    let outcome = repo
        .call("git_branch", json!({"action": "switch", "name": "other"}))
        .await;
    assert!(outcome.error().is_some(), "{outcome:?}");
    assert_eq!(repo.read("mine.env"), "MINE\n");
}

fn make_executable(repo: &Repo, path: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(repo.path().join(path), mode).unwrap();
}

#[tokio::test]
async fn without_a_name_to_commit_under_it_is_said_how_to_set_one() {
    if !has_git() {
        return;
    }
    let repo = Repo::empty(
        BuiltinOptions {
            git: GitSettings {
                name: Some(String::new()),
                ..GitSettings::default()
            },
            ..BuiltinOptions::default()
        },
        agreeing(),
    );
    repo.git(&["init", "--quiet", "--initial-branch=main", "."]);
    repo.write("a", "1\n");
    repo.git(&["add", "a"]);
    let outcome = repo.call("git_commit", json!({"message": "x"})).await;
    let said = message(&outcome);
    assert!(
        said.contains("git config --global user.email") && said.contains("`git.email`"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn branches_are_made_listed_switched_and_after_a_question_deleted() {
    if !has_git() {
        return;
    }
    let repo = agreed();
    repo.write("a", "1\n");
    let first = repo.commit("first");
    let made = repo
        .value(
            "git_branch",
            json!({"action": "create", "name": "feature/é"}),
        )
        .await;
    assert_eq!(
        (&made["branch"], &made["hash"]),
        (&json!("feature/é"), &json!(first))
    );
    repo.value(
        "git_branch",
        json!({"action": "switch", "name": "feature/é"}),
    )
    .await;
    repo.write("a", "2\n");
    let second = repo.commit("second");
    let list = repo.value("git_branch", json!({"action": "list"})).await;
    let names: Vec<(&Value, &Value, &Value)> = list["branches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|branch| (&branch["name"], &branch["current"], &branch["subject"]))
        .collect();
    assert_eq!(
        names,
        [
            (&json!("feature/é"), &json!(true), &json!("second")),
            (&json!("main"), &json!(false), &json!("first")),
        ]
    );
    repo.write("a", "not committed\n");
    let outcome = repo
        .call("git_branch", json!({"action": "switch", "name": "main"}))
        .await;
    assert!(
        message(&outcome).contains("would be overwritten"),
        "{outcome:?}"
    );
    assert_eq!(repo.read("a"), "not committed\n");
    repo.git(&["checkout", "--quiet", "a"]);
    repo.value("git_branch", json!({"action": "switch", "name": "main"}))
        .await;
    assert!(repo.test.asked().is_empty());
    let outcome = repo
        .call(
            "git_branch",
            json!({"action": "delete", "name": "feature/é"}),
        )
        .await;
    assert!(
        repo.asked()
            .contains("1 commit is on no other branch, so git will refuse"),
        "{}",
        repo.asked()
    );
    assert!(
        message(&outcome).contains("`force: true` deletes it all the same"),
        "{outcome:?}"
    );
    let gone = repo
        .value(
            "git_branch",
            json!({"action": "delete", "name": "feature/é", "force": true}),
        )
        .await;
    assert_eq!(gone["hash"], second.as_str());
    assert_eq!(repo.git(&["branch"]), "* main");
    for name in ["nowhere", "feature/é"] {
        for action in ["switch", "delete"] {
            let outcome = repo
                .call("git_branch", json!({"action": action, "name": name}))
                .await;
            assert!(
                message(&outcome).contains("there is no branch"),
                "{outcome:?}"
            );
        }
    }
    for arguments in [
        json!({"action": "list", "name": "x"}),
        json!({"action": "switch"}),
        json!({"action": "switch", "name": "main", "force": true}),
        json!({"action": "create", "name": "x", "remotes": true}),
        json!({"action": "create", "name": "@{-1}"}),
    ] {
        let outcome = repo.call("git_branch", arguments.clone()).await;
        assert_eq!(code(&outcome), ErrorCode::InvalidArguments, "{arguments}");
    }
}

#[tokio::test]
async fn another_git_at_work_is_reported_as_what_it_is() {
    if !has_git() {
        return;
    }
    let repo = Repo::new();
    repo.write("a", "1\n");
    repo.write(".git/index.lock", "");
    let outcome = repo.call("git_add", json!({"all": true})).await;
    assert_eq!(code(&outcome), ErrorCode::Conflict);
    assert!(
        message(&outcome).contains("another git is at work"),
        "{outcome:?}"
    );
    assert!(!format!("{outcome:?}").contains(repo.path().to_str().unwrap()));
    // A reader needs no lock.
    repo.value("git_status", json!({})).await;
}

#[tokio::test]
async fn a_switch_that_would_change_what_other_programs_run_is_refused_before_it_begins() {
    if !has_git() {
        return;
    }
    let repo = Repo::new();
    repo.write("a", "1\n");
    repo.commit("first");
    repo.git(&["switch", "--quiet", "--create", "other"]);
    repo.write("a", "2\n");
    repo.write(".envrc", "touch x\n");
    repo.commit("second");
    repo.git(&["switch", "--quiet", "main"]);
    let outcome = repo
        .call("git_branch", json!({"action": "switch", "name": "other"}))
        .await;
    assert_eq!(code(&outcome), ErrorCode::PermissionDenied, "{outcome:?}");
    assert!(
        message(&outcome).contains("`git switch other`"),
        "{outcome:?}"
    );
    assert_eq!(repo.read("a"), "1\n");
    assert_eq!(repo.git(&["branch", "--show-current"]), "main");
}
