//! Tools of files on the command line: `trust`, `enable`, `disable`, and what `list`, `show`, `explain` and `doctor` say of them.

use serde_json::{Value, json};

use crate::harness::Test;

const GREET: &str = "\
name: greet
description: Greets a person
bash: echo hello {WHO}
parameters:
  WHO:
    type: string
    description: Who to greet
    default: world
    detailed-help: |
      A name, or several.
    examples: [Ada]
tags: [read, friendly]
changelog:
  - version: '1.1'
    changes: Greets the world by default
";

fn with_greet() -> Test {
    Test::new().file(".toolcrib/tools/greet.yaml", GREET)
}

fn error_of(document: &Value) -> (&str, &Value) {
    let error = &document["error"];
    (error["code"].as_str().unwrap(), &error["details"]["reason"])
}

#[test]
fn a_tool_of_the_project_runs_once_it_is_trusted_and_until_it_changes() {
    let test = with_greet();
    let refused = test.run(&["run", "greet", "--json"]).exits(3).json();
    assert_eq!(error_of(&refused), ("TOOL_DISABLED", &json!("untrusted")));
    test.run(&["run", "greet", "--yes"])
        .exits(3)
        .says("`toolcrib trust` shows what it runs and asks");
    let shown = test.run(&["trust"]).exits(6).says("--yes");
    for expected in [
        "greet  new",
        "file      .toolcrib/tools/greet.yaml",
        "runs      echo hello {WHO}",
        "digest    ",
    ] {
        assert!(shown.stdout.contains(expected), "{expected}: {shown:?}");
    }
    test.run(&["run", "greet"]).exits(3);
    test.run(&["trust", "--yes"])
        .exits(0)
        .says("1 tool is trusted");
    test.run(&["run", "greet"]).exits(0).prints("hello world\n");
    test.run(&["trust"])
        .exits(0)
        .says("the tool is trusted already");

    let test = test.file(
        ".toolcrib/tools/greet.yaml",
        GREET.replace("echo hello", "echo goodbye"),
    );
    test.run(&["run", "greet"])
        .exits(3)
        .says("has changed since it was trusted");
    let changed = test.run(&["trust", "--json", "--yes"]).exits(0).json();
    assert_eq!(changed["files"][0]["was"], "changed");
    let diff = changed["files"][0]["diff"].as_str().unwrap();
    assert!(
        diff.contains("-bash: echo hello {WHO}\n+bash: echo goodbye {WHO}\n"),
        "{diff}"
    );
    test.run(&["run", "greet"])
        .exits(0)
        .prints("goodbye world\n");
}

#[test]
fn without_a_yes_nothing_is_trusted_also_in_json() {
    let test = with_greet();
    let refused = test.run(&["trust", "--json"]).exits(6);
    assert_eq!(refused.json()["error"]["code"], "APPROVAL_UNAVAILABLE");
    assert!(refused.stderr.contains("echo hello {WHO}"), "{refused:?}");
    test.run(&["run", "greet"]).exits(3);
    Test::new()
        .run(&["trust"])
        .exits(0)
        .says("no tools in `.toolcrib/tools`");
}

#[test]
fn a_person_is_asked_on_the_terminal() {
    let test = with_greet();
    let mut session = test.on_terminal(&["trust"]);
    session.sees("runs      echo hello {WHO}");
    session.sees("trust this tool? [y/n]");
    session.types("n");
    session.sees("nothing was trusted");
    let (code, screen) = session.ends();
    assert_eq!(code, 0, "saying no is not an error");
    assert!(!screen.contains("error"), "{screen}");
    test.run(&["run", "greet"]).exits(3);
    let mut session = test.on_terminal(&["trust"]);
    session.sees("[y/n]");
    session.types("y");
    assert_eq!(session.ends().0, 0);
    test.run(&["run", "greet"]).exits(0);
}

#[test]
fn another_project_is_trusted_by_its_directory_or_that_of_its_tools() {
    let test = Test::new()
        .file("a/.toolcrib/tools/greet.yaml", GREET)
        .file("b/.cycod/tools/greet.yaml", GREET);
    test.run(&["trust", "a", "--yes"]).exits(0).says("1 tool");
    test.run(&["trust", "b/.cycod/tools", "--yes"])
        .exits(0)
        .says("1 tool");
    for workspace in ["a", "b"] {
        test.run(&["--workspace", workspace, "run", "greet"])
            .exits(0);
    }
    test.run(&["trust", "nowhere"]).exits(3);
    test.run(&["trust", "no/where"]).exits(2);
}

const NAMELESS: &str = "description: Greets\nbash: echo hello\ntags: [read]\n";

#[test]
fn the_tools_that_are_named_are_trusted_and_no_others() {
    let test = Test::new()
        .file(".toolcrib/tools/a.yaml", NAMELESS)
        .file(".toolcrib/tools/b.yaml", NAMELESS)
        .file(".toolcrib/tools/c.yaml", NAMELESS);
    let shown = test.run(&["trust", "a", "local/b", "--yes"]).exits(0);
    assert!(
        shown.stdout.contains("a.yaml") && !shown.stdout.contains("c.yaml"),
        "{shown:?}"
    );
    for (tool, code) in [("a", 0), ("b", 0), ("c", 3)] {
        test.run(&["run", tool]).exits(code);
    }
    test.run(&["trust", "a"]).exits(0).says("trusted already");
    test.run(&["trust", "aa"]).exits(3).says("did you mean");
}

#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let odd = "description: x\nbash: \"echo \\e[31mred\"\ntags: [read]\n";
    let broken = "description: \"x\\e[2J\"\nbash: echo\ntags: [read]\n";
    let test = Test::new()
        .file(".toolcrib/tools/odd.yaml", odd)
        .file(".toolcrib/tools/broken.yaml", broken);
    let shown = test.run(&["trust"]).exits(6);
    assert!(shown.stdout.contains("\\u{001b}[31mred"), "{shown:?}");
    assert!(shown.stdout.contains("U+001B"), "{shown:?}");
    assert!(!shown.stdout.contains('\u{1b}'), "{shown:?}");
    assert!(!test.run(&["list", "--all"]).stdout.contains('\u{1b}'));
}

#[test]
fn a_list_of_all_says_where_tools_come_from_and_how_they_stand() {
    let test = with_greet()
        .file(
            ".toolcrib/tools/broken.yaml",
            "name: broken\nbashh: echo x\n",
        )
        .file("../.toolcrib/tools/greet.yaml", GREET);
    let listed = test
        .run(&["list"])
        .exits(0)
        .says("1 tool of this project is not trusted yet: toolcrib trust")
        .says("`greet` is `local/greet@v1`; call it as `user/greet`");
    assert!(!listed.stdout.contains("greet"));
    let all = test.run(&["list", "--all", "--plain"]).exits(0).stdout;
    for row in [
        "broken\tunknown\tlocal\tbroken\t",
        "greet\tread\tlocal\tuntrusted\tGreets a person",
        "greet\tread\tuser\tshadowed\tGreets a person",
        "read_file\tread\tcore\tready\t",
    ] {
        assert!(all.contains(row), "{row:?} is not in {all}");
    }
    let rows = test.run(&["list", "--all", "--json"]).exits(0).json();
    let row = |source: &str| {
        let rows = rows.as_array().unwrap();
        let fits = |row: &&Value| row["name"] == "greet" && row["source"] == source;
        rows.iter().find(fits).unwrap().clone()
    };
    assert_eq!(row("local")["availability"]["state"], "disabled");
    assert_eq!(row("local")["availability"]["reason"], "untrusted");
    assert_eq!(row("local")["file"], ".toolcrib/tools/greet.yaml");
    assert_eq!(row("user")["shadowedBy"], "local/greet@v1");
    test.run(&["run", "user/greet"])
        .exits(0)
        .prints("hello world\n");
    test.run(&["trust", "--yes"]).exits(0);
    test.run(&["run", "greet"])
        .exits(0)
        .says("`greet` is `local/greet@v1`, not `user/greet@v1`");
    test.run(&["explain", "greet"]).exits(0).says("broken.yaml");
    let doctor = test.run(&["doctor"]).exits(1).stdout;
    assert!(doctor.contains("FAIL  tool files"), "{doctor}");
}

#[test]
fn showing_a_tool_reports_what_its_file_says() {
    let test = with_greet();
    let shown = test.run(&["show", "greet"]).exits(0).stdout;
    for expected in [
        "status    untrusted: ",
        "tags      read, friendly",
        "file      .toolcrib/tools/greet.yaml",
        "runs      echo hello {WHO}",
        "WHO\n  A name, or several.\n  for example Ada",
        "changes\n  1.1  Greets the world by default",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    let whole = test.run(&["show", "greet", "--json"]).exits(0).json();
    assert_eq!(whole["runs"][0]["text"], "echo hello {WHO}");
    assert_eq!(whole["detailedHelp"]["WHO"], "A name, or several.\n");
    assert_eq!(whole["changelog"][0]["version"], "1.1");
    assert_eq!(whole["fileDigest"].as_str().unwrap().len(), 64);
}

#[test]
fn explaining_a_tool_says_why_it_is_not_offered_and_what_holds_its_programs() {
    let test = with_greet();
    let explained = test.run(&["explain", "greet"]).exits(0).stdout;
    for expected in [
        "not available: untrusted",
        "file      .toolcrib/tools/greet.yaml",
        "its programs\nisolation    process",
        "network      none",
    ] {
        assert!(explained.contains(expected), "{expected}: {explained}");
    }
    let whole = test.run(&["explain", "greet", "--json"]).exits(0).json();
    assert_eq!(
        (&whole["offered"], &whole["state"]),
        (&json!(false), &json!("untrusted"))
    );
    let lines = whole["sandbox"]["lines"].as_array().unwrap();
    assert!(lines.iter().any(|line| line["about"] == "network"));
}

#[test]
fn tools_are_switched_off_and_on_for_good() {
    let test = with_greet();
    test.run(&["trust", "--yes"]).exits(0);
    test.run(&["disable", "greet", "list_files"])
        .exits(0)
        .says("`greet` is off in this workspace")
        .says("`list_directory` is off");
    let refused = test.run(&["run", "greet", "--json"]).exits(3).json();
    assert_eq!(refused["error"]["code"], "TOOL_DISABLED");
    test.run(&["run", "list_directory", "path=."])
        .exits(3)
        .says("toolcrib enable list_directory");
    let rows = test
        .run(&["enable", "greet", "list_directory", "--json"])
        .exits(0)
        .json();
    assert_eq!(rows[1]["availability"], json!({"state": "ready"}));
    test.run(&["run", "greet"]).exits(0);
    test.run(&["disable", "gret"])
        .exits(3)
        .says("did you mean `greet`?");
    test.run(&["disable"]).exits(2);
    let test = test.config("disabledTools = ['shell']");
    test.run(&["enable", "shell"])
        .exits(0)
        .says("the setting `disabledTools` names it");
}

#[test]
fn the_rules_are_tried_on_what_a_tool_makes_of_its_arguments() {
    let test = Test::new().file(
        ".toolcrib/tools/wipe.yaml",
        "description: Wipes\nbash: rm -rf {WHAT}\nparameters:\n  WHAT:\n    type: string\n    description: What\ntags: [write]\n",
    );
    let judged = |what: &str| {
        let what = format!("WHAT={what}");
        let ran = test.run(&["rules", "test", "wipe", &what, "--json"]);
        ran.exits(0).json()["value"]["verdict"].clone()
    };
    assert_eq!(judged("build"), "allow");
    assert_eq!(judged("/"), "deny");
    assert_eq!(judged(".git"), "ask");
    test.run(&["trust", "--yes"]).exits(0);
    test.run(&["run", "wipe", "WHAT=/", "--yes"])
        .exits(5)
        .says("recursive-removal");
}

#[test]
fn explaining_a_tool_says_when_it_asks() {
    let asks = |more: &str| {
        let yaml = format!("description: Reads\nbash: echo\ntags: [read]\n{more}");
        let test = Test::new().file(".toolcrib/tools/t.yaml", yaml);
        let whole = test.run(&["explain", "t", "--json"]).exits(0).json();
        whole["approval"].as_str().unwrap().to_owned()
    };
    assert_eq!(asks(""), "runs without asking: it only reads");
    let beyond = asks("security: {required-permissions: ['filesystem:read:/var/mail']}\n");
    assert!(beyond.starts_with("asks every time"), "{beyond}");
    let open = asks("security: {isolation: none}\n");
    assert!(open.starts_with("asks every time"), "{open}");
}
