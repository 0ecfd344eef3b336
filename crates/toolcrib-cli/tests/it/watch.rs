//! `toolcrib watch`: a real file changes, and the tests of its tool run again.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

use crate::harness::Test;

const TOOL: &str = "description: X\nbash: echo one\ntags: [read]\ntests:\n  - {name: says, expected: {output-contains: one}}\n";

struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    fn start(test: &Test, words: &[&str]) -> Self {
        let mut child = test
            .command()
            .arg("watch")
            .args(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout: ChildStdout = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Watching { child, lines }
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(60)).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    fn ends(mut self) -> i32 {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        self.child.wait().unwrap().code().unwrap()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_change_of_a_file_runs_its_tests_and_those_of_its_users_again() {
    let user = "description: U\ntype: alias\nbase-tool: a\ntests:\n  - {name: used, expected: {output-contains: one}}\n";
    let test = Test::new()
        .file(".toolcrib/tools/a.yaml", TOOL)
        .file(".toolcrib/tools/u.yaml", user)
        .file(".toolcrib/tools/z.yaml", TOOL);
    let watching = Watching::start(&test, &["--json"]);
    for tool in ["a", "u", "z"] {
        let first = watching.json();
        assert_eq!((&first["tool"], &first["ok"]), (&tool.into(), &true.into()));
    }
    let test = test.file(
        ".toolcrib/tools/a.yaml",
        TOOL.replace("echo one", "echo two"),
    );
    let changed = watching.json();
    assert_eq!(changed["tool"], "a");
    assert_eq!(changed["ok"], false);
    assert_eq!(changed["trusted"], false);
    assert_eq!(
        changed["tests"][0]["mismatches"][0]["field"],
        "output-contains"
    );
    assert_eq!(watching.json()["tool"], "u");
    let test = test.file(".toolcrib/tools/a.yaml", "bahs: x\n");
    let broken = watching.json();
    assert_eq!(broken["tool"], "a");
    assert!(!broken["problems"].as_array().unwrap().is_empty());
    assert_eq!(watching.json()["tool"], "u");
    // A new file, and one that goes.
    let test = test.file(".toolcrib/tools/n.yaml", TOOL);
    assert_eq!(watching.json()["tool"], "n");
    std::fs::remove_file(test.workspace().join(".toolcrib/tools/n.yaml")).unwrap();
    assert_eq!(watching.json()["event"], "removed");
    assert_eq!(watching.ends(), 130);
}

#[test]
fn a_person_reads_a_line_with_the_time_and_only_about_the_tools_that_were_named() {
    let test = Test::new()
        .file(".toolcrib/tools/a.yaml", TOOL)
        .file(".toolcrib/tools/z.yaml", TOOL);
    test.run(&["watch", "aa"])
        .exits(3)
        .says("did you mean `a`?");
    let watching = Watching::start(&test, &["z"]);
    let time = watching.line()[..9].to_owned();
    assert!(
        time.ends_with(' ') && time.matches(':').count() == 2,
        "{time}"
    );
    let test = test.file(".toolcrib/tools/a.yaml", TOOL.replace("one", "two"));
    let _test = test.file(
        ".toolcrib/tools/z.yaml",
        TOOL.replace("echo one", "echo two"),
    );
    let line = watching.line();
    assert!(line.contains("FAIL z  0 passed, 1 failed ("), "{line}");
    let why = watching.line();
    assert!(
        why.contains("says (.toolcrib/tools/z.yaml:5)  output-contains:"),
        "{why}"
    );
    assert_eq!(watching.ends(), 130);
}

const GREET: &str = "description: X\nbash: echo one\ntags: [read]\n";

fn commit(test: &Test, words: &[&str]) {
    let status = std::process::Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
        .args(words)
        .current_dir(test.workspace())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(status.unwrap().success(), "{words:?}");
}

#[test]
fn a_tool_that_goes_off_is_shown_and_trusted_when_its_user_says_so() {
    let test = Test::new().file(".toolcrib/tools/a.yaml", GREET);
    test.run(&["trust", "--yes"]).exits(0);
    let mut session = test.on_terminal(&["watch"]);
    session.sees("checks; it has no tests");
    let test = test.file(".toolcrib/tools/a.yaml", GREET.replace("one", "two"));
    session.sees("-bash: echo one");
    session.sees("+bash: echo two");
    session.sees("trust it? [y/n]");
    session.types("n");
    session.sees("stays off");
    test.run(&["run", "a"]).exits(3);
    let test = test.file(".toolcrib/tools/a.yaml", GREET.replace("one", "three"));
    session.sees("trust it? [y/n]");
    session.types("y");
    session.sees("`a` is trusted");
    assert!(test.run(&["run", "a"]).exits(0).stdout.contains("three"));
}

#[test]
fn with_trust_own_edits_are_followed_and_what_git_brings_is_asked_about() {
    let test = Test::new().file(".toolcrib/tools/a.yaml", GREET);
    commit(&test, &["init", "-q", "-b", "main"]);
    commit(&test, &["add", "."]);
    commit(&test, &["commit", "-q", "-m", "one"]);
    let test = test.file(".toolcrib/tools/a.yaml", GREET.replace("one", "other"));
    commit(&test, &["commit", "-q", "-a", "-m", "other"]);
    test.run(&["watch", "--trust"]).exits(2).says("terminal");
    let mut session = test.on_terminal(&["watch", "--trust"]);
    // It was changed while no one watched.
    session.sees("trust it? [y/n]");
    session.types("y");
    session.sees("`a` is trusted");
    let test = test.file(".toolcrib/tools/a.yaml", GREET.replace("one", "mine"));
    session.sees("+bash: echo mine");
    session.sees("`a` is trusted");
    assert!(test.run(&["run", "a"]).exits(0).stdout.contains("mine"));
    commit(&test, &["checkout", "-q", "-f", "HEAD~1"]);
    session.sees("+bash: echo one");
    session.sees("HEAD has moved");
    session.sees("trust it? [y/n]");
    session.types("n");
    session.sees("stays off");
    test.run(&["run", "a"]).exits(3);
}
