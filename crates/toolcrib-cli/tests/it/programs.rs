//! Tools that run programs, from the command line.

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::{Ran, Test};

#[test]
fn a_programs_streams_go_where_it_meant_them_and_its_exit_code_only_on_request() {
    let test = Test::new();
    let words = ["run", "shell", "command=echo out; echo err >&2; exit 3"];
    test.run(&words)
        .exits(0)
        .prints("out\n")
        .says("err\n")
        .says("exit code 3");
    let passed = [&words[..], &["--exit-code"]].concat();
    test.run(&passed).exits(3).prints("out\n");
    let streamed = [&words[..], &["--stream"]].concat();
    let ran = test.run(&streamed).exits(0).prints("out\n").says("err\n");
    assert_eq!(ran.stderr.matches("err").count(), 1, "{ran:?}");
}

#[test]
fn the_document_has_the_output_and_the_wall() {
    let test = Test::new();
    let ran = test
        .run(&["run", "execute_bash", "command=echo hi", "--json"])
        .exits(0);
    let document = ran.json();
    assert_eq!(document["value"]["stdout"], "hi\n");
    assert_eq!(document["value"]["exitCode"], 0);
    assert_eq!(document["metadata"]["tool"], "shell");
    assert_eq!(document["metadata"]["sandbox"]["requested"], "process");
    assert_eq!(document["metadata"]["sandbox"]["level"], "process");
}

#[test]
fn time_that_is_up_exits_with_7_and_shows_what_was_printed() {
    let test = Test::new();
    let ran = test
        .run(&[
            "run",
            "shell",
            "command=echo before; sleep 300",
            "--timeout",
            "700ms",
        ])
        .exits(7)
        .prints("before\n");
    assert!(
        ran.stderr.contains("did not finish within 700 ms"),
        "{ran:?}"
    );
}

#[test]
fn code_in_another_language_runs_with_its_arguments() {
    let test = Test::new();
    test.run(&[
        "run",
        "run_code",
        "language=python",
        "code=import sys; print(sys.argv[1:])",
        "args=[\"a b\"]",
    ])
    .exits(0)
    .prints("['a b']\n");
}

#[test]
fn an_interrupted_run_leaves_no_process() {
    let test = Test::new();
    let mut child = test
        .command()
        .args([
            "run",
            "shell",
            "command=echo $$; setsid sleep 297 & sleep 297",
            "--stream",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut first).unwrap();
    let killed = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let workspace = test.workspace().canonicalize().unwrap();
    let left = std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&workspace))
    });
    assert!(!left, "a process is left");
}

#[test]
fn settings_choose_the_wall_and_a_wrong_word_is_said() {
    let test = Test::new().config("[sandbox]\nshell = \"container\"\n");
    let ran = test.run(&["run", "shell", "command=true", "--json"]);
    assert_eq!(
        ran.json()["metadata"]["sandbox"]["level"],
        "container",
        "{ran:?}"
    );
    let test = Test::new().variable("TOOLCRIB_SANDBOX_SHELL", "strong");
    test.run(&["run", "shell", "command=true"])
        .exits(2)
        .says("must be `none`, `process` or `container`");
    let test = Test::new().config("[sandbox]\nshell = \"none\"\n");
    test.run(&["run", "shell", "command=true", "--no-input"])
        .exits(6);
    let ran = test.run(&["run", "shell", "command=true", "--yes", "--json"]);
    assert_eq!(ran.json()["metadata"]["sandbox"]["level"], "none");
    assert_eq!(ran.json()["metadata"]["approval"]["by"], "--yes");
}

#[test]
fn a_project_may_only_choose_a_stronger_wall() {
    let test = Test::new().file(
        ".toolcrib/config.toml",
        "[sandbox]\nshell = \"none\"\nnetwork = \"full\"\n",
    );
    let shown: Value = test.run(&["config", "show", "--json"]).exits(0).json();
    let text = shown.to_string();
    assert!(text.contains("\"process\""), "{text}");
    let ran = test.run(&["run", "shell", "command=true", "--json"]);
    assert_eq!(ran.json()["metadata"]["sandbox"]["level"], "process");
}

#[test]
fn toolcribs_own_data_in_the_workspace_cannot_be_changed_by_tools() {
    for level in ["process", "container"] {
        let test = Test::new().variable("TOOLCRIB_SANDBOX_SHELL", level);
        let home = test.workspace().join("data/toolcrib");
        let run = |words: &[&str]| {
            let mut command = test.command();
            command.env("TOOLCRIB_HOME", &home).args(words);
            Ran::of(command.output().unwrap())
        };
        // Also before there is any.
        for _ in 0..2 {
            for command in [
                "echo '[[rules]]' > data/toolcrib/config.toml",
                "mkdir -p data/toolcrib/grants && echo '{}' > data/toolcrib/grants/x.json",
                "mv data elsewhere",
                "rm -rf data/toolcrib/calls",
            ] {
                run(&["run", "shell", &format!("command={command}"), "--yes"]);
            }
            run(&[
                "run",
                "write_file",
                "path=data/toolcrib/config.toml",
                "content=x",
                "createDirs=true",
                "--yes",
            ])
            .exits(1)
            .says("Toolcrib stores its own data there");
            run(&["run", "delete_file", "path=data", "recursive=true", "--yes"]).exits(1);
            run(&["run", "move_file", "from=data", "to=gone", "--yes"]).exits(1);
            assert!(!home.join("config.toml").exists());
            assert!(!home.join("grants/x.json").exists());
            assert!(home.join("calls").exists(), "calls are still recorded");
            let mode = std::fs::metadata(&home).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700);
        }
    }
}

#[test]
fn what_a_program_says_on_stderr_is_passed_on_as_it_is() {
    let test = Test::new();
    for more in [&[][..], &["--stream"]] {
        let words = ["run", "shell", r"command=printf 'a\r\033[31mx' >&2"];
        let ran = test.run(&[&words[..], more].concat()).exits(0);
        assert!(ran.stderr.contains("a\r\x1b[31mx"), "{ran:?}");
    }
}

#[test]
fn the_caller_that_stops_a_run_gets_an_outcome_and_what_is_cleaned_up() {
    let tool = "description: Waits\ntags: [run]\nbash: echo started; sleep 296\nresources:\n  cleanup:\n    - \
                final-command: echo cleaned > cleaned\n";
    for signal in ["-INT", "-TERM", "-HUP"] {
        let test = Test::new().file(".toolcrib/tools/waits.yaml", tool);
        test.run(&["trust", "--yes"]).exits(0);
        let mut child = test
            .command()
            .args(["run", "waits", "--stream"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut first).unwrap();
        let id = child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        let cleaned = std::fs::read_to_string(test.workspace().join("cleaned"));
        assert_eq!(cleaned.unwrap_or_default(), "cleaned\n", "{signal}");
    }
}
