//! Limits of test runs: the sandbox, time, cancellation, and the bounds of the report.

use std::path::Path;
use std::time::{Duration, Instant};
use toolcrib::RegisterBuiltins as _;
use toolcrib::testing::WithBuiltins as _;

use serde_json::json;
use toolcrib::builtin::{BuiltinOptions, SandboxOptions, SandboxSettings};
use toolcrib::sandbox::{Layer, Level, Sandbox};
use toolcrib::testing::TestCrib;
use toolcrib::{CallRequest, CancellationToken, ErrorCode, EventKind};

use super::{has, run, text, value};
use crate::tools::code;

fn make(recipe: &str) -> TestCrib {
    TestCrib::new().file("Makefile", format!("test:\n\t@{recipe}\n"))
}

#[tokio::test]
async fn tests_write_the_workspace_and_nothing_else_and_reach_no_network() {
    if !has("make") || !has("python3") {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    let canary = outside.path().join("canary");
    std::fs::write(&canary, "SECRET-CANARY").unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let recipe = format!(
        "echo x > made; cat {path}; echo x > {path}; python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 2)\" && echo reached; true",
        path = canary.display()
    );
    // A level that was set for `shell` is none of theirs.
    let test = make(&recipe);
    let options = BuiltinOptions {
        sandbox: SandboxSettings {
            shell: Some(Level::None),
            ..SandboxSettings::default()
        },
        ..BuiltinOptions::default()
    };
    test.registry().register_builtins_with(options).unwrap();
    let outcome = run(&test, json!({})).await;
    let seen = format!("{outcome:?}");
    assert!(
        !seen.contains("SECRET-CANARY") && !seen.contains("reached\\n"),
        "{seen}"
    );
    assert_eq!(outcome.sandbox.unwrap().level, "process");
    assert!(test.path().join("made").exists());
    assert_eq!(std::fs::read_to_string(&canary).unwrap(), "SECRET-CANARY");
}

#[tokio::test]
async fn tests_may_serve_and_ask_each_other_on_their_own_loopback() {
    if !has("make") || !has("python3") {
        return;
    }
    let serve = "import socket\nserver = socket.create_server(('127.0.0.1', 0))\nclient = socket.create_connection(server.getsockname(), 5)\nserver.accept()[0].sendall(b'hello')\nprint(client.recv(5).decode())\n";
    let test = make("python3 serve.py").file("serve.py", serve);
    test.registry().register_builtins().unwrap();
    let outcome = run(&test, json!({})).await;
    assert_eq!(value(&outcome)["status"], "passed", "{outcome:?}");
    assert!(
        outcome
            .sandbox
            .unwrap()
            .layers
            .iter()
            .any(|layer| layer == "network-namespace")
    );
}

#[tokio::test]
async fn without_a_wall_nothing_is_run() {
    let test = make("echo x > made");
    let support = Sandbox::new()
        .unwrap()
        .support()
        .clone()
        .without(Layer::Landlock);
    let options = BuiltinOptions {
        sandbox: SandboxSettings {
            options: SandboxOptions {
                sandbox: Some(Sandbox::with_support(support).unwrap()),
                ..SandboxOptions::default()
            },
            ..SandboxSettings::default()
        },
        ..BuiltinOptions::default()
    };
    test.registry().register_builtins_with(options).unwrap();
    let outcome = run(&test, json!({})).await;
    assert_eq!(code(&outcome), ErrorCode::SandboxUnavailable);
    assert!(!test.path().join("made").exists());
}

#[tokio::test]
async fn time_that_is_up_ends_every_process_and_reports_how_far_it_got() {
    if !has("make") {
        return;
    }
    let test = make("echo ok 1 - one; echo ok 2 - two; setsid sleep 300 & sleep 300").builtins();
    let started = Instant::now();
    let outcome = run(&test, json!({"timeout": 1})).await;
    assert_eq!(code(&outcome), ErrorCode::Timeout);
    assert!(started.elapsed() < Duration::from_secs(10));
    let details = outcome.error().unwrap().details().unwrap();
    assert_eq!(details["stdout"], "ok 1 - one\nok 2 - two\n");
    // The last result is one only when the next line has come.
    assert_eq!(details["testsDone"], 1);
    assert_no_process_in(test.path());
}

#[tokio::test]
async fn a_cancelled_run_leaves_no_process_and_output_is_seen_while_it_goes_on() {
    if !has("make") {
        return;
    }
    let test = make("echo ok 1 - one; echo ok 2 - two; echo first; sleep 300").builtins();
    let cancel = CancellationToken::new();
    let request = CallRequest::new("run_tests").cancel_with(cancel.clone());
    let handle = test.registry().execute_async(request);
    let mut events = handle.events();
    let mut progress = None;
    while let Some(event) = events.next().await {
        match &event.kind {
            EventKind::Output { chunk, .. } if chunk.contains("first") => cancel.cancel(),
            EventKind::Progress { message, .. } => progress = message.clone(),
            _ => {}
        }
    }
    assert_eq!(code(&handle.outcome().await), ErrorCode::Cancelled);
    assert_eq!(progress.as_deref(), Some("1 tests done"));
    assert_no_process_in(test.path());
}

#[tokio::test]
async fn a_flood_of_failures_and_output_is_bounded_and_said_to_be_cut() {
    if !has("make") || !has("python3") {
        return;
    }
    let flood =
        "import sys\nfor n in range(3000):\n    print('not ok', n, '-', 'x' * 2000)\nsys.exit(1)\n";
    let test = make("python3 flood.py").file("flood.py", flood).builtins();
    let outcome = run(&test, json!({})).await;
    let result = value(&outcome);
    assert_eq!(result["failed"], 3000);
    assert_eq!(result["failures"].as_array().unwrap().len(), 100);
    assert_eq!(result["truncated"], true);
    assert!(result["outputTail"].as_str().unwrap().len() <= 8 * 1024);
    assert!(text(&outcome).contains("and 2900 more failures"));
    assert!(result.to_string().len() < 200_000);
}

/// No process has the directory as its own any more.
fn assert_no_process_in(directory: &Path) {
    let directory = directory.canonicalize().unwrap();
    let left = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let is_process = entry.file_name().to_string_lossy().parse::<u32>().is_ok();
        is_process
            && std::fs::read_link(entry.path().join("cwd"))
                .is_ok_and(|cwd| cwd.starts_with(&directory))
    });
    assert!(!left, "a process is left");
}
