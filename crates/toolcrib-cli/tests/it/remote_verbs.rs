//! Verbs other than `run` through a server that was named: what they print is what they print on its machine.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::harness::{Ran, Test};
use crate::remote::{Serving, comparable};
use crate::upstream::server;

const WEATHER: &str = r#"{
    "slug": "weather", "version": "v1", "displayName": "Weather", "description": "Fetch the weather", "type": "http", "tags": ["read"],
    "argSchema": {"type": "object", "properties": {"city": {"type": "string", "description": "Where"}}, "required": ["city"]},
    "impl": {"method": "GET", "urlTemplate": "https://weather.example/${city}", "successCodes": [200], "responseEncoding": "json"}
}"#;

fn scene() -> Test {
    let test = Test::new()
        .file("a.txt", "first\n")
        .file("weather.json", WEATHER)
        .file(
            ".toolcrib/tools/told.yaml",
            "name: told\ndescription: Says something.\ntags: [run]\nbash: echo hi\n",
        );
    test.run(&["bundle", "new", "acme", "--description", "Things of Acme"])
        .exits(0);
    test.run(&["bundle", "add", "acme", "weather.json"])
        .exits(0);
    test.run(&["bundle", "new", "empty", "--disabled"]).exits(0);
    test.run(&["run", "read_file", "path=a.txt", "--call-id", "known"])
        .exits(0);
    let add = ["upstream", "add", "fake", "--yes", "--allow", "echo", "--"];
    test.run(&[&add[..], &["python3", server(), "plain"]].concat())
        .exits(0);
    damage_in_the_bin(&test, "wreck");
    test
}

/// Makes a bundle, puts it in the bin, and has its own file lose its end there.
fn damage_in_the_bin(test: &Test, slug: &str) {
    let made = test.run(&["bundle", "new", slug, "--json"]).exits(0).json();
    test.run(&["bundle", "rm", slug, "--yes"]).exits(0);
    let id = made["bundleID"].as_str().unwrap();
    let file = test.home().join(format!("bundles/{id}/bundle.json"));
    let text = std::fs::read_to_string(&file).unwrap();
    let end = text.rfind('}').unwrap();
    std::fs::write(&file, &text[..end]).unwrap();
}

/// Verbs that change nothing.
const LOOKING: &[&[&str]] = &[
    &["list"],
    &["list", "--json"],
    &["list", "--plain"],
    &["list", "--all"],
    &["list", "--tag", "read"],
    &["list", "--bundle", "acme"],
    &["list", "--bundle", "nobody"],
    &["show", "read_file"],
    &["show", "+read-file", "--json"],
    &["show", "acme/weather", "--json"],
    &["show", "told"],
    &["show", "reed_file"],
    &["run", "read_file", "path=a.txt", "--dry-run"],
    &["run", "acme/weather", "city=Bern", "--dry-run", "--json"],
    &["search", "read"],
    &["search", "weather", "--json"],
    &["search", "weather", "--all", "--plain"],
    &["search", "qqqqqq", "--json"],
    &["schema", "read_file"],
    &["schema", "read_file", "--provider", "openai"],
    &["schema", "--provider", "anthropic"],
    &["bundle", "list"],
    &["bundle", "list", "--all"],
    &["bundle", "list", "--json"],
    &["bundle", "show", "acme"],
    &["bundle", "show", "acme", "--json"],
    &["bundle", "show", "core"],
    &["bundle", "show", "nobody"],
    &["bundle", "list", "--all", "--json"],
    &["bundle", "list", "--all", "--plain"],
    &["bundle", "show", "empty"],
    &["bundle", "show", "fake"],
    &["bundle", "show", "fake", "--json"],
    &["bundle", "show", "wreck"],
    &["bundle", "show", "wreck", "--json"],
    &["list", "--bundle", "fake"],
    &["list", "--bundle", "empty"],
    &["list", "--bundle", "wreck", "--all"],
    &["upstream", "list"],
    &["upstream", "list", "--json"],
    &["upstream", "show", "fake"],
    &["upstream", "show", "nobody"],
    &["calls", "list"],
    &["calls", "list", "--json", "-n", "1"],
    &["calls", "show", "known"],
    &["calls", "show", "nobody"],
    &["approvals", "list"],
    &["approvals", "list", "--all", "--json"],
    &["approvals", "show", "nobody"],
    &["grants", "list"],
    &["grants", "list", "--all", "--json"],
    &["rules", "list"],
    &["rules", "list", "--json"],
    &["rules", "test", "--command", "sudo rm -rf /"],
    &["rules", "test", "--command", "ls", "--json"],
    &["rules", "test", "--command", "sudo ls", "--exit-code"],
    &["clients", "list"],
    &["clients", "list", "--json"],
    &["secret", "list"],
    &["secret", "list", "--json"],
];

#[test]
fn what_looks_at_things_prints_the_same_through_a_server() {
    let test = scene();
    let serving = Serving::on_loopback(&test);
    let mut differences = Vec::new();
    for command in LOOKING {
        let here: Vec<&str> = ["--no-server"]
            .into_iter()
            .chain(command.iter().copied())
            .collect();
        let there: Vec<&str> = ["--server", &serving.at]
            .into_iter()
            .chain(command.iter().copied())
            .collect();
        let (expected, got) = (comparable(test.run(&here)), comparable(test.run(&there)));
        if (&got.0, &got.1) != (&expected.0, &expected.1) {
            differences.push(format!(
                "{command:?}\n  here  {expected:?}\n  there {got:?}"
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn a_word_that_can_name_nothing_is_not_found() {
    let test = scene();
    let serving = Serving::on_loopback(&test);
    let long = "x".repeat(600);
    for (command, code) in [
        (&["enable", ""][..], 3),
        (&["enable", "read_file,told"], 3),
        (&["rm", "", "--yes"], 3),
        (&["schema", ""], 3),
        (&["show", ""], 3),
        (&["show", &long], 3),
        (&["bundle", "show", ""], 3),
        (&["bundle", "show", "a/b"], 3),
        (&["bundle", "restore", ".."], 3),
        (&["calls", "show", "a/b"], 3),
        (&["held", "show", "a/b"], 3),
        (&["approvals", "show", "a/b"], 2),
        (&["grants", "show", "a/b"], 2),
    ] {
        test.run(&[&["--no-server"], command].concat()).exits(code);
        // A server answers what it is asked; which words can be part of an address is known here.
        let there = test.run(&[&["--server", &serving.at], command].concat());
        assert!([2, 3].contains(&there.code), "{command:?} {there:?}");
    }
}

#[test]
fn what_changes_things_changes_them_in_the_server() {
    let test = scene();
    let serving = Serving::on_loopback(&test);
    let there = |words: &[&str]| {
        let words: Vec<&str> = ["--server", &serving.at]
            .into_iter()
            .chain(words.iter().copied())
            .collect();
        test.run(&words)
    };
    there(&["disable", "told"]).exits(0).says("`told` is off");
    test.run(&["run", "told", "--no-server"]).exits(3);
    there(&["enable", "told"]).exits(0);
    there(&["bundle", "disable", "acme"])
        .exits(0)
        .says("`acme` is off, with 1 tool");
    there(&["bundle", "enable", "acme"])
        .exits(0)
        .says("`acme` is on, with 1 tool");
    there(&["bundle", "export", "acme"])
        .exits(0)
        .prints("acme.zip\n");
    there(&["bundle", "import", "acme.zip", "--slug", "copy", "--yes"]).exits(0);
    test.run(&["bundle", "show", "copy", "--json"]).exits(0);
    there(&["rm", "acme/weather", "--yes"])
        .exits(0)
        .says("removed `acme/weather@v1`");
    test.run(&["show", "acme/weather"]).exits(3);
    there(&["bundle", "rm", "acme", "--yes"])
        .exits(0)
        .prints("acme is in the bin\n");
    there(&["bundle", "restore", "acme"]).exits(0);
    there(&["bundle", "new", "fresh"]).exits(0);
    test.run(&["bundle", "show", "fresh"]).exits(0);
    there(&["bundle", "rm", "core", "--yes"]).exits(9);
    let token = there(&["clients", "add", "robot"]).exits(0).stdout;
    let mut robot = test.command();
    robot
        .args(["--server", &serving.at, "approvals", "list"])
        .env("TOOLCRIB_TOKEN", token.trim());
    Ran::of(robot.output().unwrap())
        .exits(5)
        .says("the operator's token");
    there(&["clients", "rm", "robot"]).exits(0);
    there(&["clients", "rm", "robot"]).exits(3);
}

#[test]
fn what_works_on_files_is_refused_with_a_reason() {
    let test = scene();
    for words in [
        &["doctor"][..],
        &["config", "show"],
        &["check"],
        &["test"],
        &["init"],
        &["trust", "--yes"],
        &["edit", "told"],
        &["explain", "told"],
        &["secret", "rm", "X"],
        &["rules", "check"],
        &["bundle", "edit", "acme", "--name", "A"],
        &["sandbox", "--", "true"],
        &["serve"],
        &["ui"],
    ] {
        let all: Vec<&str> = ["--server", "http://127.0.0.1:1"]
            .into_iter()
            .chain(words.iter().copied())
            .collect();
        test.run(&all)
            .exits(2)
            .says("works on the files of this machine, not through a server");
    }
}

/// Waits until something comes true.
fn wait_for<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn questions_of_a_servers_calls_are_answered_through_it() {
    let test = scene();
    let serving = Serving::on_loopback(&test);
    let ask = |named: bool| {
        let mut command = test.command();
        if named {
            command.args(["--server", &serving.at]);
        }
        command
            .args(["run", "delete_file", "path=a.txt", "--wait-approval", "60s"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let pending = || {
        let listed = test
            .run(&["--server", &serving.at, "approvals", "list", "--json"])
            .json();
        Some(listed[0]["id"].as_str()?.to_owned())
    };
    let denied = ask(true);
    let id = wait_for("there is no question", pending);
    test.run(&["--server", &serving.at, "approvals", "show", &id])
        .exits(0);
    test.run(&[
        "--server",
        &serving.at,
        "approvals",
        "deny",
        &id,
        "--reason",
        "keep it",
    ])
    .exits(0);
    Ran::of(denied.wait_with_output().unwrap())
        .exits(5)
        .says("waits for approval")
        .says(&format!("--server {} approvals approve", serving.at))
        .says("keep it");
    std::fs::write(test.workspace().join("b.txt"), "").unwrap();
    let approved = {
        let mut command = test.command();
        command.args(["run", "delete_file", "path=b.txt", "--wait-approval", "60s"]);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let id = wait_for("there is no second question", pending);
    test.run(&[
        "--server",
        &serving.at,
        "approvals",
        "approve",
        &id,
        "--json",
    ])
    .exits(0);
    Ran::of(approved.wait_with_output().unwrap()).exits(0);
    assert!(test.workspace().join("a.txt").exists());
    assert!(!test.workspace().join("b.txt").exists());
    test.run(&["--server", &serving.at, "approvals", "approve", &id])
        .exits(9);
}

#[test]
fn a_running_call_is_listed_and_cancelled_by_the_home_and_by_name() {
    let test = scene();
    let serving = Serving::on_loopback(&test);
    for named in [false, true] {
        let child = test
            .command()
            .args(["run", "shell", "command=sleep 30"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let with = |words: &[&str]| {
            let prefix: &[&str] = if named {
                &["--server", &serving.at]
            } else {
                &[]
            };
            test.run(&[prefix, words].concat())
        };
        let id = wait_for("the call does not run", || {
            let calls = with(&["calls", "list", "--json"]).json();
            (calls[0]["status"] == "running")
                .then(|| calls[0]["callId"].as_str().unwrap().to_owned())
        });
        with(&["calls", "cancel", &id])
            .exits(0)
            .says("is cancelled");
        Ran::of(child.wait_with_output().unwrap()).exits(130);
        with(&["calls", "cancel", &id]).exits(9);
    }
    test.run(&["calls", "cancel", "nobody"]).exits(3);
    test.run(&["calls", "cancel", "nobody", "--no-server"])
        .exits(3)
        .says("no server of this home");
}

/// A bundle that came from elsewhere, with one tool that runs a script.
fn foreign(what: &str) -> Vec<u8> {
    let bundle = serde_json::json!({"bundleID": "018faf50-b7b6-7a01-9a05-a22a6e0af001", "slug": "one", "isEnabled": true, "isBuiltIn": false});
    let tool = serde_json::json!({
        "toolID": "018faf50-b7b6-7a01-9a05-b22a6e0af001", "slug": "one", "version": "v1",
        "description": "Does something", "type": "command", "isEnabled": true, "isBuiltIn": false, "tags": ["read"],
        "impl": {"bash": format!("echo {what}")},
    });
    crate::bundle_archives::packed(&[
        ("bundle.json", bundle.to_string()),
        ("tools/a.json", tool.to_string()),
    ])
}

#[test]
fn an_imported_bundle_is_shown_before_it_is_switched_on_through_a_server() {
    let test = Test::new()
        .file("1.zip", foreign("harmless"))
        .file("2.zip", foreign("MALICIOUS"));
    let serving = Serving::on_loopback(&test);
    let there = |words: &[&str]| test.run(&[&["--server", &serving.at], words].concat());
    let dry = there(&["bundle", "import", "1.zip", "--dry-run"]).exits(0);
    assert!(dry.stdout.contains("echo harmless"), "{dry:?}");
    assert!(!dry.stdout.contains('{'), "{dry:?}");
    there(&["bundle", "import", "1.zip", "--yes"])
        .exits(0)
        .says("`one` is imported and switched off; every call of its tools asks")
        .says("toolcrib bundle enable one");
    there(&["bundle", "import", "1.zip", "--yes"])
        .exits(9)
        .says("`--update` replaces it, `--slug NEW` imports a copy beside it");
    let enable = ["--server", &serving.at, "bundle", "enable", "one"];
    let mut session = test.on_terminal(&enable);
    session.sees("echo harmless");
    session.sees("switch this tool on");
    there(&["bundle", "import", "2.zip", "--update", "--yes"]).exits(0);
    session.types("y");
    let (code, screen) = session.ends();
    assert_ne!(code, 0, "{screen}");
    assert!(
        screen.contains("`one` changed while you looked"),
        "{screen}"
    );
    test.run(&["run", "one", "--yes"]).exits(3);
    let mut session = test.on_terminal(&enable);
    session.sees("echo MALICIOUS");
    session.sees("switch this tool on");
    session.types("y");
    let (code, screen) = session.ends();
    assert_eq!(code, 0, "{screen}");
    let diff = there(&["bundle", "diff", "one", "1.zip"]).exits(0);
    assert!(diff.stdout.contains("echo harmless"), "{diff:?}");
    there(&["bundle", "diff", "2.zip"])
        .exits(0)
        .says("no differences");
}

#[test]
fn tools_and_grants_are_added_and_files_checked_through_a_server() {
    let test = scene().file("bad.yaml", "name: bad\nbash: [\n").file(
        "hello.yaml",
        "name: hello\ndescription: Says hello.\ntags: [run]\nbash: echo hello\n",
    );
    let serving = Serving::on_loopback(&test);
    let there = |words: &[&str]| test.run(&[&["--server", &serving.at], words].concat());
    there(&["bundle", "new", "fresh"])
        .exits(0)
        .says("toolcrib bundle add fresh FILE");
    there(&["bundle", "add", "fresh", "hello.yaml", "weather.json"])
        .exits(0)
        .prints("put fresh/hello@v1\nput fresh/weather@v1\n");
    test.run(&["show", "fresh/hello", "--json"]).exits(0);
    there(&["bundle", "add", "fresh", "hello.yaml"]).exits(9);
    there(&["check", "hello.yaml"]).exits(0);
    let wrong = there(&["check", "bad.yaml"]).exits(4);
    assert!(wrong.stdout.contains("bad.yaml:"), "{wrong:?}");
    let made = there(&["grants", "add", "shell", "command=git log **", "--yes"]).exits(0);
    assert!(made.stdout.contains("granted"), "{made:?}");
    let grants = test.run(&["grants", "list", "--json"]).exits(0).json();
    assert_eq!(
        grants[0]["shape"]["command"],
        serde_json::json!({"argv": ["git", "log", "**"]}),
        "{grants}"
    );
    assert_eq!(grants[0]["caller"], "cli", "{grants}");
    there(&["explain", "TOOL_DISABLED"]).exits(0);
    there(&["clients", "rm", "zz"])
        .exits(3)
        .says("there are no clients");
    let token = there(&["clients", "add", "robot"]).exits(0).stdout;
    let mut robot = test.command();
    robot
        .args(["--server", &serving.at, "run", "read_file", "path=a.txt"])
        .env("TOOLCRIB_TOKEN", token.trim());
    let ran = Ran::of(robot.output().unwrap()).exits(0);
    assert!(ran.stdout.contains("first"), "{ran:?}");
    let calls = test.run(&["calls", "list", "--json"]).exits(0).json();
    assert_eq!(calls[0]["caller"], "client:robot", "{calls}");
}
