//! `toolcrib bundle export|import|diff`: a bundle from one home to another.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Ran, Test};

const WEATHER: &str = r#"{
  "slug": "weather", "description": "Says how the weather is", "type": "http", "tags": ["read"],
  "argSchema": {"type": "object", "properties": {"city": {"type": "string", "description": "Where"}}, "required": ["city"]},
  "impl": {"urlTemplate": "https://api.example.com/v1?q=${city}", "headers": {"X-Key": "${WEATHER_KEY}"}}
}"#;
const GREET: &str = "description: Says hello\ntags: [run]\nbash: echo hello\n";

/// A home with the bundle `acme` and two tools.
fn home() -> Test {
    let test = Test::new()
        .file("weather.json", WEATHER)
        .file("greet.yaml", GREET);
    test.run(&["bundle", "new", "acme", "--description", "Orders"])
        .exits(0);
    test.run(&["bundle", "add", "acme", "weather.json", "greet.yaml"])
        .exits(0);
    test
}

fn archive() -> Vec<u8> {
    let test = home();
    test.run(&["bundle", "export", "acme"]).exits(0);
    std::fs::read(test.workspace().join("acme.zip")).unwrap()
}

/// Another home that has the archive as `acme.zip`.
fn elsewhere() -> Test {
    Test::new().file("acme.zip", archive())
}

/// What python packs of these files.
pub(crate) fn packed(files: &[(&str, String)]) -> Vec<u8> {
    let script = "import io,json,sys,zipfile\nt=io.BytesIO()\nwith zipfile.ZipFile(t,'w',zipfile.ZIP_DEFLATED) as z:\n  for n,c in json.load(sys.stdin): z.writestr(n,c)\nsys.stdout.buffer.write(t.getvalue())";
    let mut child = Command::new("python3")
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let input = serde_json::to_vec(files).unwrap();
    child.stdin.take().unwrap().write_all(&input).unwrap();
    child.wait_with_output().unwrap().stdout
}

const ID: &str = "018faf50-b7b6-7a01-9a05-a22a6e0af101";

fn bundle() -> Value {
    json!({
        "bundleID": ID, "slug": "sly", "displayName": "Sly", "description": "", "isEnabled": true, "isBuiltIn": true,
        "createdAt": "2024-05-14T13:44:00Z", "modifiedAt": "2024-06-01T09:17:10Z"
    })
}

fn tool(slug: &str, kind: &str, implementation: Value) -> Value {
    json!({
        "bundleID": ID, "slug": slug, "version": "v1", "description": "Does something", "type": kind,
        "isEnabled": true, "isBuiltIn": true, "tags": ["read"], "impl": implementation,
        "createdAt": "2024-05-14T13:44:00Z", "modifiedAt": "2024-06-01T09:17:10Z"
    })
}

fn bundles(test: &Test) -> Vec<String> {
    let all = test
        .run(&["bundle", "list", "--all", "--json"])
        .exits(0)
        .json();
    let all = all.as_array().unwrap().iter();
    let stored = all.filter(|bundle| bundle["kind"] == "store");
    stored
        .map(|bundle| bundle["slug"].as_str().unwrap().to_owned())
        .collect()
}

fn says_on(ran: &Ran, texts: &[&str]) {
    for text in texts {
        assert!(ran.stdout.contains(text), "no `{text}` in {}", ran.stdout);
    }
}

#[test]
fn a_bundle_goes_from_one_home_to_another_and_arrives_off() {
    let there = elsewhere();
    let ran = there
        .run(&["bundle", "import", "acme.zip", "--yes"])
        .exits(0);
    says_on(
        &ran,
        &[
            "weather@v1",
            "GET https://api.example.com/v1?q=${city}",
            "WEATHER_KEY would be sent to api.example.com (not kept here)",
            "echo hello",
            "tools: 2 new",
        ],
    );
    let ran = ran.says("is imported and switched off");
    ran.says("toolcrib bundle enable acme");
    there.run(&["run", "greet"]).exits(3);
    there.run(&["bundle", "enable", "acme", "--yes"]).exits(0);
    // Whatever its tags say, it asks.
    there.run(&["run", "greet"]).exits(6);
    there
        .run(&["run", "greet", "--yes"])
        .exits(0)
        .prints("hello\n");
}

#[test]
fn the_export_is_named_by_the_slug_and_replaces_nothing_unasked() {
    let test = home();
    test.run(&["bundle", "export", "acme"])
        .exits(0)
        .prints("acme.zip\n")
        .says("no value of a saved secret");
    let first = std::fs::read(test.workspace().join("acme.zip")).unwrap();
    test.run(&["bundle", "export", "acme"])
        .exits(1)
        .says("`--force` replaces it");
    let ran = test
        .run(&["bundle", "export", "acme", "--force", "--json"])
        .exits(0);
    assert_eq!(ran.json()["file"], json!("acme.zip"));
    assert_eq!(ran.json()["tools"], json!(2));
    let again = std::fs::read(test.workspace().join("acme.zip")).unwrap();
    assert_eq!(first, again);
    let ran = test
        .command()
        .args(["bundle", "export", "acme", "-o", "-"])
        .output()
        .unwrap();
    assert_eq!(ran.stdout, first);
    test.run(&["bundle", "export", "acme", "-o", "."])
        .exits(1)
        .says("not a plain file");
    test.run(&["bundle", "export", "acme", "-o", "no/such/dir.zip"])
        .exits(9);
    test.run(&["bundle", "export", "nope"]).exits(3);
    test.run(&["bundle", "export", "core"])
        .exits(9)
        .says("built-in");
    test.run(&["bundle", "export", "acme", "-o", "-", "--json"])
        .exits(2);
    let left: Vec<_> = std::fs::read_dir(test.workspace())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.'))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_slug_of_another_script_is_exported_by_its_id() {
    let test = Test::new();
    let made = test
        .run(&["bundle", "new", "天気", "--json"])
        .exits(0)
        .json();
    let id = made["bundleID"].as_str().unwrap();
    test.run(&["bundle", "export", "天気"])
        .exits(0)
        .prints(&format!("{id}.zip\n"));
}

#[test]
fn an_archive_is_nothing_for_a_terminal() {
    let test = home();
    let mut session = test.on_terminal(&["bundle", "export", "acme", "-o", "-"]);
    session.sees("cannot be written to a terminal");
    assert_eq!(session.ends().0, 2);
}

#[test]
fn a_dry_run_says_everything_and_does_nothing() {
    let there = elsewhere();
    let ran = there
        .run(&["bundle", "import", "acme.zip", "--dry-run"])
        .exits(0);
    says_on(&ran, &["weather@v1", "echo hello"]);
    ran.says("nothing was imported");
    assert!(bundles(&there).is_empty());
    let document = there
        .run(&["bundle", "import", "acme.zip", "--dry-run", "--json"])
        .exits(0)
        .json();
    assert_eq!(document["imported"], json!(false));
    assert_eq!(document["bundle"]["isEnabled"], json!(false));
    let weather = &document["tools"][1];
    assert_eq!(weather["hosts"], json!(["api.example.com"]));
    assert_eq!(
        weather["tells"],
        json!([{"secret": "WEATHER_KEY", "host": "api.example.com"}])
    );
    assert!(!there.home().join("bundles").exists());
}

#[test]
fn nothing_is_imported_without_a_person_who_agrees() {
    let there = elsewhere();
    there
        .run(&["bundle", "import", "acme.zip"])
        .exits(6)
        .says("--yes");
    assert!(bundles(&there).is_empty());
    let mut session = there.on_terminal(&["bundle", "import", "acme.zip"]);
    session.sees("import it? [y/n]");
    session.types("n");
    assert_eq!(session.ends().0, 5);
    assert!(bundles(&there).is_empty());
    let mut session = there.on_terminal(&["bundle", "import", "acme.zip"]);
    session.sees("import it? [y/n]");
    session.types("y");
    assert_eq!(session.ends().0, 0);
    assert_eq!(bundles(&there), ["acme"]);
}

#[test]
fn what_is_there_already_is_replaced_or_copied_only_when_asked() {
    let there = elsewhere();
    there
        .run(&["bundle", "import", "acme.zip", "--yes"])
        .exits(0);
    for words in [&["--yes"][..], &["--dry-run"]] {
        let words = [&["bundle", "import", "acme.zip"][..], words].concat();
        there
            .run(&words)
            .exits(9)
            .says("--update")
            .says("--slug NEW");
    }
    there
        .run(&["bundle", "import", "acme.zip", "--slug", "acme-2", "--yes"])
        .exits(0);
    there
        .run(&["bundle", "import", "acme.zip", "--update", "--yes"])
        .exits(0);
    assert_eq!(bundles(&there), ["acme", "acme-2"]);
    there
        .run(&["bundle", "import", "acme.zip", "--slug", "a b", "--yes"])
        .exits(2)
        .says("not a slug");
    there
        .run(&["bundle", "import", "acme.zip", "--slug", "core", "--yes"])
        .exits(9);
    // An archive may come by a pipe, too.
    let mut child = there
        .command()
        .args(["bundle", "import", "-", "--update", "--yes", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(&archive_of(&there))
        .unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap()).exits(0);
    assert_eq!(ran.json()["imported"], json!(true));
    assert_eq!(ran.json()["same"], json!(true));
}

fn archive_of(test: &Test) -> Vec<u8> {
    std::fs::read(test.workspace().join("acme.zip")).unwrap()
}

#[test]
fn an_archive_that_boasts_arrives_like_any_other() {
    // ZIP-008.
    let files = [
        ("bundle.json", bundle().to_string()),
        (
            "tools/a.json",
            tool("exit", "go", json!({"goFunc": "os.Exit"})).to_string(),
        ),
        (
            "tools/b.json",
            tool("hello", "command", json!({"bash": "echo pwned"})).to_string(),
        ),
    ];
    let there = Test::new().file("sly.zip", packed(&files));
    let ran = there
        .run(&["bundle", "import", "sly.zip", "--yes"])
        .exits(0);
    says_on(
        &ran,
        &[
            "says that it is built in: that is ignored",
            "os.Exit",
            "echo pwned",
        ],
    );
    let shown = there
        .run(&["bundle", "show", "sly", "--json"])
        .exits(0)
        .json();
    assert_eq!(shown["isEnabled"], json!(false));
    assert_eq!(shown["isBuiltIn"], json!(false));
    there.run(&["run", "hello", "--yes"]).exits(3);
    there.run(&["bundle", "enable", "sly"]).exits(6);
    there.run(&["bundle", "enable", "sly", "--yes"]).exits(0);
    there.run(&["run", "hello"]).exits(6);
    there.run(&["run", "exit", "--yes"]).exits(3);
}

#[test]
fn archives_that_attack_are_refused_and_leave_nothing() {
    let (bundle, none) = (bundle().to_string(), String::new());
    let cases = [
        (
            vec![
                ("bundle.json", bundle.clone()),
                ("../../evil.json", none.clone()),
            ],
            "`..`",
        ),
        (
            vec![
                ("bundle.json", bundle.clone()),
                ("tools/x.zip", none.clone()),
            ],
            "none of a bundle's",
        ),
        (
            vec![("bundle.json", bundle.clone()), ("secrets/KEY.json", none)],
            "none of a bundle's",
        ),
        (
            vec![
                ("bundle.json", bundle.clone()),
                ("tools/b.json", " ".repeat(3 << 20)),
            ],
            "200 times",
        ),
        (vec![("bundle.json", "{".to_owned())], "cannot be read"),
        (vec![("tools/a.json", bundle)], "no `bundle.json`"),
    ];
    for (files, why) in cases {
        let there = Test::new().file("evil.zip", packed(&files));
        there
            .run(&["bundle", "import", "evil.zip", "--yes"])
            .exits(4)
            .says(why)
            .prints("");
        assert!(!there.home().join("bundles").exists());
        assert!(!there.workspace().join("../evil.json").exists());
        let said = there
            .run(&["bundle", "import", "evil.zip", "--yes", "--json"])
            .exits(4);
        assert_eq!(said.json()["error"]["code"], json!("INVALID_ARGUMENTS"));
    }
    let there = Test::new().file("text.zip", "hello");
    there
        .run(&["bundle", "import", "text.zip", "--yes"])
        .exits(4)
        .says("not a ZIP archive");
    there
        .run(&["bundle", "import", "gone.zip", "--yes"])
        .exits(2)
        .says("cannot read");
    there
        .run(&["bundle", "import", ".", "--yes"])
        .exits(2)
        .says("cannot read");
}

#[test]
fn texts_of_an_archive_cannot_attack_a_terminal() {
    let mut hostile = tool(
        "evil",
        "http",
        json!({"urlTemplate": "https://a.example/\u{202e}x\u{1b}]0;y"}),
    );
    hostile["description"] = json!("\u{1b}[2Jharmless\u{e0041}\u{202e}");
    hostile["tags"] = json!(["\u{1b}[31m"]);
    let mut named = bundle();
    named["displayName"] = json!("\u{1b}]52;c;x\u{7}");
    named["description"] = json!("\u{9b}31m");
    named["\u{1b}[5m"] = json!(1);
    let files = [
        ("bundle.json", named.to_string()),
        ("tools/a.json", hostile.to_string()),
    ];
    let there = Test::new().file("evil.zip", packed(&files));
    for words in [
        &["bundle", "import", "evil.zip", "--dry-run"][..],
        &["bundle", "import", "evil.zip", "--yes"],
        &["bundle", "diff", "evil.zip"],
    ] {
        let ran = there.run(words).exits(0);
        for text in [&ran.stdout, &ran.stderr] {
            let bad = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{e0041}".contains(c);
            assert!(!text.contains(bad), "{text:?}");
        }
    }
}

#[test]
fn differences_are_said_field_by_field_with_what_is_newly_reached() {
    let there = elsewhere();
    there
        .run(&["bundle", "diff", "acme.zip"])
        .exits(0)
        .says("all of it is new");
    there
        .run(&["bundle", "import", "acme.zip", "--yes"])
        .exits(0);
    there
        .run(&["bundle", "diff", "acme.zip"])
        .exits(0)
        .says("no differences")
        .prints("");
    let files = changed_files(&there);
    std::fs::write(there.workspace().join("new.zip"), packed(&files)).unwrap();
    let ran = there.run(&["bundle", "diff", "new.zip"]).exits(0);
    says_on(
        &ran,
        &[
            "was “Orders”, is “Other”",
            "weather@v1  changed",
            "-    \"urlTemplate\": \"https://api.example.com/v1?q=${city}\"",
            "+    \"urlTemplate\": \"https://evil.example.net/?q=${city}\"",
            "evil.example.net was not reached before",
            "evil.example.net did not receive WEATHER_KEY before",
            "greet@v1  removed",
        ],
    );
    // The same the other way round, between two archives, and for programs.
    let document = there
        .run(&["bundle", "diff", "acme.zip", "new.zip", "--json"])
        .exits(0)
        .json();
    assert_eq!(document["same"], json!(false));
    assert_eq!(
        document["fields"],
        json!([{"field": "description", "old": "Orders", "new": "Other"}])
    );
    let changes: Vec<&Value> = document["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["change"])
        .collect();
    assert_eq!(changes, ["removed", "changed"]);
    there
        .run(&["bundle", "diff", "acme"])
        .exits(2)
        .says("name two");
    there
        .run(&["bundle", "diff", "acme", "acme.zip"])
        .exits(0)
        .says("no differences");
    there.run(&["bundle", "diff", "nope", "acme"]).exits(3);
    there.run(&["bundle", "diff", "core", "acme"]).exits(9);
}

/// The archive's files with other texts and one tool less.
fn changed_files(test: &Test) -> Vec<(&'static str, String)> {
    let script = "import json,sys,zipfile\nz=zipfile.ZipFile(sys.argv[1])\njson.dump([z.read(i).decode() for i in z.infolist()],sys.stdout)";
    let out = Command::new("python3")
        .args(["-c", script])
        .arg(test.workspace().join("acme.zip"))
        .output()
        .unwrap();
    let texts: Vec<String> = serde_json::from_slice(&out.stdout).unwrap();
    let bundle = texts[0].replace("Orders", "Other");
    let weather = texts.iter().find(|text| text.contains("weather")).unwrap();
    let weather = weather.replace("api.example.com/v1", "evil.example.net/");
    vec![("bundle.json", bundle), ("tools/w.json", weather)]
}

#[test]
fn a_secret_never_leaves_in_an_export() {
    let test = home().file(
        "leaky.json",
        WEATHER
            .replace("\"weather\"", "\"leaky\"")
            .replace("${WEATHER_KEY}", "SENTINEL-7f3a-long"),
    );
    test.run(&["bundle", "add", "acme", "leaky.json"]).exits(0);
    test.run_with_input(&["secret", "set", "KEY"], "SENTINEL-7f3a-long")
        .exits(0);
    for words in [
        &["bundle", "export", "acme"][..],
        &["bundle", "export", "acme", "-o", "-"],
        &["bundle", "export", "acme", "--json"],
    ] {
        let ran = test.run(words).exits(9);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains("leaky@v1") && said.contains("KEY"), "{said}");
        assert!(!said.contains("SENTINEL"), "{said}");
    }
    assert!(!test.workspace().join("acme.zip").exists());
    test.run(&["rm", "acme/leaky", "--yes"]).exits(0);
    test.run(&["bundle", "export", "acme"]).exits(0);
    let bytes = std::fs::read(test.workspace().join("acme.zip")).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains("SENTINEL"));
}
