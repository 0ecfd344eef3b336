//! A home that a newer version has changed is not written; one of an older release is used as it is.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::Test;
use crate::remote::Serving;
use crate::serving::eventually;

const NEWER: &str = r#"{"format":2,"writtenBy":"toolcrib 9.1.0"}"#;

/// A home with something in it, of a newer format.
fn newer() -> Test {
    let test = Test::new().file("greet.yaml", crate::bundles::GREET);
    test.run(&["bundle", "new", "acme"]).exits(0);
    test.run(&["bundle", "add", "acme", "greet.yaml"]).exits(0);
    std::fs::write(test.home().join("format.json"), NEWER).unwrap();
    test
}

/// Every file below a directory with its content.
fn contents(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(contents(&path)),
            false => found.push((path.display().to_string(), std::fs::read(&path).unwrap())),
        }
    }
    found.sort();
    found
}

/// Every verb that writes, with words that it accepts.
const WRITES: &[&[&str]] = &[
    &["run", "read_file", "path=greet.yaml"],
    &["run", "read_file", "path=greet.yaml", "--dry-run"],
    &["answer"],
    &["chat", "--model", "m", "hello"],
    &["init"],
    &["new", "hello"],
    &["edit", "greet"],
    &["rm", "greet"],
    &["test"],
    &["watch"],
    &["trust", "--yes"],
    &["enable", "greet"],
    &["disable", "greet"],
    &["serve", "--addr", "127.0.0.1:0"],
    &["ui", "--print"],
    &["mcp"],
    &["connect", "claude-code"],
    &["sandbox", "--", "true"],
    &["doctor", "--fix"],
    &["bundle", "new", "more"],
    &["bundle", "add", "acme", "greet.yaml"],
    &["bundle", "edit", "acme", "--name", "Acme"],
    &["bundle", "enable", "acme"],
    &["bundle", "disable", "acme"],
    &["bundle", "import", "acme.json", "--yes"],
    &["bundle", "restore", "acme"],
    &["bundle", "rm", "acme", "--yes"],
    &["approvals", "approve", "77d1c0de"],
    &["approvals", "deny", "77d1c0de"],
    &["approvals", "watch"],
    &["grants", "add", "shell", "command=ls", "--yes"],
    &["grants", "revoke", "77d1c0de"],
    &["held", "restore", "77d1c0de"],
    &["held", "drop", "77d1c0de"],
    &["secret", "set", "KEY"],
    &["secret", "rm", "KEY"],
    &["calls", "cancel", "77d1c0de"],
    &["config", "set", "server.addr", "127.0.0.1:1"],
    &["config", "unset", "server.addr"],
    &["config", "edit"],
    &["clients", "add", "ci"],
    &["clients", "rm", "ci"],
    &["upstream", "add", "x", "--", "true"],
    &["upstream", "import", "claude-code"],
    &["upstream", "accept", "x"],
    &["upstream", "allow", "x", "echo"],
    &["upstream", "ask", "x", "echo"],
    &["upstream", "deny", "x", "echo"],
    &["upstream", "login", "x"],
    &["upstream", "logout", "x"],
    &["upstream", "rm", "x"],
    &["upstream", "test", "x"],
    &["upstream", "update", "x"],
];

/// Every verb that only reads.
const READS: &[&[&str]] = &[
    // It refuses in its own way, which blocks the call: `hook.rs`.
    &["hook", "generic"],
    &["list"],
    &["show", "greet"],
    &["search", "greet"],
    &["schema", "greet"],
    &["stats"],
    &["check"],
    &["explain", "greet"],
    &["doctor"],
    &["bundle", "list"],
    &["bundle", "show", "acme"],
    &["bundle", "export", "acme"],
    &["bundle", "diff", "acme"],
    &["approvals", "list"],
    &["approvals", "show", "77d1c0de"],
    &["approvals", "notify"],
    &["grants", "list"],
    &["grants", "show", "77d1c0de"],
    &["held", "list"],
    &["held", "show", "77d1c0de"],
    &["secret", "list"],
    &["calls", "list"],
    &["calls", "show", "77d1c0de"],
    &["rules", "list"],
    &["rules", "check"],
    &["rules", "test", "shell", "command=ls"],
    &["config", "show"],
    &["config", "path"],
    &["config", "reference"],
    &["clients", "list"],
    &["upstream", "list"],
    &["upstream", "show", "x"],
    &["completions", "bash"],
    &["man"],
];

#[test]
fn the_lists_of_verbs_name_every_verb_there_is() {
    let test = Test::new();
    test.run(&["man", "--out", "man"]).exits(0);
    let pages: BTreeSet<String> = std::fs::read_dir(test.workspace().join("man"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| {
            Some(
                name.strip_prefix("toolcrib-")?
                    .strip_suffix(".1")?
                    .to_owned(),
            )
        })
        .filter(|name| !name.split('-').any(|word| word == "help"))
        .collect();
    let is_leaf = |name: &String| {
        let below = format!("{name}-");
        !pages.iter().any(|other| other.starts_with(&below))
    };
    let leaves: BTreeSet<String> = pages.iter().filter(|name| is_leaf(name)).cloned().collect();
    let listed: BTreeSet<String> = WRITES
        .iter()
        .chain(READS)
        .map(|words| match words {
            [verb, below, ..] if leaves.contains(&format!("{verb}-{below}")) => {
                format!("{verb}-{below}")
            }
            [verb, ..] => (*verb).to_owned(),
            [] => unreachable!("every line has a verb"),
        })
        .collect();
    assert_eq!(listed, leaves);
}

#[test]
fn every_verb_that_writes_refuses_a_newer_home_and_changes_nothing() {
    let test = newer();
    let before = contents(&test.home());
    for words in WRITES {
        let all: Vec<&str> = ["--json"].iter().chain(*words).copied().collect();
        let refused = test.run(&all).exits(9).json();
        assert_refused(&refused["error"], words);
    }
    assert_eq!(contents(&test.home()), before);
}

fn assert_refused(error: &Value, what: &[&str]) {
    assert_eq!(
        error["details"],
        json!({"reason": "newer-home", "format": 2, "writtenBy": "toolcrib 9.1.0", "known": 1}),
        "{what:?}"
    );
    assert_eq!(error["code"], "STORAGE_ERROR", "{what:?}");
}

#[test]
fn verbs_that_read_read_a_newer_home_and_change_nothing() {
    let test = newer();
    let before = contents(&test.home());
    for words in READS {
        let ran = test.run(words);
        assert!(ran.code != 9 && ran.code != 101, "{words:?}: {ran:?}");
    }
    test.run(&["list"]).exits(0).shows("greet");
    assert_eq!(contents(&test.home()), before);
}

#[test]
fn a_server_that_runs_refuses_to_write_once_a_newer_version_has_changed_its_home() {
    let test = newer();
    std::fs::remove_file(test.home().join("format.json")).unwrap();
    let server = Serving::on_loopback(&test);
    let there = |words: &[&str]| test.run(&[&["--json", "--server", &server.at], words].concat());
    there(&["bundle", "new", "before"]).exits(0);
    let read = ["run", "read_file", "path=greet.yaml"];
    there(&read).exits(0);
    let kept = || {
        let all = contents(&test.home());
        let is_kept = |path: &str| !path.ends_with("/.lock") && !path.ends_with("/format.json");
        Vec::from_iter(all.into_iter().filter(|(path, _)| is_kept(path)))
    };
    let counts = test.home().join("state/usage.jsonl");
    eventually("the call is not counted", || counts.exists());
    let before = kept();
    std::fs::write(test.home().join("format.json"), NEWER).unwrap();
    for words in [
        &read[..],
        &["run", "read_file", "path=greet.yaml", "--call-id", "known"],
        &["bundle", "new", "after"],
        &["bundle", "rm", "acme", "--yes"],
        &["grants", "add", "shell", "command=ls", "--yes"],
        &["clients", "add", "ci"],
    ] {
        assert_refused(&there(words).exits(9).json()["error"], words);
    }
    let bundles = there(&["bundle", "list"]).exits(0).stdout;
    assert!(bundles.contains("before") && !bundles.contains("after"));
    assert_eq!(kept(), before);
}

#[test]
fn a_person_reads_which_version_wrote_it_and_what_to_do() {
    let test = newer();
    test.run(&["config", "set", "server.addr", "127.0.0.1:1"])
        .exits(9)
        .says("written by toolcrib 9.1.0, and this version knows formats up to 1; use the newer version, or another home");
}

#[test]
fn the_first_write_notes_the_format_and_reading_does_not() {
    let test = Test::new();
    test.run(&["list"]).exits(0);
    assert!(!test.home().exists());
    test.run(&["bundle", "new", "acme"]).exits(0);
    let text = std::fs::read_to_string(test.home().join("format.json")).unwrap();
    let format: Value = serde_json::from_str(&text).unwrap();
    let written_by = concat!("toolcrib ", env!("CARGO_PKG_VERSION"));
    assert_eq!(format, json!({"format": 1, "writtenBy": written_by}));
}

/// Copies a home from the fixtures, with the modes that git does not keep.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    std::fs::set_permissions(to, std::fs::Permissions::from_mode(0o700)).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).unwrap();
            std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
    }
}

/// `tests/fixtures/homes/make` made one with each release.
#[test]
fn the_home_of_every_release_opens_with_everything_in_it() {
    let homes = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/homes");
    let mut releases = BTreeSet::new();
    for entry in std::fs::read_dir(homes).unwrap() {
        let made = entry.unwrap().path();
        if !made.is_dir() {
            continue;
        }
        let release = made.file_name().unwrap().to_string_lossy().into_owned();
        releases.insert(release);
        let test = Test::new().file("README.md", "# Read\n");
        copy(&made, &test.home());
        let list = test.run(&["list", "--all"]).exits(0);
        let list = list.shows("greet").shows("stamp");
        assert_eq!(list.stderr, "");
        test.run(&["run", "greet", "WHO=you"])
            .exits(0)
            .shows("hello you");
        test.run(&["run", "read_file", "path=README.md"]).exits(0);
        test.run(&["run", "stamp"]).exits(3);
        let calls = test.run(&["calls", "list", "--json"]).exits(0).json();
        // Eight of the release and three of this test.
        assert_eq!(calls.as_array().unwrap().len(), 11, "{calls}");
        test.run(&["stats"]).exits(0).shows("greet");
        let grants = test.run(&["grants", "list", "--all", "--json"]).exits(0);
        grants.shows("kept with the release");
        test.run(&["secret", "list"]).exits(0).shows("API_KEY");
        test.run(&["clients", "list"]).exits(0).shows("ci");
        test.run(&["config", "show", "limits.cpuSeconds"])
            .exits(0)
            .shows("42");
        test.run(&["rules", "list"])
            .exits(0)
            .shows("no-forced-push");
        let approvals = test.run(&["approvals", "list", "--all", "--json"]).exits(0);
        let approved = &approvals.json()[1];
        assert_eq!(
            (&approved["tool"], &approved["status"]),
            (&json!("write_file"), &json!("used"))
        );
        let held = test.run(&["held", "list", "--json"]).exits(0).json();
        let held_id = held[0]["id"].as_str().unwrap();
        test.run(&["held", "show", held_id]).exits(0).shows("evil");
        test.run(&["upstream", "list"]).exits(0).shows("fake");
        let known = ["run", "read_file", "path=notes.md", "--call-id", "known"];
        // Answered from what is kept: there is no such file here.
        test.run(&known).exits(0).shows("hello");
        let trusted = contents(&test.home().join("trust"));
        assert!(
            trusted.iter().any(|(_, text)| text.ends_with(b"}")),
            "{trusted:?}"
        );
        let token = std::fs::read_to_string(test.home().join("token")).unwrap();
        let server = Serving::on_loopback(&test);
        test.run(&["--server", &server.at, "bundle", "list"])
            .exits(0)
            .shows("acme");
        drop(server);
        assert_eq!(
            std::fs::read_to_string(test.home().join("token")).unwrap(),
            token
        );
        let health = test.run(&["doctor", "--json"]).json();
        for finding in health.as_array().or(health["checks"].as_array()).unwrap() {
            assert!(
                !["home", "store", "call log", "settings"]
                    .contains(&finding["check"].as_str().unwrap())
                    || finding["status"] == "ok",
                "{finding}"
            );
        }
    }
    // `make` makes the one of this version, before it is released.
    assert!(releases.contains(env!("CARGO_PKG_VERSION")), "{releases:?}");
}
