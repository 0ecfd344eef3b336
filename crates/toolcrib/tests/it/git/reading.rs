//! `git_status`, `git_diff`, `git_log`: what they say of real repositories.

use serde_json::{Value, json};
use toolcrib::ErrorCode;

use super::{Repo, has_git, message};
use crate::tools::code;

fn entry<'a>(status: &'a Value, path: &str) -> &'a Value {
    let entries = status["entries"].as_array().unwrap();
    let found = entries.iter().find(|entry| entry["path"] == path);
    found.unwrap_or_else(|| panic!("no `{path}` in {status}"))
}

#[tokio::test]
async fn status_distinguishes_staged_unstaged_untracked_and_renamed() {
    if !has_git() {
        return;
    }
    let repo = Repo::new();
    let status = repo.value("git_status", json!({})).await;
    assert_eq!(status["branch"], "main");
    assert_eq!(
        (&status["head"], &status["clean"]),
        (&Value::Null, &json!(true))
    );
    repo.write("a b.txt", "one\n");
    repo.write("gone.txt", "x\n");
    repo.write("was.txt", "the same\nfor ever\n");
    let head = repo.commit("first");
    repo.write("a b.txt", "one\ntwo\n");
    repo.git(&["add", "a b.txt"]);
    repo.write("a b.txt", "one\ntwo\nthree\n");
    repo.git(&["mv", "was.txt", "is\nnow.txt"]);
    std::fs::remove_file(repo.path().join("gone.txt")).unwrap();
    repo.write("new/--output=x", "");
    let status = repo.value("git_status", json!({})).await;
    assert_eq!(status["head"], head.as_str());
    assert_eq!(status["detached"], false);
    assert_eq!(entry(&status, "a b.txt")["staged"], "modified");
    assert_eq!(entry(&status, "a b.txt")["unstaged"], "modified");
    assert_eq!(entry(&status, "is\nnow.txt")["oldPath"], "was.txt");
    assert_eq!(entry(&status, "is\nnow.txt")["staged"], "renamed");
    assert_eq!(entry(&status, "gone.txt")["unstaged"], "deleted");
    assert_eq!(entry(&status, "new/")["unstaged"], "untracked");
    assert_eq!(
        status["counts"],
        json!({"staged": 2, "unstaged": 2, "untracked": 1, "conflicts": 0})
    );
    let status = repo
        .value("git_status", json!({"untracked": "files"}))
        .await;
    entry(&status, "new/--output=x");
    let status = repo.value("git_status", json!({"untracked": "none"})).await;
    assert_eq!(status["counts"]["untracked"], 0);
    repo.git(&["switch", "--quiet", "--detach"]);
    let status = repo.value("git_status", json!({})).await;
    assert_eq!(
        (&status["branch"], &status["detached"]),
        (&Value::Null, &json!(true))
    );
}

#[tokio::test]
async fn status_knows_the_upstream_and_a_merge_with_conflicts() {
    if !has_git() {
        return;
    }
    let repo = Repo::new();
    repo.write("a", "1\n");
    repo.commit("first");
    repo.git(&["init", "--quiet", "--bare", "there.git"]);
    repo.write(".gitignore", "there.git\n");
    repo.git(&["remote", "add", "origin", "there.git"]);
    repo.git(&["push", "--quiet", "--set-upstream", "origin", "main"]);
    repo.git(&["switch", "--quiet", "--create", "other"]);
    repo.write("a", "2\n");
    repo.commit("second");
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("a", "3\n");
    repo.commit("third");
    let merged = std::process::Command::new("git")
        .current_dir(repo.path())
        .args(["-c", "user.name=a", "-c", "user.email=b", "merge", "other"])
        .output()
        .unwrap();
    assert!(!merged.status.success());
    let status = repo.value("git_status", json!({})).await;
    assert_eq!(status["upstream"], "origin/main");
    assert_eq!(
        (&status["ahead"], &status["behind"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(status["operation"], "merge");
    assert_eq!(entry(&status, "a")["conflict"], "bothModified");
    let outcome = repo.call("git_commit", json!({"message": "x"})).await;
    assert!(message(&outcome).contains("in conflict"), "{outcome:?}");
}

#[tokio::test]
async fn paths_are_those_of_the_workspace_also_for_a_repository_in_a_directory() {
    if !has_git() {
        return;
    }
    let repo = Repo::empty(Default::default(), Default::default());
    repo.write("sub/deep/a.txt", "1\n");
    repo.git(&["init", "--quiet", "--initial-branch=main", "sub"]);
    let outcome = repo.call("git_status", json!({})).await;
    assert_eq!(code(&outcome), ErrorCode::FileNotFound);
    assert!(
        message(&outcome).contains("in no git repository"),
        "{outcome:?}"
    );
    for path in ["sub", "sub/deep"] {
        let status = repo
            .value("git_status", json!({"path": path, "untracked": "files"}))
            .await;
        entry(&status, "sub/deep/a.txt");
    }
    let added = repo
        .value(
            "git_add",
            json!({"path": "sub", "paths": ["sub/deep/a.txt"]}),
        )
        .await;
    assert_eq!(added["staged"][0]["path"], "sub/deep/a.txt");
    let outcome = repo
        .call("git_add", json!({"path": "sub", "paths": ["other"]}))
        .await;
    assert_eq!(code(&outcome), ErrorCode::InvalidPath);
}

#[tokio::test]
async fn a_diff_has_files_numbers_and_the_patch() {
    if !has_git() {
        return;
    }
    let repo = Repo::new();
    repo.write("a.txt", "1\n2\n3\n");
    repo.write("image", [0, 1, 2, 255]);
    repo.commit("first");
    repo.write("a.txt", "1\ntwo\n3\n4\n");
    repo.write("image", [0, 1, 2, 254]);
    let diff = repo.value("git_diff", json!({})).await;
    assert_eq!(
        diff["files"],
        json!([
            {"path": "a.txt", "status": "modified", "additions": 2, "deletions": 1},
            {"path": "image", "status": "modified", "binary": true}
        ])
    );
    assert!(
        diff["patch"]
            .as_str()
            .unwrap()
            .contains("-2\n+two\n 3\n+4\n"),
        "{diff}"
    );
    let one = repo
        .value("git_diff", json!({"paths": ["image"], "stat": true}))
        .await;
    assert_eq!((&one["fileCount"], one.get("patch")), (&json!(1), None));
    let none = repo.value("git_diff", json!({"staged": true})).await;
    assert_eq!(none["fileCount"], 0);
    repo.git(&["add", "a.txt"]);
    let staged = repo
        .value("git_diff", json!({"staged": true, "context": 0}))
        .await;
    assert_eq!(staged["additions"], 2);
    assert!(
        !staged["patch"].as_str().unwrap().contains("\n 3\n"),
        "{staged}"
    );
    let head = repo.commit("second");
    let both = repo
        .value("git_diff", json!({"from": "HEAD~1", "to": head}))
        .await;
    assert_eq!(both["fileCount"], 2);
    let outcome = repo.call("git_diff", json!({"to": "HEAD"})).await;
    assert_eq!(code(&outcome), ErrorCode::InvalidArguments);
    let outcome = repo.call("git_diff", json!({"from": "nowhere"})).await;
    assert_eq!(code(&outcome), ErrorCode::InvalidArguments);
    assert!(
        message(&outcome).contains("unknown revision")
            || message(&outcome).contains("bad revision"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_diff_that_is_too_long_says_so() {
    if !has_git() {
        return;
    }
    let repo = Repo::new();
    repo.write("big.txt", "x\n".repeat(300_000));
    repo.git(&["add", "--all"]);
    let outcome = repo.call("git_diff", json!({"staged": true})).await;
    let value = outcome.value().unwrap();
    assert_eq!(
        (&value["truncated"], &value["additions"]),
        (&json!(true), &json!(300_000))
    );
    assert!(value["patch"].as_str().unwrap().len() <= 256 * 1024);
    assert!(outcome.truncated);
}

#[tokio::test]
async fn the_log_has_every_field_and_takes_every_filter() {
    if !has_git() {
        return;
    }
    let repo = Repo::new();
    let log = repo.value("git_log", json!({})).await;
    assert_eq!(log, json!({"commits": [], "truncated": false}));
    repo.write("a", "1\n");
    let first = repo.commit("first: été\n\nbody line\n\nmore");
    repo.write("b", "1\n2\n");
    let second = repo.commit("second");
    repo.git(&["tag", "v1"]);
    let log = repo.value("git_log", json!({"files": true})).await;
    let commits = log["commits"].as_array().unwrap();
    assert_eq!(commits.len(), 2);
    assert_eq!(commits[0]["hash"], second.as_str());
    assert_eq!(commits[0]["refs"], json!(["HEAD -> main", "tag: v1"]));
    assert_eq!(commits[0]["parents"], json!([first]));
    assert_eq!(
        (&commits[0]["files"], &commits[0]["additions"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(commits[1]["subject"], "first: été");
    assert_eq!(commits[1]["body"], "body line\n\nmore");
    assert_eq!(
        (&commits[1]["author"], &commits[1]["email"]),
        (&json!("Ada"), &json!("ada@example.com"))
    );
    assert!(commits[1]["date"].as_str().unwrap().contains('T'), "{log}");
    for (arguments, expected) in [
        (json!({"maxCount": 1}), vec!["second"]),
        (json!({"skip": 1}), vec!["first: été"]),
        (json!({"paths": ["a"]}), vec!["first: été"]),
        (json!({"ref": "v1~1"}), vec!["first: été"]),
        (json!({"author": "nobody"}), vec![]),
        (json!({"author": "ADA"}), vec!["second", "first: été"]),
        (json!({"search": "body line"}), vec!["first: été"]),
        (json!({"since": "2001-01-01"}), vec!["second", "first: été"]),
        (json!({"until": "2001-01-01"}), vec![]),
    ] {
        let log = repo.value("git_log", arguments.clone()).await;
        let subjects: Vec<&str> = log["commits"]
            .as_array()
            .unwrap()
            .iter()
            .map(|commit| commit["subject"].as_str().unwrap())
            .collect();
        assert_eq!(subjects, expected, "{arguments}");
        assert_eq!(
            log["truncated"],
            arguments.get("maxCount").is_some(),
            "{arguments}"
        );
    }
}

#[tokio::test]
async fn no_argument_becomes_an_option_of_git() {
    if !has_git() {
        return;
    }
    let repo = Repo::new();
    repo.write("a", "1\n");
    repo.commit("first");
    let outside = tempfile::tempdir().unwrap();
    let planted = outside.path().join("x");
    for word in [
        format!("--output={}", planted.display()),
        "--output=planted".to_owned(),
        "-c".to_owned(),
        "--upload-pack=touch planted".to_owned(),
        "--exec-path=.".to_owned(),
        "HEAD\n--output=planted".to_owned(),
        "HEAD:a".to_owned(),
        "HEAD..HEAD".to_owned(),
        "HEAD\0".to_owned(),
    ] {
        for (tool, arguments) in [
            ("git_log", json!({"ref": word})),
            ("git_diff", json!({"from": word})),
            ("git_diff", json!({"from": "HEAD", "to": word})),
            ("git_branch", json!({"action": "create", "name": word})),
            (
                "git_branch",
                json!({"action": "create", "name": "x", "startPoint": word}),
            ),
            ("git_branch", json!({"action": "switch", "name": word})),
            ("git_branch", json!({"action": "delete", "name": word})),
            ("git_push", json!({"remote": word})),
            ("git_push", json!({"branch": word})),
        ] {
            let outcome = repo.call(tool, arguments.clone()).await;
            assert_eq!(
                code(&outcome),
                ErrorCode::InvalidArguments,
                "{tool} {arguments}: {outcome:?}"
            );
        }
        for option in ["since", "until", "author", "search"] {
            let outcome = repo.call("git_log", json!({option: word})).await;
            assert!(
                outcome.is_ok() || code(&outcome) == ErrorCode::InvalidArguments,
                "{outcome:?}"
            );
        }
        // As paths they are names, whatever they look like.
        for tool in ["git_diff", "git_log", "git_add"] {
            let outcome = repo.call(tool, json!({"paths": [word]})).await;
            let is_fine = outcome.is_ok()
                || matches!(
                    code(&outcome),
                    ErrorCode::InvalidPath | ErrorCode::FileNotFound
                );
            assert!(is_fine, "{tool} {word}: {outcome:?}");
        }
        assert!(
            !planted.exists() && !repo.path().join("planted").exists(),
            "{word}"
        );
    }
    assert_eq!(repo.git(&["branch", "--list"]), "* main");
}

#[tokio::test]
async fn paths_are_literal() {
    if !has_git() {
        return;
    }
    let repo = Repo::new();
    repo.write("a.txt", "1\n");
    repo.write("b.txt", "1\n");
    for pattern in ["*.txt", ":/", ":(glob)**", ":(exclude)a.txt", ":!a.txt"] {
        let outcome = repo.call("git_add", json!({"paths": [pattern]})).await;
        assert_eq!(
            code(&outcome),
            ErrorCode::FileNotFound,
            "{pattern}: {outcome:?}"
        );
    }
    repo.write("*.txt", "1\n");
    let added = repo.value("git_add", json!({"paths": ["*.txt"]})).await;
    assert_eq!(added["fileCount"], 1);
    assert_eq!(added["staged"][0]["path"], "*.txt");
}
