//! Tools of the store: `list`, `show`, `enable`, `rm`, `edit`, `new --bundle`.

use serde_json::{Value, json};

use crate::bundles::{WEATHER, acme};
use crate::harness::Test;

fn versions(rows: &Value) -> Vec<(String, String)> {
    let rows = rows.as_array().unwrap().iter();
    let word = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    rows.map(|row| (word(row, "name"), word(row, "version")))
        .collect()
}

/// `acme` with `greet` in the versions v1 and v2.
fn two_versions() -> Test {
    let test = acme();
    test.run(&["bundle", "add", "acme", "greet.yaml", "--version", "v2"])
        .exits(0);
    test
}

#[test]
fn a_list_has_one_version_of_each_tool_and_with_all_every_one() {
    let test = two_versions();
    let ran = test.run(&["list"]).exits(0);
    assert_eq!(ran.stdout.matches("Greets a person").count(), 1);
    assert!(!ran.stdout.contains("VERSION"));
    let ran = test.run(&["list", "--all"]).exits(0);
    assert!(
        ran.stdout.starts_with("NAME             VERSION  EFFECTS"),
        "{}",
        ran.stdout
    );
    let greet = |version: &str| (("greet").to_owned(), version.to_owned());
    let rows = test
        .run(&["list", "--bundle", "acme", "--json"])
        .exits(0)
        .json();
    assert_eq!(versions(&rows), [greet("v2"), greet("v1")]);
    assert_eq!(rows[1]["shadowedBy"], "acme/greet@v2");
    for key in [
        "bundleID",
        "toolID",
        "type",
        "isEnabled",
        "createdAt",
        "modifiedAt",
    ] {
        assert!(rows[0].get(key).is_some(), "{key}");
    }
    test.run(&["bundle", "add", "acme", "weather.json"])
        .exits(0);
    let rows = test.run(&["list", "--tag", "forecast", "--tag", "read", "--json"]);
    assert_eq!(
        versions(&rows.json()),
        [("weather".to_owned(), "v1".to_owned())]
    );
    test.run(&["list", "--tag", "none"])
        .exits(0)
        .says("no tool has these tags");
    test.run(&["list", "--bundle", "acmee"])
        .exits(3)
        .says("acme");
}

#[test]
fn a_tool_without_its_name_is_not_on_offer_and_it_is_said_who_has_it() {
    let test = two_versions();
    let explained = test.run(&["explain", "greet"]).exits(0).stdout;
    assert!(
        explained.contains("greet  on offer")
            && explained.contains("it comes before its version acme/greet@v1"),
        "{explained}"
    );
    let explained = |tool: &str| test.run(&["explain", tool, "--json"]).exits(0).json();
    let behind = explained("acme/greet@v1");
    assert_eq!(
        (&behind["offered"], &behind["state"]),
        (&json!(false), &json!("behind"))
    );
    let why = "`greet` is its version `v2`; this one is called as `acme/greet@v1`";
    assert_eq!(behind["reasons"], json!([why]));
    test.run(&["bundle", "show", "acme"]).exits(0).says(why);
    let all = test.run(&["list", "--all", "--plain"]).exits(0).stdout;
    let mut rows = all.lines();
    let row = rows.find(|row| row.starts_with("acme/greet@v1\t")).unwrap();
    assert!(row.contains("\tbehind\t"), "{all}");

    // A file of the user's has the name.
    let test = test.file(
        "../.toolcrib/tools/greet.yaml",
        "description: Mine\nbash: echo mine\ntags: [read]\n",
    );
    let explained = |tool: &str| test.run(&["explain", tool, "--json"]).exits(0).json();
    let shadowed = explained("acme/greet@v2");
    assert_eq!(
        (&shadowed["offered"], &shadowed["state"]),
        (&json!(false), &json!("shadowed"))
    );
    let reason = shadowed["reason"].as_str().unwrap();
    assert!(
        reason.contains("`user/greet@v1`, which shadows it"),
        "{reason}"
    );
    let found = test.run(&["search", "greets", "--plain"]).exits(0).stdout;
    assert!(found.contains("acme/greet@v2\tacme"), "{found}");
}

#[test]
fn a_tool_of_a_project_that_takes_a_name_is_said_with_what_it_hides() {
    let test = two_versions().file(
        ".toolcrib/tools/greet.yaml",
        "description: Theirs\nbash: echo theirs\ntags: [read]\n",
    );
    test.run(&["list"])
        .exits(0)
        .says("`greet` is `local/greet@v1`, which cannot be called now")
        .says("toolcrib run acme/greet@v2");
}

#[test]
fn show_says_which_record_it_is_and_how_it_was_used() {
    let test = two_versions();
    test.run(&["run", "acme/greet@v1"]).exits(0);
    test.run(&["run", "acme/greet@v1"]).exits(0);
    let shown = test
        .run(&["show", "acme/greet@v1", "--json"])
        .exits(0)
        .json();
    assert_eq!(
        (&shown["version"], &shown["callCount"]),
        (&json!("v1"), &json!(2))
    );
    assert!(shown["lastCalledAt"].is_string(), "{shown}");
    assert_eq!(shown["availability"], json!({"state": "ready"}));
    let id = shown["toolID"].as_str().unwrap();
    let page = test.run(&["show", id]).exits(0).stdout;
    for line in [
        "from      acme/greet@v1 (store)",
        "version   v1",
        "called    2 times, last ",
        "runs      echo hello {WHO}",
        "beside    v2",
        "toolcrib run acme/greet@v1",
    ] {
        assert!(page.contains(line), "{line}: {page}");
    }
    let shown = test.run(&["show", "acme/greet", "--json"]).exits(0).json();
    assert_eq!(
        (&shown["version"], &shown["callCount"]),
        (&json!("v2"), &json!(0))
    );
}

#[test]
fn one_version_is_switched_and_the_other_takes_its_name() {
    let test = two_versions();
    test.run(&["disable", "acme/greet@v2"])
        .exits(0)
        .says("`acme/greet@v2` is off\n`greet` is `acme/greet@v1` from now on");
    let shown = test.run(&["show", "greet", "--json"]).exits(0).json();
    assert_eq!(shown["version"], "v1");
    let off = test
        .run(&["show", "acme/greet@v2", "--json"])
        .exits(0)
        .json();
    assert_eq!(off["isEnabled"], false);
    test.run(&["run", "acme/greet@v2"])
        .exits(3)
        .says("`acme/greet@v2` is disabled")
        .says("toolcrib enable acme/greet@v2")
        .says("`toolcrib explain acme/greet@v2` says more");
    test.run(&["run", "acme/greet@v1", "WHAT=1"])
        .exits(4)
        .says("`toolcrib show acme/greet@v1` lists the parameters");
    let rows = test
        .run(&["enable", "acme/greet@v2", "--json"])
        .exits(0)
        .json();
    assert_eq!(rows[0]["availability"], json!({"state": "ready"}));
    assert_eq!(
        test.run(&["show", "greet", "--json"]).json()["version"],
        "v2"
    );
}

#[test]
fn a_tool_that_is_switched_off_by_its_name_is_off_in_every_version() {
    for word in ["greet", "acme/greet", "+greet"] {
        let test = two_versions();
        for _ in 0..2 {
            test.run(&["disable", word])
                .exits(0)
                .says("`acme/greet` is off, in 2 versions: v2, v1");
            test.run(&["run", "greet"]).exits(3).says("TOOL_DISABLED");
        }
        let rows = test.run(&["enable", word, "--json"]).exits(0).json();
        assert_eq!(rows.as_array().unwrap().len(), 2, "{rows}");
        test.run(&["run", "acme/greet@v1"]).exits(0);
        assert_eq!(
            test.run(&["show", "greet", "--json"]).json()["version"],
            "v2"
        );
    }
}

#[test]
fn rm_removes_the_version_that_was_named_and_asks() {
    let test = two_versions();
    for word in ["greet", "acme/greet", "+greet"] {
        let refused = test.run(&["rm", word, "--yes", "--json"]).exits(2).json();
        assert_eq!(
            refused["error"]["details"]["versions"],
            json!(["v2", "v1"]),
            "{word}"
        );
    }
    test.run(&["rm", "acme/greet@v2"]).exits(6);
    let mut session = test.on_terminal(&["rm", "acme/greet@v2"]);
    session.sees("remove `acme/greet@v2` for good? [y/n]");
    session.types("n");
    assert_eq!(session.ends().0, 5);
    let mut session = test.on_terminal(&["rm", "acme/greet@v2"]);
    session.sees("[y/n]");
    session.types("y");
    assert_eq!(session.ends().0, 0);
    test.run(&["show", "acme/greet@v2"]).exits(3);
    let removed = test
        .run(&["rm", "greet", "--yes", "--json"])
        .exits(0)
        .json();
    assert_eq!(removed, json!({"removed": ["acme/greet@v1"]}));
    test.run(&["rm", "greet", "--yes"]).exits(3);
    test.run(&["rm", "read_file", "--yes"])
        .exits(9)
        .says("toolcrib disable read_file");
}

#[test]
fn a_tool_of_a_bundle_that_is_off_or_in_the_bin_can_be_removed() {
    let test = two_versions();
    test.run(&["bundle", "disable", "acme"]).exits(0);
    test.run(&["rm", "acme/greet@v2", "--yes"]).exits(0);
    test.run(&["bundle", "rm", "acme", "--yes"]).exits(0);
    test.run(&["rm", "acme/greet@v1", "--yes"]).exits(0);
    assert_eq!(
        test.run(&["bundle", "show", "acme", "--json"]).json()["tools"],
        0
    );
}

#[test]
fn rm_of_a_file_takes_its_trust_along() {
    let test = Test::new();
    test.run(&["new", "hello"]).exits(0);
    let file = test.workspace().join(".toolcrib/tools/hello.yaml");
    let text = std::fs::read(&file).unwrap();
    test.run(&["rm", "hello"]).exits(6);
    assert!(file.exists());
    test.run(&["rm", "hello", "--yes"])
        .exits(0)
        .says("removed .toolcrib/tools/hello.yaml");
    assert!(!file.exists());
    // The same bytes, put there by someone else, are not trusted.
    std::fs::write(&file, text).unwrap();
    test.run(&["run", "hello"]).exits(3).says("toolcrib trust");
    // One that makes no sense can be removed, too.
    std::fs::write(&file, "bahs: 1").unwrap();
    test.run(&["rm", "hello", "--yes"]).exits(0);
}

/// A test whose editor runs this shell script with the file as `$1`.
fn edited_by(test: Test, script: &str) -> Test {
    let path = test.workspace().join("editor.sh");
    std::fs::write(&path, script).unwrap();
    let editor = format!("sh {}", path.display());
    test.variable("EDITOR", &editor)
        .variable("PATH", "/usr/bin:/bin")
}

#[test]
fn a_record_is_edited_as_json_without_what_the_store_owns() {
    let test = edited_by(
        two_versions(),
        "cp \"$1\" seen.json; sed -i s/hello/bye/ \"$1\"",
    );
    let before = test.run(&["show", "acme/greet@v1", "--json"]).json();
    test.run(&["edit", "acme/greet@v1"])
        .exits(0)
        .prints("saved acme/greet@v1\n");
    let seen = std::fs::read(test.workspace().join("seen.json")).unwrap();
    let seen: Value = serde_json::from_slice(&seen).unwrap();
    let keys: Vec<&String> = seen.as_object().unwrap().keys().collect();
    let expected = [
        "slug",
        "version",
        "displayName",
        "description",
        "type",
        "isEnabled",
        "impl",
        "tags",
    ];
    assert_eq!(keys, expected);
    test.run(&["run", "acme/greet@v1"])
        .exits(0)
        .prints("bye world\n");
    let after = test.run(&["show", "acme/greet@v1", "--json"]).json();
    for same in ["toolID", "bundleID", "createdAt"] {
        assert_eq!(before[same], after[same], "{same}");
    }
    assert_ne!(before["modifiedAt"], after["modifiedAt"]);
    // Nothing left to change.
    test.run(&["edit", "acme/greet@v1"])
        .exits(0)
        .says("nothing was changed");
}

#[test]
fn a_new_version_is_beside_the_old_one() {
    let test = edited_by(two_versions(), "sed -i s/hello/bye/ \"$1\"");
    let words = ["edit", "acme/greet@v1", "--as-version", "v3"];
    test.run(&words).exits(0).prints("saved acme/greet@v3\n");
    test.run(&["run", "acme/greet@v3"])
        .exits(0)
        .prints("bye world\n");
    test.run(&["run", "acme/greet@v1"])
        .exits(0)
        .prints("hello world\n");
    test.run(&words)
        .exits(9)
        .says("`acme/greet@v3` exists already");
    test.run(&["edit", "acme/greet@v1", "--as-version", "v 4"])
        .exits(2);
}

#[test]
fn what_does_not_check_is_kept_for_its_author_and_the_record_stays() {
    for (script, words) in [
        ("sed -i s/bash/bahs/ \"$1\"", "did you mean `bash`?"),
        ("echo '{' > \"$1\"", "json-syntax"),
        ("sed -i 's/\"greet\"/\"other\"/' \"$1\"", "stays `greet`"),
        ("sed -i 's/\"v1\"/\"v9\"/' \"$1\"", "--as-version"),
    ] {
        let test = edited_by(acme(), script);
        let ran = test.run(&["edit", "greet"]).exits(4).says(words);
        let path = ran.stderr.split("your text is in ").nth(1).unwrap().trim();
        assert!(std::path::Path::new(path).exists(), "{path}");
        std::fs::remove_dir_all(std::path::Path::new(path).parent().unwrap()).unwrap();
        test.run(&["run", "greet"]).exits(0).prints("hello world\n");
    }
}

#[test]
fn a_change_that_someone_else_made_meanwhile_is_not_overwritten() {
    // The editor of one is slow, and another edits the same record meanwhile.
    let toolcrib = env!("CARGO_BIN_EXE_toolcrib");
    let script = format!(
        "if [ -z \"$INNER\" ]; then INNER=1 EDITOR='sed -i s/hello/inner/' {toolcrib} edit greet || exit 1; fi\nsed -i s/hello/outer/ \"$1\""
    );
    let test = edited_by(acme(), &script);
    let ran = test.run(&["edit", "greet"]).exits(9).says("CONFLICT");
    let path = ran.stderr.split("your text is in ").nth(1).unwrap().trim();
    assert!(std::fs::read_to_string(path).unwrap().contains("outer"));
    std::fs::remove_dir_all(std::path::Path::new(path).parent().unwrap()).unwrap();
    test.run(&["run", "greet"]).exits(0).prints("inner world\n");
}

#[test]
fn on_a_terminal_editing_goes_on_until_it_checks() {
    let script = "if [ -e once ]; then sed -i 's/bahs/bash/; s/hello/bye/' \"$1\"; else touch once; sed -i s/bash/bahs/ \"$1\"; fi";
    let test = edited_by(acme(), script);
    let mut session = test.on_terminal(&["edit", "greet"]);
    session.sees("Edit on? (y/n)");
    session.types("y");
    session.sees("saved acme/greet@v1");
    let (code, screen) = session.ends();
    assert_eq!(code, 0, "{screen}");
    test.run(&["run", "greet"]).exits(0).prints("bye world\n");
}

#[test]
fn what_cannot_be_edited_is_said_before_anybody_typed() {
    let test = edited_by(two_versions(), "touch opened");
    test.run(&["bundle", "disable", "acme"]).exits(0);
    test.run(&["edit", "acme/greet@v1"])
        .exits(9)
        .says("toolcrib bundle enable acme");
    test.run(&["edit", "read_file"]).exits(9).says("READ_ONLY");
    test.run(&["new", "mine"]).exits(0);
    test.run(&["edit", "mine", "--as-version", "v2"])
        .exits(2)
        .says("tools of the store");
    assert!(!test.workspace().join("opened").exists());
}

#[test]
fn new_tools_go_into_a_bundle_when_one_is_named() {
    let test = acme();
    test.run(&["new", "hi", "--bundle", "acme", "--description", "Says hi"])
        .exits(0)
        .prints("put acme/hi@v1\n");
    test.run(&["run", "acme/hi", "WHO=Ada"]).exits(0);
    let url = "https://api.example.com/v1/now?q=${city}";
    let words = ["new", "météo", "--http", "--url", url, "--bundle", "acme"];
    test.run(&words).exits(0).prints("put acme/météo@v1\n");
    let shown = test.run(&["show", "+météo", "--json"]).exits(0).json();
    assert_eq!(shown["impl"]["urlTemplate"], url);
    let curl = "curl https://api.example.com/v1/{id}";
    let words = [
        "new",
        "item",
        "--from-curl",
        curl,
        "--bundle",
        "acme",
        "--json",
    ];
    let made = test.run(&words).exits(0).json();
    assert_eq!(made["value"]["tool"], "acme/item@v1");
    assert!(made["value"].get("file").is_none(), "{made}");
    assert!(!test.workspace().join(".toolcrib").exists());
    test.run(&["new", "hi", "--bundle", "acme"])
        .exits(9)
        .says("CONFLICT");
    test.run(&["new", "hi", "--bundle", "core"])
        .exits(9)
        .says("READ_ONLY");
    test.run(&["new", "hi", "--bundle", "nope"]).exits(3);
}

#[test]
fn slugs_that_look_like_options_and_slugs_of_any_script_are_tools() {
    let test = acme();
    for slug in ["-rf", "تقرير"] {
        let file = WEATHER.replace("\"weather\"", &format!("\"{slug}\""));
        std::fs::write(test.workspace().join("it.json"), file).unwrap();
        test.run(&["bundle", "add", "acme", "it.json"]).exits(0);
        for word in [slug.to_owned(), format!("+{slug}"), format!("acme/{slug}")] {
            let shown = test.run(&["--json", "show", "--", &word]).exits(0).json();
            assert_eq!(shown["slug"], slug, "{word}");
        }
        let plus = format!("+{slug}");
        test.run(&["show", &plus]).exits(0);
        test.run(&["disable", &plus]).exits(0).says(slug);
        test.run(&["rm", "--yes", "--", slug]).exits(0);
        test.run(&["show", &plus]).exits(3);
    }
}

#[test]
fn tests_of_stored_tools_run_like_those_of_files() {
    let test = acme();
    test.run(&["new", "hello", "--bundle", "acme"]).exits(0);
    for word in ["hello", "acme/hello", "acme/hello@v1"] {
        let ran = test.run(&["test", word]).exits(0).says("2 passed");
        assert!(!ran.stderr.contains("built in"), "{}", ran.stderr);
    }
    // Nothing named means everything; a tool without tests says so when it is named.
    test.run(&["test"]).exits(0).says("2 passed");
    test.run(&["test", "acme/greet"])
        .exits(0)
        .says("`greet` has no tests (acme/greet@v1)");
    test.run(&["test", "hello:nope"])
        .exits(3)
        .says("`hello` has no test `nope`");
    // One that fails says so, and how to see it.
    let shown = test.run(&["show", "acme/hello", "--json"]).json();
    let mut tool = shown;
    tool["slug"] = json!("wrong");
    tool["impl"]["tests"][0]["expected"]["output-contains"] = json!("something else");
    tool.as_object_mut().unwrap().shift_remove("name");
    let test = test.file("wrong.json", tool.to_string());
    test.run(&["bundle", "add", "acme", "wrong.json"]).exits(0);
    let failed = test.run(&["test", "acme/wrong"]).exits(1);
    assert!(
        failed.stdout.contains("toolcrib run acme/wrong@v1"),
        "{}",
        failed.stdout
    );
    let report = test.run(&["test", "acme/wrong", "--json"]).exits(1).json();
    assert_eq!(report["value"]["tests"][0]["reference"], "acme/wrong@v1");
    let words = ["test", "acme/wrong:greets-the-world", "--record", "--yes"];
    test.run(&words)
        .exits(2)
        .says("toolcrib edit acme/wrong@v1");
}

#[test]
fn the_test_of_a_stored_tool_can_use_another_stored_tool() {
    let test = acme();
    let tool = json!({
        "slug": "greet-ada", "type": "alias", "description": "Greets Ada",
        "impl": {
            "base-tool": "acme/greet",
            "default-parameters": {"WHO": "Ada"},
            "tests": [{"name": "it", "expected": {"output-contains": "Ada"}}],
        },
    });
    let test = test.file("ada.json", tool.to_string());
    test.run(&["bundle", "add", "acme", "ada.json"]).exits(0);
    test.run(&["test", "acme/greet-ada"])
        .exits(0)
        .says("1 passed");
}

#[test]
fn a_stored_tool_is_checked_by_its_name() {
    let test = acme();
    for word in ["greet", "acme/greet", "acme/greet@v1"] {
        let ran = test.run(&["check", word]).exits(0);
        assert_eq!(ran.stdout, "1 stored tool: OK\n", "{word}");
    }
    let report = test.run(&["check", "acme/greet", "--json"]).exits(0).json();
    assert_eq!(report["value"]["files"][0]["file"], "acme/greet@v1");
    test.run(&["check"])
        .exits(0)
        .says("1 stored tool was checked when it was put");
    test.run(&["check", "acme/nope"])
        .exits(2)
        .says("there is neither a file nor a stored tool `acme/nope`");
    test.run(&["check", "--fix", "acme/greet"])
        .exits(2)
        .says("toolcrib edit acme/greet@v1");
}

#[test]
fn a_tool_that_is_not_there_is_missed_in_the_same_words_by_every_verb() {
    let test = acme();
    for (word, why) in [
        ("acme/nope", "`acme`"),
        ("nope/greet", "nope"),
        ("acme/gret", "did you mean"),
    ] {
        let shown = test.run(&["show", word, "--json"]).exits(3).json();
        let message = shown["error"]["message"].as_str().unwrap();
        assert!(message.contains(why), "{message}");
        for verb in ["rm", "edit", "test"] {
            let refused = test.run(&[verb, word, "--json"]).exits(3).json();
            assert_eq!(refused["error"]["message"], message, "{verb}");
        }
    }
}

#[test]
fn rows_have_the_same_fields_for_every_kind_of_tool() {
    let test = acme().file(
        ".toolcrib/tools/filed.yaml",
        "description: d\nbash: echo\ntags: [read]\n",
    );
    test.run(&["trust", "--yes"]).exits(0);
    test.run(&["disable", "filed"]).exits(0);
    let rows = test.run(&["list", "--all", "--json"]).exits(0).json();
    for row in rows.as_array().unwrap() {
        for key in [
            "bundleID",
            "displayName",
            "type",
            "isEnabled",
            "isBuiltIn",
            "availability",
        ] {
            assert!(row.get(key).is_some(), "{key}: {row}");
        }
    }
    let row = |name: &str| {
        let mut rows = rows.as_array().unwrap().iter();
        rows.find(|row| row["name"] == name).unwrap().clone()
    };
    let (core, file, stored) = (row("read_file"), row("filed"), row("greet"));
    assert_eq!(
        (&core["type"], &core["isBuiltIn"]),
        (&json!("rust"), &json!(true))
    );
    assert_eq!(
        (&file["type"], &file["isEnabled"]),
        (&json!("command"), &json!(false))
    );
    assert_eq!(stored["displayName"], "greet");
    for tool in ["read_file", "filed", "acme/greet"] {
        let shown = test.run(&["show", tool, "--json"]).exits(0).json();
        assert_eq!(shown["argSchema"], shown["inputSchema"], "{tool}");
        assert_eq!(shown["argSchema"]["type"], "object", "{tool}");
    }
}

#[test]
fn what_show_prints_can_be_put_into_another_bundle() {
    let test = acme();
    test.run(&["bundle", "add", "acme", "weather.json"])
        .exits(0);
    test.run(&["run", "greet"]).exits(0);
    test.run(&["bundle", "new", "other"]).exits(0);
    for tool in ["greet", "weather"] {
        let shown = test
            .run(&["show", &format!("acme/{tool}"), "--json"])
            .exits(0);
        std::fs::write(test.workspace().join("copy.json"), &shown.stdout).unwrap();
        let ran = test.run(&["bundle", "add", "other", "copy.json"]).exits(0);
        assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);
    }
    let stored: Vec<String> = std::fs::read_dir(test.home().join("bundles"))
        .unwrap()
        .filter_map(|bundle| std::fs::read_dir(bundle.unwrap().path()).ok())
        .flatten()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    for field in [
        "availability",
        "callCount",
        "\"bundle\"",
        "digest",
        "inputSchema",
    ] {
        assert!(!stored.iter().any(|text| text.contains(field)), "{field}");
    }
    test.run(&["run", "other/greet"])
        .exits(0)
        .prints("hello world\n");
}

#[test]
fn the_columns_of_plain_lists_do_not_depend_on_what_is_listed() {
    let columns = |ran: &crate::harness::Ran| {
        let mut all: Vec<usize> = ran
            .stdout
            .lines()
            .map(|line| line.split('\t').count())
            .collect();
        all.dedup();
        all
    };
    let one = acme();
    let two = two_versions();
    for (words, expected) in [
        (&["--plain", "list"][..], 4),
        (&["--plain", "list", "--all"], 5),
        (&["--plain", "list", "--bundle", "acme"], 4),
        (&["--plain", "list", "--bundle", "acme", "--all"], 5),
        (&["--plain", "search", "greet"], 3),
        (&["--plain", "search", "greet", "--all"], 4),
    ] {
        for test in [&one, &two] {
            assert_eq!(columns(&test.run(words).exits(0)), [expected], "{words:?}");
        }
    }
    // A name is alone in its column, and can be typed.
    let odd = json!({"slug": "odd", "type": "command", "description": "a\u{202e}b", "impl": {"bash": "echo"}});
    let test = one.file("odd.json", odd.to_string());
    test.run(&["bundle", "add", "acme", "odd.json"]).exits(0);
    let plain = test.run(&["--plain", "search", "odd"]).exits(0).stdout;
    assert!(plain.starts_with("odd\tacme\t"), "{plain}");
    test.run(&["search", "odd"])
        .exits(0)
        .says("(!) it may not be what it looks like: toolcrib show acme/odd@v1");
    let rows = two.run(&["--plain", "search", "greet", "--all"]).stdout;
    assert!(rows.contains("\nacme/greet@v1\tacme\t"), "{rows}");
}

#[test]
fn names_of_lists_behind_a_bundle_are_understood() {
    let test = acme();
    test.run(&["show", "core/read_file"])
        .exits(3)
        .says("did you mean `core/read-file`?");
}

#[test]
fn suggested_commands_work_for_slugs_that_look_like_options() {
    let test = acme();
    let tool = json!({"slug": "-rf", "type": "command", "description": "d", "tags": ["read"], "impl": {"bash": "echo hi"}});
    let test = test.file("odd.json", tool.to_string());
    test.run(&["bundle", "add", "acme", "odd.json"])
        .exits(0)
        .says("toolcrib run -- -rf ");
    let page = test.run(&["show", "--", "-rf"]).exits(0).stdout;
    assert!(page.ends_with("toolcrib run -- -rf\n"), "{page}");
    test.run(&["run", "--", "-rf"]).exits(0).prints("hi\n");
}

#[test]
fn a_slug_of_another_script_is_listed_and_suggested_as_it_is_typed() {
    let test = acme();
    let tool = json!({"slug": "天気", "type": "command", "description": "d", "tags": ["read"], "impl": {"bash": "echo hi"}});
    let test = test.file("sky.json", tool.to_string());
    test.run(&["bundle", "add", "acme", "sky.json"])
        .exits(0)
        .says("toolcrib run 天気 ");
    let table = test.run(&["list"]).exits(0).stdout;
    assert!(table.contains("\n天気 "), "{table}");
    test.run(&["run", "天気"]).exits(0).prints("hi\n");
    // Programs get what models get.
    let plain = test.run(&["--plain", "search", "天気"]).exits(0).stdout;
    assert!(plain.starts_with("__-"), "{plain}");
}

#[test]
fn a_list_of_calls_says_which_bundle_and_version_ran() {
    let test = two_versions();
    test.run(&["run", "acme/greet@v1"]).exits(0);
    test.run(&["run", "list_directory", "path=."]).exits(0);
    let table = test.run(&["calls", "list"]).exits(0).stdout;
    assert!(table.contains(" acme/greet@v1 "), "{table}");
    assert!(table.contains(" list_directory "), "{table}");
    let plain = test.run(&["--plain", "calls", "list"]).exits(0).stdout;
    assert!(plain.contains("\tgreet\t"), "{plain}");
}

#[test]
fn input_that_is_not_a_tool_is_refused_for_what_it_is() {
    let test = acme()
        .file("wat.json", r#"{"slug": "x", "type": "wat", "impl": {}}"#)
        .file("bundle.json", r#"{"bundleID": "018faf50-b7b6-7a01-9a05-a22a6e0af101", "slug": "x", "isEnabled": true}"#);
    test.run(&["bundle", "add", "acme", "wat.json"])
        .exits(4)
        .says("`type` is \"wat\", which is not a kind of tool")
        .says("wat.json:1:15")
        .says("`http`, `command`, `alias`");
    test.run(&["bundle", "add", "acme", "bundle.json"])
        .exits(2)
        .says("describes a bundle and is not a tool");
    test.run(&["bundle", "add", "acme", "gone.json"])
        .exits(2)
        .says("cannot read `gone.json`: No such file");
    test.run(&["bundle", "add", "acme", "greet.yaml", "--version", "a b"])
        .exits(2)
        .says("USAGE: a short text without spaces");
    test.run(&["new", "greet", "--bundle", "acme"])
        .exits(9)
        .says("`toolcrib edit acme/greet@v1` changes what is there");
    test.run(&["bundle", "disable", "acme"]).exits(0);
    // Obstacles come before next steps.
    test.run(&["bundle", "add", "acme", "greet.yaml"])
        .exits(9)
        .says("`toolcrib bundle enable acme` switches it on");
}

#[test]
fn a_version_that_was_not_saved_is_an_error() {
    let test = acme().variable("EDITOR", "true");
    test.run(&["edit", "acme/greet", "--as-version", "v2"])
        .exits(9)
        .says("nothing was changed, so there is no `v2`");
    test.run(&["edit", "acme/greet"])
        .exits(0)
        .says("nothing was changed");
}

#[test]
fn who_has_the_name_of_a_shadowed_tool_is_said_where_it_is_listed() {
    let test = acme();
    test.run(&["bundle", "new", "zz"]).exits(0);
    test.run(&["bundle", "add", "zz", "greet.yaml"]).exits(0);
    test.run(&["bundle", "show", "acme"])
        .exits(0)
        .says("acme/greet@v1: `greet` is `zz/greet@v1`");
}
