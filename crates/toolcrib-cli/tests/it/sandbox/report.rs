//! The report as JSON, and for a person.

use serde_json::json;

use super::bash;
use crate::harness::Test;

#[test]
fn json_is_one_report() {
    let test = Test::new();
    let words = [
        "--json",
        "sandbox",
        "--",
        "bash",
        "-c",
        "echo out; echo err >&2; exit 3",
    ];
    let report = test.run(&words).exits(3).json();
    let keys: Vec<&str> = report
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let expected = [
        "level",
        "exitCode",
        "status",
        "endedBy",
        "durationMs",
        "userTimeMs",
        "systemTimeMs",
        "maxRssBytes",
        "peakMemoryBytes",
        "pidsRefused",
        "layers",
        "notEnforced",
        "planted",
        "held",
        "stdoutBytes",
        "stderrBytes",
        "stdout",
        "stderr",
        "truncated",
    ];
    assert_eq!(keys, expected);
    for (key, value) in [
        ("level", json!("process")),
        ("exitCode", json!(3)),
        ("status", json!({"exited": 3})),
        ("endedBy", json!(null)),
        ("planted", json!([])),
        ("held", json!([])),
        ("stdoutBytes", json!(4)),
        ("stderrBytes", json!(4)),
        ("stdout", json!("out\n")),
        ("stderr", json!("err\n")),
        ("truncated", json!(false)),
    ] {
        assert_eq!(report[key], value, "{key}");
    }
    for layer in ["landlock", "seccomp", "no-capabilities", "environment"] {
        assert!(
            report["layers"].as_array().unwrap().contains(&json!(layer)),
            "{layer}"
        );
    }
    for missing in report["notEnforced"].as_array().unwrap() {
        let keys: Vec<&String> = missing.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["layer", "reason", "fix"]);
    }
}

#[test]
fn json_reports_limits_and_signals() {
    let test = Test::new();
    let run = |flags: &[&str], code: &str| {
        let words = [&["--json"], bash(flags, code).as_slice()].concat();
        let ran = test.run(&words);
        let report = ran.json();
        let part = |key: &str| report[key].clone();
        (
            ran.code,
            part("exitCode"),
            part("status"),
            part("endedBy"),
            part("truncated"),
        )
    };
    assert_eq!(
        run(&["--timeout", "300ms"], "sleep 30"),
        (
            124,
            json!(124),
            json!({"signal": 9}),
            json!("time"),
            json!(false)
        )
    );
    assert_eq!(
        run(&[], "kill -SEGV $$"),
        (
            139,
            json!(139),
            json!({"signal": 11}),
            json!(null),
            json!(false)
        )
    );
    let (code, _, _, by, truncated) = run(&[], "yes | head -c 200M");
    assert_eq!((code, by, truncated), (137, json!("output"), json!(true)));
}

#[test]
fn json_holds_any_output_as_text() {
    let test = Test::new();
    let report = test
        .run(&["--json", "sandbox", "--", "printf", r"\xff\x00\x1b[31m"])
        .exits(0)
        .json();
    assert_eq!(report["stdout"], "\u{fffd}\0\u{1b}[31m");
    assert_eq!(report["stdoutBytes"], 7);
}

#[test]
fn every_level_names_its_layers_when_asked() {
    let test = Test::new();
    let layers = |level| {
        let ran = test
            .run(&["-v", "sandbox", "--isolation", level, "--", "true"])
            .exits(0);
        let line = ran
            .stderr
            .lines()
            .find(|line| line.contains("enforced: "))
            .map(str::to_owned);
        line.unwrap_or_else(|| panic!("{ran:?}"))
    };
    assert!(!layers("none").contains("landlock"));
    assert!(layers("process").contains("landlock, seccomp"));
    assert!(layers("container").contains("own-root"));
}
