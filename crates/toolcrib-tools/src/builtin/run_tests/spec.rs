//! The published spec of `run_tests`.

use serde_json::{Value, json};

use super::TOOL;
use super::choose::TestRunner;
use crate::model::effects::Effects;
use crate::model::limits::LimitsPatch;
use crate::spec::{Role, ToolSpec, Traits};

/// How long a run may take when nothing is said, and the most that can be asked for, in seconds.
pub(super) const TIMEOUT: u64 = 600;
const MAX_TIMEOUT: u64 = 3600;
/// The longest filter, in characters.
const MAX_FILTER: u64 = 1000;

pub(super) fn spec() -> ToolSpec {
    let runners = TestRunner::ALL.map(TestRunner::name);
    let input = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "path": {
                "type": "string",
                "default": ".",
                "description": "Directory or file whose project's tests are run, relative to the workspace; pytest, go, vitest, jest, mocha and node (files) run only what is beneath it"
            },
            "runner": {
                "type": "string",
                "enum": runners,
                "description": "What runs the tests; found by the project's files if left out (npm: the test script, whatever it is)"
            },
            "filter": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_FILTER,
                "description": "Which tests by name: a part of it for cargo, an expression for pytest (-k), a regular expression for vitest, jest, mocha, node and go"
            },
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": MAX_TIMEOUT,
                "default": TIMEOUT,
                "description": "How long they may take, in seconds; building counts"
            }
        }
    });
    let mut spec = crate::builtin::core_spec(
        TOOL,
        "Run tests",
        "Run the tests of a project in the workspace with cargo, pytest, vitest, jest, mocha, node --test, an npm script, go or make, whichever \
         it uses. They run in a sandbox: they can read and write the workspace and reach no network but their own loopback, so dependencies \
         must be installed already. Returns counts and each failure with file, line and message. Failing tests are not an error of the tool.",
        Effects::READ.and(Effects::WRITE).and(Effects::RUN),
        input,
        output(),
    );
    spec.keywords = crate::builtin::keywords(&[
        "test",
        "unit tests",
        "test suite",
        "check",
        "verify",
        "cargo test",
        "pytest",
        "npm test",
        "jest",
        "vitest",
        "mocha",
        "go test",
        "make test",
        "specs",
    ]);
    spec.traits = Traits {
        destroys: Some(true),
        idempotent: Some(false),
        open_world: Some(false),
    };
    spec.roles = vec![("path".to_owned(), Role::ReadPath)];
    spec.examples = vec![
        json!({}),
        json!({"path": ".", "filter": "parser", "timeout": 120}),
    ];
    spec.looks_first = true;
    spec.limits = LimitsPatch {
        timeout_ms: Some(MAX_TIMEOUT * 1000),
        ..LimitsPatch::default()
    };
    spec
}

fn output() -> Value {
    let count = |description: &str| json!({"type": "integer", "description": description});
    let failure = json!({
        "type": "object",
        "required": ["message"],
        "properties": {
            "name": {"type": "string", "description": "The test, as its runner calls it"},
            "suite": {"type": "string", "description": "The test program or package it is in, where there are several"},
            "file": {"type": "string", "description": "Where it failed, relative to the workspace"},
            "line": count("The line in it"),
            "message": {"type": "string", "description": "Why"}
        }
    });
    let mut error = failure.clone();
    error["description"] = json!("What kept tests from being built or started");
    json!({
        "type": "object",
        "required": [
            "status", "runner", "project", "command", "passed", "failed", "skipped", "total", "duration", "failures", "exitCode",
            "outputTail", "truncated"
        ],
        "properties": {
            "status": {
                "type": "string",
                "enum": ["passed", "failed", "error", "noTests"],
                "description": "error: they could not be built, started or run to their end; passed is said only if the exit code is 0"
            },
            "runner": {"type": "string", "description": "What ran them"},
            "project": {"type": "string", "description": "The directory of the project, relative to the workspace"},
            "command": {"type": "string", "description": "The command"},
            "passed": count("How many passed"),
            "failed": count("How many failed"),
            "skipped": count("How many were left out"),
            "total": count("How many there are; npm and make: as far as their output shows"),
            "duration": count("How long it took, building included, in milliseconds"),
            "failures": {"type": "array", "description": "The tests that failed, up to 100", "items": failure},
            "errors": {"type": "array", "description": "Why tests could not be built or started: of a compiler, of files that cannot be loaded", "items": error},
            "skippedTests": {"type": "array", "description": "The tests that were left out, up to 100", "items": {"type": "string"}},
            "notes": {"type": "array", "description": "What else to know", "items": {"type": "string"}},
            "otherProjects": {
                "type": "array",
                "description": "What else is a project there or above; `runner` chooses",
                "items": {
                    "type": "object",
                    "properties": {
                        "kind": {"type": "string", "description": "cargo, python, npm, go or make"},
                        "path": {"type": "string", "description": "Its directory, relative to the workspace"},
                        "marker": {"type": "string", "description": "The file that shows it"}
                    }
                }
            },
            "exitCode": count("The runner's exit code"),
            "outputTail": {"type": "string", "description": "The end of what was printed"},
            "truncated": {"type": "boolean", "description": "True if something was left out"}
        }
    })
}
