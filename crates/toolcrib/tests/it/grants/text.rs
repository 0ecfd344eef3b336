//! Grants of commands, by what their text would run.

use serde_json::{Value, json};
use toolcrib::approval::grants::Argv;
use toolcrib::shell::read;
use toolcrib::{CallRequest, Caller};

use super::{Scene, is_covered};

fn running(command: &str) -> CallRequest {
    CallRequest::new("shell").arg("command", command)
}

fn argv(words: Value) -> Argv {
    serde_json::from_value(words).unwrap()
}

/// APR-011.
#[tokio::test]
async fn a_granted_command_is_that_command_there_by_that_caller() {
    let scene = Scene::new();
    let registry = scene.registry();
    scene.grant_next(json!({"command": {"argv": ["git", "status"]}}), |grant| {
        grant
    });
    assert!(registry.execute(running("git status")).await.is_ok());
    for same in ["git status", " git  status ", "'git' \"status\""] {
        assert!(is_covered(&registry, running(same)).await, "{same}");
    }
    for other in [
        "git status; rm -rf x",
        "git status && rm -rf x",
        "git status & rm x",
        "git status | sh",
        "git status > /etc/x",
        "git status $(rm x)",
        "git status `rm x`",
        "git -c core.pager=evil status",
        "GIT_PAGER=evil git status",
        "env git status",
        "sudo git status",
        "cd / && git status",
        "git status --short",
        "git status\nrm -rf x",
        "$GIT status",
        "git stat*",
        "./git status",
        "bash -c 'git status'",
        "(git status)",
        "{ git status; }",
        "! git status",
        "git status #x\nrm y",
        "",
    ] {
        assert!(!is_covered(&registry, running(other)).await, "{other}");
    }
    assert!(!is_covered(&registry, running("git status").arg("cwd", "sub")).await);
    assert!(!is_covered(&registry, running("git status").caller(Caller::Cli)).await);
}

#[tokio::test]
async fn commands_are_offered_from_narrow_to_wide_or_not_at_all() {
    let scene = Scene::new();
    let registry = scene.registry();
    let shapes = |command: &str| match registry.offers(running(command)) {
        Ok(offers) => offers
            .into_iter()
            .map(|offer| json!(offer.shape)["command"]["argv"].clone())
            .collect(),
        Err(error) => {
            assert!(error.message().contains("cannot be granted"), "{error}");
            Vec::new()
        }
    };
    assert_eq!(shapes("git status"), [json!(["git", "status"])]);
    assert_eq!(
        shapes("git status docs/"),
        [
            json!(["git", "status", "docs/"]),
            json!(["git", "status", "*"])
        ]
    );
    assert_eq!(
        shapes("cat notes.md"),
        [json!(["cat", "notes.md"]), json!(["cat", "*"])]
    );
    assert_eq!(shapes("python3 x.py"), [json!(["python3", "x.py"])]);
    for none in [
        "rm x",
        "rm -rf build",
        "git status; ls",
        "ls | wc",
        "ls > x",
        "X=1 ls",
        "env ls",
        "find . -name x",
        "$CMD x",
        "ls *",
        "eval ls",
        "echo $(date)",
        "for f in a; do ls; done",
        "if",
    ] {
        assert_eq!(shapes(none), Vec::<Value>::new(), "{none}");
    }
}

#[test]
fn what_a_pattern_covers_is_one_command_with_these_words() {
    use proptest::prelude::*;
    let pattern = argv(json!(["git", "log", "*", "**"]));
    let pieces = prop_oneof![
        Just("git"),
        Just("log"),
        Just(" "),
        Just(" "),
        Just(";"),
        Just("&&"),
        Just("|"),
        Just("&"),
        Just("'"),
        Just("\""),
        Just("\\"),
        Just("$x"),
        Just("$(rm y)"),
        Just("`id`"),
        Just("\n"),
        Just("#"),
        Just(">"),
        Just("<<E"),
        Just("x"),
        Just("-p"),
        Just("*"),
        Just("~"),
        Just("{"),
        Just("}"),
        Just("("),
        Just(")"),
        Just("if"),
        Just("then"),
        Just("A=1"),
    ];
    proptest!(ProptestConfig::with_cases(4000), |(pieces in prop::collection::vec(pieces, 0..8))| {
        let text = format!("git log {}", pieces.concat());
        if pattern.covers(&text) {
            let script = read(&text);
            prop_assert!(script.doubts.is_empty(), "{text:?}");
            prop_assert_eq!(script.commands.len(), 1, "{:?}", text);
            let words: Vec<_> = script.commands[0].words.iter().map(|word| format!("{:?}", word.parts)).collect();
            prop_assert!(words[0].contains("\"git\"") && words[1].contains("\"log\""), "{text:?}");
            // And bash itself, asked for its words, finds the same number of them.
            let bash = std::process::Command::new("bash")
                .args(["--norc", "-c", &format!("git() {{ printf '%s\\0' git \"$@\"; }}\n{text}")])
                .output()
                .unwrap();
            let found = bash.stdout.split(|b| *b == 0).count() - 1;
            prop_assert_eq!(found, words.len(), "{:?}: {:?}", text, bash);
        }
    });
}
