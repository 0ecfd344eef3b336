//! `run_tests`: real runners on small real projects, behind the real sandbox, through the whole pipeline.
//!
//! A runner that is not on this machine is said to be missing; `test.sh` fetches pytest, vitest, jest and mocha and says where they are.

mod cargo;
mod node;
mod others;
mod python;
mod walls;

use std::path::{Path, PathBuf};
use toolcrib::testing::WithBuiltins as _;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolcrib::testing::TestCrib;
use toolcrib::workspace::Workspace;
use toolcrib::{CallRequest, Outcome};

use crate::tools::args;

async fn run(test: &TestCrib, arguments: Value) -> Outcome {
    test.registry()
        .execute(CallRequest::new("run_tests").args(args(arguments)))
        .await
}

fn value(outcome: &Outcome) -> &Value {
    outcome
        .value()
        .unwrap_or_else(|| panic!("{:?}", outcome.result))
}

fn text(outcome: &Outcome) -> String {
    outcome.result.as_ref().unwrap().text().into_owned()
}

/// Status and counts: passed, failed, skipped, total.
fn counts(value: &Value) -> (&str, [u64; 4]) {
    let count = |key: &str| value[key].as_u64().unwrap();
    (
        value["status"].as_str().unwrap(),
        [
            count("passed"),
            count("failed"),
            count("skipped"),
            count("total"),
        ],
    )
}

/// Name, file and line of each failure.
fn failures(value: &Value) -> Vec<(&str, &str, u64)> {
    value["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|failure| {
            (
                failure["name"].as_str().unwrap(),
                failure["file"].as_str().unwrap_or(""),
                failure["line"].as_u64().unwrap_or(0),
            )
        })
        .collect()
}

/// The workspace `ws` in a directory that is not in `/tmp`, because each program gets its own `/tmp`: the directories above exist, and
/// cannot be read. It is among the files of the build, or in the home directory if this clone is in `/tmp` itself.
fn beneath(files: &[(&str, &str)]) -> (TestCrib, TempDir) {
    let is_temporary = |path: &Path| path.starts_with("/tmp") || path.starts_with("/var/tmp");
    let built = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let home = std::env::home_dir();
    let mut places = std::iter::once(built).chain(home);
    let place = places.find(|place| !is_temporary(place));
    let directory = TempDir::new_in(place.expect("a home directory outside of /tmp")).unwrap();
    for (name, text) in files {
        write(&directory.path().join(name), text);
    }
    let workspace = Workspace::open(&directory.path().join("ws")).unwrap();
    let test = TestCrib::new().with(|builder| builder.workspace(workspace));
    (test, directory)
}

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Whether a program is there; says so if not.
fn has(program: &str) -> bool {
    let there = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
    });
    if !there {
        crate::skipped(format_args!("there is no `{program}` here"));
    }
    there
}

/// The place that a variable of `test.sh` names; says so if it names none.
fn fetched(variable: &str) -> Option<PathBuf> {
    let place = std::env::var_os(variable).map(PathBuf::from);
    let place = place.filter(|place| place.is_dir());
    if place.is_none() {
        crate::skipped(format_args!(
            "{variable} names no directory; ./test.sh test sets it"
        ));
    }
    place
}

#[tokio::test]
async fn a_directory_without_tests_is_answered_with_what_was_looked_for() {
    let test = TestCrib::new()
        .file("a.txt", "x")
        .file("web/package.json", "{}")
        .builtins();
    let outcome = run(&test, json!({})).await;
    assert_eq!(
        crate::tools::code(&outcome),
        toolcrib::ErrorCode::FileNotFound
    );
    let message = outcome.error().unwrap().message();
    assert!(message.contains("pyproject.toml"), "{message}");
    let outcome = run(&test, json!({"path": "web"})).await;
    let message = outcome.error().unwrap().message();
    assert!(
        message.ends_with("found were `package.json` in `web`"),
        "{message}"
    );
    let outcome = run(&test, json!({"path": "web", "runner": "go"})).await;
    assert_eq!(
        crate::tools::code(&outcome),
        toolcrib::ErrorCode::InvalidArguments
    );
}
