//! `toolcrib doctor`.

use serde_json::Value;

use crate::harness::Test;

fn status(findings: &Value, check: &str) -> String {
    let found = findings
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| finding["check"] == check)
        .unwrap();
    found["status"].as_str().unwrap().to_owned()
}

#[test]
fn a_fresh_machine_is_in_order() {
    let test = Test::new();
    let findings = test.run(&["doctor", "--json"]).exits(0).json();
    for check in [
        "version",
        "settings",
        "home",
        "call log",
        "workspace",
        "paths",
        "tools",
    ] {
        assert_eq!(status(&findings, check), "ok", "{findings:#}");
    }
    assert!(test.run(&["doctor"]).exits(0).stdout.contains("openat2"));
}

#[test]
fn what_is_broken_fails_and_says_how_to_mend_it() {
    let broken = Test::new()
        .config("nonsense = 1")
        .run(&["doctor", "--json"])
        .exits(1)
        .json();
    assert_eq!(status(&broken, "settings"), "broken");
    let test = Test::new().file("blocked", "");
    let home = test.workspace().join("blocked");
    let ran = test
        .command()
        .args(["doctor", "--home"])
        .arg(home)
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&ran.stdout).contains("not a directory"),
        "{ran:?}"
    );
}

#[test]
fn a_home_others_can_read_is_a_warning() {
    use std::os::unix::fs::PermissionsExt as _;
    let test = Test::new().config("");
    std::fs::set_permissions(test.home(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let findings = test.run(&["doctor", "--json"]).exits(0).json();
    assert_eq!(status(&findings, "home"), "warning");
}

#[test]
fn the_levels_of_isolation_are_tried_and_told() {
    let ran = Test::new().run(&["--json", "doctor"]).exits(0).json();
    for level in ["process", "container"] {
        let finding = ran
            .as_array()
            .unwrap()
            .iter()
            .find(|finding| finding["check"] == level)
            .unwrap_or_else(|| panic!("nothing about {level}: {ran}"));
        let told = finding["message"].as_str().unwrap();
        assert!(told.contains(&format!("isolation `{level}`")), "{finding}");
        // What is missing comes with what would bring it.
        assert!(
            finding["status"] == "ok" || !finding["fix"].as_str().unwrap().is_empty(),
            "{finding}"
        );
    }
}
