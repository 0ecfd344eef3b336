//! `toolcrib config`.

use serde_json::{Value, json};

use crate::harness::Test;

fn setting(rows: &Value, key: &str) -> (Value, Value) {
    let row = rows
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["key"] == key)
        .unwrap();
    (row["value"].clone(), row["origin"].clone())
}

#[test]
fn every_value_is_shown_with_its_origin() {
    let test = Test::new()
        .config("[limits]\ntimeoutMs = 5000\nlistEntries = 5\n")
        .file(".toolcrib/config.toml", "[limits]\nlistEntries = 2\n")
        .variable("TOOLCRIB_READ_EXTENSIONS", "txt, md");
    let rows = test.run(&["config", "show", "--json"]).exits(0).json();
    assert_eq!(
        setting(&rows, "limits.timeoutMs"),
        (json!(5000), json!("home"))
    );
    assert_eq!(
        setting(&rows, "limits.listEntries"),
        (json!(2), json!("project"))
    );
    assert_eq!(
        setting(&rows, "readExtensions"),
        (json!(["txt", "md"]), json!("environment"))
    );
    assert_eq!(
        setting(&rows, "limits.maxConcurrent"),
        (json!(64), json!("default"))
    );
    assert!(
        test.run(&["config", "show"])
            .exits(0)
            .stdout
            .contains("TOOLCRIB_READ_EXTENSIONS")
    );
}

#[test]
fn settings_take_effect() {
    let test = Test::new()
        .config("readExtensions = ['txt']\n[limits]\nlistEntries = 2\nmaxInputBytes = 1024\n")
        .file("a.txt", "A")
        .file("b.key", "B")
        .file("c.txt", "C");
    test.run(&["run", "read_file", "path=a.txt"]).exits(0);
    test.run(&["run", "read_file", "path=b.key"])
        .exits(1)
        .says("readExtensions");
    let listed = test
        .run(&["run", "list_directory", "path=.", "--json"])
        .exits(0)
        .json();
    assert_eq!(listed["value"]["entries"].as_array().unwrap().len(), 2);
    assert_eq!(listed["value"]["truncated"], true);
    test.run(&["run", "read_file", &format!("path={}", "x".repeat(2000))])
        .exits(4)
        .says("limit is 1024");
}

#[test]
fn a_broken_file_is_named_with_line_and_fix_and_a_project_cannot_loosen() {
    let broken = Test::new().config("[limits]\ntimeoutMS = 5\n");
    broken
        .run(&["list"])
        .exits(2)
        .says("did you mean `limits.timeoutMs`?")
        .says("config.toml");
    let path = broken.run(&["config", "path", "--json"]).exits(0).json();
    assert_eq!(path[0]["exists"], true);
    Test::new()
        .config("[limits\n")
        .run(&["list"])
        .exits(2)
        .says("line 1");
    // A project's wider value changes nothing, and stops nothing.
    let greedy = Test::new()
        .file(".toolcrib/config.toml", "[limits]\ntimeoutMs = 600000\n")
        .config("[limits]\ntimeoutMs = 1000\n");
    let rows = greedy.run(&["config", "show", "--json"]).exits(0).json();
    assert_eq!(
        setting(&rows, "limits.timeoutMs"),
        (json!(1000), json!("home"))
    );
    let shown = greedy.run(&["show", "read_file", "--json"]).exits(0).json();
    assert_eq!(
        shown["limits"]["timeoutMs"], 1000,
        "the operator's limit binds tools that set their own"
    );
}

#[test]
fn the_reference_in_docs_is_the_one_the_binary_prints() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    let printed = Test::new().run(&["config", "reference"]).exits(0).stdout;
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &printed).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap(),
        printed,
        "UPDATE_GOLDEN=1 writes docs/config.md"
    );
}

#[test]
fn a_setting_is_set_and_removed_and_the_rest_of_the_file_stays() {
    let test = Test::new().config("# mine\n[limits]\ntimeoutMs = 5000 # slow\n");
    let text = || std::fs::read_to_string(test.home().join("config.toml")).unwrap();
    let file = test.home().join("config.toml");
    test.run(&["config", "set", "limits.timeoutMs", "7000"])
        .exits(0)
        .shows(&format!("limits.timeoutMs = 7000, in {}\n", file.display()));
    assert_eq!(text(), "# mine\n[limits]\ntimeoutMs = 7000 # slow\n");
    test.run(&["config", "set", "allowedHosts", "--add", "api.example.com"])
        .exits(0);
    test.run(&["config", "set", "allowedHosts", "--add", "b.example.com"])
        .exits(0);
    assert!(
        text().contains("allowedHosts = [\"api.example.com\", \"b.example.com\"]\n"),
        "{}",
        text()
    );
    test.run(&["config", "unset", "allowedHosts", "api.example.com"])
        .exits(0);
    let rows = test
        .run(&["config", "show", "allowedHosts", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        setting(&rows, "allowedHosts"),
        (json!(["b.example.com"]), json!("home"))
    );
    assert_eq!(rows.as_array().unwrap().len(), 1);
    test.run(&["config", "unset", "limits.timeoutMs"])
        .exits(0)
        .shows("is removed");
    let rows = test
        .run(&["config", "show", "--changed", "--json"])
        .exits(0)
        .json();
    assert_eq!(rows.as_array().unwrap().len(), 1, "{rows}");
    assert!(text().contains("# mine\n"), "{}", text());
}

#[test]
fn what_a_setting_does_not_take_is_refused_before_anything_is_written() {
    let test = Test::new();
    for (words, said) in [
        (&["limits.timeoutMs", "soon"][..], "whole number"),
        (
            &["limits.timeoutMS", "5"],
            "did you mean `limits.timeoutMs`?",
        ),
        (&["limits.timeoutMs"], "needs a value: whole number"),
        (&["sandbox.network", "all"], "must be"),
        (&["limits.timeoutMs", "--add", "5"], "not a list"),
        (&["upstreams.x.command", "npx"], "toolcrib upstream add"),
    ] {
        let words: Vec<&str> = ["config", "set"]
            .into_iter()
            .chain(words.iter().copied())
            .collect();
        test.run(&words).exits(2).says(said);
    }
    assert!(!test.home().join("config.toml").exists());
}

#[test]
fn a_project_file_is_written_only_where_it_tightens() {
    let test = Test::new();
    let file = test.workspace().join(".toolcrib/config.toml");
    test.run(&["config", "set", "--project", "limits.timeoutMs", "90000"])
        .exits(2)
        .says("a project may only lower it (it is 60000)");
    assert!(!file.exists());
    test.run(&["config", "set", "--project", "limits.timeoutMs", "1000"])
        .exits(0);
    let rows = test.run(&["config", "show", "--json"]).exits(0).json();
    assert_eq!(
        setting(&rows, "limits.timeoutMs"),
        (json!(1000), json!("project"))
    );
    test.run(&["config", "unset", "--project", "limits.timeoutMs"])
        .exits(0);
    let elsewhere = test.workspace().join("elsewhere.toml");
    std::fs::write(&elsewhere, "").unwrap();
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &file).unwrap();
    test.run(&["config", "set", "--project", "limits.timeoutMs", "1000"])
        .exits(9);
    assert_eq!(
        std::fs::read_to_string(&elsewhere).unwrap(),
        "",
        "a link is not followed"
    );
}

#[test]
fn what_an_editor_saves_is_checked_before_it_replaces_the_file() {
    let test = Test::new().config("# mine\n");
    let file = test.home().join("config.toml");
    let edit = |script: &str| {
        let mut command = test.command();
        command
            .env("EDITOR", script)
            .env("PATH", "/usr/bin:/bin")
            .args(["config", "edit"]);
        crate::harness::Ran::of(command.output().unwrap())
    };
    edit("sh -c 'echo \"x = 1\" >> \"$0\"'")
        .exits(2)
        .says("your text is in");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "# mine\n");
    edit("sh -c 'echo \"limits.timeoutMs = 5\" >> \"$0\"'")
        .exits(0)
        .shows("saved");
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        "# mine\nlimits.timeoutMs = 5\n"
    );
    edit("true").exits(0).says("nothing was changed");
}

#[test]
fn editing_one_setting_opens_the_file_with_a_line_for_it() {
    let test = Test::new().config("# mine\nallowedHosts = []\n");
    let file = test.home().join("config.toml");
    let edit = |script: &str, key: &str| {
        let mut command = test.command();
        command
            .env("EDITOR", script)
            .env("PATH", "/usr/bin:/bin")
            .args(["config", "edit", key]);
        crate::harness::Ran::of(command.output().unwrap())
    };
    edit("true", "limits.timeoutMs")
        .exits(0)
        .says("nothing was changed");
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        "# mine\nallowedHosts = []\n"
    );
    edit(
        "sed -i 's/^timeoutMs = .*/timeoutMs = 5000/'",
        "limits.timeoutMs",
    )
    .exits(0)
    .shows("saved");
    let saved = "# mine\nallowedHosts = []\n\n[limits]\ntimeoutMs = 5000\n";
    assert_eq!(std::fs::read_to_string(&file).unwrap(), saved);
    // It is there already.
    edit("sed -i 's/5000/6000/'", "limits.timeoutMs").exits(0);
    assert_eq!(
        std::fs::read_to_string(&file).unwrap(),
        saved.replace("5000", "6000")
    );
    edit("true", "limits.timeoutMS")
        .exits(2)
        .says("did you mean `limits.timeoutMs`?");
}

#[test]
fn messages_about_the_settings_name_their_file() {
    let test = Test::new().config("[limits\n");
    let file = test.home().join("config.toml").display().to_string();
    test.run(&["config", "set", "limits.timeoutMs", "5000"])
        .exits(2)
        .says(&format!("{file} is not TOML"));
    let test = Test::new().config("limits = 5\n");
    let file = test.home().join("config.toml").display().to_string();
    test.run(&["config", "set", "limits.timeoutMs", "5000"])
        .exits(2)
        .says(&file);
}

#[test]
fn settings_and_exit_codes_are_explained() {
    let test = Test::new().config("[limits]\ntimeoutMs = 5000\n");
    let file = test.home().join("config.toml");
    test.run(&["explain", "limits.timeoutMs"])
        .exits(0)
        .shows("now       5000 (home)\n")
        .shows(&file.display().to_string())
        .shows("toolcrib config set limits.timeoutMs VALUE");
    test.run(&["explain", "TOOLCRIB_ALLOWED_HOSTS"])
        .exits(0)
        .shows("allowedHosts\n");
    test.run(&["explain", "5"])
        .exits(0)
        .shows("APPROVAL_DENIED")
        .shows("BLOCKED_BY_RULE");
    test.run(&["explain", "77"])
        .exits(0)
        .shows("does not exit with this");
    let document = test.run(&["explain", "6", "--json"]).exits(0).json();
    assert_eq!(
        document["codes"],
        json!(["APPROVAL_UNAVAILABLE", "APPROVAL_EXPIRED", "GONE"])
    );
    test.run(&["explain", "limits.timeoutMS"])
        .exits(3)
        .says("`limits.timeoutMs`");
}
