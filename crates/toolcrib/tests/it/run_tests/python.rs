//! pytest, in a virtual environment of the project that sees the one `test.sh` has made.

use std::path::Path;
use std::process::Command;
use toolcrib::RegisterBuiltins as _;
use toolcrib::testing::WithBuiltins as _;

use serde_json::json;
use toolcrib::ErrorCode;
use toolcrib::builtin::{BuiltinOptions, SandboxOptions, SandboxSettings};
use toolcrib::testing::TestCrib;

use super::{beneath, counts, failures, fetched, has, run, value};

const TESTS: &str = r#"import pytest


def test_adds():
    assert 1 + 1 == 2


class TestSum:
    def test_wrong(self):
        total = 1 + 1
        assert total == 3, "<&\"> é"


@pytest.mark.skip(reason="slow")
def test_waits():
    pass
"#;

/// A workspace whose `.venv` has what is in another virtual environment.
fn project(venv: &Path) -> Option<TestCrib> {
    let test = TestCrib::new()
        .file("pyproject.toml", "")
        .file("tests/test_sum.py", TESTS);
    let place = test.path().to_owned();
    equipped(test, &place, venv)
}

/// A workspace with a `.venv` in this place that has what is in another virtual environment, and the built-in tools.
fn equipped(test: TestCrib, place: &Path, venv: &Path) -> Option<TestCrib> {
    let place = place.join(".venv");
    let python = venv.join("bin/python");
    let made = Command::new(python)
        .args(["-m", "venv", "--without-pip"])
        .arg(&place)
        .status();
    if !made.is_ok_and(|status| status.success()) {
        crate::skipped(format_args!("python cannot make a virtual environment"));
        return None;
    }
    let packages = |venv: &Path| {
        let lib = std::fs::read_dir(venv.join("lib")).unwrap().next().unwrap();
        lib.unwrap().path().join("site-packages")
    };
    let line = packages(venv).display().to_string();
    std::fs::write(packages(&place).join("other.pth"), line).unwrap();
    let options = BuiltinOptions {
        sandbox: SandboxSettings {
            options: SandboxOptions {
                readable: vec![venv.to_owned()],
                ..SandboxOptions::default()
            },
            ..SandboxSettings::default()
        },
        ..BuiltinOptions::default()
    };
    test.registry().register_builtins_with(options).unwrap();
    Some(test)
}

#[tokio::test]
async fn pytest_runs_and_reports_what_failed_and_where() {
    let Some(test) = fetched("TOOLCRIB_TEST_PYTEST").and_then(|venv| project(&venv)) else {
        return;
    };
    let outcome = run(&test, json!({"path": "tests"})).await;
    let result = value(&outcome);
    assert_eq!(counts(result), ("failed", [1, 1, 1, 3]), "{result:#}");
    assert_eq!(
        failures(result),
        [(
            "tests/test_sum.py::TestSum::test_wrong",
            "tests/test_sum.py",
            11
        )]
    );
    let message = result["failures"][0]["message"].as_str().unwrap();
    assert!(message.contains("<&\"> é"), "{message}");
    assert_eq!(
        result["skippedTests"],
        json!(["tests/test_sum.py::test_waits"])
    );
    assert_eq!(
        (&result["runner"], &result["project"]),
        (&json!("pytest"), &json!("."))
    );
    // Nothing is left lying about.
    for trace in [".pytest_cache", "tests/__pycache__"] {
        assert!(!test.path().join(trace).exists(), "{trace}");
    }
}

#[tokio::test]
async fn pytest_takes_paths_and_filters_that_are_never_options() {
    let Some(test) = fetched("TOOLCRIB_TEST_PYTEST").and_then(|venv| project(&venv)) else {
        return;
    };
    let odd = test.path().join("--version");
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(odd.join("test_odd.py"), "def test_odd():\n    pass\n").unwrap();
    std::fs::write(test.path().join("@args"), "--version\n").unwrap();
    for (arguments, passed) in [
        (json!({"filter": "adds"}), 1),
        (json!({"filter": "adds or --version", "path": "tests"}), 1),
        (json!({"path": "--version"}), 1),
        (json!({"path": "--version/test_odd.py"}), 1),
    ] {
        let outcome = run(&test, arguments.clone()).await;
        let result = value(&outcome);
        assert_eq!(
            counts(result),
            ("passed", [passed, 0, 0, passed]),
            "{arguments}: {result:#}"
        );
    }
    let outcome = run(&test, json!({"filter": "no_such_test"})).await;
    assert_eq!(counts(value(&outcome)), ("noTests", [0; 4]));
    // Errors of pytest's arguments are reported in pytest's words.
    let outcome = run(&test, json!({"filter": "a b c"})).await;
    let result = value(&outcome);
    assert_eq!(result["status"], "error", "{result:#}");
    assert!(result["outputTail"].as_str().unwrap().contains("a b c"));
}

#[tokio::test]
async fn a_test_that_cannot_be_imported_is_an_error_with_its_place() {
    let Some(test) = fetched("TOOLCRIB_TEST_PYTEST").and_then(|venv| project(&venv)) else {
        return;
    };
    let bad = test.path().join("tests/test_bad.py");
    std::fs::write(bad, "import os\nimport nope\n").unwrap();
    let outcome = run(&test, json!({})).await;
    let result = value(&outcome);
    assert_eq!(result["status"], "error", "{result:#}");
    assert_eq!(
        result["errors"],
        json!([{"message": "ModuleNotFoundError: No module named 'nope'", "file": "tests/test_bad.py", "line": 2}])
    );
}

#[tokio::test]
async fn a_report_that_a_test_writes_itself_does_not_make_a_failure_pass() {
    let Some(test) = fetched("TOOLCRIB_TEST_PYTEST").and_then(|venv| project(&venv)) else {
        return;
    };
    let forger = r#"
import sys, os

def pytest_sessionfinish(session):
    path = [word.split("=", 1)[1] for word in sys.argv if word.startswith("--junitxml=")][0]
    import _pytest.junitxml
    _pytest.junitxml.LogXML.pytest_sessionfinish = lambda self: None
    if os.environ.get("KIND") == "link":
        if os.path.exists(path):
            os.remove(path)
        os.symlink("/etc/passwd", path)
    else:
        open(path, "w").write("<testsuite><testcase name='forged'/></testsuite>")
"#;
    std::fs::write(test.path().join("conftest.py"), forger).unwrap();
    let outcome = run(&test, json!({})).await;
    let result = value(&outcome);
    assert_eq!(result["exitCode"], 1, "{result:#}");
    assert_eq!(result["status"], "error", "{result:#}");
    let link = forger.replace("os.environ.get(\"KIND\") == \"link\"", "True");
    std::fs::write(test.path().join("conftest.py"), link).unwrap();
    let outcome = run(&test, json!({})).await;
    let result = value(&outcome);
    assert_eq!(counts(result), ("error", [0; 4]), "{result:#}");
    assert!(!format!("{outcome:?}").contains("root:x:0"));
}

#[tokio::test]
async fn without_pytest_it_is_said_how_to_get_it() {
    if !has("python3") {
        return;
    }
    let test = TestCrib::new()
        .file("test_x.py", "def test_x(): pass\n")
        .builtins();
    let made = Command::new("python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(test.path().join(".venv"))
        .status();
    if !made.is_ok_and(|status| status.success()) {
        crate::skipped(format_args!("python3 cannot make a virtual environment"));
        return;
    }
    let outcome = run(&test, json!({})).await;
    assert_eq!(crate::tools::code(&outcome), ErrorCode::ToolUnavailable);
    let message = outcome.error().unwrap().message();
    assert!(
        message.contains("python3 -m pip install pytest"),
        "{message}"
    );
}

#[tokio::test]
async fn settings_above_the_workspace_are_none_of_the_projects() {
    let Some(venv) = fetched("TOOLCRIB_TEST_PYTEST") else {
        return;
    };
    let (test, directory) = beneath(&[
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\naddopts = \"--no-such-option\"\n",
        ),
        ("conftest.py", "raise SystemExit(9)\n"),
        (
            "ws/conftest.py",
            "def pytest_configure(config):\n    config.seen = True\n",
        ),
        (
            "ws/sub/test_a.py",
            "def test_a(request):\n    assert request.config.seen\n",
        ),
    ]);
    let Some(test) = equipped(test, &directory.path().join("ws"), &venv) else {
        return;
    };
    let outcome = run(&test, json!({})).await;
    let result = value(&outcome);
    assert_eq!(counts(result), ("passed", [1, 0, 0, 1]), "{result:#}");
    assert_eq!(result["command"], ".venv/bin/python -m pytest");
}
