//! A process that runs a sandbox and can be killed: this test program again, doing one thing.

use crate::stage::{PATH, bash, directory};
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};
use toolcrib_sandbox::{Cancel, Layer, Level, Policy, Sandbox};

const LEVEL: &str = "TOOLCRIB_TEST_RUNNER_LEVEL";
const WORKSPACE: &str = "TOOLCRIB_TEST_RUNNER_WORKSPACE";
const SCRIPT: &str = "TOOLCRIB_TEST_RUNNER_SCRIPT";
const NAMESPACES: &str = "TOOLCRIB_TEST_RUNNER_NAMESPACES";

/// Whether the machine of a runner has pid and mount namespaces.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Namespaces {
    Yes,
    No,
}

/// Starts a process that runs a script behind a wall and prints what it prints.
pub(crate) fn start(level: Level, workspace: &Path, namespaces: Namespaces, script: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "runner::runs_a_script_when_told_to",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(LEVEL, level.name())
        .env(WORKSPACE, workspace)
        .env(SCRIPT, script)
        .env(
            NAMESPACES,
            if namespaces == Namespaces::Yes {
                "yes"
            } else {
                "no"
            },
        )
        .env("PATH", PATH)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// Waits until the script of a runner has printed a line that ends so.
pub(crate) fn wait_for_line(runner: &mut Child, end: &str) {
    let mut lines = BufReader::new(runner.stdout.as_mut().unwrap()).lines();
    assert!(
        lines.any(|line| line.unwrap().ends_with(end)),
        "the runner ended before it said `{end}`"
    );
}

#[test]
fn runs_a_script_when_told_to() {
    let Ok(level) = std::env::var(LEVEL) else {
        return;
    };
    let mut sandbox = Sandbox::new().unwrap();
    if std::env::var(NAMESPACES).unwrap() == "no" {
        let support = sandbox.support().clone();
        let support = support
            .without(Layer::PidNamespace)
            .without(Layer::MountNamespace);
        sandbox = Sandbox::with_support(support).unwrap();
    }
    let mut policy = Policy::new(level.parse().unwrap(), std::env::var_os(WORKSPACE).unwrap());
    policy.limits.time = Some(Duration::from_secs(100));
    let prepared = sandbox.prepare(&policy).unwrap();
    let mut print = |_, bytes: &[u8]| {
        use std::io::Write;
        let _ = std::io::stdout().write_all(bytes);
        let _ = std::io::stdout().flush();
    };
    let script = std::env::var(SCRIPT).unwrap();
    prepared
        .run(&bash(&script), &mut print, &Cancel::new().unwrap())
        .unwrap();
}

#[test]
fn a_runner_runs_its_script() {
    let workspace = directory();
    for level in [Level::None, Level::Process, Level::Container] {
        let mut runner = start(level, workspace.path(), Namespaces::Yes, "echo ready");
        wait_for_line(&mut runner, "ready");
        assert!(runner.wait().unwrap().success());
    }
}
