//! `toolcrib rules`.

use serde_json::{Value, json};

use crate::harness::Test;

const OWN: &str = "[[rules]]\nname = 'no-deploy'\nverdict = 'ask'\ntools = ['shell']\ncommand = 'make deploy'\nreason = 'ask ops'\n\
                   examples.match = ['make deploy']\nexamples.pass = ['make']\n";

fn row<'v>(rows: &'v Value, name: &str) -> &'v Value {
    let rows = rows.as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap()
}

#[test]
fn rules_are_listed_with_where_they_come_from() {
    let test = Test::new()
        .config(&format!("disabledRules = ['git-push']\n{OWN}"))
        .file(
            ".toolcrib/rules/x.toml",
            "[[rules]]\nname = 'x'\ncommand = 'x'\n",
        );
    let rows = test.run(&["rules", "list", "--json"]).exits(0).json();
    let own = row(&rows, "no-deploy");
    assert_eq!(own["verdict"], "ask");
    assert_eq!(own["tools"], json!(["shell"]));
    assert_eq!(own["reason"], "ask ops");
    assert!(
        own["origin"]
            .as_str()
            .unwrap()
            .ends_with("home/config.toml")
    );
    assert_eq!(row(&rows, "x")["origin"], ".toolcrib/rules/x.toml");
    assert_eq!(row(&rows, "recursive-removal")["origin"], "default");
    assert_eq!(row(&rows, "git-push")["enabled"], false);
    let listed = test.run(&["rules", "list", "--plain"]).exits(0).stdout;
    assert!(listed.contains("git-push\toff\tall\tdefault\t"), "{listed}");
    assert!(
        listed.contains("privileges\tdeny\tall\tdefault\t"),
        "{listed}"
    );
}

#[test]
fn files_are_checked_with_their_examples() {
    let test = Test::new()
        .file("good.toml", OWN)
        .file("bad.toml", OWN.replace("['make']", "['make deploy now']"))
        .file(
            "worse.toml",
            "[[rules]]\nname = 'w'\ncomand = 'x'\n[[rules]]\nverdict = 'deny'\n",
        );
    test.run(&["rules", "check", "good.toml"])
        .exits(0)
        .prints("1 rules are valid, and so are their examples\n");
    test.run(&["rules", "check"]).exits(0);
    test.run(&["rules", "check", "bad.toml"])
        .exits(2)
        .says("bad.toml: rule `no-deploy`: the example `make deploy now` must pass, but `make deploy now` matches");
    test.run(&["rules", "check", "good.toml", "worse.toml", "nowhere.toml"])
        .exits(2)
        .says("worse.toml: rule `w`: unknown key `comand`; did you mean `command`?")
        .says("worse.toml: rule number 2: has no `name`")
        .says("nowhere.toml: cannot be read");
    let error = test
        .run(&["rules", "check", "worse.toml", "--json"])
        .exits(2)
        .json();
    assert_eq!(error["ok"], false);
    assert!(
        error["error"]["details"]["faults"]
            .as_array()
            .unwrap()
            .len()
            >= 3
    );
}

#[test]
fn a_broken_rule_in_the_home_stops_every_call() {
    let test = Test::new()
        .config("[[rules]]\nname = 'w'\ncomand = 'x'\n")
        .file("a.txt", "A");
    test.run(&["run", "read_file", "path=a.txt"])
        .exits(2)
        .says("rule `w`: unknown key `comand`; did you mean `command`?");
    test.run(&["rules", "check"]).exits(2).says("rule `w`");
}

#[test]
fn a_call_is_tried_without_being_made() {
    let test = Test::new().config(OWN);
    let run = |words: &[&str]| {
        let words: Vec<&str> = ["rules", "test"].iter().chain(words).copied().collect();
        test.run(&words)
    };
    let denied = run(&["--command", "cd / && sudo rm -rf etc"])
        .exits(0)
        .stdout;
    assert!(denied.starts_with("verdict  deny\n"), "{denied}");
    assert!(
        denied.contains("deny     recursive-removal: `etc` is outside the workspace\n"),
        "{denied}"
    );
    assert!(denied.contains("in rm -rf etc\n"), "{denied}");
    run(&["-v", "--command", "cd / && sudo rm -rf etc"]).exits(0);
    let verbose = run(&["-v", "--command", "cd / && sudo rm -rf etc"]).stdout;
    assert!(
        verbose.contains("runs     rm -rf etc (by sudo) (in /)\n"),
        "{verbose}"
    );
    run(&["--command", "make deploy", "--exit-code"]).exits(6);
    run(&["--command", "sudo id", "--exit-code"]).exits(5);
    run(&["--command", "echo sudo", "--exit-code"])
        .exits(0)
        .prints("verdict  allow\nno rule applies\n");
    let document = run(&["--command", "sudo id", "--json"]).exits(0).json();
    assert_eq!(document["ok"], true);
    assert_eq!(document["value"]["verdict"], "deny");
    assert_eq!(document["value"]["findings"][0]["rule"], "privileges");
    assert_eq!(document["value"]["commands"][1]["words"], json!(["id"]));
    assert_eq!(document["value"]["commands"][1]["via"], json!(["sudo"]));
}

#[test]
fn a_call_of_a_tool_is_tried_with_its_own_arguments() {
    let test = Test::new().config("[[rules]]\nname = 'no-b'\nforbidden_patterns = ['b.txt']\n");
    test.run(&["rules", "test", "read_file", "path=b.txt", "--exit-code"])
        .exits(5);
    test.run(&[
        "rules",
        "test",
        "read_file",
        "--args",
        r#"{"path": "a.txt"}"#,
        "--exit-code",
    ])
    .exits(0);
    test.run(&["rules", "test", "read_file", "start_line=1"])
        .exits(4)
        .says("path");
    test.run(&["rules", "test", "no_such"]).exits(3);
    test.run(&["rules", "test"]).exits(2);
    test.run(&["run", "read_file", "path=b.txt"])
        .exits(5)
        .says("rule `no-b`");
}

#[test]
fn a_rule_that_can_never_hold_is_said() {
    let rule = |line: &str| format!("[[rules]]\nname = \"mine\"\n{line}\n");
    let test = Test::new().config(&rule("tools = [\"shel\"]\nforbidden_patterns = [\"x\"]"));
    test.run(&["list"])
        .exits(0)
        .says("rule `mine`: tool not found: `shel`; did you mean `shell`?");
    // It may be for a tool of another workspace.
    let test = Test::new().config(&rule("tools = [\"charge-card\"]"));
    let listed = test.run(&["list"]).exits(0);
    assert!(!listed.stderr.contains("charge-card"), "{}", listed.stderr);
    let test = Test::new().config(&rule("command = \"curl | sh\""));
    test.run(&["list"])
        .exits(2)
        .says("`|` is not a word of a command");
    let test = Test::new().config("[[rule]]\nname = \"mine\"\n");
    test.run(&["list"]).exits(2).says("did you mean `rules`?");
}

#[test]
fn a_rule_for_a_trusted_tool_of_another_workspace_is_not_a_misspelling() {
    let rules = |names: &str| {
        format!("[[rules]]\nname = \"mine\"\ntools = [{names}]\nforbidden_patterns = [\"x\"]\n")
    };
    let tool = "description: d\nbash: ls\ntags: [read]\n";
    let test = Test::new()
        .config(&rules("\"run-test\", \"web-serch\", \"shel\""))
        .file(".toolcrib/tools/run-test.yaml", tool)
        .file(
            ".toolcrib/tools/search.yaml",
            format!("name: web-serch\n{tool}"),
        );
    let other = test.workspace().with_file_name("other");
    std::fs::create_dir(&other).unwrap();
    let list = || {
        let listed = test.command().current_dir(&other).arg("list").output();
        String::from_utf8(listed.unwrap().stderr).unwrap()
    };
    let before = list();
    assert!(
        before.contains("`run-test`") && before.contains("`web-serch`"),
        "{before}"
    );
    test.run(&["trust", "--yes"]).exits(0);
    let after = list();
    assert!(!after.contains("`run-test`"), "{after}");
    assert!(!after.contains("`web-serch`"), "{after}");
    assert!(after.contains("did you mean `shell`?"), "{after}");
}
