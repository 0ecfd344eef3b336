//! `toolcrib bundle`: containers of tools with one switch.

use serde_json::{Value, json};

use crate::harness::Test;

pub(crate) const WEATHER: &str = r#"{ // S4, with a comment
  "slug": "weather",
  "version": "v1",
  "displayName": "Weather report",
  "description": "Fetch current weather for a city",
  "type": "http",
  "tags": ["read", "forecast"],
  "argSchema": {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "City"}},
    "required": ["city"]
  },
  "impl": {"method": "GET", "urlTemplate": "https://api.example.com/v1?q=${city}"}
}
"#;

pub(crate) const GREET: &str = "description: Greets a person
tags: [read]
bash: echo hello {WHO}
parameters:
  WHO: {description: Whom, default: world}
";

/// A home with the bundle `acme`, in which `greet@v1` is, and the files of both tools.
pub(crate) fn acme() -> Test {
    let test = Test::new()
        .file("weather.json", WEATHER)
        .file("greet.yaml", GREET);
    test.run(&["bundle", "new", "acme", "--description", "Tools of Acme"])
        .exits(0);
    test.run(&["bundle", "add", "acme", "greet.yaml"]).exits(0);
    test
}

fn slugs(rows: &Value) -> Vec<&str> {
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| row["slug"].as_str().unwrap()).collect()
}

#[test]
fn a_list_shows_what_is_on_and_with_all_everything_and_creates_nothing() {
    let test = Test::new();
    let ran = test.run(&["bundle", "list"]).exits(0);
    assert!(ran.stdout.starts_with("SLUG    STATE  TOOLS  FROM"));
    assert!(!test.home().exists());
    let rows = test.run(&["bundle", "list", "--json"]).exits(0).json();
    assert_eq!(slugs(&rows), ["core", "local", "user", "global"]);
    assert_eq!(rows[0]["kind"], "built-in");
    assert_eq!(rows[0]["isBuiltIn"], true);
    for (slug, more) in [("b-on", None), ("a-off", Some("--disabled"))] {
        let words: Vec<&str> = ["bundle", "new", slug].into_iter().chain(more).collect();
        test.run(&words).exits(0);
    }
    test.run(&["bundle", "new", "gone"]).exits(0);
    test.run(&["bundle", "rm", "gone", "--yes"]).exits(0);
    let rows = test.run(&["bundle", "list", "--json"]).exits(0).json();
    assert_eq!(slugs(&rows)[4..], ["b-on"]);
    let ran = test.run(&["bundle", "list"]).exits(0);
    assert!(ran.stderr.contains("2 more bundles are off or in the bin"));
    let ran = test.run(&["--plain", "bundle", "list", "--all"]).exits(0);
    let rows: Vec<&str> = ran.stdout.lines().skip(4).collect();
    assert_eq!(
        rows,
        [
            "a-off\toff\t0\tstore\t",
            "b-on\ton\t0\tstore\t",
            "gone\tbin\t0\tstore\t"
        ]
    );
}

#[test]
fn a_new_bundle_has_s4s_fields_and_its_own_slug_and_id() {
    let test = Test::new();
    let id = "018faf50-b7b6-7a01-9a05-a22a6e0af101";
    let words = ["bundle", "new", "acme", "--name", "Acme API", "--id", id];
    let made = test
        .run(&[&words[..], &["--json"]].concat())
        .exits(0)
        .json();
    let mut shape = made.clone();
    for time in ["createdAt", "modifiedAt"] {
        assert!(shape[time].as_str().unwrap().ends_with('Z'), "{made}");
        shape[time] = json!("T");
    }
    assert_eq!(
        shape,
        json!({"schemaVersion": "1", "bundleID": id, "slug": "acme", "displayName": "Acme API",
            "description": "", "isEnabled": true, "isBuiltIn": false, "createdAt": "T", "modifiedAt": "T", "kind": "store", "tools": 0,
            "availability": {"state": "ready"}})
    );
    // The slug is taken, the id is taken, the slug is reserved, the id is none, the slug is none.
    test.run(&["bundle", "new", "acme"])
        .exits(9)
        .says("CONFLICT: take another slug; `toolcrib bundle show acme`");
    test.run(&["bundle", "new", "other", "--id", id])
        .exits(9)
        .says("`acme` has the id");
    test.run(&["bundle", "new", "core"])
        .exits(9)
        .says("READ_ONLY: take another slug");
    test.run(&["bundle", "new", "x", "--id", "7"]).exits(2);
    for slug in ["a_b", "a b", "", "a/b", "a\u{202e}b"] {
        let ran = test.run(&["bundle", "new", slug]).exits(2);
        assert!(!ran.stderr.contains('\u{202e}'), "{ran:?}");
    }
    assert_eq!(
        test.run(&["bundle", "show", id, "--json"]).json()["slug"],
        "acme"
    );
}

#[test]
fn files_are_put_all_or_none_and_what_is_wrong_is_shown_where_it_is() {
    let test = acme()
        .file("bad.json", WEATHER.replace("urlTemplate", "urlTempalte"))
        .file("worse.yaml", "description: x\nbahs: echo\ntags: [read]\n");
    let ran = test
        .run(&[
            "bundle",
            "add",
            "acme",
            "weather.json",
            "bad.json",
            "worse.yaml",
        ])
        .exits(4)
        .says("2 of 3 files have errors");
    for part in [
        "bad.json:13:30",
        "did you mean `urlTemplate`?",
        "did you mean `bash`?",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    test.run(&["show", "acme/weather"]).exits(3);
    let words = ["bundle", "add", "acme", "bad.json", "--json"];
    let refused = test.run(&words).exits(4).json();
    assert_eq!(
        refused["error"]["details"]["files"][0]["problems"][0]["code"],
        "unknown-key"
    );
    // An existing tool is never replaced, and then nothing else is put.
    test.run(&["bundle", "add", "acme", "weather.json", "greet.yaml"])
        .exits(9)
        .says("`acme/greet@v1` exists already");
    test.run(&["show", "acme/weather"]).exits(3);
    test.run(&["bundle", "add", "acme", "weather.json", "weather.json"])
        .exits(2)
        .says("are both `acme/weather@v1`");
    test.run(&["bundle", "add", "acme", "none.json"]).exits(2);
    test.run(&["bundle", "add", "core", "greet.yaml"])
        .exits(9)
        .says("READ_ONLY");
    test.run(&["bundle", "add", "acem", "greet.yaml"])
        .exits(3)
        .says("acme");
    let ran = test.run(&[
        "bundle",
        "add",
        "acme",
        "weather.json",
        "greet.yaml",
        "--version",
        "v2",
    ]);
    ran.exits(0)
        .prints("put acme/weather@v2\nput acme/greet@v2\n");
}

#[test]
fn a_yaml_tool_of_a_bundle_runs_as_it_did() {
    let test = acme();
    test.run(&["run", "greet", "WHO=Ada"])
        .exits(0)
        .prints("hello Ada\n");
    test.run(&["run", "acme/greet@v1"])
        .exits(0)
        .prints("hello world\n");
    let shown = test.run(&["show", "greet", "--json"]).exits(0).json();
    assert_eq!(shown["type"], "command");
    assert_eq!(shown["impl"]["bash"], "echo hello {WHO}");
    assert_eq!(shown["argSchema"]["properties"]["WHO"]["default"], "world");
}

#[test]
fn a_switch_holds_for_all_tools_and_says_what_to_type() {
    let test = acme();
    test.run(&["bundle", "disable", "acme"])
        .exits(0)
        .says("`acme` is off");
    test.run(&["run", "greet"])
        .exits(3)
        .says("toolcrib bundle enable acme");
    test.run(&["bundle", "add", "acme", "weather.json"])
        .exits(9)
        .says("toolcrib bundle enable acme");
    let row = &test
        .run(&["bundle", "enable", "acme", "--json"])
        .exits(0)
        .json()[0];
    assert_eq!(
        (&row["isEnabled"], &row["tools"]),
        (&json!(true), &json!(1))
    );
    test.run(&["run", "greet"]).exits(0);
    // Toolcrib's own have one, too; and nothing is switched if one is not there.
    test.run(&["bundle", "disable", "core"]).exits(0);
    test.run(&["run", "read_file", "path=greet.yaml"])
        .exits(3)
        .says("toolcrib bundle enable core");
    test.run(&["bundle", "enable", "core", "acmee"]).exits(3);
    test.run(&["run", "read_file", "path=greet.yaml"]).exits(3);
    test.run(&["bundle", "enable", "core"]).exits(0);
    test.run(&["run", "read_file", "path=greet.yaml"]).exits(0);
}

#[test]
fn the_bin_keeps_everything_and_gives_it_back() {
    let test = acme();
    test.run(&["bundle", "rm", "acme"]).exits(6).says("--yes");
    let ran = test.run(&["bundle", "rm", "acme", "--yes"]).exits(0);
    assert_eq!(ran.stdout, "acme is in the bin\n");
    assert!(
        ran.stderr.contains("toolcrib bundle restore acme"),
        "{ran:?}"
    );
    test.run(&["run", "greet"])
        .exits(3)
        .says("toolcrib bundle restore acme");
    let at = |ran: Value| ran["softDeletedAt"].clone();
    let first = at(test.run(&["bundle", "show", "acme", "--json"]).json());
    let again = test
        .run(&["bundle", "rm", "acme", "--yes", "--json"])
        .exits(0);
    assert_eq!(at(again.json()), first);
    for words in [["bundle", "enable", "acme"], ["bundle", "disable", "acme"]] {
        test.run(&words).exits(9).says("restore");
    }
    test.run(&["bundle", "restore", "acme"])
        .exits(0)
        .prints("acme is back, with 1 tool\n");
    test.run(&["run", "greet"]).exits(0);
    test.run(&["bundle", "restore", "acme"]).exits(9);
    for own in ["core", "local", "user", "global"] {
        let refused = test.run(&["bundle", "rm", own, "--yes"]).exits(9);
        refused.says(&format!("toolcrib bundle disable {own}"));
    }
}

#[test]
fn a_slug_that_is_taken_meanwhile_keeps_a_bundle_in_the_bin() {
    let test = acme();
    let id = test.run(&["bundle", "show", "acme", "--json"]).json()["bundleID"].clone();
    let id = id.as_str().unwrap();
    test.run(&["bundle", "rm", "acme", "--yes"]).exits(0);
    test.run(&["bundle", "new", "acme"]).exits(0);
    test.run(&["bundle", "restore", id])
        .exits(9)
        .says("CONFLICT");
    test.run(&["bundle", "rm", "acme", "--yes"])
        .exits(0)
        .says("it is empty");
    test.run(&["bundle", "restore", id]).exits(0);
    test.run(&["run", "greet"]).exits(0);
}

#[test]
fn an_imported_bundle_is_switched_on_by_who_saw_what_it_does() {
    let test = acme();
    test.run(&["bundle", "add", "acme", "weather.json"])
        .exits(0);
    test.run(&["bundle", "disable", "acme"]).exits(0);
    let id = test.run(&["bundle", "show", "acme", "--json"]).json()["bundleID"].clone();
    // As an import leaves it.
    let file = test
        .home()
        .join(format!("bundles/{}/bundle.json", id.as_str().unwrap()));
    let mut bundle: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    bundle["importedAt"] = json!("2026-11-16T12:00:00Z");
    std::fs::write(&file, serde_json::to_vec_pretty(&bundle).unwrap()).unwrap();
    let ran = test.run(&["bundle", "enable", "acme"]).exits(6);
    for part in [
        "acme/greet@v1",
        "echo hello {WHO}",
        "api.example.com",
        "imported 2026-11-16",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {ran:?}");
    }
    test.run(&["run", "greet"]).exits(3);
    let mut session = test.on_terminal(&["bundle", "enable", "acme"]);
    session.sees("switch these 2 tools on?");
    session.types("n");
    let (code, screen) = session.ends();
    assert_eq!(code, 5, "{screen}");
    test.run(&["run", "greet"]).exits(3);
    let mut session = test.on_terminal(&["bundle", "enable", "acme"]);
    session.sees("switch these 2 tools on?");
    session.types("y");
    assert_eq!(session.ends().0, 0);
    // Every call asks all the same.
    test.run(&["run", "greet"]).exits(6);
    test.run(&["bundle", "disable", "acme"]).exits(0);
    test.run(&["bundle", "enable", "acme", "--yes"]).exits(0);
}

#[test]
fn slugs_of_any_script_and_with_leading_dashes_are_values() {
    let test = Test::new().file("greet.yaml", GREET);
    for slug in ["météo", "天気"] {
        test.run(&["bundle", "new", slug]).exits(0);
    }
    for slug in ["--help", "שלום"] {
        test.run(&["bundle", "new", "--", slug]).exits(0);
        test.run(&["bundle", "add", "--", slug, "greet.yaml"])
            .exits(0);
        let shown = test
            .run(&["--json", "bundle", "show", "--", slug])
            .exits(0)
            .json();
        assert_eq!((&shown["slug"], &shown["tools"]), (&json!(slug), &json!(1)));
        let reference = format!("{slug}/greet@v1");
        test.run(&["run", "--", &reference])
            .exits(0)
            .prints("hello world\n");
        test.run(&["bundle", "disable", "--", slug]).exits(0);
        let ran = test.run(&["bundle", "rm", "--yes", "--", slug]).exits(0);
        let typed = if slug.starts_with('-') { "-- " } else { "" };
        ran.says(&format!("toolcrib bundle restore {typed}{slug}"));
        test.run(&["bundle", "restore", "--", slug]).exits(0);
        test.run(&["bundle", "enable", "--", slug]).exits(0);
    }
    let table = test.run(&["bundle", "list"]).exits(0).stdout;
    // Two columns for each wide character.
    assert!(table.contains("\n天気    on "), "{table}");
    assert!(table.contains("\nmétéo   on "), "{table}");
    assert!(table.contains("\nשלום    on "), "{table}");
}

#[test]
fn a_damaged_bundle_is_said_and_costs_no_other() {
    let test = acme();
    test.run(&["bundle", "new", "fine"]).exits(0);
    let id = test.run(&["bundle", "show", "acme", "--json"]).json()["bundleID"].clone();
    let file = test
        .home()
        .join(format!("bundles/{}/bundle.json", id.as_str().unwrap()));
    std::fs::write(&file, "{").unwrap();
    let all = test
        .run(&["bundle", "list", "--all", "--json"])
        .exits(0)
        .json();
    let rows = all.as_array().unwrap();
    let damaged: Vec<&Value> = rows
        .iter()
        .filter(|row| row.get("problem").is_some())
        .collect();
    assert_eq!(damaged.len(), 1, "{all}");
    assert_eq!(damaged[0]["bundleID"], id);
    let listed = test.run(&["bundle", "list"]).exits(0);
    assert!(listed.stdout.contains("fine"), "{listed:?}");
    assert!(listed.stderr.contains("it is damaged"), "{listed:?}");
    let id = id.as_str().unwrap();
    let ran = test.run(&["--plain", "bundle", "list", "--all"]).exits(0);
    assert!(
        ran.stdout.contains(&format!("\n{id}\tdamaged\t-\tstore\t")),
        "{ran:?}"
    );
    test.run(&["bundle", "show", id])
        .exits(9)
        .says("toolcrib doctor --fix");
    test.run(&["run", "greet"]).exits(3);
}

#[test]
fn a_damaged_bundle_is_known_by_the_slug_that_its_file_still_says() {
    let test = acme();
    let id = test.run(&["bundle", "show", "acme", "--json"]).json()["bundleID"].clone();
    let file = test
        .home()
        .join(format!("bundles/{}/bundle.json", id.as_str().unwrap()));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &text[..text.len() - 4]).unwrap();
    for verb in ["show", "enable", "rm"] {
        let yes = if verb == "show" { &[][..] } else { &["--yes"] };
        let args: Vec<&str> = ["bundle", verb, "acme"]
            .into_iter()
            .chain(yes.iter().copied())
            .collect();
        test.run(&args).exits(9).says("toolcrib doctor --fix");
    }
    let listed = test.run(&["--plain", "bundle", "list", "--all"]).exits(0);
    assert!(listed.stdout.contains("\nacme\tdamaged\t"), "{listed:?}");
    assert_eq!(
        listed.stderr.matches("it is damaged").count(),
        1,
        "{listed:?}"
    );
    assert!(!listed.stderr.contains("more bundle"), "{listed:?}");
}

#[test]
fn a_damaged_tool_is_listed_with_its_reason() {
    let test = acme();
    let row = test.run(&["show", "acme/greet", "--json"]).json();
    let dir = test
        .home()
        .join(format!("bundles/{}", row["bundleID"].as_str().unwrap()));
    let mut files = std::fs::read_dir(dir)
        .unwrap()
        .map(|file| file.unwrap().path());
    let file = files.find(|file| !file.ends_with("bundle.json"));
    let file = file.unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &text[..text.len() - 4]).unwrap();
    let without = test.run(&["list"]).exits(0);
    assert!(!without.stdout.contains("greet"), "{without:?}");
    let all = test.run(&["list", "--all"]).exits(0);
    let line = all
        .stdout
        .lines()
        .find(|line| line.contains("acme/greet@v1"));
    assert!(line.is_some_and(|line| line.contains("damaged")), "{all:?}");
    let rows = test.run(&["list", "--all", "--json"]).exits(0).json();
    let row = rows
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["slug"] == "greet");
    assert_eq!(
        row.unwrap()["availability"]["state"],
        "unavailable",
        "{row:?}"
    );
    assert!(
        test.run(&["list", "--all", "--bundle", "acme"])
            .stdout
            .contains("acme/greet@v1")
    );
    let ran = test.run(&["run", "acme/greet@v1"]).exits(3);
    assert!(ran.stderr.contains("doctor --fix"), "{ran:?}");
    assert!(!ran.stderr.contains("Look for the right name"), "{ran:?}");
}

#[test]
fn what_a_bundle_says_about_itself_can_be_changed_and_the_rest_stays() {
    let test = acme();
    let before = test.run(&["bundle", "show", "acme", "--json"]).json();
    test.run(&["bundle", "edit", "acme"]).exits(2);
    let words = ["bundle", "edit", "acme", "--name", "Acme API", "--json"];
    let after = test.run(&words).exits(0).json();
    assert_eq!(after["displayName"], "Acme API");
    for field in [
        "bundleID",
        "slug",
        "description",
        "isEnabled",
        "createdAt",
        "tools",
    ] {
        assert_eq!(after[field], before[field], "{field}");
    }
    test.run(&[
        "bundle",
        "edit",
        "acme",
        "--slug",
        "other",
        "--description",
        "",
    ])
    .exits(0)
    .says("its tools are called `other/…` from now on");
    test.run(&["run", "other/greet"]).exits(0);
    test.run(&["bundle", "show", "acme"]).exits(3);
    test.run(&["bundle", "new", "acme"]).exits(0);
    test.run(&["bundle", "edit", "other", "--slug", "acme"])
        .exits(9)
        .says("take another slug");
    test.run(&["bundle", "edit", "other", "--slug", "a b"])
        .exits(2)
        .says("letters and digits of any script");
    test.run(&["bundle", "edit", "core", "--name", "x"])
        .exits(9)
        .says("READ_ONLY");
    test.run(&["bundle", "rm", "other", "--yes"]).exits(0);
    test.run(&["bundle", "edit", "other", "--name", "x"])
        .exits(9)
        .says("toolcrib bundle restore other");
}

#[test]
fn of_two_bundles_in_the_bin_with_one_slug_none_is_guessed() {
    let test = acme();
    let id = test.run(&["bundle", "show", "acme", "--json"]).json()["bundleID"].clone();
    test.run(&["bundle", "restore", "acme"])
        .exits(9)
        .says("toolcrib bundle list --all");
    test.run(&["bundle", "rm", "acme", "--yes"]).exits(0);
    test.run(&["bundle", "new", "acme"]).exits(0);
    test.run(&["bundle", "restore", "acme"])
        .exits(9)
        .says("toolcrib bundle edit acme --slug NEW");
    test.run(&["bundle", "rm", "acme", "--yes"]).exits(0);
    let refused = test
        .run(&["bundle", "restore", "acme", "--json"])
        .exits(9)
        .json();
    let ids = refused["error"]["details"]["bundleIDs"].as_array().unwrap();
    assert_eq!((ids.len(), &ids[1]), (2, &id), "{refused}");
    test.run(&["bundle", "restore", "acme"])
        .exits(9)
        .says("2 bundles called `acme` are in the bin")
        .says("1 tool, there since");
    test.run(&["bundle", "restore", id.as_str().unwrap()])
        .exits(0)
        .prints("acme is back, with 1 tool\n");
}

#[test]
fn a_bundle_that_is_not_there_is_looked_for_among_bundles() {
    let test = Test::new();
    for verb in ["show", "enable", "rm", "restore"] {
        let ran = test.run(&["bundle", verb, "nope"]).exits(3);
        assert_eq!(
            ran.stderr,
            "error: bundle not found: `nope`\n  BUNDLE_NOT_FOUND: Look for the right bundle with `toolcrib bundle list --all`, for an MCP server with `toolcrib upstream list`.\n"
        );
    }
}

#[test]
fn who_has_a_name_after_a_change_is_said() {
    let test = acme();
    test.run(&["bundle", "new", "zz"]).exits(0);
    test.run(&["bundle", "add", "zz", "greet.yaml"]).exits(0);
    let now = "`greet` is `acme/greet@v1` from now on";
    test.run(&["bundle", "disable", "zz"]).exits(0).says(now);
    test.run(&["bundle", "enable", "zz"])
        .exits(0)
        .says("`greet` is `zz/greet@v1` from now on");
    test.run(&["bundle", "rm", "zz", "--yes"])
        .exits(0)
        .says(now);
    test.run(&["bundle", "restore", "zz"]).exits(0);
    test.run(&["rm", "zz/greet", "--yes"]).exits(0).says(now);
}

#[test]
fn a_slug_that_begins_with_a_dash_is_said_as_it_is() {
    let test = Test::new();
    let ran = test.run(&["bundle", "new", "--", "-rf"]).exits(0);
    assert!(ran.stdout.starts_with("made the bundle -rf ("), "{ran:?}");
    assert!(
        ran.stderr.contains("toolcrib bundle add -- -rf FILE"),
        "{ran:?}"
    );
    let ran = test.run(&["bundle", "rm", "--yes", "--", "-rf"]).exits(0);
    assert!(ran.stdout.starts_with("-rf is in the bin"), "{ran:?}");
}
