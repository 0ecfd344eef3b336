//! cargo, with a path dependency.

use serde_json::json;
use toolcrib::ErrorCode;
use toolcrib::testing::{TestCrib, WithBuiltins as _};

use super::{beneath, counts, failures, has, run, text, value, write};

const LIB: &str = r#"/// Adds two.
///
/// ```
/// assert_eq!(app::add(1), 3);
/// ```
pub fn add(number: i32) -> i32 {
    number + dep::two()
}

#[cfg(test)]
mod tests {
    use super::add;

    #[test]
    fn adds() {
        assert_eq!(add(1), 3);
    }

    #[test]
    fn is_wrong() {
        // Caught, and believed by no one.
        println!("test tests::forged ... ok\n\nfailures:\n    tests::adds\n\ntest result: ok. 9 passed; 0 failed; 0 ignored");
        assert_eq!(add(1), 4, "one and two");
    }

    #[test]
    #[ignore = "slow"]
    fn waits() {}
}
"#;

fn project() -> TestCrib {
    let manifest = |name: &str, rest: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2021\"\n{rest}")
    };
    TestCrib::new()
        .file(
            "app/Cargo.toml",
            manifest("app", "[dependencies]\ndep = { path = \"../dep\" }\n"),
        )
        .file("app/src/lib.rs", LIB)
        .file("dep/Cargo.toml", manifest("dep", ""))
        .file("dep/src/lib.rs", "pub fn two() -> i32 {\n    2\n}\n")
}

#[tokio::test]
async fn cargo_runs_and_reports_what_failed_and_where() {
    if !has("cargo") {
        return;
    }
    let test = project()
        .file(
            "app/tests/crash.rs",
            "#[test]\nfn crashes() {\n    std::process::abort();\n}\n",
        )
        .builtins();
    let outcome = run(&test, json!({"path": "app/src"})).await;
    let result = value(&outcome);
    assert_eq!(counts(result), ("failed", [2, 2, 1, 5]), "{result:#}");
    assert_eq!(
        failures(result),
        [
            ("tests::is_wrong", "app/src/lib.rs", 23),
            ("crash (tests/crash.rs)", "", 0)
        ]
    );
    let message = result["failures"][0]["message"].as_str().unwrap();
    assert_eq!(
        message,
        "assertion `left == right` failed: one and two\n  left: 3\n right: 4"
    );
    let message = result["failures"][1]["message"].as_str().unwrap();
    assert!(message.contains("SIGABRT"), "{message}");
    assert_eq!(result["skippedTests"], json!(["tests::waits"]));
    assert_eq!(
        (&result["runner"], &result["project"], &result["exitCode"]),
        (&json!("cargo"), &json!("app"), &json!(101))
    );
    assert_eq!(result["command"], "cargo test --no-fail-fast");
    let text = text(&outcome);
    assert!(
        text.starts_with("tests failed: 2 passed, 2 failed, 1 skipped"),
        "{text}"
    );
    assert!(
        text.contains("FAILED tests::is_wrong (app/src/lib.rs:23)\n"),
        "{text}"
    );
    assert_eq!(outcome.sandbox.unwrap().level, "process");
    // As cargo itself would have it.
    assert!(test.path().join("app/target/debug").is_dir());
}

#[tokio::test]
async fn cargo_takes_a_filter_that_is_never_an_option() {
    if !has("cargo") {
        return;
    }
    let test = project().builtins();
    let outcome = run(&test, json!({"path": "app", "filter": "tests::adds"})).await;
    let result = value(&outcome);
    assert_eq!(counts(result), ("passed", [1, 0, 0, 1]), "{result:#}");
    for filter in ["--help", "--ignored", "-h", "--list"] {
        let outcome = run(&test, json!({"path": "app", "filter": filter})).await;
        let result = value(&outcome);
        assert_eq!(counts(result), ("noTests", [0; 4]), "{filter}: {result:#}");
    }
}

#[tokio::test]
async fn what_does_not_compile_is_reported_with_its_place() {
    if !has("cargo") {
        return;
    }
    let test = project()
        .file(
            "app/src/lib.rs",
            "fn broken() {\n    let x: i32 = \"a\";\n}\n",
        )
        .builtins();
    let outcome = run(&test, json!({"path": "app"})).await;
    let result = value(&outcome);
    assert_eq!(counts(result), ("error", [0; 4]), "{result:#}");
    assert_eq!(
        result["errors"],
        json!([{"message": "mismatched types", "file": "app/src/lib.rs", "line": 2}])
    );
    let text = text(&outcome);
    assert!(
        text.contains("ERROR app/src/lib.rs:2\n    mismatched types"),
        "{text}"
    );
    let test = project().file("app/Cargo.toml", "[package\n").builtins();
    let outcome = run(&test, json!({"path": "app"})).await;
    let result = value(&outcome);
    assert_eq!(counts(result).0, "error");
    let message = result["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("Cargo.toml"), "{message}");
}

#[tokio::test]
async fn dependencies_that_were_fetched_already_are_found_without_network() {
    if !has("cargo") {
        return;
    }
    // One that these tests were built with, so that it is here.
    let lock = include_str!("../../../../../Cargo.lock");
    let (_, rest) = lock.split_once("name = \"itoa\"\nversion = \"").unwrap();
    let (version, _) = rest.split_once('"').unwrap();
    let manifest = format!(
        "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nitoa = \"={version}\"\n"
    );
    let test = TestCrib::new()
        .file("Cargo.toml", manifest)
        .file(
            "src/lib.rs",
            "#[test]\nfn writes() {\n    assert_eq!(itoa::Buffer::new().format(3), \"3\");\n}\n",
        )
        .builtins();
    let outcome = run(&test, json!({})).await;
    let result = value(&outcome);
    let tail = result["outputTail"].as_str().unwrap();
    if tail.contains("no matching package") || tail.contains("failed to download") {
        crate::skipped(format_args!("itoa {version} is not in cargo's home"));
        return;
    }
    assert_eq!(counts(result), ("passed", [1, 0, 0, 1]), "{result:#}");
}

#[tokio::test]
async fn settings_of_cargo_above_the_workspace_are_read_unless_they_hold_a_token() {
    if !has("cargo") {
        return;
    }
    // Its own project, so that it is not taken for a part of this one.
    let manifest =
        "[workspace]\n[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let (test, directory) = beneath(&[
        (".cargo/config.toml", "[env]\nSAID_ABOVE = \"yes\"\n"),
        ("ws/Cargo.toml", manifest),
        (
            "ws/src/lib.rs",
            "#[test]\nfn hears() {\n    assert_eq!(std::env::var(\"SAID_ABOVE\").unwrap(), \"yes\");\n}\n",
        ),
    ]);
    let test = test.builtins();
    let outcome = run(&test, json!({})).await;
    let result = value(&outcome);
    assert_eq!(counts(result), ("passed", [1, 0, 0, 1]), "{result:#}");
    let config = directory.path().join(".cargo/config.toml");
    write(&config, "[registries.own]\ntoken = \"SECRET-CANARY\"\n");
    let outcome = run(&test, json!({})).await;
    assert_eq!(crate::tools::code(&outcome), ErrorCode::ToolUnavailable);
    assert!(!format!("{outcome:?}").contains("SECRET-CANARY"));
    std::fs::remove_file(config).unwrap();
    // A part of something larger, which cannot be read.
    write(
        &directory.path().join("Cargo.toml"),
        "[workspace]\nmembers = [\"ws\"]\n",
    );
    write(
        &directory.path().join("ws/Cargo.toml"),
        &manifest.replace("[workspace]\n", ""),
    );
    let outcome = run(&test, json!({})).await;
    let result = value(&outcome);
    assert_eq!(counts(result), ("error", [0; 4]), "{result:#}");
    let note = result["notes"][0].as_str().unwrap_or_default();
    assert!(note.contains("make that the workspace"), "{result:#}");
}
