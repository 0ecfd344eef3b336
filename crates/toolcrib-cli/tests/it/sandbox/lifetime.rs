//! Nothing is left when the run or its runner ends.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{LEVELS, bash, ends, names};
use crate::harness::Test;

/// A run that has said `up`, and what is there to end it with.
struct Running {
    child: Child,
    stdout: BufReader<std::process::ChildStdout>,
    mark: String,
}

impl Running {
    /// Starts a command with daemons about it that ignore what they can.
    fn new(test: &Test, level: &str) -> Self {
        let mark = format!(
            "tcs{}_{level}",
            test.workspace().to_str().unwrap().replace('/', "_")
        );
        let code = format!(
            "trap '' INT TERM HUP PIPE; (setsid bash -c 'exec -a {mark} sleep 60' >/dev/null 2>&1 &); echo up; while :; do echo more; sleep 0.05; done"
        );
        let mut child = test
            .command()
            .args(bash(&["--isolation", level], &code))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        let running = Running {
            child,
            stdout,
            mark,
        };
        let began = Instant::now();
        while !running.is_there() {
            assert!(
                began.elapsed() < Duration::from_secs(10),
                "no daemon came up"
            );
        }
        running
    }

    fn is_there(&self) -> bool {
        let found = Command::new("pgrep")
            .args(["-f", &format!("^{}", self.mark)])
            .output();
        found.unwrap().status.success()
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([name, &self.child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }
}

#[test]
fn a_signal_to_the_runner_ends_the_whole_tree_and_leaves_nothing() {
    for level in LEVELS {
        for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
            let test = Test::new();
            let mut running = Running::new(&test, level);
            running.signal(signal);
            assert_eq!(ends(&mut running.child), Some(code), "{level}, {signal}");
            assert!(!running.is_there(), "{level}, {signal}");
            assert_eq!(names(&test.workspace()), [""; 0], "{level}, {signal}");
        }
    }
}

#[test]
fn a_reader_that_stops_ends_the_run() {
    for level in LEVELS {
        let test = Test::new();
        let Running {
            mut child,
            stdout,
            mark,
        } = Running::new(&test, level);
        drop(stdout);
        assert_eq!(ends(&mut child), Some(141), "{level}");
        let mut said = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        assert_eq!(said, "", "{level}");
        let found = Command::new("pgrep")
            .args(["-f", &format!("^{mark}")])
            .output()
            .unwrap();
        assert!(!found.status.success(), "{level}");
        assert_eq!(names(&test.workspace()), [""; 0], "{level}");
    }
}

#[test]
fn a_killed_runner_takes_its_tree_along_and_the_next_run_tidies_up() {
    for level in ["process", "container"] {
        let test = Test::new();
        let mut running = Running::new(&test, level);
        running.child.kill().unwrap();
        running.child.wait().unwrap();
        let began = Instant::now();
        while running.is_there() {
            assert!(
                began.elapsed() < Duration::from_secs(1),
                "{level}: a process survived"
            );
        }
        test.run(&["sandbox", "--", "true"]).exits(0);
        assert_eq!(names(&test.workspace()), [""; 0], "{level}");
    }
}

#[test]
fn a_grandchild_that_holds_the_output_does_not_delay_the_end() {
    let test = Test::new();
    for level in LEVELS {
        let began = Instant::now();
        test.run(&bash(
            &["--isolation", level],
            "(setsid sleep 20 &); echo done",
        ))
        .exits(0)
        .prints("done\n");
        assert!(began.elapsed() < Duration::from_secs(5), "{level}");
    }
}
