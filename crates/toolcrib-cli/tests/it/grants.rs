//! `toolcrib grants`.

use serde_json::json;

use crate::harness::Test;

fn notes() -> Test {
    Test::new().file("docs/notes.md", "old\n")
}

const OVERWRITE: [&str; 4] = ["run", "write_file", "path=docs/notes.md", "content=new\n"];

#[test]
fn a_grant_is_made_listed_shown_used_and_revoked() {
    let test = notes();
    test.run(&["grants", "list", "--json"])
        .exits(0)
        .prints("[]\n");
    test.run(&["grants", "list"]).exits(0).says("no grants");
    test.run(&OVERWRITE).exits(6);
    let made = test
        .run(&[
            "grants",
            "add",
            "write_file",
            "path=docs/*",
            "content=*",
            "--expires",
            "2h",
            "--uses",
            "2",
            "--reason",
            "docs are mine",
            "--yes",
            "--json",
        ])
        .exits(0);
    let made_json = made.json();
    let shape = json!({
        "path": {"path": "docs/*"}, "content": "any",
        "encoding": {"exact": "utf-8"}, "createDirs": {"exact": false},
    });
    assert_eq!(made_json["shape"], shape);
    assert_eq!(
        (
            &made_json["scope"],
            &made_json["maxUses"],
            &made_json["reason"]
        ),
        (&json!("project"), &json!(2), &json!("docs are mine"))
    );
    made.says("would have allowed 1 past call, a write\n");
    let id = made_json["id"].as_str().unwrap();
    let short = &id[28..];
    let words: Vec<&str> = OVERWRITE.into_iter().chain(["--dry-run"]).collect();
    let planned = test.run(&words).exits(0).stdout;
    assert!(planned.contains(&format!("by grant {short}")), "{planned}");
    let words: Vec<&str> = OVERWRITE.into_iter().chain(["-v"]).collect();
    test.run(&words)
        .exits(0)
        .says(&format!("approved by grant {short}"));
    let table = test.run(&["grants", "list"]).exits(0).stdout;
    assert!(table.contains(short) && table.contains("1 of 2"), "{table}");
    assert!(table.contains("  here  "), "{table}");
    let row = test.run(&["grants", "list", "--plain"]).exits(0).stdout;
    let workspace = test.workspace().canonicalize().unwrap();
    assert!(row.contains(workspace.to_str().unwrap()), "{row}");
    let shown = test.run(&["grants", "show", short]).exits(0).stdout;
    assert!(
        shown.contains("docs/*") && shown.contains("docs are mine"),
        "{shown}"
    );
    test.run(&["grants", "revoke", short, "ffff"])
        .exits(2)
        .says("nothing was revoked");
    test.run(&OVERWRITE).exits(0);
    test.run(&OVERWRITE).exits(6);
    assert_eq!(
        test.run(&["grants", "list", "--json"]).json(),
        json!([]),
        "it is used up"
    );
    let table = test.run(&["grants", "list", "--all"]).exits(0).stdout;
    assert!(
        table.contains("used up") && table.contains(short),
        "{table}"
    );
    test.run(&["grants", "show", "ffff"])
        .exits(2)
        .says("toolcrib grants list --all");
}

#[test]
fn a_revoked_grant_covers_nothing() {
    let test = notes();
    let grant = |path: &str| {
        test.run(&[
            "grants",
            "add",
            "write_file",
            path,
            "content=*",
            "--yes",
            "--json",
        ])
        .exits(0)
        .json()["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let (one, two) = (grant("path=docs/*"), grant("path=docs/notes.md"));
    test.run(&OVERWRITE).exits(0);
    let revoked = test.run(&["grants", "revoke", &one, &two]).exits(0).stdout;
    assert_eq!(revoked.lines().count(), 2, "{revoked}");
    test.run(&OVERWRITE).exits(6);
    test.run(&["grants", "revoke", &one]).exits(2);
}

#[test]
fn a_grant_is_confirmed_on_a_terminal_and_not_made_without_one() {
    let test = notes();
    let add = ["grants", "add", "write_file", "path=docs/*", "content=*"];
    test.run(&add).exits(6).says("pass `--yes`");
    let mut terminal = test.on_terminal(&add);
    terminal.sees("would have allowed 0 past calls");
    terminal.sees("Make this grant?");
    terminal.types("n");
    assert_eq!(terminal.ends().0, 5);
    assert_eq!(test.run(&["grants", "list", "--json"]).json(), json!([]));
    let mut terminal = test.on_terminal(&add);
    terminal.sees("Make this grant?");
    terminal.types("y");
    assert_eq!(terminal.ends().0, 0);
    test.run(&OVERWRITE).exits(0);
}

#[test]
fn a_session_is_what_one_terminal_started() {
    let test = notes();
    let add = [
        "grants",
        "add",
        "write_file",
        "path=docs/*",
        "content=*",
        "--scope",
        "session",
        "--yes",
    ];
    // Two commands of one session, begun here: that of this process may have begun where no one can see it.
    test.in_one_session(&[&add, &OVERWRITE]).exits(0);
    // Its own terminal is another.
    let mut terminal = test.on_terminal(&OVERWRITE);
    terminal.sees("> ");
    terminal.types("n");
    terminal.types("");
    assert_eq!(terminal.ends().0, 5);
}

#[test]
fn what_cannot_be_granted_is_refused_with_a_reason() {
    let test = notes();
    let add = |words: &[&str]| {
        let words: Vec<&str> = ["grants", "add"]
            .into_iter()
            .chain(words.iter().copied())
            .chain(["--yes"])
            .collect();
        test.run(&words)
    };
    add(&["delete_file", "path=docs/*"])
        .exits(4)
        .says("takes something away");
    add(&["nothing"]).exits(3);
    add(&["write_file", "pth=a", "content=*"])
        .exits(4)
        .says("did you mean `path`?");
    add(&["shell"]).exits(4).says("has `command`");
    add(&["write_file", "path=docs/*"])
        .exits(4)
        .says("`content`");
    add(&["shell", "--shape", "{}"]).exits(4);
    add(&["shell", "command=git log", "--expires", "1000d"])
        .exits(2)
        .says("365d");
    add(&["shell", "command=git log", "--expires", "soon"])
        .exits(2)
        .says("30m, 8h or 7d");
    add(&["read_file", "path=docs/*"])
        .exits(0)
        .says("`read_file` only reads");
    add(&["write_file", "docs/*"]).exits(2).says("path=");
    add(&["shell", "command=git log; rm -rf /"])
        .exits(2)
        .says("--shape");
    add(&["shell", "--shape", "{\"command\": \"any\"}"])
        .exits(4)
        .says("argv");
    add(&["shell", "--shape", "{\"command\": 5}"]).exits(2);
    add(&[
        "shell",
        "--shape",
        "{\"command\": {\"argv\": [\"sudo\", \"**\"]}}",
    ])
    .exits(2);
}

#[test]
fn ids_are_completed() {
    let test = notes();
    let made = test
        .run(&[
            "grants",
            "add",
            "write_file",
            "path=docs/*",
            "content=*",
            "--yes",
            "--json",
        ])
        .exits(0)
        .json();
    let id = made["id"].as_str().unwrap();
    let complete = |current: &str| {
        let ran = test
            .command()
            .env("COMPLETE", "bash")
            .env("_CLAP_COMPLETE_INDEX", "3")
            .env("_CLAP_COMPLETE_COMP_TYPE", "9")
            .env("_CLAP_COMPLETE_SPACE", "true")
            .env("_CLAP_IFS", "\n")
            .args(["--", "toolcrib", "grants", "revoke", current])
            .output()
            .unwrap();
        String::from_utf8(ran.stdout).unwrap()
    };
    assert!(complete("").contains(&id[28..]));
    assert!(complete(&id[..30]).contains(id));
    assert!(!complete("zz").contains(&id[28..]));
}
