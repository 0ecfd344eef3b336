//! Calls from outside: shape of the answer, errors, limits, cancellation.

use std::time::{Duration, Instant};
use toolcrib::RegisterBuiltins as _;
use toolcrib::testing::WithBuiltins as _;

use serde_json::{Value, json};
use toolcrib::approval::AllowAll;
use toolcrib::builtin::{BuiltinOptions, ReadOptions};
use toolcrib::rules::{Rule, RuleSet, Whose};
use toolcrib::testing::TestCrib;
use toolcrib::workspace::Workspace;
use toolcrib::{CallRequest, CancellationToken, ErrorCode, Registry};

use super::{search, write};
use crate::tools::{args, code};

fn test() -> TestCrib {
    TestCrib::new().builtins()
}

#[tokio::test]
async fn an_answer_has_values_for_programs_and_lines_for_models() {
    let test = test()
        .file("src/a.rs", "fn one() {}\nfn two() {}\n")
        .file("b.md", "no\nsee fn one\n");
    let outcome = search(test.registry(), json!({"query": "fn one", "context": 1})).await;
    let value = outcome.value().unwrap_or_else(|| panic!("{outcome:?}"));
    let expected = json!({
        "matches": [
            {"path": "b.md", "line": 2, "column": 5, "text": "see fn one", "submatches": [{"start": 4, "end": 10}], "before": ["no"], "after": []},
            {"path": "src/a.rs", "line": 1, "column": 1, "text": "fn one() {}", "submatches": [{"start": 0, "end": 6}], "before": [], "after": ["fn two() {}"]}
        ],
        "total": 2, "files": 2, "searched": 2, "truncated": false, "timedOut": false
    });
    assert_eq!(value, &expected);
    let text = outcome.result.as_ref().unwrap().text();
    assert_eq!(
        text,
        "b.md-1- no\nb.md:2: see fn one\n\nsrc/a.rs:1: fn one() {}\nsrc/a.rs-2- fn two() {}\n\n2 matches in 2 files\n"
    );
}

/// What `read_file` would not give is not found either, nor is it told that it would have matched.
#[tokio::test]
async fn what_the_rules_keep_from_being_read_is_not_found() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "a.txt", "needle\n");
    for kept in [
        ".ssh/id_rsa",
        "deep/.ssh/known",
        "secrets/asked.txt",
        "notes/sealed.txt",
        "id_ed25519",
    ] {
        write(root.path(), kept, "needle\n");
    }
    // A file that matches first and turns out to be binary later is reported as such.
    let binary_later = format!("needle\n{}\0", "x\n".repeat(100_000));
    write(root.path(), ".ssh/later", binary_later);
    std::os::unix::fs::symlink("secrets", root.path().join("link")).unwrap();
    let rules = Rule::from_toml(
        "[[rules]]\nname = \"secrets\"\npath = \"secrets/**\"\nverdict = \"ask\"\n\n[[rules]]\nname = \"sealed\"\nforbidden_patterns = [\"sealed\"]\n",
        "rules.toml",
        Whose::Operator,
    )
    .unwrap();
    let rules = rules.into_iter().fold(RuleSet::default(), RuleSet::with);
    let workspace = Workspace::open(root.path()).unwrap();
    let registry = Registry::builder()
        .workspace(workspace)
        .rules(rules)
        .approver(AllowAll::by("a test"))
        .build();
    registry.register_builtins().unwrap();
    let expected = json!({
        "matches": [{"path": "a.txt", "line": 1, "column": 1, "text": "needle", "submatches": [{"start": 0, "end": 6}]}],
        "total": 1, "files": 1, "truncated": false, "timedOut": false
    });
    for path in [".", "./"] {
        let arguments =
            json!({"query": "needle", "path": path, "includeHidden": true, "maxResults": 1});
        let outcome = search(&registry, arguments).await;
        let mut value = outcome.value().unwrap().clone();
        value.as_object_mut().unwrap().remove("searched");
        assert_eq!(value, expected, "{path}");
    }
    let total = |outcome: &toolcrib::Outcome| outcome.value().map(|value| value["total"].clone());
    // Through a link it is what it is.
    let linked = search(&registry, json!({"query": "needle", "path": "link"})).await;
    assert_eq!(total(&linked), Some(json!(0)), "{linked:?}");
    // What someone agreed to is searched.
    let agreed = search(&registry, json!({"query": "needle", "path": "secrets"})).await;
    assert_eq!(total(&agreed), Some(json!(1)), "{agreed:?}");
    let denied = search(&registry, json!({"query": "needle", "path": "deep/.ssh"})).await;
    assert_eq!(code(&denied), ErrorCode::BlockedByRule);
}

#[tokio::test]
async fn paths_are_relative_to_the_workspace_however_the_search_begins() {
    let test = test().file("src/in/a.rs", "needle\n");
    std::os::unix::fs::symlink("src", test.path().join("link")).unwrap();
    let absolute = test.path().join("src").to_str().unwrap().to_owned();
    for path in [
        "src",
        "./src/",
        "src/../src/in",
        "link",
        "src/in/a.rs",
        "./src//in/a.rs",
        absolute.as_str(),
    ] {
        let outcome = search(test.registry(), json!({"query": "needle", "path": path})).await;
        let value = outcome
            .value()
            .unwrap_or_else(|| panic!("{path}: {outcome:?}"));
        assert_eq!(value["matches"][0]["path"], "src/in/a.rs", "{path}");
    }
}

#[tokio::test]
async fn what_cannot_be_searched_for_is_said_with_its_place() {
    let test = test().file("a", "x");
    for (arguments, expected, words) in [
        (
            json!({"query": "a(", "regex": true}),
            ErrorCode::InvalidArguments,
            "unclosed group, at character 2",
        ),
        (
            json!({"query": "a\nb"}),
            ErrorCode::InvalidArguments,
            "set `multiline`",
        ),
        (json!({"query": "a\0b"}), ErrorCode::InvalidArguments, "NUL"),
        (json!({"query": ""}), ErrorCode::InvalidArguments, "/query"),
        (
            json!({"query": "a", "glob": "a[z-a]"}),
            ErrorCode::InvalidArguments,
            "a[z-a]",
        ),
        (
            json!({"query": "a", "type": ["rsut"]}),
            ErrorCode::InvalidArguments,
            "`rust`",
        ),
        (
            json!({"query": "a", "context": 21}),
            ErrorCode::InvalidArguments,
            "/context",
        ),
        (
            json!({"query": "a", "maxResults": 1001}),
            ErrorCode::InvalidArguments,
            "/maxResults",
        ),
        (
            json!({"query": "a", "path": "nowhere"}),
            ErrorCode::FileNotFound,
            "nowhere",
        ),
        (
            json!({"query": "a", "path": "../x"}),
            ErrorCode::InvalidPath,
            "outside",
        ),
        (
            json!({"query": "a", "path": "/etc/passwd"}),
            ErrorCode::InvalidPath,
            "not beneath the workspace",
        ),
    ] {
        let outcome = search(test.registry(), arguments.clone()).await;
        assert!(
            matches!(code(&outcome), found if found == expected || found == ErrorCode::BlockedByRule),
            "{arguments}: {outcome:?}"
        );
        let message = outcome.error().unwrap().message();
        let is_rule = code(&outcome) == ErrorCode::BlockedByRule;
        assert!(is_rule || message.contains(words), "{arguments}: {message}");
    }
}

#[tokio::test]
async fn an_empty_workspace_has_nothing_and_a_search_of_nothing_says_why() {
    let test = test().file("a.rs", "x");
    let outcome = search(test.registry(), json!({"query": "x", "glob": "*.nothing"})).await;
    let text = outcome.result.as_ref().unwrap().text();
    assert!(
        text.starts_with("no matches in 0 files: is `path`, `glob` or `type` too narrow?"),
        "{text}"
    );
}

#[tokio::test]
async fn more_than_is_shown_is_counted() {
    let test = test()
        .file("a", "x\n".repeat(5000))
        .file("b", "x\n".repeat(700));
    let outcome = search(test.registry(), json!({"query": "x"})).await;
    let value = outcome.value().unwrap();
    assert_eq!(value["matches"].as_array().unwrap().len(), 100);
    assert_eq!(
        (&value["total"], &value["files"], &value["truncated"]),
        (&json!(5700), &json!(2), &json!(true))
    );
    assert!(outcome.truncated);
}

#[tokio::test]
async fn a_search_that_is_cancelled_ends_soon_with_all_its_threads() {
    let root = tempfile::tempdir().unwrap();
    for number in 0..64 {
        write(
            root.path(),
            &format!("{number}"),
            "some line of text\n".repeat(200_000),
        );
    }
    let registry = super::registry(root.path());
    let cancel = CancellationToken::new();
    // Slow on purpose: no literal to look for, and every byte starts another match.
    let request = CallRequest::new("search_code")
        .args(args(json!({"query": r"(\w+ ){1,40}zzz$", "regex": true})))
        .cancel_with(cancel.clone());
    let canceller = cancel.clone();
    tokio::task::spawn_blocking(move || {
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(50) {
            std::thread::yield_now();
        }
        canceller.cancel();
    });
    let started = Instant::now();
    let outcome = registry.execute(request).await;
    assert_eq!(code(&outcome), ErrorCode::Cancelled);
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
}

#[tokio::test]
async fn at_its_time_limit_a_search_gives_what_it_has() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), "a", "first zzz\n");
    // Minutes of work, so that the limit leaves time for the first file on a busy machine, too: the literal is in every line, so each is
    // looked at by the whole pattern.
    write(root.path(), "b0", "some line of zzz text\n".repeat(200_000));
    for number in 1..4000 {
        let link = root.path().join(format!("b{number}"));
        std::fs::hard_link(root.path().join("b0"), link).unwrap();
    }
    let registry = super::registry(root.path());
    let mut request = CallRequest::new("search_code")
        .args(args(json!({"query": r"(\w+ ){1,40}zzz$", "regex": true})));
    request.limits.timeout_ms = Some(1_500);
    let outcome = registry.execute(request).await;
    let value = outcome.value().unwrap_or_else(|| panic!("{outcome:?}"));
    assert_eq!(
        (&value["timedOut"], &value["truncated"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(value["matches"][0]["path"], "a");
}

#[tokio::test]
async fn only_what_may_be_read_is_searched() {
    let test = TestCrib::new()
        .file("key.pem", "needle")
        .file("a.rs", "needle");
    let options = BuiltinOptions {
        read: ReadOptions {
            extensions: vec![".RS".to_owned()],
        },
        ..BuiltinOptions::default()
    };
    test.registry().register_builtins_with(options).unwrap();
    let outcome = search(test.registry(), json!({"query": "needle", "glob": "*"})).await;
    let paths: Vec<&Value> = outcome.value().unwrap()["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|found| &found["path"])
        .collect();
    assert_eq!(paths, ["a.rs"]);
}

/// Git's excludes of the user count, as they do for `rg`; the environment says where they are, so that this runs in its own process.
#[test]
fn the_users_own_excludes_count_in_repositories() {
    const ROOT: &str = "TOOLCRIB_TEST_EXCLUDES";
    if let Some(root) = std::env::var_os(ROOT) {
        let registry = super::registry(root.as_ref());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let outcome = runtime.block_on(search(&registry, json!({"query": "needle"})));
        let found = outcome.value().unwrap()["matches"]
            .as_array()
            .unwrap()
            .iter();
        let paths: Vec<&str> = found.map(|found| found["path"].as_str().unwrap()).collect();
        println!("FOUND {}", paths.join(" "));
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let root = tempfile::tempdir().unwrap();
    for path in ["repo/a.swp", "repo/b", "plain/a.swp"] {
        write(root.path(), path, "needle\n");
    }
    std::fs::create_dir(root.path().join("repo/.git")).unwrap();
    write(
        home.path(),
        ".gitconfig",
        "[core]\n\texcludesFile = ~/my-excludes\n",
    );
    write(home.path(), "my-excludes", "*.swp\n");
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "search_code::calls::the_users_own_excludes_count_in_repositories",
            "--nocapture",
        ])
        .env(ROOT, root.path())
        .env("HOME", home.path())
        .env_remove("XDG_CONFIG_HOME")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("FOUND plain/a.swp repo/b\n"), "{told}");
}
