//! Hidden characters and look-alike names, as people meet them: `check`, `explain`, lists, questions.

use serde_json::json;

use crate::bundle_archives::packed;
use crate::harness::Test;

const SLY: &str = "Says\u{e0041}\u{202e} hello\u{200b}";
const SHOWN: &str = "Says\\u{e0041}\\u{202e} hello\\u{200b}";

/// A home that has taken in a bundle with a tool whose texts hide something, and switched it on.
fn imported() -> Test {
    let id = "018faf50-b7b6-7a01-9a05-a22a6e0af101";
    let bundle = json!({"bundleID": id, "slug": "sly", "displayName": "Sly", "description": "", "isEnabled": true});
    let tool = json!({
        "bundleID": id, "slug": "sly-tool", "version": "v1", "displayName": SLY, "description": SLY, "type": "command",
        "isEnabled": true, "tags": ["run"],
        "impl": {"bash": "echo {WHO}", "parameters": {"WHO": {"type": "string", "description": SLY}}},
    });
    let files = [
        ("bundle.json", bundle.to_string()),
        ("tools/a.json", tool.to_string()),
    ];
    let test = Test::new().file("sly.zip", packed(&files));
    let ran = test.run(&["bundle", "import", "sly.zip", "--yes"]).exits(0);
    assert!(ran.stdout.contains("hidden characters"), "{ran:?}");
    test.run(&["bundle", "enable", "sly", "--yes"]).exits(0);
    test
}

#[test]
fn check_says_where_something_hides_and_explain_knows_the_code() {
    let test = Test::new()
        .file(
            "yaml/greet.yaml",
            "description: \"Greets\\u202e\"\ntags: [read]\nbash: echo hello\n",
        )
        .file(
            "json/weather.json",
            r#"{"slug": "weather", "description": "Weather\u200b", "type": "http", "tags": ["read"],
  "impl": {"urlTemplate": "https://api.example.com/"}}"#,
        );
    for (path, place, named) in [
        ("yaml/greet.yaml", "greet.yaml:1:14", "U+202E"),
        ("json/weather.json", "weather.json:1:", "U+200B"),
    ] {
        let ran = test.run(&["check", path]).exits(4).says("");
        let all = format!("{}{}", ran.stdout, ran.stderr);
        for part in [place, named, "hidden-text", "remove it"] {
            assert!(all.contains(part), "{part}: {all}");
        }
    }
    for code in ["hidden-text", "look-alike"] {
        let ran = test.run(&["explain", code]).exits(0);
        assert!(ran.stdout.contains(code), "{ran:?}");
    }
    // It is not loaded, and cannot be put into a bundle.
    test.run(&["bundle", "new", "acme"]).exits(0);
    test.run(&["bundle", "add", "acme", "json/weather.json"])
        .exits(4)
        .says("U+200B");
}

#[test]
fn a_file_whose_name_looks_like_another_tool_is_refused() {
    let good = "description: Lists\ntags: [read]\nbash: ls\n";
    let test = Test::new()
        .file(".toolcrib/tools/read-fi1e.yaml", good)
        .file(".toolcrib/tools/modem.yaml", good)
        .file(".toolcrib/tools/modern.yaml", good)
        .file(".toolcrib/tools/other.yaml", good);
    test.run(&["trust", "--yes"]);
    for words in [
        &["check", "--json"][..],
        &["check", "--json", ".toolcrib/tools"],
    ] {
        let report = test.run(words).exits(4).json();
        let files = report["error"]["details"]["files"].as_array().unwrap();
        let alike: Vec<&str> = files
            .iter()
            .filter(|file| file["problems"].to_string().contains("look-alike"))
            .map(|file| file["file"].as_str().unwrap().rsplit('/').next().unwrap())
            .collect();
        assert_eq!(alike, ["modern.yaml", "read-fi1e.yaml"], "{report}");
    }
    let listed = test.run(&["list"]).exits(0);
    assert!(
        listed.stdout.contains("modem") && listed.stdout.contains("other"),
        "{listed:?}"
    );
    assert!(!listed.stdout.contains("fi1e"), "{listed:?}");
    test.run(&["run", "modern"]).exits(3);
}

#[test]
fn a_file_whose_name_looks_like_a_stored_tool_is_refused() {
    let good = "description: Lists\ntags: [read]\nbash: ls\n";
    let test = Test::new();
    test.run(&["bundle", "new", "acme"]).exits(0);
    test.run(&[
        "new",
        "modem",
        "--bundle",
        "acme",
        "--description",
        "Says hi",
    ])
    .exits(0);
    let test = test.file(".toolcrib/tools/modern.yaml", good);
    test.run(&["trust", "--yes"]);
    let checked = test.run(&["check"]).exits(4);
    let said = "`modern` looks like the tool `modem`";
    assert!(checked.stdout.contains(said), "{checked:?}");
    let listed = test.run(&["list"]).exits(0);
    assert!(listed.stdout.contains("modem"), "{listed:?}");
    assert!(!listed.stdout.contains("modern"), "{listed:?}");
}

#[test]
fn people_see_what_hides_escaped_and_models_do_not_get_it() {
    let test = imported();
    for words in [&["list"][..], &["search", "hello"], &["show", "sly-tool"]] {
        let ran = test.run(words).exits(0);
        assert!(ran.stdout.contains(SHOWN), "{words:?} {ran:?}");
        assert!(
            !ran.stdout.contains(['\u{202e}', '\u{200b}', '\u{e0041}']),
            "{words:?} {ran:?}"
        );
    }
    for provider in ["openai", "anthropic", "mcp"] {
        let ran = test
            .run(&["schema", "sly-tool", "--provider", provider])
            .exits(0);
        assert!(ran.stdout.contains("Says hello"), "{ran:?}");
        assert!(
            !ran.stdout.contains(['\u{202e}', '\u{200b}', '\u{e0041}']),
            "{ran:?}"
        );
        assert!(!ran.stdout.contains("u{202e}"), "{ran:?}");
    }
    // Data stays what it is.
    let shown = test.run(&["show", "sly-tool", "--json"]).exits(0).json();
    assert_eq!(shown["description"], SLY);
}

#[test]
fn a_question_shows_what_hides_in_the_tool_that_asks() {
    let test = imported();
    let mut terminal = test.on_terminal(&["run", "sly-tool", "WHO=you\u{202e}"]);
    let question = terminal.sees("> ");
    assert!(question.contains("you\\u{202e}"), "{question}");
    assert!(
        !question.contains(['\u{202e}', '\u{200b}', '\u{e0041}']),
        "{question}"
    );
    terminal.types("n");
    terminal.types("");
    assert_eq!(terminal.ends().0, 5);
}
