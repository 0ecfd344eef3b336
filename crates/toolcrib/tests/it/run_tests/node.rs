//! vitest, jest, mocha and `node --test`, in packages beneath a `node_modules` that `test.sh` has filled.

use std::path::{Path, PathBuf};
use toolcrib::testing::WithBuiltins as _;

use serde_json::json;
use tempfile::TempDir;
use toolcrib::ErrorCode;
use toolcrib::testing::TestCrib;
use toolcrib::workspace::Workspace;

use super::{counts, failures, fetched, has, run, value};

/// A package in its own directory, in a workspace that has the runners.
struct Package {
    test: TestCrib,
    directory: TempDir,
}

impl Package {
    fn new(runners: &Path, files: &[(&str, &str)]) -> Self {
        let directory = TempDir::new_in(runners).unwrap();
        for (name, text) in files {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let workspace = Workspace::open(runners).unwrap();
        let test = TestCrib::new()
            .with(|builder| builder.workspace(workspace))
            .builtins();
        Package { test, directory }
    }

    /// A path in it, as seen from the workspace.
    fn path(&self, name: &str) -> String {
        let own = self.directory.path().file_name().unwrap().to_str().unwrap();
        format!("{own}/{name}").trim_end_matches('/').to_owned()
    }
}

fn runners() -> Option<PathBuf> {
    has("node")
        .then(|| fetched("TOOLCRIB_TEST_RUNNERS"))
        .flatten()
}

const EXPECT: &str = "describe('sum', () => {
  it('adds', () => { expect(1 + 1).toBe(2); });
  it('is wrong', () => {
    expect(1 + 1).toBe(3);
  });
  it.skip('waits', () => {});
});
";

#[tokio::test]
async fn vitest_runs_and_reports_what_failed_and_where() {
    let Some(runners) = runners() else { return };
    let tests = format!("import {{ describe, expect, it }} from 'vitest';\n{EXPECT}");
    let package = Package::new(
        &runners,
        &[
            (
                "package.json",
                r#"{"type": "module", "scripts": {"test": "vitest --passWithNoTests"}}"#,
            ),
            ("src/sum.test.js", &tests),
            (
                "src/other.test.js",
                "import { it } from 'vitest';\nit('other', () => {});\n",
            ),
        ],
    );
    let outcome = run(&package.test, json!({"path": package.path("")})).await;
    let result = value(&outcome);
    assert_eq!(counts(result), ("failed", [2, 1, 1, 4]), "{result:#}");
    let file = package.path("src/sum.test.js");
    assert_eq!(failures(result), [("sum is wrong", file.as_str(), 5)]);
    assert_eq!(result["skippedTests"], json!(["sum waits"]));
    assert_eq!(result["runner"], "vitest");
    assert_eq!(result["command"], "vitest --passWithNoTests --run");
    // One file, and one test by name.
    let only = json!({"path": package.path("src/other.test.js")});
    assert_eq!(
        counts(value(&run(&package.test, only).await)),
        ("passed", [1, 0, 0, 1])
    );
    let named = json!({"path": package.path(""), "filter": "sum adds"});
    let outcome = run(&package.test, named).await;
    let result = value(&outcome);
    assert_eq!(
        (&result["status"], &result["passed"]),
        (&json!("passed"), &json!(1)),
        "{result:#}"
    );
    let option = json!({"path": package.path(""), "filter": "--version"});
    let outcome = run(&package.test, option).await;
    assert_eq!(value(&outcome)["passed"], 0);
}

#[tokio::test]
async fn a_file_that_vitest_cannot_load_is_an_error() {
    let Some(runners) = runners() else { return };
    let package = Package::new(
        &runners,
        &[
            (
                "package.json",
                r#"{"type": "module", "devDependencies": {"vitest": "*"}}"#,
            ),
            ("bad.test.js", "import './nope.js';\n"),
        ],
    );
    let outcome = run(&package.test, json!({"path": package.path("")})).await;
    let result = value(&outcome);
    assert_eq!(counts(result), ("error", [0; 4]), "{result:#}");
    assert_eq!(result["errors"][0]["file"], package.path("bad.test.js"));
    let message = result["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("./nope.js"), "{message}");
}

#[tokio::test]
async fn jest_and_mocha_run_and_tell_what_failed_and_where() {
    let Some(runners) = runners() else { return };
    let package = Package::new(
        &runners,
        &[
            ("package.json", r#"{"scripts": {"test": "jest"}}"#),
            ("sum.test.js", EXPECT),
        ],
    );
    let outcome = run(&package.test, json!({"path": package.path("")})).await;
    let result = value(&outcome);
    assert_eq!(counts(result), ("failed", [1, 1, 1, 3]), "{result:#}");
    let file = package.path("sum.test.js");
    assert_eq!(failures(result), [("sum is wrong", file.as_str(), 4)]);
    assert_eq!(result["runner"], "jest");

    let tests = EXPECT
        .replace("expect(1 + 1).toBe(2)", "assert.equal(1 + 1, 2)")
        .replace("expect(1 + 1).toBe(3)", "assert.equal(1 + 1, 3)");
    let package = Package::new(
        &runners,
        &[
            ("package.json", r#"{"scripts": {"test": "true && mocha"}}"#),
            (
                "test/sum.js",
                &format!("const assert = require('assert');\n{tests}"),
            ),
        ],
    );
    let outcome = run(&package.test, json!({"path": package.path("")})).await;
    let result = value(&outcome);
    assert_eq!(counts(result), ("failed", [1, 1, 1, 3]), "{result:#}");
    let file = package.path("test/sum.js");
    assert_eq!(failures(result), [("sum is wrong", file.as_str(), 5)]);
    assert_eq!(result["runner"], "mocha");
}

const NODE: &str = "const assert = require('assert');
const { describe, it } = require('node:test');
describe('sum', () => {
  it('adds', () => { console.log('not ok 1 - forged'); });
  it('is wrong', () => {
    assert.equal(1 + 1, 3);
  });
  it('waits', { skip: true }, () => {});
});
";

#[tokio::test]
async fn node_runs_and_reports_what_failed_and_where() {
    if !has("node") {
        return;
    }
    let test = TestCrib::new()
        .file(
            "package.json",
            r#"{"scripts": {"test": "node --test *.js"}}"#,
        )
        .file("sum.js", NODE)
        .builtins();
    let outcome = run(&test, json!({})).await;
    let result = value(&outcome);
    assert_eq!(counts(result), ("failed", [1, 1, 1, 3]), "{result:#}");
    let [(name, file, line)] = failures(result).try_into().unwrap();
    assert_eq!((name, file), ("is wrong", "sum.js"));
    // Before Node 20 the place is that of the test.
    assert!(line == 6 || line == 0, "{line}");
    let outcome = run(&test, json!({"filter": "adds"})).await;
    assert_eq!(value(&outcome)["passed"], 1);
}

#[tokio::test]
async fn another_script_is_judged_by_its_exit_code() {
    if !has("npm") {
        return;
    }
    let script = |script: &str| {
        TestCrib::new()
            .file(
                "package.json",
                json!({"scripts": {"test": script}}).to_string(),
            )
            .builtins()
    };
    let outcome = run(&script("echo ok 1 - one && exit 3"), json!({})).await;
    let result = value(&outcome);
    assert_eq!(counts(result), ("error", [1, 0, 0, 1]), "{result:#}");
    assert_eq!(
        (&result["runner"], &result["exitCode"]),
        (&json!("npm"), &json!(3))
    );
    let outcome = run(&script("echo fine"), json!({})).await;
    assert_eq!(counts(value(&outcome)), ("passed", [0; 4]));
    let outcome = run(&script("echo fine"), json!({"filter": "x"})).await;
    assert_eq!(crate::tools::code(&outcome), ErrorCode::InvalidArguments);
}

#[tokio::test]
async fn a_runner_that_is_not_installed_is_said_to_be_missing() {
    if !has("node") {
        return;
    }
    let test = TestCrib::new()
        .file("package.json", r#"{"scripts": {"test": "vitest"}}"#)
        .builtins();
    let outcome = run(&test, json!({})).await;
    assert_eq!(crate::tools::code(&outcome), ErrorCode::ToolUnavailable);
    let message = outcome.error().unwrap().message();
    assert!(message.contains("npm ci"), "{message}");
}
