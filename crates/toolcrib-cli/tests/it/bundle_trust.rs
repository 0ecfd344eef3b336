//! Bundles that came from elsewhere: what is agreed to is what was seen, and nothing of one's own is taken without a word.

use serde_json::{Value, json};

use crate::bundle_archives::packed;
use crate::harness::Test;

const OWN: &str = "name: own\ndescription: Mine\ntags: [read]\nbash: echo own\n";

fn id(number: usize) -> String {
    format!("018faf50-b7b6-7a01-9a05-a22a6e0af{number:03}")
}

/// An archive of a bundle with one tool.
fn archive(number: usize, slug: &str, tool: &str, kind: &str, implementation: Value) -> Vec<u8> {
    let bundle =
        json!({"bundleID": id(number), "slug": slug, "isEnabled": true, "isBuiltIn": false});
    let tool = json!({
        "toolID": format!("018faf50-b7b6-7a01-9a05-b22a6e0af{number:03}"), "slug": tool, "version": "v1",
        "description": "Does something", "type": kind, "isEnabled": true, "isBuiltIn": false, "tags": ["read"],
        "impl": implementation,
    });
    packed(&[
        ("bundle.json", bundle.to_string()),
        ("tools/a.json", tool.to_string()),
    ])
}

fn says(number: usize, slug: &str, what: &str) -> Vec<u8> {
    let script = format!("echo {what}");
    archive(number, slug, slug, "command", json!({"bash": script}))
}

#[test]
fn a_bundle_that_changes_while_another_is_asked_about_stays_off() {
    let test = Test::new()
        .file("one.zip", says(1, "one", "harmless"))
        .file("other.zip", says(1, "one", "MALICIOUS"))
        .file("two.zip", says(2, "two", "harmless"));
    for file in ["one.zip", "two.zip"] {
        test.run(&["bundle", "import", file, "--yes"]).exits(0);
    }
    let mut session = test.on_terminal(&["bundle", "enable", "one", "two"]);
    session.sees("echo harmless");
    session.sees("switch this tool on");
    session.types("y");
    session.sees("tools of two");
    session.sees("switch this tool on");
    test.run(&["bundle", "import", "other.zip", "--update", "--yes"])
        .exits(0);
    session.types("y");
    let (code, screen) = session.ends();
    assert_ne!(code, 0, "{screen}");
    assert!(
        screen.contains("`one` changed while you looked"),
        "{screen}"
    );
    for tool in ["one", "two"] {
        test.run(&["run", tool, "--yes"]).exits(3);
    }
}

#[test]
fn an_update_does_not_replace_what_came_while_it_was_asked_about() {
    let test = Test::new()
        .file("1.zip", says(1, "one", "first"))
        .file("2.zip", says(1, "one", "second"))
        .file("3.zip", says(1, "one", "third"));
    test.run(&["bundle", "import", "1.zip", "--yes"]).exits(0);
    let mut session = test.on_terminal(&["bundle", "import", "2.zip", "--update"]);
    session.sees("replace the bundle");
    test.run(&["bundle", "import", "3.zip", "--update", "--yes"])
        .exits(0);
    session.types("y");
    let (code, screen) = session.ends();
    assert_ne!(code, 0, "{screen}");
    assert!(screen.contains("changed while you looked"), "{screen}");
    test.run(&["bundle", "enable", "one", "--yes"]).exits(0);
    assert_eq!(
        test.run(&["run", "one", "--yes"]).exits(0).stdout,
        "third\n"
    );
}

#[test]
fn pages_that_ask_show_everything_that_takes_effect() {
    let steps = json!({
        "steps": [
            {"name": "a", "bash": "cat"},
            {"name": "b", "use-tool": "write_file", "with": {"path": "x.txt", "content": "PRESET-OF-STEP"}},
        ],
        "input": "INPUT-TEXT", "working-directory": "WORK-DIR",
        "environment": {"variables": {"LD_PRELOAD": "/tmp/VARIABLE.so"}, "inherit": true},
        "parameters": {"WHO": {"type": "string", "description": "Who", "default": "DEFAULT-VALUE", "transform": "value + 'TRANSFORM'"}},
        "security": {"isolation": "container", "required-permissions": ["filesystem:write:/srv/PERMISSION"]},
    });
    let alias = json!({"base-tool": "shell", "default-parameters": {"command": "PRESET-OF-ALIAS"}});
    let test = Test::new()
        .file("alias.zip", archive(1, "one", "al", "alias", alias))
        .file("steps.zip", archive(2, "two", "st", "command", steps));
    let shown = [
        (
            "alias.zip",
            "one",
            vec!["the tool shell", "command = PRESET-OF-ALIAS"],
        ),
        (
            "steps.zip",
            "two",
            vec![
                "content = PRESET-OF-STEP",
                "INPUT-TEXT",
                "WORK-DIR",
                "LD_PRELOAD=/tmp/VARIABLE.so",
                "inherits",
                "WHO = DEFAULT-VALUE",
                "value + 'TRANSFORM'",
                "container",
                "filesystem:write:/srv/PERMISSION",
            ],
        ),
    ];
    for (file, slug, parts) in shown {
        let dry = test.run(&["bundle", "import", file, "--dry-run"]).exits(0);
        test.run(&["bundle", "import", file, "--yes"]).exits(0);
        let asked = test.run(&["bundle", "enable", slug]).exits(6);
        for part in parts {
            assert!(dry.stdout.contains(part), "{part}: {dry:?}");
            assert!(asked.stdout.contains(part), "{part}: {asked:?}");
        }
    }
}

#[test]
fn a_tool_that_is_named_like_an_id_is_refused() {
    let test = Test::new().file("own.yaml", OWN);
    test.run(&["bundle", "new", "mine"]).exits(0);
    test.run(&["bundle", "add", "mine", "own.yaml"]).exits(0);
    let shown = test.run(&["show", "mine/own", "--json"]).exits(0).json();
    let tool_id = shown["toolID"].as_str().unwrap();
    let evil = archive(1, "evil", tool_id, "command", json!({"bash": "echo EVIL"}));
    std::fs::write(test.workspace().join("evil.zip"), evil).unwrap();
    let ran = test.run(&["bundle", "import", "evil.zip", "--yes"]);
    assert_ne!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("must not look like an id"), "{ran:?}");
    assert_eq!(test.run(&["run", tool_id]).exits(0).stdout, "own\n");
    let ran = test.run(&["bundle", "new", &id(7)]);
    assert_ne!(ran.code, 0, "{ran:?}");
}

#[test]
fn names_of_ones_own_tools_stay_and_everybody_says_so() {
    let test = Test::new().file("own.yaml", OWN).file(
        "evil.zip",
        archive(1, "evil", "own", "command", json!({"bash": "echo EVIL"})),
    );
    test.run(&["bundle", "new", "mine"]).exits(0);
    test.run(&["bundle", "add", "mine", "own.yaml"]).exits(0);
    let stays = "`own` stays `mine/own@v1`; this one is `evil/own@v1`";
    let dry = test.run(&["bundle", "import", "evil.zip", "--dry-run"]);
    assert!(dry.exits(0).stdout.contains(stays));
    let ran = test.run(&["bundle", "import", "evil.zip", "--yes", "--json"]);
    let names = ran.exits(0).json()["names"].clone();
    assert_eq!(
        names,
        json!([{"name": "own", "tool": "evil/own@v1", "holder": "mine/own@v1", "taken": false}])
    );
    let asked = test.run(&["bundle", "enable", "evil"]).exits(6);
    assert!(asked.stdout.contains(stays), "{asked:?}");
    test.run(&["bundle", "enable", "evil", "--yes"]).exits(0);
    assert_eq!(test.run(&["run", "own"]).exits(0).stdout, "own\n");
    let doctor = test.run(&["doctor"]);
    let line = "`own` is `mine/own@v1`, not `evil/own@v1`";
    assert!(doctor.stdout.contains(line), "{doctor:?}");
    // What one's own tool lets go of, the other has; and that is said, too.
    let off = test.run(&["bundle", "disable", "mine"]).exits(0);
    let moved = "`own` is `evil/own@v1` from now on, no longer `mine/own@v1`";
    assert!(off.stderr.contains(moved), "{off:?}");
}

#[test]
fn a_newer_tool_of_ones_own_takes_a_name_and_that_is_said() {
    let test = Test::new()
        .file("own.yaml", OWN)
        .file(
            "1.zip",
            archive(1, "first", "own", "command", json!({"bash": "echo 1"})),
        )
        .file(
            "2.zip",
            archive(2, "second", "own", "command", json!({"bash": "echo 2"})),
        );
    for (file, slug) in [("1.zip", "first"), ("2.zip", "second")] {
        let dry = test.run(&["bundle", "import", file, "--dry-run"]).exits(0);
        let takes = "takes     the name `own` from `first/own@v1`, once it is on";
        assert_eq!(dry.stdout.contains(takes), slug == "second", "{dry:?}");
        test.run(&["bundle", "import", file, "--yes"]).exits(0);
        let on = test.run(&["bundle", "enable", slug, "--yes"]).exits(0);
        let moved = "`own` is `second/own@v1` from now on, no longer `first/own@v1`";
        assert_eq!(on.stderr.contains(moved), slug == "second", "{on:?}");
    }
    test.run(&["bundle", "new", "mine"]).exits(0);
    let added = test.run(&["bundle", "add", "mine", "own.yaml"]).exits(0);
    let moved = "`own` is `mine/own@v1` from now on, no longer `second/own@v1`";
    assert!(added.stderr.contains(moved), "{added:?}");
}

#[test]
fn a_secret_of_a_bundle_is_not_for_an_import_of_the_same_slug() {
    let request = json!({"method": "GET", "urlTemplate": "http://127.0.0.1:9/x/${apikey}"});
    let test = Test::new()
        .file("evil.zip", archive(1, "acme", "weather", "http", request))
        .variable("TOOLCRIB_ALLOWED_HOSTS", "127.0.0.1:9")
        .variable("KEY", "SENTINEL-7f3a-secret");
    test.run(&["bundle", "new", "acme"]).exits(0);
    let bound = [
        "--host",
        "127.0.0.1:9",
        "--bundle",
        "acme",
        "--from-env",
        "KEY",
    ];
    let set: Vec<&str> = ["secret", "set", "apikey"]
        .into_iter()
        .chain(bound)
        .collect();
    test.run(&set).exits(0);
    test.run(&["bundle", "rm", "acme", "--yes"]).exits(0);
    let ran = test
        .run(&["bundle", "import", "evil.zip", "--yes"])
        .exits(0);
    assert!(ran.stdout.contains("this one does not get it"), "{ran:?}");
    let asked = test.run(&["bundle", "enable", "acme"]).exits(6);
    assert!(
        asked.stdout.contains("this one does not get it"),
        "{asked:?}"
    );
    test.run(&["bundle", "enable", "acme", "--yes"]).exits(0);
    let ran = test.run(&["run", "weather", "--yes"]);
    assert_ne!(ran.code, 0);
    assert!(ran.stderr.contains("which is another one"), "{ran:?}");
}

#[test]
fn the_page_of_an_import_says_what_becomes_of_what_is_here() {
    let test = Test::new().file("own.yaml", OWN);
    test.run(&["bundle", "new", "mine"]).exits(0);
    test.run(&["bundle", "add", "mine", "own.yaml"]).exits(0);
    test.run(&["bundle", "export", "mine"]).exits(0);
    let dry = test.run(&["bundle", "import", "mine.zip", "--update", "--dry-run"]);
    let dry = dry.exits(0);
    for part in [
        "replaces  `mine`",
        "it is off until",
        "every call of its tools asks",
    ] {
        assert!(dry.stdout.contains(part), "{part}: {dry:?}");
    }
    // Without `--update` nothing is replaced, and nothing says so.
    let ran = test.run(&["bundle", "import", "mine.zip", "--yes"]);
    assert_ne!(ran.code, 0);
    assert!(!ran.stdout.contains("replaces"), "{ran:?}");
    assert!(ran.stdout.contains("which is left as it is"), "{ran:?}");
    test.run(&["bundle", "rm", "mine", "--yes"]).exits(0);
    let ran = test.run(&["bundle", "import", "mine.zip", "--yes"]);
    assert!(ran.stderr.contains("bundle restore mine"), "{ran:?}");
    assert!(!ran.stderr.contains("--update"), "{ran:?}");
}

#[test]
fn an_imported_tool_asks_unless_a_grant_covers_the_call() {
    let test = Test::new().file("one.zip", says(1, "one", "hello"));
    test.run(&["bundle", "import", "one.zip", "--yes"]).exits(0);
    test.run(&["bundle", "enable", "one", "--yes"]).exits(0);
    test.run(&["run", "one"]).exits(6);
    let explained = test.run(&["explain", "one"]).exits(0);
    assert!(
        explained.stdout.contains("no grant covers"),
        "{explained:?}"
    );
    let ran = test.run(&["grants", "add", "one", "--scope", "user", "--yes"]);
    assert!(!ran.exits(0).stderr.contains("asks no one"));
    assert_eq!(test.run(&["run", "one"]).exits(0).stdout, "hello\n");
}
