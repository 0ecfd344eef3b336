//! `toolcrib test`: real tools, each test in a directory that is thrown away.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use toolcrib::testing::{Reply, ScriptedServer};

use crate::harness::Test;
use crate::terminal::until;

/// A workspace with a tool in it that no one has trusted.
fn with_tool(yaml: &str) -> Test {
    Test::new().file(".toolcrib/tools/t.yaml", yaml)
}

/// The tests of a run, as `--json` has them.
fn tests(test: &Test, words: &[&str], code: i32) -> Vec<Value> {
    let words: Vec<&str> = ["test", "--json"].iter().chain(words).copied().collect();
    let document = test.run(&words).exits(code).json();
    document["value"]["tests"].as_array().unwrap().clone()
}

fn statuses(tests: &[Value]) -> Vec<&str> {
    tests
        .iter()
        .map(|test| test["status"].as_str().unwrap())
        .collect()
}

const GREETS: &str = "\
description: Greets
bash: printf -- 'Hello, %s\\n' {WHO}
tags: [read]
parameters:
  WHO:
    type: string
    description: Who
tests:
  - name: right
    parameters: {WHO: Ada}
    expected:
      exit-code: 0
      output-contains: Hello, Ada
  - name: wrong
    description: Nobody is called Bob here
    parameters: {WHO: \"A b\"}
    expected:
      output-contains: Hello, Bob
      output-matches: '^Bye'
";

#[test]
fn what_passed_takes_a_line_and_what_failed_says_why() {
    let test = with_tool(GREETS);
    let ran = test.run(&["test"]).exits(1).says("1 passed, 1 failed (");
    let shown = ran.stdout;
    let times = |line: &str| line.split(" (").next().unwrap().to_owned();
    let lines: Vec<String> = shown.lines().map(times).collect();
    assert_eq!(
        lines,
        [
            "ok    t:right",
            "FAIL  t:wrong",
            "      .toolcrib/tools/t.yaml:14",
            "      Nobody is called Bob here",
            "      output-contains: the output does not contain the text",
            "        | --- expected",
            "        | +++ came",
            "        | @@ -1 +1 @@",
            "        | -Hello, Bob",
            "        | +Hello, A b",
            "      output-matches: the output does not match the pattern",
            "        pattern: ^Bye",
            "      by hand, in this workspace: toolcrib run t WHO='A b'",
        ]
    );
    test.run(&["test", "t:right"]).exits(0).says("1 passed (");
    let plain = test.run(&["test", "--plain"]).exits(1).stdout;
    let cells: Vec<Vec<&str>> = plain
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(cells[0][..3], ["passed", "t", "right"]);
    assert_eq!(cells[1][4], ".toolcrib/tools/t.yaml:14");
}

#[test]
fn a_program_reads_every_mismatch() {
    let test = with_tool(GREETS);
    let tests = tests(&test, &[], 1);
    assert_eq!(statuses(&tests), ["passed", "failed"]);
    let failed = &tests[1];
    assert_eq!(failed["line"], 14);
    assert_eq!(failed["exitCode"], 0);
    assert_eq!(failed["output"], "Hello, A b");
    assert_eq!(failed["mismatches"][0]["field"], "output-contains");
    assert_eq!(failed["mismatches"][0]["expected"], "Hello, Bob");
    assert_eq!(failed["mismatches"][1]["field"], "output-matches");
}

#[test]
fn names_that_are_wrong_are_reported_and_exit_with_three() {
    let test = with_tool(GREETS).file(".toolcrib/tools/broken.yaml", "bahs: x\n");
    test.run(&["test", "tt"]).exits(3).says("did you mean `t`?");
    test.run(&["test", "t:rigth"])
        .exits(3)
        .says("did you mean `right`?");
    test.run(&["test", "read_file"])
        .exits(0)
        .says("is built in");
    test.run(&["test", "broken"])
        .exits(3)
        .says("cannot be loaded");
    // Where all are meant, a file that is not a tool counts as a failure.
    let ran = test.run(&["test"]).exits(1);
    assert!(
        ran.stdout.contains("broken.yaml cannot be loaded"),
        "{ran:?}"
    );
    let value = test.run(&["test", "--json"]).exits(1).json();
    assert_eq!(value["value"]["broken"][0]["problems"][0]["line"], 1);
}

#[test]
fn a_tool_without_tests_and_a_place_without_tools_are_worth_a_note() {
    let test = with_tool("description: X\nbash: echo x\ntags: [read]\n");
    test.run(&["test"]).exits(0).says("`t` has no tests");
    Test::new().run(&["test"]).exits(0).says("toolcrib init");
}

#[test]
fn nothing_outside_of_the_throw_away_directory_is_touched() {
    let yaml = "\
description: Removes
bash: |
  echo made > made.txt
  rm -rf {X} ../precious ~/precious || true
  echo poison > ../poison 2>/dev/null || true
  ls -A
tags: [write]
parameters:
  X:
    type: string
    description: What goes
tests:
  - name: tidy
    parameters: {X: precious}
    cleanup: [\"rm -rf {X}\"]
  - name: hostile
    parameters: {X: HERE}
    cleanup: [\"rm -rf {X}\", \"rm -rf precious ../precious\", \"touch ../left\", \"cat secret\"]
";
    let test = Test::new()
        .file("precious/file", "gold")
        .file("secret", "gold");
    let outside = test.workspace().parent().unwrap().join("precious");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("file"), "gold").unwrap();
    let here = test.workspace().join("precious");
    let yaml = yaml.replace("HERE", here.to_str().unwrap());
    let test = test.file(".toolcrib/tools/t.yaml", yaml);
    let before = snapshot(test.workspace().parent().unwrap());
    let tests = tests(&test, &[], 1);
    for tried in &tests {
        assert!(!tried.to_string().contains("gold"), "{tried}");
    }
    // The area beside the directory belongs to the sandbox: `touch` may think that it made something.
    let failed: Vec<bool> = ["rm -rf {X}", "../precious", "touch", "cat secret"]
        .iter()
        .map(|command| tests[1]["cleanup"].to_string().contains(command))
        .collect();
    assert_eq!(failed, [true, true, false, true], "{}", tests[1]["cleanup"]);
    assert_eq!(snapshot(test.workspace().parent().unwrap()), before);
}

/// Every path below a directory, with what is in it; the home may come to be.
fn snapshot(root: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path.clone());
            }
            let content = std::fs::read(&path).unwrap_or_default();
            found.push((path.display().to_string(), content));
        }
    }
    found.sort();
    found
}

#[test]
fn nothing_is_recorded_and_nothing_is_left() {
    let temporary = tempfile::tempdir().unwrap();
    let test = with_tool(
        "description: X\nbash: mkdir -p a/b && chmod 000 a/b && chmod 500 a\ntags: [write]\ntests:\n  - name: odd-modes\n",
    )
    .variable("TMPDIR", temporary.path().to_str().unwrap());
    assert_eq!(statuses(&tests(&test, &[], 0)), ["passed"]);
    let left: Vec<_> = std::fs::read_dir(temporary.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    let calls = test.run(&["calls", "list", "--json"]).exits(0).json();
    assert_eq!(calls, json!([]));
}

#[test]
fn tests_run_at_once_and_see_nothing_of_each_other() {
    // Each waits until the other has begun, which it can see by nothing but time: neither finds the other's file.
    let yaml = "\
description: Writes
bash: |
  [ ! -e same ] || exit 9
  printf '%s' {TEXT} > same
  sleep 0.2
  cat same
tags: [write]
parameters:
  TEXT:
    type: string
    description: What
tests:
  - {name: one, parameters: {TEXT: first}, expected: {output-contains: first, file-exists: same}}
  - {name: two, parameters: {TEXT: second}, expected: {output-contains: second, file-exists: same}}
  - {name: three, parameters: {TEXT: third}, expected: {output-contains: third, file-exists: same}}
";
    let test = with_tool(yaml);
    for jobs in ["1", "3"] {
        let tests = tests(&test, &["--jobs", jobs], 0);
        let names: Vec<&Value> = tests.iter().map(|test| &test["test"]).collect();
        assert_eq!(names, ["one", "two", "three"]);
    }
    test.run(&["test", "--jobs", "0"]).exits(2);
}

#[test]
fn a_test_that_takes_too_long_is_ended_and_cleaned_up_after() {
    let yaml = "\
description: Slow
bash: echo begun; touch begun; sleep 60
tags: [run]
timeout: 300
tests:
  - name: slow
    expected: {exit-code: 0}
    cleanup: [\"rm begun\", \"test -e begun\"]
";
    let test = with_tool(yaml);
    let tests = tests(&test, &[], 1);
    assert_eq!(tests[0]["mismatches"][0]["actual"]["code"], "TIMEOUT");
    assert_eq!(tests[0]["output"], "begun");
    // The first cleanup went well; the second says what it found.
    let cleanup = tests[0]["cleanup"].as_array().unwrap();
    assert_eq!(cleanup.len(), 1, "{cleanup:?}");
    assert!(cleanup[0].as_str().unwrap().contains("test -e begun"));
}

#[test]
fn cleanup_runs_with_the_arguments_of_the_test_whatever_the_tool_thinks_of_them() {
    let yaml = "\
description: Makes
bash: touch {NAME}
tags: [write]
parameters:
  NAME:
    type: string
    description: What
    transform: value.toLowerCase()
    validation: {maxLength: 3}
tests:
  - {name: right, parameters: {NAME: ABC}, cleanup: [\"rm {NAME}\"]}
  - {name: refused, parameters: {NAME: ABCD}, cleanup: [\"touch {NAME}\", \"rm abcd\"]}
  - {name: missing, cleanup: [\"true\"]}
";
    let alias = "description: A\ntype: alias\nbase-tool: t\ntests:\n  - {name: it, parameters: {NAME: x}, cleanup: [\"rm x\"]}\n";
    let test = with_tool(yaml).file(".toolcrib/tools/a.yaml", alias);
    let tests = tests(&test, &[], 1);
    assert_eq!(statuses(&tests), ["passed", "passed", "failed", "failed"]);
    for tried in &tests {
        assert_eq!(tried["cleanup"], json!([]), "{tried}");
    }
}

#[test]
fn ctrl_c_ends_the_tests_and_cleans_up() {
    let temporary = tempfile::tempdir().unwrap();
    let test = with_tool(
        "description: X\nbash: touch begun; sleep 60\ntags: [run]\ntests:\n  - {name: a, cleanup: [\"rm begun\"]}\n  - {name: b}\n",
    )
    .variable("TMPDIR", temporary.path().to_str().unwrap());
    let child = test
        .command()
        .args(["test", "--json", "--jobs", "1"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    until("the test", || {
        let mut scratch = std::fs::read_dir(temporary.path()).unwrap().flatten();
        scratch.find(|entry| entry.path().join("workspace/begun").exists())
    });
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ran = crate::harness::Ran::of(child.wait_with_output().unwrap()).exits(130);
    let tests = ran.json()["value"]["tests"].clone();
    assert_eq!(
        statuses(tests.as_array().unwrap()),
        ["cancelled", "cancelled"]
    );
    assert_eq!(tests[0]["cleanup"], json!([]));
    assert!(
        std::fs::read_dir(temporary.path())
            .unwrap()
            .next()
            .is_none()
    );
}

#[test]
fn rules_deny_in_tests_too_and_no_one_is_asked() {
    let yaml = "\
description: No tag, so a call would ask
bash: echo {X}
parameters:
  X:
    type: string
    description: What
tests:
  - {name: asks, parameters: {X: fine}, expected: {output-contains: fine}}
";
    let denied = "description: Denied\nbash: sudo id\ntags: [run]\ntests:\n  - {name: denied, expected: {exit-code: 0}}\n";
    let test = with_tool(yaml).file(".toolcrib/tools/u.yaml", denied);
    let tests = tests(&test, &["--yes"], 1);
    assert_eq!(statuses(&tests), ["passed", "failed"]);
    assert_eq!(
        tests[1]["mismatches"][0]["actual"]["code"],
        "BLOCKED_BY_RULE"
    );
    // The settings of the operator hold as well.
    let test = with_tool(
        "description: Uses\ntags: [read]\nsteps:\n  - {name: s, use-tool: list_directory, with: {path: .}}\ntests:\n  - {name: uses}\n",
    );
    test.run(&["test"]).exits(0);
    let test = test.config("disabledTools = [\"list_directory\"]\n");
    let ran = test.run(&["test"]).exits(1);
    assert!(ran.stdout.contains("list_directory"), "{ran:?}");
}

#[test]
fn what_the_sandbox_does_not_hold_needs_yes() {
    let test = Test::new();
    let outside = test.workspace().parent().unwrap().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let tool = |security: &str| {
        format!(
            "description: X\nbash: echo ran\ntags: [write]\nsecurity:\n{security}\ntests:\n  - {{name: it, expected: {{output-contains: ran}}}}\n"
        )
    };
    let permission = format!(
        "  required-permissions: [\"filesystem:write:{}\"]\n  justification: x",
        outside.display()
    );
    let inside = "  required-permissions: [\"filesystem:write:{WORKSPACE}/x\"]\n  justification: x";
    for (security, needs) in [
        ("  isolation: none", true),
        (permission.as_str(), true),
        (inside, false),
        ("  isolation: process", false),
    ] {
        let test = Test::new().file(".toolcrib/tools/t.yaml", tool(security));
        if needs {
            let ran = test.run(&["test"]).exits(1);
            assert!(ran.stdout.contains("--yes"), "{security}: {ran:?}");
            test.run(&["test", "--yes"]).exits(0);
        } else {
            test.run(&["test"]).exits(0);
        }
    }
    // Also by way of another tool, whatever that one says of itself.
    let alias = "description: A\ntype: alias\nbase-tool: t\ntags: [read]\ntests:\n  - {name: it}\n";
    let steps = "description: S\ntags: [read]\nsteps:\n  - {name: s, use-tool: t}\ntests:\n  - {name: it}\n";
    let test = Test::new()
        .file(".toolcrib/tools/t.yaml", tool("  isolation: none"))
        .file(".toolcrib/tools/a.yaml", alias)
        .file(".toolcrib/tools/s.yaml", steps);
    assert_eq!(statuses(&tests(&test, &[], 1)), ["failed"; 3]);
    assert_eq!(statuses(&tests(&test, &["--yes"], 0)), ["passed"; 3]);
}

#[test]
fn no_host_is_reached_without_yes() {
    let server = ScriptedServer::start(|_| Reply::ok("hello"));
    let (host, url) = (server.host(), server.url("/told"));
    let tests = "tests:\n  - {name: it, expected: {output-contains: hello}}\n";
    let posts = format!(
        "description: P\nbash: 'curl -sS -m 5 -d @/etc/hosts {url}'\ntags: [read]\nsecurity:\n  required-permissions: [\"network:external:{host}\"]\n  justification: x\n{tests}"
    );
    let fetches = format!(
        "description: F\ntags: [read]\nsteps:\n  - {{name: s, use-tool: web_fetch, with: {{url: \"{url}\"}}}}\n{tests}"
    );
    let shells = format!(
        "description: S\ntags: [run]\nsteps:\n  - {{name: s, use-tool: shell, with: {{command: \"curl -sS -m 5 {url}\"}}}}\n{tests}"
    );
    let alias = format!("description: A\ntype: alias\nbase-tool: p\ntags: [read]\n{tests}");
    let test = Test::new()
        .config(&format!(
            "allowedHosts = [{host:?}]\n[sandbox]\nnetwork = \"full\"\n"
        ))
        .file(".toolcrib/tools/a.yaml", alias)
        .file(".toolcrib/tools/f.yaml", fetches)
        .file(".toolcrib/tools/p.yaml", posts)
        .file(".toolcrib/tools/s.yaml", shells);
    let ran = test.run(&["test", "--no-input"]).exits(1);
    assert_eq!(ran.stdout.matches("--yes").count(), 3, "{ran:?}");
    assert_eq!(server.connections(), 0, "{:?}", server.received());
    test.run(&["test", "p", "--yes"]).exits(0);
    test.run(&["test", "f", "--yes"]).exits(0);
    assert!(server.received()[0].text().contains("localhost"));
}

#[test]
fn a_link_out_of_the_throw_away_directory_does_not_widen_it() {
    let test = Test::new();
    let outside = test.workspace().parent().unwrap().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let writer = "description: W\nbash: touch door/made\ntags: [write]\nsecurity:\n  required-permissions: [\"filesystem:write:door\"]\n";
    let steps = format!(
        "description: S\ntags: [write]\nsteps:\n  - {{name: link, bash: \"ln -s {} door\"}}\n  - {{name: go, use-tool: w}}\ntests:\n  - {{name: it}}\n",
        outside.display()
    );
    let test = test
        .file(".toolcrib/tools/w.yaml", writer)
        .file(".toolcrib/tools/s.yaml", steps);
    let ran = test.run(&["test", "s"]).exits(1);
    assert!(ran.stdout.contains("--yes"), "{ran:?}");
    assert!(std::fs::read_dir(&outside).unwrap().next().is_none());
    test.run(&["test", "s", "--yes"]).exits(0);
    assert!(outside.join("made").exists());
}

#[test]
fn tests_of_tools_for_other_systems_are_skipped() {
    let test = with_tool(
        "description: X\ncmd: dir\ntags: [read]\nplatforms: [windows]\ntests:\n  - {name: elsewhere}\n",
    );
    assert_eq!(statuses(&tests(&test, &[], 0)), ["skipped"]);
    test.run(&["test"]).exits(0).says("0 passed, 1 skipped");
}

#[test]
fn what_came_is_recorded_after_asking_and_nothing_else_moves() {
    let yaml = "\
# About it.
description: Prints   # words
bash: |
  echo one; echo \"at $(date +%N)\"; echo two; touch made; exit {CODE}
tags: [write]
parameters:
  CODE: {type: number, description: The exit code}
tests:
  - name: bare
    parameters: {CODE: 3}   # fails

  - name: full
    parameters: {CODE: 0}
    expected:
      exit-code: 0   # well
      output-contains: other
";
    let test = with_tool(yaml);
    let file = test.workspace().join(".toolcrib/tools/t.yaml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let text = || std::fs::read_to_string(&file).unwrap();
    let ran = test.run(&["test", "--record"]).exits(6).says("--yes");
    assert!(ran.stdout.contains("+      exit-code: 3"), "{ran:?}");
    assert_eq!(text(), yaml);
    test.run(&["test", "--record", "--yes"])
        .exits(0)
        .says("recorded 1 test");
    let bare = yaml.replace(
        "# fails\n",
        "# fails\n    expected:\n      exit-code: 3\n      output-contains:\n        - \"one\"\n        - \"two\"\n      file-exists: \"made\"\n",
    );
    assert_eq!(text(), bare);
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    // A named test is recorded again where it does not hold.
    let ran = test
        .run(&["test", "t:full", "--record", "--yes", "--json"])
        .exits(0);
    assert_eq!(ran.json()["value"]["recorded"], json!(["t:full"]));
    let lines = "      output-contains:\n        - \"one\"\n        - \"two\"\n";
    assert_eq!(
        text(),
        bare.replace("      output-contains: other\n", lines)
    );
    test.run(&["test"]).exits(0);
    test.run(&["test", "--record", "--yes"])
        .exits(0)
        .says("nothing to record");
    // It was not trusted before, so it is not now.
    test.run(&["run", "t", "CODE=0"]).exits(3);
}

#[test]
fn recording_asks_on_a_terminal_and_keeps_trust() {
    let test = with_tool("description: X\nbash: echo x\ntags: [read]\ntests:\n  - name: bare\n");
    test.run(&["trust", "--yes"]).exits(0);
    let mut session = test.on_terminal(&["test", "--record"]);
    session.sees("output-contains: \"x\"");
    session.sees("Write this to the file? (y/n)");
    session.types("y");
    assert_eq!(session.ends().0, 0);
    test.run(&["run", "t"]).exits(0).prints("x\n");
}

#[test]
fn a_call_that_was_refused_is_not_recorded() {
    let test = with_tool("description: X\nbash: sudo id\ntags: [run]\ntests:\n  - name: bare\n");
    test.run(&["test", "--record", "--yes"])
        .exits(1)
        .says("not recorded: t:bare: there is nothing to record");
}

const COUNTS: &str = "\
description: Counts lines
bash: cat -- {FILE} | wc -l | tee count.txt
tags: [read, write]
parameters:
  FILE: {description: Which, validation: {pattern: '^[a-z./]+$'}}
tests:
  - name: of-its-own
    files:
      notes.md: |
        one
        two
      deep/dir/empty.md: ''
    parameters: {FILE: notes.md}
    expected:
      output: '2'
      file-contains: {count.txt: ['2'], notes.md: one}
      file-exists: deep/dir/empty.md
  - name: from-a-directory
    files-from: fixtures
    parameters: {FILE: sub/three.md}
    expected: {output: \"3\\n\"}
  - name: set-up
    setup:
      - printf 'a\\n' > x.md
      - cat x.md x.md > made.md && test {FILE} = made.md
    parameters: {FILE: made.md}
    expected: {output: '2'}
  - name: refused
    parameters: {FILE: A B}
    expected: {error: INVALID_ARGUMENTS}
";

#[test]
fn a_test_brings_its_files_and_says_exactly_what_it_expects() {
    let test = with_tool(COUNTS).file(".toolcrib/tools/fixtures/sub/three.md", "1\n2\n3\n");
    let ran = tests(&test, &[], 0);
    assert_eq!(statuses(&ran), ["passed"; 4], "{ran:#?}");
    assert!(!test.workspace().join("count.txt").exists());
}

#[test]
fn what_a_test_with_files_did_not_get_is_said() {
    let wrong = COUNTS
        .replace("output: '2'\n      file", "output: '1'\n      file")
        .replace("notes.md: one}", "notes.md: three, gone.md: x}")
        .replace("files-from: fixtures", "files-from: nowhere")
        .replace("test {FILE} = made.md", "exit 3")
        .replace("{error: INVALID_ARGUMENTS}", "{error: TIMEOUT}");
    let test = with_tool(&wrong);
    let ran = tests(&test, &[], 1);
    assert_eq!(statuses(&ran), ["failed"; 4], "{ran:#?}");
    let fields = |index: usize| -> Vec<&str> {
        let mismatches: &Vec<Value> = ran[index]["mismatches"].as_array().unwrap();
        mismatches
            .iter()
            .map(|one| one["field"].as_str().unwrap())
            .collect()
    };
    let message = |index: usize| ran[index]["mismatches"][0]["message"].as_str().unwrap();
    assert_eq!(fields(0), ["output", "file-contains", "file-contains"]);
    assert!(
        message(1).contains("`files-from`: cannot open"),
        "{}",
        message(1)
    );
    assert!(
        message(2).contains("setup: ") && message(2).contains("(number 2)"),
        "{}",
        message(2)
    );
    assert_eq!(fields(3), ["error"]);
    // A path that leads out is an error of the file.
    for out in [
        "files: {../x: a}",
        "files-from: ../x",
        "files-from: /etc",
        "expected: {file-contains: {/etc/passwd: root}}",
    ] {
        let test = with_tool(&format!(
            "description: d\nbash: ls\ntags: [read]\ntests:\n  - name: a\n    {out}\n"
        ));
        let checked = test.run(&["check", "--json"]).exits(4).json();
        assert!(
            checked.to_string().contains("outside-path"),
            "{out}: {checked}"
        );
    }
}

#[test]
fn check_and_test_work_on_files_that_no_one_trusted() {
    let test = with_tool(GREETS);
    test.run(&["check"]).exits(0);
    test.run(&["test", "t:right"]).exits(0);
    test.run(&["run", "t", "WHO=Ada"]).exits(3).says("trust");
}
