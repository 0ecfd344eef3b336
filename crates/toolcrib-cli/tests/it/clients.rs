//! `clients`: tokens for programs that call tools over HTTP.

use serde_json::json;

use crate::harness::Test;

#[test]
fn a_token_is_printed_once_and_alone() {
    let test = Test::new();
    let added = test.run(&["clients", "add", "assistant"]).exits(0);
    let token = added.stdout.trim_end_matches('\n');
    assert_eq!(token.len(), 43, "{token}");
    assert!(!token.contains(char::is_whitespace));
    assert!(added.stderr.contains("shown once"), "{}", added.stderr);
    assert!(!added.stderr.contains(token));
    let kept = std::fs::read_to_string(test.home().join("clients.json")).unwrap();
    assert!(!kept.contains(token));
    let listed = test.run(&["clients", "list"]).exits(0);
    assert!(listed.stdout.contains("assistant") && !listed.stdout.contains(token));
}

#[test]
fn clients_are_listed_by_name_and_removed_all_or_none() {
    let test = Test::new();
    test.run(&["clients", "list"])
        .exits(0)
        .says("there are no clients");
    assert_eq!(
        test.run(&["--json", "clients", "list"]).exits(0).json(),
        json!([])
    );
    for name in ["b", "a", "c"] {
        let made = test
            .run(&["--json", "clients", "add", name])
            .exits(0)
            .json();
        assert_eq!(made["name"], name);
        assert!(made["token"].is_string() && made["createdAt"].is_string());
    }
    let listed = test.run(&["--json", "clients", "list"]).exits(0).json();
    let names: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|client| client["name"].clone())
        .collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert!(listed[0].get("digest").is_none() && listed[0].get("token").is_none());
    test.run(&["clients", "rm", "a", "nobody"])
        .exits(3)
        .says("no client `nobody`");
    let removed = test
        .run(&["--json", "clients", "rm", "a", "b"])
        .exits(0)
        .json();
    assert_eq!(removed, json!({"removed": ["a", "b"]}));
    let left = test.run(&["clients", "list", "--plain"]).exits(0).stdout;
    assert!(
        left.starts_with("c\t") && left.lines().count() == 1,
        "{left}"
    );
}

#[test]
fn whether_a_client_is_asked_is_said_when_it_is_made_and_shown() {
    let test = Test::new();
    test.run(&["clients", "add", "ci"]).exits(0);
    test.run(&["clients", "add", "desk", "--elicitation"])
        .exits(0);
    let listed = test.run(&["--json", "clients", "list"]).exits(0).json();
    let asked = |at: usize| listed[at]["elicitation"].clone();
    assert_eq!((asked(0), asked(1)), (json!(false), json!(true)));
    let plain = test.run(&["clients", "list", "--plain"]).exits(0).stdout;
    assert!(
        plain.contains("ci\tno\t") && plain.contains("desk\tyes\t"),
        "{plain}"
    );
}

#[test]
fn a_name_is_taken_once_and_is_plain() {
    let test = Test::new();
    test.run(&["clients", "add", "app"]).exits(0);
    test.run(&["clients", "add", "app"])
        .exits(9)
        .says("there is a client `app` already")
        .says("toolcrib clients rm app");
    for bad in ["", "a b", "a/b", "..", "ä"] {
        test.run(&["clients", "add", bad])
            .exits(2)
            .says("cannot be the name of a client");
    }
    test.run(&["clients", "rm", "ap"])
        .exits(3)
        .says("did you mean `app`?");
}

#[test]
fn of_many_processes_that_add_one_name_one_wins() {
    let test = Test::new();
    let adding: Vec<_> = (0..4)
        .map(|_| {
            let mut command = test.command();
            command.args(["clients", "add", "app"]);
            command
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null());
            command.spawn().unwrap()
        })
        .collect();
    let mut codes: Vec<_> = adding
        .into_iter()
        .map(|mut child| child.wait().unwrap().code())
        .collect();
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(9), Some(9), Some(9)]);
}

#[test]
fn a_damaged_file_is_named_and_left_alone() {
    let test = Test::new();
    std::fs::create_dir_all(test.home()).unwrap();
    std::fs::write(test.home().join("clients.json"), "{").unwrap();
    for words in [
        &["clients", "list"][..],
        &["clients", "add", "a"],
        &["clients", "rm", "a"],
    ] {
        test.run(words)
            .exits(9)
            .says("clients.json")
            .says("mend it");
    }
    assert_eq!(
        std::fs::read_to_string(test.home().join("clients.json")).unwrap(),
        "{"
    );
}
