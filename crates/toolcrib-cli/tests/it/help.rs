//! What `--help` says, word for word.

use crate::harness::{Test, golden};

#[test]
fn help_of_every_command_is_as_it_was_reviewed() {
    let test = Test::new();
    for command in [
        "",
        "run",
        "list",
        "show",
        "search",
        "schema",
        "answer",
        "chat",
        "bundle",
        "bundle list",
        "bundle show",
        "bundle new",
        "bundle edit",
        "bundle add",
        "bundle enable",
        "bundle disable",
        "bundle rm",
        "bundle restore",
        "bundle export",
        "bundle import",
        "bundle diff",
        "approvals",
        "approvals approve",
        "approvals watch",
        "grants",
        "grants add",
        "stats",
        "serve",
        "mcp",
        "connect",
        "clients",
        "clients add",
        "clients list",
        "clients rm",
        "upstream",
        "upstream add",
        "upstream import",
        "secret",
        "secret set",
        "secret list",
        "calls",
        "rules",
        "rules test",
        "config",
        "check",
        "explain",
        "trust",
        "enable",
        "disable",
        "init",
        "new",
        "edit",
        "rm",
        "test",
        "watch",
        "doctor",
        "sandbox",
        "completions",
    ] {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let ran = test.run(&words).exits(0);
        let name = match command {
            "" => "toolcrib".to_owned(),
            command => command.replace(' ', "-"),
        };
        golden(&format!("help/{}.txt", name.replace(' ', "_")), &ran.stdout);
    }
}

#[test]
fn colour_is_for_terminals_and_for_who_asks() {
    let test = Test::new();
    assert!(!test.run(&["run", "nothing"]).stderr.contains('\u{1b}'));
    assert!(
        test.run(&["--color", "always", "run", "nothing"])
            .stderr
            .contains("\u{1b}[31;1merror:")
    );
    assert!(
        !test
            .run(&["--color", "never", "list"])
            .stdout
            .contains('\u{1b}')
    );
}

#[test]
fn quiet_says_only_errors_and_verbose_says_more() {
    let test = Test::new().file("a.txt", "A");
    assert_eq!(
        test.run(&["-q", "run", "read_file", "path=a.txt", "--dry-run"])
            .exits(0)
            .stderr,
        ""
    );
    test.run(&["-q", "run", "read_file", "path=none"])
        .exits(1)
        .says("error:");
    test.run(&["-v", "run", "read_file", "path=a.txt"])
        .exits(0)
        .says("execution");
}
