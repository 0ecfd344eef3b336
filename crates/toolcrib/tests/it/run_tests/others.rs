//! go and make.

use serde_json::json;
use toolcrib::ErrorCode;
use toolcrib::testing::TestCrib;
use toolcrib::testing::WithBuiltins as _;

use super::{counts, failures, has, run, value};

const GO: &str = "package adder

import \"testing\"

func TestAdds(t *testing.T) {}

func TestSum(t *testing.T) {
\tt.Run(\"right\", func(t *testing.T) {})
\tt.Run(\"wrong\", func(t *testing.T) {
\t\tt.Errorf(\"got %d\", 3)
\t})
}

func TestWaits(t *testing.T) { t.Skip(\"slow\") }
";

#[tokio::test]
async fn go_runs_and_reports_what_failed_and_where() {
    if !has("go") {
        return;
    }
    let test = TestCrib::new()
        .file("m/go.mod", "module example.com/m\n\ngo 1.18\n")
        .file("m/adder/adder_test.go", GO)
        .file(
            "m/bad/bad_test.go",
            "package bad\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {\n\tnope()\n}\n",
        )
        .builtins();
    let outcome = run(&test, json!({"path": "m"})).await;
    let result = value(&outcome);
    assert_eq!(counts(result), ("failed", [2, 1, 1, 4]), "{result:#}");
    assert_eq!(
        failures(result),
        [("TestSum/wrong", "m/adder/adder_test.go", 10)]
    );
    assert_eq!(result["skippedTests"], json!(["TestWaits"]));
    assert_eq!(
        result["errors"],
        json!([{"message": "undefined: nope", "file": "m/bad/bad_test.go", "line": 6}])
    );
    let outcome = run(&test, json!({"path": "m/adder", "filter": "Adds$"})).await;
    assert_eq!(counts(value(&outcome)), ("passed", [1, 0, 0, 1]));
    let outcome = run(&test, json!({"path": "m/bad"})).await;
    assert_eq!(value(&outcome)["status"], "error");
}

#[tokio::test]
async fn make_runs_its_target_and_what_it_prints_is_read() {
    if !has("make") {
        return;
    }
    let makefile = "check:\n\t@echo ok 1 - one\n\t@echo not ok 2 - two\n\t@echo 'ok 3 - three # SKIP slow'\n\t@exit 1\n";
    let test = TestCrib::new()
        .file("Makefile", makefile)
        .file("src/a.c", "")
        .builtins();
    let outcome = run(&test, json!({"path": "src/a.c"})).await;
    let result = value(&outcome);
    assert_eq!(counts(result), ("failed", [1, 1, 1, 3]), "{result:#}");
    assert_eq!(failures(result), [("two", "", 0)]);
    assert_eq!(
        (&result["command"], &result["project"]),
        (&json!("make check"), &json!("."))
    );
    let outcome = run(&test, json!({"filter": "x"})).await;
    assert_eq!(crate::tools::code(&outcome), ErrorCode::InvalidArguments);
}

#[tokio::test]
async fn of_several_runners_the_first_runs_and_the_others_are_named() {
    if !has("make") {
        return;
    }
    let test = TestCrib::new()
        .file("Makefile", "test:\n\t@echo made\n")
        .file("sub/package.json", r#"{"scripts": {"test": "echo npm"}}"#)
        .file("sub/Makefile", "all:\n")
        .builtins();
    let outcome = run(&test, json!({"path": "sub", "runner": "make"})).await;
    let result = value(&outcome);
    assert_eq!(result["outputTail"], "made\n");
    assert_eq!(
        result["otherProjects"],
        json!([{"kind": "npm", "path": "sub", "marker": "package.json"}])
    );
    let plan = test
        .registry()
        .plan(toolcrib::CallRequest::new("run_tests").arg("path", "sub"))
        .unwrap();
    assert_eq!(
        plan.effect,
        "run the tests of `sub` with npm in the sandbox, with their own loopback and no other network"
    );
}
